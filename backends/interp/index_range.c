/* SPDX-License-Identifier: Apache-2.0
 * Ranges of integer inputs for which every access is in bounds: interval
 * arithmetic over the uses of inputs in indices, bindings and trip counts,
 * through intermediate buffers, and a search for the widest intervals that all
 * uses admit together. */
#include "backends/interp/interp.h"
#include "ir/analysis/analysis.h"
#include "ir/arith/arith.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/memo.h"
#include "ir/query.h"
#include "ir/scalar.h"

/* The most iterations of a loop whose trip count is data. */
enum { MOST_TRIPS = 1024, MOST_USES = 1 << 16, MOST_WORK = 1 << 23 };

/* The value of e must be in lo .. lo + count - 1; of a trip count only the
 * upper end matters. */
typedef struct index_use {
  ir_expr e;
  int64_t lo, count;
  bool trips, dropped;
} index_use;

/* The range of an expression or buffer, in the evaluation number `round`. */
typedef struct known_range {
  uint32_t round;
  arith_range r;
} known_range;

typedef struct ranging {
  const ir_program *p;
  arena *scratch;
  arith_range *input; /* by buffer: what an input is assumed to hold */
  bool *free;         /* by buffer: an input whose range is looked for */
  bool *used;         /* by buffer: the last evaluation loaded it */
  known_range *buf;   /* by buffer: computed ones */
  uint32_t *first;    /* by buffer: 1 + its first store in `store` */
  uint32_t *next;     /* 1 + the next store to the same buffer */
  ir_stmt *store;
  uint32_t nstores;
  uint32_t vars; /* bits of the variables that depend on data */
  ir_memo memo;  /* node -> 1 + its slot */
  known_range *slot;
  uint32_t nslots, room;
  uint32_t round;
  uint64_t work;  /* nodes evaluated */
  index_use *use; /* NULL: they are only counted */
  uint32_t nuses;
} ranging;

static arith_range range_type(tess_dtype t) {
  if (!ir_is_int(t)) return ARITH_ALL;
  return (arith_range){ir_int_min(t), ir_int_max(t)};
}

static arith_range range_union(arith_range a, arith_range b) {
  if (b.lo < a.lo) a.lo = b.lo;
  if (b.hi > a.hi) a.hi = b.hi;
  return a;
}

/* ---- values ------------------------------------------------------------- */

static arith_range range_of(ranging *u, ir_expr e);

/* All that is stored to the buffer; any value, where one depends on another. */
static arith_range range_stored(ranging *u, ir_buf b) {
  const ir_program *p = u->p;
  arith_range all = range_type(p->buf.v[b].dtype), r = {0, -1};
  if (u->buf[b].round == u->round) return u->buf[b].r;
  u->buf[b] = (known_range){u->round, all};
  for (uint32_t k = u->first[b]; k; k = u->next[k - 1]) {
    arith_range x = range_of(u, ir_st(p, u->store[k - 1])->value);
    r = r.lo > r.hi ? x : range_union(r, x);
  }
  if (r.lo > r.hi) r = all;
  u->buf[b].r = r;
  return r;
}

static arith_range range_loaded(ranging *u, const ir_node *n) {
  const ir_buf_rec *b = &u->p->buf.v[n->a];
  arith_range r = u->input[n->a];
  if (b->role != IR_ROLE_INPUT && b->role != IR_ROLE_LAYOUT_FREE &&
      b->role != IR_ROLE_CONSTANT)
    r = range_stored(u, n->a);
  else if (u->first[n->a])
    r = range_union(r, range_stored(u, n->a));
  u->used[n->a] = true;
  return n->c ? range_union(r, (arith_range){0, 0}) : r;
}

/* X in an extent `X - lo`, below a cast where that changes nothing; 0: it is no
 * such difference. */
static ir_expr end_of_loop(const ir_program *p, ir_expr lo, ir_expr extent) {
  const ir_node *n = ir_at(p, extent), *m = ir_at(p, lo);
  if (n->op == IR_CAST && m->op == IR_CAST) {
    if (!ir_dtype_eq(ir_at(p, n->a)->dtype, ir_at(p, m->a)->dtype)) return 0;
    n = ir_at(p, n->a);
    lo = m->a;
  }
  return n->op == IR_SUB && n->b == lo ? n->a : 0;
}

