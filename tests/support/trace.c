/* SPDX-License-Identifier: Apache-2.0
 * Calling primitives in tests with little writing. */
#include "support/trace.h"
#include "support/test.h"

#include <stdio.h>

test_call test_begin_prim(vm_sched *s, const sch_prim *prim) {
  assert_non_null(prim);
  vm_trace_reset(&s->draft);
  return (test_call){.s = s, .prim = prim};
}

test_call test_begin(vm_sched *s, const char *prim) {
  return test_begin_prim(s, sch_find_prim(prim));
}

void test_set(test_call *c, const char *operand, vm_value v) {
  for (uint32_t i = 0; i < c->prim->nspecs; i++) {
    if (!strcmp(c->prim->specs[i].name, operand)) {
      c->operand[i] = v;
      return;
    }
  }
  fail_msg("%s has no operand %s", c->prim->name, operand);
}

void test_set_str(test_call *c, const char *operand, const char *text) {
  test_set(c, operand, vm_str(&c->s->draft, text, strlen(text)));
}

void test_set_rv(test_call *c, const char *operand, vm_rv rv) {
  test_set(c, operand, vm_var(rv));
}

tess_status test_end(test_call *c, vm_rv *first, uint32_t *nout) {
  vm_call call = {.prim = c->prim,
                  .pool = &c->s->draft,
                  .operand = c->operand,
                  .file = "test.lua",
                  .line = 7};
  vm_rv f = 0;
  uint32_t n = 0;
  tess_status st = vm_sched_call(c->s, &call, &f, &n);
  if (first) *first = f;
  if (nout) *nout = n;
  return st;
}

static vm_rv trace_must(test_call *c, uint32_t *n) {
  char why[512];
  vm_rv first = 0;
  if (test_end(c, &first, n) != TESS_OK)
    fail_msg("%s", test_why(c->s, why, sizeof why));
  return first;
}

vm_rv test_block(vm_sched *s, const char *name) {
  test_call c = test_begin(s, "get_block");
  test_set_str(&c, "name", name);
  return trace_must(&c, NULL);
}

vm_rv test_loops(vm_sched *s, vm_rv block, uint32_t *n) {
  test_call c = test_begin(s, "get_loops");
  test_set_rv(&c, "block", block);
  return trace_must(&c, n);
}

vm_rv test_split(vm_sched *s, vm_rv loop, uint32_t n, const int64_t *factor) {
  test_call c = test_begin(s, "split");
  vm_value f[8];
  for (uint32_t i = 0; i < n; i++)
    f[i] = factor[i] ? vm_int(factor[i]) : vm_auto();
  test_set_rv(&c, "loop", loop);
  test_set(&c, "factors", vm_list(&s->draft, n, f));
  return trace_must(&c, NULL);
}

const char *test_why(const vm_sched *s, char *out, size_t n) {
  strbuf b;
  str_init(&b, s->heap);
  vm_failure_text(&s->m, &s->trace, &b);
  snprintf(out, n, "%s", str_get(&b) ? str_get(&b) : "");
  str_free(&b);
  return out;
}
