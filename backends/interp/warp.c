/* SPDX-License-Identifier: Apache-2.0
 * Warp execution: lanes run serially between convergence points.  Shuffles and
 * votes converge the lanes of a mask and order no memory; warp barriers and
 * warp-synchronous loops converge all lanes and order memory. */
#include "backends/interp/machine.h"

#include <stdio.h>

typedef struct warp {
  machine_launch *x;
  int64_t first; /* thread */
  uint32_t n;    /* lanes: IR_WARP_LANES, of the last warp fewer */
  uint32_t go;   /* bit mask of runnable lanes */
} warp;

static uint32_t bit(uint32_t lane) { return UINT32_C(1) << lane; }

static interp_word *regs(const warp *w, uint32_t lane) {
  return machine_regs(w->x, w->first + lane);
}

static uint32_t *lane_pc(const warp *w, uint32_t lane) {
  return &w->x->pc[w->first + lane];
}

static machine_stop stop_of(const warp *w, uint32_t lane) {
  return (machine_stop)w->x->stop[w->first + lane];
}

/* The operation at which a lane is suspended. */
static const code_insn *insn_of(const warp *w, uint32_t lane) {
  return &w->x->m->k->insn.v[*lane_pc(w, lane) - 1];
}

static bool is_exchange(const code_insn *i) {
  return i->op == OP_SHUFFLE || i->op == OP_VOTE;
}

/* ---- what goes wrong ---------------------------------------------------- */

static bool fail_lane(warp *w, uint32_t lane, uint32_t other,
                      const char *what) {
  machine *m = w->x->m;
  interp_error e = {.code = TESS_RACE,
                    .fault = INTERP_LANES,
                    .element = -1,
                    .stmt = m->k->origin.v[*lane_pc(w, lane) - 1],
                    .loop = w->x->g->stmt,
                    .group = INTERP_THREADS,
                    .iter = {w->first + lane, w->first + other}};
  snprintf(e.what, sizeof e.what, "%s", what);
  machine_fault(m, e);
  return false;
}

static bool diverged(warp *w, uint32_t lane, uint32_t other) {
  machine_diverged(w->x, w->first + lane, w->first + other);
  return false;
}

/* ---- exchanging --------------------------------------------------------- */

/* The lanes of the mask that have not ended. */
static uint32_t members(const warp *w, uint32_t mask) {
  uint32_t in = 0;
  for (uint32_t l = 0; l < w->n; l++)
    if ((mask >> l & 1) && stop_of(w, l) != MACHINE_END) in |= bit(l);
  return in;
}

/* A lane of the mask that is suspended elsewhere; w->n: none. */
static uint32_t missing(const warp *w, uint32_t lane, uint32_t mask) {
  uint32_t in = members(w, mask), reg = insn_of(w, lane)->a;
  for (uint32_t l = 0; l < w->n; l++)
    if ((in >> l & 1) &&
        (stop_of(w, l) != MACHINE_WARP || *lane_pc(w, l) != *lane_pc(w, lane) ||
         (uint32_t)regs(w, l)[reg].u != mask))
      return l;
  return w->n;
}

/* The source lane of `lane` in an exchange. */
static uint32_t source(ir_fn fn, uint32_t lane, uint64_t operand) {
  uint32_t by = (uint32_t)operand % IR_WARP_LANES;
  switch (fn) {
  case IR_FN_SHFL: return by;
  case IR_FN_SHFL_UP: return by <= lane ? lane - by : lane;
  case IR_FN_SHFL_DOWN: return lane + by < IR_WARP_LANES ? lane + by : lane;
  default: return lane ^ by;
  }
}

static bool shuffle(warp *w, const code_insn *i, uint32_t in) {
  interp_word out[IR_WARP_LANES];
  for (uint32_t l = 0; l < w->n; l++) {
    if (!(in >> l & 1)) continue;
    uint32_t from = source((ir_fn)i->what, l, regs(w, l)[i->c].u);
    if (!(in >> from & 1))
      return fail_lane(w, l, from, "reads the value of an inactive lane");
    out[l] = regs(w, from)[i->b];
  }
  for (uint32_t l = 0; l < w->n; l++)
    if (in >> l & 1) regs(w, l)[i->d] = out[l];
  return true;
}

static void vote(warp *w, const code_insn *i, uint32_t in) {
  uint32_t yes = 0;
  for (uint32_t l = 0; l < w->n; l++)
    if ((in >> l & 1) && regs(w, l)[i->b].u) yes |= bit(l);
  for (uint32_t l = 0; l < w->n; l++)
    if (in >> l & 1)
      regs(w, l)[i->d].u = i->what == IR_FN_BALLOT ? yes
                           : i->what == IR_FN_ANY  ? yes != 0
                                                   : yes == in;
}

