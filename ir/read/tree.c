/* SPDX-License-Identifier: Apache-2.0
 * Parsing expressions to trees: infix, by recursive descent. */
#include "ir/read/read.h"
#include <math.h>
#include <string.h>

enum { MAX_ARGS = 4096 };

static bool parse_level(reader *r, int level, read_tree **out);

static read_tree *tree_new(reader *r, read_kind kind, const read_token *at) {
  read_tree *t = arena_new(r->scratch, read_tree);
  t->kind = kind;
  t->at = *at;
  return t;
}

static void set_args(reader *r, read_tree *t, uint32_t n, read_tree **args) {
  t->n = n;
  t->args = arena_array(r->scratch, read_tree *, n ? n : 1);
  if (n) memcpy(t->args, args, n * sizeof *args);
}

/* Expressions up to `close`, which is consumed. */
static bool parse_args(reader *r, const char *close, read_tree *t) {
  uint32_t room = 0;
  while (!read_is(r, close)) {
    if (t->n && !read_expect(r, ",")) return false;
    if (t->n == MAX_ARGS) return read_fail(r, "too many operands");
    if (t->n == room) {
      read_tree **old = t->args;
      room = room ? 2 * room : 4;
      t->args = arena_array(r->scratch, read_tree *, room);
      if (t->n) memcpy(t->args, old, t->n * sizeof *old);
    }
    if (!read_parse_tree(r, &t->args[t->n])) return false;
    t->n++;
  }
  return read_advance(r);
}

static bool need_args(reader *r, const read_tree *t, uint32_t n,
                      const char *what) {
  return t->n == n || read_fail_at(r, &t->at, "%s takes %u operand%s, not %u",
                                   what, n, n == 1 ? "" : "s", t->n);
}

/* ---- calls -------------------------------------------------------------- */

static bool find_fn(const char *s, ir_fn *out) {
  for (int f = 1; f < IR_FN_COUNT; f++)
    if (f != IR_FN_REINTERPRET && !ir_fn_is_named((uint32_t)f) &&
        !strcmp(ir_fn_text((ir_fn)f), s)) {
      *out = (ir_fn)f;
      return true;
    }
  return false;
}

static uint32_t fn_arity(ir_fn fn) {
  static const uint8_t arity[] = {
#define FN(name, text, cost, nargs, doc) [IR_FN_##name] = nargs,
#include "ir/fn.def"
#undef FN
  };
  return arity[fn];
}

/* name ".bits" or ".extern" of a dtype. */
static bool split_suffix(reader *r, const char *s, const char *suffix,
                         tess_dtype *t) {
  size_t n = strlen(s), k = strlen(suffix);
  if (n <= k || strcmp(s + n - k, suffix)) return false;
  return ir_dtype_parse(arena_printf(r->scratch, "%.*s", (int)(n - k), s), t);
}

static bool parse_extern(reader *r, ir_fn fn, tess_dtype dtype,
                         const read_token *at, read_tree **out) {
  read_tree *t = *out = tree_new(r, TREE_CALL, at);
  t->fn = fn;
  t->dtype = dtype;
  if (r->t.kind != READ_STRING || !r->t.n || memchr(r->t.s, 0, r->t.n))
    return read_fail(r, "the name of a function is expected, in quotes, not %s",
                     read_spell(r, &r->t));
  t->name = r->t.s;
  return read_advance(r) && read_expect(r, "(") && parse_args(r, ")", t);
}

/* The last operand is the number of lanes. */
static bool parse_vector(reader *r, read_tree *t) {
  uint32_t n = t->op == IR_RAMP ? 3 : 2;
  if (!need_args(r, t, n, ir_op_text(t->op))) return false;
  const read_tree *lanes = t->args[n - 1];
  if (lanes->kind != TREE_INT || lanes->negative || lanes->i < 2 ||
      lanes->i > UINT16_MAX)
    return read_fail_at(r, &lanes->at, "lanes are a number from 2 to 65535");
  t->dtype.lanes = (uint16_t)lanes->i;
  t->n--;
  return true;
}

