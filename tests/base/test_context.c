/* SPDX-License-Identifier: Apache-2.0
 * Contexts: options, the last error and its details, texts, the log, and a
 * host's allocator under several threads.
 * Labels: threads */
#include "support/test.h"
#include "base/context.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ctx_case {
  fault_alloc fault;
  tess_allocator alloc;
  tess_context *c;
  int told;
  char logged[64];
} ctx_case;

static void log_line(void *ud, int level, const char *text) {
  ctx_case *k = ud;
  k->told = level;
  strcpy(k->logged, text);
}

static void context_start(ctx_case *k, size_t cap) {
  memset(k, 0, sizeof *k);
  k->alloc = fault_allocator(&k->fault);
  tess_options o = {.struct_size = sizeof o,
                    .allocator = &k->alloc,
                    .memory_cap = cap,
                    .log = log_line,
                    .log_ud = k,
                    .worker_path = "/some/where"};
  assert_int_equal(tess_context_new(&o, &k->c), TESS_OK);
}

static void context_end(ctx_case *k) {
  tess_context_free(k->c);
  assert_int_equal(k->fault.live_blocks, 0);
  assert_int_equal(k->fault.broken, 0);
}

static void test_options(void **state) {
  (void)state;
  ctx_case k;
  context_start(&k, 0);
  assert_string_equal(k.c->worker_path, "/some/where");
  ctx_warn(k.c, 7, "only %d left", 2);
  assert_int_equal(k.told, TESS_LOG_WARN);
  assert_string_equal(k.logged, "only 2 left");
  ctx_warn(k.c, 8, "none left");
  ctx_warn(k.c, 7, "only %d left", 2); /* as logged */
  assert_string_equal(k.logged, "none left");
  assert_false(thread_flag_is_raised(&k.c->stop));
  tess_stop(k.c);
  assert_true(thread_flag_is_raised(&k.c->stop));
  context_end(&k);
  tess_context *c;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  ctx_warn(c, 7, "nobody listens");
  tess_context_free(c);
  tess_context_free(NULL);
}

enum { LANES = 4, PIECES = 16, LINGER = 4 };

/* An allocator without a lock, which yields to other threads. */
typedef struct plain_host {
  size_t used;
  atomic_int inside, met;
} plain_host;

static void *count_bytes(void *ud, void *ptr, size_t osize, size_t nsize) {
  plain_host *h = ud;
  if (atomic_fetch_add(&h->inside, 1) > 0) atomic_fetch_add(&h->met, 1);
  for (int i = 0; i < LINGER; i++) sched_yield();
  h->used += nsize - osize;
  void *p = NULL;
  if (nsize)
    p = realloc(ptr, nsize);
  else
    free(ptr);
  atomic_fetch_sub(&h->inside, 1);
  return p;
}

/* What a worker thread of the engine does: a heap of its own over the context's
 * allocator. */
static bool use_memory(void *ud, uint32_t item, uint32_t thread) {
  tess_context *c = ud;
  mem_heap heap;
  (void)thread;
  mem_heap_init(&heap, c->heap.alloc, 0);
  for (uint32_t i = 0; i < PIECES; i++) {
    size_t size = 100 + item;
    void *p = mem_try_resize(&heap, NULL, 0, size);
    p = mem_try_resize(&heap, p, size, 2 * size);
    mem_free(&heap, p, 2 * size);
  }
  return heap.used == 0;
}

static void test_threads_take_turns_with_the_hosts_allocator(void **state) {
  (void)state;
  plain_host host = {0};
  const tess_allocator memory = {count_bytes, &host};
  tess_options o = {.struct_size = sizeof o, .allocator = &memory};
  tess_context *c;
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  assert_true(thread_run(LANES, LANES, use_memory, c));
  tess_context_free(c);
  assert_int_equal(atomic_load(&host.met), 0);
  assert_int_equal(host.used, 0);
}

/* Of structs of older and newer hosts the known members are taken; other sizes
 * are refused. */
