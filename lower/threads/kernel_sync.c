/* SPDX-License-Identifier: Apache-2.0
 * Inserts barriers between conflicting accesses of the threads of a block.
 *
 * Forward dataflow over the code of a thread with the set of accesses since
 * the last barrier; a barrier goes before a statement with an access that
 * conflicts with one of them in another thread.  Loop bodies are iterated to a
 * fixed point with the accesses that reach the next iteration.
 *
 * Two accesses do not conflict where their indices determine the thread, where
 * both are by one thread, or in one execution of a thread loop, whose
 * iterations are independent.  A nested loop of the same axis is distributed
 * anew, so that other threads run it; and threads without an iteration still
 * evaluate conditions, bounds and values.  Warp-collective code synchronizes
 * the lanes of its warp before and after. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/threads/kernel.h"

enum { MAX_INPUTS = 24 };

typedef struct sync_access {
  lower_access a;
  kernel_axes pinned; /* axes along which only one thread executes it */
  bool together;      /* warp-collective, which synchronizes the lanes */
  ir_stmt unit[3];    /* the innermost thread loop of the axis around it, in
                       * the buffer's life, if a thread does it in its
                       * iteration only; 0: none */
} sync_access;

/* Accesses since the last barrier.  `loop`: in an earlier iteration of that
 * loop, the outermost such; 0: in the same ones.  `far`: perhaps not in the one
 * before. */
typedef struct pending {
  bool is, far;
  ir_stmt loop;
} pending;

typedef struct sync {
  kernel *k;
  uint32_t n;
  sync_access *m;
  bool *varies;    /* variable -> is not the same in all threads */
  ir_stmt *binder; /* variable -> its loop or let in the kernel, or 0 */
} sync;

/* ---- accesses ----------------------------------------------------------- */

/* How many threads of an axis satisfy the condition at most. */
static int64_t places_of(const kernel *k, const ir_node *c, unsigned axis) {
  const ir_program *p = k->p;
  int64_t most = k->extent[IR_THREADIDX_X + axis], n;
  ir_var v = k->index[IR_THREADIDX_X + axis];
  if (!v) return most;
  ir_expr place = ir_ref(k->p, v);
  if (c->op == IR_EQ && ((c->a == place && ir_is_const(p, c->b, 0)) ||
                         (c->b == place && ir_is_const(p, c->a, 0))))
    return 1;
  return c->op == IR_LT && c->a == place && ir_const_int(p, c->b, &n) &&
                 n < most
             ? n
             : most;
}

/* How many threads of each axis, the first ones, reach s by the guards around
 * it. */
static void find_places(const kernel *k, ir_stmt s, ir_stmt body,
                        int64_t places[3]) {
  const ir_program *p = k->p;
  for (unsigned a = 0; a < 3; a++) places[a] = k->extent[IR_THREADIDX_X + a];
  for (; s != body; s = ir_st(p, s)->parent) {
    ir_stmt up = ir_st(p, s)->parent;
    ir_expr list[16];
    uint32_t n = 0;
    if (ir_st(p, up)->kind != IR_IF || ir_st(p, s)->in_alt) continue;
    for (list[n++] = ir_st(p, up)->cond; n;) {
      const ir_node c = *ir_at(p, list[--n]);
      if (c.op == IR_AND && n + 2 <= 16) {
        list[n++] = c.a;
        list[n++] = c.b;
      }
      for (unsigned a = 0; a < 3; a++) {
        int64_t most = places_of(k, &c, a);
        if (most < places[a]) places[a] = most;
      }
    }
  }
}

/* Whether spread loop `outer` was around s (or is it). */
static bool was_around(const kernel *k, ir_stmt outer, ir_stmt s) {
  while (s && s != outer) s = s < k->nwithin ? k->within[s] : 0;
  return s == outer;
}

