/* SPDX-License-Identifier: Apache-2.0
 * Program builder: expressions: handles, typing, operators. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include <math.h>

/* ---- handles ------------------------------------------------------------ */

static tess_status give_result(ir_builder *b, describe_value v,
                               describe_expr *out) {
  if (v.depth > DESCRIBE_MAX_DEPTH)
    return err_set(b->err, TESS_LIMIT,
                   "an expression nests deeper than %d; "
                   "use a reduction, or a compute for a "
                   "part of it",
                   DESCRIBE_MAX_DEPTH);
  *out = vec_push(b->heap, &b->value, v);
  return TESS_OK;
}

tess_status describe_give(ir_builder *b, ir_expr e, uint32_t depth,
                          describe_expr *out) {
  uint16_t d = depth > UINT16_MAX ? UINT16_MAX : (uint16_t)depth;
  return give_result(
      b, (describe_value){.kind = DESCRIBE_EXPR, .depth = d, .e = e}, out);
}

const describe_value *describe_get(ir_builder *b, describe_expr x,
                                   const char *what) {
  if (x && x < b->value.n) return &b->value.v[x];
  err_set(b->err, TESS_INVALID, "%s is not an expression of this builder",
          what);
  return NULL;
}

/* The maximal depth of n operands. */
static uint32_t deepest(const ir_builder *b, uint32_t n,
                        const describe_expr *x) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < n; i++)
    if (b->value.v[x[i]].depth > most) most = b->value.v[x[i]].depth;
  return most;
}

static bool is_literal(const describe_value *v) {
  return v->kind == DESCRIBE_INT_LITERAL || v->kind == DESCRIBE_REAL_LITERAL;
}

/* The default type of a literal. */
static tess_dtype own_type(const ir_builder *b, const describe_value *v) {
  if (v->kind == DESCRIBE_EXPR) return ir_at(&b->p, v->e)->dtype;
  if (v->kind == DESCRIBE_INT_LITERAL) return IR_INDEX;
  return (tess_dtype){TESS_DTYPE_FLOAT, 32, 1};
}

/* ---- literals ----------------------------------------------------------- */

/* An integer literal of type t is a value of t, not its bit pattern. */
static bool literal_fits(tess_dtype t, int64_t v) {
  return t.code != TESS_DTYPE_BOOL && v >= ir_int_min(t) && v <= ir_int_max(t);
}

/* Infinity is representable, but no finite number may overflow to it. */
static tess_status real_as(ir_builder *b, double v, tess_dtype t,
                           const char *what, ir_expr *out) {
  if (!ir_holds_real(t, v))
    return err_set(b->err, TESS_TYPE,
                   "%s is %g, which is too large for a value of %s", what, v,
                   describe_type_text(b, t));
  *out = ir_real(&b->p, t, v);
  return TESS_OK;
}

static tess_status literal_as(ir_builder *b, describe_value v, tess_dtype t,
                              const char *what, ir_expr *out) {
  if (ir_is_float(t))
    return real_as(b, v.kind == DESCRIBE_INT_LITERAL ? (double)v.i : v.f, t,
                   what, out);
  if (v.kind == DESCRIBE_INT_LITERAL && literal_fits(t, v.i)) {
    *out = ir_int(&b->p, t, v.i);
    return TESS_OK;
  }
  const char *type = describe_type_text(b, t);
  if (v.kind == DESCRIBE_INT_LITERAL)
    return err_set(b->err, TESS_TYPE, "%s is %lld, which is not a value of %s",
                   what, (long long)v.i, type);
  if (v.f == floor(v.f) && fabs(v.f) < 1e15)
    return err_set(b->err, TESS_TYPE,
                   "%s is %.1f, a real number; an %s is wanted (// divides "
                   "integers)",
                   what, v.f, type);
  return err_set(b->err, TESS_TYPE, "%s is %g, which is not a value of %s",
                 what, v.f, type);
}

