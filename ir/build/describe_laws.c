/* SPDX-License-Identifier: Apache-2.0
 * Program builder: algebraic laws of a reducer, by random testing:
 * associativity, a neutral identity and commutativity, which decide how far
 * schedules may reorder a reduction.
 *
 * A result starts from the identity and accumulates one source after another.
 * Schedules may reduce parts separately and combine their results (as
 * rfactor does) if the combine is associative and the identity neutral,
 * and in any order if it is commutative, too.  The laws need to hold for
 * results only, identity combined with anything: max(|a|, |b|) from 0 is fine,
 * although it makes 1 of 0 and -1.
 *
 * The sources are computed from values of what they read, so that only
 * reachable ones are tried: a count, select(c, 1, 0), is never below 0.
 * Results are grown from ever more sources, up to as many as the reduction has,
 * until they wrap, or reach the constants at which combine clips them.
 * That does not provably cover all cases, so where combine branches, and
 * always takes the same branch, the reducer is not trusted.
 *
 * Integers wrap, as everywhere; floats are computed in double whatever their
 * type is, so that rounding does not count as a difference.  If an undefined or
 * infinite value appears that was not there before, nothing is concluded,
 * except where no part can begin with a source that is valid after others. */
#include "ir/build/describe.h"
#include "ir/build/describe_draw.h"
#include "ir/edit.h"

#include <math.h>

enum {
  ROUNDS = 42,
  MAX_DEPTH = 256, /* of expressions */

  /* The tuples of a round.  Results: the identity, combined with one source
   * each, and finally with two; then sources; then combinations of a result
   * with any of them; then of triples, grouped to the left and to the right. */
  RESULTS = 8,
  LAST = RESULTS - 1,
  ALL = 2 * RESULTS,
  TRIPLES = 80,
  LEFT = ALL + RESULTS * ALL,
  RIGHT = LEFT + TRIPLES,

  /* And results of many sources, each level combined from those before it; then
   * combinations of pairs of a triple of them; then results close to
   * constants. */
  RUNS = 5,
  LEVELS = 22,
  MANY = 1 << LEVELS, /* maximal number of sources */
  GROWN = RIGHT + TRIPLES,
  PAIRS = GROWN + RUNS * LEVELS,
  EDGES = PAIRS + 2 * TRIPLES,
  TUPLES = EDGES + RUNS * LEVELS
};

typedef describe_word word;
typedef uint16_t tuple; /* index of a tuple */

/* Flags of a tuple: a value that it was computed from was NaN; one is, or an
 * intermediate one was, infinite; all were small. */
enum {
  UNDEFINED = DESCRIBE_UNDEFINED,
  INFINITE = DESCRIBE_INFINITE,
  SMALL = 4
};

typedef struct laws {
  const ir_program *p;
  const ir_reducer *r;
  bool real[DESCRIBE_MAX_OUT];
  describe_eval *combine, *source;
  uint8_t *formal; /* of a leaf of combine: its element; rhs after all of
                      lhs */
  describe_draw draw;
  double far;       /* an identity's value that is far from all other values */
  bool any;         /* some result differed from the identity */
  uint32_t most;    /* maximal number of sources of a result */
  uint32_t levels;  /* levels of growth so far */
  uint32_t ncut;    /* constants of combine, the first of those known */
  tuple edge[RUNS]; /* the results that are close to them */
  uint32_t many[TUPLES]; /* number of sources, by tuple */
  word v[DESCRIBE_MAX_OUT][TUPLES];
  uint8_t flags[TUPLES];
} laws;

/* The combination of result a and another tuple. */
static tuple combination_of(uint32_t a, uint32_t b) {
  return (tuple)(ALL + a * ALL + b);
}

/* ---- combining ---------------------------------------------------------- */

