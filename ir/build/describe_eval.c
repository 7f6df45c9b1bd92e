/* SPDX-License-Identifier: Apache-2.0
 * Vectorized evaluation of expressions for random testing: compiles them to
 * steps over slots of lanes, and runs these. */
#include "ir/build/describe_eval.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"

#include <math.h>

/* OFTEN: a number that is unlikely to be reached without a dependence. */
enum { MAX_SLOTS = 1024, OFTEN = 32 };

typedef describe_word word;

/* slot[to] = op(slot[arg[0]], ...) */
typedef struct describe_step {
  uint8_t op, nargs;
  bool real;             /* the result is a float */
  ir_fn fn;              /* IR_CALL */
  tess_dtype type, from; /* of the result; of the first operand; widened */
  uint32_t to, arg[3];
} step;

/* ---- compiling ---------------------------------------------------------- */

typedef struct compiler {
  describe_eval *v;
  uint32_t *slot; /* of an expression, plus 1; 0: none yet */
  uint32_t depth, deepest;
} compiler;

/* Floats are evaluated in double. */
static tess_dtype widened(tess_dtype t) {
  return ir_is_float(t) ? (tess_dtype){TESS_DTYPE_FLOAT, 64, 1} : t;
}

bool describe_constant_of(const ir_program *p, ir_expr e, describe_word *out) {
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_INT && n->op != IR_REAL) return false;
  *out = n->op == IR_REAL ? (word){.f = n->f} : (word){.i = n->i};
  return true;
}

static bool is_leaf(const ir_node *n) {
  switch ((ir_op)n->op) {
  case IR_NONE:
  case IR_VAR:
  case IR_LOAD:
  case IR_RAMP:
  case IR_BROADCAST: return true;
  case IR_CALL: return n->n > 3 || !ir_can_apply((ir_fn)n->a, n->dtype);
  default: return false;
  }
}

static bool compile_expr(compiler *c, ir_expr e, uint32_t *out);

/* The step for e, after those of its operands. */
static bool compile_step(compiler *c, ir_expr e) {
  describe_eval *v = c->v;
  const ir_node *n = ir_at(v->p, e);
  uint32_t fixed[3];
  const uint32_t *arg;
  step s = {.op = n->op, .real = ir_is_float(n->dtype)};
  s.nargs = (uint8_t)ir_operands(v->p, e, &arg, fixed);
  for (uint32_t i = 0; i < s.nargs; i++)
    if (!compile_expr(c, arg[i], &s.arg[i])) return false;
  s.fn = n->op == IR_CALL ? (ir_fn)n->a : IR_FN_NONE;
  s.type = widened(n->dtype);
  s.from = widened(ir_at(v->p, arg[0])->dtype);
  s.to = v->nslot;
  if (v->nslot == MAX_SLOTS) return false;
  v->step[v->nstep++] = s;
  return true;
}

/* The slot of e; false: there are too many. */
static bool compile_expr(compiler *c, ir_expr e, uint32_t *out) {
  describe_eval *v = c->v;
  word constant;
  if (!c->slot[e]) {
    bool computed = !describe_constant_of(v->p, e, &constant);
    bool leaf = computed && (c->depth == c->deepest || is_leaf(ir_at(v->p, e)));
    c->depth++;
    if (computed && !leaf && !compile_step(c, e)) return false;
    c->depth--;
    if (v->nslot == MAX_SLOTS) return false;
    if (leaf) v->leaf[v->nleaf++] = (describe_leaf){e, v->nslot};
    v->in[v->nslot] = e;
    c->slot[e] = ++v->nslot;
  }
  *out = c->slot[e] - 1;
  return true;
}

static uint8_t flaw_of(double x) {
  return isnan(x) ? DESCRIBE_UNDEFINED : isinf(x) ? DESCRIBE_INFINITE : 0;
}

static bool decides(const describe_eval *v, const step *s) {
  switch ((ir_op)s->op) {
  case IR_MIN:
  case IR_MAX:
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: break;
  default: return false;
  }
  for (uint32_t k = 0; k < 2; k++) {
    const ir_node *n = ir_at(v->p, v->in[s->arg[k]]);
    if (n->op == IR_REAL && !isfinite(n->f)) return false;
  }
  return s->arg[0] != s->arg[1];
}

