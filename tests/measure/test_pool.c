/* SPDX-License-Identifier: Apache-2.0
 * Labels: threads
 * Building, running and checking candidates that behave, in workers and in
 * this process. */
#include "ir/query.h"
#include "measure/worker/job_state.h"
#include "measure/worker/pool.h"
#include "support/measured.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void runs_and_checks(bool in_process) {
  measured m;
  measure_result r;
  measured_start_matmul(&m, in_process, 64);
  tess_schedule *s = measured_parallel(&m, "C");
  for (int i = 0; i < 3; i++) {
    tess_status status =
        measured_run(&m, i ? s : NULL, MEASURE_CHECK_ALWAYS, &r);
    if (status) fail_msg("%s", m.err.message);
    assert_true(r.checked && r.error == 0 && r.bound == 0);
    assert_true(r.sample.n >= m.policy.repeats && r.runs >= r.sample.n);
    assert_true(r.min > 0 && r.min <= r.median && r.median <= r.max);
    measure_result_free(&r);
  }
  assert_string_equal(measure_task_note(m.task), "");
  measured_end(&m);
}

static void test_workers(void **state) {
  (void)state;
  runs_and_checks(false);
}

static void test_in_process(void **state) {
  (void)state;
  runs_and_checks(true);
}

/* ---- candidates --------------------------------------------------------- */

/* C's first loop is split by a sampled tile. */
static tess_schedule *tiled(tess_program *p) {
  tess_schedule *s;
  assert_int_equal(tess_schedule_new(p, NULL, 1, &s), TESS_OK);
  tess_rv loop = measured_loop(s, "C"), tile[2];
  tess_arg sample[] = {{"loop", {.kind = TESS_V_RV, .rv = loop}},
                       {"n", {.kind = TESS_V_INT, .i = 2}},
                       {"max_innermost_factor", {.kind = TESS_V_INT, .i = -1}}};
  uint32_t n;
  assert_int_equal(tess_schedule_call(s, "sample_perfect_tile", 3, sample, 2,
                                      tile, &n, NULL),
                   TESS_OK);
  tess_value factors[] = {{.kind = TESS_V_RV, .rv = tile[0]},
                          {.kind = TESS_V_RV, .rv = tile[1]}};
  tess_arg split[] = {
      {"loop", {.kind = TESS_V_RV, .rv = loop}},
      {"factors", {.kind = TESS_V_LIST, .n = 2, .list = factors}}};
  measured_call(s, "split", 2, split);
  return s;
}

/* The hash of what the host's own replay gives. */
static uint64_t replayed_hash(const tess_schedule *s, const int64_t *d,
                              uint32_t n, ir_program *out) {
  vm_machine m;
  arena scratch;
  vm_machine_init(&m, &s->c->heap);
  arena_init(&scratch, &s->c->heap);
  vm_replay_opts o = {.source = VM_GIVEN, .given = d, .ngiven = n};
  assert_int_equal(vm_replay(&m, &s->program->p, &s->s.trace, &o, NULL),
                   TESS_OK);
  uint64_t hash = ir_hash(&m.prog, &scratch);
  if (out) ir_program_copy(out, &m.prog);
  arena_free(&scratch);
  vm_machine_free(&m);
  return hash;
}

