/* SPDX-License-Identifier: Apache-2.0
 * The image of a box under an index map, and whether the map is injective.
 * Most maps are sums of digits, which are decided in closed form; others, over
 * few points, by enumeration. */
#include "schedule/analysis/layout.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

#include <inttypes.h>

/* Points that are tried one by one, and places they may go to. */
enum { MOST_TRIED = 1 << 16, MOST_PLACES = 1 << 20 };

/* ---- trying every point ------------------------------------------------- */

typedef struct trial {
  const ir_program *p;
  const sch_layout *l;
  int64_t *at; /* by dimension */
  bool odd;    /* something that is not index arithmetic */
} trial;

static int64_t layout_divide(ir_op op, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return op == IR_DIV ? -a : 0;
  int64_t q = a / b, m = a % b;
  if (m && (m < 0) != (b < 0)) q--, m += b;
  return op == IR_DIV ? q : m;
}

static int64_t value(trial *t, ir_expr e) {
  const ir_node *n = ir_at(t->p, e);
  uint32_t d = 0;
  if (n->op == IR_INT) return n->i;
  if (n->op == IR_VAR) {
    while (d < t->l->ndim && t->l->var[d] != n->a) d++;
    if (d < t->l->ndim) return t->at[d];
  }
  if (n->op < IR_ADD || n->op > IR_MAX || n->wraps) {
    t->odd = true;
    return 0;
  }
  int64_t a = value(t, n->a), b = value(t, n->b);
  switch ((ir_op)n->op) {
  case IR_ADD: return a + b;
  case IR_SUB: return a - b;
  case IR_MUL: return a * b;
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a > b ? a : b;
  default: return layout_divide((ir_op)n->op, a, b);
  }
}

/* Where the point at hand goes, as a number below the new size. */
static int64_t layout_place(trial *t) {
  int64_t at = 0, extent = 1;
  for (uint32_t k = 0; k < t->l->nout; k++) {
    ir_const_int(t->p, t->l->shape[k], &extent);
    at = at * extent + value(t, t->l->out[k]);
  }
  return at;
}

/* The next point in turn; false at the end. */
static bool next_layout_point(trial *t) {
  for (uint32_t d = t->l->ndim; d-- > 0; t->at[d] = 0) {
    int64_t extent = 1;
    ir_const_int(t->p, t->l->extent[d], &extent);
    if (++t->at[d] < extent) return true;
  }
  return false;
}

static const char *listed(sch_state *s, uint32_t n, const int64_t *v) {
  const char *list = "";
  for (uint32_t i = 0; i < n; i++)
    list = arena_printf(s->scratch, "%s%s%" PRId64, list, i ? ", " : "", v[i]);
  return list;
}

/* Another point, tried before, has gone to the place that the one at hand goes
 * to: which, and where that is. */
static const char *collision(sch_state *s, trial *t) {
  const sch_layout *l = t->l;
  int64_t *to = arena_array(s->scratch, int64_t, l->nout), at = layout_place(t);
  const char *here = listed(s, l->ndim, t->at);
  for (uint32_t k = 0; k < l->nout; k++) to[k] = value(t, l->out[k]);
  memset(t->at, 0, l->ndim * sizeof *t->at);
  while (layout_place(t) != at) (void)next_layout_point(t);
  return arena_printf(s->scratch, "(%s) and (%s) both go to (%s)",
                      listed(s, l->ndim, t->at), here, listed(s, l->nout, to));
}

/* 1: all points go to distinct places, 0: two collide, *where, -1: too many.
 * Where there are more points than places some of the first will collide. */
static int try_all(sch_state *s, const sch_layout *l, const char **where) {
  int64_t left = MOST_TRIED;
  bool many = l->holes >= 0 && l->size - l->holes > MOST_TRIED;
  if (many || l->size > MOST_PLACES) return -1;
  trial t = {s->p, l, arena_zalloc(s->scratch, 8 * (l->ndim + 1)), false};
  uint8_t *taken = arena_zalloc(s->scratch, (size_t)l->size);
  do {
    int64_t at = layout_place(&t);
    if (t.odd || left-- == 0) return -1;
    if (taken[at]++) {
      *where = collision(s, &t);
      return 0;
    }
  } while (next_layout_point(&t));
  return 1;
}

/* ---- the new shape ------------------------------------------------------ */

/* Every part of a result stays in 64 bits. */
static void look_for_wide(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->lo < -SCH_MAX_EXTENT || n->hi > SCH_MAX_EXTENT) *(bool *)ud = true;
}

