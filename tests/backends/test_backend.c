/* SPDX-License-Identifier: Apache-2.0
 * The table of backends: what each must offer, its source texts, and where
 * its kernels may be loaded. */
#include "backends/backend.h"
#include "support/test.h"

static void llvm_is_complete(void **state) {
  (void)state;
  const backend *b = backend_find("llvm");
  assert_non_null(b);
  assert_true(b->forms & 1u << BACKEND_CODE);
  assert_true(b->complete && b->runs_here && b->compile && b->load);
  assert_true(b->launch && b->unload && b->on_fatal);
  assert_null(backend_find("llv"));
}

/* A source is found by its name where the backend has it; else the error
 * lists what there is. */
static void sources_by_name(void **state) {
  (void)state;
  err_state e;
  backend_form f;
  backend none = *backend_find("llvm");
  none.forms = 1u << BACKEND_CODE;
  err_clear(&e);
  assert_int_equal(backend_find_source(backend_find("llvm"), "asm", &f, &e),
                   TESS_OK);
  assert_int_equal(f, BACKEND_ASM);
  assert_int_equal(backend_find_source(backend_find("llvm"), "ptx", &f, &e),
                   TESS_NOT_FOUND);
  assert_string_equal(e.message,
                      "a kernel for 'llvm' has the sources \"ir\" (or "
                      "\"llvm\"), \"asm\", not \"ptx\"");
  assert_int_equal(backend_find_source(backend_find("opencl"), "llvm", &f, &e),
                   TESS_NOT_FOUND);
  assert_string_equal(e.message, "a kernel for 'opencl' has the sources "
                                 "\"opencl\", not \"llvm\"");
  assert_int_equal(backend_find_source(&none, "code", &f, &e), TESS_NOT_FOUND);
  assert_non_null(strstr(e.message, "has the sources none"));
  assert_int_equal(backend_check_form(&none, BACKEND_CODE, &e), TESS_OK);
  assert_int_equal(backend_check_form(&none, BACKEND_PTX, &e),
                   TESS_UNSUPPORTED);
  assert_non_null(strstr(e.message, "'llvm' gives no 'ptx'"));
  assert_int_equal(backend_check_form(&none, BACKEND_NFORMS, &e),
                   TESS_UNSUPPORTED);
}

/* A driver that must not share the host's process is for workers. */
static void own_process(void **state) {
  (void)state;
  err_state e;
  backend alone = *backend_find("llvm");
  err_clear(&e);
  assert_int_equal(backend_check_host(&alone, &e), TESS_OK);
  alone.own_process = true;
  assert_int_equal(backend_check_host(&alone, &e), TESS_UNSUPPORTED);
  assert_non_null(strstr(e.message, "by workers only"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(llvm_is_complete),
      cmocka_unit_test(sources_by_name),
      cmocka_unit_test(own_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
