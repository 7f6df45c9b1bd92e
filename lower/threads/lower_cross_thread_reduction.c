/* SPDX-License-Identifier: Apache-2.0
 * Lowers cross-thread reductions (reduce loops bound to threadIdx): each thread
 * reduces its part to a partial result in shared memory, threads fold the
 * partial results until few are left, and one thread reduces these.
 *
 *     for t in threadIdx.x: for k: C[i] = C[i] + A[i, k, t]
 * becomes
 *     for t in threadIdx.x: P[t, i] = 0
 *     for t in threadIdx.x: for k: P[t, i] = P[t, i] + A[i, k, t]
 *     for t in threadIdx.x: if t < 8: P[t, i] = P[t, i] + .. + P[t + 56, i]
 *     for t in threadIdx.x: if t < 1: P[t, i] = P[t, i] + .. + P[t + 7, i]
 *     for t in 1: C[i] = C[i] + P[t, i]
 * Folding reorders, so a reducer that must not be has one thread for all.
 * A reducer of several values has partial results of each. */
#include "lower/threads/cross_thread.h"
#include "ir/edit.h"
#include "ir/query.h"

bool lower_cross_refuse(cross *x, const char *why) {
  err_set(x->e, TESS_UNSUPPORTED, "block %s, which reduces over threads: %s",
          ir_text(x->p, ir_blk(x->p, x->block)->name), why);
  return false;
}

/* ---- analysis ----------------------------------------------------------- */

bool lower_cross_drives(const ir_program *p, ir_stmt loop, ir_stmt block,
                        bool reduce) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if ((p->iter.v[i].kind == IR_REDUCE) == reduce &&
        ir_uses_var(p, p->iter.v[i].bind, ir_st(p, loop)->var))
      return true;
  return false;
}

bool lower_is_cross(const ir_program *p, ir_stmt loop, ir_stmt block) {
  const ir_stmt_rec *r = ir_st(p, loop);
  return ir_is_thread_loop(r) && r->thread >= IR_THREADIDX_X &&
         r->thread <= IR_THREADIDX_Z &&
         !ir_is_const(p, r->extent, 1) && /* else nothing is shared */
         lower_cross_drives(p, loop, block, true);
}

static bool needs_it(const ir_program *p, ir_stmt block) {
  for (ir_stmt s = ir_st(p, block)->parent; s && !ir_is_block(p, s);
       s = ir_st(p, s)->parent)
    if (lower_is_cross(p, s, block)) return true;
  return false;
}

static bool find_loops(cross *x) {
  const ir_program *p = x->p;
  uint32_t n = 0;
  for (ir_stmt s = ir_st(p, x->block)->parent; s != x->scope;
       s = ir_st(p, s)->parent, n++)
    if (!ir_is_loop(p, s) || n == MAX_LOOPS)
      return lower_cross_refuse(x, "statements other than loops enclose it");
  x->n = n;
  for (ir_stmt s = x->block; n;) x->loop[--n] = s = ir_st(p, s)->parent;
  x->first = x->n;
  for (uint32_t i = 0; i < x->n; i++) {
    bool reduces = lower_cross_drives(p, x->loop[i], x->block, true);
    x->role[i] = !reduces                                  ? SPATIAL
                 : lower_is_cross(p, x->loop[i], x->block) ? THREAD
                                                           : STEP;
    if (reduces && lower_cross_drives(p, x->loop[i], x->block, false))
      return lower_cross_refuse(x,
                                "a loop drives both reduce and spatial iters");
    if (reduces && x->first == x->n) x->first = i;
    const ir_stmt_rec *r = ir_st(p, x->loop[i]);
    if (x->role[i] == THREAD &&
        (ir_at(p, r->extent)->op != IR_INT || ir_at(p, r->lo)->op != IR_INT))
      return lower_cross_refuse(x, "the number of threads is not constant");
  }
  x->top = x->loop[x->first];
  return true;
}

/* Does e use a reduce iter? */
static bool is_reduced(const cross *x, ir_expr e) {
  const ir_program *p = x->p;
  ir_span it = ir_blk(p, x->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE && ir_uses_var(p, e, p->iter.v[i].var))
      return true;
  return false;
}

