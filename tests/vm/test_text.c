/* SPDX-License-Identifier: Apache-2.0
 * Traces as JSON and as Lua: exact round trips, and Lua as it is written by
 * hand. */
#include "support/test.h"
#include "support/program.h"
#include "support/trace.h"
#include "base/file.h"
#include "vm/text/text.h"

#include <math.h>
#include <stdio.h>

typedef struct fixture {
  test_heap mem;
  ir_program base;
  vm_sched s;
} fixture;

static tess_status build_product(void *ud) {
  fixture *f = ud;
  ir_program_init(&f->base, &f->mem.heap);
  test_matmul_relu(&f->base, 64, 32, 16);
  return TESS_OK;
}

static tess_status build_many(void *ud) {
  fixture *f = ud;
  ir_program_init(&f->base, &f->mem.heap);
  test_many_blocks(&f->base, 200);
  return TESS_OK;
}

static void text_start(fixture *f, tess_status (*build)(void *ud)) {
  test_heap_start(&f->mem, 0);
  assert_int_equal(mem_protect(&f->mem.heap, build, f), TESS_OK);
  assert_int_equal(vm_sched_init(&f->s, &f->mem.heap, &f->base, 42), TESS_OK);
}

static void text_end(fixture *f) {
  vm_sched_free(&f->s);
  ir_program_free(&f->base);
  test_heap_end(&f->mem);
}

static tess_status init_trace(void *ud) {
  vm_trace *t = ud;
  vm_trace_init(t, t->heap);
  return TESS_OK;
}

/* Both texts round-trip, byte for byte. */
static void round_trips(fixture *f) {
  vm_trace t = {.heap = &f->mem.heap};
  strbuf once, again;
  err_state err;
  vm_json_opts o = {.places = true,
                    .has_program = true,
                    .program = 0x0123456789abcdef},
               got;
  assert_int_equal(mem_protect(t.heap, init_trace, &t), TESS_OK);
  str_init(&once, t.heap);
  str_init(&again, t.heap);
  vm_write_json(&f->s.trace, &o, &once);
  tess_status st = vm_read_json(&t, str_get(&once), once.n, &got, &err);
  if (st != TESS_OK)
    fail_msg("%s (%s)\n%s", err.message, err.place, str_get(&once));
  assert_true(vm_trace_equal(&t, &f->s.trace));
  assert_int_equal(vm_trace_hash(&t), vm_trace_hash(&f->s.trace));
  assert_true(got.has_program);
  assert_int_equal(got.program, o.program);
  vm_write_json(&t, &o, &again);
  assert_string_equal(str_get(&once), str_get(&again));
  str_clear(&once);
  str_clear(&again);
  vm_write_lua(&f->s.trace, &once);
  st = vm_read_lua(&t, str_get(&once), once.n, &err);
  if (st != TESS_OK)
    fail_msg("%s (%s)\n%s", err.message, err.place, str_get(&once));
  assert_true(vm_trace_equal(&t, &f->s.trace));
  vm_write_lua(&t, &again);
  assert_string_equal(str_get(&once), str_get(&again));
  str_free(&once);
  str_free(&again);
  vm_trace_free(&t);
}

static vm_rv text_must(test_call *c) {
  char why[512];
  vm_rv first = 0;
  if (test_end(c, &first, NULL) != TESS_OK)
    fail_msg("%s", test_why(c->s, why, sizeof why));
  return first;
}

static vm_rv sample_tile(vm_sched *s, vm_rv loop, int64_t n) {
  test_call c = test_begin(s, "sample_perfect_tile");
  test_set_rv(&c, "loop", loop);
  test_set(&c, "n", vm_int(n));
  return text_must(&c);
}

static void text_annotate(vm_sched *s, vm_rv node, const char *key,
                          vm_value v) {
  test_call c = {.s = s, .prim = sch_find_prim("annotate")};
  test_set_rv(&c, "block_or_loop", node);
  test_set_str(&c, "ann_key", key);
  test_set(&c, "ann_val", v);
  text_must(&c);
}

