/* SPDX-License-Identifier: Apache-2.0
 * Postprocessors of a C host: what they do to a schedule ends the trace of each
 * candidate, what they refuse is counted, what fails is warned of once. */
#include "support/test.h"
#include "support/tiled.h"

#include <stdio.h>

enum { TRIALS = 6, MOST = 16 };

typedef struct host {
  tiled t;
  char warned[MOST][300];
  uint32_t nwarned, nmeasured, nasked;
  tess_postproc post[2];
  tess_result *r;
} host;

static void note_warning(void *ud, int level, const char *text) {
  host *h = ud;
  (void)level;
  if (h->nwarned < MOST)
    snprintf(h->warned[h->nwarned++], sizeof *h->warned, "%s", text);
}

static tess_status call_one(tess_schedule *s, const char *prim,
                            const char *operand, tess_value v, tess_rv *out) {
  uint32_t n;
  tess_arg arg = {operand, v};
  return tess_schedule_call(s, prim, 1, &arg, 16, out, &n, NULL);
}

/* Unrolls the outermost loop, which a second time would find unrolled. */
static tess_status unroll_outermost(void *ud, tess_session *s,
                                    tess_schedule *sch, const char **why) {
  tess_rv block, loop[16];
  (void)ud, (void)s, (void)why;
  tess_status st = call_one(sch, "get_block", "name",
                            (tess_value){.kind = TESS_V_STR, .s = "C"}, &block);
  if (st == TESS_OK)
    st = call_one(sch, "get_loops", "block",
                  (tess_value){.kind = TESS_V_RV, .rv = block}, loop);
  if (st != TESS_OK) return st;
  return call_one(sch, "unroll", "loop",
                  (tess_value){.kind = TESS_V_RV, .rv = loop[0]}, loop);
}

static uint32_t count_inst(tess_trace *t, const char *prim) {
  tess_inst_info i = TESS_INIT(tess_inst_info);
  uint32_t n = 0;
  for (uint32_t k = 1; tess_trace_inst(t, k, &i) == TESS_OK; k++)
    n += !strcmp(i.name, prim);
  return n;
}

static uint32_t count_in(tess_session *s, const tess_candidate *c,
                         const char *prim) {
  tess_trace *t;
  assert_int_equal(tess_session_trace(s, c, &t), TESS_OK);
  uint32_t n = count_inst(t, prim);
  tess_trace_free(t);
  return n;
}

/* A postprocessor sees what the one before it did; asking for candidates does
 * not ask it about them. */
static tess_status accept_unrolled(void *ud, tess_session *s,
                                   const tess_candidate *c) {
  host *h = ud;
  tess_candidate other;
  if (!h->nasked++)
    assert_int_equal(tess_session_mutate(s, c, &other), TESS_OK);
  return count_in(s, c, "unroll") == 1 ? TESS_OK : TESS_REFUSED;
}

static tess_status measure_unrolled(void *ud, tess_session *s,
                                    const tess_candidate *c, double *seconds) {
  host *h = ud;
  h->nmeasured++;
  *seconds = 1;
  return count_in(s, c, "unroll") == 1 && count_in(s, c, "enter_postproc") == 1
             ? TESS_OK
             : TESS_WRONG_RESULT;
}

static tess_status refuse_all(void *ud, tess_session *s, tess_schedule *sch,
                              const char **why) {
  (void)ud, (void)s, (void)sch;
  *why = "today";
  return TESS_REFUSED;
}

static tess_status fail_always(void *ud, tess_session *s, tess_schedule *sch,
                               const char **why) {
  (void)ud, (void)s, (void)sch;
  *why = "no\nmood";
  return TESS_CALLBACK;
}

static tess_status cancel(void *ud, tess_session *s, const tess_candidate *c) {
  (void)ud, (void)s, (void)c;
  return TESS_CANCELLED;
}

static tess_postproc post(const char *name) {
  return (tess_postproc){.struct_size = sizeof(tess_postproc), .name = name};
}

static void host_start(host *h) {
  tess_options o = TESS_INIT(tess_options);
  *h = (host){.nwarned = 0};
  o.log = note_warning;
  o.log_ud = h;
  tiled_start_with(&h->t, &o);
  for (int i = 0; i < 2; i++) {
    h->post[i] = post(i ? "second" : "first");
    h->post[i].ud = h;
  }
}