static void find_units(const kernel *k, sync_access *m, ir_stmt body) {
  int64_t places[3];
  find_places(k, m->a.at, body, places);
  const kernel_buf *x = m->a.buf < k->nbuf ? &k->buf[m->a.buf] : NULL;
  ir_stmt life = x ? x->within : 0;
  ir_stmt s = m->a.at < k->nwithin ? k->within[m->a.at] : 0;
  for (; s && s != life; s = k->within[s])
    for (unsigned a = 0; a < 3; a++)
      if ((k->axis[s] >> a & 1) && !m->unit[a]) m->unit[a] = s;
  for (unsigned a = 0; a < 3; a++) {
    if (places[a] <= 1) m->pinned |= (kernel_axes)(1u << a);
    if (m->unit[a] && places[a] > k->count[m->unit[a]]) m->unit[a] = 0;
  }
  for (s = m->a.at; s != body && !m->together; s = ir_st(k->p, s)->parent)
    m->together = kernel_is_warp(ir_st(k->p, s));
}

static void find_sync_accesses(sync *y, ir_stmt body) {
  kernel *k = y->k;
  lower_accesses all = lower_find_accesses(k->p, k->scratch, body);
  y->m = arena_zalloc(k->scratch, (all.n + 1) * sizeof *y->m);
  for (uint32_t i = 0; i < all.n; i++) {
    ir_buf b = all.v[i].buf;
    if (b < k->nbuf && k->buf[b].is_private) continue;
    sync_access *m = &y->m[y->n++];
    m->a = all.v[i];
    find_units(k, m, body);
  }
}

/* ---- conflicts ---------------------------------------------------------- */

static bool same_indices(const ir_program *p, const lower_access *a,
                         const lower_access *b) {
  for (uint32_t d = 0; d < a->idx.n; d++)
    if (p->arg.v[a->idx.at + d] != p->arg.v[b->idx.at + d]) return false;
  return a->idx.n == b->idx.n;
}

static ir_stmt next_loop(const ir_program *p, ir_stmt s) {
  do s = ir_st(p, s)->parent;
  while (s && !ir_is_loop(p, s));
  return s;
}

static bool uses_one_of(const ir_program *p, ir_expr e, uint32_t n,
                        const ir_var *v) {
  for (uint32_t i = 0; i < n; i++)
    if (ir_uses_var(p, e, v[i])) return true;
  return false;
}

typedef struct fixed_term {
  const sync *y;
  ir_stmt at;
  bool is;
} fixed_term;

static bool is_loop_around(const ir_program *p, ir_stmt s, ir_var v) {
  for (; s; s = ir_st(p, s)->parent)
    if (ir_is_loop(p, s) && ir_st(p, s)->var == v) return true;
  return false;
}

static void note_fixed(const ir_program *p, ir_expr e, void *ud) {
  fixed_term *x = ud;
  const kernel *k = x->y->k;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) x->is = false;
  if (n->op != IR_VAR) return;
  bool is_block = false;
  for (unsigned t = IR_BLOCKIDX_X; t <= IR_BLOCKIDX_Z; t++)
    is_block |= k->index[t] && k->index[t] == (ir_var)n->a;
  x->is &= is_block || is_loop_around(p, x->at, (ir_var)n->a);
}

/* Has it the same value in all threads that execute `at`, in one iteration of
 * the loops whose variables it uses? */
static bool is_fixed(const sync *y, ir_stmt at, ir_expr e) {
  fixed_term x = {y, at, true};
  ir_visit(y->k->p, y->k->scratch, e, note_fixed, &x);
  return x.is;
}

/* The sum without the fixed terms that have none of the variables: they are the
 * same in both accesses, and a map is injective with them if it is without. */
static ir_expr drop_fixed_terms(const sync *y, ir_stmt at, ir_expr e,
                                uint32_t n, const ir_var *v) {
  ir_program *p = y->k->p;
  const ir_node x = *ir_at(p, e);
  if (x.op != IR_ADD) return e;
  if (!uses_one_of(p, x.a, n, v) && is_fixed(y, at, x.a))
    return drop_fixed_terms(y, at, x.b, n, v);
  if (!uses_one_of(p, x.b, n, v) && is_fixed(y, at, x.b))
    return drop_fixed_terms(y, at, x.a, n, v);
  return ir_add(p, drop_fixed_terms(y, at, x.a, n, v),
                drop_fixed_terms(y, at, x.b, n, v));
}

/* The dimensions that use the n loops or the thread index, and not the other
 * loops up to `all`, determine iteration and thread. */
