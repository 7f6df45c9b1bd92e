/* SPDX-License-Identifier: Apache-2.0
 * Each reason to refuse, of primitives and of the machine, was shown by a test
 * that ran before this one: something was refused for it, and program and
 * trace stayed as they were, byte for byte (test_shown of support/test.h). */
#include "support/test.h"
#include "schedule/sch.h"

#include <stdio.h>

static const char *const machine[] = {
#define REFUSED(name) name,
#define INVALID(name)
#define TYPE(name)
#define LIMIT(name)
#define DEAD(name)
#define NOT_FOUND(name)
#define INTERNAL(name)
#define FAILURE(name, status, text) status(#name)
#include "vm/failures.def"
#undef FAILURE
#undef REFUSED
#undef INVALID
#undef TYPE
#undef LIMIT
#undef DEAD
#undef NOT_FOUND
#undef INTERNAL
};

/* Forgets it, too, so that another run has to show it again. */
static unsigned missing(const char *reason) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", TESS_SHOWN_DIR, reason);
  if (remove(path) == 0) return 0;
  print_error("no test shows %s, and that it changes nothing\n", reason);
  return 1;
}

static void test_each_is_shown(void **state) {
  (void)state;
  unsigned n = 0;
  for (int r = 1; r < SCH_R_COUNT; r++)
    n += missing(sch_reason_name((sch_reason)r));
  /* The first means that the primitive has a reason of its own. */
  for (size_t i = 1; i < sizeof machine / sizeof *machine; i++)
    n += missing(machine[i]);
  assert_int_equal(n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_is_shown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
