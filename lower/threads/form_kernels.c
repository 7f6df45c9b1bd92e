/* SPDX-License-Identifier: Apache-2.0
 * Forms kernels from outermost thread loops: one loop for each axis, all around
 * the code of a thread; shared buffers allocated outside of the threadIdx
 * loops; barriers where accesses of threads conflict.  Statements for fewer
 * threads than there are get guards. */
#include "lower/threads/kernel.h"
#include "ir/edit.h"
#include "ir/query.h"

static bool unsupported(kernel *k, const char *what, const char *name) {
  err_set(k->e, TESS_UNSUPPORTED, what, name);
  return false;
}

static const char *buf_name(const kernel *k, ir_buf b) {
  return ir_text(k->p, k->p->buf.v[b].name);
}

/* ---- the threads -------------------------------------------------------- */

static void make_indices(kernel *k) {
  static const char *const name[] = {"bx", "by", "bz", "tx", "ty", "tz"};
  for (unsigned t = 0; t <= IR_THREADIDX_Z; t++) {
    int64_t first = 0, last = k->extent[t] - 1;
    if (!k->extent[t]) continue;
    if (kernel_is_grid(t))
      ir_domain_bounds(k->p, ir_index(k->p, 0), k->grid[t], &first, &last);
    k->index[t] = ir_var_new(k->p, IR_VAR_LOOP, ir_name(k->p, name[t]),
                             IR_INDEX, 0, last);
  }
}

/* Records the innermost spread loop around each statement, before these loops
 * are removed. */
static void note_loops(kernel *k) {
  const ir_program *p = k->p;
  k->within = arena_zalloc(k->scratch, p->stmt.n * sizeof *k->within);
  k->axis = arena_zalloc(k->scratch, p->stmt.n * sizeof *k->axis);
  k->count = arena_zalloc(k->scratch, p->stmt.n * sizeof *k->count);
  k->nwithin = p->stmt.n;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    ir_stmt up = s == k->top ? 0 : ir_st(p, s)->parent;
    if (!up) continue;
    bool spread = ir_is_thread_loop(ir_st(p, up)) && k->spread[up];
    k->within[s] = spread ? up : k->within[up];
    if (!spread) continue;
    k->axis[up] = kernel_axis(ir_st(p, up));
    ir_const_int(p, ir_st(p, up)->extent, &k->count[up]);
  }
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (k->buf[b].alloc) k->buf[b].within = k->within[k->buf[b].alloc];
}

/* ---- one thread's places ------------------------------------------------ */

/* Substitutes thread indices for variables of spread loops; other thread loops
 * become serial. */
static void substitute_thread_indices(kernel *k) {
  ir_program *p = k->p;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec r = *ir_st(p, s);
    if (!ir_is_thread_loop(&r) || kernel_is_warp(&r)) continue;
    if (!k->spread[s]) {
      ir_st(p, s)->loop_kind = IR_SERIAL;
      ir_st(p, s)->thread = 0;
      continue;
    }
    ir_subst sub;
    ir_subst_init(&sub, p, k->scratch);
    ir_subst_var(&sub, r.var, ir_add(p, r.lo, ir_ref(p, k->index[r.thread])));
    for (ir_stmt t = ir_next(p, s, s); t; t = ir_next(p, t, s))
      ir_subst_head(&sub, t, true);
  }
  k->access = lower_find_accesses(p, k->scratch, k->top);
}

/* ---- private or shared -------------------------------------------------- */

/* Axes whose threads share the buffer. */
static kernel_axes sharing_axes(const kernel_buf *x) {
  return (kernel_axes)(x->merged | (x->under & ~x->around));
}

static bool is_owned(const kernel *k, ir_buf b, kernel_axes axes) {
  const lower_access **v =
      arena_array(k->scratch, const lower_access *, k->access.n + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->access.n; i++)
    if (k->access.v[i].buf == b) v[n++] = &k->access.v[i];
  return !(axes & ~kernel_owned(k, n, v, 0));
}

/* A buffer that threads share stays private where each thread may access only
 * elements of its own. */
