/* SPDX-License-Identifier: Apache-2.0
 * Verifies the tokens of a stream.  What tokens order does not depend on times:
 * the k-th pop of a FIFO takes the k-th push.  So units are run one after the
 * other as far as tokens let them, each instruction getting the clocks of what
 * it waited for; where none can go on there is a deadlock. */
#include "backends/dae/depend.h"
#include <string.h>

enum { NO_TOKEN = UINT32_MAX };

/* The tokens from a unit to a neighbour, by their numbers. */
typedef struct fifo {
  uint32_t pushed, popped;
  uint32_t *by, *taker; /* instructions; taker: NO_TOKEN while there is none */
} fifo;

typedef struct verifying {
  const dae_machine *m;
  const dae_stream *s;
  const dae_needs *needs;
  uint32_t *number; /* of each instruction in its unit, from 1 */
  uint32_t *order[DAE_NUNITS], count[DAE_NUNITS];
  uint32_t at[DAE_NUNITS];  /* how many of each unit are done */
  dae_clocks *clock;        /* of each instruction, itself included */
  fifo fifo[DAE_NUNITS][2]; /* from a unit to the one before, after */
  uint32_t ignored;         /* instruction that pushes, */
  int ignored_side;         /* and where to: this token orders nothing */
} verifying;

static fifo *fifo_to(verifying *v, dae_unit u, int side) {
  return side ? &v->fifo[u + 1][0] : &v->fifo[u - 1][1];
}