/* Stores what was computed as n tuples from z on. */
static void take_results(laws *l, const describe_eval *v, uint32_t n,
                         uint32_t z) {
  memset(l->flags + z, 0, n);
  for (uint32_t i = 0; i < l->r->n; i++) {
    uint32_t root = v->root[i];
    memcpy(l->v[i] + z, describe_lanes(v, root), n * sizeof(word));
    for (uint32_t k = 0; v->flawed[root] && k < n; k++)
      l->flags[z + k] |= describe_flaws(v, root, k);
  }
}

static void combine_some(laws *l, uint32_t n, const tuple *x, const tuple *y,
                         uint32_t z) {
  describe_eval *v = l->combine;
  for (uint32_t i = 0; i < v->nleaf; i++) {
    const word *from = l->v[l->formal[i] % DESCRIBE_MAX_OUT];
    const tuple *of = l->formal[i] < DESCRIBE_MAX_OUT ? x : y;
    word *at = describe_lanes(v, v->leaf[i].slot);
    for (uint32_t k = 0; k < n; k++) at[k] = from[of[k]];
  }
  describe_eval_run(v, n);
  take_results(l, v, n, z);
  for (uint32_t k = 0; k < n; k++) {
    uint8_t a = l->flags[x[k]], b = l->flags[y[k]];
    l->flags[z + k] |= ((a | b) & UNDEFINED) | (a & b & SMALL);
  }
}

/* Tuple z + k is combine_tuples(x[k], y[k]). */
static void combine_tuples(laws *l, uint32_t n, const tuple *x, const tuple *y,
                           uint32_t z) {
  for (uint32_t at = 0; at < n; at += DESCRIBE_LANES)
    combine_some(l, n - at < DESCRIBE_LANES ? n - at : DESCRIBE_LANES, x + at,
                 y + at, z + at);
}

/* ---- a round ------------------------------------------------------------ */

/* Only the value of a result counts, not intermediate ones. */
static void clear_history(laws *l, uint32_t x) {
  l->flags[x] &= (uint8_t)~INFINITE;
  for (uint32_t i = 0; i < l->r->n; i++)
    if (l->real[i] && isinf(l->v[i][x].f)) l->flags[x] |= INFINITE;
}

static void draw_sources(laws *l) {
  describe_eval *v = l->source;
  const int64_t most = 16;
  uint8_t small[RESULTS];
  memset(small, SMALL, sizeof small);
  for (uint32_t i = 0; i < v->nleaf; i++) {
    ir_expr e = v->leaf[i].e;
    word *x = describe_lanes(v, v->leaf[i].slot);
    bool real = ir_is_float(ir_at(l->p, e)->dtype);
    describe_draw_leaf(&l->draw, e, RESULTS, x);
    for (uint32_t k = 0; k < RESULTS; k++)
      if (real ? !(fabs(x[k].f) <= (double)most)
               : x[k].i < -most || x[k].i > most)
        small[k] = 0;
  }
  describe_eval_run(v, RESULTS);
  take_results(l, v, RESULTS, RESULTS);
  for (uint32_t k = 0; k < RESULTS; k++) l->flags[RESULTS + k] |= small[k];
}

static void draw_round(laws *l, uint32_t round) {
  tuple x[RESULTS * ALL] = {0}, y[RESULTS * ALL];
  describe_draw_round(&l->draw, round);
  draw_sources(l);
  for (uint32_t k = 1; k < RESULTS; k++) y[k] = (tuple)(RESULTS + k);
  combine_tuples(l, LAST - 1, x + 1, y + 1, 1);
  combine_tuples(l, 1, (const tuple[]){1}, y + LAST, LAST);
  for (uint32_t k = 1; k < ALL; k++) clear_history(l, k);
  for (uint32_t k = 0; k < RESULTS * ALL; k++) {
    x[k] = (tuple)(k / ALL);
    y[k] = (tuple)(k % ALL);
  }
  combine_tuples(l, RESULTS * ALL, x, y, combination_of(0, 0));
}

/* ---- the laws ----------------------------------------------------------- */

