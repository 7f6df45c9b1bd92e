/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies to shared memory (cp.async).  The data is moved at once,
 * but an access to the destination before the thread's wait is an error, and
 * the write counts for races at the time of that wait. */
#include "backends/interp/machine.h"

bool machine_send(machine *m, const code_access *a, uint64_t at) {
  machine_copies *c = m->copies;
  machine_buf *b = &m->buf[a->buf];
  if (!m->k->bufs.v[a->buf].is_shared) return true;
  if (!b->in_flight)
    b->in_flight =
        machine_memory(m, b->room * sizeof *b->in_flight, a->id, a->stmt);
  if (c->n == c->room) {
    uint32_t room = c->room ? 2 * c->room : 16;
    machine_copy *v = machine_memory(m, room * sizeof *v, a->id, a->stmt);
    if (v && c->n) memcpy(v, c->v, c->n * sizeof *v);
    c->v = v;
    c->room = v ? room : 0;
  }
  if (!b->in_flight || !c->v) return false;
  b->in_flight[at] = c->thread + 1;
  c->v[c->n++] =
      (machine_copy){a, at, c->from, c->from_at, c->groups, m->clock};
  return true;
}

/* Checks that the source was not written since the copy was issued. */
static bool is_unchanged(machine *m, const machine_copy *x) {
  if (!x->from) return true;
  const machine_buf *b = &m->buf[x->from->buf];
  uint32_t writer = b->cell ? b->cell[x->from_at].writer : b->wrote[x->from_at];
  if (writer <= x->time) return true;
  machine_overtaken(m, x->from, x->from_at);
  return false;
}

/* Completes the groups up to number `end`. */
static bool arrive(machine *m, uint32_t end) {
  machine_copies *c = m->copies;
  uint32_t n = 0;
  for (; n < c->n && c->v[n].group < end; n++) {
    const machine_copy *x = &c->v[n];
    m->buf[x->a->buf].in_flight[x->at] = 0;
    if (!is_unchanged(m, x) || !machine_write(m, x->a, x->at)) return false;
  }
  c->n -= n;
  memmove(c->v, c->v + n, c->n * sizeof *c->v);
  return true;
}

bool machine_async(machine *m, ir_fn fn, int64_t left, ir_stmt s) {
  machine_copies *c = m->copies;
  if (c->open != (fn == IR_FN_ASYNC_COMMIT) || left < 0) {
    machine_fault(m, (interp_error){.code = TESS_INVALID,
                                    .fault = INTERP_INVALID,
                                    .stmt = s,
                                    .element = -1,
                                    .what = "async_begin, async_commit and "
                                            "async_wait in this order"});
    return false;
  }
  if (fn == IR_FN_ASYNC_WAIT)
    return left >= c->groups || !c->n || arrive(m, c->groups - (uint32_t)left);
  /* Later accesses are ordered behind the copies. */
  if (!machine_tick(m, s)) return false;
  c->open = fn == IR_FN_ASYNC_BEGIN;
  c->groups += fn == IR_FN_ASYNC_COMMIT;
  return true;
}