/* The region that the block writes of a buffer, one element at a time. */
static bool find_region(cross *x, ir_buf b, ir_region *out) {
  const ir_program *p = x->p;
  ir_span w = ir_blk(p, x->block)->writes;
  uint32_t found = 0;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (p->region.v[i].buf == b) *out = p->region.v[i], found++;
  if (found != 1)
    return lower_cross_refuse(x, "it does not write each value once");
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    if (!ir_is_const(p, ir_region_extent(p, *out, d), 1))
      return lower_cross_refuse(x, "it writes more than one element at a time");
    if (is_reduced(x, ir_region_min(p, *out, d)))
      return lower_cross_refuse(x, "the element that it writes depends on a "
                                   "reduce iter");
  }
  return ir_ndim(p, b) + x->n <= MAX_DIMS ||
         lower_cross_refuse(x, "its result has too many dimensions");
}

/* The values are stored in their order, each in a buffer of its own. */
static bool find_writes(cross *x) {
  const ir_program *p = x->p;
  const ir_block_rec *b = ir_blk(p, x->block);
  uint32_t n = b->reducer ? p->reducer.v[b->reducer].n : 0;
  if (!n || n > MAX_VALUES || b->writes.n != n)
    return lower_cross_refuse(x, "it has no reducer of all that it writes");
  ir_stmt s = ir_st(p, x->block)->body;
  for (; s && x->nvalue <= n; s = ir_next(p, s, x->block)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_STORE || r->in_alt) continue;
    if (x->nvalue == n)
      return lower_cross_refuse(x, "it does not write each value once");
    if (!find_region(x, r->buf, &x->write[x->nvalue++])) return false;
  }
  return x->nvalue == n ||
         lower_cross_refuse(x, "it does not write each value once");
}

static bool is_result(const cross *x, ir_buf b) {
  for (uint32_t k = 0; k < x->nvalue; k++)
    if (x->write[k].buf == b) return true;
  return false;
}

static bool loads_result(const cross *x, ir_expr e) {
  for (uint32_t k = 0; e && k < x->nvalue; k++)
    if (ir_has_load(x->p, e, x->write[k].buf)) return true;
  return false;
}

/* Does control flow in the statement depend on a result? */
static bool decides_by_result(const cross *x, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(x->p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return loads_result(x, r->lo) || loads_result(x, r->extent);
  case IR_IF:
    return !ir_is_ancestor(x->p, x->block, s) && loads_result(x, r->cond);
  case IR_BLOCK: return loads_result(x, ir_blk(x->p, s)->pred);
  default: return false;
  }
}

/* The results have no other readers or writers within the loops. */
static bool is_alone(cross *x) {
  const ir_program *p = x->p;
  for (ir_stmt s = x->top; s; s = ir_next(p, s, x->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LET && !ir_is_ancestor(p, x->block, s) &&
        loads_result(x, r->let_value))
      return lower_cross_refuse(x, "its result is accessed before the "
                                   "reduction is complete");
    if (decides_by_result(x, s))
      return lower_cross_refuse(
          x, "control flow depends on its result before the reduction is "
             "complete");
    if (!ir_is_block(p, s) || s == x->block) continue;
    ir_span part[2] = {ir_blk(p, s)->reads, ir_blk(p, s)->writes};
    for (int k = 0; k < 2; k++)
      for (uint32_t i = part[k].at; i < part[k].at + part[k].n; i++)
        if (is_result(x, p->region.v[i].buf))
          return lower_cross_refuse(x, "its result is accessed before the "
                                       "reduction is complete");
  }
  return true;
}

/* ---- partial results ---------------------------------------------------- */

static void make_part(cross *x, uint32_t k) {
  ir_program *p = x->p;
  ir_buf result = x->write[k].buf;
  ir_expr shape[MAX_DIMS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->role[i] == THREAD) shape[n++] = ir_st(p, x->loop[i])->extent;
  for (uint32_t d = 0; d < ir_ndim(p, result); d++)
    shape[n++] = ir_dim(p, result, d);
  const ir_buf_rec old = p->buf.v[result];
  ir_str name = ir_name_cat(p, old.name, "_parts");
  x->parts[k] =
      ir_buf_new(p, name, old.dtype, n, shape, IR_SCOPE_SHARED, IR_ROLE_LOCAL);
  ir_block_add_alloc(p, x->scope, x->parts[k]);
}

