/* SPDX-License-Identifier: Apache-2.0
 * How well cost models rank programs that they were not taught, on a recorded
 * set (bench/record.lua): held-out programs of the operators that they know,
 * and all programs of an operator that they do not. */
#include "bench/support/bench.h"
#include "bench/support/table.h"

#include "search/model/object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 16, MOST = 1024 };

/* One operator, and its candidates' features of all kinds. */
typedef struct operator{
  table t;
  search_rows rows[FEATURE_KINDS];
}
operator;

/* Where the set was recorded. */
static const model_machine machine = {1, 16, 32, {32 << 10, 1 << 20, 32 << 20}};
static tess_context *context;
static operator ops[MOST_OPS];
static uint32_t nops;

static _Noreturn void models_stop(const char *what) {
  bench_say("models: %s", what);
  exit(1);
}

static void read_all(const char *path) {
  static table list[MOST_OPS];
  nops = table_read(context, path, list, 0, MOST_OPS);
  for (uint32_t i = 0; i < nops; i++) {
    if (list[i].n > MOST) models_stop("an operator has too many candidates");
    ops[i].t = list[i];
  }
}

static void models_must(tess_status s) {
  if (s != TESS_OK) models_stop(tess_error(context)->message);
}

/* ---- features ----------------------------------------------------------- */

static void keep(search_rows *to, const search_rows *r) {
  size_t numbers = (size_t)r->first[r->n] * r->width;
  uint32_t *first = malloc((r->n + 1) * sizeof *first);
  float *v = malloc((numbers + 1) * sizeof *v);
  if (!first || !v) models_stop("no memory");
  memcpy(first, r->first, (r->n + 1) * sizeof *first);
  memcpy(v, r->v, numbers * sizeof *v);
  *to = *r;
  to->first = first;
  to->v = v;
}

static void make_features(operator* o) {
  const vm_trace *t[TABLE_SKETCHES];
  tess_session s;
  for (uint32_t i = 0; i < o->t.nsketch; i++) t[i] = &o->t.sketch[i]->t;
  models_must(session_init(&s, context, &o->t.p->p, o->t.nsketch, t, 1, 1));
  for (int k = 0; k < FEATURE_KINDS; k++) {
    search_rows r;
    models_must(session_rows(&s, k, o->t.n, o->t.cand, &r));
    keep(&o->rows[k], &r);
  }
  session_free(&s);
}

/* ---- splits ------------------------------------------------------------- */

/* What a learner is taught of operator `own`, and whether all of the others is
 * taught, too. */
typedef struct progress {
  uint32_t own;
  bool primed;
  bool known[MOST];
} progress;

/* Operator `out` is left out whole, or with -1 one candidate in five. */
static bool is_test(uint32_t op, uint32_t i, int out) {
  return out >= 0 ? op == (uint32_t)out : i % 5 == 4;
}

typedef struct teaching {
  model_data *d;
  mem_heap *heap;
  uint32_t kinds;
  int out, only; /* operators; -1: none is, all are */
  const progress *p;
} teaching;

static bool is_taught(const teaching *t, uint32_t op, uint32_t i) {
  const search_rows *r = &ops[op].rows[FEATURE_PER_STORE];
  if (r->first[i] == r->first[i + 1]) return false;
  if (t->p) return op == t->p->own ? t->p->known[i] : t->p->primed;
  return (t->only < 0 || op == (uint32_t)t->only) && !is_test(op, i, t->out);
}

static tess_status fill_data(void *ud) {
  teaching *t = ud;
  data_init(t->d, t->heap, t->kinds);
  for (uint32_t k = 0; k < nops; k++)
    for (uint32_t i = 0; i < ops[k].t.n; i++) {
      double seconds = ops[k].t.seconds[i];
      if (!is_taught(t, k, i)) continue;
      data_add(t->d,
               (model_sample){data_group(t->d, k + 1),
                              isfinite(seconds) ? TESS_OK : TESS_BUILD_ERROR,
                              seconds},
               ops[k].rows, i);
    }
  return TESS_OK;
}

typedef struct fitting {
  const learner *l;
  const model_data *d;
  model_fit *f;
} fitting;

