/* SPDX-License-Identifier: Apache-2.0
 * Built-in strategies behind the functions that a host's has: their state, and
 * the frame of the context's heap that each call is made in. */
#include "search/strategy/strategy.h"

#include <stddef.h>

typedef struct opened {
  mem_heap *heap;
  const search_strategy *of;
  double option[SEARCH_MOST_OPTIONS];
  strategy_batch batch;
  strbuf text; /* of the option that is one */
  max_align_t state[];
} opened;

/* A call at work. */
typedef struct framed {
  opened *o;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
  const tess_candidate *seen;
} framed;

static tess_status begin_framed(void *ud) {
  const framed *f = ud;
  opened *o = f->o;
  return o->of->begin(o->state, f->s, o->option, &o->batch);
}

static tess_status propose_framed(void *ud) {
  const framed *f = ud;
  return f->o->of->propose(f->o->state, f->s, f->n, f->out, f->got);
}

static tess_status observe_framed(void *ud) {
  const framed *f = ud;
  return f->o->of->observe(f->o->state, f->s, f->n, f->seen);
}

static tess_status strategy_propose(void *ud, tess_session *s, uint32_t n,
                                    tess_candidate *out, uint32_t *got) {
  framed f = {.o = ud, .s = s, .n = n, .got = got, .out = out};
  *got = 0;
  return mem_protect(f.o->heap, propose_framed, &f);
}

static tess_status strategy_observe(void *ud, tess_session *s, uint32_t n,
                                    const tess_candidate *c) {
  framed f = {.o = ud, .s = s, .n = n, .seen = c};
  return mem_protect(f.o->heap, observe_framed, &f);
}

static size_t opened_bytes(const search_strategy *of) {
  return offsetof(opened, state) + of->bytes;
}

static void strategy_free(void *ud) {
  opened *o = ud;
  if (o->of->end) o->of->end(o->state);
  batch_free(&o->batch);
  str_free(&o->text);
  mem_free(o->heap, o, opened_bytes(o->of));
}

tess_status strategy_start(tess_session *s, const search_strategy *of,
                           const double *option, const char *text,
                           tess_strategy *out) {
  mem_heap *h = &s->c->heap;
  size_t bytes = opened_bytes(of);
  opened *o = mem_try_resize(h, NULL, 0, bytes);
  *out = (tess_strategy){0};
  if (!o) return mem_refusal(h);
  memset(o, 0, bytes);
  o->heap = h;
  o->of = of;
  if (of->noption) memcpy(o->option, option, of->noption * sizeof *option);
  batch_init(&o->batch, h);
  str_init(&o->text, h);
  if (text) str_puts(&o->text, text);
  if (text) o->batch.text = str_get(&o->text);
  tess_status st = str_status(&o->text);
  if (st == TESS_OK)
    st = mem_protect(h, begin_framed, &(framed){.o = o, .s = s});
  if (st == TESS_OK)
    *out = (tess_strategy){.name = of->name,
                           .propose = strategy_propose,
                           .observe = of->observe ? strategy_observe : NULL,
                           .free = strategy_free,
                           .ud = o};
  else
    strategy_free(o);
  return st;
}

void *strategy_state(const tess_strategy *s) {
  opened *o = s->ud;
  return o->state;
}
