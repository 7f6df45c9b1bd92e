/* SPDX-License-Identifier: Apache-2.0
 * What is too large: tensors for the machine, a reference or a message for the
 * way between processes.  Nobody is ended by it. */
#include "measure/tensor/room.h"
#include "measure/worker/crew.h"
#include "measure/worker/serve.h"
#include "support/measured.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tensors ------------------------------------------------------------ */

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

/* X[i] = X[i] + X[i], for n elements. */
static tess_program *doubled(tess_context *c, int64_t n) {
  tess_builder *b;
  tess_buffer x;
  tess_expr extent, zero, i, old;
  tess_var loop;
  tess_program *p;
  assert_int_equal(tess_builder_new(c, &b), TESS_OK);
  tess_int(b, I64, n, &extent);
  tess_int(b, I64, 0, &zero);
  tess_buffer_new(b, "X", F32, 1, &extent, "global", TESS_ROLE_INPUT, 1, &x);
  tess_loop_begin(b, "i", zero, extent, &loop);
  tess_var_ref(b, loop, &i);
  tess_load(b, x, 1, &i, &old);
  tess_binary(b, "+", old, old, &old);
  assert_int_equal(tess_store(b, x, 1, &i, old), TESS_OK);
  tess_end(b);
  if (tess_program_new(b, "doubled", 1, &x, 1, &x, &p))
    fail_msg("%s", tess_error(c)->message);
  tess_builder_free(b);
  return p;
}

/* The tensor, what it is before each launch, and its reference. */
static void test_in_place(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, NULL);
  tess_program *p = doubled(m.c, (int64_t)1 << 40);
  assert_int_equal(measure_task_fits(&p->p, false, &m.err), TESS_NOMEM);
  measured_says(&m, "of 'doubled': they take 12288.0 GiB, and there are ");
  tess_program_free(p);
  measured_end(&m);
}

/* Where there is room for the tensors: the host sends it to later workers. */
static void test_reference(void **state) {
  (void)state;
  measured m;
  const int64_t n = (1 << 29) + 1;
  bool has_room = room_of_machine() > (uint64_t)12 * n;
  measured_start(&m, false, NULL);
  tess_program *p = measured_extern(m.c, "test_nothing", n);
  assert_int_equal(measure_task_fits(&p->p, false, &m.err),
                   has_room ? TESS_LIMIT : TESS_NOMEM);
  if (has_room) {
    measured_says(&m, "take 2.0 GiB, and those that candidates are compared "
                      "with go from one worker to another, 2.0 at most: tune");
    assert_int_equal(measure_task_fits(&p->p, true, &m.err), TESS_OK);
  }
  tess_program_free(p);
  measured_end(&m);
}

/* ---- messages of the host ----------------------------------------------- */

typedef struct sending {
  crew_work work;
  mem_heap *heap;
  tess_status status;
  char why[256];
} sending;

/* The length is looked at before the bytes are, and there are none. */
static tess_status send_long(crew_work *work, uint32_t i, worker *w) {
  const strbuf body = {.heap = ((sending *)work)->heap, .n = FRAME_MAX + 1};
  (void)i;
  return worker_send(w, FRAME_CALL, &body);
}

static bool take_none(crew_work *work, uint32_t i, worker *w, const void *body,
                      size_t n) {
  (void)work, (void)i, (void)w, (void)body, (void)n;
  return false;
}

static void take_failure(crew_work *work, uint32_t i, tess_status s,
                         const char *why) {
  sending *x = (sending *)work;
  (void)i;
  x->status = s;
  snprintf(x->why, sizeof x->why, "%s", why);
}

static void send_too_long(measured *m) {
  sending x = {.heap = &m->c->heap};
  x.work = (crew_work){.n = 1,
                       .send = send_long,
                       .reply = FRAME_CALLED,
                       .take = take_none,
                       .fail = take_failure};
  assert_int_equal(crew_run(m->pool, &m->pool->caller, 1, &x.work), TESS_OK);
  assert_int_equal(x.status, TESS_LIMIT);
  assert_non_null(strstr(x.why, "a message of 2147483649 bytes is more than"));
}

static void expect_facts(measured *m) {
  strbuf facts;
  str_init(&facts, &m->c->heap);
  assert_int_equal(measure_machine_facts(m->pool, &facts, &m->err), TESS_OK);
  assert_true(facts.n > 0);
  str_free(&facts);
}

/* The worker, which has all tensors that are on devices, stays, whether it has
 * greeted or not. */
