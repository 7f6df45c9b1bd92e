/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's assembler takes the PTX, and spills no registers.  It needs ptxas,
 * of the CUDA toolkit, and is skipped where there is none.
 * Labels: hardware */
#include "support/console.h"
#include "support/test.h"

static console c;

/* The architectures that CUDA 13 still has. */
static const char *const archs[] = {"sm_75", "sm_80", "sm_86",
                                    "sm_89", "sm_90", "sm_90a"};

static const char no_spills[] =
    "bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";

static void assemble(const char *name, const char *arch) {
  int rc = console_run(&c, "ptxas -v -arch=%s %s.%s.ptx -o out.cubin 2>&1",
                       arch, name, arch);
  if (rc) fail_msg("%s for %s: %s", name, arch, c.out);
  const char *at = c.out;
  assert_non_null(strstr(at, "bytes spill stores"));
  while ((at = strstr(at, "bytes stack frame"))) {
    if (strncmp(at, no_spills, strlen(no_spills)) != 0)
      fail_msg("%s for %s: %s", name, arch, c.out);
    at++;
  }
}

static void assembles(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  if (console_run(&c, "command -v ptxas")) {
    console_end(&c);
    skip();
  }
  if (console_run(&c, CONSOLE_TESSERA
                  " " TESS_SOURCE_DIR
                  "/tests/support/gpu_ptx.lua . sm_75 sm_80 sm_86 sm_89 "
                  "sm_90 sm_90a"))
    fail_msg("%s", c.err);
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    assemble("wmma", archs[i]);
    assemble("gemm", archs[i]);
    if (i > 0) assemble("mma", archs[i]);
    if (i > 0) assemble("ahead", archs[i]);
    if (!strcmp(archs[i], "sm_90a")) assemble("wgmma", archs[i]);
  }
  console_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(assembles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