static bool decide_privacy(kernel *k) {
  for (ir_buf b = 1; b < k->p->buf.n; b++) {
    kernel_buf *x = &k->buf[b];
    kernel_axes axes = sharing_axes(x);
    for (unsigned a = 0; a < 3; a++)
      if (k->extent[IR_THREADIDX_X + a] <= 1) axes &= (kernel_axes) ~(1u << a);
    if (x->alloc)
      x->is_private = !axes || (!ir_scope_is_shared(k->p->buf.v[b].scope) &&
                                is_owned(k, b, axes));
    if (x->alloc && !x->is_private &&
        ir_scope_is_fragment(k->p->buf.v[b].scope))
      return unsupported(k,
                         "fragment %s belongs to a warp, but several of "
                         "them access the same element",
                         buf_name(k, b));
  }
  return true;
}

/* ---- placing buffers ---------------------------------------------------- */

/* Replicates a shared buffer along axes whose threads have private copies. */
static void copy_for_each(kernel *k, ir_stmt body, ir_buf *b) {
  ir_program *p = k->p;
  kernel_buf *x = &k->buf[*b];
  int64_t extent[3];
  ir_expr which[3];
  uint32_t n = 0;
  for (unsigned a = 0; a < 3; a++) {
    unsigned t = IR_THREADIDX_X + a;
    if (!((x->around & ~x->merged) >> a & 1) || k->extent[t] <= 1) continue;
    extent[n] = k->extent[t];
    which[n++] = ir_ref(p, k->index[t]);
  }
  if (!n) return;
  ir_buf made = lower_several(p, k->scratch, *b, n, extent);
  lower_choose(p, k->scratch, body, *b, made, n, which);
  k->buf[made] = *x;
  *b = made;
}

/* Parallel and vectorized loops that the allocation is hoisted out of become
 * serial: their iterations had private copies, and share one now. */
static void serialize_around(const kernel *k, ir_stmt alloc) {
  for (ir_stmt s = alloc; s != k->top; s = ir_st(k->p, s)->parent) {
    ir_stmt_rec *up = ir_st(k->p, ir_st(k->p, s)->parent);
    if (up->kind == IR_LOOP &&
        (up->loop_kind == IR_PARALLEL || up->loop_kind == IR_VECTORIZED))
      up->loop_kind = IR_SERIAL;
  }
}

/* Moves the allocation to the block of threads, or to the thread; one that is
 * private from the start stays.  `shared`, `own`: the innermost statements
 * around which such allocations are. */
static bool place_buffer(kernel *k, ir_stmt body, ir_buf b, ir_stmt *shared,
                         ir_stmt *own) {
  ir_program *p = k->p;
  const kernel_buf x = k->buf[b];
  if (x.is_private && (ir_scope_is_shared(p->buf.v[b].scope) ||
                       p->buf.v[b].scope == IR_SCOPE_WARP))
    p->buf.v[b].scope = IR_SCOPE_LOCAL;
  if (x.is_private && !sharing_axes(&x)) return true;
  if (!lower_has_constant_shape(p, b))
    return unsupported(k, "threads share %s, whose shape is not constant",
                       buf_name(k, b));
  serialize_around(k, x.alloc);
  lower_splice(p, x.alloc);
  if (!x.is_private) {
    copy_for_each(k, body, &b);
    if (!ir_scope_is_shared(p->buf.v[b].scope))
      p->buf.v[b].scope = IR_SCOPE_SHARED;
  }
  ir_stmt a = ir_allocate_new(p, b), *at = x.is_private ? own : shared;
  ir_append(p, *at, a);
  *at = a;
  return true;
}

static ir_stmt open_thread_loop(kernel *k, ir_stmt into, unsigned t) {
  ir_program *p = k->p;
  if (!k->extent[t]) return into;
  ir_expr extent = kernel_is_grid(t) ? k->grid[t] : ir_index(p, k->extent[t]);
  ir_stmt s = ir_loop_new(p, k->index[t], ir_index(p, 0), extent, IR_THREAD);
  ir_st(p, s)->thread = (uint8_t)t;
  ir_append(p, into, s);
  return s;
}

/* ---- the whole ---------------------------------------------------------- */