static bool dims_determine_thread(const sync *y, const lower_access *a,
                                  uint32_t n, uint32_t all,
                                  const ir_var *loops) {
  const kernel *k = y->k;
  ir_program *p = k->p;
  ir_var in[MAX_INPUTS];
  uint32_t nin = n, ndim = 0;
  ir_expr *out = arena_array(k->scratch, ir_expr, 3 * a->idx.n + 1);
  ir_expr *lo = out + a->idx.n, *extent = lo + a->idx.n;
  memcpy(in, loops, n * sizeof *in);
  for (unsigned t = IR_THREADIDX_X; t <= IR_THREADIDX_Z; t++)
    if (k->extent[t] > 1) in[nin++] = k->index[t];
  for (uint32_t d = 0; d < a->idx.n; d++) {
    ir_expr e = p->arg.v[a->idx.at + d];
    if (!uses_one_of(p, e, nin, in) || uses_one_of(p, e, all - n, loops + n))
      continue;
    out[ndim] = drop_fixed_terms(y, a->at, e, nin, in);
    lo[ndim] = ir_index(p, 0);
    extent[ndim++] = ir_dim(p, a->buf, d);
  }
  return arith_map_is(p, k->scratch, ARITH_MAP_INJECTIVE, nin, in, NULL, ndim,
                      out, lo, extent, 0);
}

/* Within the common loops, from the innermost up to `loop`, an element is
 * accessed by one thread only. */
static bool indices_determine_thread(const sync *y, const lower_access *a,
                                     const lower_access *b, ir_stmt loop) {
  const ir_program *p = y->k->p;
  ir_stmt s = next_loop(p, a->at);
  ir_var loops[MAX_INPUTS];
  uint32_t n = 0;
  if (s != next_loop(p, b->at) || !same_indices(p, a, b)) return false;
  for (bool last = !loop; !last; s = next_loop(p, s)) {
    if (!s || n + 3 == MAX_INPUTS || ir_is_thread_loop(ir_st(p, s)))
      return false;
    last = s == loop;
    loops[n++] = ir_st(p, s)->var;
  }
  arena_mark mark = arena_get_mark(y->k->scratch);
  bool found = false;
  for (uint32_t some = n + 1; some-- > 0 && !found;)
    found = dims_determine_thread(y, a, some, n, loops);
  arena_reset_to(y->k->scratch, mark);
  return found;
}

static bool sync_varies(const sync *y, ir_expr e);

/* Do two indices differ whatever the variables are, which have one value for
 * all threads: versions of a buffer, (k + 2) % 3 and k % 3? */
static bool always_differ(const sync *y, ir_expr a, ir_expr b) {
  const ir_program *p = y->k->p;
  const ir_node *x = ir_at(p, a), *z = ir_at(p, b);
  int64_t n = 0, m = 0;
  lin diff;
  if (x->op == IR_MOD && z->op == IR_MOD && ir_const_int(p, x->b, &n) &&
      ir_const_int(p, z->b, &m) && n == m && n > 1) {
    a = x->a;
    b = z->a;
  } else {
    n = 0;
  }
  return lin_diff(p, a, b, &diff) && !diff.n && (n ? diff.c % n : diff.c) &&
         !sync_varies(y, a) && !sync_varies(y, b);
}

typedef struct bound_term {
  const sync *y;
  ir_stmt loop;
  bool is;
} bound_term;

static void note_bound(const ir_program *p, ir_expr e, void *ud) {
  bound_term *x = ud;
  const ir_node *n = ir_at(p, e);
  ir_stmt by = n->op == IR_VAR ? x->y->binder[n->a] : 0;
  x->is |= by && by != x->loop && ir_is_ancestor(p, x->loop, by);
}

/* Does it use loops or lets in the loop, which have other values in its next
 * iteration? */
static bool uses_bound(const sync *y, ir_stmt loop, ir_expr e) {
  bound_term x = {y, loop, false};
  ir_visit(y->k->p, y->k->scratch, e, note_bound, &x);
  return x.is;
}

/* Do a, and b in the next iteration of the loop (0: in the same one), access
 * different elements? */
