/* SPDX-License-Identifier: Apache-2.0
 * Resource usage of a GPU kernel: thread extents, footprints of shared and
 * private buffers in their lifetime scopes, versions in software pipelines. */
#include "schedule/analysis/gpu.h"
#include "ir/analysis/analysis.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"

enum { MAX_DIMS = 32, MAX_ENTRIES = 64 };

typedef struct usage {
  sch_state *s;
  ir_program *p;
  ir_stmt kernel;
  sch_kernel_use *out;
} usage;

static bool is_of_axes(const ir_stmt_rec *r, ir_thread first, ir_thread last) {
  return ir_is_thread_loop(r) && r->thread >= first && r->thread <= last;
}

static bool is_thread_idx(const ir_program *p, ir_stmt st) {
  return is_of_axes(ir_st(p, st), IR_THREADIDX_X, IR_THREADIDX_Z);
}

bool sch_threads_share(ir_scope scope, const ir_stmt_rec *loop) {
  if (ir_scope_is_global(scope) || scope == IR_SCOPE_LOCAL) return false;
  return ir_scope_is_shared(scope)
             ? is_of_axes(loop, IR_THREADIDX_X, IR_THREADIDX_Z) ||
                   is_of_axes(loop, IR_VTHREAD_X, IR_VTHREAD_Z)
             : is_of_axes(loop, IR_THREADIDX_X, IR_THREADIDX_X);
}

static int64_t gpu_times(int64_t a, int64_t b) {
  int64_t n;
  return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

static int64_t gpu_plus(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* ---- the footprint of a buffer ------------------------------------------ */

typedef struct box {
  uint32_t n;
  ir_expr min[MAX_DIMS], max[MAX_DIMS];
  bool any, whole;
} box;

static void extend_box(usage *u, box *b, ir_stmt block, ir_region r,
                       ir_stmt top) {
  ir_program *p = u->p;
  ir_expr min[MAX_DIMS], max[MAX_DIMS];
  if (b->whole ||
      !ir_may_access_box(p, u->s->scratch, block, r, top, min, max)) {
    b->whole = true;
    return;
  }
  for (uint32_t d = 0; d < b->n; d++) {
    b->min[d] = b->any ? ir_binary(p, IR_MIN, b->min[d], min[d]) : min[d];
    b->max[d] = b->any ? ir_binary(p, IR_MAX, b->max[d], max[d]) : max[d];
  }
  b->any = true;
}

/* All accesses of the buffer by child blocks of `scope` below `top`. */
static void find_box(usage *u, ir_stmt scope, ir_stmt top, ir_buf buf, box *b) {
  const ir_program *p = u->p;
  *b = (box){.n = ir_ndim(p, buf)};
  if (b->n > MAX_DIMS) b->whole = true;
  for (ir_stmt c = scope; (c = sch_next_child(p, c, scope));) {
    if (top != scope && !ir_is_ancestor(p, top, c)) continue;
    ir_span part[2] = {ir_blk(p, c)->reads, ir_blk(p, c)->writes};
    for (int k = 0; k < 2; k++)
      for (uint32_t i = part[k].at; i < part[k].at + part[k].n; i++)
        if (p->region.v[i].buf == buf) extend_box(u, b, c, p->region.v[i], top);
  }
}

/* The extents of the box, no larger than the buffer's. */
static bool box_extents(usage *u, ir_buf buf, const box *b, int64_t *extent) {
  ir_program *p = u->p;
  for (uint32_t d = 0; d < ir_ndim(p, buf); d++) {
    extent[d] = INT64_MAX;
    ir_const_int(p, ir_dim(p, buf, d), &extent[d]);
    if (!b->whole && b->any) {
      int64_t span = ir_at(p, ir_sub(p, b->max[d], b->min[d]))->hi;
      if (span >= 0 && span < extent[d]) extent[d] = span + 1;
    }
    if (extent[d] == INT64_MAX) return false;
  }
  return true;
}

/* What storage_align asks of dimension d: the least stride from `step`. */
static int64_t aligned_step(const ir_program *p, ir_buf buf, uint32_t d,
                            int64_t step) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt st = root; st; st = ir_next(p, st, root)) {
    const ir_anno *a = ir_is_block(p, st) && ir_st(p, st)->anno
                           ? ir_anno_get(p, st, "buffer_dim_align")
                           : NULL;
    if (!a || p->value.v[a->val].tag != IR_VAL_LIST) continue;
    ir_value all = p->value.v[a->val];
    ir_span w = ir_blk(p, st)->writes;
    for (uint32_t i = 0; i < all.n; i++) {
      ir_value e = p->value.v[p->arg.v[all.at + i]];
      int64_t v[4];
      if (e.tag != IR_VAL_LIST || e.n != 4) continue;
      for (uint32_t k = 0; k < 4; k++) v[k] = p->value.v[p->arg.v[e.at + k]].i;
      if (v[0] < 0 || v[0] >= w.n || v[1] != d || v[2] < 1 ||
          p->region.v[w.at + (uint32_t)v[0]].buf != buf)
        continue;
      int64_t more = (v[3] - step % v[2]) % v[2];
      step += more < 0 ? more + v[2] : more;
    }
  }
  return step;
}

