/* SPDX-License-Identifier: Apache-2.0
 * Applying one schedule module to one block; see apply.h. */
#include "search/space/apply.h"

#include <stdio.h>

/* ---- lists of schedules ------------------------------------------------- */

void space_list_drop(space_list *l) {
  for (uint32_t i = 0; i < l->s.n; i++) tess_schedule_free(l->s.v[i]);
  vec_free(&l->c->heap, &l->s);
  vec_free(&l->c->heap, &l->done);
}

typedef struct push_work {
  space_list *l;
  tess_schedule *s;
} push_work;
static tess_status push_schedule(void *ud) {
  push_work *w = ud;
  vec_reserve(&w->l->c->heap, &w->l->done, 1);
  vec_push(&w->l->c->heap, &w->l->s, w->s);
  vec_push(&w->l->c->heap, &w->l->done, w->l->now);
  return TESS_OK;
}

void space_list_add(void *list, tess_schedule *s) {
  space_list *l = list;
  push_work w = {l, s};
  bool twice = false;
  for (uint32_t i = 0; i < l->s.n; i++) twice = twice || l->s.v[i] == s;
  if (!s || twice) {
    l->refused = s ? "it gave a schedule twice" : "it gave NULL for a schedule";
    return;
  }
  if (s == l->given) l->given = NULL;
  if (s->program != l->program && !tess_program_equal(s->program, l->program)) {
    tess_schedule_free(s);
    l->refused = "it gave a schedule of another program";
    return;
  }
  tess_status st = mem_protect(&l->c->heap, push_schedule, &w);
  if (st == TESS_OK) return;
  tess_schedule_free(s);
  l->failed = st;
}

/* Calls the module with a schedule, which is freed unless it is emitted. */
static tess_status call_module(const tess_module *m, tess_schedule *given,
                               tess_rv block, space_list *to,
                               const char **why) {
  tess_schedule_sketch_mode(given, 1);
  to->given = given;
  tess_status st = m->apply(m->ud, given, block, space_list_add, to, why);
  const err_state *e = &to->c->err;
  if (st != TESS_OK && !*why && e->code == st) {
    snprintf(to->said, sizeof to->said, "%s", e->message);
    *why = to->said;
  }
  tess_schedule_free(to->given);
  to->given = NULL;
  return st;
}

tess_status space_list_add_copy(space_list *to, tess_schedule *s) {
  tess_schedule *copy;
  tess_status st = tess_schedule_copy(s, &copy);
  if (st != TESS_OK) return st;
  space_list_add(to, copy);
  return to->failed;
}

/* ---- one draw ----------------------------------------------------------- */

/* Without a name it is 0, as the whole program is. */
static tess_status find_block(tess_schedule *s, const char *name,
                              tess_rv *out) {
  tess_arg arg = {"name", {.kind = TESS_V_STR, .s = name}};
  uint32_t n;
  *out = 0;
  tess_schedule_place(s, "", 0);
  if (!name) return TESS_OK;
  return tess_schedule_call(s, "get_block", 1, &arg, 1, out, &n, NULL);
}

/* Whether memory ran out in the module, even if it reported something else: the
 * heap has refused more often than the `capped` times before. */
static tess_status ran_out(const space_list *to, tess_status st,
                           uint64_t capped) {
  bool module_failed =
      st != TESS_OK && st != TESS_NOT_FOUND && st != TESS_CANCELLED;
  if (to->failed || st == TESS_NOMEM) return to->failed ? to->failed : st;
  return module_failed && to->c->heap.capped > capped ? TESS_LIMIT : TESS_OK;
}

static tess_status fail_out(const tess_module *m, const char *block,
                            tess_context *c, tess_status st) {
  return block ? ctx_ran_out(c, st, "applying module %s at block %s", m->name,
                             block)
               : ctx_ran_out(c, st, "the scheduling function");
}

/* Draws differ by the seed from those of the others that are tried. */
static tess_status apply_drawn(const tess_module *m, tess_schedule *s,
                               const char *block, uint64_t draw, space_list *to,
                               space_outcome *o) {
  tess_schedule *copy;
  tess_rv rv;
  const char *why = NULL;
  uint64_t capped = to->c->heap.capped;
  tess_status st = tess_schedule_copy(s, &copy);
  if (st != TESS_OK) return st;
  copy->s.seed += draw;
  st = find_block(copy, block, &rv);
  if (st == TESS_OK) {
    st = call_module(m, copy, rv, to, &why);
  } else {
    tess_schedule_free(copy);
    if (st != TESS_NOMEM && st != TESS_LIMIT) {
      why = "the block is gone";
      st = TESS_NOT_FOUND;
    }
  }
  tess_status out = ran_out(to, st, capped);
  if (out != TESS_OK) return fail_out(m, block, to->c, out);
  if (st == TESS_CANCELLED) return st;
  if (to->refused) {
    st = TESS_INVALID;
    why = to->refused;
  }
  o->status = st;
  snprintf(o->why, sizeof o->why, "%s", why ? why : "");
  return TESS_OK;
}

/* ---- several ------------------------------------------------------------ */

static bool has_failed(const space_outcome *o) {
  return o->status != TESS_OK && o->status != TESS_NOT_FOUND;
}

/* Is this the better one, of more schedules or with nothing left out? */
static bool is_better(const space_list *l, const space_outcome *o,
                      const space_list *best, const space_outcome *of_best) {
  if (has_failed(o) || l->s.n == 0) return false;
  return l->s.n != best->s.n ? l->s.n > best->s.n : !*o->why && *of_best->why;
}

/* May other draws give more?  What was left out has a reason. */
static bool is_lacking(const space_outcome *o) {
  return *o->why && (!has_failed(o) || o->status == TESS_REFUSED);
}

/* Applies it with other draws, as long as something is left out and there are
 * some; *best and *o are the best of what was tried. */
static tess_status draw_again(const tess_module *m, tess_schedule *s,
                              const char *block, space_list *best,
                              space_outcome *o) {
  enum { DRAWS = 8 };
  const space_list none = {
      .c = best->c, .program = best->program, .now = best->now};
  for (uint64_t draw = 1; draw < DRAWS && is_lacking(o); draw++) {
    space_list made = none;
    space_outcome now;
    uint64_t before = best->c->draws;
    tess_status st = apply_drawn(m, s, block, draw, &made, &now);
    if (st == TESS_OK && is_better(&made, &now, best, o)) {
      space_list worse = *best;
      *best = made;
      made = worse;
      *o = now;
    }
    bool drew = best->c->draws != before;
    space_list_drop(&made);
    if (st != TESS_OK) return st;
    if (!drew) break;
  }
  return TESS_OK;
}

/* Moves what was emitted. */
static tess_status take_all(space_list *from, space_list *to) {
  uint32_t n = from->s.n;
  from->s.n = 0;
  for (uint32_t i = 0; i < n; i++) space_list_add(to, from->s.v[i]);
  return to->failed;
}

tess_status space_apply(const tess_module *m, tess_schedule *s,
                        const char *block, space_list *to, space_outcome *o) {
  space_list made = {.c = to->c, .program = to->program, .now = to->now};
  uint64_t before = to->c->draws;
  tess_status st = apply_drawn(m, s, block, 0, &made, o);
  if (st == TESS_OK && to->c->draws != before)
    st = draw_again(m, s, block, &made, o);
  if (st == TESS_OK && !has_failed(o)) st = take_all(&made, to);
  space_list_drop(&made);
  return st;
}