/* The values in lo .. lo + extent - 1; the start alone, if it is empty. */
static arith_range range_domain(ranging *u, ir_expr lo, ir_expr extent) {
  arith_range a = range_of(u, lo), n = range_of(u, extent);
  int64_t hi = arith_add_hi(a.hi, arith_add_hi(n.hi, -1));
  ir_expr end = end_of_loop(u->p, lo, extent);
  if (end && n.lo > ir_int_min(ir_at(u->p, end)->dtype)) { /* no wrap */
    int64_t last = arith_add_hi(range_of(u, end).hi, -1);
    if (last < hi) hi = last;
  }
  return (arith_range){a.lo, hi < a.lo ? a.lo : hi};
}

static arith_range range_var(ranging *u, ir_var v) {
  const ir_program *p = u->p;
  const ir_var_rec *r = &p->var.v[v];
  arith_range all = {r->lo, r->hi};
  if (!r->owner || !(u->vars >> v % 32 & 1)) return all;
  const ir_stmt_rec *s = ir_st(p, r->owner);
  if (r->kind == IR_VAR_LOOP && s->kind == IR_LOOP)
    return range_domain(u, s->lo, s->extent);
  if (r->kind == IR_VAR_LET && s->kind == IR_LET)
    return range_of(u, s->let_value);
  if (r->kind != IR_VAR_ITER || s->kind != IR_BLOCK) return all;
  ir_span it = ir_blk(p, r->owner)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].var == v) return range_of(u, p->iter.v[i].bind);
  return all;
}

/* Of floats, and of functions, only what they depend on is known. */
static arith_range range_operands(ranging *u, ir_expr e) {
  const ir_node *n = ir_at(u->p, e);
  const uint32_t *op;
  uint32_t fixed[3], count = ir_operands(u->p, e, &op, fixed);
  for (uint32_t i = 0; i < count; i++) (void)range_of(u, op[i]);
  return (arith_range){n->lo, n->hi};
}

static arith_range range_node(ranging *u, ir_expr e, const ir_node *n) {
  arith_range r = {n->lo, n->hi};
  if (n->op == IR_VAR) return range_var(u, n->a);
  if (n->op == IR_LOAD) return range_loaded(u, n);
  if (n->op == IR_CAST || n->op == IR_BROADCAST) return range_of(u, n->a);
  if (n->op == IR_SELECT)
    return range_union(range_of(u, n->b), range_of(u, n->c));
  if (n->op == IR_CALL || n->op == IR_NOT || !ir_is_int(n->dtype))
    return range_operands(u, e);
  if (n->op < IR_ADD || n->op > IR_OR) return r;
  arith_range a = range_of(u, n->a);
  return arith_range_of((ir_op)n->op, a, range_of(u, n->b));
}

static known_range *range_slot(ranging *u, ir_expr e) {
  uint32_t *at = ir_memo_of(&u->memo, u->scratch, e);
  if (*at) return &u->slot[*at - 1];
  if (u->nslots == u->room) {
    known_range *old = u->slot;
    u->room = u->room ? 2 * u->room : 256;
    u->slot = arena_array(u->scratch, known_range, u->room);
    if (u->nslots) memcpy(u->slot, old, u->nslots * sizeof *old);
  }
  u->slot[u->nslots] = (known_range){0, ARITH_ALL};
  *at = ++u->nslots;
  return &u->slot[*at - 1];
}

/* What e may be for the assumed contents of inputs. */
static arith_range range_of(ranging *u, ir_expr e) {
  const ir_node n = *ir_at(u->p, e);
  arith_range all = {n.lo, n.hi};
  if (!n.has_load && !(ir_vars(u->p, e) & u->vars)) return all;
  known_range *k = range_slot(u, e);
  if (k->round == u->round) return k->r;
  u->work++;
  arith_range r = range_node(u, e, &n), type = range_type(n.dtype);
  if (!ir_is_int(n.dtype) || r.lo < type.lo || r.hi > type.hi)
    r = all; /* it may wrap */
  if (r.lo < all.lo) r.lo = all.lo;
  if (r.hi > all.hi) r.hi = all.hi;
  k = range_slot(u, e); /* slots may have moved */
  *k = (known_range){u->round, r};
  return r;
}

/* ---- uses --------------------------------------------------------------- */

static void add_use(ranging *u, ir_expr e, int64_t lo, int64_t count,
                    bool trips) {
  const ir_node *n = ir_at(u->p, e);
  if (!n->has_load && !(ir_vars(u->p, e) & u->vars)) return;
  if (u->nuses == MOST_USES) return;
  if (u->use) u->use[u->nuses] = (index_use){e, lo, count, trips, false};
  u->nuses++;
}