/* Bytes of the part of the buffer that lives in `top`. */
static int64_t footprint_bytes(usage *u, ir_stmt scope, ir_stmt top,
                               ir_buf buf) {
  ir_program *p = u->p;
  box b;
  int64_t extent[MAX_DIMS], step = 1;
  ir_mark mark = ir_get_mark(p);
  if (ir_ndim(p, buf) > MAX_DIMS) return INT64_MAX;
  find_box(u, scope, top, buf, &b);
  bool fixed = box_extents(u, buf, &b, extent);
  ir_rollback(p, mark);
  if (!fixed) return INT64_MAX;
  for (uint32_t d = ir_ndim(p, buf); d-- > 0;)
    step = gpu_times(aligned_step(p, buf, d, step), extent[d]);
  return gpu_times(step, (int64_t)ir_dtype_bytes(p->buf.v[buf].dtype));
}

/* ---- pipelines ---------------------------------------------------------- */

/* A statement of a pipelined loop once inner pipelines and staged copies are
 * expanded. */
typedef struct entries {
  uint32_t n;
  int64_t stage[MAX_ENTRIES], order[MAX_ENTRIES];
} entries;

static uint32_t int_list(const ir_program *p, ir_stmt st, const char *key,
                         int64_t *out) {
  const ir_anno *a = ir_st(p, st)->anno ? ir_anno_get(p, st, key) : NULL;
  if (!a || p->value.v[a->val].tag != IR_VAL_LIST) return 0;
  ir_value v = p->value.v[a->val];
  if (v.n > MAX_ENTRIES) return 0;
  for (uint32_t i = 0; i < v.n; i++) out[i] = p->value.v[p->arg.v[v.at + i]].i;
  return v.n;
}

static bool read_entries(const ir_program *p, ir_stmt loop, entries *e) {
  e->n = int_list(p, loop, "software_pipeline_stage", e->stage);
  return e->n && int_list(p, loop, "software_pipeline_order", e->order) == e->n;
}

static bool uses_buffer(const ir_program *p, ir_stmt top, ir_buf buf) {
  for (ir_stmt st = top; st; st = ir_next(p, st, top))
    if (ir_is_block(p, st) &&
        (sch_reads_buf(p, st, buf) || sch_writes_buf(p, st, buf)))
      return true;
  return false;
}

/* The block that is all of the nest; 0: there are several. */
static ir_stmt only_block(const ir_program *p, ir_stmt top) {
  while (top && ir_is_loop(p, top)) top = sch_only_child(p, top);
  return top && ir_is_block(p, top) ? top : 0;
}