/* The magnitude of tuples' values; except those of an identity, which are only
 * meant to be far from all others. */
static double magnitude_of(const laws *l, uint32_t n, const tuple *x) {
  double most = 1;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < l->r->n; i++) {
      double f = l->real[i] ? fabs(l->v[i][x[k]].f) : 0;
      if (f < l->far && f > most) most = f;
    }
  return most;
}

/* Equality up to rounding, of values computed from n tuples. */
static bool tuples_agree(const laws *l, uint32_t x, uint32_t y, uint32_t n,
                         const tuple *of) {
  double size = 0;
  for (uint32_t i = 0; i < l->r->n; i++) {
    word a = l->v[i][x], b = l->v[i][y];
    if (l->real[i] ? a.f == b.f : a.i == b.i) continue;
    if (!l->real[i] || !isfinite(a.f) || !isfinite(b.f)) return false;
    if (!size) size = magnitude_of(l, n, of);
    double scale = fmax(size, fmax(fabs(a.f), fabs(b.f)));
    if (fabs(a.f - b.f) > 1e-6 * scale) return false;
  }
  return true;
}

/* Is the comparison of x and y conclusive, given the flags of what they were
 * computed from? */
static bool is_conclusive(const laws *l, uint8_t of, uint32_t x, uint32_t y) {
  uint8_t flags = l->flags[x] | l->flags[y];
  return !(flags & UNDEFINED) && (of & INFINITE || !(flags & INFINITE));
}

/* Does the identity leave results unchanged, from either side?  It is not
 * tested on itself, with which nothing combines it. */
static bool is_neutral(laws *l) {
  for (tuple x = 1; x < RESULTS; x++) {
    uint32_t left = combination_of(0, x), right = combination_of(x, 0);
    uint8_t flags = l->flags[left] | l->flags[right];
    if (l->flags[x] & UNDEFINED) continue;
    l->any |= !tuples_agree(l, x, 0, 0, NULL);
    if (flags & UNDEFINED && l->flags[x] & INFINITE) continue;
    if (!tuples_agree(l, left, x, 0, NULL) ||
        !tuples_agree(l, right, x, 0, NULL))
      return false;
  }
  return true;
}

/* Can a part begin with a source that is valid after a result: a division by a
 * count must not become one by 0. */
static bool can_begin_part(const laws *l) {
  for (uint32_t a = 1; a < RESULTS; a++)
    for (uint32_t b = RESULTS; b < ALL; b++) {
      uint32_t z = combination_of(a, b);
      if (l->flags[z] & SMALL &&
          is_conclusive(l, l->flags[a] | l->flags[b], z, z) &&
          l->flags[combination_of(0, b)] & UNDEFINED)
        return false;
    }
  return true;
}

/* Is (a b) c equal to a (b c)? of: a, b, c, a b, b c. */
static bool all_associate(laws *l, tuple of[TRIPLES][5]) {
  tuple x[2 * TRIPLES], y[2 * TRIPLES];
  for (uint32_t k = 0; k < TRIPLES; k++) {
    x[k] = of[k][3], y[k] = of[k][2];
    x[TRIPLES + k] = of[k][0], y[TRIPLES + k] = of[k][4];
  }
  combine_tuples(l, 2 * TRIPLES, x, y, LEFT);
  for (uint32_t k = 0; k < TRIPLES; k++) {
    uint8_t flags =
        l->flags[of[k][0]] | l->flags[of[k][1]] | l->flags[of[k][2]];
    if (is_conclusive(l, flags, of[k][3], of[k][4]) &&
        is_conclusive(l, flags, LEFT + k, RIGHT + k) &&
        !tuples_agree(l, LEFT + k, RIGHT + k, 5, of[k]))
      return false;
  }
  return true;
}

/* The same for results a and b of few sources, and a source or a
 * result. */
