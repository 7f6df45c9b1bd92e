/* SPDX-License-Identifier: Apache-2.0
 * Regions and strides of a store's accesses, level by level: the loops around
 * it are made to run one after another, the innermost first, and what their
 * variables lead to (iteration variables, lets, indices) is evaluated anew
 * where it uses one that changed. */
#include "search/feature/nest.h"

#include <math.h>

enum { MAX_RANK = 16 };

/* One access: its indices, and the ranges they have now.  Through a match
 * buffer it is the region that the match names. */
typedef struct place {
  uint32_t access;    /* index in the store's */
  const ir_expr *idx; /* region: min and extent in turn */
  uint32_t rank;
  bool region;
  nest_range range[MAX_RANK];
} place;

typedef struct touching {
  nest *n;
  nest_chain *c;
  nest_store *s;
  place *place;
  uint32_t nplace;
} touching;

static uint32_t bit_of(ir_var v) { return 1u << v % 32; }

static int64_t shape_of(const ir_program *p, ir_buf b, uint32_t d) {
  int64_t x = ir_at(p, ir_dim(p, b, d))->hi;
  return x < 1 ? 1 : x > INT32_MAX ? INT32_MAX : x;
}

/* Elements from one index of dimension d to the next. */
static double dim_stride(const ir_program *p, ir_buf b, uint32_t d) {
  const ir_buf_rec *r = &p->buf.v[b];
  int64_t x;
  if (r->strides.n && ir_const_int(p, p->arg.v[r->strides.at + d], &x))
    return (double)x;
  double stride = 1;
  for (uint32_t k = d + 1; k < r->shape.n; k++)
    stride *= (double)shape_of(p, b, k);
  return stride;
}

/* ---- setting variables -------------------------------------------------- */

static nest_range within(nest_range r, nest_range lo, nest_range extent) {
  int64_t least = lo.lo, most = lo.hi + extent.hi - 1;
  if (r.lo < least) r.lo = least;
  if (r.hi > most) r.hi = most;
  return r.hi < r.lo ? (nest_range){r.lo, r.lo} : r;
}

/* The range of what is bound at b; a loop that does not run stands at its
 * start, or `ahead` of it. */
static nest_range range_of_bound(const touching *t, const nest_bound *b,
                                 bool runs, int64_t ahead) {
  const ir_program *p = t->n->p;
  const nest_range *var = t->c->var;
  nest_range lo = nest_eval(p, var, b->lo);
  if (!b->is_loop) {
    if (!b->dextent) return lo;
    return within(lo, nest_eval(p, var, b->dlo), nest_eval(p, var, b->dextent));
  }
  if (!runs) return (nest_range){lo.lo + ahead, lo.lo + ahead};
  nest_range extent = nest_eval(p, var, b->extent);
  int64_t last = lo.hi + (extent.hi > 1 ? extent.hi - 1 : 0);
  return (nest_range){lo.lo, last};
}

static bool same_range(nest_range a, nest_range b) {
  return a.lo == b.lo && a.hi == b.hi;
}

/* Loop number `from` of the chain and those inside run, or it alone goes so
 * many iterations `ahead`: all that hangs on it is evaluated.  Gives the bits
 * of what changed; *drives: which kinds of iters did. */
static uint32_t propagate(touching *t, uint32_t from, int64_t ahead,
                          uint8_t *drives) {
  nest_chain *c = t->c;
  const ir_program *p = t->n->p;
  uint32_t dirty = 0;
  for (uint32_t i = from; i < c->n; i++) {
    const nest_bound *b = &c->v[i];
    uint32_t uses = ir_vars(p, b->lo);
    if (b->is_loop) uses |= ir_vars(p, b->extent);
    if (i != from && !(uses & dirty)) continue;
    nest_range r = range_of_bound(t, b, !ahead, i == from ? ahead : 0);
    if (i != from && same_range(r, c->var[b->var])) continue;
    c->var[b->var] = r;
    dirty |= bit_of(b->var);
    if (drives) *drives |= b->iter;
  }
  return dirty;
}

static void stand_at_start(touching *t) {
  for (uint32_t i = 0; i < t->c->n; i++) {
    const nest_bound *b = &t->c->v[i];
    t->c->var[b->var] = range_of_bound(t, b, false, 0);
  }
}

/* ---- places ------------------------------------------------------------- */

/* The d-th index; of a region its least. */
static ir_expr touch_index_of(const place *x, uint32_t d) {
  return x->idx[x->region ? 2 * d : d];
}