/* How many entries a statement becomes. */
static uint32_t entry_count(const ir_program *p, ir_stmt st) {
  int64_t staged;
  entries inner;
  ir_stmt block = only_block(p, st);
  if (ir_is_loop(p, st) && read_entries(p, st, &inner)) return 3;
  return block && sch_anno_int(p, block, "local_stage", &staged) && staged ? 2
                                                                           : 1;
}

/* Which of a statement's entries access the buffer: bit i, the i-th. */
static unsigned entries_using(const ir_program *p, ir_stmt st, ir_buf buf) {
  uint32_t n = entry_count(p, st), i = 0;
  entries inner;
  unsigned bits = 0;
  if (!uses_buffer(p, st, buf)) return 0;
  if (n == 1) return 1;
  if (n == 2) return sch_writes_buf(p, only_block(p, st), buf) ? 2 : 1;
  read_entries(p, st, &inner);
  int64_t last = 0;
  for (uint32_t k = 0; k < inner.n; k++)
    if (inner.stage[k] > last) last = inner.stage[k];
  for (ir_stmt c = ir_st(p, st)->body; c; c = ir_st(p, c)->next) {
    bool used = uses_buffer(p, c, buf);
    for (uint32_t k = entry_count(p, c); k-- > 0 && i < inner.n; i++) {
      if (!used) continue;
      bits |= 2;                            /* the steady state */
      if (inner.stage[i] < last) bits |= 1; /* the prologue */
      if (inner.stage[i] > 0) bits |= 4;    /* the epilogue */
    }
  }
  return bits ? bits : 7;
}

/* Versions of a buffer that each iteration of the pipelined loop has. */
static int64_t pipeline_versions(const ir_program *p, ir_stmt loop, ir_buf buf,
                                 bool *pipelined) {
  entries e;
  uint32_t at = 0;
  bool any = false;
  uint32_t first = 0, last = 0;
  *pipelined = read_entries(p, loop, &e);
  if (!*pipelined) return 1;
  for (ir_stmt c = ir_st(p, loop)->body; c; c = ir_st(p, c)->next) {
    uint32_t n = entry_count(p, c);
    unsigned bits = entries_using(p, c, buf);
    for (uint32_t k = 0; k < n && at < e.n; k++, at++) {
      if (!(bits >> k & 1)) continue;
      int64_t f = e.stage[at] - e.stage[first], l = e.stage[at] - e.stage[last];
      if (!any || f < 0 || (f == 0 && e.order[at] < e.order[first])) first = at;
      if (!any || l > 0 || (l == 0 && e.order[at] > e.order[last])) last = at;
      any = true;
    }
  }
  if (!any || first == last) return 1;
  int64_t n = e.stage[last] - e.stage[first] + (e.order[first] < e.order[last]);
  return n > 1 ? n : 1;
}

static bool is_doubled(const ir_program *p, ir_stmt scope, ir_buf buf) {
  for (ir_stmt c = scope; (c = sch_next_child(p, c, scope));) {
    int64_t i;
    ir_span w = ir_blk(p, c)->writes;
    if (sch_anno_int(p, c, "double_buffer_scope", &i) && i >= 0 && i < w.n &&
        p->region.v[w.at + (uint32_t)i].buf == buf)
      return true;
  }
  return false;
}

/* As many as the pipelined loop asks for in shared memory or an accelerator's,
 * 1 where it does not. */
static int64_t versions_wanted(const ir_program *p, ir_stmt loop, ir_buf buf) {
  int64_t n;
  uint32_t scope = p->buf.v[buf].scope;
  return (ir_scope_is_shared(scope) || sch_is_on_chip(scope)) &&
                 sch_anno_int(p, loop, "software_pipeline_versions", &n)
             ? n
             : 1;
}