static tess_status fit_one(void *ud) {
  fitting *w = ud;
  return w->l->fit(w->d, w->f);
}

/* The quality on the test candidates of one operator. */
static tess_quality judge(const learner *l, const model_fit *f,
                          const operator* o, uint32_t op, int out) {
  static double mean[MOST], score[MOST], seconds[MOST];
  double best = INFINITY;
  uint32_t n = 0;
  if (l->score(f, o->t.n, o->rows, mean, NULL) != TESS_OK)
    models_stop("no scores");
  for (uint32_t i = 0; i < o->t.n; i++) {
    best = fmin(best, o->t.seconds[i]);
    if (!is_test(op, i, out) || !isfinite(o->t.seconds[i])) continue;
    score[n] = mean[i];
    seconds[n++] = o->t.seconds[i];
  }
  return quality_of(n, score, seconds, best, l->scaled);
}

static void report(const char *figure, double x, const learner *l,
                   const char *split, const char *op) {
  if (isnan(x)) return;
  bench_figure(
      figure, x, "1",
      json_pack("{s:s, s:s, s:s}", "model", l->name, "split", split, "op", op));
}

static void models_tell(const learner *l, const char *split, const char *op,
                        const tess_quality *q) {
  report("rank_accuracy", q->rank_accuracy, l, split, op);
  report("top_k_recall", q->top_k_recall, l, split, op);
  report("rmse", q->rmse, l, split, op);
}

/* Teaches one learner all but the test candidates (of operator `only`, where it
 * is not -1), and adds up how well it knows those. */
static uint32_t try_split(const learner *l, int out, int only,
                          tess_quality *sum, double *seconds) {
  model_data d = {0};
  mem_heap heap;
  model_fit f = {.seed = 1, .machine = machine};
  const char *split = out < 0 ? "program" : "operator";
  uint32_t n = 0;
  mem_heap_init(&heap, mem_default_allocator, 0);
  mem_heap_init(&f.heap, mem_default_allocator, 0);
  arena_init(&f.a, &f.heap);
  teaching t = {&d, &heap, l->kinds, out, only, NULL};
  fitting w = {l, &d, &f};
  double start = bench_now();
  if (mem_protect(&heap, fill_data, &t) != TESS_OK) models_stop("no memory");
  if (mem_protect(&f.heap, fit_one, &w) == TESS_OK)
    for (uint32_t k = 0; k < nops; k++) {
      if (out >= 0 && k != (uint32_t)out) continue;
      if (only >= 0 && k != (uint32_t)only) continue;
      tess_quality q = judge(l, &f, &ops[k], k, out);
      models_tell(l, split, ops[k].t.name, &q);
      sum->rank_accuracy += q.rank_accuracy;
      sum->top_k_recall += q.top_k_recall;
      sum->rmse += q.rmse;
      n++;
    }
  else
    bench_say("%s: not trained %s", l->name, f.why);
  *seconds += bench_now() - start;
  if (l->drop) l->drop(&f);
  arena_free(&f.a);
  data_free(&d);
  return n;
}

static void say_split(const learner *l, const char *split, uint32_t n,
                      const tess_quality *sum, double seconds) {
  if (!n) return;
  bench_say("%-10s %-9s rank accuracy %.3f, recall of the fastest quarter "
            "%.3f, RMSE %.3f; %.1f s",
            l->name, split, sum->rank_accuracy / n, sum->top_k_recall / n,
            sum->rmse / n, seconds);
  report("rank_accuracy", sum->rank_accuracy / n, l, split, "mean");
  report("top_k_recall", sum->top_k_recall / n, l, split, "mean");
  report("rmse", sum->rmse / n, l, split, "mean");
}

static void try_learner(const learner *l) {
  tess_quality sum = {0}, other = {0};
  double seconds = 0;
  /* Decisions of one operator say nothing of another's: a model each. */
  bool alone = l->kinds >> FEATURE_DECISIONS & 1;
  uint32_t n = 0, m = 0;
  for (int k = 0; k < (alone ? (int)nops : 1); k++)
    n += try_split(l, -1, alone ? k : -1, &sum, &seconds);
  say_split(l, "program", n, &sum, seconds);
  seconds = 0;
  if (alone) return;
  for (uint32_t k = 0; k < nops; k++)
    m += try_split(l, (int)k, -1, &other, &seconds);
  say_split(l, "operator", m, &other, seconds);
}

