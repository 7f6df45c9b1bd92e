/* SPDX-License-Identifier: Apache-2.0
 * Run-time faults: recording the first one with its place, and the sentences
 * about them. */
#include "backends/interp/machine.h"

#include <stdio.h>

/* Only the first fault is recorded. */
void machine_fault(machine *m, interp_error e) {
  if (!m->e->code) *m->e = e;
}

void machine_limit(machine *m, ir_stmt s, ir_buf buf, const char *what) {
  interp_error e = {.code = TESS_LIMIT,
                    .fault = INTERP_LIMIT,
                    .stmt = s,
                    .buf = buf,
                    .element = -1};
  snprintf(e.what, sizeof e.what, "%s", what);
  machine_fault(m, e);
}

bool machine_steps_slowly(machine *m, uint64_t n, ir_stmt s) {
  if (m->steps < n) {
    machine_limit(m, s, 0, "steps");
    return false;
  }
  m->steps -= n;
  if (!m->o->stop || !thread_flag_is_raised(m->o->stop)) return true;
  machine_fault(m, (interp_error){.code = TESS_CANCELLED,
                                  .fault = INTERP_STOPPED,
                                  .element = -1});
  return false;
}

static interp_error of_access(const code_access *a, uint64_t at,
                              interp_fault fault, tess_status status) {
  return (interp_error){.code = status,
                        .fault = fault,
                        .stmt = a->stmt,
                        .buf = a->id,
                        .element = (int64_t)at};
}

void machine_outside(machine *m, const code_access *a, uint32_t dim, int64_t at,
                     int64_t extent) {
  interp_error e = of_access(a, 0, INTERP_OUTSIDE, TESS_BOUNDS);
  e.element = -1;
  e.dim = dim;
  e.at = at;
  e.extent = extent;
  machine_fault(m, e);
}

void machine_unwritten(machine *m, const code_access *a, uint64_t at) {
  machine_fault(m, of_access(a, at, INTERP_UNWRITTEN, TESS_UNWRITTEN));
}

void machine_in_flight(machine *m, const code_access *a, uint64_t at,
                       bool writes) {
  interp_error e = of_access(a, at, INTERP_IN_FLIGHT, TESS_RACE);
  e.iter[0] = m->buf[a->buf].in_flight[at] - 1;
  e.write[1] = writes;
  machine_fault(m, e);
}

void machine_overtaken(machine *m, const code_access *from, uint64_t at) {
  interp_error e = of_access(from, at, INTERP_IN_FLIGHT, TESS_RACE);
  e.iter[0] = m->copies->thread;
  e.write[0] = e.write[1] = true;
  machine_fault(m, e);
}

void machine_race(machine *m, const code_access *a, uint64_t at, uint32_t d,
                  uint32_t t, bool wrote, bool writes) {
  interp_error e = of_access(a, at, INTERP_RACE, TESS_RACE);
  e.loop = m->level[d].loop;
  e.group = m->level[d].group;
  e.iter[0] = machine_value_at(m, d, t);
  e.iter[1] = machine_value_at(m, d, m->clock);
  e.write[0] = wrote;
  e.write[1] = writes;
  machine_fault(m, e);
}

/* The alternatives of one block end at the one marked `last`. */
bool machine_regions(machine *m, const code_access *a, const interp_word *R,
                     uint64_t at) {
  const uint32_t *idx = m->k->regs.v + a->at;
  bool held = false;
  for (uint32_t i = 0; i < a->nregion; i++) {
    const code_region *r = &m->k->regions.v[a->region + i];
    const uint32_t *min = m->k->regs.v + r->at, *extent = min + a->n;
    bool in = !r->none;
    for (uint32_t d = 0; in && d < a->n; d++) {
      int64_t v = R[idx[d]].i, lo = R[min[d]].i;
      in = v >= lo && R[extent[d]].i > 0 &&
           (uint64_t)v - (uint64_t)lo < (uint64_t)R[extent[d]].i;
    }
    held |= in;
    if (r->last && !held) {
      interp_error e = of_access(a, at, INTERP_REGION, TESS_BOUNDS);
      e.loop = r->block;
      machine_fault(m, e);
      return false;
    }
    if (r->last) held = false;
  }
  return true;
}
