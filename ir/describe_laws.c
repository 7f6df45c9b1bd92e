/* SPDX-License-Identifier: Apache-2.0
 * Is a reducer what schedules take it for?
 *
 * A result starts from the identity and takes in one source after another.
 * Schedules may reduce parts by themselves and combine their results where the
 * combine is associative and the identity neutral, and in any order where it is
 * commutative, too.  All this is asked of
 * results only, identity combined with anything: max(|a|, |b|) from 0 is fine,
 * though it makes 1 of 0 and -1.
 *
 * It is found out on tuples of a few values, so that some are equal, among
 * them extreme and random ones, always the same; a source that is a constant,
 * as the 1 of what is counted, has no other value.  Integers wrap, as they do
 * everywhere; floats are computed in double whatever their type is, so that
 * what counts is not rounding; and where an undefined or infinite value comes
 * up that was none before, nothing is concluded. */
#include "base/rng.h"
#include "ir/describe.h"
#include "ir/scalar.h"

#include <inttypes.h>
#include <math.h>

enum {
  ROUNDS = 64, /* each with tuples of its own */
  TUPLES = 8,  /* of a round; the first is the identity */
  PALETTE = 3, /* values that an element of a tuple may have in a round */
  ALL = 2 * TUPLES
};

typedef union word {
  int64_t i;
  double f;
} word;

typedef struct tuple {
  word v[DESCRIBE_MAX_OUT];
  bool undefined; /* a value that it was made of was not a number */
  bool infinite;  /* one is, or in between was, infinite */
} tuple;

enum { UNDEFINED = 1, INFINITE = 2 };

typedef struct laws {
  ir_builder *b;
  const ir_program *p;
  const ir_reducer *r;
  const ir_expr *source;
  tess_dtype type[DESCRIBE_MAX_OUT];
  uint32_t nnodes;
  ir_expr *node;  /* of the combine, operands first */
  uint32_t *slot; /* of a node: its place there */
  word *value;
  uint8_t *flaws; /* UNDEFINED, INFINITE: of the values it was made of, too */
  rng random;
  tuple id;
  bool any;        /* a result has been other than the identity */
  double known[8]; /* constants of identity and combine, which decide much */
  uint32_t nknown;
  /* Of this round: results, then what they were made from. */
  tuple t[ALL];
  tuple of[TUPLES][ALL]; /* a result and another tuple, combined */
} laws;

/* ---- evaluation --------------------------------------------------------- */

static const tess_dtype wide = {TESS_FLOAT, 64, 1};

/* Floats are as wide as can be. */
static tess_dtype widened(tess_dtype t) { return ir_is_float(t) ? wide : t; }

static word formal(const laws *l, ir_var v, const tuple *x, const tuple *y) {
  const uint32_t *lhs = l->p->arg.v + l->r->lhs.at;
  const uint32_t *rhs = l->p->arg.v + l->r->rhs.at;
  for (uint32_t i = 0; i < l->r->n; i++) {
    if (lhs[i] == v) return x->v[i];
    if (rhs[i] == v) return y->v[i];
  }
  return (word){0};
}

static word cast(tess_dtype to, tess_dtype from, word v) {
  if (ir_is_float(to))
    return ir_is_float(from) ? v
                             : (word){.f = ir_cast_int_to_real(to, from, v.i)};
  return (word){.i = ir_is_float(from) ? ir_cast_real_to_int(to, v.f)
                                       : ir_cast_int(to, from, v.i)};
}

static word call(const laws *l, const ir_node *n) {
  tess_dtype t = widened(n->dtype);
  double f[3] = {0};
  int64_t i[3] = {0};
  for (uint32_t k = 0; k < n->n && k < 3; k++) {
    word v = l->value[l->slot[l->p->arg.v[n->b + k]]];
    if (ir_is_float(t))
      f[k] = v.f;
    else
      i[k] = v.i;
  }
  return ir_is_float(t) ? (word){.f = ir_apply_real((ir_fn)n->a, t, f)}
                        : (word){.i = ir_apply_int((ir_fn)n->a, t, i)};
}

