/* SPDX-License-Identifier: Apache-2.0
 * Generating sketches when memory runs out: the error says so, no sketch is
 * missing, and it is never a failure of a module. */
#include "support/test.h"
#include "support/tiled.h"

#define MAX_SKETCHES 16

typedef struct fixture {
  fault_alloc fault;
  tess_allocator memory;
  tiled t;
  tess_space *space;
} fixture;

static tess_status space_call(tess_schedule *s, const char *prim, uint32_t n,
                              const tess_arg *args, tess_rv *out) {
  uint32_t nout = 0;
  return tess_schedule_call(s, prim, n, args, 16, out, &nout, NULL);
}

static tess_value rv_value(tess_rv rv) {
  return (tess_value){.kind = TESS_V_RV, .rv = rv};
}

/* Parallelises the first loop of the block, or tiles it: two schedules. */
static tess_status two_ways(void *ud, tess_schedule *s, tess_rv block,
                            void (*emit)(void *, tess_schedule *), void *sink,
                            const char **why) {
  tess_rv loop[16] = {0}, size[16], made[16];
  tess_schedule *tiles, *parallel;
  tess_arg of = {"block", rv_value(block)};
  (void)ud;
  *why = "it has no loops";
  tess_status st = space_call(s, "get_loops", 1, &of, loop);
  if (st != TESS_OK || !loop[0]) return st == TESS_NOMEM ? st : TESS_NOT_FOUND;
  *why = "it failed";
  tess_arg first = {"loop", rv_value(loop[0])};
  tess_arg sample[] = {first, {"n", {.kind = TESS_V_INT, .i = 2}}};
  if ((st = tess_schedule_copy(s, &parallel)) != TESS_OK) return st;
  st = space_call(parallel, "parallel", 1, &first, made);
  if (st != TESS_OK) return tess_schedule_free(parallel), st;
  emit(sink, parallel);
  if ((st = tess_schedule_copy(s, &tiles)) != TESS_OK) return st;
  st = space_call(tiles, "sample_perfect_tile", 2, sample, size);
  tess_value list[] = {rv_value(size[0]), rv_value(size[1])};
  tess_arg split[] = {first,
                      {"factors", {.kind = TESS_V_LIST, .n = 2, .list = list}}};
  if (st == TESS_OK) st = space_call(tiles, "split", 2, split, made);
  if (st != TESS_OK) return tess_schedule_free(tiles), st;
  emit(sink, tiles);
  return TESS_OK;
}

/* The whole program, by hand. */
static tess_status by_hand(void *ud, tess_schedule *s, tess_rv block,
                           void (*emit)(void *, tess_schedule *), void *sink,
                           const char **why) {
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "C"}};
  (void)block;
  tess_status st = space_call(s, "get_block", 1, &name, &block);
  return st == TESS_OK ? two_ways(ud, s, block, emit, sink, why) : st;
}

static void space_start(fixture *f) {
  memset(f, 0, sizeof *f);
  fault_init(&f->fault);
  f->memory = fault_allocator(&f->fault);
  const tess_options o = {.struct_size = sizeof o, .allocator = &f->memory};
  tiled_start_with(&f->t, &o);
}

static void space_stop(fixture *f) {
  tess_space_free(f->space);
  tiled_end(&f->t);
  assert_int_equal(f->fault.live_blocks, 0);
  assert_int_equal(f->fault.broken, 0);
}

/* With each allocation in turn failing, as often as one is met.  Only the log
 * of what modules did can do without. */
