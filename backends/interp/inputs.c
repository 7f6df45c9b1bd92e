/* SPDX-License-Identifier: Apache-2.0
 * Random inputs for the equivalence check: distributions chosen so that a
 * miscompiled program differs visibly (index ranges, extremes, peaks,
 * near-constants). */
#include "backends/interp/interp.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

#include "backends/interp/residue.h"
#include "base/rng.h"
#include "ir/arith/range.h"
#include "ir/memo.h"
#include "ir/scalar.h"

/* ---- indices that are data ---------------------------------------------- */

enum { MOST_NODES = 4096 };

/* How elements of input `b` are used as indices, with a memo of the values of
 * the expressions evaluated so far. */
typedef struct index_use {
  const ir_program *p;
  arena *scratch;
  ir_buf b;
  int64_t extent;
  bool below;     /* that many candidates below 0 are tried, */
  bool not_below; /* and are out of range somewhere */
  ir_memo memo;   /* node -> 1 + where its values are */
  uint32_t n;     /* number of memoized values */
  arith_range *values;
} index_use;

static void note_extent(index_use *u, int64_t extent) {
  if (extent > 0 && (u->extent == 0 || extent < u->extent)) u->extent = extent;
}

static arith_range values_of(index_use *u, ir_expr e, int64_t most);

static arith_range compute_values(index_use *u, ir_node n, int64_t most) {
  arith_range all = {n.lo, n.hi}, r = all, other;
  if (n.op == IR_LOAD) {
    if (n.a == u->b && most > ir_int_max(n.dtype)) most = ir_int_max(n.dtype);
    if (n.a == u->b) r = (arith_range){u->below ? -most - 1 : 0, most};
    if (r.lo < ir_int_min(n.dtype)) r.lo = ir_int_min(n.dtype);
  } else if (n.op == IR_CAST || n.op == IR_BROADCAST) {
    r = values_of(u, n.a, most);
  } else if (n.op == IR_SELECT) {
    r = values_of(u, n.b, most);
    other = values_of(u, n.c, most);
    if (other.lo < r.lo) r.lo = other.lo;
    if (other.hi > r.hi) r.hi = other.hi;
  } else if (n.op >= IR_ADD && n.op <= IR_OR) {
    r = values_of(u, n.a, most);
    r = arith_range_of((ir_op)n.op, r, values_of(u, n.b, most));
  }
  if (r.lo < ir_int_min(n.dtype) || r.hi > ir_int_max(n.dtype)) return all;
  if (r.lo < all.lo) r.lo = all.lo;
  if (r.hi > all.hi) r.hi = all.hi;
  return r;
}

/* Evaluates e for elements of u->b from 0 to most, and those below 0 too. */
static arith_range values_of(index_use *u, ir_expr e, int64_t most) {
  const ir_node n = *ir_at(u->p, e);
  if (!n.has_load || !ir_is_int(n.dtype)) return (arith_range){n.lo, n.hi};
  uint32_t at = *ir_memo_of(&u->memo, u->scratch, e);
  if (at) return u->values[at - 1];
  if (u->n == MOST_NODES) return (arith_range){n.lo, n.hi};
  arith_range r = compute_values(u, n, most);
  if (u->n == MOST_NODES) return r;
  u->values[u->n++] = r;
  *ir_memo_of(&u->memo, u->scratch, e) = u->n;
  return r;
}

static bool stays_in(index_use *u, ir_expr e, int64_t most, bool below,
                     int64_t lo, int64_t count) {
  arena_mark mark = arena_get_mark(u->scratch);
  u->below = below;
  u->memo = (ir_memo){0};
  u->n = 0;
  u->values = arena_array(u->scratch, arith_range, MOST_NODES);
  arith_range r = values_of(u, e, most);
  arena_reset_to(u->scratch, mark);
  return r.lo >= lo && r.hi - lo < count;
}

/* e must stay in lo .. lo + count - 1: how many element values from 0 on that
 * admits, and whether negative ones, too.  More values than the extent are
 * tried, to find the limit. */
static void note_places(index_use *u, ir_expr e, int64_t lo, int64_t count) {
  int64_t n = count <= INT64_MAX / 4 ? 4 * count : count;
  while (n > 1 && !stays_in(u, e, n - 1, false, lo, count))
    n = n > count ? count : n / 2;
  if (n < 1) n = 1;
  note_extent(u, n);
  u->not_below |= !stays_in(u, e, n - 1, true, lo, count);
}

static void note_no_more(index_use *u) {
  note_extent(u, 1);
  u->not_below = true;
}

static void note_index(index_use *u, ir_buf into, uint32_t dim, uint32_t n,
                       ir_expr e) {
  int64_t extent = 1;
  if (!ir_has_load(u->p, e, u->b)) return;
  if (n != ir_ndim(u->p, into) ||
      !ir_const_int(u->p, ir_dim(u->p, into, dim), &extent))
    note_no_more(u);
  else
    note_places(u, e, 0, extent);
}

