/* SPDX-License-Identifier: Apache-2.0
 * Buffer memory of a run.  A re-allocated buffer keeps its memory; its
 * allocation time distinguishes elements written in the current lifetime. */
#include "backends/interp/machine.h"

void *machine_memory(machine *m, uint64_t bytes, ir_buf buf, ir_stmt s) {
  if (bytes > m->bytes) {
    machine_limit(m, s, buf, "bytes of buffers");
    return NULL;
  }
  m->bytes -= bytes;
  return arena_zalloc(m->memory, (size_t)bytes);
}

bool machine_room(machine *m, machine_buf *b, uint64_t size, code_guard g,
                  ir_buf buf, ir_stmt s) {
  uint64_t each = sizeof *b->val + (g == CODE_PLAIN    ? sizeof *b->wrote
                                    : g == CODE_RACING ? sizeof *b->cell
                                                       : 0);
  if (size <= b->room) {
    b->size = size;
    return true;
  }
  if (size > m->bytes) {
    machine_limit(m, s, buf, "bytes of buffers");
    return false;
  }
  char *p = machine_memory(m, (size * each + 15) & ~UINT64_C(15), buf, s);
  if (!p) return false;
  *b = (machine_buf){.size = size, .room = size, .birth = b->birth};
  if (g == CODE_RACING)
    b->cell = (machine_cell *)(void *)p;
  else if (g == CODE_PLAIN)
    b->wrote = (uint32_t *)(void *)(p + size * sizeof *b->val);
  b->val = (interp_word *)(void *)(p + (each - sizeof *b->val) * size *
                                           (g == CODE_RACING));
  return true;
}

/* The number of elements; false: negative or overflow. */
static bool count_elements(const machine *m, const code_buf *k,
                           const interp_word *R, uint64_t *size) {
  *size = 1;
  for (uint32_t i = 0; i < k->ndim; i++) {
    int64_t e = R[m->k->regs.v[k->extent + i]].i;
    if (e < 0 || __builtin_mul_overflow(*size, (uint64_t)e, size)) return false;
  }
  return *size < UINT64_C(1) << 48;
}

bool machine_alloc(machine *m, uint32_t i, const interp_word *R, ir_stmt s) {
  const code_buf *k = &m->k->bufs.v[i];
  uint64_t size;
  if (!count_elements(m, k, R, &size)) {
    machine_limit(m, s, k->buf, "elements of a buffer");
    return false;
  }
  if (!machine_tick(m, s) ||
      !machine_room(m, &m->buf[i], size, (code_guard)k->guard, k->buf, s))
    return false;
  m->buf[i].birth = m->clock;
  if (m->buf[i].in_flight)
    memset(m->buf[i].in_flight, 0, size * sizeof *m->buf[i].in_flight);
  return true;
}
