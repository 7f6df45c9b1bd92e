/* SPDX-License-Identifier: Apache-2.0
 * Making targets from texts.  Where a text names a device by number and no
 * model, a worker, which may open the driver, is asked for its limits. */
#include "backends/backend.h"
#include "backends/object.h"
#include "measure/measure.h"
#include <stdio.h>
#include <string.h>

typedef struct new_target {
  tess_context *c;
  const char *text;
  strbuf whole; /* the text with what the device says of itself */
  tess_target *made;
} new_target;

static bool gives_option(const char *text, const char *option) {
  const char *at = strstr(text, option);
  return at && at != text && strchr(" \t\n", at[-1]);
}

/* "opencl -device=1 ...": the device's facts come first, so that the text's own
 * options prevail. */
static tess_status add_facts(new_target *w, int64_t device) {
  measure_pool *pool;
  char name[24];
  const char *text = w->text + strspn(w->text, " \t\n");
  size_t kind = strcspn(text, " \t\n");
  tess_status s = measure_context_pool(w->c, &pool);
  if (s) return s;
  snprintf(name, sizeof name, "%.*s:%lld", kind < 12 ? (int)kind : 12, text,
           (long long)device);
  str_write(&w->whole, text, kind);
  s = measure_device_facts(pool, name, &w->whole, &w->c->err);
  str_puts(&w->whole, text + kind);
  if (!s) s = str_status(&w->whole);
  return s ? s : target_parse(&w->made->t, str_get(&w->whole), &w->c->err);
}

static tess_status fill_target(void *ud) {
  new_target *w = ud;
  w->made = mem_new(&w->c->heap, tess_target);
  *w->made = (tess_target){.c = w->c, .refs = 1};
  str_init(&w->made->text, &w->c->heap);
  tess_status s = target_parse(&w->made->t, w->text, &w->c->err);
  if (s) return s;
  const backend *by = backend_find(w->made->t.kind);
  if (by->facts && gives_option(w->text, "-device=") &&
      !gives_option(w->text, "-model="))
    s = add_facts(w, w->made->t.device);
  if (s) return s;
  target_print(&w->made->t, &w->made->text);
  return str_status(&w->made->text);
}

tess_status tess_target_new(tess_context *c, const char *text,
                            tess_target **out) {
  new_target w = {.c = c, .text = text};
  *out = NULL;
  if (!text) return ctx_fail(c, TESS_INVALID, "target: there is no text");
  str_init(&w.whole, &c->heap);
  tess_status s = ctx_run(c, fill_target, &w);
  str_free(&w.whole);
  if (s)
    tess_target_free(w.made);
  else
    *out = w.made;
  return s;
}
