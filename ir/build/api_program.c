/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera): programs of what was described: one of a
 * builder's outputs, two programs joined, a program's function. */
#include "base/hash.h"
#include "ir/object.h"
#include "ir/query.h"

typedef struct program_work {
  tess_builder *b;
  const char *name;
  uint32_t nin, nout;
  const tess_buffer *in, *out;
  tess_program *made;
} program_work;

/* What was described for this program alone, and is not in it. */
static void tell_unneeded(const program_work *w) {
  const ir_program *p = &w->b->b.p;
  ir_stmt s = w->b->b.unneeded, top = s;
  while (s && !ir_is_block(p, s)) s = ir_next(p, s, top);
  if (!top) return;
  uint64_t key = hash_mix(hash_bytes(w->name, strlen(w->name)), top);
  const char *block = s ? ir_text(p, ir_blk(p, s)->name) : "";
  ctx_warn(w->b->c, key,
           "program '%s': %s '%s' is left out, since no output needs it",
           w->name, s ? "block" : "statement", block);
}

static tess_status make_program(void *ud) {
  program_work *w = ud;
  w->made = program_empty(w->b->c);
  tess_status s = describe_program(&w->b->b, w->name, w->nin, w->in, w->nout,
                                   w->out, &w->made->p);
  if (s == TESS_OK) tell_unneeded(w);
  if (s == TESS_OK) program_hold_constants(w->made);
  return s;
}

tess_status tess_program_new(tess_builder *b, const char *name, uint32_t nin,
                             const tess_buffer *in, uint32_t nout,
                             const tess_buffer *out, tess_program **p) {
  program_work w = {b, name, nin, nout, in, out, NULL};
  if (p) *p = NULL;
  if (!b || !name || (nin && !in) || (nout && !out) || !p)
    return builder_null(b);
  tess_status s = ctx_run(b->c, make_program, &w);
  if (s == TESS_OK)
    *p = w.made;
  else
    tess_program_free(w.made);
  return s;
}

typedef struct join_work {
  tess_program *p;
  const tess_program *further;
  tess_program *made; /* both functions, in a new program */
  arena scratch;
} join_work;

static tess_status join_program(void *ud) {
  join_work *w = ud;
  tess_context *c = w->p->c;
  w->made = program_empty(c);
  ir_program_copy(&w->made->p, &w->p->p);
  tess_status s =
      describe_join(&w->made->p, &w->further->p, &w->scratch, &c->err);
  if (s == TESS_OK) program_hold_constants(w->made);
  return s;
}

/* Replaces the contents of p by those of `made`. */
static void replace_contents(tess_program *p, tess_program *made) {
  ir_program old = p->p;
  bool held = p->holds_constants;
  p->p = made->p;
  p->holds_constants = made->holds_constants;
  made->p = old;
  made->holds_constants = held;
}

tess_status tess_program_add(tess_program *p, const tess_program *further) {
  join_work w = {.p = p, .further = further};
  if (p->refs > 1)
    return ctx_fail(p->c, TESS_INVALID,
                    "the program is in use already: add "
                    "functions before it is scheduled");
  if (further->c != p->c)
    return ctx_fail(p->c, TESS_INVALID, "the programs belong to two contexts");
  arena_init(&w.scratch, &p->c->heap);
  tess_status s = ctx_run(p->c, join_program, &w);
  if (s == TESS_OK) replace_contents(p, w.made);
  tess_program_free(w.made);
  arena_free(&w.scratch);
  return s;
}

typedef struct choose_work {
  tess_program *p;
  const char *func;
  tess_program *made;
} choose_work;

static tess_status make_select(void *ud) {
  choose_work *w = ud;
  const ir_program *p = &w->p->p;
  for (uint32_t i = 1; i < ir_func_end(p); i++) {
    if (strcmp(ir_text(p, p->func.v[i].name), w->func)) continue;
    w->made = program_new(w->p->c, p, w->p);
    w->made->p.entry = i;
    tess_program_free(w->made->origin); /* it described another function */
    w->made->origin = NULL;
    return TESS_OK;
  }
  return ctx_fail(w->p->c, TESS_NOT_FOUND,
                  "the program has no function named '%.100s'", w->func);
}

tess_status tess_program_work_on(tess_program *p, const char *func,
                                 tess_program **out) {
  choose_work w = {.p = p, .func = func ? func : ""};
  *out = NULL;
  tess_status s = ctx_run(p->c, make_select, &w);
  if (s == TESS_OK)
    *out = w.made;
  else
    tess_program_free(w.made);
  return s;
}