static void start_verifying(verifying *v, arena *a) {
  uint32_t n = v->s->insn.n;
  v->number = arena_array(a, uint32_t, n + 1);
  v->clock = arena_array(a, dae_clocks, n + 1);
  for (int u = 0; u < DAE_NUNITS; u++) {
    v->order[u] = arena_array(a, uint32_t, n + 1);
    for (int side = 0; side < 2; side++) {
      fifo *f = &v->fifo[u][side];
      f->by = arena_array(a, uint32_t, n + 1);
      f->taker = arena_array(a, uint32_t, n + 1);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    dae_unit u = dae_unit_of(&v->s->insn.v[i]);
    v->order[u][v->count[u]] = i;
    v->number[i] = ++v->count[u];
  }
}

/* What keeps the next instruction of unit u: the side whose token it lacks, or
 * 2 + the side whose FIFO is full; -1: nothing. */
static int find_obstacle(verifying *v, dae_unit u) {
  const dae_insn *i = &v->s->insn.v[v->order[u][v->at[u]]];
  for (int side = 0; side < 2; side++) {
    if (dae_pops(i, side) &&
        (!dae_has_side(u, side) ||
         fifo_to(v, u, side)->pushed == fifo_to(v, u, side)->popped))
      return side;
    if (!dae_pushes(i, side)) continue;
    const fifo *f = &v->fifo[u][side];
    if (!dae_has_side(u, side) ||
        f->pushed - f->popped >= (uint64_t)v->m->tokens)
      return 2 + side;
  }
  return -1;
}

static void perform(verifying *v, dae_unit u) {
  uint32_t at = v->order[u][v->at[u]++];
  const dae_insn *i = &v->s->insn.v[at];
  dae_clocks *c = &v->clock[at];
  *c = (dae_clocks){{0}};
  if (v->at[u] > 1) *c = v->clock[v->order[u][v->at[u] - 2]];
  c->done[u] = v->at[u];
  for (int side = 0; side < 2; side++) {
    if (!dae_pops(i, side)) continue;
    fifo *f = fifo_to(v, u, side);
    uint32_t by = f->by[f->popped];
    f->taker[f->popped++] = at;
    if (by != v->ignored || v->ignored_side != side) dae_join(c, &v->clock[by]);
  }
  for (int side = 0; side < 2; side++) {
    fifo *f = &v->fifo[u][side];
    if (!dae_pushes(i, side)) continue;
    f->by[f->pushed] = at;
    f->taker[f->pushed++] = NO_TOKEN;
  }
}

/* Performs what can be; true: all of it. */
static bool perform_all(verifying *v) {
  bool moved = true;
  memset(v->at, 0, sizeof v->at);
  for (int u = 0; u < DAE_NUNITS; u++)
    for (int side = 0; side < 2; side++)
      v->fifo[u][side].pushed = v->fifo[u][side].popped = 0;
  while (moved) {
    moved = false;
    for (int u = 0; u < DAE_NUNITS; u++)
      for (; v->at[u] < v->count[u] && find_obstacle(v, (dae_unit)u) < 0;
           moved = true)
        perform(v, (dae_unit)u);
  }
  bool all = true;
  for (int u = 0; u < DAE_NUNITS; u++) all &= v->at[u] == v->count[u];
  return all;
}

/* ---- races ------------------------------------------------------------- */

static bool holds(const verifying *v, uint32_t i, int on) {
  uint32_t other = v->needs[i].on[on];
  return other == DAE_NO_INSN || v->clock[i].done[on] >= v->number[other];
}

static void put_insn(const verifying *v, uint32_t i, strbuf *out) {
  str_printf(out, "%u (", i);
  dae_print_insn(v->m, &v->s->insn.v[i], out);
  str_putc(out, ')');
}

static bool report_races(const verifying *v, strbuf *out) {
  bool none = true;
  for (uint32_t i = 0; i < v->s->insn.n; i++)
    for (int u = 0; u < DAE_NUNITS; u++) {
      if (holds(v, i, u)) continue;
      none = false;
      str_puts(out, "race: instruction ");
      put_insn(v, i, out);
      str_puts(out, " does not wait for ");
      put_insn(v, v->needs[i].on[u], out);
      str_putc(out, '\n');
    }
  return none;
}

static bool has_races(const verifying *v) {
  for (uint32_t i = 0; i < v->s->insn.n; i++)
    for (int u = 0; u < DAE_NUNITS; u++)
      if (!holds(v, i, u)) return true;
  return false;
}

/* ---- deadlocks --------------------------------------------------------- */

/* The unit that a stuck one waits for; DAE_NUNITS: there is none. */
static dae_unit waits_for(verifying *v, dae_unit u) {
  int side = find_obstacle(v, u) % 2;
  if (!dae_has_side(u, side)) return DAE_NUNITS;
  return (dae_unit)(side ? u + 1 : u - 1);
}

static bool is_stuck(const verifying *v, dae_unit u) {
  return u < DAE_NUNITS && v->at[u] < v->count[u];
}

static void report_obstacle(verifying *v, dae_unit u, strbuf *out) {
  dae_unit other = waits_for(v, u);
  str_puts(out, "  ");
  put_insn(v, v->order[u][v->at[u]], out);
  if (other == DAE_NUNITS)
    str_puts(out, " names a neighbour that there is none of\n");
  else
    str_printf(out, " waits for %s the %s unit%s\n",
               find_obstacle(v, u) < 2 ? "a token of" : "room for a token to",
               dae_unit_name(other),
               is_stuck(v, other) ? "" : ", which has nothing left to do");
}

/* Going as many times as there are units from a stuck one to what it waits for
 * leads into the cycle, where there is one. */
static void report_deadlock(verifying *v, strbuf *out) {
  dae_unit u = DAE_LOADS;
  while (!is_stuck(v, u)) u = (dae_unit)(u + 1);
  for (int k = 0; k < DAE_NUNITS && is_stuck(v, waits_for(v, u)); k++)
    u = waits_for(v, u);
  str_puts(out, "deadlock:\n");
  bool seen[DAE_NUNITS] = {false};
  for (; is_stuck(v, u) && !seen[u]; u = waits_for(v, u)) {
    seen[u] = true;
    report_obstacle(v, u, out);
  }
}

/* ---- tokens ------------------------------------------------------------ */

static bool report_left(verifying *v, strbuf *out) {
  bool none = true;
  for (int u = 0; u < DAE_NUNITS; u++)
    for (int side = 0; side < 2; side++) {
      const fifo *f = &v->fifo[u][side];
      for (uint32_t k = f->popped; k < f->pushed; k++, none = false) {
        str_puts(out, "left: nobody takes the token of instruction ");
        put_insn(v, f->by[k], out);
        str_printf(out, " to the %s unit\n",
                   dae_unit_name((uint32_t)(side ? u + 1 : u - 1)));
      }
    }
  return none;
}

/* Tokens without which everything is in order, too. */
static void report_idle(verifying *v, arena *a, strbuf *out) {
  for (int u = 0; u < DAE_NUNITS; u++)
    for (int side = 0; side < 2; side++) {
      uint32_t n = v->fifo[u][side].popped;
      uint32_t *by = arena_array(a, uint32_t, n + 1);
      uint32_t *taker = arena_array(a, uint32_t, n + 1);
      memcpy(by, v->fifo[u][side].by, n * sizeof *by);
      memcpy(taker, v->fifo[u][side].taker, n * sizeof *taker);
      for (uint32_t k = 0; k < n; k++) {
        v->ignored = by[k];
        v->ignored_side = !side; /* as the taker sees it */
        bool needed = !perform_all(v) || has_races(v);
        v->ignored = NO_TOKEN;
        if (needed) continue;
        str_puts(out, "idle: the token of instruction ");
        put_insn(v, by[k], out);
        str_puts(out, " for ");
        put_insn(v, taker[k], out);
        str_puts(out, " orders nothing\n");
      }
    }
  perform_all(v);
}

bool dae_verify(const dae_machine *m, const dae_stream *s,
                const dae_needs *needs, bool idle, arena *a, strbuf *out) {
  verifying v = {.m = m, .s = s, .needs = needs, .ignored = NO_TOKEN};
  if (!m->tokens) return true;
  start_verifying(&v, a);
  if (!perform_all(&v)) {
    report_deadlock(&v, out);
    return false;
  }
  bool ok = report_races(&v, out);
  ok &= report_left(&v, out);
  if (ok && idle) report_idle(&v, a, out);
  return ok;
}

/* ---- which dependence made which --------------------------------------- */

/* The need that the token of `by` for `i` satisfies: one on the pusher's unit,
 * else, through a nop, on the unit beyond. */
static void print_token(const verifying *v, uint32_t by, uint32_t i,
                        strbuf *out) {
  uint32_t need = v->needs[i].on[dae_unit_of(&v->s->insn.v[by])];
  str_printf(out, "%s -> %s: %u waits for %u",
             dae_unit_name(dae_unit_of(&v->s->insn.v[by])),
             dae_unit_name(dae_unit_of(&v->s->insn.v[i])), i, by);
  str_puts(out, need == by ? ", "
                : dae_is_nop(&v->s->insn.v[by]) || dae_is_nop(&v->s->insn.v[i])
                    ? ", passed on: "
                    : ", for others after it: ");
  dae_print_insn(v->m, &v->s->insn.v[by], out);
  str_puts(out, " before ");
  dae_print_insn(v->m, &v->s->insn.v[i], out);
  str_putc(out, '\n');
}

void dae_print_tokens(const dae_machine *m, const dae_stream *s,
                      const dae_needs *needs, arena *a, strbuf *out) {
  verifying v = {.m = m, .s = s, .needs = needs, .ignored = NO_TOKEN};
  if (!m->tokens) {
    str_puts(out, "the machine finds dependences itself\n");
    return;
  }
  start_verifying(&v, a);
  perform_all(&v);
  for (int u = 0; u < DAE_NUNITS; u++)
    for (int side = 0; side < 2; side++) {
      const fifo *f = &v.fifo[u][side];
      for (uint32_t k = 0; k < f->popped; k++)
        print_token(&v, f->by[k], f->taker[k], out);
    }
}