static bool parse_masked(reader *r, const read_token *at, read_tree **out) {
  read_tree *t = tree_new(r, TREE_LOAD, at);
  if (!parse_args(r, ")", t) || !need_args(r, t, 2, "masked")) return false;
  read_tree *load = t->args[0];
  if (load->kind != TREE_LOAD || load->masked)
    return read_fail_at(r, &load->at, "only a load can be masked");
  read_tree **args = arena_array(r->scratch, read_tree *, load->n + 1);
  if (load->n) memcpy(args, load->args, load->n * sizeof *args);
  args[load->n] = t->args[1];
  set_args(r, load, load->n + 1, args);
  load->masked = true;
  *out = load;
  return true;
}

/* What a call of `name` is; its operands come next. */
static bool classify_call(reader *r, const char *name, read_tree *t) {
  if (ir_dtype_parse(name, &t->dtype)) {
    t->kind = TREE_CAST;
  } else if (split_suffix(r, name, ".bits", &t->dtype)) {
    t->fn = IR_FN_REINTERPRET;
  } else if (!strcmp(name, "min") || !strcmp(name, "max")) {
    t->kind = TREE_BINARY;
    t->op = name[1] == 'i' ? IR_MIN : IR_MAX;
  } else if (!strcmp(name, "select")) {
    t->kind = TREE_SELECT;
  } else if (!strcmp(name, "ramp") || !strcmp(name, "broadcast")) {
    t->kind = TREE_VECTOR;
    t->op = *name == 'r' ? IR_RAMP : IR_BROADCAST;
  } else if (!find_fn(name, &t->fn)) {
    return read_fail_at(r, &t->at, "there is no function '%s'", name);
  }
  return true;
}

static bool check_arity(reader *r, const char *name, read_tree *t) {
  switch (t->kind) {
  case TREE_CAST: return need_args(r, t, 1, name);
  case TREE_BINARY: return need_args(r, t, 2, name);
  case TREE_SELECT: return need_args(r, t, 3, name);
  case TREE_VECTOR: return parse_vector(r, t);
  default: return need_args(r, t, fn_arity(t->fn), name);
  }
}

/* After the name and the parenthesis. */
static bool parse_call(reader *r, const char *name, const read_token *at,
                       read_tree **out) {
  if (!strcmp(name, "masked")) return parse_masked(r, at, out);
  *out = tree_new(r, TREE_CALL, at);
  return classify_call(r, name, *out) && parse_args(r, ")", *out) &&
         check_arity(r, name, *out);
}

/* ---- atoms -------------------------------------------------------------- */

static bool parse_load(reader *r, const char *name, const read_token *at,
                       read_tree **out) {
  const read_name *x = read_find(r, name);
  if (!x || !x->is_buffer)
    return read_fail_at(r, at, "there is no buffer '%s'", name);
  *out = tree_new(r, TREE_LOAD, at);
  (*out)->id = x->id;
  return parse_args(r, "]", *out) &&
         need_args(r, *out, ir_ndim(r->p, x->id), name);
}

static bool parse_var(reader *r, const char *name, const read_token *at,
                      read_tree **out) {
  const read_name *x = read_find(r, name);
  if (!x || x->is_buffer)
    return read_fail_at(r, at, "there is no variable '%s'", name);
  *out = tree_new(r, TREE_VAR, at);
  (*out)->id = x->id;
  return true;
}

/* true, false, inf, nan. */
static bool parse_word(reader *r, const read_token *at, read_tree **out) {
  bool truth = read_is(r, "true") || read_is(r, "false");
  *out = tree_new(r, truth ? TREE_BOOL : TREE_REAL, at);
  (*out)->i = read_is(r, "true");
  (*out)->f = read_is(r, "inf") ? (double)INFINITY : (double)NAN;
  return read_advance(r);
}

static bool parse_name(reader *r, read_tree **out) {
  read_token at = r->t;
  const char *name;
  tess_dtype dtype;
  if (read_is(r, "true") || read_is(r, "false") || read_is(r, "inf") ||
      read_is(r, "nan"))
    return parse_word(r, &at, out);
  bool ok, instead = read_accept(r, "instead", &ok);
  if (!ok) return false;
  if (instead) return parse_extern(r, IR_FN_INSTEAD, IR_BOOL, &at, out);
  if (!read_word(r, "a name", &name)) return false;
  if (at.kind == READ_NAME && split_suffix(r, name, ".extern", &dtype))
    return parse_extern(r, IR_FN_EXTERN, dtype, &at, out);
  if (at.kind == READ_NAME && read_accept(r, "(", &ok))
    return parse_call(r, name, &at, out);
  if (ok && read_accept(r, "[", &ok)) return parse_load(r, name, &at, out);
  return ok && parse_var(r, name, &at, out);
}

