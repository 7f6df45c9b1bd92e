/* SPDX-License-Identifier: Apache-2.0
 * What a proposing process answers: a line of JSON with candidates, each
 * decisions of a sketch or a whole schedule. */
#include "search/strategy/process.h"
#include "vm/text/text.h"

#include <inttypes.h>

enum { MOST_DEPTH = 100, MOST_DECISIONS = 1 << 16 };

json_t *process_read(const strbuf *line, json_t **whole, err_state *e) {
  const js_limits limits = {PROCESS_MOST_LINE, MOST_DEPTH};
  *whole = js_read(line->n ? line->v : "", line->n, limits, e);
  if (!*whole) return NULL;
  if (json_is_object(*whole))
    return js_member(*whole, "candidates", JSON_ARRAY, e);
  err_set(e, TESS_PARSE, "it is %s, not an object with 'candidates'",
          js_type_name(json_typeof(*whole)));
  return NULL;
}

/* ---- decisions of a sketch ---------------------------------------------- */

/* An entry: a list of integers, or one integer.  Returns how many; -1: it is
 * none. */
static int64_t size_of_entry(const json_t *v) {
  if (json_is_integer(v)) return 1;
  if (!json_is_array(v)) return -1;
  for (size_t i = 0; i < json_array_size(v); i++)
    if (!json_is_integer(json_array_get(v, i))) return -1;
  return (int64_t)json_array_size(v);
}

static tess_status count_decisions(tess_session *s, const json_t *list,
                                   uint32_t *n) {
  int64_t all = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    int64_t size = size_of_entry(json_array_get(list, i));
    if (size < 0)
      return ctx_fail(s->c, TESS_PARSE, "decision %zu is no list of integers",
                      i + 1);
    all += 1 + size;
    if (all > MOST_DECISIONS)
      return ctx_fail(s->c, TESS_PARSE, "it has more than %d decisions",
                      MOST_DECISIONS);
  }
  *n = (uint32_t)all;
  return TESS_OK;
}

static void fill_decisions(const json_t *list, int64_t *d) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *v = json_array_get(list, i);
    int64_t size = size_of_entry(v);
    *d++ = size;
    if (json_is_integer(v)) *d++ = json_integer_value(v);
    for (size_t k = 0; k < json_array_size(v); k++)
      *d++ = json_integer_value(json_array_get(v, k));
  }
}

static tess_status take_decisions(tess_session *s, const json_t *v, arena *to,
                                  search_cand *out) {
  int64_t sketch;
  uint32_t n = 0;
  err_state *e = &s->c->err;
  if (!js_int_member(v, "sketch", 1, s->nsketch, &sketch, e)) return e->code;
  json_t *list = js_member(v, "decisions", JSON_ARRAY, e);
  if (!list) return e->code;
  tess_status st = count_decisions(s, list, &n);
  if (st != TESS_OK) return st;
  int64_t *d = arena_array(to, int64_t, n + 1);
  fill_decisions(list, d);
  *out = (search_cand){.sketch = (uint32_t)sketch - 1, .n = n, .d = d};
  return TESS_OK;
}

/* ---- a whole schedule --------------------------------------------------- */

static tess_status copy_decisions(const vm_trace *t, mem_heap *h, arena *to,
                                  search_cand *out) {
  vm_decisions all = {0};
  vm_get_decisions(t, h, &all);
  int64_t *d = arena_array(to, int64_t, all.n + 1);
  if (all.n) memcpy(d, all.v, all.n * sizeof *d);
  out->n = all.n;
  out->d = d;
  vec_free(h, &all);
  return TESS_OK;
}

/* The sketch that it is, but for its decisions; where there is none it becomes
 * one. */
static tess_status find_sketch_of(tess_session *s, tess_trace *t, arena *to,
                                  search_cand *out) {
  for (uint32_t i = 0; i < s->nsketch; i++)
    if (vm_is_same_schedule(&t->t, s->sketch[i], true)) {
      out->sketch = i;
      return copy_decisions(&t->t, &s->c->heap, to, out);
    }
  tess_status st = session_add_sketch(s, &t->t, &out->sketch);
  return st == TESS_OK ? copy_decisions(&t->t, &s->c->heap, to, out) : st;
}

static tess_status read_schedule(tess_session *s, const json_t *v,
                                 tess_trace **out) {
  strbuf text;
  if (json_is_string(v))
    return tess_trace_from_lua(s->c, json_string_value(v), s->program, out);
  str_init(&text, &s->c->heap);
  js_write(&text, v);
  tess_status st = str_status(&text);
  if (st == TESS_OK)
    st = tess_trace_from_json(s->c, str_get(&text), s->program, out);
  str_free(&text);
  return st;
}

typedef struct schedule_work {
  tess_session *s;
  tess_trace *t;
  arena *to;
  search_cand *out;
} schedule_work;

static tess_status take_found(void *ud) {
  schedule_work *w = ud;
  return find_sketch_of(w->s, w->t, w->to, w->out);
}

static tess_status take_schedule(tess_session *s, const json_t *v, arena *to,
                                 search_cand *out) {
  schedule_work w = {.s = s, .to = to, .out = out};
  tess_status st = read_schedule(s, v, &w.t);
  if (st != TESS_OK) return st;
  st = mem_protect(&s->c->heap, take_found, &w);
  tess_trace_free(w.t);
  return st;
}

/* ---- a candidate -------------------------------------------------------- */

tess_status process_take(tess_session *s, const json_t *v, arena *to,
                         process_wish *out) {
  tess_candidate view;
  *out = (process_wish){.c = {0}};
  if (!json_is_object(v))
    return ctx_fail(s->c, TESS_PARSE, "it is %s, not an object",
                    js_type_name(json_typeof(v)));
  const json_t *whole = json_object_get(v, "trace");
  out->repair = json_is_true(json_object_get(v, "repair"));
  tess_status st = whole ? take_schedule(s, whole, to, &out->c)
                         : take_decisions(s, v, to, &out->c);
  if (st != TESS_OK) return st;
  session_to_public(&out->c, &view);
  return session_check_decisions(s, &view);
}
