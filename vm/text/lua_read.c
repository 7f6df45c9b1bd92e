/* SPDX-License-Identifier: Apache-2.0
 * Parser of the Lua text of a trace, for exactly the language that
 * lua_write.c prints, so that loading a trace runs no code.
 *
 *   text    ::= { stat }
 *   stat    ::= "local" "ts" "=" "require" "tessera" | "local" "rv" "=" "{" "}"
 *             | [ "local" name {"," name} "=" ] call
 *             | entry {"," entry} "=" call
 *             | "do" "local" "x" "=" "{" call "}" "for" "i" "=" 1 "," INT
 *               "do" "rv" "[" INT "+" "i" "]" "=" "x" "[" "i" "]" "end" "end"
 *   entry   ::= "rv" "[" INT "]"
 *   call    ::= "sch" ":" NAME ( "(" ")" | "{" [ field {"," field} ] "}" )
 *   field   ::= NAME "=" value
 *   value   ::= "true" | "false" | REAL | STRING | "ts" "." "auto" | sum
 *             | "{" [ value {"," value} ] "}" | "{" key "=" value {..} "}"
 *   sum     ::= product {("+" | "-") product}
 *   product ::= atom {("*" | "//" | "%") atom}
 *   atom    ::= ["-"] INT | name | entry | "(" sum ")"
 *             | "ts" "." ("min" | "max") "(" sum "," sum ")" */
#include "vm/text/lua_lex.h"
#include "vm/text/lua_write.h"
#include "vm/text/text.h"

#include <inttypes.h>

typedef struct target {
  char letter;
  uint32_t number;
} target;

typedef struct parser {
  vm_lexer x;
  vm_reader r;
  uint32_t depth;
  bool has_rv;          /* `local rv = {}` was read */
  const sch_prim *prim; /* of the call just read */
  VEC(target) targets;  /* what the statement assigns to */
  VEC(vm_value) stack;  /* elements of the tables being read */
} parser;

static bool fail_at(parser *p, const char *wanted) {
  const vm_lexer *x = &p->x;
  int n = (int)(x->n < 40 ? x->n : 40);
  if (x->token == VM_T_END)
    return vm_reader_fail(&p->r, TESS_PARSE, "%s expected at the end", wanted);
  if (x->token == VM_T_NAME)
    return vm_reader_fail(&p->r, TESS_PARSE, "%s expected before '%.*s'",
                          wanted, n, x->s);
  if (x->token == VM_T_CHAR && x->c >= ' ' && x->c < 0x7f)
    return vm_reader_fail(&p->r, TESS_PARSE, "%s expected before '%c'", wanted,
                          x->c);
  return vm_reader_fail(&p->r, TESS_PARSE, "%s expected", wanted);
}

static bool next_token(parser *p) { return vm_lex(&p->x); }

static bool eat(parser *p, char c) {
  char wanted[4] = {'\'', c, '\'', '\0'};
  return vm_is_char(&p->x, c) ? next_token(p) : fail_at(p, wanted);
}

static bool eat_word(parser *p, const char *word) {
  return vm_is_word(&p->x, word) ? next_token(p) : fail_at(p, word);
}

static bool eat_int(parser *p, int64_t *out) {
  *out = p->x.i;
  return p->x.token == VM_T_INT ? next_token(p) : fail_at(p, "an integer");
}

/* ---- values ------------------------------------------------------------- */

static bool parse_value(parser *p, vm_value *out);
static bool parse_sum(parser *p, vm_value *out);

/* All recursion goes through here, with a depth limit. */
static bool go_deeper(parser *p, bool (*parse)(parser *, vm_value *),
                      vm_value *out) {
  if (p->depth > 2 * VM_MAX_DEPTH)
    return vm_reader_fail(&p->r, TESS_LIMIT, "values are nested too deep");
  p->depth++;
  bool ok = parse(p, out);
  p->depth--;
  return ok;
}

static bool eat_rv(parser *p) {
  if (vm_is_word(&p->x, "rv") && !p->has_rv)
    return vm_reader_fail(&p->r, TESS_PARSE,
                          "rv[..] before 'local rv = {}', which makes it");
  return eat_word(p, "rv");
}

/* rv[N] */
static bool parse_entry(parser *p, uint32_t *number) {
  int64_t i;
  if (!eat_rv(p) || !eat(p, '[') || !eat_int(p, &i) || !eat(p, ']'))
    return false;
  *number = i < 0 || i > INT32_MAX ? UINT32_MAX : (uint32_t)i;
  return true;
}

