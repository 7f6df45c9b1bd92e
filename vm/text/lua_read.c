/* SPDX-License-Identifier: Apache-2.0
 * Parser of the Lua text of a trace, so that loading one runs no code: of what
 * lua_write.c prints, and of calls as they are written by hand.
 *
 *   text    ::= { stat | ";" }
 *   stat    ::= "local" "ts" "=" "require" "tessera" | "local" "rv" "=" "{" "}"
 *             | [ "local" NAME {"," NAME} "=" ] call
 *             | entry {"," entry} "=" call
 *             | "do" "local" "x" "=" "{" call "}" "for" "i" "=" 1 "," INT
 *               "do" "rv" "[" INT "+" "i" "]" "=" "x" "[" "i" "]" "end" "end"
 *   entry   ::= "rv" "[" INT "]"
 *   call    ::= "sch" ":" NAME ( fields | table | STRING | "(" args ")" )
 *   fields  ::= "{" [ NAME "=" value {"," NAME "=" value} ] "}"
 *   args    ::= [ value {"," value} [ "," fields ] ] | fields
 *   value   ::= "true" | "false" | REAL | STRING | "ts" "." "auto" | sum |
 * table table   ::= "{" [ value {"," value} ] "}" | "{" key "=" value {..} "}"
 *   sum     ::= product {("+" | "-") product}
 *   product ::= atom {("*" | "//" | "%") atom}
 *   atom    ::= ["-"] INT | NAME | entry | "(" sum ")"
 *             | "ts" "." ("min" | "max") "(" sum "," sum ")"
 *
 * Operands by position are taken as the method in Lua takes them: in the order
 * of the declaration, and variables that follow each other as one list where a
 * list of them is taken.  A variable may have any name; one that is a letter
 * and a number, as what is printed has, says what it is. */
#include "vm/text/lua_parse.h"
#include "vm/text/lua_write.h"
#include "vm/text/text.h"

#include <inttypes.h>

/* ---- calls -------------------------------------------------------------- */

static bool parse_operand(vm_lua_parser *p) {
  char name[64];
  uint32_t spec;
  if (p->x.token != VM_T_NAME || p->x.n >= sizeof name)
    return vm_lua_fail_at(p, "an operand's name");
  memcpy(name, p->x.s, p->x.n);
  name[p->x.n] = '\0';
  return vm_reader_operand(&p->r, p->prim, name, &spec) && vm_lua_next(p) &&
         vm_lua_eat(p, '=') && vm_lua_parse_value(p, &p->r.operand[spec]);
}

/* Behind the `{`. */
static bool parse_fields(vm_lua_parser *p) {
  while (!vm_is_char(&p->x, '}')) {
    if (!parse_operand(p)) return false;
    if (!vm_is_char(&p->x, '}') && !vm_lua_eat(p, ',')) return false;
  }
  return vm_lua_next(p);
}

/* Operands by position: the next of them, and variables of the list that it is,
 * which wait on the stack. */
typedef struct by_position {
  uint32_t spec, from;
} by_position;

static void go_to_operand(const vm_lua_parser *p, by_position *at) {
  const sch_prim *prim = p->prim;
  while (at->spec < prim->nspecs && prim->specs[at->spec].role == SCH_ROLE_OUT)
    at->spec++;
}

static bool takes_variables(const vm_lua_parser *p, const by_position *at) {
  if (at->spec >= p->prim->nspecs) return false;
  uint8_t kind = p->prim->specs[at->spec].kind;
  return kind == SCH_KIND_LOOPS || kind == SCH_KIND_BLOCKS ||
         kind == SCH_KIND_NODES;
}

static void end_operand(vm_lua_parser *p, by_position *at) {
  at->spec++;
  go_to_operand(p, at);
}

static void end_variables(vm_lua_parser *p, by_position *at) {
  uint32_t n = p->stack.n - at->from;
  if (!n) return;
  p->r.operand[at->spec] = vm_list(&p->r.pool, n, p->stack.v + at->from);
  p->stack.n = at->from;
  end_operand(p, at);
}

static bool take_positional(vm_lua_parser *p, by_position *at, vm_value v) {
  if (takes_variables(p, at) && v.tag == VM_RV) {
    vec_push(p->r.pool.heap, &p->stack, v);
    return true;
  }
  end_variables(p, at);
  if (at->spec >= p->prim->nspecs) {
    char known[512];
    vm_operand_names(p->prim, known, sizeof known);
    return vm_reader_fail(&p->r, TESS_INVALID,
                          "%s: too many operands; it takes %s", p->prim->name,
                          known);
  }
  p->r.operand[at->spec] = v;
  end_operand(p, at);
  return true;
}

/* Whether a table of keys, behind its `{`, is of operands: it is, but where the
 * next operand may be such a table, and the first key names none. */
static bool has_operands(const vm_lua_parser *p, const by_position *at) {
  const sch_prim *prim = p->prim;
  if (!vm_lua_at_key(p)) return false;
  if (at->spec >= prim->nspecs || prim->specs[at->spec].kind != SCH_KIND_VALUE)
    return true;
  for (uint32_t i = at->spec; i < prim->nspecs; i++)
    if (prim->specs[i].role != SCH_ROLE_OUT &&
        vm_is_word(&p->x, prim->specs[i].name))
      return true;
  return false;
}