static void test_whole_schedule(void **state) {
  (void)state;
  fixture f;
  text_start(&f, build_product);
  vm_sched *s = &f.s;
  uint32_t n;
  vm_rv b = test_block(s, "C"), l = test_loops(s, b, &n);
  vm_rv v = sample_tile(s, l, 3);
  test_call c = test_begin(s, "split");
  vm_value factors[] = {vm_auto(), vm_var(v + 1),
                        vm_op(&s->draft, IR_MUL, vm_var(v + 2), vm_int(1))};
  test_set_rv(&c, "loop", l);
  test_set(&c, "factors", vm_list(&s->draft, 3, factors));
  text_must(&c);
  c = test_begin(s, "sample_categorical");
  vm_value candidates[] = {vm_int(0), vm_int(-16), vm_int(INT64_MAX)};
  vm_value probs[] = {vm_real(0.25), vm_real(0.5), vm_real(0.25)};
  test_set(&c, "candidates", vm_list(&s->draft, 3, candidates));
  test_set(&c, "probs", vm_list(&s->draft, 3, probs));
  vm_rv u = text_must(&c);
  vm_trace_reset(&s->draft);
  text_annotate(s, b, "pragma", vm_var(u));
  test_call p = test_begin(s, "enter_postproc");
  text_must(&p);
  round_trips(&f);
  text_end(&f);
}

static void test_every_value(void **state) {
  (void)state;
  static const double reals[] = {0.1,           1,       -0.0,     1e300,
                                 5e-324,        1.0 / 3, INFINITY, -INFINITY,
                                 123456789.125, 1e16};
  fixture f;
  text_start(&f, build_product);
  vm_sched *s = &f.s;
  vm_trace *d = &s->draft;
  vm_rv b = test_block(s, "C");
  test_call c = test_begin(s, "sample_categorical");
  vm_value two[] = {vm_int(3), vm_int(4)};
  test_set(&c, "candidates", vm_list(d, 2, two));
  test_set(&c, "decision", vm_int(1));
  vm_rv u = text_must(&c);
  vm_trace_reset(d);
  char key[24];
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    snprintf(key, sizeof key, "real%zu", i);
    text_annotate(s, b, key, vm_real(reals[i]));
  }
  text_annotate(s, b, "int", vm_int(INT64_MIN));
  text_annotate(s, b, "bool", vm_bool(false));
  text_annotate(s, b, "text \"\\\n\t\x01\x7f 3\xc3\xa9\xe2\x82\xac",
                vm_bool(true));
  text_annotate(s, b, "string",
                vm_str(d,
                       "v0 \"\\\n\r\x1b"
                       "7",
                       9));
  text_annotate(s, b, "looks like one", vm_str(d, "b0", 2));
  text_annotate(s, b, "empty", vm_list(d, 0, NULL));
  vm_value mixed[] = {vm_int(1), vm_real(2), vm_str(d, "x", 1), vm_var(u),
                      vm_bool(true)};
  vm_value list = vm_list(d, 5, mixed);
  vm_value op = vm_op(
      d, IR_SUB, vm_op(d, IR_DIV, vm_var(u), vm_int(-3)),
      vm_op(d, IR_MIN, vm_int(2), vm_op(d, IR_MOD, vm_int(9), vm_var(u))));
  vm_value pairs[] = {
      vm_str(d, "z", 1),
      list,
      vm_str(d, "end", 3),
      op,
      vm_str(d, "a b", 3),
      vm_dict(d, 1,
              (vm_value[]){vm_str(d, "k", 1),
                           vm_op(d, IR_MAX, vm_var(u), vm_int(1))})};
  text_annotate(s, b, "dict", vm_dict(d, 3, pairs));
  vm_value deep = vm_int(7);
  for (int i = 0; i < VM_MAX_DEPTH; i++) deep = vm_list(d, 1, &deep);
  text_annotate(s, b, "deep", deep);
  vm_value tree = vm_var(u);
  for (int i = 0; i < VM_MAX_DEPTH; i++)
    tree = vm_op(d, IR_ADD, tree, vm_int(1));
  text_annotate(s, b, "tree", tree);
  vm_value box = vm_int(7);
  for (int i = 0; i < VM_MAX_DEPTH; i++)
    box = vm_dict(d, 1, (vm_value[]){vm_str(d, "k", 1), box});
  text_annotate(s, b, "box", box);
  round_trips(&f);
  text_end(&f);
}

