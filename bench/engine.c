/* SPDX-License-Identifier: Apache-2.0
 * What the engine does a second without compiling or measuring, on one thread:
 * candidates of the default space made (drawn, replayed, checked), their
 * per-store features, and one proposal of the evolutionary strategy: a
 * population of 512, four generations, 64 candidates out, with scores that are
 * noise and with boosted trees.  Beside a figure stands the ratio to what TVM
 * MetaSchedule did, where it was measured. */
#include "bench/support/bench.h"

#include "bench/support/sketches.h"
#include "search/strategy/strategy.h"

#include <stdlib.h>

enum { POPULATION = 512, OUT = 64, ROUNDS = 5 };

/* TVM v0.18.0 on one thread of a 2-core AMD Zen 3 machine, November 2026: the
 * best of three runs; seconds of the round are without features. */
typedef struct peer {
  const char *workload;
  double replay_postproc, features, round;
} peer;
static const peer peers[] = {
    {"GMM-4", 304, 169, 8.8}, {"C2D-3", 65, 52, 48}, {"TBG-1", 68, 86, 0}};

static sketches work;
static const vm_trace *trace[16];
static tess_session session;
static search_order order[POPULATION];
static search_cand made[POPULATION];
static tess_candidate candidate[POPULATION];

static void engine_must(tess_status s, const char *what) {
  if (s == TESS_OK) return;
  bench_say("engine: %s: %s", what, tess_error(work.c)->message);
  exit(1);
}

static void open_workload(const char *name) {
  sketches_load_named(&work, BENCH_SOURCE_DIR, "default", name);
  for (uint32_t i = 0; i < work.n; i++) trace[i] = &work.sketch[i]->t;
  engine_must(session_init(&session, work.c, &work.p->p, work.n, trace, 1, 1),
              "a session");
}

static void close_workload(void) {
  session_free(&session);
  sketches_free(&work);
}

static json_t *keys(const peer *p) {
  return json_pack("{s:s, s:i}", "workload", p->workload, "threads", 1);
}

static void figure(const peer *p, const char *name, double value,
                   const char *unit, double tvm, bool more_is_better) {
  json_t *k = keys(p);
  double ratio = more_is_better ? value / tvm : tvm / value;
  if (tvm > 0) {
    json_object_set_new(k, "tvm", json_real(tvm));
    json_object_set_new(k, "ratio", json_real(ratio));
  }
  bench_figure(name, value, unit, k);
  bench_say("%s %s: %.4g %s%s", p->workload, name, value, unit,
            tvm > 0 ? "" : " (no figure of TVM's)");
  if (tvm > 0) bench_say("  %.1f times TVM's %.4g", ratio, tvm);
}

/* ---- candidates a second ------------------------------------------------ */

static uint32_t make_population(uint32_t n) {
  uint32_t valid = 0;
  for (uint32_t i = 0; i < n; i++)
    order[i] = (search_order){.how = SEARCH_DRAW, .sketch = -1};
  engine_must(session_make(&session, n, order, made), "making candidates");
  for (uint32_t i = 0; i < n; i++) valid += made[i].d != NULL;
  return valid;
}

static double make_rate(void) {
  session_begin_batch(&session);
  double start = bench_now();
  uint32_t valid = make_population(POPULATION);
  return valid / (bench_now() - start);
}

/* Features of programs that stand ready, alone. */
static double feature_rate(uint32_t n, uint64_t *heap_calls) {
  double spent = 0;
  uint32_t done = 0;
  search_worker *w = &session.worker[0];
  for (uint32_t i = 0; i < n; i++) {
    feature_rows rows;
    if (!made[i].d || session_replay(&session, &made[i]) != TESS_OK) continue;
    arena_mark mark = arena_get_mark(&w->m.scratch);
    uint64_t before = w->heap.calls;
    double start = bench_now();
    feature_make(FEATURE_PER_STORE, &w->m.prog, &w->m.scratch, &rows);
    spent += bench_now() - start;
    *heap_calls = w->heap.calls - before;
    arena_reset_to(&w->m.scratch, mark);
    done++;
  }
  return done / spent;
}

