/* SPDX-License-Identifier: Apache-2.0
 * What a proposing process is told, as lines of JSON: the task and the space
 * once, and with each request what is known by then. */
#include "search/strategy/process.h"
#include "vm/space.h"
#include "vm/text/text.h"

#include <inttypes.h>

enum {
  MOST_BEST = 4,     /* of the best, with their schedules */
  MOST_RECENT = 256, /* outcomes */
  MOST_VALUES = 64   /* of a decision, that are listed */
};

/* ---- pieces ------------------------------------------------------------- */

static void put_text(strbuf *out, const char *s) {
  vm_write_string(out, s, strlen(s));
}

static void put_member(strbuf *out, const char *key, const char *s) {
  str_printf(out, ",\"%s\":", key);
  put_text(out, s);
}

static void put_row(strbuf *out, uint32_t n, const int64_t *d) {
  str_putc(out, '[');
  for (uint32_t i = 0; i < n; i++)
    str_printf(out, "%s%" PRId64, i ? "," : "", d[i]);
  str_putc(out, ']');
}

/* "sketch":1,"decisions":[[2,32],[16]] */
static void put_candidate(strbuf *out, const search_cand *c) {
  vm_cursor at = {c->d, c->n, 0};
  const int64_t *d;
  uint32_t n;
  str_printf(out, "\"sketch\":%u,\"decisions\":[", c->sketch + 1);
  for (int i = 0; vm_cursor_next(&at, &n, &d); i++) {
    if (i) str_putc(out, ',');
    put_row(out, n, d);
  }
  str_putc(out, ']');
}

/* A text of the library's as the member `key`, and frees it. */
static tess_status put_given(tess_session *s, tess_status st, const char *key,
                             char *text, strbuf *out) {
  if (st != TESS_OK) return st;
  put_member(out, key, text);
  tess_text_free(s->c, text);
  return TESS_OK;
}

static tess_status put_schedule(tess_session *s, tess_trace *t, strbuf *out) {
  char *text = NULL;
  tess_status st = tess_trace_lua(t, &text);
  return put_given(s, st, "trace", text, out);
}

/* ---- the space ---------------------------------------------------------- */

typedef struct domain_work {
  tess_session *s;
  const vm_trace *t;
  uint32_t inst; /* from 0 */
  strbuf *out;
  vm_space space;
} domain_work;

/* In the frame of worker 0's heap. */
static tess_status find_domain(void *ud) {
  domain_work *w = ud;
  const vm_replay_opts o = {.source = VM_SAME};
  return vm_alternatives(&w->s->worker[0].m, w->s->base, w->t, &o, w->inst,
                         MOST_VALUES, &w->space);
}

/* How many values the decision has where those before it are as in the trace,
 * and the first of them. */
static void put_domain(domain_work *w) {
  mem_heap *h = &w->s->worker[0].heap;
  const vm_space *x = &w->space;
  if (mem_protect(h, find_domain, w) == TESS_OK) {
    str_printf(w->out, ",\"count\":%" PRIu64 ",\"values\":[", x->count);
    for (uint32_t i = 0; i < x->n; i++) {
      if (i) str_putc(w->out, ',');
      put_row(w->out, x->width, x->decision.v + (size_t)i * x->width);
    }
    str_putc(w->out, ']');
  }
  vm_space_free(&w->space, h);
  w->space = (vm_space){0};
}

static void put_integer(strbuf *out, vm_value v) {
  str_printf(out, "%" PRId64, v.i);
}

/* What the instruction was given: an integer, or a list of such. */
static void put_attribute(const vm_trace *t, uint32_t k, uint32_t spec,
                          strbuf *out) {
  const sch_spec *x = &t->inst.v[k].prim->specs[spec];
  vm_value v = vm_operand(t, k, spec);
  bool is_list = v.tag == VM_LIST && x->kind == SCH_KIND_INTS;
  if (x->role != SCH_ROLE_ATTR) return;
  if (v.tag == VM_NIL && x->kind == SCH_KIND_INT) v = vm_int(x->dflt.i);
  if (v.tag != VM_INT && !is_list) return;
  str_printf(out, ",\"%s\":", x->name);
  if (!is_list) {
    put_integer(out, v);
    return;
  }
  for (uint32_t i = 0; i < v.n; i++) {
    str_putc(out, i ? ',' : '[');
    put_integer(out, t->val.v[v.at + i]);
  }
  str_putc(out, ']');
}

