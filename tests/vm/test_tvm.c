/* SPDX-License-Identifier: Apache-2.0
 * The table of TVM's instructions, and index maps as TVM writes them.
 * tests/lua/tvm.lua has whole traces. */
#include "support/test.h"
#include "vm/text/tvm.h"

/* What TVM v0.18 has no instruction for. */
static const char *const ours[] = {"annotate_buffer_access",
                                   "disallow_dynamic_loop",
                                   "fission",
                                   "fuse_reduction_epilogue",
                                   "guard",
                                   "guard_same",
                                   "hoist_invariant_factor",
                                   "knob",
                                   "restrict_values",
                                   "rewrite_cooperative_fetch",
                                   "rewrite_layout",
                                   "rewrite_parallel_vectorize_unroll",
                                   "rewrite_reduction_block",
                                   "rewrite_tensorize",
                                   "rewrite_unbound_block",
                                   "rolling_update",
                                   "verify_chip_buffers",
                                   "verify_gpu_code"};

/* Operands that TVM does not have. */
static const struct {
  const char *prim, *operand;
} further[] = {{"loop_partition", "outer_loops"},
               {"loop_partition", "points"},
               {"rolling_buffer", "loop"}};

static bool is_further(const char *prim, const char *operand) {
  for (size_t i = 0; i < sizeof further / sizeof *further; i++)
    if (!strcmp(further[i].prim, prim) && !strcmp(further[i].operand, operand))
      return true;
  return false;
}

static bool is_ours(const sch_prim *p) {
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (!strcmp(ours[i], p->name)) return true;
  return false;
}

static void test_every_primitive(void **state) {
  (void)state;
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const tvm_row *row = vm_tvm_find_prim(sch_prims[i]);
    if (!row == is_ours(sch_prims[i])) continue;
    fail_msg("%s: a row in vm/tvm.def, or one of `ours` here",
             sch_prims[i]->name);
  }
}

/* Each list names operands of the primitive, each operand once. */
static void test_every_row(void **state) {
  (void)state;
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const sch_prim *p = sch_prims[i];
    const tvm_row *row = vm_tvm_find_prim(p);
    bool seen[VM_MAX_SPECS] = {false};
    tvm_field f;
    for (int side = 0; row && side < 2; side++)
      for (const char *l = side ? row->attrs : row->inputs;
           vm_tvm_next_field(&l, p, &f); seen[f.spec] = true) {
        if (f.spec >= p->nspecs || p->specs[f.spec].role > SCH_ROLE_ATTR ||
            seen[f.spec])
          fail_msg("%s: '%s' in vm/tvm.def", p->name,
                   side ? row->attrs : row->inputs);
      }
    for (uint32_t k = 0; row && k < p->nspecs; k++)
      if (p->specs[k].role <= SCH_ROLE_ATTR && !seen[k] &&
          !is_further(p->name, p->specs[k].name))
        fail_msg("%s: vm/tvm.def does not say where '%s' stands", p->name,
                 p->specs[k].name);
  }
}

/* ---- index maps --------------------------------------------------------- */

typedef struct fixture {
  test_heap mem;
  const char *map, *expect;
  uint32_t nin, ngiven;
  vm_value number, back;
} fixture;

static tess_status there_and_back(void *ud) {
  fixture *f = ud;
  strbuf graph, text;
  err_state err;
  str_init(&graph, &f->mem.heap);
  str_init(&text, &f->mem.heap);
  tvm_given given = {.n = f->ngiven, .name = {"v7", "v1"}}, found;
  assert_true(vm_tvm_write_map(&f->mem.heap, f->map, f->nin, f->number, &given,
                               &graph));
  json_t *v = js_read(str_get(&graph), graph.n, js_default_limits, &err);
  assert_non_null(v);
  f->back = vm_nil();
  if (!vm_tvm_read_map(v, &text, f->expect ? NULL : &f->back, &found, &err))
    fail_msg("%s: %s", err.message, str_get(&graph));
  assert_int_equal(found.n, f->ngiven);
  for (uint32_t i = 0; i < found.n; i++)
    assert_string_equal(found.name[i], given.name[i]);
  if (f->expect) assert_string_equal(str_get(&text), f->expect);
  json_decref(v);
  str_free(&graph);
  str_free(&text);
  return TESS_OK;
}

/* With so many sampled integers, v7 and v1. */
static void check_given(const char *map, uint32_t n, const char *expect) {
  fixture f = {.map = map, .expect = expect, .ngiven = n};
  test_heap_start(&f.mem, 0);
  assert_int_equal(mem_protect(&f.mem.heap, there_and_back, &f), TESS_OK);
  test_heap_end(&f.mem);
}

static void check_map(const char *map, const char *expect) {
  check_given(map, 0, expect);
}

static void check_number(vm_value v) {
  fixture f = {.nin = 2, .number = v};
  test_heap_start(&f.mem, 0);
  assert_int_equal(mem_protect(&f.mem.heap, there_and_back, &f), TESS_OK);
  assert_int_equal(f.back.tag, v.tag);
  assert_int_equal(f.back.i, v.i);
  test_heap_end(&f.mem);
}

static void test_maps(void **state) {
  (void)state;
  check_map("(i, j) -> (j, i)", "(i0, i1) -> (i1, i0)");
  check_map("(n) -> (n // 16, n % 16)", "(i0) -> ((i0 // 16), (i0 % 16))");
  check_map("(a, b) -> (min(a, b), max(a, 0 - b))",
            "(i0, i1) -> (min(i0, i1), max(i0, (0 - i1)))");
  check_map("() -> ()", "() -> ()");
  check_given("(i) -> (i // $1, i % $1 + $2)", 2,
              "(i0) -> ((i0 // $1), ((i0 % $1) + $2))");
  check_given("( ) -> ($1)", 1, "() -> ($1)");
  check_map("(a) -> (a + 5000000000)", "(i0) -> ((i0 + 5000000000))");
}

static void test_numbers(void **state) {
  (void)state;
  check_number(vm_int(-7));
  check_number(vm_real(0.5));
}

static tess_status write_once(void *ud) {
  strbuf *graph = ud;
  tvm_given given = {.n = 1, .name = {"v0"}};
  vm_tvm_write_map(graph->heap, "(a, b) -> (a // 4, b * $1)", 0, vm_nil(),
                   &given, graph);
  return str_get(graph) ? TESS_OK : TESS_NOMEM;
}

static void tvm_drop(void *ud) { str_free(ud); }

static void test_tvm_exhausted(void **state) {
  (void)state;
  test_heap mem;
  strbuf graph;
  test_heap_start(&mem, 0);
  str_init(&graph, &mem.heap);
  assert_true(test_each_failure(&mem, write_once, tvm_drop, &graph) > 10);
  test_heap_end(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_primitive),
      cmocka_unit_test(test_every_row),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_tvm_exhausted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