static void builds_batches(bool in_process) {
  enum { K = 9 };
  static const int64_t d[K][3] = {{2, 64, 1}, {2, 32, 2},  {2, 16, 4},
                                  {2, 8, 8},  {2, 4, 16},  {2, 2, 32},
                                  {2, 1, 64}, {2, 16, 16}, {2, 64, 1}};
  measured m;
  measure_candidate c[K + 2];
  measure_build b[K + 2];
  measured_start_matmul(&m, in_process, 64);
  tess_schedule *s = tiled(m.program);
  ir_program scheduled;
  ir_program_init(&scheduled, &m.c->heap);
  replayed_hash(s, d[3], 3, &scheduled);
  for (int i = 0; i < K; i++)
    c[i] = (measure_candidate){
        .trace = &s->s.trace, .decisions = d[i], .ndecisions = 3};
  c[K] = (measure_candidate){.program = &scheduled};
  c[K + 1] = (measure_candidate){.trace = &s->s.trace, .form = BACKEND_IR};
  assert_int_equal(measure_build_batch(m.pool, m.task, K + 2, c, b), TESS_OK);
  for (int i = 0; i < K + 2; i++) {
    if (i == 7) continue;
    if (b[i].status) fail_msg("%d: %s", i, str_get(&b[i].message));
    assert_true(b[i].code.n > 0 && b[i].compile > 0);
    if (i < K)
      assert_true(b[i].program_hash == replayed_hash(s, d[i], 3, NULL));
  }
  /* 16 times 16 is not 64 */
  assert_int_equal(b[7].status, TESS_BUILD_ERROR);
  assert_non_null(strstr(str_get(&b[7].message), "replay: "));
  assert_true(b[K].program_hash == b[3].program_hash);
  assert_int_equal(b[8].code.n, b[0].code.n);
  assert_memory_equal(b[8].code.v, b[0].code.v, b[0].code.n);
  assert_non_null(strstr(str_get(&b[K + 1].code), "define"));
  assert_int_equal(measure_get_ledger(m.pool)->builds, K + 2);
  for (int i = 0; i < K + 2; i++) measure_build_free(&b[i]);
  ir_program_free(&scheduled);
  tess_schedule_free(s);
  measured_end(&m);
}

static void test_batches(void **state) {
  (void)state;
  builds_batches(false);
  builds_batches(true);
}

/* Builds go on while others are timed, where that leaves cores alone; all of
 * them are what they would be otherwise. */
static void test_behind(void **state) {
  (void)state;
  enum { K = 6, PATIENCE = 2000 };
  measured m;
  measure_candidate c[K] = {{.trace = NULL}};
  measure_build b[K];
  measure_building *building;
  measure_result r;
  measured_start(&m, false, NULL);
  m.policy.threads = 1;
  tess_program *p = measured_matmul(m.c, 64);
  measured_task(&m, p);
  assert_int_equal(measure_build_begin(m.pool, m.task, K, c, b, &building),
                   TESS_OK);
  assert_int_equal(measure_build_until(building, 1), TESS_OK);
  const measure_ledger *l = measure_get_ledger(m.pool);
  assert_int_equal(l->builds, 1);
  measure_request q = {.code = &b[0].code, .check = MEASURE_CHECK_NEVER};
  for (int i = 0; i < (m.pool->spare ? PATIENCE : 3) && l->builds < K; i++) {
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    measure_result_free(&r);
  }
  assert_int_equal(l->builds, m.pool->spare ? K : 1);
  assert_int_equal(measure_build_until(building, K), TESS_OK);
  measure_build_end(building);
  assert_null(m.pool->behind);
  for (int i = 0; i < K; i++) {
    assert_int_equal(b[i].status, TESS_OK);
    assert_int_equal(b[i].code.n, b[0].code.n);
    assert_memory_equal(b[i].code.v, b[0].code.v, b[0].code.n);
  }
  for (int i = 0; i < K; i++) measure_build_free(&b[i]);
  tess_program_free(p);
  measured_end(&m);
}

/* One that is ended in the middle leaves a pool that works. */
static void test_broken_off(void **state) {
  (void)state;
  enum { K = 6 };
  measured m;
  measure_candidate c[K] = {{.trace = NULL}};
  measure_build b[K];
  measure_building *building;
  measure_result r;
  measured_start(&m, false, NULL);
  m.policy.threads = 1;
  tess_program *p = measured_matmul(m.c, 64);
  measured_task(&m, p);
  assert_int_equal(measure_build_begin(m.pool, m.task, K, c, b, &building),
                   TESS_OK);
  assert_int_equal(measure_build_until(building, 1), TESS_OK);
  measure_request q = {.code = &b[0].code, .check = MEASURE_CHECK_NEVER};
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  measure_result_free(&r);
  measure_build_end(building);
  for (int i = 0; i < K; i++) measure_build_free(&b[i]);
  assert_int_equal(measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r), TESS_OK);
  measure_result_free(&r);
  tess_program_free(p);
  measured_end(&m);
}

/* ---- times -------------------------------------------------------------- */