static bool few_associate(laws *l) {
  tuple of[TRIPLES][5];
  for (uint32_t k = 0; k < TRIPLES; k++) {
    uint32_t any = rng_u32(&l->draw.random), a = any % RESULTS;
    uint32_t b = any / RESULTS % RESULTS, c = any / (RESULTS * RESULTS) % ALL;
    const tuple all[] = {(tuple)a, (tuple)b, (tuple)c, combination_of(a, b),
                         combination_of(b, c)};
    memcpy(of[k], all, sizeof all);
  }
  return all_associate(l, of);
}

static bool commutes(const laws *l) {
  for (tuple a = 0; a < RESULTS; a++)
    for (tuple b = 0; b < a; b++)
      if (is_conclusive(l, l->flags[a] | l->flags[b], combination_of(a, b),
                        combination_of(b, a)) &&
          !tuples_agree(l, combination_of(a, b), combination_of(b, a), 2,
                        (const tuple[]){a, b}))
        return false;
  return true;
}

/* ---- results of many sources -------------------------------------------- */

static tuple any_grown(laws *l) {
  return (tuple)(GROWN + rng_below(&l->draw.random, l->levels * RUNS));
}

/* A recent result of run 1 or 2, which begin with the same source. */
static tuple any_alike(laws *l) {
  rng *r = &l->draw.random;
  uint32_t back = 1 + (uint32_t)rng_below(r, l->levels < 3 ? l->levels : 3);
  return (tuple)(GROWN + (l->levels - back) * RUNS + 1 + rng_below(r, 2));
}

/* What a run accumulates next: the first a source, the second as much as it
 * has, the third another number of the same, others any recent result.
 * Less, if that exceeds the sources of the reduction. */
static tuple next_of(laws *l, uint32_t k, const tuple *run) {
  tuple source = (tuple)(RESULTS + rng_below(&l->draw.random, RESULTS));
  tuple y = k ? run[k] : source;
  if (k > 1 && l->levels) y = k == 2 ? any_alike(l) : any_grown(l);
  if (l->many[run[k]] + l->many[y] > l->most) y = source;
  return l->many[run[k]] + l->many[y] > l->most ? 0 : y;
}

/* Result z is a copy of x. */
static void copy_result(laws *l, tuple x, tuple z) {
  for (uint32_t i = 0; i < l->r->n; i++) l->v[i][z] = l->v[i][x];
  l->flags[z] = l->flags[x];
  l->many[z] = l->many[x];
}

/* Result z of x and y; x, if it can grow no further.  Returns whether it
 * differs from x. */
static bool grow_result(laws *l, tuple x, tuple y, tuple z) {
  bool differs = false;
  clear_history(l, z);
  uint8_t flags = l->flags[z] & (uint8_t) ~(l->flags[x] | l->flags[y]);
  l->many[z] = l->many[x] + l->many[y];
  if (flags & (UNDEFINED | INFINITE)) copy_result(l, x, z);
  for (uint32_t i = 0; i < l->r->n; i++)
    differs |= l->v[i][z].i != l->v[i][x].i;
  return differs;
}

/* Until no run changes. */
static void grow_runs(laws *l) {
  tuple run[RUNS] = {1, 2, 2, 3, 4}, with[RUNS], z = GROWN;
  bool any = true;
  for (l->levels = 0; any && l->levels < LEVELS; l->levels++) {
    any = false;
    for (uint32_t k = 0; k < RUNS; k++) with[k] = next_of(l, k, run);
    combine_tuples(l, RUNS, run, with, z);
    for (uint32_t k = 0; k < RUNS; k++, z++) {
      any |= grow_result(l, run[k], with[k], z);
      run[k] = z;
    }
  }
}

/* Has an element of result z passed constant c of combine? */
static bool has_passed(const laws *l, tuple z, uint32_t element, uint32_t c) {
  word w = l->v[element][z];
  double f = l->real[element] ? w.f : (double)w.i, to = l->draw.known[c].f;
  return to < 0 ? f <= to : f >= to;
}