/* ts.min(a, b), behind "ts."; ts.auto where it may stand. */
static bool parse_ts(parser *p, vm_value *out) {
  bool least = vm_is_word(&p->x, "min");
  vm_value a, b;
  if (vm_is_word(&p->x, "auto")) {
    *out = vm_auto();
    return next_token(p);
  }
  if (!least && !vm_is_word(&p->x, "max"))
    return fail_at(p, "auto, min or max");
  if (!next_token(p) || !eat(p, '(') || !go_deeper(p, parse_sum, &a) ||
      !eat(p, ',') || !go_deeper(p, parse_sum, &b) || !eat(p, ')'))
    return false;
  *out = vm_op(&p->r.pool, least ? IR_MIN : IR_MAX, a, b);
  return true;
}

static bool parse_name(parser *p, vm_value *out) {
  const char *s = p->x.s;
  size_t n = p->x.n;
  uint32_t number;
  if (vm_is_word(&p->x, "true") || vm_is_word(&p->x, "false")) {
    *out = vm_bool(*s == 't');
    return next_token(p);
  }
  if (vm_is_word(&p->x, "ts"))
    return next_token(p) && eat(p, '.') && parse_ts(p, out);
  if (vm_is_word(&p->x, "rv"))
    return parse_entry(p, &number) && vm_reader_number(&p->r, number, out);
  return vm_reader_variable(&p->r, s, n, out) && next_token(p);
}

static bool parse_number(parser *p, bool negative, vm_value *out) {
  if (p->x.token == VM_T_INT)
    *out = vm_int(negative ? (int64_t)(0 - (uint64_t)p->x.i) : p->x.i);
  else if (p->x.token == VM_T_REAL)
    *out = vm_real(negative ? -p->x.f : p->x.f);
  else
    return fail_at(p, "a number");
  return next_token(p);
}

static bool parse_atom(parser *p, vm_value *out) {
  if (vm_is_char(&p->x, '-'))
    return next_token(p) && parse_number(p, true, out);
  if (vm_is_char(&p->x, '('))
    return next_token(p) && go_deeper(p, parse_sum, out) && eat(p, ')');
  if (p->x.token == VM_T_NAME) return parse_name(p, out);
  return parse_number(p, false, out);
}

static ir_op operator_at(const parser *p, bool product) {
  if (p->x.token == VM_T_IDIV) return product ? IR_DIV : IR_NONE;
  if (p->x.token != VM_T_CHAR) return IR_NONE;
  switch (p->x.c) {
  case '*': return product ? IR_MUL : IR_NONE;
  case '%': return product ? IR_MOD : IR_NONE;
  case '+': return product ? IR_NONE : IR_ADD;
  case '-': return product ? IR_NONE : IR_SUB;
  default: return IR_NONE;
  }
}

static bool is_integer_value(vm_value v) {
  return v.tag == VM_INT || v.tag == VM_RV || v.tag == VM_OP;
}

static bool parse_chain(parser *p, bool product, vm_value *out) {
  if (!(product ? parse_atom(p, out) : parse_chain(p, true, out))) return false;
  for (ir_op op; (op = operator_at(p, product)) != IR_NONE;) {
    vm_value right;
    if (!next_token(p) ||
        !(product ? parse_atom(p, &right) : parse_chain(p, true, &right)))
      return false;
    if (!is_integer_value(*out) || !is_integer_value(right))
      return vm_reader_fail(&p->r, TESS_TYPE, "arithmetic is over integers");
    *out = vm_op(&p->r.pool, op, *out, right);
    if (out->depth > VM_MAX_DEPTH)
      return vm_reader_fail(&p->r, TESS_LIMIT, "values are nested too deep");
  }
  return true;
}

static bool parse_sum(parser *p, vm_value *out) {
  return parse_chain(p, false, out);
}

static vm_value take_string(parser *p) {
  return vm_str(&p->r.pool, p->x.s ? p->x.s : "", p->x.n);
}

/* name = or ["name"] =; all entries of a dictionary have keys. */
static bool parse_key(parser *p, vm_value *out) {
  bool bracket = vm_is_char(&p->x, '[');
  if (bracket && !next_token(p)) return false;
  if (p->x.token != (bracket ? VM_T_STRING : VM_T_NAME))
    return fail_at(p, "a key");
  *out = take_string(p);
  return next_token(p) && (!bracket || eat(p, ']')) && eat(p, '=');
}

/* Is the current token a key?  A name is one when `=` follows. */
static bool at_key(const parser *p) {
  const char *s = p->x.at;
  if (vm_is_char(&p->x, '[')) return true;
  if (p->x.token != VM_T_NAME) return false;
  while (s < p->x.end && (*s == ' ' || *s == '\t')) s++;
  return s < p->x.end && *s == '=';
}

