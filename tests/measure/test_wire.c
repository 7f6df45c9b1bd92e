/* SPDX-License-Identifier: Apache-2.0
 * Frames and messages: they round-trip, damaged ones are rejected; malformed
 * messages of workers and to workers. */
#include "measure/worker/pool.h"
#include "support/measured.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- messages ----------------------------------------------------------- */

typedef struct message {
  test_heap heap;
  arena scratch;
  strbuf body;
} message;

static void wire_begin(message *m) {
  test_heap_start(&m->heap, 0);
  arena_init(&m->scratch, &m->heap.heap);
  str_init(&m->body, &m->heap.heap);
}

static void wire_end(message *m) {
  str_free(&m->body);
  arena_free(&m->scratch);
  test_heap_end(&m->heap);
}

/* `read` refuses every body that is cut off or too long. */
static void refuses_other_lengths(message *m,
                                  bool (*read)(message *m, size_t n)) {
  size_t n = m->body.n;
  assert_true(read(m, n));
  for (size_t k = 0; k < n; k++) assert_false(read(m, k));
  str_putc(&m->body, 'x');
  assert_false(read(m, n + 1));
}

static bool read_build(message *m, size_t n) {
  job_build r;
  return wire_read_build(m->body.v, n, &m->scratch, &r);
}

static void test_build(void **state) {
  (void)state;
  message m;
  wire_begin(&m);
  const int64_t decisions[] = {2, INT64_MIN, 7};
  job_build r = {.base = 5,
                 .target = "llvm -mcpu=x",
                 .kind = JOB_OF_TRACE,
                 .form = BACKEND_ASM,
                 .trace = UINT64_MAX,
                 .given = true,
                 .decisions = decisions,
                 .ndecisions = 3,
                 .program = {"abc", 3}};
  job_build got;
  wire_write_build(&m.body, &r);
  assert_true(wire_read_build(m.body.v, m.body.n, &m.scratch, &got));
  assert_string_equal(got.target, r.target);
  assert_int_equal(got.base, 5);
  assert_int_equal(got.kind, JOB_OF_TRACE);
  assert_int_equal(got.form, BACKEND_ASM);
  assert_true(got.trace == UINT64_MAX && got.given);
  assert_int_equal(got.ndecisions, 3);
  assert_memory_equal(got.decisions, decisions, sizeof decisions);
  assert_int_equal(got.program.n, 3);
  assert_memory_equal(got.program.v, "abc", 3);
  refuses_other_lengths(&m, read_build);
  wire_end(&m);
}

static bool read_run(message *m, size_t n) {
  static job_run r;
  return wire_read_run(m->body.v, n, &r);
}

static void test_run(void **state) {
  (void)state;
  static job_run r, got;
  message m;
  wire_begin(&m);
  r = (job_run){.bench = {1, 2, 7, "llvm", 3},
                .n = 2,
                .code = {{"ab", 2}, {"", 0}},
                .check = MEASURE_CHECK_IF_BEST,
                .only_check = true,
                .has_reference = true,
                .reference = {"ref", 3},
                .min_time = 0.5,
                .timeout = 2,
                .cutoff = 4,
                .margin = {{0.5, 0.25}},
                .best = 1e-9,
                .repeats = 9};
  wire_write_run(&m.body, &r);
  assert_true(wire_read_run(m.body.v, m.body.n, &got));
  assert_int_equal(got.bench.seed, 2);
  assert_int_equal(got.bench.inputs, 7);
  assert_int_equal(got.n, 2);
  assert_memory_equal(got.code[0].v, "ab", 2);
  assert_memory_equal(got.reference.v, "ref", 3);
  assert_true(got.best == 1e-9 && got.margin.v[1] == 0.25 && got.only_check &&
              got.has_reference);
  refuses_other_lengths(&m, read_run);
  wire_end(&m);
}

static bool read_ran(message *m, size_t n) {
  measure_result r[2] = {{.status = TESS_OK}};
  job_times t;
  for (int i = 0; i < 2; i++) str_init(&r[i].message, &m->heap.heap);
  bool ok = wire_read_ran(m->body.v, n, &m->heap.heap, 2, r, &t);
  for (int i = 0; i < 2; i++) measure_result_free(&r[i]);
  return ok;
}