/* A copy of a loop, inside of *at; the variable in `sub` becomes its own. */
static void copy_loop(cross *x, uint32_t i, bool spread, ir_subst *sub,
                      ir_stmt *at) {
  ir_program *p = x->p;
  const ir_stmt_rec r = *ir_st(p, x->loop[i]);
  ir_expr lo = ir_subst_expr(sub, r.lo), extent = ir_subst_expr(sub, r.extent);
  const ir_var_rec was = p->var.v[r.var];
  ir_var v = ir_var_new(p, IR_VAR_LOOP, was.name, IR_INDEX, was.lo, was.hi);
  p->var.v[v].form = was.form;
  p->var.v[v].part = was.part;
  memcpy(p->var.v[v].from, was.from, sizeof was.from);
  if (!spread && x->left) extent = ir_index(p, x->left);
  ir_stmt s = ir_loop_new(p, v, lo, extent,
                          spread ? (ir_loop_kind)r.loop_kind : IR_SERIAL);
  ir_st(p, s)->thread = spread ? r.thread : 0;
  ir_append(p, *at, s);
  ir_subst_var(sub, r.var, ir_ref(p, v));
  ir_subst_restart(sub);
  *at = s;
}

/* An iter over a loop's iterations; its value in the loop is `bind`. */
static ir_iter iter_of(cross *x, ir_stmt loop, ir_iter_kind kind,
                       ir_expr bind) {
  ir_program *p = x->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  const ir_var_rec was = p->var.v[r.var];
  ir_var v =
      ir_var_new(p, IR_VAR_ITER, ir_name(p, "v"), IR_INDEX, was.lo, was.hi);
  return (ir_iter){v, kind, r.lo, r.extent, bind};
}

/* Where the threads' parts of an element are: the threads' places first. */
static ir_expr *part_index(cross *x, uint32_t nthread, const ir_iter *thread,
                           const ir_expr *idx, uint32_t ndim) {
  ir_program *p = x->p;
  ir_expr *out = arena_array(x->scratch, ir_expr, nthread + ndim + 1);
  for (uint32_t i = 0; i < nthread; i++)
    out[i] = ir_sub(p, ir_ref(p, thread[i].var), thread[i].lo);
  if (ndim) memcpy(out + nthread, idx, ndim * sizeof *out);
  return out;
}

/* A block beside the loops, over copies of the spatial loops and, bound to
 * threads or serial, of the thread loops. */
typedef struct beside {
  ir_stmt top, block;
  ir_subst iters; /* iters of the old block to its own */
  uint32_t nthread;
  ir_iter thread[MAX_LOOPS];
} beside;

static void make_beside(cross *x, bool spread, const char *suffix, ir_expr pred,
                        beside *b) {
  ir_program *p = x->p;
  ir_subst loops;
  ir_span old = ir_blk(p, x->block)->iters;
  ir_iter *it = arena_array(x->scratch, ir_iter, old.n + x->n + 1);
  uint32_t n = 0;
  ir_subst_init(&loops, p, x->scratch);
  ir_subst_init(&b->iters, p, x->scratch);
  ir_stmt at = b->top = ir_if_new(p, ir_bool(p, true));
  b->nthread = 0;
  for (uint32_t i = x->first; i < x->n; i++)
    if (x->role[i] != STEP)
      copy_loop(x, i, spread || x->role[i] == SPATIAL, &loops, &at);
  for (uint32_t i = 0; i < old.n; i++) {
    ir_iter k = p->iter.v[old.at + i];
    if (k.kind == IR_REDUCE) continue;
    const ir_var_rec was = p->var.v[k.var];
    ir_var v = ir_var_new(p, IR_VAR_ITER, was.name, IR_INDEX, was.lo, was.hi);
    ir_subst_var(&b->iters, k.var, ir_ref(p, v));
    k.var = v;
    k.lo = ir_subst_expr(&loops, k.lo);
    k.extent = ir_subst_expr(&loops, k.extent);
    k.bind = ir_subst_expr(&loops, k.bind);
    it[n++] = k;
  }
  for (uint32_t i = x->first; i < x->n; i++)
    if (x->role[i] == THREAD) {
      ir_expr bind =
          ir_subst_expr(&loops, ir_ref(p, ir_st(p, x->loop[i])->var));
      it[n] = iter_of(x, x->loop[i], spread ? IR_SPATIAL : IR_REDUCE, bind);
      if (!spread && x->left) it[n].extent = ir_index(p, x->left);
      b->thread[b->nthread++] = it[n++];
    }
  ir_str name = ir_name_cat(p, ir_blk(p, x->block)->name, suffix);
  b->block = ir_block_new(p, ir_fresh_block_name(p, name));
  ir_append(p, at, b->block);
  ir_block_set_iters(p, b->block, n, it);
  ir_blk(p, b->block)->pred = pred ? ir_subst_expr(&loops, pred) : 0;
}