/* More variables than Lua has locals, and many outputs at once. */
static void test_many_variables(void **state) {
  (void)state;
  fixture f;
  text_start(&f, build_many);
  vm_sched *s = &f.s;
  vm_rv root = test_block(s, "root");
  for (int i = 0; i < 3; i++) {
    test_call c = test_begin(s, "get_child_blocks");
    test_set_rv(&c, "block_or_loop", root);
    vm_rv first = text_must(&c);
    uint32_t n;
    for (uint32_t k = 0; k < 40; k++) test_loops(s, first + k, &n);
  }
  assert_true(s->trace.rv.n > 700);
  round_trips(&f);
  text_end(&f);
}

static void test_sketch(void **state) {
  (void)state;
  fixture f;
  text_start(&f, build_product);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  sample_tile(&f.s, l, 2);
  vm_open_decisions(&f.s.trace);
  round_trips(&f);
  strbuf b;
  str_init(&b, &f.mem.heap);
  vm_write_lua(&f.s.trace, &b);
  assert_string_equal(
      str_get(&b),
      "-- tessera trace 1\n"
      "local b0 = sch:get_block{name = \"C\"}\n"
      "local l1, l2, l3 = sch:get_loops{block = b0}\n"
      "local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2}\n");
  str_free(&b);
  text_end(&f);
}

static void test_simplify(void **state) {
  (void)state;
  fixture f;
  text_start(&f, build_product);
  uint32_t n;
  vm_sched *s = &f.s;
  vm_rv b = test_block(s, "C");
  test_block(s, "D"); /* unused */
  vm_rv l = test_loops(s, b, &n);
  vm_rv v = sample_tile(s, l, 2);
  vm_rv dead = sample_tile(s, l + 1, 2); /* unused */
  (void)dead;
  vm_rv read = sample_tile(s, l + 2, 2); /* read: guarded */
  int64_t value;
  s->sketch = true;
  assert_int_equal(vm_sched_get_int(s, read, &value), TESS_OK);
  vm_trace_reset(&s->draft);
  vm_value list = vm_list(&s->draft, 1, (vm_value[]){vm_var(v)});
  text_annotate(
      s, b, "in a list",
      vm_dict(&s->draft, 1, (vm_value[]){vm_str(&s->draft, "k", 1), list}));
  vm_trace out = {.heap = &f.mem.heap};
  arena a;
  strbuf text;
  assert_int_equal(mem_protect(out.heap, init_trace, &out), TESS_OK);
  arena_init(&a, out.heap);
  vm_simplify(&out, &s->trace, &a);
  str_init(&text, out.heap);
  vm_open_decisions(&out);
  vm_write_lua(&out, &text);
  char expected[600];
  snprintf(expected, sizeof expected,
           "-- tessera trace 1\n"
           "local b0 = sch:get_block{name = \"C\"}\n"
           "local l1, l2, l3 = sch:get_loops{block = b0}\n"
           "local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2}\n"
           "local v6, v7 = sch:sample_perfect_tile{loop = l3, n = 2}\n"
           "sch:guard{var = v6, value = %d}\n"
           "sch:annotate{block_or_loop = b0, ann_key = \"in a list\", "
           "ann_val = {k = {v4}}}\n",
           (int)value);
  assert_string_equal(str_get(&text), expected);
  str_free(&text);
  arena_free(&a);
  vm_trace_free(&out);
  text_end(&f);
}

/* The seeds of the fuzz targets are traces, all of them. */
static void test_seeds(void **state) {
  (void)state;
  static const struct {
    const char *path;
    uint32_t insts;
  } seeds[] = {{"trace_json/matmul.json", 8},
               {"trace_lua/by_hand.lua", 7},
               {"trace_lua/matmul.lua", 9},
               {"trace_lua/table.lua", 5}};
  test_heap mem;
  err_state err;
  test_heap_start(&mem, 0);
  vm_trace t = {.heap = &mem.heap};
  strbuf text;
  assert_int_equal(mem_protect(t.heap, init_trace, &t), TESS_OK);
  str_init(&text, &mem.heap);
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", TESS_SOURCE_DIR,
             seeds[i].path);
    str_clear(&text);
    assert_int_equal(file_read(path, 1 << 20, &text, &err), TESS_OK);
    bool lua = strstr(path, ".lua") != NULL;
    tess_status st = lua ? vm_read_lua(&t, str_get(&text), text.n, &err)
                         : vm_read_json(&t, str_get(&text), text.n, NULL, &err);
    if (st != TESS_OK) fail_msg("%s: %s (%s)", path, err.message, err.place);
    assert_int_equal(t.inst.n, seeds[i].insts);
  }
  str_free(&text);
  vm_trace_free(&t);
  test_heap_end(&mem);
}