static void test_ran(void **state) {
  (void)state;
  message m;
  wire_begin(&m);
  double samples[] = {1, 2, 3};
  measure_result r[2] = {{.status = TESS_OK,
                          .median = 2,
                          .first = 4,
                          .runs = 30,
                          .sample = {samples, 3, 3},
                          .checked = true},
                         {.status = TESS_LAUNCH_ERROR}};
  for (int i = 0; i < 2; i++) str_init(&r[i].message, &m.heap.heap);
  str_puts(&r[1].message, "why");
  wire_write_ran(&m.body, 2, r, &(job_times){1, 2, 3});
  measure_result got[2] = {{.status = TESS_OK}};
  job_times t;
  for (int i = 0; i < 2; i++) str_init(&got[i].message, &m.heap.heap);
  assert_true(wire_read_ran(m.body.v, m.body.n, &m.heap.heap, 2, got, &t));
  assert_int_equal(got[0].sample.n, 3);
  assert_true(got[0].sample.v[2] == 3 && got[0].median == 2 &&
              got[0].first == 4 && t.kernel == 2);
  assert_int_equal(got[1].status, TESS_LAUNCH_ERROR);
  assert_string_equal(str_get(&got[1].message), "why");
  refuses_other_lengths(&m, read_ran);
  for (int i = 0; i < 2; i++) measure_result_free(&got[i]);
  str_free(&r[0].message);
  str_free(&r[1].message);
  wire_end(&m);
}

/* A status that does not exist, a time that is not a number. */
static void test_impossible(void **state) {
  (void)state;
  message m;
  wire_begin(&m);
  measure_build b = {.status = (tess_status)77};
  str_init(&b.message, &m.heap.heap);
  str_init(&b.code, &m.heap.heap);
  wire_write_built(&m.body, &b);
  assert_false(wire_read_built(m.body.v, m.body.n, &b));
  str_clear(&m.body);
  b.status = TESS_OK;
  b.lower = -1;
  wire_write_built(&m.body, &b);
  assert_false(wire_read_built(m.body.v, m.body.n, &b));
  measure_build_free(&b);
  wire_end(&m);
}

/* ---- frames ------------------------------------------------------------- */

static void test_frame(void **state) {
  (void)state;
  unsigned char head[FRAME_HEAD];
  frame_head h;
  frame_put_head(head, FRAME_BUILT, "body", 4);
  assert_true(frame_get_head(head, &h));
  assert_int_equal(h.type, FRAME_BUILT);
  assert_int_equal(h.length, 4);
  assert_true(frame_body_fits(&h, "body"));
  assert_false(frame_body_fits(&h, "bod!"));
  for (int i = 0; i < 6; i++) {
    head[i] ^= 0x40;
    assert_false(frame_get_head(head, &h));
    head[i] ^= 0x40;
  }
  head[6] = FRAME_TYPES;
  assert_false(frame_get_head(head, &h));
  head[6] = FRAME_BUILT;
  head[15] = 1; /* a length beyond all measure */
  assert_false(frame_get_head(head, &h));
}

/* ---- nonsense from a worker --------------------------------------------- */

/* A script in the worker's place, of a pool as `o` has it. */
static void start_script(measured *m, const char *script, measure_config o,
                         char *path) {
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *f = fdopen(fd, "w");
  fprintf(f, "#!/bin/sh\n%s\n", script);
  fchmod(fd, 0700);
  fclose(f);
  measured_start(m, false, NULL);
  measure_pool_free(m->pool);
  o.worker_path = path;
  o.workers = 1;
  assert_int_equal(measure_pool_new(&m->c->heap, &o, &m->pool, &m->err),
                   TESS_OK);
}

/* The result of a build by it. */
static void expect_of(const char *script, tess_status class, const char *says) {
  measured m;
  measure_build b;
  char path[] = "/tmp/tessera-test-XXXXXX";
  start_script(&m, script, (measure_config){.patience = 0}, path);
  m.policy.build_timeout = class == TESS_TIMEOUT ? 0.2 : 60;
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), class);
  measured_says(&m, says);
  measure_build_free(&b);
  assert_int_equal(measure_get_ledger(m.pool)->lost,
                   class == TESS_INFRA ? 2 : 0);
  tess_program_free(p);
  measured_end(&m);
  unlink(path);
}

