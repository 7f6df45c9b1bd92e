/* SPDX-License-Identifier: Apache-2.0
 * The cycle-level simulator.  Instructions are fetched in order into the queues
 * of their units; a unit starts its next one when its tokens are there, and
 * ends it by pushing tokens, for which it waits where a FIFO is full.  A
 * transfer asks for the port to memory request by request, of which one is
 * served at a time, and ends the latency after the last.  Time goes from one
 * event to the next. */
#include "backends/dae/sim.h"
#include <string.h>

#define NEVER UINT64_MAX

typedef enum phase { IDLE, TRANSFERS, RUNS, PUSHES } phase;

typedef struct unit {
  uint32_t *order; /* its instructions */
  uint32_t count, fetched, started, done;
  phase phase;
  uint64_t at;   /* RUNS: its end; TRANSFERS: that of a request */
  uint32_t rows; /* TRANSFERS: left, this one included */
  uint64_t left; /* bytes of this row */
} unit;

typedef struct simulation {
  const dae_machine *m;
  const dae_stream *s;
  const dae_needs *needs;
  dae_times *t;
  unit unit[DAE_NUNITS];
  uint32_t *number;              /* of each instruction in its unit, from 1 */
  uint32_t *uop;                 /* on the chip */
  uint32_t token[DAE_NUNITS][2]; /* from a unit to the one before, after */
  uint64_t now, next_fetch, bus_free;
  uint32_t fetched;
  int turn; /* the unit that the port served last */
} simulation;

/* ---- how long ---------------------------------------------------------- */

/* The first micro-operation brings its weights, others those that differ. */
static uint64_t count_preloads(const dae_machine *m, const dae_insn *i,
                               const uint32_t *uop) {
  uint64_t n = 0;
  int64_t last = -1;
  for (uint32_t out = 0; out < i->iter[0]; out++)
    for (uint32_t in = 0; in < i->iter[1]; in++)
      for (uint32_t u = i->uop_bgn; u < i->uop_end; u++) {
        int64_t w = (int64_t)dae_decode_uop(m, uop[u]).index[2] +
                    out * i->factor[2][0] + in * i->factor[2][1];
        n += w != last;
        last = w;
      }
  return n;
}

static uint64_t count_uops(const dae_insn *i) {
  uint64_t uops = i->uop_end > i->uop_bgn ? i->uop_end - i->uop_bgn : 0;
  return uops * i->iter[0] * i->iter[1];
}

uint64_t dae_compute_cycles(const dae_machine *m, const dae_insn *i,
                            const uint32_t *uop) {
  uint64_t n = count_uops(i), cycles = 0;
  if (i->op == DAE_ALU)
    return (uint64_t)m->alu_depth + n * (uint64_t)m->alu_interval;
  if (i->op != DAE_GEMM) return 0;
  if (m->gemm_preload && !i->reset)
    cycles = count_preloads(m, i, uop) * (uint64_t)m->gemm_preload;
  return cycles + (uint64_t)m->gemm_depth + n * (uint64_t)m->gemm_interval;
}

/* Zeros are written an entry a cycle, after what comes from memory. */
static uint64_t count_zeros(const dae_insn *i) {
  return (uint64_t)dae_rows(i) * dae_columns(i) - (uint64_t)i->y * i->x;
}

/* ---- starting and ending ----------------------------------------------- */

static uint32_t *token_to(simulation *x, int u, int side) {
  return side ? &x->token[u + 1][0] : &x->token[u - 1][1];
}

static bool needs_are_done(const simulation *x, uint32_t i) {
  for (int u = 0; u < DAE_NUNITS; u++) {
    uint32_t on = x->needs[i].on[u];
    if (on != DAE_NO_INSN && x->unit[u].done < x->number[on]) return false;
  }
  return true;
}

static bool may_start(simulation *x, int u, uint32_t at) {
  const dae_insn *i = &x->s->insn.v[at];
  if (!x->m->tokens) return needs_are_done(x, at);
  for (int side = 0; side < 2; side++)
    if (dae_pops(i, side) && (!dae_has_side(u, side) || !*token_to(x, u, side)))
      return false;
  return true;
}

/* The micro-operations that a load brings are there when it ends; no other
 * instruction runs in that unit meanwhile. */
static void load_uops(simulation *x, const dae_insn *i) {
  uint32_t n = i->y * i->x;
  if (i->mem == DAE_UOP && n)
    memcpy(x->uop + i->sram, x->s->uop.v + (i->dram - x->s->uop_dram),
           n * sizeof *x->uop);
}

static void start_insn(simulation *x, int u) {
  unit *w = &x->unit[u];
  uint32_t at = w->order[w->started++];
  const dae_insn *i = &x->s->insn.v[at];
  bool moves = i->op == DAE_LOAD || i->op == DAE_STORE;
  for (int side = 0; x->m->tokens && side < 2; side++)
    if (dae_pops(i, side)) --*token_to(x, u, side);
  x->t->start[at] = x->now;
  w->phase = RUNS;
  w->at =
      x->now + (moves ? count_zeros(i) : dae_compute_cycles(x->m, i, x->uop));
  if (i->op == DAE_GEMM && !i->reset) x->t->products += count_uops(i);
  if (!moves || !i->y || !i->x) return;
  load_uops(x, i);
  w->phase = TRANSFERS;
  w->rows = i->y;
  w->left = (uint64_t)i->x * (uint64_t)dae_entry(x->m, i->mem);
  w->at = x->now;
}