static void each_failure(fixture *f, uint32_t expected) {
  uint64_t failed = 1;
  for (uint64_t n = 1; failed; n++) {
    tess_trace *t[MAX_SKETCHES];
    uint32_t got;
    fault_arm(&f->fault, n);
    tess_status s =
        tess_space_sketches(f->space, f->t.p, NULL, MAX_SKETCHES, t, &got);
    failed = f->fault.failed;
    f->fault.fail_at = 0;
    if (s != TESS_OK || !failed)
      assert_int_equal(s, failed ? TESS_NOMEM : TESS_OK);
    assert_int_equal(got, s == TESS_OK ? expected : 0);
    if (s != TESS_OK) assert_int_equal(tess_error(f->t.c)->code, TESS_NOMEM);
    for (uint32_t i = 0; i < got; i++) tess_trace_free(t[i]);
  }
}

static void test_modules(void **state) {
  (void)state;
  fixture f;
  space_start(&f);
  const tess_module m[] = {
      {.struct_size = sizeof(tess_module), .name = "first", .apply = two_ways},
      {.struct_size = sizeof(tess_module),
       .name = "second",
       .apply = two_ways}};
  assert_int_equal(tess_space_compose(f.t.c, 2, m, &f.space), TESS_OK);
  each_failure(&f, 4);
  space_stop(&f);
}

static void test_by_hand(void **state) {
  (void)state;
  fixture f;
  space_start(&f);
  const tess_module m = {
      .struct_size = sizeof(tess_module), .name = "by hand", .apply = by_hand};
  assert_int_equal(tess_space_function(f.t.c, &m, &f.space), TESS_OK);
  each_failure(&f, 2);
  space_stop(&f);
}

/* A module that has memory of its own. */
static tess_status exhausted(void *ud, tess_schedule *s, tess_rv block,
                             void (*emit)(void *, tess_schedule *), void *sink,
                             const char **why) {
  (void)ud, (void)s, (void)block, (void)emit, (void)sink, (void)why;
  return TESS_NOMEM;
}

static void test_says_where(void **state) {
  (void)state;
  fixture f;
  tess_trace *t[MAX_SKETCHES];
  uint32_t n;
  space_start(&f);
  const tess_module m = {
      .struct_size = sizeof(tess_module), .name = "greedy", .apply = exhausted};
  assert_int_equal(tess_space_compose(f.t.c, 1, &m, &f.space), TESS_OK);
  assert_int_equal(
      tess_space_sketches(f.space, f.t.p, NULL, MAX_SKETCHES, t, &n),
      TESS_NOMEM);
  assert_string_equal(tess_error(f.t.c)->message,
                      "applying module greedy at block root: out of memory");
  space_stop(&f);
}

/* ---- modules that fail -------------------------------------------------- */

static void keep_line(void *ud, int level, const char *text) {
  strbuf *log = ud;
  assert_int_equal(level, TESS_LOG_WARN);
  str_puts(log, text);
  str_putc(log, '\n');
}

/* Five thousand copies for each block. */
static tess_status too_many(void *ud, tess_schedule *s, tess_rv block,
                            void (*emit)(void *, tess_schedule *), void *sink,
                            const char **why) {
  (void)ud, (void)block, (void)why;
  for (int i = 0; i < 5000; i++) {
    tess_schedule *copy;
    tess_status st = tess_schedule_copy(s, &copy);
    if (st != TESS_OK) return st;
    emit(sink, copy);
  }
  return TESS_OK;
}

static tess_status speechless(void *ud, tess_schedule *s, tess_rv block,
                              void (*emit)(void *, tess_schedule *), void *sink,
                              const char **why) {
  (void)s, (void)block, (void)emit, (void)sink;
  if (ud) *why = ud;
  return TESS_INVALID;
}