bool sch_map_extent(sch_state *s, uint32_t k, ir_expr e, uint32_t n,
                    const ir_var *var, const ir_expr *lo, const ir_expr *extent,
                    int64_t *size, ir_expr *out) {
  ir_program *p = s->p;
  arith_range r = arith_bounds(p, e);
  ir_expr min, max;
  bool exact;
  if (arith_relax(p, s->scratch, e, n, var, lo, extent, &min, &max, &exact) &&
      (exact || r.hi == INT64_MAX)) {
    arith_range least = arith_bounds(p, min);
    r = (arith_range){least.lo > r.lo ? least.lo : r.lo, r.hi};
  } else {
    max = ir_index(p, r.hi);
  }
  if (r.lo < 0) return sch_refuse(s, SCH_R_MAP_NEGATIVE, .n = {k, r.lo});
  int64_t most = arith_bounds(p, max).lo; /* while sizes are 1 */
  if (ir_is_const(p, max, INT64_MAX) || most < 0 || most >= SCH_MAX_EXTENT ||
      __builtin_mul_overflow(*size, most + 1, size) || *size > SCH_MAX_EXTENT)
    return sch_refuse(s, SCH_R_MAP_LARGE, .n = {k});
  *out = ir_add(p, max, ir_index(p, 1));
  return true;
}

/* l->size is of the least sizes. */
static bool set_sized(sch_state *s, sch_layout *l, uint32_t k) {
  ir_expr *zero = arena_array(s->scratch, ir_expr, l->ndim);
  for (uint32_t d = 0; d < l->ndim; d++) zero[d] = ir_index(s->p, 0);
  return sch_map_extent(s, k, l->out[k], l->ndim, l->var, zero, l->extent,
                        &l->size, &l->shape[k]);
}

static bool set_shape(sch_state *s, sch_layout *l) {
  ir_program *p = s->p;
  l->size = 1;
  for (uint32_t k = 0; k < l->nout; k++) {
    arith_range r = arith_bounds(p, l->out[k]);
    if (l->sized) {
      if (!set_sized(s, l, k)) return false;
      continue;
    }
    bool wide = false;
    ir_visit(p, s->scratch, l->out[k], look_for_wide, &wide);
    if (!wide && r.lo < 0)
      return sch_refuse(s, SCH_R_MAP_NEGATIVE, .n = {k, r.lo});
    if (wide || __builtin_mul_overflow(l->size, r.hi + 1, &l->size) ||
        l->size > SCH_MAX_EXTENT)
      return sch_refuse(s, SCH_R_MAP_LARGE, .n = {k});
    l->shape[k] = ir_index(p, r.hi + 1);
  }
  return true;
}

/* The old indices as variables; the number of points in *size, but for
 * extents that are no constants. */
static bool set_domain(sch_state *s, sch_layout *l, int64_t *size) {
  ir_program *p = s->p;
  *size = 1;
  for (uint32_t d = 0; d < l->ndim; d++) {
    int64_t n = 1, min, max;
    l->sized |= !ir_const_int(p, l->extent[d], &n);
    if (ir_at(p, l->extent[d])->lo < 1 ||
        __builtin_mul_overflow(*size, n, size) || *size > SCH_MAX_EXTENT)
      return sch_refuse(s, SCH_R_MAP_OPEN, .n = {d});
    ir_domain_bounds(p, ir_index(p, 0), l->extent[d], &min, &max);
    l->var[d] = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, min, max);
  }
  return true;
}

static arith_map_kind layout_kind_of(sch_state *s, const sch_layout *l) {
  ir_program *p = s->p;
  ir_expr *zero = arena_array(s->scratch, ir_expr, l->nout);
  for (uint32_t k = 0; k < l->nout; k++) zero[k] = ir_index(p, 0);
  return arith_map(p, s->scratch, l->ndim, l->var, l->extent, l->nout, l->out,
                   zero, l->shape, 0);
}

/* Of a box that is no constant: all is covered, or what is not is not
 * counted. */
static bool init_sized(sch_state *s, bool trust, sch_layout *l) {
  arith_map_kind kind = layout_kind_of(s, l);
  l->holes = kind != ARITH_MAP_BIJECTIVE;
  l->apart = l->holes == 0 || kind == ARITH_MAP_INJECTIVE;
  return l->apart || trust || sch_refuse(s, SCH_R_MAP_INJECTIVE_UNPROVEN);
}

