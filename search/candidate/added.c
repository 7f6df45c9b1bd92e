/* SPDX-License-Identifier: Apache-2.0
 * What comes from outside into a session at work: sketches that the space does
 * not have, and proposals that are none and cost a trial. */
#include "search/candidate/session.h"

enum { MOST_ADDED = 1024, MOST_REASONS = 16 };

typedef struct added_work {
  tess_session *s;
  const vm_trace *t;
  const char *why;
} added_work;

/* The list of all is made anew, since that of the space is the caller's. */
static tess_status add_sketch(void *ud) {
  const added_work *w = ud;
  tess_session *s = w->s;
  mem_heap *h = &s->c->heap;
  vm_trace *own = arena_zalloc(&s->keep, sizeof *own);
  const vm_trace **all =
      arena_array(&s->keep, const vm_trace *, s->nsketch + 1);
  vec_reserve(h, &s->added, 1);
  vm_trace_init(own, h);
  s->added.v[s->added.n++] = own;
  vm_trace_copy(own, w->t);
  vm_open_decisions(own);
  memcpy(all, s->sketch, s->nsketch * sizeof *all);
  all[s->nsketch++] = own;
  s->sketch = all;
  return TESS_OK;
}

tess_status session_add_sketch(tess_session *s, const vm_trace *t,
                               uint32_t *sketch) {
  added_work w = {.s = s, .t = t};
  *sketch = s->nsketch;
  if (s->added.n == MOST_ADDED)
    return ctx_fail(s->c, TESS_LIMIT,
                    "there are %d schedules beside those of the space already",
                    MOST_ADDED);
  return mem_protect(&s->c->heap, add_sketch, &w);
}

/* The text that is kept of this reason; of what has too many, one for all. */
static const char *text_of_waste(tess_session *s, const char *why) {
  enum { MOST = 512 };
  char line[MOST];
  err_one_line(why, line, MOST);
  for (uint32_t i = 0; i < s->wasted.why.n; i++)
    if (!strcmp(s->wasted.why.v[i], line)) return s->wasted.why.v[i];
  if (s->wasted.why.n == MOST_REASONS) return "for further reasons";
  size_t bytes = strlen(line) + 1;
  char *kept = arena_array(&s->keep, char, bytes);
  memcpy(kept, line, bytes);
  vec_push(&s->c->heap, &s->wasted.why, kept);
  return kept;
}

static tess_status count_waste(void *ud) {
  const added_work *w = ud;
  funnel_add(&w->s->total, &w->s->c->heap, FUNNEL_WASTED, "",
             text_of_waste(w->s, w->why), 0);
  return TESS_OK;
}

tess_status session_waste(tess_session *s, const char *why) {
  added_work w = {.s = s, .why = why};
  s->wasted.n++;
  return mem_protect(&s->c->heap, count_waste, &w);
}