static void test_rematch(void **state) {
  (void)state;
  for (int in_process = 0; in_process < 2; in_process++) {
    enum { K = 3 };
    measured m;
    measure_build b[K];
    measure_result r[K];
    const strbuf *code[K];
    measured_start_matmul(&m, in_process, 48);
    tess_schedule *s = tiled(m.program);
    for (int i = 0; i < K; i++) {
      assert_int_equal(measured_build(&m, i ? s : NULL, &b[i]), TESS_OK);
      code[i] = &b[i].code;
    }
    assert_int_equal(measure_rematch(m.pool, m.task, K, code, r), TESS_OK);
    for (int i = 0; i < K; i++) {
      assert_true(r[i].sample.n >= m.policy.repeats && r[i].median > 0);
      assert_int_equal(r[i].sample.n, r[0].sample.n);
    }
    for (int i = 0; i < K; i++) {
      measure_result_free(&r[i]);
      measure_build_free(&b[i]);
    }
    tess_schedule_free(s);
    measured_end(&m);
  }
}

/* ---- pools -------------------------------------------------------------- */

/* A worker that was replaced gets what it lacks again, references too. */
static void test_recycled(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measured_start(&m, false, NULL);
  measure_pool_free(m.pool);
  measure_config o = {.workers = 1, .recycle = 2};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err), TESS_OK);
  tess_program *p = measured_matmul(m.c, 16);
  measured_task(&m, p);
  for (int i = 0; i < 6; i++) {
    tess_status s = measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r);
    if (s) fail_msg("%s", m.err.message);
    assert_true(r.checked);
    measure_result_free(&r);
  }
  const measure_ledger *l = measure_get_ledger(m.pool);
  assert_int_equal(l->lost, 0);
  assert_in_range(l->started, 6, 7);
  tess_program_free(p);
  measured_end(&m);
}

/* Tasks that alternate on one worker. */
static void test_two_tasks(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measure_task *other;
  measured_start(&m, false, NULL);
  tess_program *p = measured_matmul(m.c, 16), *q = measured_matmul(m.c, 24);
  measured_task(&m, p);
  other = m.task;
  m.task = NULL;
  measured_task(&m, q);
  for (int i = 0; i < 5; i++) {
    measure_task *t = m.task;
    m.task = other;
    other = t;
    tess_status s = measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r);
    if (s) fail_msg("%s", m.err.message);
    assert_true(r.checked);
    measure_result_free(&r);
  }
  measure_task_free(other);
  tess_program_free(p);
  tess_program_free(q);
  measured_end(&m);
}

/* Tensors of terabytes are refused before anything is made. */
static void test_no_room(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, NULL);
  tess_program *small = measured_matmul(m.c, 8);
  tess_program *large = measured_matmul(m.c, 1 << 20);
  assert_int_equal(measure_task_fits(&small->p, false, &m.err), TESS_OK);
  assert_int_equal(measure_task_fits(&large->p, false, &m.err), TESS_NOMEM);
  measured_says(&m, "no memory for the tensors of 'kernel': they take "
                    "16384.0 GiB, and there are ");
  tess_program_free(small);
  tess_program_free(large);
  measured_end(&m);
}

/* ---- a reference that is wrong ------------------------------------------ */

static const backend *right;

static int32_t wrong_launch(const backend_code *c, void **args,
                            const int64_t *sizes, const tess_runtime *rt) {
  int32_t status = right->launch(c, args, sizes, rt);
  float *result = args[2];
  result[5] += 1;
  return status;
}

/* The unscheduled program, compiled wrongly, is no reference: the interpreter
 * finds out.  A backend that needs a process of its own runs nothing in the
 * host. */
