/* SPDX-License-Identifier: Apache-2.0
 * Values in the Lua text of a trace (lua_read.c has the language). */
#include "vm/text/lua_parse.h"
#include "vm/text/text.h"

/* ---- tokens ------------------------------------------------------------- */

bool vm_lua_fail_at(vm_lua_parser *p, const char *wanted) {
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

bool vm_lua_eat(vm_lua_parser *p, char c) {
  char wanted[4] = {'\'', c, '\'', '\0'};
  return vm_is_char(&p->x, c) ? vm_lua_next(p) : vm_lua_fail_at(p, wanted);
}

bool vm_lua_eat_word(vm_lua_parser *p, const char *word) {
  return vm_is_word(&p->x, word) ? vm_lua_next(p) : vm_lua_fail_at(p, word);
}

bool vm_lua_eat_int(vm_lua_parser *p, int64_t *out) {
  *out = p->x.i;
  return p->x.token == VM_T_INT ? vm_lua_next(p)
                                : vm_lua_fail_at(p, "an integer");
}

/* ---- values ------------------------------------------------------------- */

static bool parse_sum(vm_lua_parser *p, vm_value *out);

/* All recursion goes through here, with a depth limit. */
static bool go_deeper(vm_lua_parser *p,
                      bool (*parse)(vm_lua_parser *, vm_value *),
                      vm_value *out) {
  if (p->depth > 2 * VM_MAX_DEPTH)
    return vm_reader_fail(&p->r, TESS_LIMIT, "values are nested too deep");
  p->depth++;
  bool ok = parse(p, out);
  p->depth--;
  return ok;
}

bool vm_lua_eat_rv(vm_lua_parser *p) {
  if (vm_is_word(&p->x, "rv") && !p->has_rv)
    return vm_reader_fail(&p->r, TESS_PARSE,
                          "rv[..] before 'local rv = {}', which makes it");
  return vm_lua_eat_word(p, "rv");
}

bool vm_lua_parse_entry(vm_lua_parser *p, uint32_t *number) {
  int64_t i;
  if (!vm_lua_eat_rv(p) || !vm_lua_eat(p, '[') || !vm_lua_eat_int(p, &i) ||
      !vm_lua_eat(p, ']'))
    return false;
  *number = i < 0 || i > INT32_MAX ? UINT32_MAX : (uint32_t)i;
  return true;
}

/* ts.min(a, b), behind "ts."; ts.auto where it may stand. */
static bool parse_ts(vm_lua_parser *p, vm_value *out) {
  bool least = vm_is_word(&p->x, "min");
  vm_value a, b;
  if (vm_is_word(&p->x, "auto")) {
    *out = vm_auto();
    return vm_lua_next(p);
  }
  if (!least && !vm_is_word(&p->x, "max"))
    return vm_lua_fail_at(p, "auto, min or max");
  if (!vm_lua_next(p) || !vm_lua_eat(p, '(') || !go_deeper(p, parse_sum, &a) ||
      !vm_lua_eat(p, ',') || !go_deeper(p, parse_sum, &b) ||
      !vm_lua_eat(p, ')'))
    return false;
  *out = vm_op(&p->r.pool, least ? IR_MIN : IR_MAX, a, b);
  return true;
}

static bool is_local_named(const vm_lexer *x, const vm_lua_local *l) {
  return x->n == l->n && !memcmp(x->s, l->name, l->n);
}

static bool parse_name(vm_lua_parser *p, vm_value *out) {
  const char *s = p->x.s;
  size_t n = p->x.n;
  uint32_t number;
  if (vm_is_word(&p->x, "true") || vm_is_word(&p->x, "false")) {
    *out = vm_bool(*s == 't');
    return vm_lua_next(p);
  }
  if (vm_is_word(&p->x, "sch"))
    return vm_reader_fail(&p->r, TESS_PARSE,
                          "a call is no operand: name its result before");
  if (vm_is_word(&p->x, "nil"))
    return vm_lua_fail_at(p, "a value (ts.auto is an open factor)");
  if (vm_is_word(&p->x, "ts"))
    return vm_lua_next(p) && vm_lua_eat(p, '.') && parse_ts(p, out);
  if (vm_is_word(&p->x, "rv"))
    return vm_lua_parse_entry(p, &number) &&
           vm_reader_number(&p->r, number, out);
  for (uint32_t i = p->locals.n; i-- > 0;)
    if (is_local_named(&p->x, &p->locals.v[i])) {
      *out = vm_var(p->locals.v[i].rv);
      return vm_lua_next(p);
    }
  char letter;
  if (!vm_parse_rv_name(s, n, &letter, &number))
    return vm_reader_fail(&p->r, TESS_PARSE,
                          "variable %.*s is used before it is defined",
                          (int)(n < 40 ? n : 40), s);
  return vm_reader_variable(&p->r, s, n, out) && vm_lua_next(p);
}

static bool parse_number(vm_lua_parser *p, bool negative, vm_value *out) {
  if (p->x.token == VM_T_INT)
    *out = vm_int(negative ? (int64_t)(0 - (uint64_t)p->x.i) : p->x.i);
  else if (p->x.token == VM_T_REAL)
    *out = vm_real(negative ? -p->x.f : p->x.f);
  else
    return vm_lua_fail_at(p, "a number");
  return vm_lua_next(p);
}

static bool parse_atom(vm_lua_parser *p, vm_value *out) {
  if (vm_is_char(&p->x, '-'))
    return vm_lua_next(p) && parse_number(p, true, out);
  if (vm_is_char(&p->x, '('))
    return vm_lua_next(p) && go_deeper(p, parse_sum, out) && vm_lua_eat(p, ')');
  if (p->x.token == VM_T_NAME) return parse_name(p, out);
  return parse_number(p, false, out);
}

static ir_op operator_at(const vm_lua_parser *p, bool product) {
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

static bool parse_chain(vm_lua_parser *p, bool product, vm_value *out) {
  if (!(product ? parse_atom(p, out) : parse_chain(p, true, out))) return false;
  for (ir_op op; (op = operator_at(p, product)) != IR_NONE;) {
    vm_value right;
    if (!vm_lua_next(p) ||
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

static bool parse_sum(vm_lua_parser *p, vm_value *out) {
  return parse_chain(p, false, out);
}

static vm_value take_string(vm_lua_parser *p) {
  return vm_str(&p->r.pool, p->x.s ? p->x.s : "", p->x.n);
}

/* name = or ["name"] =; all entries of a dictionary have keys. */
static bool parse_key(vm_lua_parser *p, vm_value *out) {
  bool bracket = vm_is_char(&p->x, '[');
  if (bracket && !vm_lua_next(p)) return false;
  if (p->x.token != (bracket ? VM_T_STRING : VM_T_NAME))
    return vm_lua_fail_at(p, "a key");
  *out = take_string(p);
  return vm_lua_next(p) && (!bracket || vm_lua_eat(p, ']')) &&
         vm_lua_eat(p, '=');
}

bool vm_lua_at_key(const vm_lua_parser *p) {
  const char *s = p->x.at;
  if (vm_is_char(&p->x, '[')) return true;
  if (p->x.token != VM_T_NAME) return false;
  while (s < p->x.end && (*s == ' ' || *s == '\t')) s++;
  return s < p->x.end && *s == '=';
}

/* Elements wait on the stack until the table is complete. */
bool vm_lua_parse_table(vm_lua_parser *p, vm_value *out) {
  vm_trace *pool = &p->r.pool;
  vec_reserve(pool->heap, &p->stack, 1);
  uint32_t from = p->stack.n;
  bool keyed = vm_lua_at_key(p);
  vm_value v;
  while (!vm_is_char(&p->x, '}')) {
    if (keyed) {
      if (!parse_key(p, &v)) return false;
      vec_push(pool->heap, &p->stack, v);
    }
    if (!go_deeper(p, vm_lua_parse_value, &v)) return false;
    vec_push(pool->heap, &p->stack, v);
    if (!vm_is_char(&p->x, '}') && !vm_lua_eat(p, ',')) return false;
  }
  uint32_t n = p->stack.n - from;
  *out = keyed ? vm_dict(pool, n / 2, p->stack.v + from)
               : vm_list(pool, n, p->stack.v + from);
  p->stack.n = from;
  return vm_lua_next(p);
}

bool vm_lua_parse_value(vm_lua_parser *p, vm_value *out) {
  if (p->x.token == VM_T_STRING) {
    *out = take_string(p);
    return vm_lua_next(p);
  }
  if (vm_is_char(&p->x, '{'))
    return vm_lua_next(p) && vm_lua_parse_table(p, out);
  return parse_sum(p, out);
}