/* A table that is an operand, behind its `{`. */
static bool parse_list(vm_lua_parser *p, by_position *at) {
  vm_value v;
  return vm_lua_parse_table(p, &v) && take_positional(p, at, v);
}

/* One, or those of the table that ends the call: *last. */
static bool parse_argument(vm_lua_parser *p, by_position *at, bool *last) {
  vm_value v;
  if (!vm_is_char(&p->x, '{'))
    return vm_lua_parse_value(p, &v) && take_positional(p, at, v);
  if (!vm_lua_next(p)) return false;
  *last = has_operands(p, at);
  if (!*last) return parse_list(p, at);
  end_variables(p, at);
  return parse_fields(p);
}

/* Behind the `(`. */
static bool parse_arguments(vm_lua_parser *p, by_position *at) {
  bool last = vm_is_char(&p->x, ')');
  while (!last) {
    if (!parse_argument(p, at, &last)) return false;
    if (last || vm_is_char(&p->x, ')')) break;
    if (!vm_lua_eat(p, ',')) return false;
  }
  end_variables(p, at);
  return vm_lua_eat(p, ')');
}

/* The operands go to the reader. */
static bool parse_call(vm_lua_parser *p) {
  char name[64];
  bool last;
  if (!vm_is_word(&p->x, "sch")) return vm_lua_fail_at(p, "a call of sch");
  if (!vm_lua_next(p) || !vm_lua_eat(p, ':')) return false;
  if (p->x.token != VM_T_NAME || p->x.n >= sizeof name)
    return vm_lua_fail_at(p, "an instruction's name");
  memcpy(name, p->x.s, p->x.n);
  name[p->x.n] = '\0';
  p->prim = vm_reader_begin(&p->r, name);
  if (!p->prim || !vm_lua_next(p)) return false;
  by_position at = {.from = p->stack.n};
  go_to_operand(p, &at);
  if (vm_is_char(&p->x, '(')) return vm_lua_next(p) && parse_arguments(p, &at);
  if (p->x.token == VM_T_STRING) return parse_argument(p, &at, &last);
  if (!vm_lua_eat(p, '{')) return false;
  return vm_is_char(&p->x, '}') || vm_lua_at_key(p) ? parse_fields(p)
                                                    : parse_list(p, &at);
}

/* ---- statements --------------------------------------------------------- */

/* Output i of the instruction that was appended. */
static bool define(vm_lua_parser *p, uint32_t i) {
  const vm_trace *t = p->r.t;
  const vm_lua_target *to = &p->targets.v[i];
  if (!to->name) return vm_reader_define(&p->r, i, to->letter, to->number);
  vm_lua_local l = {to->name, to->n, t->inst.v[t->inst.n - 1].out + i};
  vec_push(t->heap, &p->locals, l);
  return true;
}

/* The outputs of the call just parsed: those that are named and, as in Lua,
 * further ones that nobody names, where the call says how many it gives. */
static uint32_t count_results(const vm_lua_parser *p) {
  enum { MOST_UNNAMED = 64 }; /* more than any valid call leaves */
  const vm_call c = {p->prim, &p->r.pool, p->r.operand, NULL, 0};
  uint32_t known, named = p->targets.n;
  bool exact = vm_known_outputs(&c, &known);
  return exact && known > named && known <= MOST_UNNAMED ? known : named;
}

/* Appends the call just parsed, with these outputs. */
static bool end_instruction(vm_lua_parser *p) {
  if (!vm_reader_end(&p->r, p->prim, count_results(p), NULL, 0)) return false;
  for (uint32_t i = 0; i < p->targets.n; i++)
    if (!define(p, i)) return false;
  return true;
}

static void aim(vm_lua_parser *p, char letter, uint32_t number) {
  vm_lua_target t = {.letter = letter, .number = number};
  vec_push(p->r.t->heap, &p->targets, t);
}

/* The name that is the current token. */
static bool aim_at_name(vm_lua_parser *p) {
  static const char *const taken[] = {"sch", "ts", "rv"};
  const vm_lexer *x = &p->x;
  vm_lua_target t = {.name = x->s, .n = x->n};
  bool is_free = x->token == VM_T_NAME && vm_is_lua_name(x->s, x->n);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    is_free = is_free && !vm_is_word(x, taken[i]);
  if (!is_free) return vm_lua_fail_at(p, "a variable (b0, l1, v2, ...)");
  if (vm_parse_rv_name(x->s, x->n, &t.letter, &t.number)) t.name = NULL;
  vec_push(p->r.t->heap, &p->targets, t);
  return true;
}

/* The current token may be on a later line than the error. */
static bool finish_statement(vm_lua_parser *p) {
  uint32_t line = p->r.line;
  p->r.line = p->x.last;
  bool ok = end_instruction(p);
  p->r.line = line;
  return ok;
}