/* Where result k is, over the iters of the block beside. */
static ir_expr *element_of(cross *x, beside *b, uint32_t k) {
  uint32_t ndim = ir_ndim(x->p, x->write[k].buf);
  ir_expr *out = arena_array(x->scratch, ir_expr, ndim + 1);
  for (uint32_t d = 0; d < ndim; d++)
    out[d] = ir_subst_expr(&b->iters, ir_region_min(x->p, x->write[k], d));
  return out;
}

/* Initializes the partial results with the identity. */
static ir_stmt make_start(cross *x, ir_expr pred) {
  ir_program *p = x->p;
  beside b;
  make_beside(x, true, "_start", pred, &b);
  for (uint32_t k = 0; k < x->nvalue; k++) {
    uint32_t ndim = ir_ndim(p, x->write[k].buf);
    ir_expr *idx =
        part_index(x, b.nthread, b.thread, element_of(x, &b, k), ndim);
    const ir_reducer *r = &p->reducer.v[ir_blk(p, x->block)->reducer];
    ir_expr identity = p->arg.v[r->identity.at + k];
    ir_append(p, b.block,
              ir_store_new(p, x->parts[k], b.nthread + ndim, idx, identity));
  }
  ir_block_find_regions(p, x->scratch, b.block);
  return b.top;
}

/* Of several values all are evaluated before the first store. */
static ir_stmt keep_values(cross *x, ir_stmt into, ir_expr *value) {
  ir_program *p = x->p;
  for (uint32_t k = 0; k < x->nvalue && x->nvalue > 1; k++) {
    const ir_node n = *ir_at(p, value[k]);
    ir_var v = ir_var_new(p, IR_VAR_LET, p->buf.v[x->parts[k]].name, n.dtype,
                          n.lo, n.hi);
    ir_stmt let = ir_let_new(p, v, value[k]);
    ir_append(p, into, let);
    value[k] = ir_ref(p, v);
    into = let;
  }
  return into;
}

/* result = combine(result, part). */
static void add_parts(cross *x, beside *b) {
  ir_program *p = x->p;
  ir_expr so_far[MAX_VALUES], part[MAX_VALUES], value[MAX_VALUES];
  for (uint32_t k = 0; k < x->nvalue; k++) {
    uint32_t ndim = ir_ndim(p, x->write[k].buf);
    ir_expr *at = element_of(x, b, k);
    ir_expr *idx = part_index(x, b->nthread, b->thread, at, ndim);
    part[k] = ir_load(p, x->parts[k], b->nthread + ndim, idx);
    so_far[k] = ir_load(p, x->write[k].buf, ndim, at);
  }
  ir_reducer_apply(p, x->scratch, ir_blk(p, x->block)->reducer, so_far, part,
                   value);
  ir_stmt into = keep_values(x, b->block, value);
  for (uint32_t k = 0; k < x->nvalue; k++)
    ir_append(p, into,
              ir_store_new(p, x->write[k].buf, ir_ndim(p, x->write[k].buf),
                           element_of(x, b, k), value[k]));
}

/* ---- folding ------------------------------------------------------------ */

/* How many parts one thread combines; 1: they are not folded any more. */
static int64_t choose_radix(const cross *x, int64_t parts) {
  int64_t most = x->nvalue > 1 ? 2 : 8; /* expressions stay small */
  for (int64_t r = most; r > 1; r--)
    if (parts % r == 0) return r;
  return 1;
}

