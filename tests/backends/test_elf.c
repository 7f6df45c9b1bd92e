/* SPDX-License-Identifier: Apache-2.0
 * The linker of object code: it loads what LLVM compiles for this processor,
 * and refuses what is another's, is malformed, or calls what is not there.  For
 * AArch64 it is tests/fleet/test_via.c that runs it. */
#include "backends/elf/elf.h"
#include "ir/scalar.h"
#include "support/compiled.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};
static const tess_dtype F16 = {TESS_DTYPE_FLOAT, 16, 1};
enum { N = 40 };

/* B[i] = float16(A[i] * 3) in parallel: calls of the runtime, constants and,
 * where the processor has no such instruction, a conversion by name. */
static void compile_loop(compiled *k, const char *text, strbuf *out) {
  ir_expr i;
  compiled_start(k);
  assert_int_equal(target_parse(&k->target, text, &k->err), TESS_OK);
  ir_buf a = compiled_param(k, F32, N, IR_ROLE_INPUT);
  ir_buf b = compiled_param(k, F16, N, IR_ROLE_OUTPUT);
  ir_stmt loop = compiled_loop(k, k->root, ir_index(&k->p, N), IR_PARALLEL, &i);
  ir_expr v = ir_mul(&k->p, compiled_load(k, a, i), ir_real(&k->p, F32, 3));
  compiled_store(k, loop, b, i, ir_cast(&k->p, F16, v));
  compiled_text(k, BACKEND_CODE, out);
}

static void runs(void **state) {
  compiled k;
  strbuf code;
  backend_code *c;
  float a[N];
  uint16_t b[N]; /* float16 */
  void *args[] = {a, b};
  (void)state;
#if defined __x86_64__
  compile_loop(&k, "llvm -mcpu=x86-64", &code);
#else
  compile_loop(&k, "llvm", &code);
#endif
  /* At an odd address, as in a bundle. */
  char *copy = malloc(code.n + 1);
  memcpy(copy + 1, code.v, code.n);
  tess_status s = elf_backend.load(&k.heap.heap, copy + 1, code.n, &c, &k.err);
  if (s != TESS_OK) fail_msg("%s", k.err.message);
  for (int i = 0; i < N; i++) a[i] = (float)i / 4;
  assert_int_equal(elf_backend.launch(c, args, NULL, &k.rt.rt), 0);
  for (int i = 0; i < N; i++)
    assert_true(ir_get_real(F16, &b[i]) == (double)i * 3 / 4);
  elf_backend.unload(c);
  free(copy);
  str_free(&code);
  compiled_end(&k);
}

static void is_refused(const void *code, size_t n, const char *why) {
  elf_image x;
  err_state e;
  assert_int_equal(elf_load(code, n, &x, &e), TESS_BUILD_ERROR);
  elf_unload(&x);
  if (!strstr(e.message, why)) fail_msg("%s", e.message);
}

/* A prefix, and an object with a byte changed anywhere in what describes it,
 * are refused or loaded; nothing outside of them is touched, as
 * AddressSanitizer sees. */
static void malformed(void **state) {
  compiled k;
  strbuf code;
  (void)state;
  compile_loop(&k, "llvm", &code);
  for (size_t n = 0; n < code.n; n += 1 + n / 16) {
    char *prefix = malloc(n + 1);
    memcpy(prefix, code.v, n);
    is_refused(prefix, n, "malformed");
    free(prefix);
  }
  Elf64_Ehdr h;
  memcpy(&h, code.v, sizeof h);
  for (size_t at = 0; at < code.n; at++) {
    elf_image x;
    bool describes = at < sizeof h || at >= h.e_shoff;
    if (!describes && at % 5) continue;
    char old = code.v[at];
    code.v[at] = (char)(old ^ (at % 2 ? 0x80 : 0x7f));
    elf_load(code.v, code.n, &x, &k.err);
    elf_unload(&x);
    code.v[at] = old;
  }
  str_free(&code);
  compiled_end(&k);
}

static void others(void **state) {
  compiled k;
  strbuf code;
  (void)state;
#if defined __x86_64__
  compile_loop(&k, "llvm -mtriple=aarch64-linux-gnu", &code);
  is_refused(code.v, code.n, "the code is for AArch64, and this is x86-64");
#else
  compile_loop(&k, "llvm -mtriple=x86_64-linux-gnu", &code);
  is_refused(code.v, code.n, "the code is for x86-64, and this is AArch64");
#endif
  str_free(&code);
  compiled_end(&k);
}

/* AArch64 counts branches in instructions, and loads in what they load. */
static void units(void **state) {
  static const struct {
    uint32_t type;
    uint64_t to;
    elf_fixed want;
    uint32_t code;
  } rows[] = {
      {R_AARCH64_CALL26, 0x2000, ELF_FIXED, 0x400},
      {R_AARCH64_CALL26, 0x2002, ELF_ODD, 0},
      {R_AARCH64_JUMP26, 0x1001, ELF_ODD, 0},
      {R_AARCH64_JUMP26, 0x1000 + (1 << 27), ELF_FAR, 0},
      {R_AARCH64_LDST8_ABS_LO12_NC, 0x2003, ELF_FIXED, 3 << 10},
      {R_AARCH64_LDST64_ABS_LO12_NC, 0x2010, ELF_FIXED, 2 << 10},
      {R_AARCH64_LDST64_ABS_LO12_NC, 0x2014, ELF_ODD, 0},
      {R_AARCH64_LDST128_ABS_LO12_NC, 0x2018, ELF_ODD, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    unsigned char code[4] = {0};
    elf_fixup f = {.type = rows[i].type, .near = rows[i].to, .place = 0x1000};
    assert_int_equal(elf_aarch64.fix(code, &f), rows[i].want);
    assert_int_equal(elf_get32(code), rows[i].code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs), cmocka_unit_test(units),
      cmocka_unit_test(malformed), cmocka_unit_test(others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
