/* SPDX-License-Identifier: Apache-2.0
 * Target texts: parsing, completion, printing. */
#include "backends/target.h"
#include "support/test.h"
#include <stdio.h>
#include <tessera/tessera.h>

typedef struct fixture {
  test_heap heap;
  target t;
  err_state err;
} fixture;

static int target_setup(void **state) {
  static fixture f;
  test_heap_start(&f.heap, 0);
  *state = &f;
  return 0;
}

static int target_teardown(void **state) {
  fixture *f = *state;
  test_heap_end(&f->heap);
  return 0;
}

static void expect_text(fixture *f, const char *want) {
  strbuf b;
  str_init(&b, &f->heap.heap);
  target_print(&f->t, &b);
  assert_string_equal(str_get(&b), want);
  str_free(&b);
}

/* The bare text is this machine, and the printed text round-trips. */
static void this_machine(void **state) {
  fixture *f = *state;
  target again;
  strbuf b;
  assert_int_equal(target_parse(&f->t, " llvm ", &f->err), TESS_OK);
  assert_true(f->t.is_host);
  assert_true(f->t.num_cores >= 1);
  assert_true(f->t.vector_bytes >= 16);
  assert_true(f->t.cpu[0] && f->t.triple[0] && f->t.features[0]);
  str_init(&b, &f->heap.heap);
  target_print(&f->t, &b);
  assert_int_equal(target_parse(&again, str_get(&b), &f->err), TESS_OK);
  assert_string_equal(again.cpu, f->t.cpu);
  assert_string_equal(again.features, f->t.features);
  assert_int_equal(again.num_cores, f->t.num_cores);
  assert_int_equal(again.vector_bytes, f->t.vector_bytes);
  str_free(&b);
}

static void another_machine(void **state) {
  fixture *f = *state;
  assert_int_equal(target_parse(&f->t,
                                "llvm -num-cores=12\t-mcpu=haswell -l2=262144",
                                &f->err),
                   TESS_OK);
  assert_int_equal(f->t.num_cores, 12);
  assert_int_equal(f->t.vector_bytes, 32);
  assert_int_equal(target_int(&f->t, "l2"), 262144);
  assert_int_equal(target_int(&f->t, "num-cores"), 12);
  assert_int_equal(target_int(&f->t, "mcpu"), -1);
  assert_int_equal(target_int(&f->t, "colour"), -1);
  expect_text(f, "llvm -mcpu=haswell -num-cores=12 -l2=262144");
  /* Of one given twice the last counts, whole. */
  assert_int_equal(target_parse(&f->t,
                                "llvm -num-cores=12 -mcpu=skylake-avx512 "
                                "-mcpu=haswell",
                                &f->err),
                   TESS_OK);
  expect_text(f, "llvm -mcpu=haswell -num-cores=12");
  assert_int_equal(target_parse(&f->t, "llvm -mcpu=x86-64", &f->err), TESS_OK);
  assert_int_equal(f->t.vector_bytes, 16);
  assert_int_equal(target_parse(&f->t, "llvm -mcpu=znver5", &f->err), TESS_OK);
  assert_int_equal(f->t.vector_bytes, 64);
}