static void find_ranges(const touching *t, place *x, uint32_t dirty) {
  const ir_program *p = t->n->p;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (dirty != UINT32_MAX && !(ir_vars(p, touch_index_of(x, d)) & dirty))
      continue;
    nest_range r = nest_eval(p, t->c->var, touch_index_of(x, d));
    if (x->region) r.hi += nest_eval(p, t->c->var, x->idx[2 * d + 1]).hi - 1;
    int64_t most = shape_of(p, t->s->access[x->access].buf, d) - 1;
    if (r.lo < 0) r.lo = 0;
    if (r.lo > most) r.lo = most;
    if (r.hi > most) r.hi = most;
    if (r.hi < r.lo) r.hi = r.lo;
    x->range[d] = r;
  }
}

/* The box around all places of access k; its rank. */
static uint32_t find_box(const touching *t, uint32_t k,
                         nest_range box[MAX_RANK]) {
  uint32_t rank = 0;
  bool first = true;
  for (uint32_t i = 0; i < t->nplace; i++) {
    const place *x = &t->place[i];
    if (x->access != k) continue;
    rank = x->rank;
    for (uint32_t d = 0; d < rank; d++) {
      if (first || x->range[d].lo < box[d].lo) box[d].lo = x->range[d].lo;
      if (first || x->range[d].hi > box[d].hi) box[d].hi = x->range[d].hi;
    }
    first = false;
  }
  return rank;
}

/* Runs lie apart along the innermost dimensions behind theirs. */
static void add_spread(nest_spread *s, double width, double step) {
  const uint32_t most = sizeof s->n / sizeof *s->n;
  if (width <= 1 || s->dims == most) return;
  s->n[s->dims] = width;
  s->step[s->dims++] = step;
}

/* Its elements, those side by side, and how these lie. */
static void measure_box(const touching *t, uint32_t k, uint32_t level) {
  const ir_program *p = t->n->p;
  nest_access *a = &t->s->access[k];
  nest_range box[MAX_RANK];
  bool whole = true;
  double numel = 1, run = 1;
  nest_spread spread = {0};
  for (uint32_t d = find_box(t, k, box); d-- > 0;) {
    double width = (double)(box[d].hi - box[d].lo + 1);
    numel *= width;
    if (whole)
      run *= width;
    else
      add_spread(&spread, width, dim_stride(p, a->buf, d));
    whole &= width >= (double)shape_of(p, a->buf, d);
  }
  a->numel[level] = numel;
  a->run[level] = run;
  a->spread[level] = spread;
}

static void measure_level(touching *t, uint32_t level) {
  for (uint32_t k = 0; k < t->s->naccess; k++) measure_box(t, k, level);
}

/* ---- strides ------------------------------------------------------------ */

/* Where access x is, in elements. */
static double flat_index(const touching *t, const place *x) {
  ir_buf b = t->s->access[x->access].buf;
  double at = 0;
  for (uint32_t d = 0; d < x->rank; d++)
    at += (double)nest_eval(t->n->p, t->c->var, touch_index_of(x, d)).lo *
          dim_stride(t->n->p, b, d);
  return at;
}

static bool touch_uses_any(const touching *t, const place *x, uint32_t dirty) {
  for (uint32_t d = 0; d < x->rank; d++)
    if (ir_vars(t->n->p, touch_index_of(x, d)) & dirty) return true;
  return false;
}

/* Is there another place of this access before it? */
static bool is_first_place(const touching *t, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (t->place[k].access == t->place[i].access) return false;
  return true;
}

/* Everything stands at its start; loop `at` of the chain, at depth d, goes so
 * many iterations ahead and comes back.  Strides that are 0 so far become what
 * an iteration moves on the average; gives whether some still are. */
static bool find_strides(touching *t, uint32_t at, uint32_t d, int64_t ahead,
                         const double *start) {
  uint32_t dirty = propagate(t, at, ahead, NULL);
  bool again = false;
  for (uint32_t i = 0; i < t->nplace; i++) {
    const place *x = &t->place[i];
    double *stride = &t->s->access[x->access].stride[d];
    if (!is_first_place(t, i) || !touch_uses_any(t, x, dirty) || *stride > 0)
      continue;
    *stride = fabs(flat_index(t, x) - start[i]) / (double)ahead;
    again |= *stride == 0;
  }
  for (uint32_t i = at; i < t->c->n; i++)
    if (bit_of(t->c->v[i].var) & dirty)
      t->c->var[t->c->v[i].var] = range_of_bound(t, &t->c->v[i], false, 0);
  return again;
}