static void add_indices(ranging *u, ir_buf b, uint32_t n, const uint32_t *idx) {
  for (uint32_t d = 0; d < n; d++) {
    int64_t extent = 1;
    if (n != ir_ndim(u->p, b) ||
        !ir_const_int(u->p, ir_dim(u->p, b, d), &extent))
      extent = 1;
    add_use(u, idx[d], 0, extent, false);
  }
}

static void add_loads(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) add_indices(ud, n->a, n->n, p->arg.v + n->b);
}

static bool visit_loads(const ir_program *p, ir_expr e, void *ud) {
  ranging *u = ud;
  ir_visit(p, u->scratch, e, add_loads, u);
  return false;
}

/* A binding must be in the domain of its iteration variable. */
static void add_bind(ranging *u, const ir_iter *it) {
  int64_t lo, extent;
  if (ir_const_int(u->p, it->lo, &lo) &&
      ir_const_int(u->p, it->extent, &extent) && lo >= 0)
    add_use(u, it->bind, lo, extent, false);
}

static void add_uses(ranging *u, ir_stmt s) {
  const ir_program *p = u->p;
  const ir_stmt_rec *r = ir_st(p, s);
  ir_stmt_any_expr(p, s, visit_loads, u);
  if (r->kind == IR_STORE) {
    add_indices(u, r->buf, r->idx.n, p->arg.v + r->idx.at);
  } else if (r->kind == IR_LOOP) {
    add_use(u, r->extent, 0, MOST_TRIPS + 1, true);
  } else if (r->kind == IR_BLOCK) {
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = 0; i < it.n; i++) add_bind(u, &p->iter.v[it.at + i]);
  }
}

/* Counts them first: walks over expressions use the arena, too. */
static void find_uses(ranging *u, ir_stmt root) {
  for (ir_stmt s = root; s; s = ir_next(u->p, s, root)) add_uses(u, s);
  u->use = arena_array(u->scratch, index_use, u->nuses + 1);
  u->nuses = 0;
  for (ir_stmt s = root; s; s = ir_next(u->p, s, root)) add_uses(u, s);
}

/* The variables whose values depend on data, outermost first. */
static void find_data_vars(ranging *u, ir_stmt root) {
  const ir_program *p = u->p;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
#define DATA(e) (ir_at(p, e)->has_load || (ir_vars(p, e) & u->vars))
    if (r->kind == IR_LOOP && (DATA(r->lo) || DATA(r->extent)))
      u->vars |= 1u << r->var % 32;
    if (r->kind == IR_LET && DATA(r->let_value))
      u->vars |= 1u << r->let_var % 32;
    if (r->kind != IR_BLOCK) continue;
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (DATA(p->iter.v[i].bind)) u->vars |= 1u << p->iter.v[i].var % 32;
#undef DATA
  }
}

static void find_stores(ranging *u, ir_stmt root) {
  const ir_program *p = u->p;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    n += ir_st(p, s)->kind == IR_STORE;
  u->store = arena_array(u->scratch, ir_stmt, n + 1);
  u->next = arena_array(u->scratch, uint32_t, n + 1);
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_STORE) continue;
    u->store[u->nstores] = s;
    u->next[u->nstores] = u->first[r->buf];
    u->first[r->buf] = ++u->nstores;
  }
}

/* ---- inputs ------------------------------------------------------------- */

static arith_range range_contents(const ir_const *c, tess_dtype t) {
  size_t each = ir_dtype_bytes(t);
  arith_range r = range_type(t);
  for (size_t i = 0; i * each < c->bytes; i++) {
    int64_t v = ir_get_int(t, (const char *)c->data + i * each);
    r = i ? range_union(r, (arith_range){v, v}) : (arith_range){v, v};
  }
  return r;
}

static void start_inputs(ranging *u) {
  const ir_program *p = u->p;
  ir_span params = ir_entry(p)->params;
  for (uint32_t i = 0; i < params.n; i++) {
    ir_buf b = p->arg.v[params.at + i];
    const ir_buf_rec *r = &p->buf.v[b];
    if (r->role == IR_ROLE_OUTPUT || !ir_is_int(r->dtype)) continue;
    u->input[b] = range_type(r->dtype);
    if (r->dtype.code == TESS_DTYPE_BOOL) u->input[b] = (arith_range){0, 1};
    if (r->holds & IR_HOLDS_RANGE)
      u->input[b] = (arith_range){r->least, r->most};
    u->free[b] =
        !(r->holds & IR_HOLDS_RANGE) && r->dtype.code != TESS_DTYPE_BOOL;
  }
  for (uint32_t i = 0; i < p->constant.n; i++) {
    ir_buf b = p->constant.v[i].buf;
    if (ir_is_int(p->buf.v[b].dtype))
      u->input[b] = range_contents(&p->constant.v[i], p->buf.v[b].dtype);
  }
}

