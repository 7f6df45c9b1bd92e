/* SPDX-License-Identifier: Apache-2.0
 * Public API of targets: parsing, text, fields. */
#include "backends/object.h"

typedef struct new_target {
  tess_context *c;
  const char *text;
  tess_target *made;
} new_target;

static tess_status fill_target(void *ud) {
  new_target *w = ud;
  w->made = mem_new(&w->c->heap, tess_target);
  *w->made = (tess_target){.c = w->c, .refs = 1};
  str_init(&w->made->text, &w->c->heap);
  tess_status s = target_parse(&w->made->t, w->text, &w->c->err);
  if (s) return s;
  target_print(&w->made->t, &w->made->text);
  return str_status(&w->made->text);
}

tess_status tess_target_new(tess_context *c, const char *text,
                            tess_target **out) {
  new_target w = {c, text, NULL};
  *out = NULL;
  if (!text) return ctx_fail(c, TESS_INVALID, "target: there is no text");
  tess_status s = ctx_run(c, fill_target, &w);
  if (s)
    tess_target_free(w.made);
  else
    *out = w.made;
  return s;
}

tess_target *target_hold(tess_target *t) {
  t->refs++;
  return t;
}

void tess_target_free(tess_target *t) {
  if (!t || --t->refs) return;
  str_free(&t->text);
  mem_free(&t->c->heap, t, sizeof *t);
}

const char *tess_target_text(tess_target *t) { return str_get(&t->text); }

int64_t tess_target_int(tess_target *t, const char *field) {
  return target_int(&t->t, field);
}

int tess_target_has(tess_target *t, const char *feature) {
  return feature && target_has(&t->t, feature);
}
