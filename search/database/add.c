/* SPDX-License-Identifier: Apache-2.0
 * Records from elsewhere: a trace with its times, replayed before it is
 * stored. */
#include "search/database/database.h"

#include <math.h>
#include <stdlib.h>

typedef struct adding {
  tess_database *d;
  tess_trace *t;
  vm_decisions made;
  uint64_t hash;
} adding;

static tess_status collect(void *ud) {
  adding *a = ud;
  vm_get_decisions(&a->t->t, &a->d->c->heap, &a->made);
  return TESS_OK;
}

/* The program that the trace makes; REFUSED where it does not apply. */
static tess_status hash_scheduled(adding *a) {
  tess_schedule *sch;
  tess_program *p = NULL;
  tess_status s = tess_trace_replay(a->t, NULL, NULL, &sch);
  if (s != TESS_OK) return s;
  s = tess_schedule_program(sch, &p);
  if (s == TESS_OK) a->hash = tess_program_hash(p);
  tess_program_free(p);
  tess_schedule_free(sch);
  return s;
}

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The median; 0: there is none, or a time is impossible. */
static double median_of(uint32_t n, const double *sample) {
  double *v = malloc((n + 1) * sizeof *v), m = 0;
  bool ok = v && n;
  for (uint32_t i = 0; ok && i < n; i++) {
    v[i] = sample[i];
    ok = v[i] >= database_least_time && v[i] <= database_greatest_time;
  }
  if (ok) {
    qsort(v, n, sizeof *v, by_time);
    m = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
  }
  free(v);
  return m;
}

static tess_status store(adding *a, const database_key *k, double seconds,
                         uint32_t n, const double *sample) {
  char *json;
  tess_status s = tess_trace_json(a->t, &json);
  if (s != TESS_OK) return s;
  database_record r = {.sketch = vm_sketch_hash(&a->t->t),
                       .n = a->made.n,
                       .d = a->made.v,
                       .status = TESS_OK,
                       .seconds = seconds,
                       .sample = sample,
                       .nsample = n,
                       .program_hash = a->hash,
                       .trace = json,
                       .elapsed = NAN,
                       .predicted = NAN};
  s = database_put_records(a->d, k, 1, &r);
  tess_text_free(a->d->c, json);
  return s;
}

/* The key of what is added.  Its target is completed, as that of a run is, or
 * it would never be found; what only another machine can complete stays. */
static tess_status take_key(adding *a, database_key *k, tess_target **t) {
  tess_context *c = a->d->c;
  if (!*k->policy)
    return ctx_fail(c, TESS_INVALID,
                    "a record needs a policy: how it was measured");
  tess_status s = tess_target_new(c, k->target, t);
  if (s == TESS_UNSUPPORTED || s == TESS_INFRA) return ctx_clear(c), TESS_OK;
  if (s == TESS_OK) k->target = tess_target_text(*t);
  return s;
}

tess_status database_add(tess_database *d, tess_trace *t, const char *target,
                         const char *policy, uint32_t n, const double *sample) {
  adding a = {.d = d, .t = t};
  tess_target *known = NULL;
  database_end_filter(d);
  if (!t->program)
    return ctx_fail(d->c, TESS_INVALID,
                    "a trace that is stored must be bound to its program");
  double seconds = median_of(n, sample);
  if (!(seconds > 0))
    return ctx_fail(d->c, TESS_INVALID,
                    "a record needs times in seconds, each possible");
  database_key k = {tess_program_hash(t->program), target, policy};
  tess_status s = take_key(&a, &k, &known);
  if (s == TESS_OK) s = hash_scheduled(&a);
  if (s == TESS_OK) s = mem_protect(&d->c->heap, collect, &a);
  if (s == TESS_OK) s = database_put_workload(d, &k, t->program);
  if (s == TESS_OK) s = store(&a, &k, seconds, n, sample);
  vec_free(&d->c->heap, &a.made);
  tess_target_free(known);
  return s;
}
