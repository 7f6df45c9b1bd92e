/* SPDX-License-Identifier: Apache-2.0
 * Which mutator changes a parent: drawn by probability among those that change
 * something in its sketch, the host's among them. */
#include "search/strategy/evolutionary.h"

#include <stdio.h>

static void add_mutator(evolution_mutators *m, double probability,
                        evolution_mutator x) {
  if (!(probability > 0)) return;
  x.sum = probability + (m->n ? m->v[m->n - 1].sum : 0);
  m->v[m->n++] = x;
}

static void find_of_sketch(evolution *e, const tess_session *s, uint32_t k) {
  evolution_mutators *m = &e->mutators[k];
  m->v = arena_array(&e->own, evolution_mutator,
                     search_nmutators + s->host.nmutator + 1);
  for (uint32_t i = 0; i < search_nmutators; i++) {
    const search_mutator *x = &search_mutators[i];
    const uint32_t *w = mutator_weights(x, s->sketch[k], &e->own);
    if (w)
      add_mutator(m, e->option[FIRST_MUTATOR + i],
                  (evolution_mutator){.weight = w, .trait = x->trait});
  }
  for (uint32_t i = 0; i < s->host.nmutator; i++)
    add_mutator(m, s->host.mutator[i].probability,
                (evolution_mutator){.host = i});
}

void evolution_find_mutators(evolution *e, const tess_session *s) {
  if (e->mutators) return;
  e->mutators = arena_zalloc(&e->own, s->nsketch * sizeof *e->mutators);
  for (uint32_t k = 0; k < s->nsketch; k++) find_of_sketch(e, s, k);
}

/* What a host's mutator makes of it, repaired where it must be. */
static bool mutate_by_host(evolution *e, tess_session *s, uint32_t i,
                           const search_cand *a, search_order *out) {
  const tess_mutator *m = &s->host.mutator[i];
  tess_candidate parent, child = {0};
  session_to_public(a, &parent);
  tess_status st = m->mutate(m->ud, s, &parent, &child);
  if (st == TESS_NOT_FOUND) return false;
  if (st == TESS_OK && session_check_decisions(s, &child) != TESS_OK) {
    char why[256];
    snprintf(why, sizeof why, "%s", s->c->err.message);
    s->broken = ctx_fail(s->c, TESS_INVALID, "mutator '%s': %s",
                         m->name ? m->name : "", why);
    return false;
  }
  if (st != TESS_OK) {
    s->broken = session_blame(s, st, m->name ? m->name : "a mutator");
    return false;
  }
  search_cand *c = arena_new(&e->pool.keep, search_cand);
  int64_t *d = arena_array(&e->pool.keep, int64_t, child.ndecisions + 1);
  if (child.ndecisions)
    memcpy(d, child.decisions, child.ndecisions * sizeof *d);
  *c = (search_cand){.sketch = child.sketch, .n = child.ndecisions, .d = d};
  *out = (search_order){.how = SEARCH_REPAIR, .a = c};
  return true;
}

search_order evolution_mutation(evolution *e, tess_session *s,
                                const search_cand *a) {
  const evolution_mutators *m = &e->mutators[a->sketch];
  search_order any = {.how = SEARCH_MUTATE, .steps = 1, .a = a}, out;
  if (!m->n) return any;
  double at = rng_unit(&s->random) * m->v[m->n - 1].sum;
  uint32_t i = 0;
  while (i + 1 < m->n && m->v[i].sum <= at) i++;
  const evolution_mutator *x = &m->v[i];
  if (!x->weight) return mutate_by_host(e, s, x->host, a, &out) ? out : any;
  any.weight = x->weight;
  any.trait = x->trait;
  return any;
}