tess_status describe_typed(ir_builder *b, describe_expr x, tess_dtype t,
                           const char *what, ir_expr *out) {
  const describe_value *v = describe_get(b, x, what);
  if (!v) return TESS_INVALID;
  if (v->kind == DESCRIBE_REDUCTION)
    return err_set(b->err, TESS_INVALID,
                   "%s is the result of a reduction, "
                   "which can only be the whole body of "
                   "a compute",
                   what);
  if (is_literal(v)) return literal_as(b, *v, t, what, out);
  *out = v->e;
  tess_dtype is = ir_at(&b->p, v->e)->dtype;
  if (ir_dtype_eq(is, t)) return TESS_OK;
  const char *have = describe_type_text(b, is),
             *want = describe_type_text(b, t);
  return err_set(b->err, TESS_TYPE, "%s is %s, not %s (cast it)", what, have,
                 want);
}

tess_status describe_plain(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out) {
  const describe_value *v = describe_get(b, x, what);
  return v ? describe_typed(b, x, own_type(b, v), what, out) : TESS_INVALID;
}

/* Is x an integer of fewer bits whose values all fit int64? */
static bool is_narrow(const ir_builder *b, const describe_value *v) {
  if (v->kind != DESCRIBE_EXPR) return false;
  tess_dtype t = ir_at(&b->p, v->e)->dtype;
  return (t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT) && t.bits < 64;
}

tess_status describe_index(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out) {
  const describe_value *v = describe_get(b, x, what);
  if (!v) return TESS_INVALID;
  if (!is_narrow(b, v)) return describe_typed(b, x, IR_INDEX, what, out);
  *out = ir_cast(&b->p, IR_INDEX, v->e);
  return TESS_OK;
}

tess_status describe_extent(ir_builder *b, describe_expr x, int64_t least,
                            const char *what, ir_expr *out) {
  int64_t n;
  tess_status s = describe_index(b, x, what, out);
  if (!s && ir_const_int(&b->p, *out, &n) && n < least)
    return err_set(b->err, TESS_INVALID, "%s is %lld; it must be at least %lld",
                   what, (long long)n, (long long)least);
  return s;
}

tess_status describe_elements_ok(ir_builder *b, uint32_t ndim,
                                 const ir_expr *dims, const char *what) {
  int64_t n, all = 1;
  for (uint32_t d = 0; d < ndim; d++)
    if (ir_const_int(&b->p, dims[d], &n) &&
        (__builtin_mul_overflow(all, n, &all) || all > DESCRIBE_MAX_ELEMENTS))
      return err_set(b->err, TESS_LIMIT,
                     "%s has 2^60 elements or more; so many cannot be counted "
                     "in bytes",
                     what);
  return TESS_OK;
}

tess_status describe_range_ok(ir_builder *b, ir_expr lo, ir_expr extent,
                              const char *what) {
  int64_t start, n, end;
  if (!ir_const_int(&b->p, lo, &start) || !ir_const_int(&b->p, extent, &n) ||
      !__builtin_add_overflow(start, n, &end))
    return TESS_OK;
  return err_set(b->err, TESS_INVALID,
                 "%s is %lld behind a start of %lld, which is more than "
                 "int64 holds",
                 what, (long long)n, (long long)start);
}

/* The type is not of this kind, or invalid. */
static tess_status bad_constant(ir_builder *b, tess_dtype t, const char *kind) {
  tess_status s = describe_number_ok(b, t, "a constant");
  if (!s)
    s = err_set(b->err, TESS_TYPE,
                "a constant of %s type is wanted, and %s is none", kind,
                describe_type_text(b, t));
  arena_reset(&b->scratch);
  return s;
}

tess_status describe_int(ir_builder *b, tess_dtype t, int64_t v,
                         describe_expr *out) {
  if (!ir_is_int(t) || !ir_is_number(t))
    return bad_constant(b, t, "an integer");
  if (ir_holds_int(t, v)) return describe_give(b, ir_int(&b->p, t, v), 1, out);
  tess_status s = err_set(b->err, TESS_TYPE,
                          "a constant is %lld, which is not a value of %s",
                          (long long)v, describe_type_text(b, t));
  arena_reset(&b->scratch);
  return s;
}

tess_status describe_real(ir_builder *b, tess_dtype t, double v,
                          describe_expr *out) {
  if (!ir_is_float(t) || !ir_is_number(t)) return bad_constant(b, t, "a float");
  ir_expr e = 0;
  tess_status s = real_as(b, v, t, "a constant", &e);
  if (!s) return describe_give(b, e, 1, out);
  arena_reset(&b->scratch);
  return s;
}

