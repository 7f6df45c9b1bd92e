/* SPDX-License-Identifier: Apache-2.0
 * Declarations of primitives are whole: what docs, records and bindings are
 * made of. */
#include "schedule/sig.h"
#include "support/test.h"
#include <dirent.h>
#include <stdio.h>

static void test_words(void **state) {
  (void)state;
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const sch_prim *p = sch_prims[i];
    char call[64];
    snprintf(call, sizeof call, "sch:%s(", p->name);
    size_t n = strlen(p->summary), d = strlen(p->details);
    assert_true(n > 10 && p->summary[n - 1] == '.');
    assert_true(d > 10 && p->details[d - 1] == '\n');
    assert_non_null(p->rewrite);
    assert_non_null(strstr(p->example, call));
    if (i) assert_true(strcmp(sch_prims[i - 1]->name, p->name) < 0);
    assert_ptr_equal(sch_find_prim(p->name), p);
  }
  assert_null(sch_find_prim("no_such_primitive"));
}

static void test_operands(void **state) {
  (void)state;
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const sch_prim *p = sch_prims[i];
    bool decides = false;
    for (uint32_t k = 0; k < p->nspecs; k++) {
      const sch_spec *s = &p->specs[k];
      assert_true(strlen(s->help) > 3);
      if (k)
        assert_true(p->specs[k - 1].role <= s->role ||
                    s->role <= SCH_ROLE_ATTR);
      for (uint32_t j = 0; j < k; j++)
        assert_string_not_equal(p->specs[j].name, s->name);
      decides = decides || s->role == SCH_ROLE_DECISION;
    }
    assert_int_equal(decides, (p->flags & SCH_SAMPLES) != 0);
    assert_int_equal(decides, p->sampler != NULL);
  }
}

/* Each reason is listed once by those that give it, and by somebody. */
static void test_reasons(void **state) {
  (void)state;
  bool used[SCH_R_COUNT] = {true};
  for (uint32_t i = 0; i < sch_nprims; i++)
    for (const uint16_t *r = sch_prims[i]->refusals; *r; r++) {
      assert_true(*r < SCH_R_COUNT);
      for (const uint16_t *q = sch_prims[i]->refusals; q < r; q++)
        if (*q == *r)
          fail_msg("%s lists %s twice", sch_prims[i]->name,
                   sch_reason_name((sch_reason)*r));
      used[*r] = true;
    }
  for (unsigned r = 0; r < SCH_R_COUNT; r++)
    if (!used[r]) fail_msg("%s is never given", sch_reason_name(r));
}

/* Forgetting the word in prims.def would not fail to link. */
static void test_files(void **state) {
  (void)state;
  DIR *dir = opendir(TESS_SOURCE_DIR "/schedule/prim");
  assert_non_null(dir);
  uint32_t n = 0;
  for (struct dirent *e; (e = readdir(dir));) {
    char name[64];
    size_t len = strlen(e->d_name);
    if (len < 3 || len > 60 || strcmp(e->d_name + len - 2, ".c")) continue;
    snprintf(name, sizeof name, "%.*s", (int)(len - 2), e->d_name);
    if (!sch_find_prim(name)) fail_msg("%s is not in prims.def", name);
    n++;
  }
  closedir(dir);
  assert_int_equal(n, sch_nprims);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_operands),
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