bool sch_layout_init(sch_state *s, uint32_t n, const ir_expr *extent,
                     const sch_map *map, bool trust, sch_layout *l) {
  ir_program *p = s->p;
  uint32_t m = map->nout;
  int64_t old;
  *l = (sch_layout){.map = map, .ndim = n, .nout = m, .extent = extent};
  if (map->nin != n) return sch_refuse(s, SCH_R_MAP_ARITY, .n = {map->nin, n});
  if (!m) return sch_refuse(s, SCH_R_MAP_EMPTY);
  l->var = arena_array(s->scratch, ir_var, n);
  l->out = arena_array(s->scratch, ir_expr, m);
  l->shape = arena_array(s->scratch, ir_expr, m);
  if (!set_domain(s, l, &old)) return false;
  ir_expr *at = arena_array(s->scratch, ir_expr, n);
  for (uint32_t d = 0; d < n; d++) at[d] = ir_ref(p, l->var[d]);
  sch_layout_index(s, l, at, l->out);
  if (!set_shape(s, l)) return false;
  if (l->sized) return init_sized(s, trust, l);
  l->holes = l->size - old;
  arith_map_kind kind = l->holes < 0 ? ARITH_MAP_NONE : layout_kind_of(s, l);
  l->apart = kind == ARITH_MAP_BIJECTIVE || kind == ARITH_MAP_INJECTIVE;
  if (l->apart) return true;
  const char *where = "there are more indices than results";
  int found = try_all(s, l, &where);
  if (found == 0 || l->holes < 0)
    return sch_refuse(s, SCH_R_MAP_COLLIDES, .t = where);
  l->apart = found > 0;
  return l->apart || trust || sch_refuse(s, SCH_R_MAP_INJECTIVE_UNPROVEN);
}

/* ---- using it ----------------------------------------------------------- */

void sch_layout_index(sch_state *s, const sch_layout *l, const ir_expr *old,
                      ir_expr *out) {
  for (uint32_t k = 0; k < l->nout; k++)
    out[k] = sch_replace_in(s, l->map->out[k], l->ndim, l->map->in, old);
}

static bool is_point(const ir_program *p, ir_region r, uint32_t n) {
  for (uint32_t d = 0; d < n; d++)
    if (!ir_is_const(p, ir_region_extent(p, r, d), 1)) return false;
  return true;
}

/* All of the new box. */
static void whole(sch_state *s, const sch_layout *l, ir_expr *box) {
  for (uint32_t k = 0; k < l->nout; k++) {
    box[2 * k] = ir_index(s->p, 0);
    box[2 * k + 1] = l->shape[k];
  }
}

/* How many elements the box has; 0: not known. */
static int64_t layout_count(const ir_program *p, uint32_t n,
                            const ir_expr *extent, uint32_t step) {
  int64_t size = 1, x;
  for (uint32_t d = 0; d < n; d++)
    if (!ir_const_int(p, extent[d * step], &x) || x < 1 ||
        __builtin_mul_overflow(size, x, &size))
      return 0;
  return size;
}

/* Relaxes the map over the box; false: nothing can be said. */
static bool relax_box(sch_state *s, const sch_layout *l, ir_region r,
                      ir_expr *box) {
  ir_program *p = s->p;
  uint32_t n = l->ndim;
  ir_var *var = arena_array(s->scratch, ir_var, n);
  ir_expr *e = arena_array(s->scratch, ir_expr, 3 * n);
  ir_expr *zero = e + n, *extent = e + 2 * n;
  ir_expr *out = arena_array(s->scratch, ir_expr, l->nout);
  for (uint32_t d = 0; d < n; d++) {
    int64_t size;
    extent[d] = ir_region_extent(p, r, d);
    if (!ir_const_int(p, extent[d], &size) || size < 1) return false;
    var[d] = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, 0, size - 1);
    zero[d] = ir_index(p, 0);
    e[d] = ir_add(p, ir_region_min(p, r, d), ir_ref(p, var[d]));
  }
  sch_layout_index(s, l, e, out);
  for (uint32_t k = 0; k < l->nout; k++) {
    ir_expr max;
    if (!arith_relax(p, s->scratch, out[k], n, var, zero, extent, &box[2 * k],
                     &max, NULL))
      return false;
    box[2 * k + 1] = ir_add(p, ir_sub(p, max, box[2 * k]), ir_index(p, 1));
  }
  return true;
}

/* [min, min + size) stays in [0, extent) while the block's iters run over
 * their domains. */
static bool stays_inside(sch_state *s, ir_stmt block, ir_expr min, ir_expr size,
                         ir_expr extent) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_expr *lo = arena_array(s->scratch, ir_expr, 2 * it.n), *n = lo + it.n;
  ir_var *var = arena_array(s->scratch, ir_var, it.n);
  ir_expr end = ir_add(p, min, ir_sub(p, size, ir_index(p, 1))), least, most, x;
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter *i = &p->iter.v[it.at + k];
    var[k] = i->var;
    lo[k] = i->lo;
    n[k] = i->extent;
  }
  return arith_relax(p, s->scratch, min, it.n, var, lo, n, &least, &x, NULL) &&
         arith_relax(p, s->scratch, end, it.n, var, lo, n, &x, &most, NULL) &&
         arith_bounds(p, least).lo >= 0 &&
         arith_prove_le(p, ir_add(p, most, ir_index(p, 1)), extent);
}