static void measure_rates(const peer *p, uint32_t rounds) {
  double make[ROUNDS], feature[ROUNDS], both[ROUNDS];
  uint64_t calls = 0;
  make_rate();
  for (uint32_t r = 0; r < rounds; r++) {
    make[r] = make_rate();
    feature[r] = feature_rate(POPULATION, &calls);
    both[r] = 1 / (1 / make[r] + 1 / feature[r]);
  }
  double tvm = 1 / (1 / p->replay_postproc + 1 / p->features);
  figure(p, "replay_postproc_per_s", bench_median(make, rounds), "1/s",
         p->replay_postproc, true);
  figure(p, "features_per_s", bench_median(feature, rounds), "1/s", p->features,
         true);
  figure(p, "replay_postproc_features_per_s", bench_median(both, rounds), "1/s",
         tvm, true);
  bench_figure("heap_allocations_per_features", (double)calls, "1", keys(p));
}

/* ---- a round ------------------------------------------------------------ */

/* Scores that are noise. */
static tess_status predict_noise(void *ud, tess_session *s, uint32_t n,
                                 const tess_candidate *c, double *out) {
  (void)ud, (void)s;
  for (uint32_t i = 0; i < n; i++)
    out[i] = (double)(session_from_public(&c[i]).hash % 1009);
  return TESS_OK;
}

/* One proposal of the strategy "evolutionary" as it is by default. */
static double evolve(const tess_strategy *st) {
  uint32_t got = 0;
  double start = bench_now();
  engine_must(st->propose(st->ud, &session, OUT, candidate, &got), "proposing");
  if (got != OUT) bench_say("engine: %u candidates, not %d", got, OUT);
  return bench_now() - start;
}

/* Times that are some function of a candidate. */
static void teach(const tess_cost_model *m) {
  session_begin_batch(&session);
  make_population(OUT);
  uint32_t n = 0;
  for (uint32_t i = 0; i < OUT; i++) {
    if (!made[i].d) continue;
    session_to_public(&made[i], &candidate[n]);
    candidate[n].status = TESS_OK;
    candidate[n++].seconds = 1e-3 * (1 + (double)(made[i].hash % 97));
  }
  engine_must(m->update(m->ud, &session, n, candidate), "teaching");
}

/* "random": scores that are noise. */
static void measure_round(const peer *p, const char *name, uint32_t rounds) {
  tess_model *model = NULL;
  tess_cost_model m = {.predict = predict_noise};
  tess_strategy st;
  double took[ROUNDS];
  bool noise = !strcmp(name, "random");
  if (!noise && tess_model_new(work.c, name, &model) != TESS_OK) {
    bench_say("%s: %s", name, tess_error(work.c)->message);
    return;
  }
  session.model = &m;
  if (model) {
    engine_must(model_attach(model, &session, &m), "a model");
    teach(&m);
  }
  engine_must(strategy_open(&session, "evolutionary", &st), "a strategy");
  evolve(&st);
  for (uint32_t r = 0; r < rounds; r++) took[r] = evolve(&st);
  double seconds = bench_median(took, rounds);
  json_t *k = keys(p);
  json_object_set_new(k, "model", json_string(name));
  if (p->round > 0)
    json_object_set_new(k, "ratio", json_real(p->round / seconds));
  bench_figure("evolve_round_s", seconds, "s", k);
  bench_say("%s, a round with \"%s\": %.3f s%s", p->workload, name, seconds,
            p->round > 0 ? "" : " (no figure of TVM's)");
  if (p->round > 0)
    bench_say("  %.1f times as fast as TVM's %.4g s without features or model",
              p->round / seconds, p->round);
  st.free(st.ud);
  session.features.wanted = false;
  session.model = NULL;
  session.learns = NULL;
  tess_model_free(model);
}

int main(int argc, char **argv) {
  bench_options o =
      bench_parse(argc, argv, "what the engine does a second, by itself");
  uint32_t rounds = o.quick ? 1 : ROUNDS;
  bench_pin(0);
  for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
    open_workload(peers[i].workload);
    figure(&peers[i], "sketch_generation_s", work.seconds, "s", 0, false);
    measure_rates(&peers[i], rounds);
    measure_round(&peers[i], "random", rounds);
    measure_round(&peers[i], "xgb", rounds);
    close_workload();
  }
  return 0;
}