static void test_nonsense_from_worker(void **state) {
  (void)state;
  expect_of("exit 7", TESS_INFRA, "the worker ended with status 7, before");
  expect_of("exit 0", TESS_INFRA, "it was '/tmp/tessera-test-");
  expect_of("echo no such library >&2; exit 127", TESS_INFRA,
            "no such library");
  expect_of("printf 'some text that is no frame at all' >&3; sleep 100",
            TESS_INFRA, "a malformed message");
  expect_of("head -c 100000 /dev/urandom >&3; sleep 100", TESS_INFRA,
            "a malformed message");
  /* a frame that says that it goes on for ever, and does not */
  expect_of("printf 'TESS\\001\\000\\007\\000\\377\\377' >&3; exit 3",
            TESS_INFRA, "the worker ended with status 3");
  expect_of("kill -9 $$", TESS_INFRA, "the worker was killed: SIGKILL");
  expect_of("kill -15 $$", TESS_INFRA, "the worker was killed: SIGTERM");
}

/* ---- workers that take too long ----------------------------------------- */

/* One that says nothing is waited for once, and named. */
static void test_silent_worker(void **state) {
  (void)state;
  measured m;
  measure_build b;
  char path[] = "/tmp/tessera-test-XXXXXX", says[256];
  start_script(&m, "sleep 100", (measure_config){.patience = 0.2}, path);
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_INFRA);
  snprintf(says, sizeof says,
           "'%s' was started as the worker and sent no handshake: it is not "
           "tessera-worker, or cannot run; set worker_path or TESSERA_WORKER "
           "to the one of this version",
           path);
  assert_string_equal(str_get(&b.message), says);
  measure_build_free(&b);
  assert_int_equal(measure_get_ledger(m.pool)->started, 1);
  tess_program_free(p);
  measured_end(&m);
  unlink(path);
}

static void add_frame(strbuf *out, frame_type type, const strbuf *body) {
  unsigned char head[FRAME_HEAD];
  frame_put_head(head, type, body->v, body->n);
  str_write(out, (const char *)head, sizeof head);
  str_write(out, body->v, body->n);
}

/* Makes a file of what one says that greets and begins something; and then
 * LLVM's last words, where there are any. */
static void write_beginning(job_phase phase, const char *fatal, char *path) {
  mem_heap heap;
  strbuf frames, body;
  int fd = mkstemp(path);
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&frames, &heap);
  str_init(&body, &heap);
  wire_write_hello(&body, &(wire_hello){TESS_OK, "", tess_version()});
  add_frame(&frames, FRAME_HELLO, &body);
  str_clear(&body);
  wire_write_phase(&body, phase);
  add_frame(&frames, FRAME_PHASE, &body);
  str_clear(&body);
  str_puts(&body, fatal);
  if (*fatal) add_frame(&frames, FRAME_FATAL, &body);
  assert_int_equal(write(fd, frames.v, frames.n), frames.n);
  close(fd);
  str_free(&frames);
  str_free(&body);
}

/* One that greets, begins to compile and falls asleep, or ends. */
static void begins_and(const char *fatal, const char *then, tess_status class,
                       const char *says) {
  char path[] = "/tmp/tessera-test-XXXXXX", script[128];
  write_beginning(JOB_BUILDING, fatal, path);
  snprintf(script, sizeof script, "cat %s >&3; %s", path, then);
  expect_of(script, class, says);
  unlink(path);
}

static void test_slow_compiler(void **state) {
  (void)state;
  begins_and("", "sleep 100", TESS_TIMEOUT, "compiling took longer than 0.2 s");
  begins_and("", "echo 'LLVM ERROR: no' >&2; exit 1", TESS_BUILD_ERROR,
             "fatal error of the compiler: LLVM ERROR: no");
  begins_and("", "kill -SEGV $$", TESS_BUILD_ERROR,
             "the compiler crashed: SIGSEGV");
  begins_and("Cannot select: t7\n  t3: i32\r\n\n  In function: f\n", "exit 1",
             TESS_BUILD_ERROR,
             "LLVM: Cannot select: t7; t3: i32; In function: f");
  begins_and("", "kill -KILL $$", TESS_INFRA, "the worker was killed: SIGKILL");
}