static void note_bind(index_use *u, const ir_iter *it) {
  int64_t lo, extent;
  if (!ir_has_load(u->p, it->bind, u->b)) return;
  if (ir_const_int(u->p, it->lo, &lo) &&
      ir_const_int(u->p, it->extent, &extent) && lo >= 0)
    note_places(u, it->bind, lo, extent);
  else
    note_no_more(u);
}

static void look_for_index(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *x = ir_at(p, e);
  if (x->op == IR_LOAD)
    for (uint32_t i = 0; i < x->n; i++)
      note_index(ud, x->a, i, x->n, p->arg.v[x->b + i]);
}

static void look_in_stmt(index_use *u, arena *scratch, ir_stmt s) {
  const ir_program *p = u->p;
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind == IR_STORE) {
    ir_visit(p, scratch, r->value, look_for_index, u);
    for (uint32_t i = 0; i < r->idx.n; i++) {
      ir_visit(p, scratch, p->arg.v[r->idx.at + i], look_for_index, u);
      note_index(u, r->buf, i, r->idx.n, p->arg.v[r->idx.at + i]);
    }
  } else if (r->kind == IR_BLOCK) {
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = 0; i < it.n; i++) note_bind(u, &p->iter.v[it.at + i]);
  } else if (r->kind == IR_LET) {
    ir_visit(p, scratch, r->let_value, look_for_index, u);
  }
}

interp_range interp_index_range(const ir_program *p, ir_buf b, arena *scratch) {
  index_use u = {.p = p, .scratch = scratch, .b = b};
  tess_dtype t = p->buf.v[b].dtype;
  if (t.code == TESS_DTYPE_BOOL) return (interp_range){0, 2};
  if (!ir_is_int(t)) return (interp_range){0, 0};
  arena_mark mark = arena_get_mark(scratch);
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    look_in_stmt(&u, scratch, s);
  arena_reset_to(scratch, mark);
  int64_t n = u.extent > ir_int_max(t) ? ir_int_max(t) : u.extent;
  bool below = n && !u.not_below && -n >= ir_int_min(t);
  return (interp_range){below ? -n : 0, n};
}

/* ---- peaks -------------------------------------------------------------- */

enum { MOST_CHOICES = 4096 };

/* How often a store, a condition or a let selects between values, times the
 * iterations of the enclosing loops. */
typedef struct choice {
  const ir_program *p;
  uint64_t most, here;
} choice;

static void count_choice(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  choice *c = ud;
  if (n->op >= IR_MIN && n->op <= IR_OR && n->op != IR_EQ && n->op != IR_NE &&
      (interp_is_data(p, n->a) || interp_is_data(p, n->b)))
    c->here++;
}

static void count_chosen(choice *c, arena *scratch, ir_stmt s, ir_expr e) {
  const ir_program *p = c->p;
  c->here = 0;
  ir_visit(p, scratch, e, count_choice, c);
  for (ir_stmt a = s; a && c->here; a = ir_st(p, a)->parent) {
    ir_span it = ir_is_block(p, a) ? ir_blk(p, a)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      int64_t n;
      if (p->iter.v[i].kind != IR_SPATIAL &&
          ir_const_int(p, p->iter.v[i].extent, &n) && n > 1)
        c->here = c->here > MOST_CHOICES / (uint64_t)n ? MOST_CHOICES
                                                       : c->here * (uint64_t)n;
    }
  }
  if (c->here > c->most) c->most = c->here;
}

static bool is_prime(uint32_t n) {
  for (uint32_t d = 2; d * d <= n; d++)
    if (n % d == 0) return false;
  return n > 1;
}

uint32_t interp_choices(const ir_program *p, arena *scratch) {
  choice c = {.p = p};
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_STORE) count_chosen(&c, scratch, s, r->value);
    if (r->kind == IR_IF) count_chosen(&c, scratch, s, r->cond);
    if (r->kind == IR_LET) count_chosen(&c, scratch, s, r->let_value);
  }
  return (uint32_t)c.most;
}

static void put_peak(interp_inputs *in, uint32_t choices, uint64_t k) {
  const uint64_t at = k / 4;
  in->below = k % 2;
  in->peak =
      (uint32_t)((k % 4 < 2 ? choices + in->period - at : at) % in->period);
}

bool interp_peaks(interp_inputs *in, const interp_few *few, uint32_t choices,
                  uint64_t k) {
  *in = (interp_inputs){.few = *few, .period = choices + 1};
  while (!is_prime(in->period)) in->period++;
  const uint64_t ways = 2 * (uint64_t)in->period,
                 first = few->n ? 2 * ways : ways;
  if (k < first) {
    in->flat = few->n ? k % 2 : 0;
    put_peak(in, choices, few->n ? k / 2 : k);
  } else {
    in->flat = (uint32_t)((k - first) / ways) + 2;
    put_peak(in, choices, (k - first) % ways);
  }
  return k < first + few->n * ways;
}

/* ---- drawing ------------------------------------------------------------ */

/* Integers over their whole range, most of them odd, so that products do not
 * vanish. */