/* Results as close to constants as those of run 1, the largest first, can come,
 * since one more source may pass them.  False: there is no constant, or that
 * run did not change. */
static bool approach(laws *l, uint32_t round) {
  uint32_t last = GROWN + (l->levels - 1) * RUNS + 1;
  if (!l->ncut || tuples_agree(l, last, 2, 0, NULL)) return false;
  tuple at[RUNS] = {0}, with[RUNS], z = EDGES;
  uint32_t element = (uint32_t)rng_below(&l->draw.random, l->r->n);
  for (uint32_t level = l->levels; level-- > 0;) {
    for (uint32_t k = 0; k < RUNS; k++)
      with[k] = (tuple)(GROWN + level * RUNS + 1);
    combine_tuples(l, RUNS, at, with, z);
    for (uint32_t k = 0; k < RUNS; k++, z++) {
      grow_result(l, at[k], with[k], z);
      if (l->many[z] > l->most ||
          has_passed(l, z, element, (round * RUNS + k) % l->ncut))
        copy_result(l, at[k], z);
      at[k] = z;
    }
  }
  memcpy(l->edge, at, sizeof at);
  return true;
}

/* a and b mostly of similar magnitude, so that together they pass what neither
 * does; c as well, or any magnitude, or a source. */
static void draw_alike(laws *l, uint32_t k, tuple of[3]) {
  rng *r = &l->draw.random;
  uint32_t level = GROWN + k % l->levels * RUNS, dice = rng_u32(r) >> 28;
  for (uint32_t i = 0; i < 3; i++) of[i] = (tuple)(level + rng_below(r, RUNS));
  if (dice & 1) of[1] = of[0];
  if (dice == 2) of[0] = any_grown(l);
  if (dice == 4) of[1] = any_grown(l);
  if (dice >= 12)
    of[2] = any_grown(l);
  else if (dice >= 8)
    of[2] = (tuple)rng_below(r, ALL);
}

/* One is close to a constant, the others mostly small. */
static void draw_edge(laws *l, tuple of[3]) {
  rng *r = &l->draw.random;
  uint32_t which = (uint32_t)rng_below(r, 3);
  for (uint32_t i = 0; i < 3; i++)
    of[i] = (tuple)rng_below(r, i < 2 ? RESULTS : ALL);
  if (rng_below(r, 4) == 0) of[rng_below(r, 3)] = any_grown(l);
  of[which] = l->edge[rng_below(r, RUNS)];
}

/* Limits the total to the number of sources of the reduction. */
static void limit_sources(const laws *l, tuple of[3]) {
  if (l->many[of[0]] + l->many[of[1]] > l->most) of[1] = 0;
  if (l->many[of[0]] + l->many[of[1]] + l->many[of[2]] > l->most) of[2] = 0;
}

static bool many_associate(laws *l, uint32_t round) {
  tuple of[TRIPLES][5], x[2 * TRIPLES], y[2 * TRIPLES];
  grow_runs(l);
  bool edges = approach(l, round);
  for (uint32_t k = 0; k < TRIPLES; k++) {
    if (edges && k % 2)
      draw_edge(l, of[k]);
    else
      draw_alike(l, k / (edges ? 2 : 1), of[k]);
    limit_sources(l, of[k]);
    of[k][3] = (tuple)(PAIRS + k), of[k][4] = (tuple)(PAIRS + TRIPLES + k);
    x[k] = of[k][0], y[k] = of[k][1];
    x[TRIPLES + k] = of[k][1], y[TRIPLES + k] = of[k][2];
  }
  combine_tuples(l, 2 * TRIPLES, x, y, PAIRS);
  return all_associate(l, of);
}

/* ---- a reducer ---------------------------------------------------------- */

/* The element of a leaf of combine; false: none, as for the value of an
 * external function. */