/* As calls are written by hand: operands by position, those of a list one after
 * the other, names of any kind, strings of any, results without a name. */
static void test_by_hand(void **state) {
  (void)state;
  static const char printed[] =
      "local b0 = sch:get_block{name = \"C\"}\n"
      "local l1, l2, l3 = sch:get_loops{block = b0}\n"
      "local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2, decision = {8, "
      "8}}\n"
      "local v6 = sch:sample_categorical{candidates = {1, 2}, decision = 1}\n"
      "local l7, l8 = sch:split{loop = l1, factors = {v4, v5 * 1}}\n"
      "sch:reorder{ordered_loops = {l2, l7}}\n"
      "local l9 = sch:fuse{loops = {l2, l7}}\n"
      "sch:annotate{block_or_loop = l9, ann_key = \"it's\", ann_val = {a = "
      "\"\\\"\"}}\n"
      "local l10, l11 = sch:split{loop = l9, factors = {ts.auto, 2}}\n"
      "sch:annotate{block_or_loop = l10, ann_key = \"long\", ann_val = "
      "\"a]\\n\"}\n"
      "sch:enter_postproc()\n";
  static const char hand[] =
      "local block = sch:get_block 'C';\n"
      "local i, j, _ = sch:get_loops(block)\n"
      "local t, u = sch:sample_perfect_tile(i, 2, { decision = {8, 8} })\n"
      "local which = sch:sample_categorical({ 1, 2 }, { decision = 1 });;\n"
      "local outer, i = sch:split(i, { t, u * 1 })\n"
      "sch:reorder(j, outer)\n"
      "local both = sch:fuse({ j, outer })\n"
      "sch:annotate(both, 'it\\'s', { a = '\"' })\n"
      "local outermost = sch:split(both, { ts.auto, 2 })\n"
      "sch:annotate(outermost, [[long]], [=[\na]\n]=])\n"
      "sch:enter_postproc();\n";
  test_heap mem;
  err_state err;
  test_heap_start(&mem, 0);
  vm_trace a = {.heap = &mem.heap}, b = {.heap = &mem.heap};
  assert_int_equal(mem_protect(a.heap, init_trace, &a), TESS_OK);
  assert_int_equal(mem_protect(b.heap, init_trace, &b), TESS_OK);
  if (vm_read_lua(&a, printed, sizeof printed - 1, &err) ||
      vm_read_lua(&b, hand, sizeof hand - 1, &err))
    fail_msg("%s (%s)", err.message, err.place);
  assert_true(vm_trace_equal(&a, &b));
  vm_trace_free(&a);
  vm_trace_free(&b);
  test_heap_end(&mem);
}

typedef struct reading {
  vm_trace t;
  const strbuf *text;
  bool lua;
} reading;

static tess_status read_text(void *ud) {
  reading *r = ud;
  err_state err;
  vm_trace_init(&r->t, r->t.heap);
  tess_status st =
      r->lua ? vm_read_lua(&r->t, str_get(r->text), r->text->n, &err)
             : vm_read_json(&r->t, str_get(r->text), r->text->n, NULL, &err);
  assert_int_equal(err.code, st);
  return st;
}

static void drop_trace(void *ud) {
  reading *r = ud;
  vm_trace_free(&r->t);
}

static void test_text_each_allocation_failing(void **state) {
  (void)state;
  fixture f;
  strbuf text;
  text_start(&f, build_product);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  sample_tile(&f.s, l, 3);
  test_split(&f.s, l, 2, (int64_t[]){0, 8});
  str_init(&text, &f.mem.heap);
  for (int lua = 0; lua < 2; lua++) {
    reading r = {.t.heap = &f.mem.heap, .text = &text, .lua = lua};
    str_clear(&text);
    if (lua)
      vm_write_lua(&f.s.trace, &text);
    else
      vm_write_json(&f.s.trace, NULL, &text);
    assert_true(test_each_failure(&f.mem, read_text, drop_trace, &r) > 10);
  }
  str_free(&text);
  text_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_schedule),
      cmocka_unit_test(test_every_value),
      cmocka_unit_test(test_many_variables),
      cmocka_unit_test(test_sketch),
      cmocka_unit_test(test_simplify),
      cmocka_unit_test(test_by_hand),
      cmocka_unit_test(test_seeds),
      cmocka_unit_test(test_text_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
