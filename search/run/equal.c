/* SPDX-License-Identifier: Apache-2.0
 * Candidates of other decisions and the same program: it is measured once, and
 * they learn its result without a trial. */
#include "search/run/loop.h"

/* Whether it is that of one of the first n of the batch. */
static bool is_in_batch(const tune *t, uint32_t n, uint64_t program) {
  for (uint32_t i = 0; i < n; i++)
    if (t->program[i] == program) return true;
  return false;
}

void tune_part_equal(tune *t, uint32_t *n) {
  uint32_t kept = 0;
  t->nequal = 0;
  for (uint32_t i = 0; i < *n; i++) {
    search_cand c = session_from_public(&t->proposed[i]);
    uint64_t program = session_program_of(&t->s, &c);
    bool known = program && (session_find_program(&t->s, program) ||
                             is_in_batch(t, kept, program));
    if (known) {
      t->equal_program[t->nequal] = program;
      t->equal[t->nequal++] = t->proposed[i];
    } else {
      t->program[kept] = program;
      t->proposed[kept++] = t->proposed[i];
    }
  }
  *n = kept;
}

static tess_status count_equal(void *ud) {
  tune *t = ud;
  funnel_add(&t->s.total, &t->c->heap, FUNNEL_EQUAL, "", "", 0);
  return TESS_OK;
}

static tess_status learn_from(tune *t, const search_seen *like,
                              tess_candidate *c) {
  search_seen seen = *like;
  seen.c = session_from_public(c);
  seen.equal = true;
  c->status = seen.status;
  c->seconds = seen.seconds;
  tess_status s = session_learn(&t->s, &seen);
  return s == TESS_OK ? mem_protect(&t->c->heap, count_equal, t) : s;
}

/* What is like one that was not measured, as where the machine was at fault,
 * has learnt nothing, and may be proposed again. */
tess_status tune_learn_equal(tune *t, uint32_t *n) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; s == TESS_OK && i < t->nequal; i++) {
    const search_seen *like = session_find_program(&t->s, t->equal_program[i]);
    if (!like) continue;
    t->proposed[*n] = t->equal[i];
    s = learn_from(t, like, &t->proposed[(*n)++]);
  }
  return s;
}