tess_status describe_literal(ir_builder *b, double v, bool is_int,
                             describe_expr *out) {
  describe_value x = {.kind = DESCRIBE_REAL_LITERAL, .depth = 1, .f = v};
  if (is_int) {
    if (!(fabs(v) <= 9007199254740992.0) || v != floor(v))
      return err_set(b->err, TESS_INVALID, "%g is not an exact integer", v);
    x.kind = DESCRIBE_INT_LITERAL;
    x.i = (int64_t)v;
  }
  return give_result(b, x, out);
}

tess_status describe_var(ir_builder *b, ir_var v, describe_expr *out) {
  if (!v || v >= b->p.var.n)
    return err_set(b->err, TESS_INVALID, "there is no variable %u", v);
  return describe_give(b, ir_ref(&b->p, v), 1, out);
}

/* ---- binary operators --------------------------------------------------- */

typedef enum op_rule {
  ANY_NUMBER, /* of any type but bool */
  FLOAT_ONLY,
  COMPARISON, /* of any type */
  LOGIC       /* of bool */
} op_rule;

typedef struct op_def {
  const char *text;
  ir_op op;
  op_rule rule;
  bool swap;
} op_def;

static const op_def ops[] = {
    {"+", IR_ADD, ANY_NUMBER, false},   {"-", IR_SUB, ANY_NUMBER, false},
    {"*", IR_MUL, ANY_NUMBER, false},   {"/", IR_DIV, FLOAT_ONLY, false},
    {"//", IR_DIV, ANY_NUMBER, false},  {"%", IR_MOD, ANY_NUMBER, false},
    {"^", IR_CALL, FLOAT_ONLY, false},  {"min", IR_MIN, ANY_NUMBER, false},
    {"max", IR_MAX, ANY_NUMBER, false}, {"==", IR_EQ, COMPARISON, false},
    {"!=", IR_NE, COMPARISON, false},   {"<", IR_LT, COMPARISON, false},
    {"<=", IR_LE, COMPARISON, false},   {">", IR_LT, COMPARISON, true},
    {">=", IR_LE, COMPARISON, true},    {"and", IR_AND, LOGIC, false},
    {"or", IR_OR, LOGIC, false},
};

static const op_def *find_op(const char *text) {
  for (size_t i = 0; text && i < sizeof ops / sizeof *ops; i++)
    if (!strcmp(ops[i].text, text)) return &ops[i];
  return NULL;
}

/* The common type of both operands: that of the one that is typed. */
static tess_dtype common_type(const ir_builder *b, const describe_value *x,
                              const describe_value *y) {
  if (!is_literal(x) || !is_literal(y))
    return own_type(b, is_literal(x) ? y : x);
  return own_type(b, x->kind == DESCRIBE_REAL_LITERAL ? x : y);
}

static tess_status check_rule(ir_builder *b, const op_def *o, tess_dtype t) {
  bool is_bool = t.code == TESS_DTYPE_BOOL;
  if (o->rule == LOGIC        ? is_bool
      : o->rule == FLOAT_ONLY ? ir_is_float(t)
                              : o->rule == COMPARISON || !is_bool)
    return TESS_OK;
  const char *type = describe_type_text(b, t);
  const char *hint = o->rule != FLOAT_ONLY   ? ""
                     : !strcmp(o->text, "/") ? "; use // for integers"
                                             : "; cast them to a float";
  return err_set(b->err, TESS_TYPE, "'%s' does not work on %s%s", o->text, type,
                 hint);
}

/* Converts both operands to one type; a mismatch names both types. */
static tess_status unify(ir_builder *b, const char *op, describe_expr x,
                         describe_expr y, ir_expr out[2]) {
  const describe_value *v = describe_get(b, x, "the left operand");
  if (!v) return TESS_INVALID;
  const describe_value *w = describe_get(b, y, "the right operand");
  if (!w) return TESS_INVALID;
  tess_dtype t = common_type(b, v, w);
  if (v->kind == DESCRIBE_EXPR && w->kind == DESCRIBE_EXPR &&
      !ir_dtype_eq(own_type(b, v), own_type(b, w))) {
    const char *left = describe_type_text(b, own_type(b, v));
    const char *right = describe_type_text(b, own_type(b, w));
    return err_set(b->err, TESS_TYPE,
                   "'%s': the left operand is %s, the right "
                   "one is %s (cast one of them)",
                   op, left, right);
  }
  const char *left = arena_printf(&b->scratch, "the left operand of '%s'", op);
  const char *right =
      arena_printf(&b->scratch, "the right operand of '%s'", op);
  tess_status s = describe_typed(b, x, t, left, &out[0]);
  return s ? s : describe_typed(b, y, t, right, &out[1]);
}

