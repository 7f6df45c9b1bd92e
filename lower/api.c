/* SPDX-License-Identifier: Apache-2.0
 * The public header's part about lowering. */
#include "ir/object.h"
#include "lower/lower.h"

#include <stdio.h>

typedef struct lowering {
  tess_program *from, *to;
  const tess_lower_options *given;
  arena scratch;
} lowering;

static tess_status refuse_pass(tess_context *c, const char *name) {
  char list[1024];
  size_t n = 0;
  for (uint32_t i = 0; i < LOWER_NPASSES && n < sizeof list; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "",
                          lower_passes[i].name);
  return err_set(&c->err, TESS_NOT_FOUND,
                 "there is no lowering pass '%.100s'; there are %s", name,
                 list);
}

static tess_status read_options(const lowering *l, lower_options *o) {
  tess_lower_options all = {.struct_size = sizeof all};
  tess_context *c = l->from->c;
  uint32_t last = LOWER_AT_compact_thread_buffers;
  if (l->given && ctx_take(c, tess_lower_options, l->given, &all) != TESS_OK)
    return TESS_INVALID;
  if (all.after && (last = lower_find_pass(all.after)) == LOWER_NPASSES)
    return refuse_pass(c, all.after);
  *o = (lower_options){.vector_bytes = all.vector_bytes,
                       .keep_math = all.keep_intrinsics,
                       .no_threads = all.no_threads,
                       .stop_after = last + 1};
  return TESS_OK;
}

static tess_status lower_copy(void *ud) {
  lowering *l = ud;
  tess_context *c = l->from->c;
  lower_options o;
  tess_status s = read_options(l, &o);
  if (s) return s;
  l->to = program_new(c, &l->from->p, l->from);
  return lower_program(&l->to->p, &l->scratch, &o, &c->err);
}

tess_status tess_program_lower(tess_program *p, const tess_lower_options *o,
                               tess_program **out) {
  lowering l = {.from = p, .given = o};
  arena_init(&l.scratch, &p->c->heap);
  tess_status s = ctx_run(p->c, lower_copy, &l);
  arena_free(&l.scratch);
  if (s) tess_program_free(l.to);
  *out = s ? NULL : l.to;
  return s;
}

uint32_t tess_lower_pass_count(void) { return LOWER_NPASSES; }

const char *tess_lower_pass_name(uint32_t i) {
  return i < LOWER_NPASSES ? lower_passes[i].name : NULL;
}

const char *tess_lower_pass_summary(uint32_t i) {
  return i < LOWER_NPASSES ? lower_passes[i].summary : NULL;
}

uint32_t tess_lower_pass_find(const char *name) {
  return lower_find_pass(name);
}