static bool are_apart(const sync *y, const lower_access *a,
                      const lower_access *b, ir_stmt loop) {
  ir_program *p = y->k->p;
  ir_subst sub;
  ir_subst_init(&sub, p, y->k->scratch);
  if (loop) {
    ir_var v = ir_st(p, loop)->var;
    ir_subst_var(&sub, v, ir_add(p, ir_ref(p, v), ir_index(p, 1)));
  }
  for (uint32_t d = 0; d < a->idx.n && a->idx.n == b->idx.n; d++) {
    ir_expr now = p->arg.v[a->idx.at + d], later = p->arg.v[b->idx.at + d];
    if (loop) later = ir_subst_expr(&sub, later);
    if (always_differ(y, now, later) &&
        !(loop && (uses_bound(y, loop, now) || uses_bound(y, loop, later))))
      return true;
  }
  return false;
}

static bool accesses_conflict(const sync *y, const sync_access *a,
                              const sync_access *b, ir_stmt loop, bool far) {
  const kernel *k = y->k;
  if (a->a.buf != b->a.buf || !(a->a.writes || b->a.writes)) return false;
  if (!far && are_apart(y, &a->a, &b->a, loop)) return false;
  kernel_axes known = a->pinned & b->pinned;
  if (a->together || b->together) known |= 1;
  for (unsigned i = 0; i < 3; i++)
    if (a->unit[i] && a->unit[i] == b->unit[i] &&
        (!loop || was_around(k, a->unit[i], loop)))
      known |= (kernel_axes)(1u << i);
  const lower_access *v[2] = {&a->a, &b->a};
  return kernel_owned(k, 2, v, known) != 7 &&
         !indices_determine_thread(y, &a->a, &b->a, loop);
}

static bool is_in(const sync *y, uint32_t i, ir_stmt s) {
  return ir_is_ancestor(y->k->p, s, y->m[i].a.at);
}

/* A pending access conflicts with one in s. */
static bool needs_barrier(const sync *y, const pending *w, ir_stmt s) {
  for (uint32_t i = 0; i < y->n; i++)
    for (uint32_t j = 0; w[i].is && j < y->n; j++)
      if (is_in(y, j, s) &&
          accesses_conflict(y, &y->m[i], &y->m[j], w[i].loop, w[i].far))
        return true;
  return false;
}

/* Does a barrier now order what threads share in global memory, too? */
static ir_scope barrier_scope(const sync *y, const pending *w) {
  for (uint32_t i = 0; i < y->n; i++) {
    ir_scope scope = (ir_scope)y->k->p->buf.v[y->m[i].a.buf].scope;
    for (uint32_t j = 0; w[i].is && ir_scope_is_global(scope) && j < y->n; j++)
      if (accesses_conflict(y, &y->m[i], &y->m[j], w[i].loop, w[i].far))
        return IR_SCOPE_GLOBAL;
  }
  return IR_SCOPE_SHARED;
}

/* The loop around both that is innermost; 0: none below `top`. */
static ir_stmt loop_around(const ir_program *p, ir_stmt a, ir_stmt b,
                           ir_stmt top) {
  while (a != top && !(ir_is_loop(p, a) && ir_is_ancestor(p, a, b)))
    a = ir_st(p, a)->parent;
  return ir_is_loop(p, a) ? a : 0;
}

/* Accesses of two threads conflict within s. */
static const sync_access *find_conflict_inside(const sync *y, ir_stmt s) {
  for (uint32_t i = 0; i < y->n; i++)
    for (uint32_t j = 0; is_in(y, i, s) && j < y->n; j++) {
      const sync_access *a = &y->m[i], *b = &y->m[j];
      if (!is_in(y, j, s)) continue;
      ir_stmt loop = loop_around(y->k->p, a->a.at, b->a.at, s);
      if (a->a.at != b->a.at && accesses_conflict(y, a, b, 0, false)) return a;
      for (; loop;
           loop = loop == s ? 0
                            : loop_around(y->k->p, ir_st(y->k->p, loop)->parent,
                                          b->a.at, s))
        if (accesses_conflict(y, a, b, loop, true)) return a;
    }
  return NULL;
}

/* ---- uniform control flow ----------------------------------------------- */

typedef struct variation {
  const sync *y;
  bool varies;
} variation;

static void note_sync_variation(const ir_program *p, ir_expr e, void *ud) {
  variation *v = ud;
  const kernel *k = v->y->k;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR) v->varies |= v->y->varies[n->a];
  if (n->op == IR_LOAD) v->varies |= n->a < k->nbuf && k->buf[n->a].is_private;
}