/* Completes all exchanges whose lanes have arrived, and resumes them. */
static bool exchange(warp *w) {
  for (uint32_t l = 0; l < w->n; l++) {
    if (stop_of(w, l) != MACHINE_WARP || (w->go >> l & 1) ||
        !is_exchange(insn_of(w, l)))
      continue;
    const code_insn *i = insn_of(w, l);
    uint32_t mask = (uint32_t)regs(w, l)[i->a].u;
    if (!(mask >> l & 1))
      return fail_lane(w, l, l, "calls it with a mask that it is not in");
    if (missing(w, l, mask) < w->n) continue;
    uint32_t in = members(w, mask);
    if (i->op == OP_VOTE)
      vote(w, i, in);
    else if (!shuffle(w, i, in))
      return false;
    w->go |= in;
  }
  return true;
}

/* ---- together ----------------------------------------------------------- */

/* A warp between two memory-ordering points. */
static bool open_lanes(warp *w) {
  machine *m = w->x->m;
  if (!machine_enter(m, w->x->g->stmt, w->first)) return false;
  m->level[m->depth - 1].group = INTERP_THREADS;
  m->level[m->depth - 1].lanes = w->n;
  return true;
}

static bool agree(warp *w, const code_warp *c) {
  const machine *m = w->x->m;
  for (uint32_t k = 0; k < c->n; k++) {
    uint32_t reg = m->k->regs.v[c->at + k];
    for (uint32_t l = 1; l < w->n; l++) {
      if (regs(w, l)[reg].u == regs(w, 0)[reg].u) continue;
      strbuf name;
      str_init(&name, m->heap);
      ir_var_name(m->k->p, m->k->regs.v[c->vars + k], &name);
      char what[100];
      snprintf(what, sizeof what, "has another value of %s",
               str_or(&name, "?"));
      str_free(&name);
      return fail_lane(w, l, 0, what);
    }
  }
  return true;
}

/* One lane's code and registers are executed for all. */
static bool run_together(warp *w) {
  const code_warp *c = &w->x->m->k->warps.v[insn_of(w, 0)->a];
  if (w->n != IR_WARP_LANES)
    return fail_lane(w, 0, w->n - 1, "belongs to a partial warp");
  if (!agree(w, c) || machine_thread(w->x, w->first) == MACHINE_FAULT)
    return false;
  for (uint32_t l = 1; l < w->n; l++) *lane_pc(w, l) = *lane_pc(w, 0);
  return true;
}

/* No lane can run alone: all are at the same convergence point, or deadlock. */
static bool converge(warp *w) {
  uint32_t lane = 0;
  while (stop_of(w, lane) != MACHINE_WARP) lane++;
  const code_insn *i = insn_of(w, lane);
  if (is_exchange(i))
    return diverged(w, lane, missing(w, lane, (uint32_t)regs(w, lane)[i->a].u));
  for (uint32_t l = 0; l < w->n; l++)
    if (stop_of(w, l) != MACHINE_WARP || *lane_pc(w, l) != *lane_pc(w, lane))
      return diverged(w, lane, l);
  machine_leave(w->x->m);
  w->go = bit(w->n - 1) | (bit(w->n - 1) - 1);
  return (i->op != OP_WARP || run_together(w)) && open_lanes(w);
}

/* ---- the warp ----------------------------------------------------------- */

/* Every lane has its iteration, whether it may run or not: iteration numbers
 * identify lanes. */
static bool run_lanes(warp *w) {
  for (uint32_t l = 0; l < w->n; l++)
    if (!machine_iterate(w->x->m) ||
        ((w->go >> l & 1) &&
         machine_thread(w->x, w->first + l) == MACHINE_FAULT))
      return false;
  w->go = 0;
  return true;
}

static bool is_waiting(const warp *w) {
  for (uint32_t l = 0; l < w->n; l++)
    if (stop_of(w, l) == MACHINE_WARP) return true;
  return false;
}

static bool run_warp(warp *w) {
  if (!open_lanes(w) || !run_lanes(w)) return false;
  while (is_waiting(w)) {
    if (!exchange(w) || (!w->go && !converge(w)) || !run_lanes(w)) return false;
  }
  machine_leave(w->x->m);
  return true;
}

bool machine_warp(machine_launch *x, int64_t number) {
  machine *m = x->m;
  machine_buf *ours = x->ours + (uint64_t)number * x->nheld;
  warp w = {.x = x, .first = number * IR_WARP_LANES, .n = IR_WARP_LANES};
  if (x->threads - w.first < IR_WARP_LANES)
    w.n = (uint32_t)(x->threads - w.first);
  w.go = bit(w.n - 1) | (bit(w.n - 1) - 1);
  for (uint32_t i = 0; i < x->nheld; i++) m->buf[x->held[i]] = ours[i];
  bool ok = run_warp(&w);
  for (uint32_t i = 0; i < x->nheld; i++) ours[i] = m->buf[x->held[i]];
  return ok;
}