static void put_decision(tess_session *s, const vm_trace *t,
                         const tess_decision *d, strbuf *out) {
  const sch_prim *prim = t->inst.v[d->inst - 1].prim;
  domain_work w = {.s = s, .t = t, .inst = d->inst - 1, .out = out};
  str_puts(out, "{\"kind\":");
  put_text(out, prim->decides);
  put_member(out, "primitive", prim->name);
  put_member(out, "name", d->knob);
  put_member(out, "what", d->what);
  str_puts(out, ",\"parts\":[");
  for (uint32_t i = 0; i < d->n; i++) {
    if (i) str_putc(out, ',');
    put_text(out, d->part[i]);
  }
  str_putc(out, ']');
  for (uint32_t i = 0; i < prim->nspecs; i++)
    put_attribute(t, d->inst - 1, i, out);
  put_domain(&w);
  str_putc(out, '}');
}

static tess_status put_decisions(tess_session *s, tess_trace *t, strbuf *out) {
  uint32_t n = 0, got;
  tess_status st = tess_trace_decisions(t, s->program, 0, NULL, &n);
  if (st != TESS_OK) return st;
  size_t bytes = (n + 1) * sizeof(tess_decision);
  tess_decision *d = mem_try_resize(&s->c->heap, NULL, 0, bytes);
  if (!d) return mem_refusal(&s->c->heap);
  st = tess_trace_decisions(t, s->program, n, d, &got);
  str_puts(out, ",\"space\":[");
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    if (i) str_putc(out, ',');
    put_decision(s, &t->t, &d[i], out);
  }
  str_putc(out, ']');
  mem_free(&s->c->heap, d, bytes);
  return st;
}

/* A sketch, by a candidate that was drawn of it. */
static tess_status put_drawn(tess_session *s, const search_cand *c,
                             strbuf *out) {
  tess_candidate view;
  tess_trace *t;
  session_to_public(c, &view);
  tess_status st = tess_session_trace(s, &view, &t);
  if (st != TESS_OK) return st;
  str_putc(out, '{');
  put_candidate(out, c);
  st = put_schedule(s, t, out);
  if (st == TESS_OK) st = put_decisions(s, t, out);
  str_putc(out, '}');
  tess_trace_free(t);
  return st;
}

/* One of which no draw is valid is left out. */
static tess_status put_each_sketch(tess_session *s, strbuf *out) {
  tess_status st = TESS_OK;
  bool first = true;
  for (uint32_t i = 0; st == TESS_OK && i < s->nsketch; i++) {
    search_order o = {.how = SEARCH_DRAW, .sketch = (int32_t)i};
    search_cand c;
    st = session_make(s, 1, &o, &c);
    if (st != TESS_OK || !c.d) continue;
    if (!first) str_putc(out, ',');
    first = false;
    st = put_drawn(s, &c, out);
  }
  return st;
}

/* Nobody proposed what is drawn here, so that the funnel does not have it. */
static tess_status put_sketches(tess_session *s, strbuf *out) {
  funnel before = s->total;
  s->total = (funnel){0};
  str_puts(out, ",\"sketches\":[");
  tess_status st = put_each_sketch(s, out);
  str_putc(out, ']');
  funnel_free(&s->total, &s->c->heap);
  s->total = before;
  return st;
}

/* What may be good, and has not been measured here. */
static void put_hints(const tess_session *s, strbuf *out) {
  str_puts(out, ",\"hints\":[");
  for (uint32_t i = 0; i < s->hint.n; i++) {
    str_puts(out, i ? ",{" : "{");
    put_candidate(out, &s->hint.v[i]);
    str_putc(out, '}');
  }
  str_putc(out, ']');
}