/* Elements wait on the stack until the table is complete. */
static bool parse_table(parser *p, vm_value *out) {
  vm_trace *pool = &p->r.pool;
  vec_reserve(pool->heap, &p->stack, 1);
  uint32_t from = p->stack.n;
  bool keyed = at_key(p);
  vm_value v;
  while (!vm_is_char(&p->x, '}')) {
    if (keyed) {
      if (!parse_key(p, &v)) return false;
      vec_push(pool->heap, &p->stack, v);
    }
    if (!go_deeper(p, parse_value, &v)) return false;
    vec_push(pool->heap, &p->stack, v);
    if (!vm_is_char(&p->x, '}') && !eat(p, ',')) return false;
  }
  uint32_t n = p->stack.n - from;
  *out = keyed ? vm_dict(pool, n / 2, p->stack.v + from)
               : vm_list(pool, n, p->stack.v + from);
  p->stack.n = from;
  return next_token(p);
}

static bool parse_value(parser *p, vm_value *out) {
  if (p->x.token == VM_T_STRING) {
    *out = take_string(p);
    return next_token(p);
  }
  if (vm_is_char(&p->x, '{')) return next_token(p) && parse_table(p, out);
  return parse_sum(p, out);
}

/* ---- calls and statements ----------------------------------------------- */

static bool parse_operand(parser *p) {
  char name[64];
  uint32_t spec;
  if (p->x.token != VM_T_NAME || p->x.n >= sizeof name)
    return fail_at(p, "an operand's name");
  memcpy(name, p->x.s, p->x.n);
  name[p->x.n] = '\0';
  return vm_reader_operand(&p->r, p->prim, name, &spec) && next_token(p) &&
         eat(p, '=') && parse_value(p, &p->r.operand[spec]);
}

/* sch:NAME{...} or sch:NAME(); the operands go to the reader. */
static bool parse_call(parser *p) {
  char name[64];
  if (!eat_word(p, "sch") || !eat(p, ':')) return false;
  if (p->x.token != VM_T_NAME || p->x.n >= sizeof name)
    return fail_at(p, "an instruction's name");
  memcpy(name, p->x.s, p->x.n);
  name[p->x.n] = '\0';
  p->prim = vm_reader_begin(&p->r, name);
  if (!p->prim || !next_token(p)) return false;
  if (vm_is_char(&p->x, '(')) return next_token(p) && eat(p, ')');
  if (!eat(p, '{')) return false;
  while (!vm_is_char(&p->x, '}')) {
    if (!parse_operand(p)) return false;
    if (!vm_is_char(&p->x, '}') && !eat(p, ',')) return false;
  }
  return next_token(p);
}

/* Appends the call just parsed, with these outputs. */
static bool end_instruction(parser *p) {
  if (!vm_reader_end(&p->r, p->prim, p->targets.n, NULL, 0)) return false;
  for (uint32_t i = 0; i < p->targets.n; i++)
    if (!vm_reader_define(&p->r, i, p->targets.v[i].letter,
                          p->targets.v[i].number))
      return false;
  return true;
}

static void aim(parser *p, char letter, uint32_t number) {
  target t = {letter, number};
  vec_push(p->r.t->heap, &p->targets, t);
}

/* The current token may be on a later line than the error. */
static bool finish_statement(parser *p) {
  uint32_t line = p->r.line;
  p->r.line = p->x.last;
  bool ok = end_instruction(p);
  p->r.line = line;
  return ok;
}

static bool parse_locals(parser *p) {
  for (;;) {
    char letter;
    uint32_t number;
    if (p->x.token != VM_T_NAME ||
        !vm_parse_rv_name(p->x.s, p->x.n, &letter, &number))
      return fail_at(p, "a variable (b0, l1, v2, ...)");
    aim(p, letter, number);
    if (!next_token(p)) return false;
    if (!vm_is_char(&p->x, ',')) break;
    if (!next_token(p)) return false;
  }
  return eat(p, '=') && parse_call(p) && finish_statement(p);
}

static bool is_text(const parser *p, const char *text) {
  return p->x.token == VM_T_STRING && strlen(text) == p->x.n &&
         !memcmp(p->x.s, text, p->x.n);
}

/* A second declaration would shadow the first one. */
static bool parse_table_of_variables(parser *p) {
  if (p->has_rv)
    return vm_reader_fail(&p->r, TESS_PARSE, "'local rv' is declared twice");
  p->has_rv = true;
  return next_token(p) && eat(p, '=') && eat(p, '{') && eat(p, '}');
}

