/* SPDX-License-Identifier: Apache-2.0
 * Each reason to refuse is shown by a test beside this one: the test names
 * it, and whatever those call (support/scheduled.h) and is refused leaves
 * program and trace as they were, byte for byte. */
#include "support/test.h"
#include "schedule/sch.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reasons that are given for what a trace holds, and what else shows them. */
static const struct elsewhere {
  const char *reason, *file, *line;
} others[] = {
    {"GUARD_DIFFERS", "tests/vm/test_machine.c", "GUARD_DIFFERS"},
    {"INIT_EFFECTS", "tests/lua/preconditions_blocks.lua", "INIT_EFFECTS"},
    {"INIT_NOT_IDENTITY", "tests/lua/reductions.lua", "INIT_NOT_IDENTITY"},
    {"MAP_LEAVES_SOME", "tests/lua/sizes.lua", "MAP_LEAVES_SOME"},
    {"PAD_MISSING_SOME", "tests/lua/sizes.lua", "PAD_MISSING_SOME"},
    {"STEPS_ELSEWHERE", "tests/lua/reductions.lua", "STEPS_ELSEWHERE"},
};

static char *read_file(const char *name) {
  FILE *f = fopen(name, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  long n = ftell(f);
  rewind(f);
  char *text = calloc(1, (size_t)n + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)n, f), n);
  fclose(f);
  return text;
}

/* Notes the names in the text. */
static void look(const char *text, bool *shown) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  for (size_t n; *text; text += n ? n : 1) {
    n = strspn(text, letters);
    for (int r = 1; n && r < SCH_R_COUNT; r++) {
      const char *name = sch_reason_name((sch_reason)r);
      if (strlen(name) == n && !strncmp(name, text, n)) shown[r] = true;
    }
  }
}

/* Random tests know reasons that they do not show. */
static bool is_plain_test(const char *path) {
  return !strstr(path, "/test_random") && !strstr(path, "/test_refusals");
}

static bool is_elsewhere(const char *reason) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char path[1024];
    if (strcmp(others[i].reason, reason) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", TESS_SOURCE_DIR, others[i].file);
    char *text = read_file(path);
    bool found = strstr(text, others[i].line) != NULL;
    free(text);
    return found;
  }
  return false;
}

static void test_each_is_shown(void **state) {
  (void)state;
  static bool shown[SCH_R_COUNT];
  glob_t files;
  unsigned missing = 0;
  assert_int_equal(
      glob(TESS_SOURCE_DIR "/tests/schedule/test_*.c", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    if (!is_plain_test(files.gl_pathv[i])) continue;
    char *text = read_file(files.gl_pathv[i]);
    look(text, shown);
    free(text);
  }
  globfree(&files);
  for (int r = 1; r < SCH_R_COUNT; r++) {
    const char *name = sch_reason_name((sch_reason)r);
    if (shown[r] || is_elsewhere(name)) continue;
    print_error("no test in tests/schedule shows %s\n", name);
    missing++;
  }
  assert_int_equal(missing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_is_shown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