tess_status process_put_task(tess_session *s, strbuf *out) {
  char *text = NULL;
  str_puts(out, "{\"type\":\"task\",\"version\":1");
  tess_status st = tess_program_text(s->program, &text);
  st = put_given(s, st, "program", text, out);
  if (st != TESS_OK) return st;
  put_member(out, "target",
             s->host.target ? tess_target_text(s->host.target) : "");
  str_printf(out, ",\"threads\":%u,\"seed\":%" PRIu64 ",\"trials\":%u",
             s->host.kernel_threads, s->seed, s->host.trials);
  put_hints(s, out);
  st = put_sketches(s, out);
  str_puts(out, "}\n");
  return st;
}

/* ---- what is known ------------------------------------------------------ */

static tess_status put_best(tess_session *s, strbuf *out) {
  uint32_t best[MOST_BEST], n = session_best(s, MOST_BEST, best);
  tess_status st = TESS_OK;
  str_puts(out, ",\"best\":[");
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    const search_trial *x = &s->history.v[best[i]];
    tess_candidate view;
    tess_trace *t;
    trial_to_public(x, &view);
    st = tess_session_trace(s, &view, &t);
    if (st != TESS_OK) break;
    str_puts(out, i ? ",{" : "{");
    put_candidate(out, &x->c);
    str_puts(out, ",\"seconds\":");
    str_put_double(out, x->seconds);
    st = put_schedule(s, t, out);
    str_putc(out, '}');
    tess_trace_free(t);
  }
  str_putc(out, ']');
  return st;
}

static void put_recent(const tess_session *s, uint32_t from, strbuf *out) {
  uint32_t end = s->history.n;
  if (end - from > MOST_RECENT) from = end - MOST_RECENT;
  str_puts(out, ",\"recent\":[");
  for (uint32_t i = from; i < end; i++) {
    const search_trial *x = &s->history.v[i];
    str_puts(out, i > from ? ",{" : "{");
    put_candidate(out, &x->c);
    put_member(out, "status", err_status_name(x->status));
    if (x->status == TESS_OK) {
      str_puts(out, ",\"seconds\":");
      str_put_double(out, x->seconds);
    }
    if (x->message) put_member(out, "message", x->message);
    str_putc(out, '}');
  }
  str_putc(out, ']');
}

static const char *name_of_stage(funnel_stage stage) {
  switch (stage) {
  case FUNNEL_REFUSED: return "refused";
  case FUNNEL_REJECTED: return "rejected";
  case FUNNEL_NO_NEIGHBOUR: return "no neighbour";
  case FUNNEL_DUPLICATE: return "duplicate";
  case FUNNEL_EQUAL: return "equal";
  case FUNNEL_UNFIT: return "unfit";
  case FUNNEL_WASTED: return "wasted";
  case FUNNEL_MEASURED: break;
  }
  return "measured";
}

static void put_funnel(const tess_session *s, strbuf *out) {
  const funnel *f = &s->total;
  str_printf(out,
             ",\"funnel\":{\"tried\":%" PRIu64 ",\"valid\":%" PRIu64
             ",\"wasted\":%u,\"rows\":[",
             f->sampled, f->valid, s->wasted.n);
  for (uint32_t i = 0; i < f->row.n; i++) {
    const funnel_row *r = &f->row.v[i];
    str_puts(out, i ? ",{\"stage\":" : "{\"stage\":");
    put_text(out, name_of_stage(r->stage));
    put_member(out, "by", r->who);
    put_member(out, "why", r->why);
    str_printf(out, ",\"count\":%" PRIu64 "}", r->count);
  }
  str_puts(out, "]}");
}

tess_status process_put_request(tess_session *s, uint32_t n, uint32_t from,
                                const strbuf *told, strbuf *out) {
  uint32_t failed = 0;
  for (uint32_t i = 0; i < s->history.n; i++)
    failed += s->history.v[i].status != TESS_OK;
  str_printf(out, "{\"type\":\"propose\",\"n\":%u,\"known\":%u,\"failed\":%u",
             n, s->history.n, failed);
  tess_status st = put_best(s, out);
  if (st != TESS_OK) return st;
  put_recent(s, from, out);
  str_puts(out, ",\"useless\":[");
  str_puts(out, str_get(told));
  str_puts(out, "]");
  put_funnel(s, out);
  str_puts(out, "}\n");
  return str_status(out);
}