static word binary(const laws *l, const ir_node *n) {
  tess_dtype t = widened(ir_at(l->p, n->a)->dtype);
  word a = l->value[l->slot[n->a]], b = l->value[l->slot[n->b]];
  if (!ir_is_float(t))
    return (word){.i = ir_fold_int((ir_op)n->op, t, a.i, b.i)};
  if (n->op >= IR_EQ && n->op <= IR_LE)
    return (word){.i = ir_compare_real((ir_op)n->op, a.f, b.f)};
  return (word){.f = ir_fold_real((ir_op)n->op, t, a.f, b.f)};
}

static word node(const laws *l, ir_expr e, const tuple *x, const tuple *y) {
  const ir_node *n = ir_at(l->p, e);
  switch ((ir_op)n->op) {
  case IR_INT: return (word){.i = n->i};
  case IR_REAL: return (word){.f = n->f};
  case IR_VAR: return formal(l, n->a, x, y);
  case IR_NOT: return (word){.i = !l->value[l->slot[n->a]].i};
  case IR_SELECT:
    return l->value[l->slot[l->value[l->slot[n->a]].i ? n->b : n->c]];
  case IR_CAST:
    return cast(widened(n->dtype), widened(ir_at(l->p, n->a)->dtype),
                l->value[l->slot[n->a]]);
  case IR_CALL: return call(l, n);
  default: return binary(l, n);
  }
}

/* Of what is chosen by a condition, the other side does not count. */
static uint8_t flaws(const laws *l, ir_expr e, word v) {
  const ir_node *n = ir_at(l->p, e);
  uint32_t fixed[3];
  const uint32_t *arg;
  uint32_t k = ir_operands(l->p, e, &arg, fixed);
  uint8_t of = 0;
  for (uint32_t i = 0; i < k; i++)
    if (n->op != IR_SELECT || !i || i == (l->value[l->slot[n->a]].i ? 1u : 2u))
      of |= l->flaws[l->slot[arg[i]]];
  if (ir_is_float(n->dtype) && isnan(v.f)) of |= UNDEFINED;
  if (ir_is_float(n->dtype) && isinf(v.f)) of |= INFINITE;
  return of;
}

static tuple combine(laws *l, const tuple *x, const tuple *y) {
  tuple z = {0};
  for (uint32_t i = 0; i < l->nnodes; i++) {
    l->value[i] = node(l, l->node[i], x, y);
    l->flaws[i] = flaws(l, l->node[i], l->value[i]);
  }
  for (uint32_t i = 0; i < l->r->n; i++) {
    uint32_t at = l->slot[l->p->arg.v[l->r->combine.at + i]];
    z.v[i] = l->value[at];
    z.undefined |= (l->flaws[at] & UNDEFINED) != 0;
    z.infinite |= (l->flaws[at] & INFINITE) != 0;
  }
  return z;
}

/* ---- tuples ------------------------------------------------------------- */

static word draw_real(const laws *l, rng *r, bool plain) {
  static const double some[] = {0, 1, -1, 2, -2, 0.5, 3};
  uint64_t k = rng_below(r, plain ? 7 : 16);
  if (l->nknown && rng_below(r, 3) == 0)
    return (word){.f = l->known[rng_below(r, l->nknown)] + some[k % 3]};
  if (k < 7) return (word){.f = some[k]};
  if (k == 7) return (word){.f = rng_below(r, 2) ? INFINITY : -INFINITY};
  return (word){.f = (double)rng_below(r, 256) / 16 - 8};
}

static word draw_int(const laws *l, rng *r, tess_dtype t, bool plain) {
  static const int64_t some[] = {0, 1, -1, 2, 3, 7, -2, 5};
  uint64_t k = rng_below(r, plain ? 8 : 16);
  if (t.code == TESS_BOOL) return (word){.i = (int64_t)rng_below(r, 2)};
  if (l->nknown && rng_below(r, 3) == 0)
    return (word){
        .i = ir_wrap_int(t, (int64_t)l->known[rng_below(r, l->nknown)] +
                                some[k % 3])};
  if (k < 8) return (word){.i = ir_wrap_int(t, some[k])};
  if (k == 8) return (word){.i = ir_int_min(t)};
  if (k == 9) return (word){.i = ir_int_max(t)};
  uint64_t any = rng_u64(r);
  return (word){.i = ir_wrap_int(t, (int64_t)(k < 12 ? any & 63 : any))};
}