/* ---- the search --------------------------------------------------------- */

static bool use_ok(ranging *u, const index_use *x) {
  arith_range r = range_of(u, x->e);
  if (x->trips) return r.hi < x->count;
  return r.lo >= x->lo && r.hi - x->lo < x->count;
}

static bool all_ok(ranging *u) {
  u->round++;
  for (uint32_t i = 0; i < u->nuses; i++)
    if (!u->use[i].dropped && !use_ok(u, &u->use[i])) return false;
  return true;
}

/* Every free input of the list holds v alone, or the nearest of its type. */
static void set_point(ranging *u, uint32_t n, const ir_buf *in, int64_t v) {
  for (uint32_t i = 0; i < n; i++) {
    arith_range t = range_type(u->p->buf.v[in[i]].dtype);
    int64_t x = v < t.lo ? t.lo : v > t.hi ? t.hi : v;
    u->input[in[i]] = (arith_range){x, x};
  }
}

/* 0, 1, -1, 2, -2, .. and then powers of two; false: there are no more. */
static bool nth_point(uint32_t k, int64_t *v) {
  enum { SMALL = 34, POWERS = 20 };
  uint32_t size = (k + 1) / 2;
  if (size > SMALL + POWERS) return false;
  *v = size <= SMALL ? (int64_t)size : INT64_C(1) << (size - SMALL + 5);
  if (k % 2 == 0) *v = -*v;
  return true;
}

/* A point that all uses admit; uses that no point is in are dropped. */
static bool find_point(ranging *u, uint32_t n, const ir_buf *in) {
  bool *ever = arena_zalloc(u->scratch, (u->nuses + 1) * sizeof *ever);
  int64_t v;
  for (uint32_t k = 0; nth_point(k, &v); k++) {
    set_point(u, n, in, v);
    u->round++;
    for (uint32_t i = 0; i < u->nuses; i++)
      ever[i] = ever[i] || use_ok(u, &u->use[i]);
    if (all_ok(u)) return true;
  }
  for (uint32_t i = 0; i < u->nuses; i++) u->use[i].dropped = !ever[i];
  for (uint32_t k = 0; nth_point(k, &v); k++) {
    set_point(u, n, in, v);
    if (all_ok(u)) return true;
  }
  return false;
}

/* The end of an input's range that is being moved, and by how much. */
typedef struct moving {
  int64_t step;
  bool slower;
} moving;

static bool move_end(ranging *u, ir_buf b, bool up, moving *m, int64_t most) {
  arith_range old = u->input[b], t = range_type(u->p->buf.v[b].dtype);
  if (t.lo < -most) t.lo = -most;
  if (t.hi > most) t.hi = most;
  int64_t room = up ? t.hi - old.hi : old.lo - t.lo;
  int64_t step = m->step < room ? m->step : room;
  if (step <= 0) return m->step = 0, false;
  if (up)
    u->input[b].hi += step;
  else
    u->input[b].lo -= step;
  if (all_ok(u)) {
    if (!m->slower) m->step *= 2;
    return true;
  }
  u->input[b] = old;
  m->slower = true;
  m->step = step / 2;
  return m->step > 0;
}

/* Widens the ranges in turn, as far as all uses admit them. */
static void widen(ranging *u, uint32_t n, const ir_buf *in, int64_t most) {
  moving *m = arena_array(u->scratch, moving, 2 * n + 1);
  bool goes_on = true;
  for (uint32_t i = 0; i < 2 * n; i++) m[i] = (moving){1, false};
  while (goes_on && u->work < MOST_WORK) {
    goes_on = false;
    for (uint32_t i = 0; i < 2 * n; i++)
      if (m[i].step) goes_on |= move_end(u, in[i / 2], i % 2 == 0, &m[i], most);
  }
}

/* Some multiple of the largest extent, so that blocks which compare the
 * same data still find equal values. */