static bool parse_number(reader *r, read_tree **out) {
  *out = tree_new(r, r->t.kind == READ_INT ? TREE_INT : TREE_REAL, &r->t);
  (*out)->i = r->t.i;
  (*out)->f = r->t.f;
  return read_advance(r);
}

static bool parse_atom(reader *r, read_tree **out) {
  bool ok;
  if (r->t.kind == READ_INT || r->t.kind == READ_REAL)
    return parse_number(r, out);
  if (r->t.kind == READ_NAME || r->t.kind == READ_QUOTED)
    return parse_name(r, out);
  if (read_accept(r, "(", &ok))
    return read_parse_tree(r, out) && read_expect(r, ")");
  return ok && read_fail(r, "an expression is expected, not %s",
                         read_spell(r, &r->t));
}

/* -x, of a literal a literal; !x. */
static bool parse_unary(reader *r, read_tree **out) {
  read_token at = r->t;
  bool ok, negate = read_accept(r, "-", &ok), negation;
  if (!ok) return false;
  negation = !negate && read_accept(r, "!", &ok);
  if (!ok) return false;
  if (!negate && !negation) return parse_atom(r, out);
  if (++r->depth > READ_MAX_DEPTH)
    return read_fail(r, "the expression nests too deep");
  read_tree *of;
  if (!parse_unary(r, &of)) return false;
  r->depth--;
  if (negate && (of->kind == TREE_INT || of->kind == TREE_REAL)) {
    of->negative = !of->negative;
    of->f = -of->f;
    *out = of;
    return true;
  }
  *out = tree_new(r, negate ? TREE_NEGATE : TREE_NOT, &at);
  set_args(r, *out, 1, &of);
  return true;
}

/* ---- operators ---------------------------------------------------------- */

typedef struct operator{
  const char *text;
  int level;
  ir_op op;
  bool swapped;
}
operator;

/* A chain of operators is as deep a tree as it is long. */
enum { COMPARISON = 3, LEVELS = 5, MAX_CHAIN = 1000 };

static const operator operators[] = {
    {"||", 1, IR_OR, false},          {"&&", 2, IR_AND, false},
    {"==", COMPARISON, IR_EQ, false}, {"!=", COMPARISON, IR_NE, false},
    {"<", COMPARISON, IR_LT, false},  {"<=", COMPARISON, IR_LE, false},
    {">", COMPARISON, IR_LT, true},   {">=", COMPARISON, IR_LE, true},
    {"+", 4, IR_ADD, false},          {"-", 4, IR_SUB, false},
    {"*", 5, IR_MUL, false},          {"/", 5, IR_DIV, false},
    {"//", 5, IR_DIV, false},         {"%", 5, IR_MOD, false}};

static const operator* operator_here(const reader *r, int level) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (operators[i].level == level && read_is(r, operators[i].text))
      return &operators[i];
  return NULL;
}

/* Operands of one level associate to the left; comparisons do not. */
static bool parse_level(reader *r, int level, read_tree **out) {
  if (level > LEVELS) return parse_unary(r, out);
  if (!parse_level(r, level + 1, out)) return false;
  const operator* o;
  for (int n = 0; (o = operator_here(r, level)); n++) {
    if (n == MAX_CHAIN) return read_fail(r, "the expression is too long");
    read_tree *t = tree_new(r, TREE_BINARY, &r->t), *right;
    if (!read_advance(r) || !parse_level(r, level + 1, &right)) return false;
    t->op = o->op;
    t->name = o->text;
    set_args(r, t, 2,
             o->swapped ? (read_tree *[]){right, *out}
                        : (read_tree *[]){*out, right});
    *out = t;
    if (level == COMPARISON) break;
  }
  return true;
}

bool read_parse_tree(reader *r, read_tree **out) {
  if (++r->depth > READ_MAX_DEPTH)
    return read_fail(r, "the expression nests too deep");
  bool ok = parse_level(r, 1, out);
  r->depth--;
  return ok;
}