static void test_wrong_reference(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measured_start(&m, true, NULL);
  tess_program *small = measured_matmul(m.c, 8), *p = measured_matmul(m.c, 9);
  measured_task(&m, small);
  if (measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r))
    fail_msg("%s", m.err.message);
  measure_result_free(&r);
  measured_task(&m, p);
  job_state *j = pool_local(m.pool, m.pool->nbuilders, m.task);
  assert_non_null(j);
  right = j->backend;
  backend faulty = *right;
  faulty.launch = wrong_launch;
  j->backend = &faulty;
  assert_int_not_equal(measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r),
                       TESS_OK);
  measured_says(&m, "the unscheduled program, compiled, differs from the "
                    "interpreter: the interpreter's D[0, 5] is ");
  measure_result_free(&r);
  faulty.own_process = true;
  assert_int_not_equal(measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r),
                       TESS_OK);
  j->backend = right;
  measured_says(&m, "kernels for 'llvm' are loaded by workers only");
  measure_result_free(&r);
  tess_program_free(small);
  tess_program_free(p);
  measured_end(&m);
}

/* That the check sees little of what is not-a-number, is said. */
static void test_note(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measured_start(&m, false, TESS_EXTERNS);
  tess_program *p = measured_extern(m.c, "test_not_a_number", 64);
  measured_task(&m, p);
  tess_status s = measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r);
  if (s) fail_msg("%s", m.err.message);
  const char *note = measure_task_note(m.task);
  const char *at = strstr(note, " of 64 elements of 'B' are infinite or not-");
  if (!at || !atoi(note) || atoi(note) == 64) fail_msg("%s", note);
  measure_result_free(&r);
  tess_program_free(p);
  measured_end(&m);
}

/* What a program changes in place is put back before each launch, for samples
 * of its time, too: the kernel aborts where it meets what it made. */
static void test_in_place(void **state) {
  (void)state;
  static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                          i64 = {TESS_DTYPE_INT, 64, 1};
  static const char *const names[] = {"v"};
  static const tess_iter_kind kinds[] = {TESS_SPATIAL};
  measured m;
  measure_result r;
  tess_builder *b;
  tess_buffer x;
  tess_expr n, zero, i, old, one;
  tess_var loop, v;
  tess_program *p;
  measured_start(&m, false, TESS_EXTERNS);
  tess_builder_new(m.c, &b);
  tess_int(b, i64, 100, &n);
  tess_int(b, i64, 0, &zero);
  tess_buffer_new(b, "X", f32, 1, &n, "global", TESS_ROLE_INPUT, 1, &x);
  tess_loop_begin(b, "i", zero, n, &loop);
  tess_var_ref(b, loop, &i);
  tess_block_begin(b, "step", 1, names, kinds, &zero, &n, &i, 0, &v);
  tess_var_ref(b, v, &i);
  tess_load(b, x, 1, &i, &old);
  tess_call_extern(b, "test_only_once", f32, 1, &old, &one);
  assert_int_equal(tess_store(b, x, 1, &i, one), TESS_OK);
  tess_end(b);
  tess_end(b);
  if (tess_program_new(b, "in_place", 1, &x, 1, &x, &p))
    fail_msg("%s", tess_error(m.c)->message);
  measured_task(&m, p);
  for (int k = 0; k < 2; k++) {
    tess_status s = measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r);
    if (s) fail_msg("%s", m.err.message);
    assert_true(r.checked && r.error == 0);
    measure_result_free(&r);
  }
  tess_builder_free(b);
  tess_program_free(p);
  measured_end(&m);
}

/* ---- stopping ----------------------------------------------------------- */

static void *raise_soon(void *flag) {
  struct timespec t = {0, 200000000};
  nanosleep(&t, NULL);
  thread_flag_raise(flag);
  return NULL;
}

/* A candidate that never ends is left alone when the flag is raised. */
static void test_cancelled(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measure_build b[3];
  pthread_t id;
  thread_flag stop;
  thread_flag_clear(&stop);
  measured_start(&m, false, NULL);
  measure_pool_free(m.pool);
  measure_config o = {.workers = 1, .externs = TESS_EXTERNS, .cancel = &stop};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err), TESS_OK);
  m.policy.timeout = 1e6;
  tess_program *p = measured_extern(m.c, "test_hang", 8);
  measured_task(&m, p);
  pthread_create(&id, NULL, raise_soon, &stop);
  assert_int_equal(measured_run(&m, NULL, MEASURE_CHECK_NEVER, &r),
                   TESS_CANCELLED);
  pthread_join(id, NULL);
  measure_result_free(&r);
  measure_candidate c[3] = {{.form = BACKEND_CODE}};
  assert_int_equal(measure_build_batch(m.pool, m.task, 3, c, b),
                   TESS_CANCELLED);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(b[i].status, TESS_CANCELLED);
    measure_build_free(&b[i]);
  }
  tess_program_free(p);
  measured_end(&m);
}