/* A floored quotient of floats is a quotient inside a floor: *depth, the number
 * of nodes that this adds to the depth, is then 2. */
static ir_expr make_binary(ir_program *p, const op_def *o, const ir_expr e[2],
                           uint32_t *depth) {
  tess_dtype t = ir_at(p, e[0])->dtype;
  bool floors = !strcmp(o->text, "//") && ir_is_float(t);
  *depth = floors ? 2 : 1;
  if (o->op == IR_CALL) return ir_call(p, IR_FN_POW, t, 2, e);
  ir_expr r = ir_binary(p, o->op, e[o->swap], e[!o->swap]);
  return floors ? ir_call(p, IR_FN_FLOOR, t, 1, &r) : r;
}

tess_status describe_binary(ir_builder *b, const char *op, describe_expr x,
                            describe_expr y, describe_expr *out) {
  ir_expr e[2];
  const op_def *o = find_op(op);
  if (!o)
    return err_set(b->err, TESS_INVALID, "there is no operator '%s'",
                   op ? op : "");
  tess_status s = unify(b, op, x, y, e);
  if (!s) s = check_rule(b, o, ir_at(&b->p, e[0])->dtype);
  arena_reset(&b->scratch);
  if (s) return s;
  uint32_t depth;
  ir_expr made = make_binary(&b->p, o, e, &depth);
  return describe_give(b, made, depth + deepest(b, 2, (describe_expr[]){x, y}),
                       out);
}

/* ---- functions ---------------------------------------------------------- */

static const struct {
  const char *name;
  uint32_t nargs;
} fns[] = {
    {"", 0},
#define FN(name, text, kind, nargs, doc) {text, nargs},
#include "ir/fn.def"
#undef FN
};

/* The others of ir/fn.def are made by lowering, or not by a name alone. */
static bool can_be_described(ir_fn fn) {
  return ir_fn_kind_of(fn) != IR_FN_OTHER;
}

static ir_fn find_fn(const char *name) {
  for (uint32_t i = 1; i < IR_FN_COUNT; i++)
    if (can_be_described((ir_fn)i) && !strcmp(fns[i].name, name))
      return (ir_fn)i;
  return IR_FN_NONE;
}

/* Unsigned integers wrap, and have no -1 to multiply by. */
static tess_status negate_value(ir_builder *b, describe_expr x,
                                describe_expr *out) {
  describe_expr k;
  const describe_value *v = describe_get(b, x, "the operand of '-'");
  if (!v) return TESS_INVALID;
  uint32_t code = own_type(b, v).code;
  if (code == TESS_DTYPE_BOOL)
    return err_set(b->err, TESS_TYPE, "'-' does not work on bool");
  bool wraps = code == TESS_DTYPE_UINT;
  tess_status s = describe_literal(b, wraps ? 0 : -1, true, &k);
  if (s) return s;
  return wraps ? describe_binary(b, "-", k, x, out)
               : describe_binary(b, "*", x, k, out);
}

static tess_status invert(ir_builder *b, describe_expr x, describe_expr *out) {
  ir_expr e;
  tess_status s = describe_typed(b, x, IR_BOOL, "the operand of 'not'", &e);
  arena_reset(&b->scratch);
  if (s) return s;
  return describe_give(b, ir_not(&b->p, e), deepest(b, 1, &x) + 1, out);
}

/* Integers are their own floor, ceil and round, and unsigned ones their own
 * absolute value. */
static bool is_identity(ir_fn fn, tess_dtype t) {
  if (!ir_is_int(t) || t.code == TESS_DTYPE_BOOL) return false;
  return fn == IR_FN_FLOOR || fn == IR_FN_CEIL || fn == IR_FN_ROUND ||
         (fn == IR_FN_ABS && t.code == TESS_DTYPE_UINT);
}

static bool works_on(ir_fn fn, tess_dtype t) {
  if (t.code == TESS_DTYPE_BOOL) return false;
  if (ir_fn_kind_of(fn) == IR_FN_BITS) return ir_is_int(t);
  return ir_is_float(t) || fn == IR_FN_ABS;
}