static void test_struct_sizes(void **state) {
  (void)state;
  static const uint32_t none[] = {0, 1,  4,  5,
                                  8, 12, 17, sizeof(tess_options) - 1};
  tess_context *c;
  tess_options o = {.struct_size = sizeof o + 8, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  assert_true(c->in_process);
  tess_context_free(c);
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    o.struct_size = none[i];
    assert_int_equal(tess_context_new(&o, &c), TESS_INVALID);
    assert_null(c);
  }
  o.struct_size = offsetof(tess_options, in_process);
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  assert_false(c->in_process);
  tess_context_free(c);
}

static void test_new_runs_out_of_memory(void **state) {
  (void)state;
  fault_alloc fault;
  fault_init(&fault);
  tess_allocator a = fault_allocator(&fault);
  tess_options o = {
      .struct_size = sizeof o, .allocator = &a, .worker_path = "x"};
  for (uint64_t n = 1; n <= 2; n++) {
    tess_context *c = (tess_context *)&o;
    fault_arm(&fault, n);
    assert_int_equal(tess_context_new(&o, &c), TESS_NOMEM);
    assert_null(c);
    assert_int_equal(fault.live_blocks, 0);
  }
  fault.fail_at = 0;
  const size_t caps[] = {1, sizeof(tess_context)}; /* with a path: too small */
  for (int i = 0; i < 2; i++) {
    tess_context *c = (tess_context *)&o;
    o.memory_cap = caps[i];
    assert_int_equal(tess_context_new(&o, &c), TESS_LIMIT);
    assert_null(c);
    assert_int_equal(fault.live_blocks, 0);
  }
}

static void keep_line(void *ud, int level, const char *text) {
  (void)level;
  snprintf(ud, 2100, "%s", text);
}

/* Whatever a callback reports, the log gets one line. */
static void test_log_has_one_line(void **state) {
  (void)state;
  static const struct {
    const char *text, *line;
  } cases[] = {{"one", "one"},
               {"first\nsecond", "first; second"},
               {"first \r\n\n\t second\n", "first; second"},
               {"\nat:\n\tx", "at:; x"},
               {"  indented", "  indented"},
               {"\n", ""}};
  char line[2100];
  tess_context *c;
  tess_options o = {.struct_size = sizeof o, .log = keep_line, .log_ud = line};
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ctx_warn(c, i, "%s", cases[i].text);
    assert_string_equal(line, cases[i].line);
  }
  char most[3000];
  memset(most, '\n', sizeof most);
  for (size_t i = 0; i < sizeof most; i += 2) most[i] = 'x';
  most[sizeof most - 1] = '\0';
  ctx_warn(c, 99, "%s", most);
  assert_null(strchr(line, '\n'));
  assert_int_equal(strlen(line), 512 + 2 * 511);
  tess_context_free(c);
}

static tess_status says_nothing(void *ud) {
  (void)ud;
  return TESS_NOT_FOUND;
}

static tess_status uses_much(void *ud) {
  tess_context *c = ud;
  mem_resize(&c->heap, NULL, 0, 1 << 20);
  return TESS_OK;
}

static tess_status explains(void *ud) {
  tess_context *c = ud;
  ctx_fail(c, TESS_REFUSED, "loop '%s' is parallel", "i");
  ctx_blame(c, "split", "LOOP_NOT_SERIAL");
  err_place(&c->err, "a.lua:%d", 7);
  return TESS_REFUSED;
}

static tess_status works(void *ud) {
  (void)ud;
  return TESS_OK;
}

static void test_every_failure_has_words(void **state) {
  (void)state;
  ctx_case k;
  context_start(&k, 100000);
  assert_int_equal(ctx_run(k.c, says_nothing, k.c), TESS_NOT_FOUND);
  assert_string_equal(tess_error(k.c)->message, "not found");
  assert_int_equal(ctx_run(k.c, uses_much, k.c), TESS_LIMIT);
  assert_string_equal(tess_error(k.c)->message,
                      "the memory cap of 100000 bytes (option memory_cap of "
                      "the context) was reached in the call "
                      "'test_every_failure_has_words'");
  k.c->heap.cap = 0;
  fault_arm(&k.fault, 1);
  assert_int_equal(ctx_run(k.c, uses_much, k.c), TESS_NOMEM);
  assert_string_equal(tess_error(k.c)->message, "out of memory");
  assert_int_equal(ctx_run(k.c, explains, k.c), TESS_REFUSED);
  const tess_error_info *e = tess_error(k.c);
  assert_int_equal(e->code, TESS_REFUSED);
  assert_string_equal(e->message, "loop 'i' is parallel");
  assert_string_equal(e->place, "a.lua:7");
  assert_string_equal(e->primitive, "split");
  assert_string_equal(e->reason, "LOOP_NOT_SERIAL");
  assert_string_equal(e->detail, "");
  assert_int_equal(ctx_run(k.c, works, k.c), TESS_OK);
  e = tess_error(k.c);
  assert_int_equal(e->code, TESS_OK);
  assert_string_equal(e->message, "");
  assert_string_equal(e->primitive, "");
  context_end(&k);
}

