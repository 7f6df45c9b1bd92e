/* SPDX-License-Identifier: Apache-2.0
 * The pass manager: runs the passes of passes.def, or a prefix of them. */
#include "ir/edit.h"
#include "lower/pass.h"

#include <ctype.h>

#define ALIAS(other, name)
#define PASS(name, summary) {#name, summary, lower_pass_##name},
const lower_pass lower_passes[] = {
#include "lower/passes.def"
};
#undef PASS
#undef ALIAS

tess_status lower_program(ir_program *p, arena *scratch, const lower_options *o,
                          err_state *e) {
  uint32_t n = o->stop_after && o->stop_after < LOWER_NPASSES ? o->stop_after
                                                              : LOWER_NPASSES;
  for (uint32_t i = 0; i < n; i++) {
    arena_mark mark = arena_get_mark(scratch);
    mem_note(p->heap, "lowering pass", lower_passes[i].name);
    tess_status s = lower_passes[i].run(p, scratch, o, e);
    mem_note(p->heap, NULL, NULL);
    arena_reset_to(scratch, mark);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

/* ---- names -------------------------------------------------------------- */

typedef struct pass_alias {
  const char *name;
  uint32_t pass;
} pass_alias;

#define PASS(name, summary)
#define ALIAS(other, name) {#other, LOWER_AT_##name},
static const pass_alias aliases[] = {
#include "lower/passes.def"
};
#undef PASS
#undef ALIAS

/* vectorize_loop is VectorizeLoop. */
static bool is_spelling_of(const char *given, const char *name) {
  for (;; given++, name++) {
    while (*given == '_') given++;
    while (*name == '_') name++;
    if (tolower((unsigned char)*given) != *name) return false;
    if (!*name) return true;
  }
}

uint32_t lower_find_pass(const char *name) {
  if (!strncmp(name, "tir.", 4)) name += 4;
  for (uint32_t i = 0; i < LOWER_NPASSES; i++)
    if (is_spelling_of(name, lower_passes[i].name)) return i;
  for (uint32_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (is_spelling_of(name, aliases[i].name)) return aliases[i].pass;
  return LOWER_NPASSES;
}

/* ---- what passes share -------------------------------------------------- */

void lower_splice(ir_program *p, ir_stmt s) {
  while (ir_st(p, s)->body) {
    ir_stmt child = ir_st(p, s)->body;
    ir_detach(p, child);
    ir_insert_before(p, s, child);
  }
  ir_detach(p, s);
  ir_kill(p, s);
}

bool lower_has_constant_shape(const ir_program *p, ir_buf b) {
  int64_t n;
  for (uint32_t d = 0; d < ir_ndim(p, b); d++)
    if (!ir_const_int(p, ir_dim(p, b, d), &n)) return false;
  return true;
}

bool lower_ints(const ir_program *p, ir_val v, uint32_t n, int64_t *out) {
  const ir_value *x = &p->value.v[v];
  if (x->tag != IR_VAL_LIST || x->n != n) return false;
  for (uint32_t i = 0; i < n; i++) {
    const ir_value *e = &p->value.v[p->arg.v[x->at + i]];
    if (e->tag != IR_VAL_INT) return false;
    out[i] = e->i;
  }
  return true;
}
