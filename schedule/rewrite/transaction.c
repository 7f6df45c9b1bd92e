/* SPDX-License-Identifier: Apache-2.0
 * Apply, recheck, roll back: changes below parallel loops.
 *
 * A buffer private to an iteration (ir_lifetime_scope) may become shared when
 * blocks move, and a loop that was free of races would race.  So where there
 * are parallel, vectorized or thread loops a change is applied, the loops are
 * rechecked, and it is rolled back when one of them would race.  All of it is
 * in scratch. */
#include "ir/checkpoint.h"
#include "ir/query.h"
#include "schedule/sch.h"

/* A checkpoint in scratch, whose marks outlive the transaction. */
static ir_checkpoint *take_checkpoint(sch_state *s, ir_checkpoint_kind kind) {
  ir_checkpoint *c = arena_new(s->scratch, ir_checkpoint);
  void *room = arena_alloc(s->scratch, ir_checkpoint_size(s->p, kind));
  ir_checkpoint_take(c, s->p, kind, room);
  return c;
}

/* ---- the loops that must stay free -------------------------------------- */

static bool is_racing(const ir_program *p, ir_stmt l) {
  const ir_stmt_rec *r = ir_st(p, l);
  return r->kind == IR_LOOP &&
         (r->loop_kind == IR_PARALLEL || r->loop_kind == IR_VECTORIZED ||
          r->loop_kind == IR_THREAD);
}

static bool is_free(sch_state *s, ir_stmt l) {
  const ir_stmt_rec *r = ir_st(s->p, l);
  ir_mark mark = ir_get_mark(s->p);
  int thread = r->loop_kind == IR_THREAD ? r->thread : -1;
  bool is = sch_iterations_free(s, l, thread, 0, NULL);
  ir_rollback(s->p, mark);
  return is;
}

/* All loops whose iterations run in parallel; in scratch. */
static sch_list racing_loops(sch_state *s) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt l = root; l; l = ir_next(p, l, root)) n += is_racing(p, l);
  if (!n) return (sch_list){0, NULL};
  ir_stmt *v = arena_array(s->scratch, ir_stmt, n);
  n = 0;
  for (ir_stmt l = root; l; l = ir_next(p, l, root))
    if (is_racing(p, l)) v[n++] = l;
  return (sch_list){n, v};
}

/* Where iterations were found to conflict; the buffer may go with the change.
 */
static const char *collision_point(const sch_state *s) {
  const ir_program *p = s->p;
  ir_buf b = s->refusal.buf;
  if (!b) return "iters that are not spatial";
  bool maybe = s->refusal.reason == SCH_R_UNDECIDED;
  return arena_printf(s->scratch, "buffer \"%s\"%s",
                      ir_text(p, p->buf.v[b].name),
                      maybe ? " (not decided within the limit of effort)" : "");
}

/* A loop whose iterations may conflict, and where. */
typedef struct collision {
  ir_stmt loop;
  const char *where;
} collision;

static uint32_t find_collisions(sch_state *s, collision **out) {
  sch_list loops = racing_loops(s);
  uint32_t n = 0;
  *out = arena_array(s->scratch, collision, loops.n);
  for (uint32_t i = 0; i < loops.n; i++)
    if (!is_free(s, loops.v[i]))
      (*out)[n++] = (collision){loops.v[i], collision_point(s)};
  return n;
}

static bool transaction_is_in(sch_list l, ir_stmt s) {
  uint32_t i = 0;
  while (i < l.n && l.v[i] != s) i++;
  return i < l.n;
}

/* The loop was free, or for all that is known with the effort there is may
 * have been, in the program as it now is again.  One that the change would
 * make is a part of one that ran at once before, and has to be free. */
static bool was_free(sch_state *s, sch_list before, ir_stmt loop) {
  return !transaction_is_in(before, loop) || is_free(s, loop) ||
         s->refusal.reason == SCH_R_UNDECIDED;
}

/* ---- trying ------------------------------------------------------------- */

/* The block that `at` is in, if it is one in another. */
static ir_stmt inner_scope(const ir_program *p, ir_stmt at) {
  ir_stmt scope = at ? ir_scope_of(p, at) : 0;
  return scope && ir_st(p, scope)->parent ? scope : 0;
}

/* The change, after which blocks around declare what happens in them; where
 * it is refused, what it has made is forgotten. */
static bool transaction_apply(sch_state *s,
                              bool (*change)(sch_state *s, void *ud), void *ud,
                              ir_stmt at) {
  ir_stmt scope = inner_scope(s->p, at);
  ir_mark mark = ir_get_mark(s->p);
  bool ok = change(s, ud);
  if (!ok) ir_rollback(s->p, mark);
  if (ok && scope) sch_widen_scope(s, scope);
  return ok;
}