/* The arguments in the type of the first typed one. */
static tess_status typed_args(ir_builder *b, const char *fn, uint32_t n,
                              const describe_expr *x, ir_expr *e) {
  tess_dtype t = {TESS_DTYPE_FLOAT, 32, 1};
  for (uint32_t i = n; i-- > 0;) {
    const describe_value *v = describe_get(b, x[i], "an argument");
    if (!v) return TESS_INVALID;
    if (v->kind == DESCRIBE_EXPR) t = own_type(b, v);
  }
  for (uint32_t i = 0; i < n; i++) {
    const char *what =
        arena_printf(&b->scratch, "argument %u of %s", i + 1, fn);
    tess_status s = describe_typed(b, x[i], t, what, &e[i]);
    if (s) return s;
  }
  return TESS_OK;
}

static tess_status call_function(ir_builder *b, ir_fn fn, uint32_t n,
                                 const describe_expr *args,
                                 describe_expr *out) {
  ir_expr e[3];
  const char *name = fns[fn].name;
  if (n != fns[fn].nargs)
    return err_set(b->err, TESS_INVALID, "%s takes %u argument%s, not %u", name,
                   fns[fn].nargs, fns[fn].nargs == 1 ? "" : "s", n);
  tess_status s = typed_args(b, name, n, args, e);
  if (s) return s;
  tess_dtype t = ir_at(&b->p, e[0])->dtype;
  uint32_t depth = deepest(b, n, args) + 1;
  if (is_identity(fn, t)) return describe_give(b, e[0], depth, out);
  if (!works_on(fn, t)) {
    const char *type = describe_type_text(b, t);
    return err_set(b->err, TESS_TYPE, "%s does not work on %s (cast it)", name,
                   type);
  }
  return describe_give(b, ir_call(&b->p, fn, t, n, e), depth, out);
}

/* All bits of x the other way. */
static tess_status complement(ir_builder *b, describe_expr x,
                              describe_expr *out) {
  ir_expr e[2];
  tess_status s = typed_args(b, "bitnot", 1, &x, e);
  tess_dtype t = s ? IR_BOOL : ir_at(&b->p, e[0])->dtype;
  if (!s && !works_on(IR_FN_BITXOR, t))
    s = err_set(b->err, TESS_TYPE, "bitnot does not work on %s (cast it)",
                describe_type_text(b, t));
  arena_reset(&b->scratch);
  if (s) return s;
  e[1] = ir_int(&b->p, t, ir_wrap_int(t, -1));
  return describe_give(b, ir_call(&b->p, IR_FN_BITXOR, t, 2, e),
                       deepest(b, 1, &x) + 1, out);
}

/* What is no function of ir/fn.def. */
static const struct {
  const char *name;
  tess_status (*make)(ir_builder *b, describe_expr x, describe_expr *out);
} operators[] = {{"-", negate_value}, {"not", invert}, {"bitnot", complement}};

static tess_status operator_call(ir_builder *b, const char *fn, uint32_t n,
                                 const describe_expr *args,
                                 describe_expr *out) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (strcmp(operators[i].name, fn)) continue;
    if (n != 1)
      return err_set(b->err, TESS_INVALID, "'%s' takes 1 operand, not %u", fn,
                     n);
    return operators[i].make(b, args[0], out);
  }
  return err_set(b->err, TESS_INVALID, "there is no function '%s'", fn);
}

tess_status describe_call(ir_builder *b, const char *fn, uint32_t n,
                          const describe_expr *args, describe_expr *out) {
  ir_fn f = fn ? find_fn(fn) : IR_FN_NONE;
  if (!f) return operator_call(b, fn ? fn : "", n, args, out);
  tess_status s = call_function(b, f, n, args, out);
  arena_reset(&b->scratch);
  return s;
}