static word draw(laws *l, tess_dtype t, bool plain) {
  return ir_is_float(t) ? draw_real(l, &l->random, plain)
                        : draw_int(l, &l->random, t, plain);
}

static bool is_infinite(const laws *l, const tuple *x) {
  for (uint32_t i = 0; i < l->r->n; i++)
    if (ir_is_float(l->type[i]) && isinf(x->v[i].f)) return true;
  return false;
}

static bool constant(const ir_node *n, word *out) {
  if (n->op != IR_INT && n->op != IR_REAL) return false;
  *out = n->op == IR_REAL ? (word){.f = n->f} : (word){.i = n->i};
  return true;
}

/* The tuples of a round, and of any two what they make.  At first plain ones,
 * which show best what is wrong. */
static void draw_round(laws *l, bool plain) {
  word palette[DESCRIBE_MAX_OUT][PALETTE];
  for (uint32_t i = 0; i < l->r->n; i++)
    for (int k = 0; k < PALETTE; k++)
      palette[i][k] = draw(l, l->type[i], plain);
  for (int k = 0; k < TUPLES; k++) {
    tuple *source = &l->t[TUPLES + k];
    *source = l->id;
    for (uint32_t i = 0; k && i < l->r->n; i++)
      if (!constant(ir_at(l->p, l->source[i]), &source->v[i]))
        source->v[i] = palette[i][rng_below(&l->random, PALETTE)];
    source->infinite = is_infinite(l, source);
    l->t[k] = k ? combine(l, &l->id, source) : l->id;
    l->t[k].infinite = is_infinite(l, &l->t[k]);
  }
  for (int a = 0; a < TUPLES; a++)
    for (int b = 0; b < ALL; b++) l->of[a][b] = combine(l, &l->t[a], &l->t[b]);
}

/* ---- the laws ----------------------------------------------------------- */

/* The same but for rounding; `around`: values that were added on the way may
 * have been as large. */
static bool same(const laws *l, const tuple *x, const tuple *y, double around) {
  for (uint32_t i = 0; i < l->r->n; i++) {
    word a = x->v[i], b = y->v[i];
    if (!ir_is_float(l->type[i])) {
      if (a.i != b.i) return false;
      continue;
    }
    if (isnan(a.f) || isnan(b.f)) return false;
    if (a.f == b.f) continue;
    double scale = fmax(around, fmax(fabs(a.f), fabs(b.f)));
    if (!isfinite(scale) || fabs(a.f - b.f) > 1e-6 * scale) return false;
  }
  return true;
}

/* How large the values of a tuple are; those of an identity, which are only
 * meant to be far from all others, aside. */
static double size_of(const laws *l, const tuple *x) {
  double most = 1;
  for (uint32_t i = 0; i < l->r->n; i++)
    if (ir_is_float(l->type[i]) && fabs(x->v[i].f) < 1e5)
      most = fmax(most, fabs(x->v[i].f));
  return most;
}

/* May something be concluded from what was made of tuples?  `infinite`: one of
 * them was infinite already. */
static bool tells(bool infinite, const tuple *made, const tuple *other) {
  return !made->undefined && !other->undefined &&
         (infinite || (!made->infinite && !other->infinite));
}

/* The identity leaves results as they are, from either side; it is not asked
 * of itself, which nothing combines it with. */
static bool is_neutral(laws *l) {
  for (int k = 1; k < TUPLES; k++) {
    const tuple *x = &l->t[k];
    tuple left = l->of[0][k], right = l->of[k][0];
    if (x->undefined) continue;
    l->any |= !same(l, x, &l->id, 0);
    if (!same(l, &left, x, 1) || !same(l, &right, x, 1)) return false;
  }
  return true;
}

