/* SPDX-License-Identifier: Apache-2.0
 * The random tester: windows that overlap from one iteration of a loop to the
 * next.  A producer makes them when it is computed at a loop over which its
 * consumer slides, and then they may be rolled. */
#include "ir/edit.h"
#include "ir/query.h"
#include "random/fuzz.h"

#include "schedule/sch.h"

/* Dimension d of what the block writes follows that loop. */
static bool follows(const ir_program *p, ir_stmt b, uint32_t d, ir_stmt loop) {
  ir_span it = ir_blk(p, b)->iters;
  ir_region w = p->region.v[ir_blk(p, b)->writes.at];
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_uses_var(p, ir_region_min(p, w, d), p->iter.v[i].var) &&
        ir_uses_var(p, p->iter.v[i].bind, ir_st(p, loop)->var))
      return true;
  return false;
}

/* A dimension follows that loop and one inside it, as where windows move. */
static bool slides(const ir_program *p, ir_stmt b, ir_stmt loop) {
  ir_buf buf = p->region.v[ir_blk(p, b)->writes.at].buf;
  for (uint32_t d = 0; d < ir_ndim(p, buf); d++)
    for (ir_stmt l = ir_st(p, b)->parent; l != loop; l = ir_st(p, l)->parent)
      if (ir_is_loop(p, l) && follows(p, b, d, loop) && follows(p, b, d, l))
        return true;
  return false;
}

/* What it writes is its own and used only in a loop around it, from one
 * iteration of which, or of a loop further out, to the next it moves. */
bool fuzz_rolls(const ir_program *p, ir_stmt b) {
  ir_span w = ir_blk(p, b)->writes;
  ir_stmt scope = ir_scope_of(p, b), at = b;
  if (!ir_st(p, b)->parent || sch_is_output(p, b) || w.n != 1) return false;
  for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
    if (q != b && sch_reads_buf(p, q, p->region.v[w.at].buf))
      at = sch_common(p, at, q);
  if (at == b) return false;
  for (; ir_is_loop(p, at); at = ir_st(p, at)->parent)
    if (slides(p, b, at)) return true;
  return false;
}

/* ---- loops that make windows -------------------------------------------- */

/* The iter that moves what the block reads of the buffer, of which it reads
 * more than that tells in the same dimension; 0: none. */
static uint32_t sliding_iter(const ir_program *p, ir_stmt block, ir_buf buf) {
  ir_span r = ir_blk(p, block)->reads, it = ir_blk(p, block)->iters;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    for (uint32_t d = 0; p->region.v[i].buf == buf && d < ir_ndim(p, buf);
         d++) {
      ir_expr at = ir_region_min(p, p->region.v[i], d);
      bool wide = !ir_is_const(p, ir_region_extent(p, p->region.v[i], d), 1);
      uint32_t moves = 0;
      for (uint32_t k = it.at; k < it.at + it.n; k++)
        if (!ir_uses_var(p, at, p->iter.v[k].var))
          continue;
        else if (p->iter.v[k].kind == IR_SPATIAL)
          moves = k;
        else
          wide = true;
      if (wide && moves) return moves;
    }
  return 0;
}

/* The innermost of n loops that the iter is bound to, or now and then one
 * below, so that windows move with a loop further out; 0: none. */
static vm_rv driving_loop(fuzz *f, uint32_t iter, vm_rv first, uint32_t n) {
  const ir_program *p = &f->s.m.prog;
  vm_rv found = 0;
  for (uint32_t i = 0; i < n; i++) {
    ir_stmt l = fuzz_stmt(f, first + i);
    if (l && ir_is_loop(p, l) &&
        ir_uses_var(p, p->iter.v[iter].bind, ir_st(p, l)->var))
      found = first + i;
  }
  if (found && !fuzz_below(f, 3))
    found += (vm_rv)fuzz_below(f, first + n - found);
  return found;
}

vm_rv fuzz_tiled(fuzz *f, vm_rv loop) {
  vm_value to[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  vm_value factor[2] = {vm_auto(), vm_int(2 + fuzz_below(f, 4))};
  if (fuzz_extent(f, loop) < 3) return loop;
  to[0] = vm_var(loop);
  to[1] = vm_list(&f->pool, 2, factor);
  if (fuzz_call(f, sch_find_prim("split"), to)) return loop;
  return f->s.trace.inst.v[f->s.trace.inst.n - 1].out + 1;
}

vm_rv fuzz_window_loop(fuzz *f) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt block = fuzz_stmt(f, f->block);
  uint32_t n, k = 0;
  vm_rv users = fuzz_get(f, "get_consumers", vm_var(f->block), &n);
  if (!users || !block || !ir_blk(p, block)->writes.n) return 0;
  ir_buf buf = p->region.v[ir_blk(p, block)->writes.at].buf;
  vm_rv user = users + fuzz_below(f, n);
  uint32_t iter = sliding_iter(p, fuzz_stmt(f, user), buf);
  vm_rv l = iter ? fuzz_get(f, "get_loops", vm_var(user), &k) : 0;
  vm_rv loop = l ? driving_loop(f, iter, l, k) : 0;
  return loop && fuzz_below(f, 2) ? fuzz_tiled(f, loop) : loop;
}

/* ---- rolling them ------------------------------------------------------- */

/* Lets the iterations of the loop around this one run at once. */
static void run_at_once(fuzz *f, vm_value block, vm_value loop) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt in = loop.tag == VM_RV ? fuzz_stmt(f, loop.rv) : 0;
  vm_value to[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  uint32_t n;
  vm_rv l = in ? fuzz_get(f, "get_loops", block, &n) : 0;
  for (uint32_t i = 0; l && i < n; i++)
    if (fuzz_stmt(f, l + i) == ir_st(p, in)->parent) to[0] = vm_var(l + i);
  if (to[0].tag == VM_RV) (void)fuzz_call(f, sch_find_prim("parallel"), to);
}

/* What was computed at a loop may be a window that overlaps the next, and
 * tiles of such windows may be made at once. */
void fuzz_roll(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_value to[VM_MAX_SPECS] = {v[0], vm_int(0)};
  ir_stmt b = v[0].tag == VM_RV ? fuzz_stmt(f, v[0].rv) : 0;
  (void)first, (void)n;
  uint32_t of = b && fuzz_rolls(&f->s.m.prog, b) ? 4 : 16;
  if (fuzz_below(f, of) > 2) return;
  if (fuzz_below(f, 2)) run_at_once(f, v[0], v[1]);
  (void)fuzz_call(f, sch_find_prim("rolling_buffer"), to);
}

/* Where iterations of a loop around run at once, they may share windows. */
void fuzz_roll_inside(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_value to[VM_MAX_SPECS] = {vm_var(f->block), vm_int(0)};
  ir_stmt b = fuzz_stmt(f, f->block);
  (void)v, (void)first, (void)n;
  if (fuzz_below(f, 2) && b && fuzz_rolls(&f->s.m.prog, b))
    (void)fuzz_call(f, sch_find_prim("rolling_buffer"), to);
}
