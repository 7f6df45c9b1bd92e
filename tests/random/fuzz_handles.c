/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what a handle stands for.  A block or loop that the last
 * instruction left in the program is the same statement as before, and one
 * that is gone says which instruction ended it. */
#include "ir/query.h"
#include "random/fuzz.h"

/* A living block of that name, or loop with that variable, in p; 0: none. */
static ir_stmt find_again(const ir_program *p, const ir_program *old,
                          ir_stmt st) {
  bool block = ir_is_block(old, st);
  for (ir_stmt s = ir_entry(p)->root; s; s = ir_next(p, s, ir_entry(p)->root))
    if (block ? ir_is_block(p, s) && ir_blk(p, s)->name == ir_blk(old, st)->name
              : ir_is_loop(p, s) && ir_st(p, s)->var == ir_st(old, st)->var)
      return s;
  return 0;
}

/* A block may be renamed, as decompose_reduction does. */
static bool is_same(const ir_program *p, const ir_program *old, ir_stmt st) {
  if (ir_st(p, st)->kind != ir_st(old, st)->kind) return false;
  return ir_is_loop(p, st) || ir_st(p, st)->block == ir_st(old, st)->block;
}

bool fuzz_check_handles(fuzz *f, const char *prim) {
  const ir_program *p = &f->s.m.prog, *old = &f->before;
  for (ir_stmt s = ir_entry(old)->root; s;
       s = ir_next(old, s, ir_entry(old)->root)) {
    const char *what = ir_is_block(old, s) ? "block" : "loop";
    if (!ir_is_block(old, s) && !ir_is_loop(old, s)) continue;
    if (!ir_is_dead(p, s) && ir_is_ancestor(p, ir_entry(p)->root, s)) {
      if (is_same(p, old, s)) continue;
      fuzz_wrong(f, "%s made something else of a %s", prim, what);
      return false;
    }
    if (!ir_is_dead(p, s)) {
      fuzz_wrong(f, "%s took a %s out and did not end it", prim, what);
      return false;
    }
    if (ir_st(p, s)->prev != f->s.trace.inst.n) {
      fuzz_wrong(f, "%s ended a %s in the name of instruction %u", prim, what,
                 (unsigned)ir_st(p, s)->prev);
      return false;
    }
    if (find_again(p, old, s)) {
      fuzz_wrong(f, "%s ended a %s that is still there", prim, what);
      return false;
    }
  }
  return true;
}