/* ---- transfer ----------------------------------------------------------- */

enum { BATCH = 16, TRANSFER_SEEDS = 3 };

/* Scores of the operator's candidates; false: nothing could be learnt yet. */
static bool score_own(const learner *l, const progress *p, double *score) {
  model_data d = {0};
  mem_heap heap;
  model_fit f = {.seed = 1, .machine = machine};
  mem_heap_init(&heap, mem_default_allocator, 0);
  mem_heap_init(&f.heap, mem_default_allocator, 0);
  arena_init(&f.a, &f.heap);
  teaching t = {&d, &heap, l->kinds, -1, -1, p};
  fitting w = {l, &d, &f};
  const operator* o = & ops[p->own];
  bool fits = mem_protect(&heap, fill_data, &t) == TESS_OK &&
              mem_protect(&f.heap, fit_one, &w) == TESS_OK &&
              l->score(&f, o->t.n, o->rows, score, NULL) == TESS_OK;
  if (l->drop) l->drop(&f);
  arena_free(&f.a);
  data_free(&d);
  return fits;
}

/* Measures the best by the scores that is not known; its seconds. */
static double take_best(progress *p, const double *score) {
  const table *t = &ops[p->own].t;
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < t->n; i++)
    if (!p->known[i] && (best == UINT32_MAX || score[i] > score[best]))
      best = i;
  p->known[best] = true;
  return t->seconds[best];
}

/* Trials until within 5 % of the best that was recorded of the operator, in
 * batches of the best by the model; before it knows anything they are drawn. */
static double count_trials(const learner *l, uint32_t own, bool primed,
                           uint64_t seed) {
  static double score[MOST];
  const table *t = &ops[own].t;
  progress p = {.own = own, .primed = primed};
  double least = INFINITY;
  uint32_t n = 0;
  rng r;
  rng_init(&r, seed, own);
  while (n < t->n && least > 1.05 * t->best) {
    if ((!n && !primed) || !score_own(l, &p, score))
      for (uint32_t i = 0; i < t->n; i++) score[i] = rng_unit(&r);
    for (uint32_t k = 0; k < BATCH && n < t->n && least > 1.05 * t->best; k++) {
      least = fmin(least, take_best(&p, score));
      n++;
    }
  }
  return n;
}

/* What knowing the other operators saves, as a share of the trials. */
static void try_transfer(const learner *l, uint32_t seeds) {
  double with = 0, without = 0;
  for (uint32_t k = 0; k < nops; k++) {
    double alone[TRANSFER_SEEDS];
    for (uint32_t s = 0; s < seeds; s++)
      alone[s] = count_trials(l, k, false, s + 1);
    double median = bench_median(alone, seeds);
    double primed = count_trials(l, k, true, 1);
    report("transfer_gain", 1 - primed / median, l, "operator", ops[k].t.name);
    bench_say("%-10s %-9s %.0f trials, %.0f where others are known", l->name,
              ops[k].t.name, median, primed);
    with += primed;
    without += median;
  }
  report("transfer_gain", 1 - with / without, l, "operator", "mean");
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(
      argc, argv, "how well cost models rank what they do not know");
  if (tess_context_new(NULL, &context) != TESS_OK) models_stop("no context");
  read_all(BENCH_SOURCE_DIR "/data/models.jsonl");
  uint32_t all = 0;
  for (uint32_t k = 0; k < nops; k++) {
    make_features(&ops[k]);
    all += ops[k].t.n;
  }
  bench_say("%u programs of %u operators", all, nops);
  for (uint32_t i = 0; i < nlearners; i++) {
    try_learner(learners[i]);
    if (learners[i]->kinds >> FEATURE_PER_STORE & 1)
      try_transfer(learners[i], o.quick ? 1 : TRANSFER_SEEDS);
  }
  return 0;
}