/* Makes the change, unless a loop that was free of races would not be any
 * more.  What was before is asked only where iterations conflict afterwards:
 * most changes leave none that do. */
static bool attempt(sch_state *s, bool (*change)(sch_state *s, void *ud),
                    void *ud, sch_list loops, ir_stmt at, sch_reason why,
                    bool keep) {
  const ir_checkpoint *before = take_checkpoint(s, IR_CHECKPOINT_UNDO);
  collision *met = NULL;
  bool ok = transaction_apply(s, change, ud, at);
  uint32_t n = ok ? find_collisions(s, &met) : 0;
  const ir_checkpoint *after =
      n && keep ? take_checkpoint(s, IR_CHECKPOINT_FULL) : NULL;
  if (!ok || n || !keep) ir_checkpoint_restore(before, s->p);
  for (uint32_t i = 0; i < n; i++) {
    ir_stmt l = transaction_is_in(loops, met[i].loop) ? met[i].loop : at;
    if (was_free(s, loops, met[i].loop))
      return sch_refuse(s, why, .s = {l, at}, .t = met[i].where);
  }
  if (after) ir_checkpoint_restore(after, s->p);
  return ok;
}

bool sch_transaction_or(sch_state *s, bool (*change)(sch_state *s, void *ud),
                        void *ud, ir_stmt at, sch_reason why) {
  sch_list loops = racing_loops(s);
  return loops.n ? attempt(s, change, ud, loops, at, why, true)
                 : transaction_apply(s, change, ud, at);
}

bool sch_transaction(sch_state *s, bool (*change)(sch_state *s, void *ud),
                     void *ud, ir_stmt at) {
  return sch_transaction_or(s, change, ud, at, SCH_R_WOULD_RACE);
}

bool sch_transaction_rollback(sch_state *s,
                              bool (*change)(sch_state *s, void *ud), void *ud,
                              ir_stmt at) {
  return attempt(s, change, ud, racing_loops(s), at, SCH_R_WOULD_RACE, true);
}

static bool any_racing(const ir_program *p, ir_stmt loop) {
  for (ir_stmt a = loop; a; a = ir_st(p, a)->parent)
    if (is_racing(p, a)) return true;
  for (ir_stmt a = loop; a; a = ir_next(p, a, loop))
    if (is_racing(p, a)) return true;
  return false;
}

static ir_walk look_for_digit(const ir_program *p, ir_expr e, void *var) {
  ir_op op = (ir_op)ir_at(p, e)->op;
  if (!ir_uses_var(p, e, *(ir_var *)var)) return IR_WALK_SKIP;
  return op == IR_DIV || op == IR_MOD ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool has_digit(const ir_program *p, ir_expr e, void *var) {
  return ir_any(p, e, look_for_digit, var);
}

/* Something runs under a condition, or where a quotient or a remainder of the
 * loop's variable says: whether what runs fills what it filled is seen of some
 * of those only. */
static bool any_intricate(const ir_program *p, ir_stmt loop) {
  ir_var v = ir_st(p, loop)->var;
  for (ir_stmt a = loop; a; a = sch_next_outside(p, a, loop)) {
    if (ir_is_block(p, a) ? ir_blk(p, a)->pred != 0 : !ir_is_loop(p, a))
      return true;
    if (ir_stmt_any_expr(p, a, has_digit, &v)) return true;
  }
  return false;
}

bool sch_transaction_loop(sch_state *s, bool (*change)(sch_state *s, void *ud),
                          void *ud, ir_stmt loop, bool guards) {
  if (any_racing(s->p, loop) && (guards || any_intricate(s->p, loop)))
    return sch_transaction(s, change, ud, loop);
  return change(s, ud);
}

static bool rehearse(sch_state *s, bool (*check)(sch_state *s, void *ud),
                     bool (*change)(sch_state *s, void *ud), void *ud,
                     ir_stmt at) {
  sch_list loops = racing_loops(s);
  if (loops.n)
    return attempt(s, change, ud, loops, at, SCH_R_WOULD_RACE, false);
  ir_mark mark = ir_get_mark(s->p);
  bool can = check(s, ud);
  ir_rollback(s->p, mark);
  return can;
}

bool sch_transaction_dry_run(sch_state *s,
                             bool (*check)(sch_state *s, void *ud),
                             bool (*change)(sch_state *s, void *ud), void *ud,
                             ir_stmt at) {
  bool was = s->quick;
  s->quick = true;
  bool can = rehearse(s, check, change, ud, at);
  s->quick = was;
  s->grows = false; /* then it cannot be done, and that is all */
  return can;
}
