/* SPDX-License-Identifier: Apache-2.0
 * Lifetime of a program: creation, reset, copy, release.  Each works table by
 * table over one list, so that a new table is one word here. */
#include "ir/query.h"

/* Every growable table of a program. */
#define TABLES(T) T(node) T(intern) T(arg) IR_CHANGED_TABLES(T)

/* The tables whose index 0 means "none": they begin with a blank entry. */
/* clang-format off */
#define INDEXED(T) \
  T(node) T(var) T(buf) T(stmt) T(block) T(reducer) T(func) T(anno) T(value) \
  T(arg) T(text)
/* clang-format on */

enum { FIRST_SLOTS = 256 }; /* of an empty hash table */

/* An empty hash table of `slots` elements, reusing its memory. */
#define EMPTY(heap, t, slots)             \
  vec_reserve(heap, t, (slots) - (t)->n); \
  (t)->n = (slots);                       \
  memset((t)->v, 0, (slots) * sizeof *(t)->v)

void ir_program_reset(ir_program *p) {
#define CLEAR(t) vec_clear(&p->t);
  TABLES(CLEAR)
#undef CLEAR
#define BLANK(t)                       \
  (void)vec_extend(p->heap, &p->t, 1); \
  memset(p->t.v, 0, sizeof *p->t.v);
  INDEXED(BLANK)
#undef BLANK
  EMPTY(p->heap, &p->intern, FIRST_SLOTS);
  EMPTY(p->heap, &p->names, FIRST_SLOTS + 1);
  p->entry = 0;
  p->step = 0;
  p->edits = 0;
}

static tess_status first_reset(void *ud) {
  ir_program_reset(ud);
  return TESS_OK;
}

/* Frees a partly made program before unwinding: no caller can. */
void ir_program_init(ir_program *p, mem_heap *heap) {
  *p = (ir_program){.heap = heap};
  tess_status s = mem_protect(heap, first_reset, p);
  if (!s) return;
  ir_program_free(p);
  mem_unwind(heap, s);
}

void ir_program_free(ir_program *p) {
#define FREE(t) vec_free(p->heap, &p->t);
  TABLES(FREE)
#undef FREE
}

void ir_program_copy(ir_program *dst, const ir_program *src) {
#define COPY(t) vec_copy(dst->heap, &dst->t, &src->t);
  TABLES(COPY)
#undef COPY
  dst->flat = src->flat;
  dst->deep = src->deep;
  dst->entry = src->entry;
  dst->step = src->step;
  dst->edits = src->edits;
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), k = strlen(end);
  return n > k && !strcmp(s + n - k, end);
}

uint32_t ir_func_end(const ir_program *p) {
  uint32_t n = p->func.n;
  for (; n > 1 && n - 1 != p->entry; n--) {
    const char *name = ir_text(p, p->func.v[n - 1].name);
    if (!ends_with(name, ".desc") && !ends_with(name, ".impl")) break;
  }
  return n;
}