static void splice_loops(kernel *k, ir_stmt body) {
  ir_program *p = k->p;
  for (ir_stmt s = ir_next(p, body, body), next; s; s = next) {
    next = ir_next(p, s, body);
    const ir_stmt_rec *r = ir_st(p, s);
    if (!ir_is_thread_loop(r) || kernel_is_warp(r)) continue;
    if (!ir_st(p, s)->body) next = ir_skip(p, s, body);
    lower_splice(p, s);
  }
}

/* body: a group around the code of a thread. */
static tess_status rebuild(kernel *k, ir_stmt body) {
  ir_program *p = k->p;
  ir_stmt outer = ir_if_new(p, ir_bool(p, true)), at = outer;
  ir_stmt shared = ir_if_new(p, ir_bool(p, true)), inner = shared;
  ir_stmt own = ir_if_new(p, ir_bool(p, true)), own_at = own;
  uint32_t nbuf = p->buf.n;
  for (ir_buf b = 1; b < nbuf; b++)
    if (k->buf[b].alloc && !place_buffer(k, body, b, &inner, &own_at))
      return k->e->code;
  splice_loops(k, body);
  for (unsigned t = IR_BLOCKIDX_Z + 1; t-- > 0;)
    at = open_thread_loop(k, at, t);
  ir_append(p, at, shared);
  at = inner;
  for (unsigned t = IR_THREADIDX_Z + 1; t-- > IR_THREADIDX_X;)
    at = open_thread_loop(k, at, t);
  ir_append(p, at, own);
  ir_replace(p, body, outer);
  ir_append(p, own_at, body);
  tess_status st = kernel_sync(k, body);
  lower_splice(p, body);
  lower_splice(p, own);
  lower_splice(p, shared);
  lower_splice(p, outer);
  return st;
}

static tess_status make_kernel(ir_program *p, arena *scratch, ir_stmt top,
                               err_state *e) {
  kernel k = {.p = p, .scratch = scratch, .e = e, .top = top};
  if (!kernel_find_extents(&k)) return e->code;
  if (!k.top) return TESS_OK;
  k.spread = arena_zalloc(scratch, p->stmt.n * sizeof *k.spread);
  k.nbuf = 2 * p->buf.n; /* each may get another one beside it */
  k.buf = arena_zalloc(scratch, k.nbuf * sizeof *k.buf);
  k.access = lower_find_accesses(p, scratch, top);
  kernel_share(&k);
  kernel_keep_first_blocks(&k);
  if (!kernel_check_warps(&k)) return e->code;
  make_indices(&k);
  note_loops(&k);
  if (!kernel_check_grid(&k)) return e->code;
  substitute_thread_indices(&k);
  if (!decide_privacy(&k)) return e->code;
  kernel_add_conditions(&k);
  ir_stmt body = ir_if_new(p, ir_bool(p, true));
  ir_wrap(p, top, body);
  return rebuild(&k, body);
}

static void note_global(const ir_program *p, const ir_buf_rec *b,
                        strbuf *note) {
  if (note)
    str_printf(note,
               "%sbuffer %s was to be in %s memory and is in global "
               "memory, since no proof was found that each block of "
               "threads writes all that it reads of it",
               note->n ? "; " : "", ir_text(p, b->name),
               ir_scope_text((ir_scope)b->scope));
}

/* Buffers allocated around kernels are in global memory. */
static void allocate_globally(ir_program *p, ir_stmt alloc, strbuf *note) {
  ir_buf_rec *b = &p->buf.v[ir_st(p, alloc)->alloc];
  for (ir_stmt s = alloc; s && !ir_scope_is_global(b->scope);
       s = ir_next(p, s, alloc)) {
    if (!ir_is_thread_loop(ir_st(p, s))) continue;
    note_global(p, b, note);
    b->scope = IR_SCOPE_GLOBAL;
  }
}

LOWER_PASS(form_kernels) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root, next; s; s = next) {
    next = ir_next(p, s, root);
    if (ir_st(p, s)->kind == IR_ALLOCATE) allocate_globally(p, s, o->note);
    if (!ir_is_thread_loop(ir_st(p, s))) continue;
    next = ir_skip(p, s, root);
    tess_status st = make_kernel(p, scratch, s, e);
    if (st) return st;
  }
  return TESS_OK;
}
