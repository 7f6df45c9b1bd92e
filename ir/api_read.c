/* SPDX-License-Identifier: Apache-2.0
 * The public API of reading programs from listings. */
#include "ir/object.h"
#include "ir/read/read.h"
#include <tessera/tessera.h>

typedef struct parse_work {
  tess_context *c;
  const char *text;
  ir_builder b;
  arena scratch;
  tess_program *p;
} parse_work;

static tess_status parse_program(void *ud) {
  parse_work *w = ud;
  describe_init(&w->b, &w->c->heap, &w->c->err);
  tess_status s = read_program(&w->b, &w->scratch, w->text, strlen(w->text));
  if (s != TESS_OK) return s;
  w->p = program_new(w->c, &w->b.p, NULL);
  program_hold_constants(w->p);
  return TESS_OK;
}

tess_status tess_program_parse(tess_context *c, const char *text,
                               tess_program **out) {
  parse_work w = {.c = c, .text = text};
  *out = NULL;
  arena_init(&w.scratch, &c->heap);
  tess_status s = ctx_run(c, parse_program, &w);
  if (w.b.heap) describe_free(&w.b);
  arena_free(&w.scratch);
  if (s == TESS_OK)
    *out = w.p;
  else
    tess_program_free(w.p);
  return s;
}