/* What the name of a processor implies, and what -mattr makes of it. */
static void implied(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text, *has, *lacks; /* words */
  } row[] = {
      {"llvm -mcpu=x86-64", "sse2", "sse3 fma4 xop"},
      {"llvm -mcpu=x86-64-v2", "sse4.2 popcnt", "avx"},
      {"llvm -mcpu=x86-64-v3", "avx2 fma f16c bmi2", "avx512f"},
      {"llvm -mcpu=x86-64-v4", "avx512bw avx512vl avx512dq", "avx512vnni"},
      {"llvm -mcpu=haswell", "avx2 fma", "avx512f"},
      {"llvm -mcpu=skylake", "avx2 adx", "avx512f"},
      {"llvm -mcpu=skylake-avx512", "avx512bw avx512vl", "avx512vnni"},
      {"llvm -mcpu=cascadelake", "avx512vnni avx512vl", "avx512bf16"},
      {"llvm -mcpu=icelake-server", "avx512vnni vaes", "amx-tile"},
      {"llvm -mcpu=sapphirerapids",
       "amx-tile amx-int8 amx-bf16 avx512fp16 avxvnni avx512vnni", "amx-fp16"},
      {"llvm -mcpu=znver1", "avx2 sse4a", "avx512f vaes"},
      {"llvm -mcpu=znver2", "avx2", "avx512f vaes"},
      {"llvm -mcpu=znver3", "avx2 vaes", "avx512f"},
      {"llvm -mcpu=znver4", "avx512vnni avx512bf16", "avxvnni"},
      {"llvm -mcpu=znver5", "avx512vnni avxvnni", "amx-tile"},
      {"llvm -mtriple=aarch64-linux-gnu", "neon", "dotprod sve a510"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "neon", "dotprod"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76", "dotprod", "i8mm"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "dotprod", "sve"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", "i8mm bf16 sve",
       "sve2"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2", "i8mm sve2", "sme"},
      {"llvm -mtriple=arm64-apple-macos -mcpu=apple-m1", "dotprod", "i8mm"},
      {"llvm -mcpu=cascadelake -mattr=-avx512f", "avx2",
       "avx512f avx512vl avx512vnni"},
      {"llvm -mcpu=x86-64 -mattr=+avx512vnni", "avx512vnni avx512f avx2 sse3",
       "avx512vl"},
      {"llvm -mcpu=haswell -mattr=+avxvnni,-avxvnni", "avx2", "avxvnni"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    char word[32];
    int n;
    assert_int_equal(target_parse(&f->t, row[i].text, &f->err), TESS_OK);
    if (f->t.is_host) continue; /* a virtual machine may hide some */
    for (const char *at = row[i].has; sscanf(at, "%31s%n", word, &n) == 1;
         at += n)
      if (!target_has(&f->t, word)) fail_msg("%s lacks %s", row[i].text, word);
    for (const char *at = row[i].lacks; sscanf(at, "%31s%n", word, &n) == 1;
         at += n)
      if (target_has(&f->t, word)) fail_msg("%s has %s", row[i].text, word);
  }
  assert_int_equal(target_parse(&f->t, "llvm -mcpu=x86-64", &f->err), TESS_OK);
  static const char *const all[] = {
#define FEATURE(name) name,
#define TUNING(name)
#define SYSTEM(name)
#include "backends/llvm/feature.def"
  };
  uint32_t n = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    n += target_has(&f->t, all[i]);
  assert_int_equal(n, 7); /* cmov cx8 fxsr mmx sse sse2 x87 */
}

/* Cards by architecture and by name; their limits need no card. */
static void devices(void **state) {
  fixture *f = *state;
  assert_int_equal(target_parse(&f->t, "cuda -arch=sm_70", &f->err), TESS_OK);
  assert_int_equal(target_int(&f->t, "max-threads-per-block"), 1024);
  assert_int_equal(target_int(&f->t, "shared-memory-per-block"), 49152);
  assert_int_equal(target_int(&f->t, "max_shared_memory_per_block"), 98304);
  assert_int_equal(target_int(&f->t, "registers-per-block"), 65536);
  assert_int_equal(target_int(&f->t, "thread-warp-size"), 32);
  assert_int_equal(target_int(&f->t, "num-cores"), -1);
  assert_int_equal(target_int(&f->t, "l2"), 0);
  expect_text(f, "cuda -arch=sm_70");
  assert_int_equal(
      target_parse(&f->t, "cuda -mcpu=sm_90a -max-registers=128", &f->err),
      TESS_OK);
  assert_int_equal(target_int(&f->t, "max-shared-memory-per-block"), 232448);
  expect_text(f, "cuda -arch=sm_90a -max-registers=128");
  assert_int_equal(target_parse(&f->t, "cuda -model=a100", &f->err), TESS_OK);
  assert_int_equal(target_int(&f->t, "l2"), 41943040);
  assert_int_equal(target_int(&f->t, "multiprocessors"), 108);
  expect_text(f, "cuda -arch=sm_80 -model=a100");
  assert_int_equal(f->t.vector_bytes, 16);
}

static void expect_error(fixture *f, const char *text, tess_status code,
                         const char *says) {
  assert_int_equal(target_parse(&f->t, text, &f->err), code);
  if (!strstr(f->err.message, says))
    fail_msg("'%s' gives '%s'", text, f->err.message);
}

static void errors(void **state) {
  fixture *f = *state;
  expect_error(f, "", TESS_PARSE, "empty");
  expect_error(f, "  ", TESS_PARSE, "empty");
  expect_error(f, "vulkan", TESS_NOT_FOUND, "'vulkan'");
  expect_error(f, "llvm -arch=sm_80", TESS_NOT_FOUND, "'-arch'");
  expect_error(f, "cuda -num-cores=2", TESS_NOT_FOUND, "'-num-cores'");
  expect_error(f, "cuda -arch=sm_42", TESS_INVALID, "not 'sm_42'");
  expect_error(f, "cuda -model=b1", TESS_INVALID, "known are v100, t4,");
  expect_error(f, "cuda -arch=sm_80 -mattr=+avx2", TESS_INVALID,
               "+ptx70 to +ptx85 for 'sm_80'");
  expect_error(f, "cuda -arch=sm_80 -mattr=+ptx70x", TESS_INVALID, "+ptx70 to");
  expect_error(f, "cuda -arch=sm_80 -mattr=+ptx60", TESS_INVALID,
               "-mattr=+ptx60 is too old for 'sm_80', whose code needs +ptx70");
  assert_int_equal(
      target_parse(&f->t, "cuda -arch=sm_70 -mattr=+ptx63", &f->err), TESS_OK);
  expect_error(f, "cuda -arch=sm_80 -model=v100", TESS_INVALID,
               "-model=v100 is a card of sm_70, which -arch=sm_80 "
               "contradicts");
  expect_error(f, "cuda -model=h100 -arch=sm_9", TESS_INVALID, "contradicts");
  assert_int_equal(target_parse(&f->t, "cuda -model=h100 -arch=sm_90", &f->err),
                   TESS_OK);
  expect_text(f, "cuda -arch=sm_90 -model=h100");
  expect_error(f, "cuda -arch=sm_80 -max-threads-per-block=2048", TESS_INVALID,
               "from 1 to 1024");
  expect_error(f, "cuda -arch=sm_80 -tensor-cores=off", TESS_INVALID,
               "wmma or mma");
  expect_error(f, "a_name_that_is_longer_than_any", TESS_NOT_FOUND, "a_name");
  expect_error(f, "llvm -cores=2", TESS_NOT_FOUND, "'-cores'");
  expect_error(f, "llvm num-cores=2", TESS_NOT_FOUND, "'num-cores'");
  expect_error(f, "llvm -", TESS_NOT_FOUND, "'-'");
  expect_error(f, "llvm -num-cores=0", TESS_INVALID, "'-num-cores=0'");
  expect_error(f, "llvm -num-cores=2x", TESS_INVALID, "'-num-cores=2x'");
  expect_error(f, "llvm -num-cores=", TESS_INVALID, "needs a value");
  expect_error(f, "llvm -num-cores", TESS_INVALID, "needs a value");
  expect_error(f, "llvm -num-cores=99999999999999999999999999", TESS_INVALID,
               "not a number");
  expect_error(f, "llvm -vector-bytes=24", TESS_INVALID, "power of two");
  expect_error(f, "llvm -mcpu=znver33", TESS_INVALID, "'znver33'");
  expect_error(f, "llvm -mtriple=sparc-sun-solaris", TESS_UNSUPPORTED, "LLVM");
  char longest[300] = "llvm -mcpu=";
  memset(longest + 11, 'x', 200);
  expect_error(f, longest, TESS_INVALID, "shorter");
}

/* The same through the public API. */
static void public_target(void **state) {
  (void)state;
  test_heap h;
  test_heap_start(&h, 0);
  tess_allocator a = fault_allocator(&h.fault);
  tess_options o = {.struct_size = sizeof o, .allocator = &a};
  tess_context *c;
  tess_target *t = NULL;
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  assert_int_equal(tess_target_new(c, "llvm -mcpu=haswell -num-cores=3", &t),
                   TESS_OK);
  assert_string_equal(tess_target_text(t), "llvm -mcpu=haswell -num-cores=3");
  assert_int_equal(tess_target_int(t, "num-cores"), 3);
  assert_int_equal(tess_target_int(t, "nothing"), -1);
  tess_target_free(t);
  tess_target_free(NULL);
  assert_int_equal(tess_target_new(c, "llvm -x=1", &t), TESS_NOT_FOUND);
  assert_null(t);
  assert_non_null(strstr(tess_error(c)->message, "'-x'"));
  assert_int_equal(tess_target_new(c, NULL, &t), TESS_INVALID);
  for (uint64_t n = 1; n <= 2; n++) {
    fault_arm(&h.fault, n);
    assert_int_equal(tess_target_new(c, "llvm", &t), TESS_NOMEM);
  }
  h.fault.fail_at = 0;
  tess_context_free(c);
  test_heap_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(this_machine, target_setup,
                                      target_teardown),
      cmocka_unit_test_setup_teardown(another_machine, target_setup,
                                      target_teardown),
      cmocka_unit_test_setup_teardown(implied, target_setup, target_teardown),
      cmocka_unit_test_setup_teardown(devices, target_setup, target_teardown),
      cmocka_unit_test_setup_teardown(errors, target_setup, target_teardown),
      cmocka_unit_test(public_target),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