tess_status describe_extern(ir_builder *b, const char *name, tess_dtype t,
                            uint32_t n, const describe_expr *args,
                            describe_expr *out) {
  tess_status s = describe_name_ok(b, name, "an external function");
  if (!s && n > DESCRIBE_MAX_DIM)
    s = err_set(b->err, TESS_LIMIT, "'%s' has more than %d arguments", name,
                DESCRIBE_MAX_DIM);
  if (!s)
    s = describe_number_ok(
        b, t, arena_printf(&b->scratch, "the result of '%s'", name));
  ir_expr e[DESCRIBE_MAX_DIM];
  for (uint32_t i = 0; i < n && !s; i++)
    s = describe_plain(b, args[i], "an argument of an external function",
                       &e[i]);
  arena_reset(&b->scratch);
  if (s) return s;
  return describe_give(b, ir_call_extern(&b->p, name, t, n, e),
                       deepest(b, n, args) + 1, out);
}

tess_status describe_select(ir_builder *b, describe_expr cond,
                            describe_expr yes, describe_expr no,
                            describe_expr *out) {
  ir_expr c, e[2];
  tess_status s =
      describe_typed(b, cond, IR_BOOL, "the condition of select", &c);
  if (!s) s = unify(b, "select", yes, no, e);
  arena_reset(&b->scratch);
  if (s) return s;
  uint32_t depth = deepest(b, 3, (describe_expr[]){cond, yes, no}) + 1;
  return describe_give(b, ir_select(&b->p, c, e[0], e[1]), depth, out);
}

tess_status describe_load(ir_builder *b, ir_buf buf, uint32_t n,
                          const describe_expr *idx, describe_expr *out) {
  if (!describe_buf_ok(b, buf))
    return err_set(b->err, TESS_INVALID, "there is no buffer %u", buf);
  const char *name = ir_text(&b->p, b->p.buf.v[buf].name);
  if (n != ir_ndim(&b->p, buf))
    return err_set(b->err, TESS_INVALID,
                   "buffer '%s' has %u dimension%s but "
                   "is indexed by %u",
                   name, ir_ndim(&b->p, buf),
                   ir_ndim(&b->p, buf) == 1 ? "" : "s", n);
  ir_expr e[DESCRIBE_MAX_DIM];
  tess_status s = TESS_OK;
  bool casts = false;
  for (uint32_t i = 0; i < n && !s; i++) {
    const char *what = arena_printf(&b->scratch, "index %u of '%s'", i,
                                    ir_text(&b->p, b->p.buf.v[buf].name));
    s = describe_index(b, idx[i], what, &e[i]);
    casts = casts || (!s && is_narrow(b, &b->value.v[idx[i]]));
  }
  arena_reset(&b->scratch);
  if (s) return s;
  return describe_give(b, ir_load(&b->p, buf, n, e),
                       deepest(b, n, idx) + 1 + casts, out);
}

/* ---- queries ------------------------------------------------------------ */

tess_status describe_dtype(ir_builder *b, describe_expr x, tess_dtype *out) {
  const describe_value *v = describe_get(b, x, "this");
  if (!v) return TESS_INVALID;
  if (v->kind != DESCRIBE_REDUCTION) {
    *out = own_type(b, v);
    return TESS_OK;
  }
  ir_span sources = b->reduction.v[v->reduction].sources;
  *out = ir_at(&b->p, b->p.arg.v[sources.at + v->output])->dtype;
  return TESS_OK;
}

static void reduction_text(ir_builder *b, const describe_value *v,
                           strbuf *out) {
  const describe_reduction *r = &b->reduction.v[v->reduction];
  const ir_reducer *how = &b->p.reducer.v[r->reducer];
  str_printf(out, "%s(", ir_text(&b->p, how->name));
  ir_print_expr(&b->p, b->p.arg.v[r->sources.at + v->output], out);
  for (uint32_t i = 0; i < r->axes.n; i++) {
    str_puts(out, ", ");
    ir_var_name(&b->p, b->p.arg.v[r->axes.at + i], out);
  }
  str_putc(out, ')');
}

tess_status describe_text(ir_builder *b, describe_expr x, strbuf *out) {
  const describe_value *v = describe_get(b, x, "this");
  if (!v) return TESS_INVALID;
  switch ((describe_kind)v->kind) {
  case DESCRIBE_INT_LITERAL: str_printf(out, "%lld", (long long)v->i); break;
  case DESCRIBE_REAL_LITERAL: str_put_double(out, v->f); break;
  case DESCRIBE_REDUCTION: reduction_text(b, v, out); break;
  case DESCRIBE_EXPR: ir_print_expr(&b->p, v->e, out); break;
  case DESCRIBE_NONE: break;
  }
  return TESS_OK;
}