/* local ts = require "tessera", local rv = {}, local b0, ... = call */
static bool parse_local(parser *p) {
  if (vm_is_word(&p->x, "ts")) {
    if (!next_token(p) || !eat(p, '=') || !eat_word(p, "require")) return false;
    return is_text(p, "tessera") ? next_token(p) : fail_at(p, "\"tessera\"");
  }
  if (vm_is_word(&p->x, "rv")) return parse_table_of_variables(p);
  return parse_locals(p);
}

static bool parse_entries(parser *p) {
  for (;;) {
    uint32_t number;
    if (!parse_entry(p, &number)) return false;
    aim(p, 0, number);
    if (!vm_is_char(&p->x, ',')) break;
    if (!next_token(p)) return false;
  }
  return eat(p, '=') && parse_call(p) && finish_statement(p);
}

/* Variables must be numbered consecutively. */
static bool eat_all(parser *p, const char *const *words) {
  for (; *words; words++)
    if (!((*words)[1] || vm_is_name_char(**words, false) ? eat_word(p, *words)
                                                         : eat(p, **words)))
      return false;
  return true;
}

/* do local x = {call} for i = 1, N do rv[M + i] = x[i] end end */
static bool parse_loop(parser *p) {
  static const char *const head[] = {"local", "x", "=", "{", NULL};
  static const char *const middle[] = {"}", "for", "i", "=", NULL};
  static const char *const tail[] = {"+", "i", "]",   "=",   "x", "[",
                                     "i", "]", "end", "end", NULL};
  int64_t one, n, base;
  if (!eat_all(p, head) || !parse_call(p) || !eat_all(p, middle) ||
      !eat_int(p, &one) || !eat(p, ',') || !eat_int(p, &n) ||
      !eat_word(p, "do") || !eat_rv(p) || !eat(p, '[') || !eat_int(p, &base) ||
      !eat_all(p, tail))
    return false;
  if (one != 1 || n < 1 || base < -1 || n > INT32_MAX || base > INT32_MAX - n)
    return vm_reader_fail(&p->r, TESS_PARSE, "the loop's numbers are wrong");
  if (n > VM_READER_NUMBERS)
    return vm_reader_fail(&p->r, TESS_LIMIT, "too many outputs");
  for (int64_t i = 1; i <= n; i++) aim(p, 0, (uint32_t)(base + i));
  return finish_statement(p);
}

static bool parse_statement(parser *p) {
  p->targets.n = 0;
  vm_reader_next(&p->r);
  if (vm_is_word(&p->x, "local")) return next_token(p) && parse_local(p);
  if (vm_is_word(&p->x, "do")) return next_token(p) && parse_loop(p);
  if (vm_is_word(&p->x, "rv")) return parse_entries(p);
  if (vm_is_word(&p->x, "sch")) return parse_call(p) && finish_statement(p);
  return fail_at(p, "a call of sch, or local, or rv[..],");
}

/* The first line has the version; it is optional in hand-written texts. */
static bool read_head(parser *p, bool *there) {
  static const char head[] = "-- tessera trace ";
  size_t n = sizeof head - 1, length = (size_t)(p->x.end - p->x.at);
  *there = length > n && !memcmp(p->x.at, head, n);
  if (!*there) return true;
  const char *s = p->x.at + n, *end = s;
  while (end < p->x.end && *end >= '0' && *end <= '9') end++;
  if (end - s == 1 && *s == '1') return true;
  return vm_reader_fail(&p->r, TESS_UNSUPPORTED,
                        "a trace of version %.*s; "
                        "this engine reads version 1",
                        (int)(end - s > 9 ? 9 : end - s), s);
}

static tess_status parse_text(void *ud) {
  parser *p = ud;
  bool headed;
  vm_trace_reset(p->r.t);
  bool ok = read_head(p, &headed) && next_token(p);
  if (ok && !headed && p->x.token == VM_T_END)
    ok = fail_at(p, "'-- tessera trace 1' or an instruction");
  while (ok && p->x.token != VM_T_END) ok = parse_statement(p);
  return ok ? TESS_OK : p->r.err->code;
}

tess_status vm_read_lua(vm_trace *t, const char *text, size_t n,
                        err_state *err) {
  parser p = {.depth = 0};
  err_clear(err);
  if (n > VM_TEXT_LIMIT)
    return err_set(err, TESS_LIMIT, "a trace of %zu bytes is longer than %d", n,
                   VM_TEXT_LIMIT);
  vm_reader_init(&p.r, t, err);
  p.r.line = 1;
  p.x = (vm_lexer){.r = &p.r, .at = text, .end = text + n};
  tess_status st = mem_protect(t->heap, parse_text, &p);
  vec_free(t->heap, &p.x.buf);
  vec_free(t->heap, &p.targets);
  vec_free(t->heap, &p.stack);
  vm_reader_free(&p.r);
  return vm_reader_finish(t, st, err);
}