static bool parse_locals(vm_lua_parser *p) {
  for (;;) {
    if (!aim_at_name(p) || !vm_lua_next(p)) return false;
    if (!vm_is_char(&p->x, ',')) break;
    if (!vm_lua_next(p)) return false;
  }
  return vm_lua_eat(p, '=') && parse_call(p) && finish_statement(p);
}

static bool is_text(const vm_lua_parser *p, const char *text) {
  return p->x.token == VM_T_STRING && strlen(text) == p->x.n &&
         !memcmp(p->x.s, text, p->x.n);
}

/* A second declaration would shadow the first one. */
static bool parse_table_of_variables(vm_lua_parser *p) {
  if (p->has_rv)
    return vm_reader_fail(&p->r, TESS_PARSE, "'local rv' is declared twice");
  p->has_rv = true;
  return vm_lua_next(p) && vm_lua_eat(p, '=') && vm_lua_eat(p, '{') &&
         vm_lua_eat(p, '}');
}

/* local ts = require "tessera", local rv = {}, local b0, ... = call */
static bool parse_local(vm_lua_parser *p) {
  if (vm_is_word(&p->x, "ts")) {
    if (!vm_lua_next(p) || !vm_lua_eat(p, '=') ||
        !vm_lua_eat_word(p, "require"))
      return false;
    return is_text(p, "tessera") ? vm_lua_next(p)
                                 : vm_lua_fail_at(p, "\"tessera\"");
  }
  if (vm_is_word(&p->x, "rv")) return parse_table_of_variables(p);
  return parse_locals(p);
}

static bool parse_entries(vm_lua_parser *p) {
  for (;;) {
    uint32_t number;
    if (!vm_lua_parse_entry(p, &number)) return false;
    aim(p, 0, number);
    if (!vm_is_char(&p->x, ',')) break;
    if (!vm_lua_next(p)) return false;
  }
  return vm_lua_eat(p, '=') && parse_call(p) && finish_statement(p);
}

/* Variables must be numbered consecutively. */
static bool eat_all(vm_lua_parser *p, const char *const *words) {
  for (; *words; words++)
    if (!((*words)[1] || vm_is_name_char(**words, false)
              ? vm_lua_eat_word(p, *words)
              : vm_lua_eat(p, **words)))
      return false;
  return true;
}

/* do local x = {call} for i = 1, N do rv[M + i] = x[i] end end */
static bool parse_loop(vm_lua_parser *p) {
  static const char *const head[] = {"local", "x", "=", "{", NULL};
  static const char *const middle[] = {"}", "for", "i", "=", NULL};
  static const char *const tail[] = {"+", "i", "]",   "=",   "x", "[",
                                     "i", "]", "end", "end", NULL};
  int64_t one, n, base;
  if (!eat_all(p, head) || !parse_call(p) || !eat_all(p, middle) ||
      !vm_lua_eat_int(p, &one) || !vm_lua_eat(p, ',') ||
      !vm_lua_eat_int(p, &n) || !vm_lua_eat_word(p, "do") ||
      !vm_lua_eat_rv(p) || !vm_lua_eat(p, '[') || !vm_lua_eat_int(p, &base) ||
      !eat_all(p, tail))
    return false;
  if (one != 1 || n < 1 || base < -1 || n > INT32_MAX || base > INT32_MAX - n)
    return vm_reader_fail(&p->r, TESS_PARSE, "the loop's numbers are wrong");
  if (n > VM_READER_NUMBERS)
    return vm_reader_fail(&p->r, TESS_LIMIT, "too many outputs");
  for (int64_t i = 1; i <= n; i++) aim(p, 0, (uint32_t)(base + i));
  return finish_statement(p);
}

static bool parse_statement(vm_lua_parser *p) {
  p->targets.n = 0;
  vm_reader_next(&p->r);
  if (vm_is_char(&p->x, ';')) return vm_lua_next(p);
  if (vm_is_word(&p->x, "local")) return vm_lua_next(p) && parse_local(p);
  if (vm_is_word(&p->x, "do")) return vm_lua_next(p) && parse_loop(p);
  if (vm_is_word(&p->x, "rv")) return parse_entries(p);
  if (vm_is_word(&p->x, "sch")) return parse_call(p) && finish_statement(p);
  return vm_lua_fail_at(p, "a call of sch, or local, or rv[..],");
}

/* The first line has the version; it is optional in hand-written texts. */
static bool read_head(vm_lua_parser *p, bool *there) {
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
  vm_lua_parser *p = ud;
  bool headed;
  vm_trace_reset(p->r.t);
  bool ok = read_head(p, &headed) && vm_lua_next(p);
  if (ok && !headed && p->x.token == VM_T_END)
    ok = vm_lua_fail_at(p, "'-- tessera trace 1' or an instruction");
  while (ok && p->x.token != VM_T_END) ok = parse_statement(p);
  return ok ? TESS_OK : p->r.err->code;
}

tess_status vm_read_lua(vm_trace *t, const char *text, size_t n,
                        err_state *err) {
  vm_lua_parser p = {.depth = 0};
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
  vec_free(t->heap, &p.locals);
  vec_free(t->heap, &p.stack);
  vm_reader_free(&p.r);
  return vm_reader_finish(t, st, err);
}