static bool sync_varies(const sync *y, ir_expr e) {
  variation v = {y, false};
  ir_visit(y->k->p, y->k->scratch, e, note_sync_variation, &v);
  return v.varies;
}

/* Is the control flow of s uniform across threads? */
static bool is_common(const sync *y, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(y->k->p, s);
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    return (r.loop_kind == IR_SERIAL || r.loop_kind == IR_UNROLLED) &&
           !sync_varies(y, r.lo) && !sync_varies(y, r.extent);
  case IR_IF: return !sync_varies(y, r.cond);
  case IR_LET:
  case IR_ALLOCATE: return true;
  default: return false;
  }
}

/* ---- sinking guards ----------------------------------------------------- */

/* `if c: { a; b }` becomes `if c: a; if c: b`, and `if c: for i: a` becomes
 * `for i: if c: a`; false: it cannot. */
static bool sink_guard(sync *y, ir_stmt s) {
  ir_program *p = y->k->p;
  const ir_stmt_rec r = *ir_st(p, s);
  if (r.kind != IR_IF || r.alt || ir_at(p, r.cond)->has_load) return false;
  if (!ir_st(p, r.body)->next) {
    const ir_stmt_rec c = *ir_st(p, r.body);
    bool loads = c.kind == IR_LOOP &&
                 (ir_at(p, c.lo)->has_load || ir_at(p, c.extent)->has_load);
    if ((c.kind != IR_LOOP && c.kind != IR_ALLOCATE) || loads) return false;
    ir_stmt cond = ir_if_new(p, r.cond);
    ir_move_body(p, r.body, cond);
    ir_append(p, r.body, cond);
  } else {
    for (ir_stmt c = r.body, next; c; c = next) {
      next = ir_st(p, c)->next;
      ir_wrap(p, c, ir_if_new(p, r.cond));
    }
  }
  lower_splice(p, s);
  return true;
}

/* ---- the walk ----------------------------------------------------------- */

static pending *copy_pending(const sync *y, const pending *w) {
  pending *v = arena_array(y->k->scratch, pending, y->n + 1);
  if (y->n) memcpy(v, w, y->n * sizeof *v);
  return v;
}

/* Loop a encloses b, or b is none. */
static bool is_outer(const sync *y, ir_stmt a, ir_stmt b) {
  return !b || (a && a != b && ir_is_ancestor(y->k->p, a, b));
}

static bool join_pending(const sync *y, pending *into, const pending *w) {
  bool changed = false;
  for (uint32_t i = 0; i < y->n; i++) {
    bool same = w[i].loop == into[i].loop;
    if (!w[i].is ||
        (into[i].is && (same ? w[i].far <= into[i].far
                             : !is_outer(y, w[i].loop, into[i].loop))))
      continue;
    into[i] = w[i];
    changed = true;
  }
  return changed;
}

static void add_pending(const sync *y, pending *w, ir_stmt s, bool below) {
  for (uint32_t i = 0; i < y->n; i++)
    if ((below ? is_in(y, i, s) : y->m[i].a.at == s) && !w[i].is)
      w[i] = (pending){.is = true};
}

static bool walk_list(sync *y, ir_stmt first, pending *w);

/* The fixed point over the loop's iterations, and what is pending after it. */
static bool walk_loop(sync *y, ir_stmt s, pending *w) {
  const ir_program *p = y->k->p;
  pending *in = copy_pending(y, w), *out = in;
  bool once = ir_is_const(p, ir_st(p, s)->extent, 1);
  for (bool more = true; more;) {
    out = copy_pending(y, in);
    if (!walk_list(y, ir_st(p, s)->body, out)) return false;
    if (once) break;
    pending *carried = copy_pending(y, out);
    for (uint32_t i = 0; i < y->n; i++)
      if (carried[i].is && is_in(y, i, s)) {
        bool again = carried[i].loop == s;
        if (!again && !is_outer(y, s, carried[i].loop)) continue;
        carried[i] = (pending){true, again || carried[i].loop, s};
      }
    more = join_pending(y, in, carried);
  }
  for (uint32_t i = 0; i < y->n; i++)
    if (out[i].loop == s || is_outer(y, s, out[i].loop))
      out[i] = (pending){out[i].is, false, 0};
  if (ir_at(p, ir_st(p, s)->extent)->lo >= 1)
    memcpy(w, out, y->n * sizeof *w);
  else
    join_pending(y, w, out);
  return true;
}