/* By one step; where that moves nothing, as of channels in groups, by all. */
static void find_all_strides(touching *t, const double *start) {
  uint32_t d = t->s->depth;
  for (uint32_t i = t->c->n; i-- > 0;) {
    const nest_bound *b = &t->c->v[i];
    if (!b->is_loop || b->loop == NEST_NONE) continue;
    int64_t last = (int64_t)t->n->loop[b->loop].extent - 1;
    bool again = find_strides(t, i, --d, 1, start);
    if (again && last > 1) find_strides(t, i, d, last, start);
  }
}

/* ---- a store ------------------------------------------------------------ */

static uint32_t find_access(nest_store *s, ir_buf b) {
  for (uint32_t k = 0; k < s->naccess; k++)
    if (s->access[k].buf == b) return k;
  s->access[s->naccess] = (nest_access){.buf = b};
  return s->naccess++;
}

static void add_place(touching *t, ir_buf b, uint32_t rank, const ir_expr *idx,
                      bool writes) {
  const ir_program *p = t->n->p;
  const ir_match *m = nest_match_of(t->c, b);
  if (m) {
    b = m->source.buf;
    idx = p->arg.v + m->source.at;
    rank = ir_ndim(p, b);
  }
  uint32_t k = find_access(t->s, b);
  nest_access *a = &t->s->access[k];
  if (writes)
    a->writes = 1;
  else
    a->reads = 1;
  a->n++;
  if (rank > MAX_RANK) rank = MAX_RANK;
  t->place[t->nplace++] =
      (place){.access = k, .idx = idx, .rank = rank, .region = m != NULL};
}

static void add_places(touching *t, const nest_loads *loads) {
  const ir_program *p = t->n->p;
  const ir_stmt_rec *r = ir_st(p, t->s->stmt);
  add_place(t, r->buf, r->idx.n, p->arg.v + r->idx.at, true);
  for (uint32_t i = 0; i < loads->n; i++) {
    const ir_node *l = ir_at(p, loads->v[i]);
    uint32_t rank = ir_ndim(p, l->a);
    add_place(t, l->a, l->n < rank ? l->n : rank, p->arg.v + l->b, false);
  }
}

static void make_tables(touching *t) {
  nest_store *s = t->s;
  arena *scratch = t->n->scratch;
  for (uint32_t k = 0; k < s->naccess; k++) {
    nest_access *a = &s->access[k];
    size_t levels = s->depth + 1;
    double *v = arena_zalloc(scratch, 3 * levels * sizeof *v);
    a->spread = arena_zalloc(scratch, levels * sizeof *a->spread);
    a->numel = v;
    a->run = v + s->depth + 1;
    a->stride = v + 2 * (s->depth + 1);
    a->elem = (double)ir_dtype_bytes(t->n->p->buf.v[a->buf].dtype);
  }
}

/* In an init the loops that only reduce do not count. */
static void find_times(const touching *t) {
  for (uint32_t d = 0; d < t->s->depth; d++) {
    double extent = t->n->loop[t->s->loop[d]].extent;
    bool once = t->c->init && t->s->drives[d] == NEST_REDUCE;
    t->s->times[d] = once ? 1 : extent;
  }
}

static void run_loops(touching *t) {
  nest_store *s = t->s;
  uint32_t d = s->depth;
  double *start = arena_array(t->n->scratch, double, t->nplace + 1);
  stand_at_start(t);
  for (uint32_t i = 0; i < t->nplace; i++) {
    find_ranges(t, &t->place[i], UINT32_MAX);
    start[i] = flat_index(t, &t->place[i]);
  }
  measure_level(t, d);
  find_all_strides(t, start);
  for (uint32_t i = t->c->n; i-- > 0;) {
    if (!t->c->v[i].is_loop || t->c->v[i].loop == NEST_NONE) continue;
    uint8_t drives = 0;
    uint32_t dirty = propagate(t, i, 0, &drives);
    s->drives[--d] = drives;
    for (uint32_t k = 0; k < t->nplace; k++)
      find_ranges(t, &t->place[k], dirty);
    measure_level(t, d);
  }
}

void nest_touch(nest *n, nest_chain *c, nest_store *s,
                const nest_loads *loads) {
  touching t = {.n = n, .c = c, .s = s};
  uint32_t most = loads->n + 1;
  t.place = arena_array(n->scratch, place, most);
  s->access = arena_array(n->scratch, nest_access, most);
  s->naccess = 0;
  add_places(&t, loads);
  make_tables(&t);
  run_loops(&t);
  find_times(&t);
}