static int64_t versions_of(const ir_program *p, ir_stmt scope, ir_stmt lives,
                           ir_buf buf) {
  bool pipelined = false;
  if (!ir_is_loop(p, lives)) return 1;
  int64_t n = pipeline_versions(p, lives, buf, &pipelined);
  if (n < 2 && is_doubled(p, scope, buf)) n = 2;
  int64_t wanted = pipelined ? versions_wanted(p, lives, buf) : 1;
  return n < wanted ? wanted : n;
}

/* ---- a buffer ----------------------------------------------------------- */

/* Does what the buffer holds depend on the thread, directly or by a buffer that
 * does? */
static bool varies_by(const ir_program *p, ir_stmt scope, ir_buf buf,
                      ir_stmt loop, unsigned depth) {
  ir_var v = ir_st(p, loop)->var;
  for (ir_stmt c = scope; (c = sch_next_child(p, c, scope));) {
    if (!ir_is_ancestor(p, loop, c) || !sch_writes_buf(p, c, buf)) continue;
    ir_span it = ir_blk(p, c)->iters, r = ir_blk(p, c)->reads;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (ir_uses_var(p, p->iter.v[i].bind, v)) return true;
    for (uint32_t i = r.at; depth && i < r.at + r.n; i++) {
      ir_buf from = p->region.v[i].buf;
      if (from != buf && p->buf.v[from].role == IR_ROLE_LOCAL &&
          varies_by(p, scope, from, loop, depth - 1))
        return true;
    }
  }
  return false;
}

/* How many of the threads of these axes, around `lives` inside the kernel, have
 * copies of their own. */
static int64_t copies_of(const usage *u, ir_stmt scope, ir_stmt lives,
                         ir_buf buf, ir_thread first, ir_thread last) {
  enum { DEPTH = 4 };
  int64_t n = 1, extent;
  for (ir_stmt st = lives; st;
       st = st == u->kernel ? 0 : ir_st(u->p, st)->parent) {
    const ir_stmt_rec *r = ir_st(u->p, st);
    if (is_of_axes(r, first, last) && ir_const_int(u->p, r->extent, &extent) &&
        varies_by(u->p, scope, buf, st, DEPTH))
      n = gpu_times(n, extent);
  }
  return n;
}

/* The innermost thread loop around all accesses of the buffer, or `lives`. */
static ir_stmt thread_scope(usage *u, ir_stmt scope, ir_stmt lives, ir_buf b) {
  const ir_program *p = u->p;
  ir_stmt common = 0;
  for (ir_stmt c = scope; (c = sch_next_child(p, c, scope));)
    if (sch_reads_buf(p, c, b) || sch_writes_buf(p, c, b))
      common = common ? sch_common(p, common, c) : c;
  for (; common && common != lives && common != scope;
       common = ir_st(p, common)->parent)
    if (is_thread_idx(p, common)) return common;
  return lives;
}

static void use_buffer(usage *u, ir_stmt scope, ir_buf b) {
  ir_program *p = u->p;
  uint32_t kind = p->buf.v[b].scope;
  ir_stmt lives = ir_lifetime_scope(p, u->s->scratch, b);
  if (!lives || ir_scope_is_global(kind)) return;
  bool inside = ir_is_ancestor(p, u->kernel, lives);
  if (!inside) return; /* allocated around a kernel: global memory */
  int64_t own =
      ir_scope_is_shared(kind)
          ? copies_of(u, scope, lives, b, IR_THREADIDX_X, IR_THREADIDX_Z)
          : 1;
  int64_t turns = copies_of(u, scope, lives, b, IR_VTHREAD_X, IR_VTHREAD_Z);
  /* Lowering makes what each thread has for itself private. */
  if (ir_scope_is_shared(kind) && own < u->out->threads) {
    int64_t bytes = footprint_bytes(u, scope, lives, b);
    bytes = gpu_times(bytes, versions_of(p, scope, lives, b));
    bytes = gpu_times(bytes, gpu_times(own, turns));
    u->out->shared = gpu_plus(u->out->shared, bytes);
    return;
  }
  int64_t bytes =
      footprint_bytes(u, scope, thread_scope(u, scope, lives, b), b);
  bytes = gpu_times(bytes, versions_of(p, scope, lives, b));
  bytes = gpu_times(bytes, turns);
  if (ir_scope_is_fragment(kind)) bytes = bytes / IR_WARP_LANES;
  u->out->registers = gpu_plus(u->out->registers, bytes / 4 + (bytes % 4 != 0));
}

