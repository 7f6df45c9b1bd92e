/* SPDX-License-Identifier: Apache-2.0
 * Conformance of every primitive's declaration: a loop over the table. */
#include "support/test.h"
#include "support/trace.h"
#include "vm/doc/doc.h"
#include "vm/exec.h"
#include "vm/text/lua_write.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define EACH(p)                                     \
  for (const sch_prim *const *p##_ = sch_prims, *p; \
       p##_ < sch_prims + sch_nprims && (p = *p##_); p##_++)

static bool is_list_out(const sch_spec *sp) {
  return sp->role == SCH_ROLE_OUT &&
         (sp->kind == SCH_KIND_BLOCKS || sp->kind == SCH_KIND_LOOPS ||
          sp->kind == SCH_KIND_VARS);
}

static bool is_out_kind(uint32_t kind) {
  return kind == SCH_KIND_BLOCK || kind == SCH_KIND_LOOP ||
         kind == SCH_KIND_VAR || kind == SCH_KIND_BLOCKS ||
         kind == SCH_KIND_LOOPS || kind == SCH_KIND_VARS;
}

static bool is_sentence(const char *s) {
  size_t n = s ? strlen(s) : 0;
  return n > 5 && s[n - 1] == '.' && !strchr(s, '\n');
}

static void test_conform_names(void **state) {
  (void)state;
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const char *name = sch_prims[i]->name;
    assert_true(vm_is_lua_name(name, strlen(name)));
    assert_ptr_equal(sch_find_prim(name), sch_prims[i]);
    if (i && strcmp(sch_prims[i - 1]->name, name) >= 0)
      fail_msg("prims.def: %s stands before %s", sch_prims[i - 1]->name, name);
  }
  assert_null(sch_find_prim("no_such_primitive"));
}

/* Every file of schedule/prim/ is in prims.def. */
static void test_files(void **state) {
  (void)state;
  DIR *d = opendir(TESS_SOURCE_DIR "/schedule/prim");
  assert_non_null(d);
  uint32_t n = 0;
  for (struct dirent *e; (e = readdir(d));) {
    char name[256];
    const char *dot = strrchr(e->d_name, '.');
    if (!dot || strcmp(dot, ".c")) continue;
    snprintf(name, sizeof name, "%.*s", (int)(dot - e->d_name), e->d_name);
    if (!sch_find_prim(name)) fail_msg("%s is not in prims.def", name);
    n++;
  }
  closedir(d);
  assert_int_equal(n, sch_nprims);
}

static void check_specs(const sch_prim *p) {
  uint32_t lists = 0, decisions = 0;
  assert_in_range(p->nspecs, 0, VM_MAX_SPECS);
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (!vm_is_lua_name(sp->name, strlen(sp->name)))
      fail_msg("%s: '%s' cannot be written as a name", p->name, sp->name);
    if (!sp->help || !*sp->help || strchr(sp->help, '\n'))
      fail_msg("%s: '%s' has no line of help", p->name, sp->name);
    for (uint32_t k = 0; k < i; k++)
      if (!strcmp(p->specs[k].name, sp->name) &&
          (p->specs[k].role == SCH_ROLE_OUT) == (sp->role == SCH_ROLE_OUT))
        fail_msg("%s has '%s' twice", p->name, sp->name);
    if (sp->role == SCH_ROLE_OUT && !is_out_kind(sp->kind))
      fail_msg("%s: '%s' cannot be an output", p->name, sp->name);
    if (sp->role == SCH_ROLE_DECISION && sp->kind != SCH_KIND_INT &&
        sp->kind != SCH_KIND_INTS)
      fail_msg("%s: a decision is an integer or a list of them", p->name);
    lists += is_list_out(sp);
    decisions += sp->role == SCH_ROLE_DECISION;
  }
  if (lists > 1) fail_msg("%s has several lists of outputs", p->name);
  assert_int_equal(decisions, (p->flags & SCH_SAMPLES) != 0);
}

static void test_specs(void **state) {
  (void)state;
  EACH(p) check_specs(p);
}

static void test_samplers(void **state) {
  (void)state;
  EACH(p) {
    const sch_sampler *s = p->sampler;
    assert_int_equal(s != NULL, (p->flags & SCH_SAMPLES) != 0);
    if (s && !(s->size && s->count && s->draw && s->admit && s->repair &&
               s->logp && s->neighbour && s->at && s->embed))
      fail_msg("%s: its sampler is not whole", p->name);
    if (s && !p->decides)
      fail_msg("%s: it does not say what it decides", p->name);
  }
}

static void test_texts(void **state) {
  (void)state;
  EACH(p) {
    if (!is_sentence(p->summary))
      fail_msg("%s: the summary is no sentence", p->name);
    assert_non_null(p->rewrite);
    assert_non_null(p->details);
    if (!p->example || !*p->example || !strstr(p->example, p->name))
      fail_msg("%s: the example does not show it", p->name);
    if (p->example[strlen(p->example) - 1] != '\n')
      fail_msg("%s: the example does not end its line", p->name);
  }
}