/* (a b) c is a (b c), where a and b are results. */
static bool groups(laws *l, int a, int b, int c) {
  const tuple *x = &l->t[a], *y = &l->t[b], *z = &l->t[c];
  const tuple *xy = &l->of[a][b], *yz = &l->of[b][c];
  tuple left = combine(l, xy, z), right = combine(l, x, yz);
  bool infinite = x->infinite || y->infinite || z->infinite;
  if (!tells(infinite, xy, yz) || !tells(infinite, &left, &right)) return true;
  double around = fmax(fmax(size_of(l, x), size_of(l, y)), size_of(l, z));
  around = fmax(around, fmax(size_of(l, xy), size_of(l, yz)));
  return same(l, &left, &right, around);
}

static bool is_associative(laws *l) {
  for (int a = 0; a < TUPLES; a++)
    for (int b = 0; b < TUPLES; b++)
      for (int c = 0; c < ALL; c++)
        if (!groups(l, a, b, c)) return false;
  return true;
}

static bool commutes(const laws *l) {
  for (int a = 0; a < TUPLES; a++)
    for (int b = 0; b < a; b++) {
      const tuple *x = &l->t[a], *y = &l->t[b];
      const tuple *xy = &l->of[a][b], *yx = &l->of[b][a];
      if (tells(x->infinite || y->infinite, xy, yx) &&
          !same(l, xy, yx, fmax(size_of(l, x), size_of(l, y))))
        return false;
    }
  return true;
}

/* ---- a reducer ---------------------------------------------------------- */

static void note_node(const ir_program *p, ir_expr e, void *ud) {
  uint32_t *slot = ud;
  (void)p;
  slot[e] = 1;
}

static void note_constant(laws *l, const ir_node *n) {
  word v;
  const double most = 0x1p31;
  if (!constant(n, &v)) return;
  double f = n->op == IR_REAL ? v.f : (double)v.i;
  if (fabs(f) < most && l->nknown < sizeof l->known / sizeof *l->known)
    l->known[l->nknown++] = f;
}

/* Operands were made before what uses them; false: it calls a function that
 * cannot be called here. */
static bool find_nodes(laws *l) {
  const ir_program *p = l->p;
  l->slot = arena_zalloc(&l->b->scratch, p->node.n * sizeof *l->slot);
  for (uint32_t i = 0; i < l->r->n; i++) {
    ir_expr e = p->arg.v[l->r->combine.at + i];
    ir_visit(p, &l->b->scratch, e, note_node, l->slot);
  }
  for (ir_expr e = 1; e < p->node.n; e++) l->nnodes += l->slot[e];
  l->node = arena_array(&l->b->scratch, ir_expr, l->nnodes);
  l->value = arena_array(&l->b->scratch, word, l->nnodes);
  l->flaws = arena_array(&l->b->scratch, uint8_t, l->nnodes);
  l->nnodes = 0;
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node *n = ir_at(p, e);
    if (!l->slot[e]) continue;
    if (n->op == IR_CALL && !ir_can_apply((ir_fn)n->a, n->dtype)) return false;
    note_constant(l, n);
    l->slot[e] = l->nnodes;
    l->node[l->nnodes++] = e;
  }
  return true;
}

static tuple identity_of(const laws *l) {
  tuple id = {0};
  for (uint32_t i = 0; i < l->r->n; i++)
    constant(ir_at(l->p, l->p->arg.v[l->r->identity.at + i]), &id.v[i]);
  id.infinite = is_infinite(l, &id);
  return id;
}

ir_order describe_find_order(ir_builder *b, const ir_reducer *r,
                             const ir_expr *source) {
  laws *l = arena_zalloc(&b->scratch, sizeof *l);
  *l = (laws){.b = b, .p = &b->p, .r = r, .source = source};
  ir_order order = IR_ORDER_FREE;
  if (!find_nodes(l)) return IR_ORDER_FIXED;
  for (uint32_t i = 0; i < r->n; i++) {
    l->type[i] = b->p.var.v[b->p.arg.v[r->lhs.at + i]].dtype;
    note_constant(l, ir_at(l->p, b->p.arg.v[r->identity.at + i]));
  }
  l->id = identity_of(l);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    rng_init(&l->random, 0, round);
    draw_round(l, round < 2);
    if (!is_neutral(l) || !is_associative(l)) return IR_ORDER_FIXED;
    if (!commutes(l)) order = IR_ORDER_KEPT;
  }
  return l->any ? order : IR_ORDER_FIXED;
}
