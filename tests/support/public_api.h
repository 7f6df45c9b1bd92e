/* SPDX-License-Identifier: Apache-2.0
 * A schedule of a product with a ReLU through the public API, in a context
 * whose allocations are counted and may fail.  Included by tests of one file.
 */
#ifndef SUPPORT_PUBLIC_API_H
#define SUPPORT_PUBLIC_API_H

#include "support/program.h"
#include "support/test.h"
#include "vm/object.h"

#include <tessera/values.h>

typedef struct api_fixture {
  fault_alloc fault;
  tess_allocator alloc;
  tess_context *c;
  tess_program *p;
  tess_schedule *s;
} api_fixture;

static inline tess_status api_build(void *ud) {
  api_fixture *f = ud;
  f->p = program_empty(f->c);
  test_matmul_relu(&f->p->p, 64, 32, 16);
  return TESS_OK;
}

static inline void api_start(api_fixture *f) {
  memset(f, 0, sizeof *f);
  f->alloc = fault_allocator(&f->fault);
  tess_options o = {.struct_size = sizeof o, .allocator = &f->alloc};
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
  assert_int_equal(mem_protect(&f->c->heap, api_build, f), TESS_OK);
  assert_int_equal(tess_schedule_new(f->p, NULL, 42, &f->s), TESS_OK);
}

static inline void api_end(api_fixture *f) {
  tess_schedule_free(f->s);
  tess_program_free(f->p);
  tess_context_free(f->c);
  assert_int_equal(f->fault.live_blocks, 0);
  assert_int_equal(f->fault.broken, 0);
}

static inline tess_value str(const char *s) {
  return (tess_value){.kind = TESS_V_STR, .s = s};
}
static inline tess_value rv(tess_rv v) {
  return (tess_value){.kind = TESS_V_RV, .rv = v};
}
static inline tess_value api_num(int64_t i) {
  return (tess_value){.kind = TESS_V_INT, .i = i};
}

#define CALL(f, prim, max, out, nout, ...)                                 \
  tess_schedule_call((f)->s, prim,                                         \
                     sizeof((tess_arg[]){__VA_ARGS__}) / sizeof(tess_arg), \
                     (tess_arg[]){__VA_ARGS__}, max, out, nout, NULL)

static inline tess_rv api_block(api_fixture *f, const char *name) {
  tess_rv b = 0;
  uint32_t n;
  assert_int_equal(CALL(f, "get_block", 1, &b, &n, {"name", str(name)}),
                   TESS_OK);
  return b;
}

static inline uint32_t loops(api_fixture *f, tess_rv b, tess_rv out[8]) {
  uint32_t n;
  int list = 0;
  tess_arg a = {"block", rv(b)};
  assert_int_equal(
      tess_schedule_call(f->s, "get_loops", 1, &a, 8, out, &n, &list), TESS_OK);
  assert_int_equal(list, 1);
  return n;
}

/* Tiles i of the product; the sampled factors in v[2]. */
static inline void api_tile(api_fixture *f, tess_rv l, tess_rv v[2]) {
  uint32_t n;
  tess_rv out[2];
  assert_int_equal(CALL(f, "sample_perfect_tile", 2, v, &n, {"loop", rv(l)},
                        {"n", api_num(2)}),
                   TESS_OK);
  assert_int_equal(n, 2);
  tess_value two[] = {rv(v[0]), rv(v[1])};
  tess_value op = {.kind = TESS_V_OP,
                   .s = "*",
                   .n = 2,
                   .list = (tess_value[]){rv(v[1]), api_num(1)}};
  two[1] = op;
  tess_value factors = {.kind = TESS_V_LIST, .n = 2, .list = two};
  assert_int_equal(
      CALL(f, "split", 2, out, &n, {"loop", rv(l)}, {"factors", factors}),
      TESS_OK);
}

static inline void api_expect(api_fixture *f, tess_status got, tess_status st,
                       const char *message, const char *prim,
                       const char *reason, const char *place) {
  const tess_error_info *e = tess_error(f->c);
  assert_int_equal(got, st);
  assert_int_equal(e->code, st);
  assert_string_equal(e->message, message);
  assert_string_equal(e->primitive, prim);
  assert_string_equal(e->reason, reason);
  assert_string_equal(e->place, place);
}

#endif