/* parts[t] = combine(parts[t], parts[t + stride], ...) in the first `stride`
 * threads, of one statement: no barrier is needed within. */
static ir_stmt make_fold(cross *x, ir_expr pred, int64_t radix,
                         int64_t stride) {
  ir_program *p = x->p;
  beside b;
  ir_expr so_far[MAX_VALUES], part[MAX_VALUES], value[MAX_VALUES];
  ir_expr *idx[MAX_VALUES];
  make_beside(x, true, "_fold", pred, &b);
  ir_expr few = ir_binary(p, IR_LT, b.thread[0].bind, ir_index(p, stride));
  ir_block_rec *rec = ir_blk(p, b.block);
  rec->pred = rec->pred ? ir_binary(p, IR_AND, rec->pred, few) : few;
  for (uint32_t k = 0; k < x->nvalue; k++) {
    uint32_t ndim = ir_ndim(p, x->write[k].buf);
    idx[k] = part_index(x, 1, b.thread, element_of(x, &b, k), ndim);
    so_far[k] = ir_load(p, x->parts[k], 1 + ndim, idx[k]);
  }
  for (int64_t i = 1; i < radix; i++) {
    for (uint32_t k = 0; k < x->nvalue; k++) {
      ir_expr first = idx[k][0];
      idx[k][0] = ir_add(p, first, ir_index(p, i * stride));
      part[k] =
          ir_load(p, x->parts[k], 1 + ir_ndim(p, x->write[k].buf), idx[k]);
      idx[k][0] = first;
    }
    ir_reducer_apply(p, x->scratch, ir_blk(p, x->block)->reducer, so_far, part,
                     value);
    memcpy(so_far, value, x->nvalue * sizeof *value);
  }
  ir_stmt into = keep_values(x, b.block, so_far);
  for (uint32_t k = 0; k < x->nvalue; k++)
    ir_append(p, into,
              ir_store_new(p, x->parts[k], 1 + ir_ndim(p, x->write[k].buf),
                           idx[k], so_far[k]));
  ir_block_find_regions(p, x->scratch, b.block);
  return b.top;
}

/* Does every thread have a part of each result? */
static bool parts_are_whole(const cross *x, ir_expr pred, ir_var thread) {
  const ir_program *p = x->p;
  if (pred && ir_uses_var(p, pred, thread)) return false;
  for (uint32_t i = x->first; i < x->n; i++) {
    const ir_stmt_rec *r = ir_st(p, x->loop[i]);
    if (x->role[i] == SPATIAL &&
        (ir_uses_var(p, r->lo, thread) || ir_uses_var(p, r->extent, thread)))
      return false;
  }
  return true;
}

/* The number of the threads of a reduction that may be folded; 0: it may not.
 */
static int64_t count_parts(const cross *x, ir_expr pred) {
  const ir_program *p = x->p;
  int64_t lo = 0, extent = 0;
  uint32_t n = 0;
  if (p->reducer.v[ir_blk(p, x->block)->reducer].ordered != IR_ORDER_FREE)
    return 0;
  for (uint32_t i = 0; i < x->n; i++) {
    const ir_stmt_rec *r = ir_st(p, x->loop[i]);
    if (x->role[i] != THREAD) continue;
    if (!ir_const_int(p, r->lo, &lo) || !ir_const_int(p, r->extent, &extent) ||
        !parts_are_whole(x, pred, r->var))
      return 0;
    n++;
  }
  return n == 1 && lo == 0 ? extent : 0;
}

enum { MAX_FOLDS = 32 };

/* Makes the foldings, in their order; how many. */
static uint32_t fold_parts(cross *x, ir_expr pred, ir_stmt *fold) {
  uint32_t n = 0;
  for (int64_t parts = count_parts(x, pred); parts > 1 && n < MAX_FOLDS;) {
    int64_t radix = choose_radix(x, parts);
    if (radix == 1) break;
    parts /= radix;
    fold[n++] = make_fold(x, pred, radix, parts);
    x->left = parts;
  }
  return n;
}