/* Fills the slots of constants. */
static void fill_constants(describe_eval *v, arena *scratch) {
  size_t words = (size_t)v->nslot * DESCRIBE_LANES;
  v->value = arena_array(scratch, word, words);
  v->flaws = arena_array(scratch, uint8_t, words);
  v->flawed = arena_zalloc(scratch, v->nslot);
  v->ways = arena_zalloc(scratch, v->nstep * sizeof *v->ways);
  for (uint32_t i = 0; i < v->nstep; i++)
    if (!decides(v, &v->step[i])) v->ways[i] = (describe_ways){OFTEN, OFTEN};
  for (uint32_t s = 0; s < v->nslot; s++) {
    word x = {0};
    bool real = ir_is_float(ir_at(v->p, v->in[s])->dtype);
    describe_constant_of(v->p, v->in[s], &x);
    v->flawed[s] = real && !isfinite(x.f);
    for (uint32_t i = 0; i < DESCRIBE_LANES; i++) {
      describe_lanes(v, s)[i] = x;
      v->flaws[(size_t)s * DESCRIBE_LANES + i] = real ? flaw_of(x.f) : 0;
    }
  }
}

describe_eval *describe_eval_new(const ir_program *p, arena *scratch,
                                 uint32_t n, const ir_expr *e,
                                 uint32_t deepest) {
  describe_eval *v = arena_new(scratch, describe_eval);
  compiler c = {.v = v, .deepest = deepest};
  c.slot = arena_zalloc(scratch, p->node.n * sizeof *c.slot);
  v->p = p;
  v->in = arena_array(scratch, ir_expr, MAX_SLOTS);
  v->step = arena_array(scratch, step, MAX_SLOTS);
  v->leaf = arena_array(scratch, describe_leaf, MAX_SLOTS);
  v->root = arena_array(scratch, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    if (!compile_expr(&c, e[i], &v->root[i])) return NULL;
  fill_constants(v, scratch);
  return v;
}

/* ---- running ------------------------------------------------------------ */

static void run_call(const step *s, uint32_t n, word *z, word *const arg[3]) {
  for (uint32_t i = 0; i < n; i++) {
    double f[3] = {0};
    int64_t x[3] = {0};
    for (uint32_t k = 0; k < s->nargs; k++) {
      f[k] = s->real ? arg[k][i].f : 0;
      x[k] = s->real ? 0 : arg[k][i].i;
    }
    if (s->real)
      z[i].f = ir_apply_real(s->fn, s->type, f);
    else
      z[i].i = ir_apply_int(s->fn, s->type, x);
  }
}

static void run_cast(const step *s, uint32_t n, word *z, const word *a) {
  bool from_real = ir_is_float(s->from);
  for (uint32_t i = 0; i < n; i++)
    if (s->real)
      z[i].f =
          from_real ? a[i].f : ir_cast_int_to_real(s->type, s->from, a[i].i);
    else
      z[i].i = from_real ? ir_cast_real_to_int(s->type, a[i].f)
                         : ir_cast_int(s->type, s->from, a[i].i);
}

/* In double the four operations are the machine's. */
static void run_real(const step *s, uint32_t n, word *z, const word *a,
                     const word *b) {
  switch ((ir_op)s->op) {
  case IR_ADD:
    for (uint32_t i = 0; i < n; i++) z[i].f = a[i].f + b[i].f;
    break;
  case IR_SUB:
    for (uint32_t i = 0; i < n; i++) z[i].f = a[i].f - b[i].f;
    break;
  case IR_MUL:
    for (uint32_t i = 0; i < n; i++) z[i].f = a[i].f * b[i].f;
    break;
  case IR_DIV:
    for (uint32_t i = 0; i < n; i++) z[i].f = a[i].f / b[i].f;
    break;
  default:
    for (uint32_t i = 0; i < n; i++)
      z[i].f = ir_fold_real((ir_op)s->op, s->from, a[i].f, b[i].f);
  }
}

static void run_compare(const step *s, uint32_t n, word *z, const word *a,
                        const word *b) {
  switch ((ir_op)s->op) {
  case IR_LT:
    for (uint32_t i = 0; i < n; i++) z[i].i = a[i].f < b[i].f;
    break;
  case IR_LE:
    for (uint32_t i = 0; i < n; i++) z[i].i = a[i].f <= b[i].f;
    break;
  default:
    for (uint32_t i = 0; i < n; i++)
      z[i].i = ir_compare_real((ir_op)s->op, a[i].f, b[i].f);
  }
}

static void run_binary(const step *s, uint32_t n, word *z, const word *a,
                       const word *b) {
  ir_op op = (ir_op)s->op;
  if (!ir_is_float(s->from))
    for (uint32_t i = 0; i < n; i++)
      z[i].i = ir_fold_int(op, s->from, a[i].i, b[i].i);
  else if (s->real)
    run_real(s, n, z, a, b);
  else
    run_compare(s, n, z, a, b);
}

/* The exponent of inf and NaN is all ones: adding one carries. */
static bool are_finite(const word *x, uint32_t n) {
  const uint64_t one = UINT64_C(1) << 52, all = UINT64_C(0x7ff) << 52;
  uint64_t carried = 0;
  for (uint32_t i = 0; i < n; i++) carried |= ((uint64_t)x[i].i & all) + one;
  return !(carried >> 63);
}

/* In a select, the operand that is not selected does not count. */
static void add_flaws(const describe_eval *v, const step *s, uint32_t k,
                      uint32_t n) {
  const word *cond = describe_lanes(v, s->arg[0]);
  const uint8_t *of = v->flaws + (size_t)s->arg[k] * DESCRIBE_LANES;
  uint8_t *to = v->flaws + (size_t)s->to * DESCRIBE_LANES;
  if (s->op != IR_SELECT || !k)
    for (uint32_t i = 0; i < n; i++) to[i] |= of[i];
  else
    for (uint32_t i = 0; i < n; i++) to[i] |= (k == 1) == cond[i].i ? of[i] : 0;
}

static void find_flaws(describe_eval *v, uint32_t slot, bool real, uint32_t n) {
  const word *x = describe_lanes(v, slot);
  uint8_t *to = v->flaws + (size_t)slot * DESCRIBE_LANES;
  for (uint32_t i = 0; i < n; i++) to[i] = real ? flaw_of(x[i].f) : 0;
}

static void run_flaws(describe_eval *v, const step *s, uint32_t n) {
  bool any = s->real && !are_finite(describe_lanes(v, s->to), n);
  for (uint32_t k = 0; k < s->nargs; k++) any |= v->flawed[s->arg[k]];
  v->flawed[s->to] = any;
  if (!any) return;
  find_flaws(v, s->to, s->real, n);
  for (uint32_t k = 0; k < s->nargs; k++)
    if (v->flawed[s->arg[k]]) add_flaws(v, s, k, n);
}

static void run_step(describe_eval *v, const step *s, uint32_t n) {
  word *z = describe_lanes(v, s->to), *a[3];
  for (uint32_t k = 0; k < 3; k++)
    a[k] = describe_lanes(v, s->arg[k < s->nargs ? k : 0]);
  switch ((ir_op)s->op) {
  case IR_NOT:
    for (uint32_t i = 0; i < n; i++) z[i].i = !a[0][i].i;
    break;
  case IR_SELECT:
    for (uint32_t i = 0; i < n; i++) z[i] = a[0][i].i ? a[1][i] : a[2][i];
    break;
  case IR_CAST: run_cast(s, n, z, a[0]); break;
  case IR_CALL: run_call(s, n, z, a); break;
  default: run_binary(s, n, z, a[0], a[1]); break;
  }
  run_flaws(v, s, n);
}

/* Counts the outcomes of a step where nothing is undefined.  The minimum or
 * maximum of equal values counts as both. */
static void note_ways(describe_eval *v, const step *s, uint32_t n,
                      describe_ways *ways) {
  const word *z = describe_lanes(v, s->to);
  const word *a = describe_lanes(v, s->arg[0]);
  const word *b = describe_lanes(v, s->arg[1]);
  bool compares = s->op != IR_MIN && s->op != IR_MAX;
  for (uint32_t i = 0; i < n; i++) {
    if (describe_flaws(v, s->to, i) & DESCRIBE_UNDEFINED) continue;
    ways->one += compares  ? z[i].i != 0
                 : s->real ? z[i].f == a[i].f
                           : z[i].i == a[i].i;
    ways->other += compares  ? z[i].i == 0
                   : s->real ? z[i].f == b[i].f
                             : z[i].i == b[i].i;
  }
}

static bool took_both_ways(const describe_ways *ways) {
  return ways->one >= OFTEN && ways->other >= OFTEN;
}

bool describe_eval_both_ways(const describe_eval *v) {
  for (uint32_t i = 0; i < v->nstep; i++)
    if (!took_both_ways(&v->ways[i])) return false;
  return true;
}

static void run_leaf(describe_eval *v, describe_leaf leaf, uint32_t n) {
  bool real = ir_is_float(ir_at(v->p, leaf.e)->dtype);
  v->flawed[leaf.slot] = real && !are_finite(describe_lanes(v, leaf.slot), n);
  if (v->flawed[leaf.slot]) find_flaws(v, leaf.slot, true, n);
}

void describe_eval_run(describe_eval *v, uint32_t n) {
  for (uint32_t i = 0; i < v->nleaf; i++) run_leaf(v, v->leaf[i], n);
  for (uint32_t i = 0; i < v->nstep; i++) {
    run_step(v, &v->step[i], n);
    if (!took_both_ways(&v->ways[i])) note_ways(v, &v->step[i], n, &v->ways[i]);
  }
}