static bool try_push(simulation *x, int u, const dae_insn *i) {
  for (int side = 0; side < 2; side++)
    if (dae_pushes(i, side) &&
        (!dae_has_side(u, side) || x->token[u][side] >= x->m->tokens))
      return false;
  for (int side = 0; side < 2; side++)
    if (dae_pushes(i, side)) x->token[u][side]++;
  return true;
}

static bool try_end(simulation *x, int u) {
  unit *w = &x->unit[u];
  uint32_t at = w->order[w->started - 1];
  w->phase = PUSHES;
  if (x->m->tokens && !try_push(x, u, &x->s->insn.v[at])) return false;
  w->phase = IDLE;
  w->done++;
  x->t->end[at] = x->now;
  x->t->busy[u] += x->now - x->t->start[at];
  return true;
}

/* ---- the port to memory ------------------------------------------------ */

static bool wants_bus(const simulation *x, int u) {
  const unit *w = &x->unit[u];
  return w->phase == TRANSFERS && w->rows && w->at <= x->now;
}

/* Round robin begins after the unit that was served last. */
static int choose_unit(const simulation *x) {
  for (int k = 0; k < DAE_NUNITS; k++) {
    int u = x->m->priority ? k : (x->turn + 1 + k) % DAE_NUNITS;
    if (wants_bus(x, u)) return u;
  }
  return -1;
}

static bool grant_bus(simulation *x) {
  int u = x->bus_free <= x->now ? choose_unit(x) : -1;
  if (u < 0) return false;
  unit *w = &x->unit[u];
  const dae_insn *i = &x->s->insn.v[w->order[w->started - 1]];
  uint64_t bus = (uint64_t)x->m->bus, most = bus * (uint64_t)x->m->beats;
  uint64_t part = w->left < most ? w->left : most;
  w->at = x->bus_free = x->now + (uint64_t)x->m->burst + (part + bus - 1) / bus;
  x->t->bus += x->bus_free - x->now;
  x->t->bytes += part;
  x->turn = u;
  w->left -= part;
  if (w->left) return true;
  w->left = (uint64_t)i->x * (uint64_t)dae_entry(x->m, i->mem);
  w->rows--;
  return true;
}

/* The last request was served. */
static bool end_transfer(simulation *x, unit *w) {
  if (w->phase != TRANSFERS || w->rows || w->at > x->now) return false;
  w->phase = RUNS;
  w->at = x->now + (uint64_t)x->m->latency +
          count_zeros(&x->s->insn.v[w->order[w->started - 1]]);
  return true;
}

/* ---- time -------------------------------------------------------------- */

static bool can_fetch(const simulation *x) {
  if (x->fetched == x->s->insn.n) return false;
  dae_unit u = dae_unit_of(&x->s->insn.v[x->fetched]);
  return x->unit[u].fetched - x->unit[u].started < x->m->queue[u];
}

static bool fetch(simulation *x) {
  if (!can_fetch(x) || x->next_fetch > x->now) return false;
  x->unit[dae_unit_of(&x->s->insn.v[x->fetched++])].fetched++;
  x->next_fetch = x->now + (uint64_t)x->m->fetch;
  return true;
}

static bool step_unit(simulation *x, int u) {
  unit *w = &x->unit[u];
  if (end_transfer(x, w)) return true;
  if (w->phase == PUSHES || (w->phase == RUNS && w->at <= x->now))
    return try_end(x, u);
  if (w->phase != IDLE || w->started == w->fetched ||
      !may_start(x, u, w->order[w->started]))
    return false;
  start_insn(x, u);
  return true;
}

static bool step(simulation *x) {
  bool moved = fetch(x);
  for (int u = 0; u < DAE_NUNITS; u++) moved |= step_unit(x, u);
  return grant_bus(x) || moved;
}

static void consider(const simulation *x, uint64_t at, uint64_t *next) {
  if (at > x->now && at < *next) *next = at;
}

static uint64_t next_event(const simulation *x) {
  uint64_t next = NEVER;
  bool waits = false;
  if (can_fetch(x)) consider(x, x->next_fetch, &next);
  for (int u = 0; u < DAE_NUNITS; u++) {
    const unit *w = &x->unit[u];
    if (w->phase == RUNS || w->phase == TRANSFERS) consider(x, w->at, &next);
    waits |= w->phase == TRANSFERS && w->rows;
  }
  if (waits) consider(x, x->bus_free, &next);
  return next;
}

static void start_simulation(simulation *x, arena *a) {
  uint32_t n = x->s->insn.n;
  x->uop = arena_zalloc(a, (size_t)x->m->bytes[DAE_UOP]);
  x->number = arena_array(a, uint32_t, n + 1);
  x->t->start = arena_array(a, uint64_t, n + 1);
  x->t->end = arena_array(a, uint64_t, n + 1);
  for (int u = 0; u < DAE_NUNITS; u++)
    x->unit[u].order = arena_array(a, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    unit *w = &x->unit[dae_unit_of(&x->s->insn.v[i])];
    w->order[w->count] = i;
    x->number[i] = ++w->count;
    x->t->start[i] = x->t->end[i] = NEVER;
  }
}

void dae_simulate(const dae_machine *m, const dae_stream *s,
                  const dae_needs *needs, arena *a, dae_times *out) {
  simulation x = {.m = m, .s = s, .needs = needs, .t = out, .turn = DAE_STORES};
  *out = (dae_times){0};
  start_simulation(&x, a);
  for (uint64_t next = 0; next != NEVER; next = next_event(&x)) {
    x.now = next;
    while (step(&x)) continue;
  }
  out->cycles = x.now;
  for (int u = 0; u < DAE_NUNITS; u++)
    out->is_stuck |= x.unit[u].done < x.unit[u].count;
}