/* Lies in the old shape: outside of it the map means nothing. */
static bool layout_is_inside(sch_state *s, const sch_layout *l, ir_stmt block,
                             ir_region r) {
  const ir_program *p = s->p;
  for (uint32_t d = 0; d < l->ndim; d++) {
    ir_expr at = ir_region_min(p, r, d), n = ir_region_extent(p, r, d);
    arith_range min = arith_bounds(p, at);
    int64_t size = arith_bounds(p, n).hi, end;
    if ((min.lo < 0 || __builtin_add_overflow(min.hi, size, &end) ||
         end > arith_bounds(p, l->extent[d]).lo) &&
        !(l->sized && stays_inside(s, block, at, n, l->extent[d])))
      return false;
  }
  return true;
}

ir_region sch_layout_region(sch_state *s, const sch_layout *l, ir_stmt block,
                            ir_region r, bool *exact) {
  ir_program *p = s->p;
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * l->nout);
  ir_expr *at = arena_array(s->scratch, ir_expr, 2 * l->ndim);
  for (uint32_t d = 0; d < l->ndim; d++) {
    at[d] = ir_region_min(p, r, d);
    at[l->ndim + d] = ir_region_extent(p, r, d);
  }
  *exact = layout_is_inside(s, l, block, r);
  if (is_point(p, r, l->ndim)) {
    ir_expr *out = arena_array(s->scratch, ir_expr, l->nout);
    sch_layout_index(s, l, at, out);
    for (uint32_t k = 0; k < l->nout; k++) {
      box[2 * k] = out[k];
      box[2 * k + 1] = ir_index(p, 1);
    }
  } else {
    if (!relax_box(s, l, r, box)) whole(s, l, box);
    int64_t old = layout_count(p, l->ndim, at + l->ndim, 1);
    bool all = !memcmp(at + l->ndim, l->extent, l->ndim * sizeof *at);
    if (!all && (!old || old != layout_count(p, l->nout, box + 1, 2)))
      *exact = false;
  }
  return (ir_region){r.buf, ir_args(p, 2 * l->nout, box)};
}

/* ---- holes -------------------------------------------------------------- */

static void add_failing(sch_state *s, ir_expr *any, ir_expr holds) {
  ir_program *p = s->p;
  if (ir_is_const(p, holds, 1) || arith_prove(p, s->scratch, holds, 0)) return;
  ir_expr not = ir_not(p, holds);
  *any = *any ? ir_binary(p, IR_OR, *any, not ) : not ;
}

bool sch_layout_solve(sch_state *s, const sch_layout *l, const ir_expr *at,
                      ir_expr *old) {
  return arith_inverse(s->p, s->scratch, l->ndim, l->var, l->extent, l->nout,
                       l->out, at, old);
}

ir_expr sch_layout_hole(sch_state *s, const sch_layout *l, const ir_expr *at) {
  ir_program *p = s->p;
  uint32_t n = l->ndim;
  ir_expr *old = arena_array(s->scratch, ir_expr, n), hole = 0;
  ir_expr *again = arena_array(s->scratch, ir_expr, l->nout);
  if (!sch_layout_solve(s, l, at, old)) return 0;
  for (uint32_t d = 0; d < n; d++) {
    add_failing(s, &hole, ir_binary(p, IR_LE, ir_index(p, 0), old[d]));
    add_failing(s, &hole, ir_binary(p, IR_LT, old[d], l->extent[d]));
  }
  sch_layout_index(s, l, old, again);
  for (uint32_t k = 0; k < l->nout; k++)
    add_failing(s, &hole, ir_binary(p, IR_EQ, again[k], at[k]));
  return hole ? hole : ir_bool(p, false);
}

/* ---- what may be changed ------------------------------------------------ */

bool sch_check_unmatched(sch_state *s, ir_buf buf) {
  const ir_program *p = s->p;
  for (uint32_t i = 1; i < p->block.n; i++) {
    ir_span m = p->block.v[i].matches;
    if (ir_is_dead(p, p->block.v[i].stmt)) continue;
    for (uint32_t k = m.at; k < m.at + m.n; k++)
      if (p->match.v[k].buf == buf || p->match.v[k].source.buf == buf)
        return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .buf = buf);
  }
  return true;
}

bool sch_check_allocated(sch_state *s, ir_buf buf) {
  if (!sch_check_unmatched(s, buf)) return false;
  return s->p->buf.v[buf].role == IR_ROLE_LOCAL ||
         sch_refuse(s, SCH_R_PARAMETER_FIXED, .buf = buf);
}