static bool find_formal(const laws *l, ir_expr e, uint8_t *out) {
  const ir_node *n = ir_at(l->p, e);
  const uint32_t *lhs = l->p->arg.v + l->r->lhs.at;
  const uint32_t *rhs = l->p->arg.v + l->r->rhs.at;
  for (uint32_t i = 0; n->op == IR_VAR && i < l->r->n; i++) {
    *out = (uint8_t)(lhs[i] == n->a ? i : i + DESCRIBE_MAX_OUT);
    if (lhs[i] == n->a || rhs[i] == n->a) return true;
  }
  return false;
}

static bool compile_combine(laws *l, arena *scratch) {
  const ir_reducer *r = l->r;
  const ir_expr *e = l->p->arg.v + r->combine.at;
  l->combine = describe_eval_new(l->p, scratch, r->n, e, MAX_DEPTH);
  if (!l->combine) return false;
  l->formal = arena_array(scratch, uint8_t, l->combine->nleaf);
  for (uint32_t i = 0; i < l->combine->nleaf; i++)
    if (!find_formal(l, l->combine->leaf[i].e, &l->formal[i])) return false;
  return true;
}

/* A source that is too large to compute may take any value. */
static void compile_source(laws *l, arena *scratch, const ir_expr *e) {
  l->source = describe_eval_new(l->p, scratch, l->r->n, e, MAX_DEPTH);
  if (!l->source) l->source = describe_eval_new(l->p, scratch, l->r->n, e, 0);
}

static void note_constants(laws *l, const describe_eval *v) {
  for (uint32_t s = 0; s < v->nslot; s++)
    describe_draw_near(&l->draw, v->in[s]);
}

static void start_from(laws *l) {
  const double large = 1e5;
  l->far = INFINITY;
  for (uint32_t i = 0; i < l->r->n; i++) {
    ir_expr e = l->p->arg.v[l->r->identity.at + i];
    l->real[i] = ir_is_float(ir_at(l->p, e)->dtype);
    describe_constant_of(l->p, e, &l->v[i][0]);
    describe_draw_near(&l->draw, e);
    if (l->real[i] && fabs(l->v[i][0].f) >= large)
      l->far = fmin(l->far, fabs(l->v[i][0].f) / 2);
  }
  l->flags[0] = SMALL;
  clear_history(l, 0);
}

/* The number of sources of a result. */
static void count_sources(laws *l, uint32_t n, const ir_var *axes) {
  uint64_t most = 1;
  for (uint32_t i = 0; i < n && most; i++) {
    const ir_var_rec *v = &l->p->var.v[axes[i]];
    uint64_t extent = (uint64_t)v->hi - (uint64_t)v->lo + 1;
    most = !extent || extent > MANY ? MANY : most * extent;
    if (most > MANY) most = MANY;
  }
  l->most = (uint32_t)most;
  for (uint32_t k = 1; k < ALL; k++) l->many[k] = k == LAST ? 2 : 1;
}

ir_order describe_find_order(ir_builder *b, const ir_reducer *r,
                             const ir_expr *source, uint32_t naxes,
                             const ir_var *axes) {
  laws *l = arena_zalloc(&b->scratch, sizeof *l);
  ir_order order = IR_ORDER_FREE;
  l->p = l->draw.p = &b->p;
  l->r = r;
  if (!compile_combine(l, &b->scratch)) return IR_ORDER_FIXED;
  compile_source(l, &b->scratch, source);
  note_constants(l, l->combine);
  l->ncut = l->draw.nknown;
  start_from(l);
  note_constants(l, l->source);
  count_sources(l, naxes, axes);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    draw_round(l, round);
    if (!is_neutral(l) || !can_begin_part(l) || !few_associate(l) ||
        !many_associate(l, round))
      return IR_ORDER_FIXED;
    if (!commutes(l)) order = IR_ORDER_KEPT;
  }
  bool told = l->most <= 2 || describe_eval_both_ways(l->combine);
  return l->any && told ? order : IR_ORDER_FIXED;
}