/* ---- reductions over threads -------------------------------------------- */

static bool reduces_over(sch_state *s, ir_stmt block, ir_stmt loop) {
  uint8_t *drives = arena_zalloc(s->scratch, s->p->var.n + 1);
  sch_mark_drivers(s, block, drives);
  return drives[ir_st(s->p, loop)->var] & 1u << IR_REDUCE;
}

/* Partial results, an element for each thread and result. */
static void use_reduction(usage *u, ir_stmt block) {
  ir_program *p = u->p;
  ir_stmt top = 0;
  int64_t threads = 1, n;
  if (!sch_has_init(p, block)) return;
  ir_stmt scope = ir_scope_of(p, block);
  for (ir_stmt l = ir_st(p, block)->parent; l && l != scope;
       l = ir_st(p, l)->parent) {
    if (!ir_is_loop(p, l)) continue;
    bool reduce = reduces_over(u->s, block, l);
    if (reduce) top = l;
    if (is_thread_idx(p, l) && ir_const_int(p, ir_st(p, l)->extent, &n) &&
        (reduce || top))
      threads = gpu_times(threads, n);
  }
  bool shared = false;
  for (ir_stmt l = ir_st(p, block)->parent; top && l != ir_st(p, top)->parent;
       l = ir_st(p, l)->parent)
    shared |= is_thread_idx(p, l) && reduces_over(u->s, block, l);
  if (!shared) return;
  ir_span w = ir_blk(p, block)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_buf b = p->region.v[i].buf;
    box all = {.n = ir_ndim(p, b)};
    int64_t extent[MAX_DIMS], count = 1;
    ir_mark mark = ir_get_mark(p);
    if (all.n > MAX_DIMS) continue;
    extend_box(u, &all, block, p->region.v[i], ir_st(p, top)->parent);
    bool fixed = box_extents(u, b, &all, extent);
    ir_rollback(p, mark);
    for (uint32_t d = 0; fixed && d < all.n; d++)
      count = gpu_times(count, extent[d]);
    count = gpu_times(count, (int64_t)ir_dtype_bytes(p->buf.v[b].dtype));
    u->out->shared =
        gpu_plus(u->out->shared, fixed ? gpu_times(count, threads) : INT64_MAX);
  }
}

/* ---- copies out of fragments -------------------------------------------- */

static void note_fragment(const ir_program *p, ir_expr e, void *found) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD && ir_scope_is_fragment(p->buf.v[n->a].scope))
    *(ir_buf *)found = n->a;
}

/* What is computed of a fragment, or guarded, on the way out goes through
 * shared memory, a buffer of the copied box for each warp. */
