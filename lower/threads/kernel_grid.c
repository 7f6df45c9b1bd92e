/* SPDX-License-Identifier: Apache-2.0
 * The grid of a kernel: how many blocks of threads it has, a constant or a
 * value of the function's sizes; and what those blocks, which cannot wait for
 * each other, must not do. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/threads/kernel.h"

static bool refuse_grid(kernel *k, const char *what, const char *name) {
  err_set(k->e, TESS_UNSUPPORTED, what, name);
  return false;
}

static const char *grid_buf_name(const kernel *k, ir_buf b) {
  return ir_text(k->p, k->p->buf.v[b].name);
}

/* ---- extents ------------------------------------------------------------ */

/* The greatest value of a thread loop's extent; false: it is neither a constant
 * nor, of a grid, known when the kernel is called. */
static bool find_greatest(const kernel *k, const ir_stmt_rec *r, int64_t *n) {
  if (ir_const_int(k->p, r->extent, n)) return true;
  if (!kernel_is_grid(r->thread) || !ir_is_invariant(k->p, r->extent))
    return false;
  int64_t hi = ir_at(k->p, r->extent)->hi;
  *n = hi < 1 ? 1 : hi;
  return true;
}

static bool check_length(kernel *k, const ir_stmt_rec *r, int64_t *n) {
  const char *axis = ir_thread_text((ir_thread)r->thread);
  if (!find_greatest(k, r, n))
    return refuse_grid(k, "the extent of a loop bound to %s is no constant",
                       axis);
  return *n <= INT32_MAX || ir_at(k->p, r->extent)->op != IR_INT ||
         refuse_grid(k, "a loop bound to %s is too long", axis);
}

static void add_extent(kernel *k, const ir_stmt_rec *r, int64_t n) {
  if (n > k->extent[r->thread]) k->extent[r->thread] = n;
  if (!kernel_is_grid(r->thread)) return;
  ir_expr *all = &k->grid[r->thread];
  *all = *all ? ir_binary(k->p, IR_MAX, *all, r->extent) : r->extent;
}

bool kernel_find_extents(kernel *k) {
  ir_program *p = k->p;
  for (ir_stmt s = k->top, next; s; s = next) {
    const ir_stmt_rec r = *ir_st(p, s);
    int64_t n;
    next = ir_next(p, s, k->top);
    if (!ir_is_thread_loop(&r)) continue;
    if (!check_length(k, &r, &n)) return false;
    if (n >= 1) {
      add_extent(k, &r, n);
      continue;
    }
    next = s == k->top ? 0 : ir_skip(p, s, k->top);
    if (s == k->top) k->top = 0;
    ir_kill(p, s);
  }
  return true;
}

void kernel_keep_first_blocks(kernel *k) {
  ir_program *p = k->p;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    uint8_t kind = ir_st(p, s)->kind;
    if (kind != IR_STORE && kind != IR_EVALUATE) continue;
    unsigned around = kernel_grid_around(k, s, 0);
    for (unsigned t = 0; t <= IR_BLOCKIDX_Z; t++)
      if (k->grid[t] && !(around >> t & 1))
        k->grid[t] = ir_binary(p, IR_MAX, k->grid[t], ir_index(p, 1));
  }
}

bool kernel_covers_axis(const kernel *k, const ir_stmt_rec *r) {
  int64_t n;
  if (kernel_is_grid(r->thread) && !ir_const_int(k->p, k->grid[r->thread], &n))
    return r->extent == k->grid[r->thread];
  return !ir_const_int(k->p, r->extent, &n) || n >= k->extent[r->thread];
}

/* ---- legality in the grid ----------------------------------------------- */

unsigned kernel_grid_around(const kernel *k, ir_stmt s, ir_stmt above) {
  unsigned axes = 0;
  while (s != k->top && (s = ir_st(k->p, s)->parent) != above) {
    const ir_stmt_rec *r = ir_st(k->p, s);
    if (ir_is_thread_loop(r) && k->spread[s] && !kernel_axis(r))
      axes |= 1u << r->thread;
  }
  return axes;
}

/* The spread loop over that axis around s; 0: none. */
static ir_stmt grid_loop(const kernel *k, ir_stmt s, unsigned axis) {
  while (s != k->top) {
    s = ir_st(k->p, s)->parent;
    const ir_stmt_rec *r = ir_st(k->p, s);
    if (ir_is_thread_loop(r) && k->spread[s] && r->thread == axis) return s;
  }
  return 0;
}

/* No buffer is written in one loop over blocks of threads and accessed in
 * another, or outside: that needs a barrier of the grid. */
static bool check_joins(kernel *k, unsigned grid) {
  const lower_access **first =
      arena_zalloc(k->scratch, k->nbuf * sizeof *first);
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i];
    if (a->writes && !first[a->buf]) first[a->buf] = a;
  }
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i], *w = first[a->buf];
    for (unsigned t = 0; w && t <= IR_BLOCKIDX_Z; t++)
      if ((grid >> t & 1) && grid_loop(k, a->at, t) != grid_loop(k, w->at, t))
        return refuse_grid(k,
                           "%s is written in a loop over the blocks of "
                           "threads and used outside of it in one kernel, "
                           "where they cannot wait for each other",
                           grid_buf_name(k, a->buf));
  }
  return true;
}

static bool is_written(const kernel *k, ir_buf b) {
  for (uint32_t i = 0; i < k->access.n; i++)
    if (k->access.v[i].buf == b && k->access.v[i].writes) return true;
  return false;
}

/* Code outside of loops over blocks of threads is executed by all blocks, but
 * stores to global memory only by the first.  So only these stores may read
 * global memory that is written there. */
static bool check_outside(kernel *k, const lower_access *a, unsigned grid) {
  const ir_stmt_rec *r = ir_st(k->p, a->at);
  if (!(grid & ~kernel_grid_around(k, a->at, 0)) || !is_written(k, a->buf) ||
      (r->kind == IR_STORE && !k->buf[r->buf].alloc))
    return true;
  return refuse_grid(k,
                     "%s is written and read outside of a loop over the "
                     "blocks of threads, all of which read it there",
                     grid_buf_name(k, a->buf));
}

bool kernel_check_grid(kernel *k) {
  unsigned grid = 0;
  for (unsigned t = 0; t <= IR_BLOCKIDX_Z; t++)
    if (k->extent[t] > 1) grid |= 1u << t;
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i];
    ir_stmt alloc = k->buf[a->buf].alloc;
    if (alloc && (kernel_grid_around(k, a->at, alloc) & grid))
      return refuse_grid(k,
                         "blocks of threads cannot share %s, which is "
                         "allocated in a kernel",
                         grid_buf_name(k, a->buf));
  }
  if (!check_joins(k, grid)) return false;
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i];
    if (!k->buf[a->buf].alloc && !a->writes && !check_outside(k, a, grid))
      return false;
  }
  return true;
}