static void write_detail(void *ud, strbuf *out) {
  str_printf(out, "written %d times", ++*(int *)ud);
}

static void test_details_are_written_when_read(void **state) {
  (void)state;
  ctx_case k;
  int times = 0;
  context_start(&k, 0);
  ctx_fail(k.c, TESS_REFUSED, "no");
  ctx_set_detail(k.c, write_detail, &times);
  assert_int_equal(times, 0);
  assert_string_equal(tess_error(k.c)->detail, "written 1 times");
  assert_string_equal(tess_error(k.c)->detail, "written 1 times");
  ctx_fail(k.c, TESS_REFUSED, "no");
  ctx_set_detail(k.c, write_detail, &times);
  ctx_clear(k.c);
  assert_string_equal(tess_error(k.c)->detail, "");
  assert_int_equal(times, 1);
  /* The object dies from which the details would be written, or another one. */
  ctx_fail(k.c, TESS_REFUSED, "no");
  ctx_set_detail(k.c, write_detail, &times);
  ctx_forget(k.c, &k);
  assert_string_equal(tess_error(k.c)->detail, "written 2 times");
  ctx_fail(k.c, TESS_REFUSED, "no");
  ctx_set_detail(k.c, write_detail, &times);
  ctx_forget(k.c, &times);
  assert_string_equal(tess_error(k.c)->message, "");
  str_free(&k.c->detail);
  ctx_set_detail(k.c, write_detail, &times);
  fault_arm(&k.fault, 1);
  assert_string_equal(tess_error(k.c)->detail, "");
  context_end(&k);
}

static tess_status makes_text(void *ud) {
  void **both = ud;
  tess_context *c = both[0];
  strbuf b;
  str_init(&b, &c->heap);
  str_puts(&b, "twelve bytes");
  char **out = both[1];
  *out = ctx_text(c, str_get(&b), b.n);
  tess_text_free(c, *out);
  *out = ctx_text_of(c, &b);
  str_free(&b);
  return TESS_OK;
}

static void test_texts(void **state) {
  (void)state;
  ctx_case k;
  char *text = NULL;
  context_start(&k, 0);
  void *both[] = {k.c, &text};
  assert_int_equal(ctx_run(k.c, makes_text, both), TESS_OK);
  assert_string_equal(text, "twelve bytes");
  tess_text_free(k.c, text);
  tess_text_free(k.c, NULL);
  context_end(&k);
  assert_string_equal(tess_status_name(TESS_LIMIT), "LIMIT");
  assert_string_equal(tess_status_text(TESS_LIMIT), "a limit was reached");
}

static void test_version(void **state) {
  (void)state;
  char want[32];
  snprintf(want, sizeof want, "%d.%d.%d", TESS_VERSION_MAJOR,
           TESS_VERSION_MINOR, TESS_VERSION_PATCH);
  assert_string_equal(tess_version(), want);

  const char *name, *value;
  uint32_t n = 0;
  assert_string_equal(tess_build_option(0, &value), "version");
  assert_string_equal(value, want);
  while ((name = tess_build_option(n, &value))) {
    assert_true(*name && *value);
    n++;
  }
  assert_true(n > 10 && !value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_threads_take_turns_with_the_hosts_allocator),
      cmocka_unit_test(test_new_runs_out_of_memory),
      cmocka_unit_test(test_log_has_one_line),
      cmocka_unit_test(test_every_failure_has_words),
      cmocka_unit_test(test_details_are_written_when_read),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