/* Whatever modules do, those before and after them go on. */
static void test_failing_modules(void **state) {
  (void)state;
  tiled t;
  mem_heap heap;
  strbuf log;
  tess_trace *out[MAX_SKETCHES];
  tess_space *space;
  char *text;
  uint32_t n;
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&log, &heap);
  const tess_options o = {
      .struct_size = sizeof o, .log = keep_line, .log_ud = &log};
  tiled_start_with(&t, &o);
  char empty[] = "", lines[] = "one\ntwo";
  const tess_module m[] = {
      {.struct_size = sizeof(tess_module), .name = "first", .apply = two_ways},
      {.struct_size = sizeof(tess_module), .name = "boom", .apply = too_many},
      {.struct_size = sizeof(tess_module), .name = "mute", .apply = speechless},
      {.struct_size = sizeof(tess_module),
       .name = "blank",
       .apply = speechless,
       .ud = empty},
      {.struct_size = sizeof(tess_module),
       .name = "poet",
       .apply = speechless,
       .ud = lines},
      {.struct_size = sizeof(tess_module), .name = "second", .apply = two_ways},
  };
  assert_int_equal(tess_space_compose(t.c, 6, m, &space), TESS_OK);
  assert_int_equal(tess_space_sketches(space, t.p, NULL, MAX_SKETCHES, out, &n),
                   TESS_OK);
  assert_int_equal(n, 4);
  while (n) tess_trace_free(out[--n]);
  assert_int_equal(tess_space_explain(space, t.p, NULL, &text), TESS_OK);
  assert_non_null(
      strstr(text, "\nboom makes more than 4096 sketches and is not used\n"));
  tess_text_free(t.c, text);
  assert_string_equal(
      str_get(&log),
      "module boom makes more than 4096 sketches and is not used\n"
      "module mute failed at block root and is not used there: it gave no "
      "reason\n"
      "module blank failed at block root and is not used there: it gave no "
      "reason\n"
      "module poet failed at block root and is not used there: one; two\n");
  str_free(&log);
  tess_space_free(space);
  tiled_end(&t);
}

/* As many parallel schedules as `ud` says, at the first block with loops. */
static tess_status as_many(void *ud, tess_schedule *s, tess_rv block,
                           void (*emit)(void *, tess_schedule *), void *sink,
                           const char **why) {
  tess_rv loop[16] = {0}, made[16];
  tess_arg of = {"block", rv_value(block)};
  (void)why;
  tess_status st = space_call(s, "get_loops", 1, &of, loop);
  if (st != TESS_OK || !loop[0]) return TESS_NOT_FOUND;
  tess_arg first = {"loop", rv_value(loop[0])};
  st = space_call(s, "parallel", 1, &first, made);
  for (uint32_t i = 0; st == TESS_OK && i < *(uint32_t *)ud; i++) {
    tess_schedule *copy;
    st = tess_schedule_copy(s, &copy);
    if (st == TESS_OK) emit(sink, copy);
  }
  return st;
}

/* A module that makes `n` sketches, all the same, is used, or left out. */
static void made_sketches(uint32_t n, int is_used) {
  tiled t;
  tess_trace *out[MAX_SKETCHES];
  tess_space *space;
  char *text;
  uint32_t got;
  tiled_start(&t);
  const tess_module m = {.struct_size = sizeof(tess_module),
                         .name = "many",
                         .apply = as_many,
                         .ud = &n};
  assert_int_equal(tess_space_compose(t.c, 1, &m, &space), TESS_OK);
  assert_int_equal(
      tess_space_sketches(space, t.p, NULL, MAX_SKETCHES, out, &got), TESS_OK);
  assert_int_equal(got, 1);
  assert_int_equal(tess_trace_size(out[0]) > 0, is_used);
  tess_trace_free(out[0]);
  assert_int_equal(tess_space_explain(space, t.p, NULL, &text), TESS_OK);
  assert_int_equal(!strstr(text, "many makes more than 4096 sketches"),
                   is_used);
  tess_text_free(t.c, text);
  tess_space_free(space);
  tiled_end(&t);
}

static void test_most_sketches(void **state) {
  (void)state;
  made_sketches(TESS_MAX_SKETCHES, 1);
  made_sketches(TESS_MAX_SKETCHES + 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_modules), cmocka_unit_test(test_by_hand),
      cmocka_unit_test(test_says_where), cmocka_unit_test(test_failing_modules),
      cmocka_unit_test(test_most_sketches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