static void test_conform_refusals(void **state) {
  (void)state;
  EACH(p) {
    assert_non_null(p->refusals);
    for (const uint16_t *r = p->refusals; *r; r++)
      assert_in_range(*r, 1, SCH_R_COUNT - 1);
  }
  for (uint32_t r = 1; r + 1 < SCH_R_COUNT; r++) {
    const char *a = sch_reason_name((sch_reason)r);
    const char *b = sch_reason_name((sch_reason)(r + 1));
    if (strcmp(a, b) >= 0) fail_msg("refusals.def: %s stands before %s", a, b);
  }
}

/* ---- operands ----------------------------------------------------------- */

/* A trace with one variable of each kind, made by hand. */
typedef struct bench {
  test_heap mem;
  vm_trace t, pool;
  vm_rv block, loop, integer;
} bench;

static tess_status conform_fill(void *ud) {
  bench *b = ud;
  vm_failure why;
  vm_value operand[VM_MAX_SPECS];
  vm_trace_init(&b->t, b->t.heap);
  vm_trace_init(&b->pool, b->pool.heap);
  operand[0] = vm_str(&b->pool, "C", 1);
  operand[1] = vm_nil();
  vm_call c = {
      .prim = sch_find_prim("get_block"), .pool = &b->pool, .operand = operand};
  assert_true(vm_append(&b->t, &c, 1, &why));
  operand[0] = vm_var(1);
  c.prim = sch_find_prim("get_loops");
  assert_true(vm_append(&b->t, &c, 1, &why));
  operand[0] = vm_var(2);
  operand[1] = vm_int(1);
  operand[2] = vm_nil();
  operand[3] = vm_nil();
  c.prim = sch_find_prim("sample_perfect_tile");
  assert_true(vm_append(&b->t, &c, 1, &why));
  return TESS_OK;
}

static void conform_start(bench *b) {
  test_heap_start(&b->mem, 0);
  b->t = (vm_trace){.heap = &b->mem.heap};
  b->pool = b->t;
  b->block = 1, b->loop = 2, b->integer = 3;
  assert_int_equal(mem_protect(&b->mem.heap, conform_fill, b), TESS_OK);
}

static void conform_end(bench *b) {
  vm_trace_free(&b->t);
  vm_trace_free(&b->pool);
  test_heap_end(&b->mem);
}

/* A valid value of the kind. */
static vm_value plausible(bench *b, const sch_spec *sp) {
  vm_value one[1];
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_NODE: return vm_var(b->block);
  case SCH_KIND_LOOP: return vm_var(b->loop);
  case SCH_KIND_BLOCKS:
  case SCH_KIND_NODES: one[0] = vm_var(b->block); break;
  case SCH_KIND_LOOPS: one[0] = vm_var(b->loop); break;
  case SCH_KIND_INT: return vm_int(12345);
  case SCH_KIND_BOOL: return vm_bool(!sp->dflt.i);
  case SCH_KIND_REAL: return vm_real(0.625);
  case SCH_KIND_STR: return vm_str(&b->pool, "some text", 9);
  case SCH_KIND_BUFFER: return vm_int(1);
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_FILL: return vm_str(&b->pool, "(i) -> (i + 1)", 14);
  case SCH_KIND_DTYPE: return vm_str(&b->pool, "int8", 4);
  case SCH_KIND_INTS: one[0] = vm_int(7); break;
  case SCH_KIND_REALS: one[0] = vm_real(0.5); break;
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: return vm_var(b->integer);
  case SCH_KIND_FACTORS: one[0] = vm_auto(); break;
  case SCH_KIND_VALUE: return vm_str(&b->pool, "any", 3);
  case SCH_KIND_VARS: one[0] = vm_var(b->integer); break;
  }
  return vm_list(&b->pool, 1, one);
}

static uint32_t outputs(const sch_prim *p) {
  bool list;
  uint32_t n = vm_fixed_outputs(p, &list);
  return n + (list ? 3 : 0);
}

static void expect_sentence(bench *b, const vm_failure *why, const char *format,
                            const char *a, const char *o, const char *h) {
  strbuf got;
  char wanted[512];
  str_init(&got, &b->mem.heap);
  vm_failure_sentence(NULL, &b->t, why, &got);
  snprintf(wanted, sizeof wanted, format, a, o, h);
  if (strncmp(str_get(&got), wanted, strlen(wanted)) != 0)
    fail_msg("\"%s\" does not begin with \"%s\"", str_get(&got), wanted);
  str_free(&got);
}

/* All but the k-th operand given, or that one with a value that no kind
 * takes. */