/* A time-out of preparing tensors is not repeated. */
static void test_slow_preparation(void **state) {
  (void)state;
  measured m;
  char said[] = "/tmp/tessera-test-XXXXXX", script[128];
  char path[] = "/tmp/tessera-test-XXXXXX";
  write_beginning(JOB_PREPARING, "", said);
  snprintf(script, sizeof script, "cat %s >&3; sleep 100", said);
  start_script(&m, script, (measure_config){.preparation = 0.2}, path);
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  strbuf code;
  str_init(&code, &m.c->heap);
  str_puts(&code, "no code");
  measure_request q = {.code = &code};
  for (int i = 0; i < 2; i++) {
    measure_result r;
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_INFRA);
    assert_string_equal(str_get(&r.message),
                        "preparing tensors took longer than 0.2 s");
    assert_string_equal(measure_task_stuck(m.task, &(tess_status){0}),
                        str_get(&r.message));
    measure_result_free(&r);
  }
  assert_int_equal(measure_get_ledger(m.pool)->started, 1);
  measured_task(&m, p);
  assert_null(measure_task_stuck(m.task, &(tess_status){0}));
  str_free(&code);
  tess_program_free(p);
  measured_end(&m);
  unlink(path);
  unlink(said);
}

static void expect_no_worker(const char *given, const char *words) {
  char path[4096];
  err_state e;
  assert_int_equal(worker_find(given, path, sizeof path, &e), TESS_INFRA);
  assert_string_equal(e.message, words);
}

/* The option goes before the environment, that before the usual places. */
static void test_find_worker(void **state) {
  (void)state;
  char path[4096];
  err_state e;
  assert_int_equal(worker_find("/usr/bin/yes", path, sizeof path, &e), TESS_OK);
  assert_string_equal(path, "/usr/bin/yes");
  expect_no_worker("/usr/bin", "the worker '/usr/bin', which the option "
                               "worker_path names, is not an executable file");
  setenv("TESSERA_WORKER", "/no/such/worker", 1);
  expect_no_worker(NULL, "the worker '/no/such/worker', which TESSERA_WORKER "
                         "names, is not an executable file");
  assert_int_equal(worker_find("/usr/bin/yes", path, sizeof path, &e), TESS_OK);
  setenv("TESSERA_WORKER", "/usr/bin/yes", 1);
  assert_int_equal(worker_find(NULL, path, sizeof path, &e), TESS_OK);
  assert_string_equal(path, "/usr/bin/yes");
  unsetenv("TESSERA_WORKER");
  assert_int_equal(worker_find(NULL, path, sizeof path, &e), TESS_OK);
  assert_non_null(strstr(path, "libexec/tessera-worker"));
}

static void test_no_worker(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, NULL);
  measure_pool_free(m.pool);
  measure_config o = {.worker_path = "/no/such/worker", .workers = 1};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err),
                   TESS_INFRA);
  assert_string_equal(m.err.message,
                      "the worker '/no/such/worker', which the option "
                      "worker_path names, is not an executable file");
  measured_end(&m);
}

/* The handshake is not waited for again and again. */
static void test_mute_worker(void **state) {
  (void)state;
  enum { N = 5 };
  measured m;
  measure_build b[N];
  measure_candidate c[N] = {{.form = BACKEND_CODE}};
  measured_start(&m, false, NULL);
  measure_pool_free(m.pool);
  measure_config o = {
      .worker_path = "/usr/bin/yes", .workers = 1, .patience = 0.05};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err), TESS_OK);
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  measure_build_batch(m.pool, m.task, N, c, b);
  for (int i = 0; i < N; i++) {
    assert_int_equal(b[i].status, TESS_INFRA);
    assert_non_null(strstr(str_get(&b[i].message), "sent no handshake"));
    measure_build_free(&b[i]);
  }
  assert_int_equal(measure_get_ledger(m.pool)->started, 1);
  assert_string_equal(measure_pool_unresponsive(m.pool), "/usr/bin/yes");
  measured_task(&m, p);
  assert_null(measure_pool_unresponsive(m.pool));
  tess_program_free(p);
  measured_end(&m);
}

static void test_unloadable_externs(void **state) {
  (void)state;
  measured m;
  measure_build b;
  measured_start(&m, false, "/no/such/externs.so");
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_INFRA);
  measured_says(&m, "the worker cannot work: /no/such/externs.so");
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
}