static tess_status tune_host(host *h, uint32_t n, int32_t on_error) {
  tess_space *space;
  tess_tune_options o = TESS_INIT(tess_tune_options);
  o.trials = o.batch = TRIALS;
  o.seed = 1;
  o.threads = 2;
  o.cost_model = "random";
  o.measure = measure_unrolled;
  o.measure_ud = h;
  o.postprocs = h->post;
  o.npostprocs = n;
  o.on_error = on_error;
  assert_int_equal(tess_space_traces(h->t.c, h->t.nsketch, h->t.sketch, &space),
                   TESS_OK);
  tess_status s = tess_tune(h->t.p, NULL, space, &o, &h->r);
  tess_space_free(space);
  return s;
}

static const char *funnel_of(const host *h) {
  static char text[2000];
  tess_result_info i = TESS_INIT(tess_result_info);
  assert_int_equal(tess_result_get(h->r, &i), TESS_OK);
  snprintf(text, sizeof text, "%s", i.funnel);
  return text;
}

static void host_end(host *h) {
  tess_result_free(h->r);
  tiled_end(&h->t);
}

static void test_they_change(void **state) {
  (void)state;
  host h;
  tess_trace *best;
  host_start(&h);
  h.post[0].apply = unroll_outermost;
  h.post[1].accepts = accept_unrolled;
  assert_int_equal(tune_host(&h, 2, 1), TESS_OK);
  /* The first one is asked for twice, to see whether times vary. */
  assert_int_equal(h.nmeasured, TRIALS + 1);
  assert_int_equal(h.nwarned, 0);
  assert_int_equal(tess_result_trace(h.r, &best), TESS_OK);
  assert_int_equal(count_inst(best, "unroll"), 1);
  tess_trace_free(best);
  host_end(&h);
}

static void test_they_refuse_and_fail(void **state) {
  (void)state;
  host h;
  host_start(&h);
  h.post[0].apply = refuse_all;
  assert_int_equal(tune_host(&h, 1, 0), TESS_OK);
  assert_non_null(strstr(funnel_of(&h), "rejected by first: today"));
  tess_result_free(h.r);
  h.post[0].apply = fail_always;
  assert_int_equal(tune_host(&h, 1, 0), TESS_OK);
  assert_non_null(strstr(funnel_of(&h), "rejected by first: it failed"));
  tess_result_free(h.r);
  assert_int_equal(h.nwarned, 1);
  assert_string_equal(h.warned[0],
                      "postprocessor first failed, so that candidates are "
                      "refused: no; mood");
  tess_status s = tune_host(&h, 1, 1);
  const char *said = tess_error(h.t.c)->message;
  if (h.r) {
    tess_result_info i = TESS_INIT(tess_result_info);
    assert_int_equal(tess_result_get(h.r, &i), TESS_OK);
    s = i.status;
    said = i.message;
  }
  assert_int_equal(s, TESS_CALLBACK);
  assert_string_equal(said, "postprocessor first failed: no; mood");
  host_end(&h);
}

/* A host ends the run by TESS_CANCELLED. */
static void test_they_end_the_run(void **state) {
  (void)state;
  host h;
  host_start(&h);
  h.post[0].accepts = cancel;
  tess_status s = tune_host(&h, 1, 0);
  tess_result_info i = TESS_INIT(tess_result_info);
  if (h.r && tess_result_get(h.r, &i) == TESS_OK) s = i.status;
  assert_int_equal(s, TESS_CANCELLED);
  assert_int_equal(h.nmeasured, 0);
  host_end(&h);
}

static void test_they_have_a_function(void **state) {
  (void)state;
  host h;
  host_start(&h);
  assert_int_equal(tune_host(&h, 1, 0), TESS_INVALID);
  assert_string_equal(tess_error(h.t.c)->message,
                      "option 'postprocs': 'accepts' and 'apply' of number 1, "
                      "counted from 1, are NULL");
  host_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_they_change),
      cmocka_unit_test(test_they_refuse_and_fail),
      cmocka_unit_test(test_they_end_the_run),
      cmocka_unit_test(test_they_have_a_function)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