static void test_host_sends(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, NULL);
  send_too_long(&m);
  pid_t pid = m.pool->caller.pid;
  assert_true(pid > 0);
  expect_facts(&m);
  send_too_long(&m);
  expect_facts(&m);
  assert_int_equal(m.pool->caller.pid, pid);
  assert_int_equal(measure_get_ledger(m.pool)->lost, 0);
  measured_end(&m);
}

/* ---- messages of a worker ----------------------------------------------- */

/* A worker's answer that is no longer than its length, and so is not read. */
static bool answer_too_long(server *s) {
  strbuf body = {.heap = &s->heap, .n = FRAME_MAX + 1};
  return serve_answer(s, FRAME_CALLED, &body);
}

static void expect_refusal(worker *w, tess_status status, const char *says) {
  frame_head head;
  wire_refusal r;
  assert_int_equal(worker_receive(w, &head), WORKER_FRAME);
  assert_int_equal(head.type, FRAME_REFUSED);
  size_t n = (size_t)head.length;
  for (size_t k = 0; k < n; k++)
    assert_false(wire_read_refused(worker_body(w), k, &r));
  assert_true(wire_read_refused(worker_body(w), n, &r));
  assert_int_equal(r.status, status);
  assert_non_null(strstr(r.why, says));
  worker_drop_frame(w);
}

static void test_worker_answers(void **state) {
  (void)state;
  int fd[2];
  mem_heap heap;
  worker w;
  mem_heap_init(&heap, mem_default_allocator, 0);
  worker_init(&w, &heap);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
  server s = {.out = fd[1]};
  mem_heap_init(&s.heap, mem_default_allocator, 0);
  w.fd = fd[0];
  assert_true(answer_too_long(&s));
  expect_refusal(&w, TESS_LIMIT, "a message of 2147483649 bytes is more than");
  strbuf spoiled = {.heap = &s.heap, .bad = true};
  assert_true(serve_answer(&s, FRAME_CALLED, &spoiled));
  expect_refusal(&w, TESS_NOMEM, "no memory for the result");
  strbuf fine;
  str_init(&fine, &s.heap);
  str_puts(&fine, "fine");
  frame_head head;
  assert_true(serve_answer(&s, FRAME_CALLED, &fine));
  assert_int_equal(worker_receive(&w, &head), WORKER_FRAME);
  assert_int_equal(head.type, FRAME_CALLED);
  worker_free(&w);
  close(fd[1]);
  assert_int_equal(heap.used + s.heap.used, 0);
}

static void write_script(char *path, const char *frames) {
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  dprintf(fd, "#!/bin/sh\ncat %s >&3\nsleep 100\n", frames);
  fchmod(fd, 0700);
  close(fd);
}

/* Makes a file of what a worker says whose first answer is too long. */
static void write_frames(char *path) {
  strbuf body;
  server s = {.out = mkstemp(path)};
  assert_true(s.out >= 0);
  mem_heap_init(&s.heap, mem_default_allocator, 0);
  str_init(&body, &s.heap);
  wire_write_hello(&body, &(wire_hello){TESS_OK, "", tess_version()});
  assert_true(serve_send_body(&s, FRAME_HELLO, &body));
  assert_true(answer_too_long(&s));
  close(s.out);
}

/* Its job fails, once, and it stays. */
static void test_host_is_refused(void **state) {
  (void)state;
  char frames[] = "/tmp/tessera-test-XXXXXX",
       path[] = "/tmp/tessera-test-XXXXXX";
  measured m;
  measure_build b;
  write_frames(frames);
  write_script(path, frames);
  measured_start(&m, false, NULL);
  measure_pool_free(m.pool);
  measure_config o = {.worker_path = path, .workers = 1};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err), TESS_OK);
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_LIMIT);
  measured_says(&m, "a message of 2147483649 bytes is more than");
  assert_true(m.pool->builder[0].pid > 0);
  assert_int_equal(m.pool->builder[0].jobs, 1);
  assert_int_equal(measure_get_ledger(m.pool)->lost, 0);
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
  unlink(path);
  unlink(frames);
}

/* ---- what is well ------------------------------------------------------- */

/* A pool whose workers answer keeps the reason of another failure. */
static void test_responsive(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, NULL);
  err_set(&m.err, TESS_NOMEM, "out of memory");
  assert_int_equal(measure_report_unresponsive(m.pool, &m.err), TESS_OK);
  assert_int_equal(m.err.code, TESS_NOMEM);
  assert_string_equal(m.err.message, "out of memory");
  measured_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_reference),
      cmocka_unit_test(test_host_sends),
      cmocka_unit_test(test_worker_answers),
      cmocka_unit_test(test_host_is_refused),
      cmocka_unit_test(test_responsive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