/* ---- nonsense for a worker ---------------------------------------------- */

/* The wait status of a worker that was sent these bytes. */
static int status_after(const void *bytes, size_t n) {
  mem_heap heap;
  worker w;
  err_state e;
  char path[4096];
  int status;
  mem_heap_init(&heap, mem_default_allocator, 0);
  worker_init(&w, &heap);
  assert_int_equal(worker_find(NULL, path, sizeof path, &e), TESS_OK);
  assert_int_equal(worker_start(&w, &(worker_program){.path = path}, &e),
                   TESS_OK);
  assert_int_equal(send(w.fd, bytes, n, MSG_NOSIGNAL), n);
  while (waitpid(w.pid, &status, 0) != w.pid) {
  }
  w.pid = 0;
  worker_free(&w);
  assert_int_equal(heap.used, 0);
  return status;
}

static void test_nonsense_for_worker(void **state) {
  (void)state;
  unsigned char frame[FRAME_HEAD + 4] = {0};
  for (int type = 0; type <= FRAME_TYPES; type++) {
    frame_put_head(frame, (frame_type)type, "body", 4);
    memcpy(frame + FRAME_HEAD, "body", 4);
    int status = status_after(frame, sizeof frame);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  frame[20] ^= 1;
  int status = status_after(frame, sizeof frame);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* ---- hosts that die ----------------------------------------------------- */

static void wire_tell(worker *w, frame_type type, strbuf *body) {
  assert_int_equal(worker_send(w, type, body), TESS_OK);
  str_clear(body);
}

/* Waits until the worker runs a kernel. */
static void wait_for_launch(worker *w) {
  frame_head h;
  job_phase phase = JOB_IDLE;
  while (phase != JOB_RUNNING) {
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    poll(&p, 1, -1);
    worker_event e = worker_receive(w, &h);
    if (e == WORKER_WAITING) continue;
    assert_int_equal(e, WORKER_FRAME);
    if (h.type == FRAME_PHASE)
      assert_true(wire_read_phase(worker_body(w), h.length, &phase));
    worker_drop_frame(w);
  }
}

/* A worker with a kernel that never ends goes when its host does. */
static void test_host_dies(void **state) {
  (void)state;
  static job_run run;
  measured m;
  measure_build b;
  worker w;
  strbuf body;
  char path[4096];
  int status;
  measured_start(&m, false, TESS_EXTERNS);
  tess_program *p = measured_extern(m.c, "test_hang", 8);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_OK);
  worker_init(&w, &m.c->heap);
  str_init(&body, &m.c->heap);
  assert_int_equal(worker_find(NULL, path, sizeof path, &m.err), TESS_OK);
  const worker_program how = {.path = path, .externs = TESS_EXTERNS};
  assert_int_equal(worker_start(&w, &how, &m.err), TESS_OK);
  const strbuf *bytes = &m.task->program;
  wire_write_put(&body, &(wire_put){JOB_PROGRAM, 1, {bytes->v, bytes->n}});
  wire_tell(&w, FRAME_PUT, &body);
  run = (job_run){
      .bench = {1, 0, 0, "llvm", 1}, .n = 1, .code = {{b.code.v, b.code.n}}};
  wire_write_run(&body, &run);
  wire_tell(&w, FRAME_RUN, &body);
  wait_for_launch(&w);
  shutdown(w.fd, SHUT_RDWR);
  while (waitpid(w.pid, &status, 0) != w.pid) {
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  w.pid = 0;
  worker_free(&w);
  str_free(&body);
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build),
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_ran),
      cmocka_unit_test(test_impossible),
      cmocka_unit_test(test_frame),
      cmocka_unit_test(test_nonsense_from_worker),
      cmocka_unit_test(test_silent_worker),
      cmocka_unit_test(test_slow_compiler),
      cmocka_unit_test(test_slow_preparation),
      cmocka_unit_test(test_find_worker),
      cmocka_unit_test(test_no_worker),
      cmocka_unit_test(test_mute_worker),
      cmocka_unit_test(test_unloadable_externs),
      cmocka_unit_test(test_nonsense_for_worker),
      cmocka_unit_test(test_host_dies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
