/* SPDX-License-Identifier: Apache-2.0
 * Legality of warp-collective code: the lanes of a warp are the threads of
 * threadIdx.x, IR_WARP_LANES of them, and only such code may access
 * fragments. */
#include "lower/threads/kernel.h"

static bool refuse_warp(kernel *k, const char *what, const char *name) {
  err_set(k->e, TESS_UNSUPPORTED, what, name, IR_WARP_LANES);
  return false;
}

/* The loop bound to a warp around s, 0: none. */
static ir_stmt warp_around(const kernel *k, ir_stmt s) {
  for (; s != k->top; s = ir_st(k->p, s)->parent)
    if (kernel_is_warp(ir_st(k->p, s))) return s;
  return kernel_is_warp(ir_st(k->p, s)) ? s : 0;
}

bool kernel_check_warps(kernel *k) {
  const ir_program *p = k->p;
  bool warps = false;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top))
    warps |= kernel_is_warp(ir_st(p, s));
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i];
    const ir_buf_rec *b = &p->buf.v[a->buf];
    if (!ir_scope_is_fragment(b->scope)) continue;
    const char *name = ir_text(p, b->name);
    if (!k->buf[a->buf].alloc)
      return refuse_warp(
          k, "fragment %s is not allocated in the kernel that uses it", name);
    if (!warp_around(k, a->at))
      return refuse_warp(
          k,
          "fragment %s belongs to a warp, but is accessed outside "
          "of a block annotated " LOWER_WARP_KEY,
          name);
  }
  int64_t *lanes = &k->extent[IR_THREADIDX_X];
  if (!warps) return true;
  if (*lanes < IR_WARP_LANES) *lanes = IR_WARP_LANES;
  return *lanes <= IR_WARP_LANES ||
         refuse_warp(k, "%s has more places than the %d lanes of a warp",
                     "threadIdx.x");
}
