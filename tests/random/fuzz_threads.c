/* SPDX-License-Identifier: Apache-2.0
 * The random tester: threads. */
#include "random/fuzz.h"

#include <string.h>

enum { MOST = 16 };

static uint32_t blocks_below(const ir_program *p, ir_stmt top, ir_stmt *out) {
  uint32_t n = 0;
  for (ir_stmt s = top; n < MOST && (s = ir_next(p, s, top));)
    if (ir_is_block(p, s)) out[n++] = s;
  return n;
}

/* Where a loop's iterations became blocks of threads, the innermost loops of
 * the blocks in it often become threads, which then have to wait for each
 * other. */
void fuzz_bind_threads(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  const char *axis = f->pool.text.v + v[1].str, *of = "threadIdx.x";
  ir_stmt top = fuzz_stmt(f, v[0].rv), block[MOST];
  vm_value to[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  (void)first, (void)n;
  if (!top || strncmp(axis, "blockIdx", 8) || fuzz_below(f, 2)) return;
  uint32_t many = blocks_below(&f->s.m.prog, top, block);
  for (uint32_t i = 0; i < many; i++) {
    fuzz_focus_on(f, block[i]);
    if (!f->nloops) continue;
    to[0] = vm_var(f->loop[f->nloops - 1]);
    to[1] = vm_str(&f->pool, of, strlen(of));
    (void)fuzz_call(f, sch_find_prim("bind"), to);
  }
}