static void refuse_operand(bench *b, const sch_prim *p, uint32_t k) {
  vm_value operand[VM_MAX_SPECS];
  vm_failure why;
  const sch_spec *sp = &p->specs[k];
  vm_call c = {.prim = p, .pool = &b->pool, .operand = operand};
  uint64_t before = vm_trace_hash(&b->t);
  for (uint32_t i = 0; i < p->nspecs; i++)
    operand[i] = plausible(b, &p->specs[i]);
  operand[k] = vm_auto();
  assert_false(vm_append(&b->t, &c, outputs(p), &why));
  assert_int_equal(vm_failure_status(&why), TESS_TYPE);
  expect_sentence(b, &why, "%s: operand '%s' must be %s", p->name, sp->name,
                  vm_kind_text(sp->kind));
  operand[k] = vm_nil();
  bool optional = sp->role == SCH_ROLE_DECISION || !sp->dflt.required;
  if (!optional) {
    assert_false(vm_append(&b->t, &c, outputs(p), &why));
    assert_int_equal(vm_failure_status(&why), TESS_INVALID);
    expect_sentence(b, &why, "%s: operand '%s' is missing (%s)", p->name,
                    sp->name, sp->help);
  }
  assert_int_equal(vm_trace_hash(&b->t), before);
}

static void test_conform_operands(void **state) {
  (void)state;
  bench b;
  conform_start(&b);
  EACH(p)
  for (uint32_t k = 0; k < p->nspecs; k++)
    if (p->specs[k].role != SCH_ROLE_OUT) refuse_operand(&b, p, k);
  conform_end(&b);
}

/* The default as a value; nil where there is none to write. */
static vm_value default_of(bench *b, const sch_spec *sp) {
  const char *s = sp->dflt.s;
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_INT:
  case SCH_KIND_EXPR: return vm_int(sp->dflt.i);
  case SCH_KIND_BOOL: return vm_bool(sp->dflt.i);
  case SCH_KIND_REAL: return vm_real(sp->dflt.f);
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE: return s ? vm_str(&b->pool, s, strlen(s)) : vm_nil();
  case SCH_KIND_INTS:
  case SCH_KIND_REALS:
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES:
  case SCH_KIND_FACTORS: return vm_list(&b->pool, 0, NULL);
  default: return vm_nil();
  }
}

static void append(bench *b, const sch_prim *p, const vm_value *operand) {
  vm_failure why;
  vm_call c = {.prim = p, .pool = &b->pool, .operand = operand};
  uint32_t nout;
  if (!vm_known_outputs(&c, &nout)) nout += 3;
  assert_true(vm_append(&b->t, &c, nout, &why));
}

/* A default given explicitly is the same instruction. */
static void test_defaults(void **state) {
  (void)state;
  bench b, q;
  conform_start(&b);
  conform_start(&q);
  EACH(p) {
    vm_value operand[VM_MAX_SPECS];
    for (uint32_t i = 0; i < p->nspecs; i++)
      operand[i] =
          p->specs[i].dflt.required ? plausible(&b, &p->specs[i]) : vm_nil();
    append(&b, p, operand);
    for (uint32_t i = 0; i < p->nspecs; i++)
      operand[i] = p->specs[i].dflt.required ? plausible(&q, &p->specs[i])
                   : p->specs[i].role == SCH_ROLE_DECISION
                       ? vm_nil()
                       : default_of(&q, &p->specs[i]);
    append(&q, p, operand);
    if (!vm_trace_equal(&b.t, &q.t)) fail_msg("%s: a default differs", p->name);
  }
  conform_end(&b);
  conform_end(&q);
}

/* ---- docs --------------------------------------------------------------- */

static void test_docs(void **state) {
  (void)state;
  test_heap mem;
  strbuf page;
  test_heap_start(&mem, 0);
  str_init(&page, &mem.heap);
  EACH(p) {
    str_clear(&page);
    vm_doc_page(p, &page);
    const char *text = str_get(&page);
    assert_non_null(strstr(text, p->name));
    for (uint32_t i = 0; i < p->nspecs; i++)
      if (!strstr(text, p->specs[i].name) || !strstr(text, p->specs[i].help))
        fail_msg("%s: '%s' is not documented", p->name, p->specs[i].name);
    for (const uint16_t *r = p->refusals; *r; r++)
      assert_non_null(strstr(text, sch_reason_name((sch_reason)*r)));
  }
  str_clear(&page);
  vm_doc_reference(&page);
  assert_non_null(strstr(str_get(&page), "\n## split\n"));
  str_clear(&page);
  vm_doc_stubs(&page);
  assert_non_null(strstr(str_get(&page), "---@param loop tessera.Loop "));
  assert_non_null(strstr(str_get(&page), "\nfunction Schedule:split(loop, "
                                         "factors, options) end\n"));
  str_free(&page);
  test_heap_end(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conform_names),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_specs),
      cmocka_unit_test(test_samplers),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_conform_refusals),
      cmocka_unit_test(test_conform_operands),
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_docs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