static bool walk_if(sync *y, ir_stmt s, pending *w) {
  const ir_program *p = y->k->p;
  pending *no = copy_pending(y, w);
  if (!walk_list(y, ir_st(p, s)->body, w) ||
      !walk_list(y, ir_st(p, s)->alt, no))
    return false;
  join_pending(y, w, no);
  return true;
}

static bool walk_common(sync *y, ir_stmt s, pending *w) {
  const ir_program *p = y->k->p;
  add_pending(y, w, s, false);
  switch ((ir_kind)ir_st(p, s)->kind) {
  case IR_LOOP: return walk_loop(y, s, w);
  case IR_IF: return walk_if(y, s, w);
  default: return walk_list(y, ir_st(p, s)->body, w);
  }
}

static bool is_wait(const ir_program *p, ir_stmt s) {
  return lower_of_copies(p, s) &&
         ir_at(p, ir_st(p, s)->eval)->a == IR_FN_ASYNC_WAIT;
}

static bool refuse_divergent(sync *y, const sync_access *m) {
  const ir_program *p = y->k->p;
  err_set(y->k->e, TESS_UNSUPPORTED,
          "accesses of different threads to %s conflict in divergent "
          "control flow, where no barrier can separate them",
          ir_text(p, p->buf.v[m->a.buf].name));
  return false;
}

static bool walk_list(sync *y, ir_stmt first, pending *w) {
  ir_program *p = y->k->p;
  for (ir_stmt s = first; s;) {
    if (ir_st(p, s)->kind == IR_BARRIER) {
      if (ir_st(p, s)->thread != IR_SCOPE_WARP) memset(w, 0, y->n * sizeof *w);
      s = ir_st(p, s)->next;
      continue;
    }
    bool common = is_common(y, s);
    const sync_access *m = common ? NULL : find_conflict_inside(y, s);
    if (m) {
      ir_stmt up = ir_st(p, s)->parent, prev = ir_st(p, s)->prev;
      bool alt = ir_st(p, s)->in_alt;
      if (!sink_guard(y, s)) return refuse_divergent(y, m);
      s = prev  ? ir_st(p, prev)->next
          : alt ? ir_st(p, up)->alt
                : ir_st(p, up)->body;
      continue;
    }
    /* Other threads see what was waited for after a barrier. */
    if (ir_st(p, s)->kind == IR_EVALUATE && is_wait(p, s)) {
      ir_stmt next = ir_st(p, s)->next;
      if (!next || ir_st(p, next)->kind != IR_BARRIER)
        ir_insert_after(p, s, ir_barrier_new(p, IR_SCOPE_SHARED));
      s = ir_st(p, s)->next;
      continue;
    }
    if (needs_barrier(y, w, s)) {
      ir_insert_before(p, s, ir_barrier_new(p, barrier_scope(y, w)));
      memset(w, 0, y->n * sizeof *w);
    }
    if (!common)
      add_pending(y, w, s, true);
    else if (!walk_common(y, s, w))
      return false;
    s = ir_st(p, s)->next;
  }
  return true;
}

static void find_variables(sync *y, ir_stmt body) {
  const kernel *k = y->k;
  const ir_program *p = k->p;
  y->varies = arena_zalloc(k->scratch, p->var.n * sizeof *y->varies);
  y->binder = arena_zalloc(k->scratch, p->var.n * sizeof *y->binder);
  for (unsigned a = 0; a < 3; a++)
    if (k->extent[IR_THREADIDX_X + a] > 1)
      y->varies[k->index[IR_THREADIDX_X + a]] = true;
  for (ir_stmt s = body; s; s = ir_next(p, s, body)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP) y->binder[r->var] = s;
    if (r->kind != IR_LET) continue;
    y->binder[r->let_var] = s;
    y->varies[r->let_var] = sync_varies(y, r->let_value);
  }
}

tess_status kernel_sync(kernel *k, ir_stmt body) {
  sync y = {.k = k};
  find_sync_accesses(&y, body);
  find_variables(&y, body);
  pending *w = arena_zalloc(k->scratch, (y.n + 1) * sizeof *w);
  return walk_list(&y, ir_st(k->p, body)->body, w) ? TESS_OK : k->e->code;
}