static void use_way_out(usage *u, ir_stmt block) {
  ir_program *p = u->p;
  int64_t count = 1, n, unused;
  if (!sch_anno_int(p, block, "auto_copy", &unused)) return;
  for (ir_stmt st = block; (st = ir_next(p, st, block));) {
    const ir_stmt_rec r = *ir_st(p, st);
    ir_buf fragment = 0;
    if (r.kind == IR_LOOP && ir_const_int(p, r.extent, &n))
      count = gpu_times(count, n);
    bool plain = r.kind == IR_STORE && ir_at(p, r.value)->op == IR_LOAD &&
                 ir_st(p, r.parent)->kind != IR_IF;
    if (r.kind != IR_STORE || plain) continue;
    ir_visit(p, u->s->scratch, r.value, note_fragment, &fragment);
    if (!fragment) continue;
    for (ir_stmt up = block; up != u->kernel; up = ir_st(p, up)->parent)
      if (is_thread_idx(p, ir_st(p, up)->parent) &&
          ir_const_int(p, ir_st(p, ir_st(p, up)->parent)->extent, &n))
        count = gpu_times(count, n);
    size_t size = ir_dtype_bytes(p->buf.v[fragment].dtype);
    u->out->shared = gpu_plus(u->out->shared, gpu_times(count, (int64_t)size));
  }
}

/* ---- an accelerator ----------------------------------------------------- */

/* Bytes are loaded to accumulators as 32 bits. */
static int64_t chip_bytes(usage *u, ir_stmt scope, ir_stmt lives, ir_buf b) {
  const ir_buf_rec *x = &u->p->buf.v[b];
  int64_t bytes = footprint_bytes(u, scope, lives, b);
  if (x->scope == IR_SCOPE_DAE_ACC && x->dtype.bits == 8)
    bytes = gpu_times(bytes, 4);
  bytes = gpu_times(bytes, versions_of(u->p, scope, lives, b));
  return gpu_times(bytes,
                   copies_of(u, scope, lives, b, IR_VTHREAD_X, IR_VTHREAD_Z));
}

void sch_measure_chip(sch_state *s, ir_stmt nest, sch_chip_use *out) {
  ir_program *p = s->p;
  usage u = {.s = s, .p = p, .kernel = nest};
  ir_stmt root = ir_entry(p)->root;
  *out = (sch_chip_use){.inp = 0};
  for (ir_stmt st = root; st; st = ir_next(p, st, root)) {
    ir_span a = {0};
    if (ir_is_block(p, st)) a = ir_blk(p, st)->allocs;
    for (uint32_t i = 0; i < a.n; i++) {
      ir_buf b = p->arg.v[a.at + i];
      uint32_t kind = p->buf.v[b].scope;
      ir_stmt lives =
          sch_is_on_chip(kind) ? ir_lifetime_scope(p, s->scratch, b) : 0;
      if (!lives ||
          !(ir_is_ancestor(p, nest, lives) || ir_is_ancestor(p, lives, nest)))
        continue;
      int64_t *sum = kind == IR_SCOPE_DAE_INP   ? &out->inp
                     : kind == IR_SCOPE_DAE_WGT ? &out->wgt
                                                : &out->acc;
      *sum = gpu_plus(*sum, chip_bytes(&u, st, lives, b));
    }
  }
}

/* ---- the kernel --------------------------------------------------------- */

void sch_measure_kernel(sch_state *s, ir_stmt kernel, sch_kernel_use *out) {
  ir_program *p = s->p;
  usage u = {s, p, kernel, out};
  int64_t extent[IR_THREAD_COUNT];
  *out = (sch_kernel_use){.threads = 1, .vthreads = 1};
  sch_thread_extents(p, kernel, extent);
  for (int i = 0; i < 3; i++) {
    if (extent[IR_THREADIDX_X + i] > 1)
      out->threads = gpu_times(out->threads, extent[IR_THREADIDX_X + i]);
    if (extent[IR_VTHREAD_X + i] > 1)
      out->vthreads = gpu_times(out->vthreads, extent[IR_VTHREAD_X + i]);
  }
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt st = root; st; st = ir_next(p, st, root)) {
    if (!ir_is_block(p, st)) continue;
    ir_span a = ir_blk(p, st)->allocs;
    for (uint32_t i = 0; i < a.n; i++) use_buffer(&u, st, p->arg.v[a.at + i]);
    if (!ir_is_ancestor(p, kernel, st)) continue;
    use_reduction(&u, st);
    use_way_out(&u, st);
  }
}