static int64_t widest(const ranging *u) {
  int64_t most = 1;
  for (uint32_t i = 0; i < u->nuses; i++) {
    int64_t n = u->use[i].lo + u->use[i].count;
    if (!u->use[i].dropped && n > most) most = n;
  }
  return most < INT64_MAX / 8 ? 4 * most - 1 : most;
}

/* Sets u->used: the buffers that these uses, dropped ones or all, depend on. */
static void mark_used(ranging *u, bool dropped) {
  memset(u->used, 0, u->p->buf.n * sizeof *u->used);
  u->round++;
  for (uint32_t i = 0; i < u->nuses; i++)
    if (!dropped || u->use[i].dropped) (void)range_of(u, u->use[i].e);
}

/* Drops the uses that what is known of the inputs does not admit. */
static void drop_uses(ranging *u) {
  u->round++;
  for (uint32_t i = 0; i < u->nuses; i++)
    u->use[i].dropped = !use_ok(u, &u->use[i]);
}

/* Finds the ranges of the inputs that uses depend on: a single value of those
 * that some use does not admit, as far as is known. */
static void search_ranges(ranging *u, ir_buf *in, bool *indexes) {
  size_t bytes = u->p->buf.n * sizeof *u->used;
  mark_used(u, false);
  memcpy(indexes, u->used, bytes);
  uint32_t n = 0;
  for (ir_buf b = 1; b < u->p->buf.n; b++)
    if (u->free[b] && indexes[b]) in[n++] = b;
  if (!n) return drop_uses(u);
  bool found = find_point(u, n, in);
  if (!found) set_point(u, n, in, 0);
  mark_used(u, true);
  n = 0;
  for (ir_buf b = 1; found && b < u->p->buf.n; b++)
    if (u->free[b] && indexes[b] && !u->used[b]) in[n++] = b;
  widen(u, n, in, widest(u));
}

static interp_range finish_range(const ranging *u, ir_buf b, bool indexes) {
  const ir_buf_rec *r = &u->p->buf.v[b];
  interp_range out = {.holds = r->holds};
  if (!ir_is_int(r->dtype) || r->role == IR_ROLE_OUTPUT) return out;
  arith_range x = u->input[b];
  if (u->free[b] && !indexes && !r->holds) return out;
  const int64_t far = INT64_MAX / 4; /* differences fit */
  out.bounded = true;
  out.least = x.lo < -far ? -far : x.lo;
  out.count = (x.hi > far ? far : x.hi) + 1;
  return out;
}

void interp_index_ranges(const ir_program *p, arena *scratch,
                         interp_range *out) {
  ranging u = {.p = p, .scratch = scratch};
  uint32_t n = p->buf.n;
  ir_span params = ir_entry(p)->params;
  arena_mark mark = arena_get_mark(scratch);
  u.input = arena_zalloc(scratch, n * sizeof *u.input);
  u.free = arena_zalloc(scratch, n * sizeof *u.free);
  u.used = arena_zalloc(scratch, n * sizeof *u.used);
  u.buf = arena_zalloc(scratch, n * sizeof *u.buf);
  u.first = arena_zalloc(scratch, n * sizeof *u.first);
  ir_stmt root = ir_entry(p)->root;
  find_stores(&u, root);
  find_data_vars(&u, root);
  start_inputs(&u);
  find_uses(&u, root);
  ir_buf *in = arena_array(scratch, ir_buf, n + 1);
  bool *indexes = arena_zalloc(scratch, n * sizeof *indexes);
  search_ranges(&u, in, indexes);
  mark_used(&u, true);
  for (uint32_t i = 0; i < params.n; i++) {
    ir_buf b = p->arg.v[params.at + i];
    out[i] = finish_range(&u, b, indexes[b]);
    bool is_float = !ir_is_int(p->buf.v[b].dtype);
    out[i].unproven = u.used[b] && (u.free[b] || is_float);
  }
  arena_reset_to(scratch, mark);
}

interp_range interp_index_range(const ir_program *p, ir_buf b, arena *scratch) {
  ir_span params = ir_entry(p)->params;
  interp_range r = {.count = 0};
  arena_mark mark = arena_get_mark(scratch);
  interp_range *all = arena_array(scratch, interp_range, params.n + 1);
  interp_index_ranges(p, scratch, all);
  for (uint32_t i = 0; i < params.n; i++)
    if (p->arg.v[params.at + i] == b) r = all[i];
  arena_reset_to(scratch, mark);
  return r;
}