static uint64_t draw_int(rng *r, tess_dtype t) {
  uint64_t odd = rng_below(r, 4) != 0;
  return (uint64_t)ir_wrap_int(t, (int64_t)(rng_u64(r) | odd));
}

/* The ends of the type's range, and small magnitudes around 0. */
static uint64_t draw_extreme(rng *r, tess_dtype t) {
  uint64_t near = rng_below(r, 3) - 1, end = UINT64_C(1) << (t.bits - 1);
  switch (rng_below(r, 3)) {
  case 0: return (uint64_t)ir_wrap_int(t, (int64_t)near);
  case 1: return (uint64_t)ir_wrap_int(t, (int64_t)(end + near));
  default: return draw_int(r, t);
  }
}

static uint64_t element_bits(tess_dtype t, double v) {
  return ir_is_float(t) ? residue_of_real(ir_round_real(t, v))
                        : (uint64_t)ir_wrap_int(t, (int64_t)v);
}

/* One value for all elements; for floats, below and above the constants that
 * programs compare with, also in sums of a few.  (A quotient of p by a power of
 * two would be a known value.) */
static uint64_t end_of(tess_dtype t, interp_range in, bool greatest) {
  const int64_t far = RESIDUE_P / 67;
  if (in.count) return (uint64_t)(greatest ? in.count - 1 : in.least);
  if (ir_is_float(t)) return residue_at(greatest ? far : -far);
  return (uint64_t)(greatest ? ir_int_max(t) : ir_int_min(t));
}

/* An extreme value beyond all regular ones. */
static uint64_t draw_peak(rng *r, tess_dtype t, bool beyond, bool below) {
  if (ir_is_float(t)) {
    const int64_t part = RESIDUE_P / 8;
    int64_t v = (int64_t)rng_below(r, (uint64_t)part);
    if (!beyond) return residue_at(v);
    return residue_at(below ? -2 * part - v : 2 * part + v);
  }
  int64_t lo = ir_int_min(t), hi = ir_int_max(t), part = hi / 8 - lo / 8;
  int64_t v = (int64_t)rng_below(r, (uint64_t)part);
  if (!beyond) return (uint64_t)(lo + 3 * part + v);
  return (uint64_t)(below ? lo + v : hi - v);
}

/* A peak or an ordinary element, all peaks alike: opposite ends of the type,
 * or one of the few values for peaks and another one elsewhere. */
static uint64_t draw_flat(rng *r, tess_dtype t, bool beyond,
                          const interp_inputs *from) {
  const interp_range any = {0, 0};
  if (from->flat == 1) return end_of(t, any, beyond != from->below);
  uint64_t which = beyond ? rng_below(r, from->few.n) : from->flat - 2;
  return element_bits(t, from->few.v[which]);
}

static uint64_t draw_any(rng *r, tess_dtype t, uint64_t i,
                         const interp_inputs *from) {
  bool beyond = from->period && i % from->period == from->peak;
  if (from->flat) return draw_flat(r, t, beyond, from);
  if (from->period) return draw_peak(r, t, beyond, from->below);
  if (from->few.n)
    return element_bits(t, from->few.v[rng_below(r, from->few.n)]);
  if (ir_is_float(t)) return rng_below(r, RESIDUE_P);
  return from->extreme ? draw_extreme(r, t) : draw_int(r, t);
}

/* A value within the valid range of an index, or a bool. */
static uint64_t draw_within(rng *r, interp_range in, uint64_t i,
                            const interp_inputs *from) {
  const int64_t last = in.count - 1;
  uint64_t all = (uint64_t)(in.count - in.least);
  uint64_t v = (uint64_t)(in.least + (int64_t)rng_below(r, all));
  if (from->period) {
    bool beyond = i % from->period == from->peak;
    if (beyond || all == 2)
      return (uint64_t)(beyond != from->below ? last : in.least);
  }
  if (!from->extreme) return v;
  switch (rng_below(r, 3)) {
  case 0: return (uint64_t)last;
  case 1: return (uint64_t)in.least;
  default: return v;
  }
}

/* One element with a value of the few among zeros, or among ones: sums and
 * products do not hide it. */
static void draw_alone(rng *r, tess_dtype t, double v, uint64_t n,
                       uint64_t *out) {
  uint64_t others = element_bits(t, (double)rng_below(r, 2));
  for (uint64_t i = 0; i < n; i++) out[i] = others;
  if (n) out[rng_below(r, n)] = element_bits(t, v);
}

void interp_draw(const interp_inputs *from, tess_dtype t, uint64_t seed,
                 uint32_t number, interp_range in, uint64_t n, uint64_t *out) {
  rng r;
  rng_init(&r, seed, number);
  if (from->alone && !in.count) {
    draw_alone(&r, t, from->few.v[from->alone - 1], n, out);
    return;
  }
  uint32_t how = from->ends <= 2 ? from->ends : (uint32_t)rng_below(&r, 3);
  for (uint64_t i = 0; i < n; i++)
    out[i] = how        ? end_of(t, in, how == 2)
             : in.count ? draw_within(&r, in, i, from)
                        : draw_any(&r, t, i, from);
}
