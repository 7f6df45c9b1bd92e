/* SPDX-License-Identifier: Apache-2.0
 * Race detection from access timestamps (the algorithm: machine.h). */
#include "backends/interp/machine.h"

bool machine_tick(machine *m, ir_stmt s) {
  if (m->clock == UINT32_MAX) {
    machine_limit(m, s, 0, "racing iterations");
    return false;
  }
  m->clock++;
  return true;
}

bool machine_enter(machine *m, ir_stmt loop, int64_t lo) {
  if (!machine_tick(m, loop)) return false;
  machine_level *l = &m->level[m->depth++];
  *l = (machine_level){.start = m->clock,
                       .iter = m->clock,
                       .loop = loop,
                       .lo = lo,
                       .log = m->times->n};
  m->top = m->clock;
  return true;
}

bool machine_iterate(machine *m) {
  machine_level *l = &m->level[m->depth - 1];
  if (!machine_tick(m, l->loop)) return false;
  l->iter = m->top = m->clock;
  vec_push(m->heap, m->times, m->clock);
  return true;
}

void machine_leave(machine *m) {
  m->depth--;
  m->times->n = m->level[m->depth].log;
  m->top = m->depth ? m->level[m->depth - 1].iter : 0;
}

/* The iteration of level d at time t; -1: none. */
static int64_t iteration(const machine *m, uint32_t d, uint32_t t) {
  uint32_t first = m->level[d].log, lo = first;
  uint32_t hi = d + 1 < m->depth ? m->level[d + 1].log : m->times->n;
  if (!t || lo == hi) return -1;
  while (hi - lo > 1) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (m->times->v[mid] <= t)
      lo = mid;
    else
      hi = mid;
  }
  return lo - first;
}

int64_t machine_value_at(const machine *m, uint32_t d, uint32_t t) {
  const machine_level *l = &m->level[d];
  int64_t i = iteration(m, d, t);
  return i < 0 ? -1 : l->lo + (l->lanes ? i % l->lanes : i);
}

/* Was time t, in an earlier iteration of level d, in the same lane? */
static bool is_same_lane(const machine *m, uint32_t d, uint32_t t) {
  uint32_t lanes = m->level[d].lanes;
  return lanes &&
         iteration(m, d, t) % lanes == iteration(m, d, m->clock) % lanes;
}

/* The level at which an access at time t races with one now; -1: ordered. */
static int racing_level(const machine *m, uint32_t t) {
  if (t >= m->top) return -1;
  for (uint32_t d = 0; d < m->depth; d++) {
    if (t < m->level[d].start) return -1;
    if (t < m->level[d].iter) return is_same_lane(m, d, t) ? -1 : (int)d;
  }
  return -1;
}

/* Is the last write of the element ordered before now? */
static bool after_write(machine *m, const code_access *a, uint64_t at,
                        const machine_cell *c, bool writes) {
  int d = racing_level(m, c->writer);
  if (d < 0) return true;
  machine_race(m, a, at, (uint32_t)d, c->writer, true, writes);
  return false;
}

/* The reads (or atomic updates) that remain relevant after a read now: bits of
 * levels that are still in the same iteration, and one for the level at which
 * the last reader is in another. */
static void note_read(const machine *m, machine_cell *c) {
  uint32_t keep = 0, d = 0;
  for (; d < m->depth && c->reader >= m->level[d].iter; d++)
    keep |= c->levels & UINT32_C(1) << d;
  if (d < m->depth && c->reader >= m->level[d].start) {
    bool same = is_same_lane(m, d, c->reader);
    keep |= same ? c->levels & UINT32_C(1) << d : UINT32_C(1) << d;
    c->other = same ? c->other : c->reader;
  }
  c->levels = keep;
}

static void add_reader(const machine *m, const machine_buf *b,
                       machine_cell *c) {
  if (c->reader < b->birth)
    c->levels = 0;
  else if (c->reader < m->top)
    note_read(m, c);
  c->reader = m->clock;
}

/* Does an earlier read, or atomic update, race with an access now? */
static bool after_readers(machine *m, const code_access *a, uint64_t at,
                          const machine_cell *c, bool wrote, bool writes) {
  for (uint32_t d = 0; d < m->depth; d++) {
    const machine_level *l = &m->level[d];
    if (c->reader < l->start) return true;
    bool earlier = c->reader < l->iter;
    if (earlier && !is_same_lane(m, d, c->reader)) {
      machine_race(m, a, at, d, c->reader, wrote, writes);
      return false;
    }
    if (c->levels >> d & 1) {
      bool known = c->other >= l->start && c->other < l->iter;
      machine_race(m, a, at, d, known ? c->other : 0, wrote, writes);
      return false;
    }
    if (earlier) return true;
  }
  return true;
}

/* Are the atomic updates of the element ordered before a read or write now? */
static bool after_updates(machine *m, const code_access *a, uint64_t at,
                          bool writes) {
  const machine_buf *b = &m->buf[a->buf];
  return !b->atomic || b->atomic[at].reader < b->birth ||
         after_readers(m, a, at, &b->atomic[at], true, writes);
}

bool machine_read(machine *m, const code_access *a, uint64_t at) {
  const machine_buf *b = &m->buf[a->buf];
  machine_cell *c = &b->cell[at];
  if (b->in_flight && b->in_flight[at]) {
    machine_in_flight(m, a, at, false);
    return false;
  }
  if (c->writer < b->birth) {
    machine_unwritten(m, a, at);
    return false;
  }
  if (!after_write(m, a, at, c, false) || !after_updates(m, a, at, false))
    return false;
  add_reader(m, b, c);
  return true;
}

bool machine_write(machine *m, const code_access *a, uint64_t at) {
  const machine_buf *b = &m->buf[a->buf];
  machine_cell *c = &b->cell[at];
  if (b->in_flight && b->in_flight[at]) {
    machine_in_flight(m, a, at, true);
    return false;
  }
  if (c->writer >= b->birth && !after_write(m, a, at, c, true)) return false;
  if (c->reader >= b->birth && !after_readers(m, a, at, c, false, true))
    return false;
  if (!after_updates(m, a, at, true)) return false;
  *c = (machine_cell){.writer = m->clock};
  if (b->atomic) b->atomic[at] = (machine_cell){0};
  return true;
}

bool machine_update(machine *m, const code_access *a, uint64_t at) {
  machine_buf *b = &m->buf[a->buf];
  const machine_cell *c = &b->cell[at];
  if (!b->atomic)
    b->atomic = machine_memory(m, b->room * sizeof *b->atomic, a->id, a->stmt);
  if (!b->atomic) return false;
  if (c->writer < b->birth) {
    machine_unwritten(m, a, at);
    return false;
  }
  if (!after_write(m, a, at, c, true)) return false;
  if (c->reader >= b->birth && !after_readers(m, a, at, c, false, true))
    return false;
  add_reader(m, b, &b->atomic[at]);
  return true;
}