/* ---- exhausted memory --------------------------------------------------- */

/* All that a pool does, once; the first status that is not OK. */
static tess_status do_everything(tess_context *c, tess_program *p,
                                 bool in_process) {
  measure_pool *pool;
  measure_task *task = NULL;
  measure_build b = {.status = TESS_OK};
  measure_result r[2] = {{.status = TESS_OK}};
  measure_config o = {.in_process = in_process, .workers = 1};
  measure_policy policy = measure_default_policy(1);
  policy.min_time = 0;
  policy.repeats = 1;
  tess_status s = measure_pool_new(&c->heap, &o, &pool, &c->err);
  if (s) return s;
  s = measure_task_new(pool, &p->p, "llvm", &policy, &task, &c->err);
  measure_candidate candidate = {.form = BACKEND_CODE};
  if (!s) s = measure_build_batch(pool, task, 1, &candidate, &b);
  if (!s) s = b.status;
  measure_request q = {.code = &b.code, .check = MEASURE_CHECK_ALWAYS};
  if (!s) s = measure_run(pool, task, &q, &r[0]);
  measure_result_free(&r[0]);
  const strbuf *code[] = {&b.code, &b.code};
  if (!s) {
    s = measure_rematch(pool, task, 2, code, r);
    for (int i = 0; i < 2; i++) measure_result_free(&r[i]);
  }
  measure_build_free(&b);
  measure_task_free(task);
  measure_pool_free(pool);
  return s;
}

/* Fault injection: each of the host's allocations with workers, every third in
 * this process, where each run compiles twice: the run says that memory ran
 * out, whichever it was, or does without. */
static void test_exhausted(void **state) {
  (void)state;
  fault_alloc f;
  for (int in_process = 0; in_process < 2; in_process++) {
    bool done = false;
    for (uint64_t at = 1; !done; at += in_process ? 3 : 1) {
      fault_init(&f);
      tess_allocator alloc = fault_allocator(&f);
      tess_options o = {.struct_size = sizeof o, .allocator = &alloc};
      tess_context *c;
      assert_int_equal(tess_context_new(&o, &c), TESS_OK);
      tess_program *p = measured_matmul(c, 4);
      fault_arm(&f, at);
      tess_status s = do_everything(c, p, in_process);
      done = f.failed == 0;
      if (s && (done || s != TESS_NOMEM))
        fail_msg("allocation %llu, in process %d: status %s",
                 (unsigned long long)at, in_process, tess_status_name(s));
      tess_program_free(p);
      tess_context_free(c);
      assert_int_equal(f.live_blocks, 0);
      assert_int_equal(f.broken, 0);
    }
  }
}

static void test_policy(void **state) {
  (void)state;
  mem_heap heap;
  strbuf text;
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&text, &heap);
  measure_policy p = measure_default_policy(2);
  measure_policy_text(&p, &text);
  assert_string_equal(str_get(&text),
                      "v2 min-time=0.1 repeats=3 cutoff=4 margin=0.3 "
                      "threads=2 seed=0");
  str_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_process), cmocka_unit_test(test_workers),
      cmocka_unit_test(test_batches),    cmocka_unit_test(test_behind),
      cmocka_unit_test(test_broken_off), cmocka_unit_test(test_rematch),
      cmocka_unit_test(test_recycled),   cmocka_unit_test(test_wrong_reference),
      cmocka_unit_test(test_two_tasks),  cmocka_unit_test(test_note),
      cmocka_unit_test(test_no_room),    cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_cancelled),  cmocka_unit_test(test_policy),
  };
  const struct CMUnitTest exhausted[] = {cmocka_unit_test(test_exhausted)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (!TEST_THREADS_ONLY)
    failed += cmocka_run_group_tests(exhausted, NULL, NULL);
  return failed;
}