/* Reduces the partial results into the result, with the block's init. */
static ir_stmt make_whole(cross *x, ir_expr pred) {
  ir_program *p = x->p;
  beside b;
  make_beside(x, false, "_whole", pred, &b);
  ir_blk(p, b.block)->reducer = ir_blk(p, x->block)->reducer;
  for (ir_stmt c = ir_st(p, x->block)->alt; c; c = ir_st(p, c)->next)
    ir_append_alt(p, b.block, ir_clone_stmt(&b.iters, c, NULL));
  add_parts(x, &b);
  ir_block_find_regions(p, x->scratch, b.block);
  return b.top;
}

/* ---- the block itself --------------------------------------------------- */

/* Its loops become its iters: threads spatial, the others reduce. */
static void use_loops(cross *x, uint32_t *nthread, ir_iter *thread) {
  ir_program *p = x->p;
  ir_span old = ir_blk(p, x->block)->iters;
  ir_iter *it = arena_array(x->scratch, ir_iter, old.n + x->n + 1);
  ir_subst loops, iters;
  uint32_t n = 0;
  ir_subst_init(&loops, p, x->scratch);
  ir_subst_init(&iters, p, x->scratch);
  *nthread = 0;
  for (uint32_t i = 0; i < old.n; i++)
    if (p->iter.v[old.at + i].kind != IR_REDUCE)
      it[n++] = p->iter.v[old.at + i];
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->role[i] == SPATIAL) continue;
    ir_var v = ir_st(p, x->loop[i])->var;
    bool spread = x->role[i] == THREAD;
    it[n] =
        iter_of(x, x->loop[i], spread ? IR_SPATIAL : IR_REDUCE, ir_ref(p, v));
    ir_subst_var(&loops, v, ir_ref(p, it[n].var));
    if (spread) thread[(*nthread)++] = it[n];
    n++;
  }
  for (uint32_t i = 0; i < old.n; i++) {
    ir_iter k = p->iter.v[old.at + i];
    if (k.kind == IR_REDUCE)
      ir_subst_var(&iters, k.var, ir_subst_expr(&loops, k.bind));
  }
  while (ir_st(p, x->block)->alt) ir_kill(p, ir_st(p, x->block)->alt);
  for (ir_stmt s = ir_next(p, x->block, x->block); s;
       s = ir_next(p, s, x->block))
    ir_subst_head(&iters, s, true);
  ir_block_set_iters(p, x->block, n, it);
}

static bool split_reduction(cross *x) {
  ir_program *p = x->p;
  ir_iter thread[MAX_LOOPS];
  uint32_t nthread;
  if (!lower_cross_find(x)) return false;
  ir_expr pred = x->some;
  for (uint32_t k = 0; k < x->nvalue; k++) make_part(x, k);
  ir_stmt start = make_start(x, pred), fold[MAX_FOLDS];
  uint32_t nfold = fold_parts(x, pred, fold);
  ir_stmt whole = make_whole(x, pred);
  use_loops(x, &nthread, thread);
  ir_expr *which = part_index(x, nthread, thread, NULL, 0);
  for (ir_stmt c = ir_st(p, x->block)->body, next; c; c = next) {
    next = ir_st(p, c)->next;
    for (uint32_t k = 0; k < x->nvalue; k++)
      lower_choose(p, x->scratch, c, x->write[k].buf, x->parts[k], nthread,
                   which);
  }
  ir_block_find_regions(p, x->scratch, x->block);
  ir_insert_before(p, x->top, start);
  ir_insert_after(p, x->top, whole);
  for (uint32_t i = nfold; i-- > 0;) ir_insert_after(p, x->top, fold[i]);
  lower_splice(p, start);
  for (uint32_t i = 0; i < nfold; i++) lower_splice(p, fold[i]);
  lower_splice(p, whole);
  return true;
}

LOWER_PASS(lower_cross_thread_reduction) {
  (void)o;
  LOWER_EACH(p, s) {
    if (!ir_is_block(p, s) || !ir_st(p, s)->parent || !needs_it(p, s)) continue;
    cross x = {.p = p,
               .scratch = scratch,
               .e = e,
               .block = s,
               .scope = ir_scope_of(p, s)};
    if (!find_loops(&x) || !find_writes(&x) || !is_alone(&x) ||
        !split_reduction(&x))
      return e->code;
  }
  return TESS_OK;
}
