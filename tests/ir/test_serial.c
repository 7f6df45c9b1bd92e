/* SPDX-License-Identifier: Apache-2.0
 * Serialization: round trips, and damaged input that must be refused or
 * harmless. */
#include "base/file.h"
#include "base/hash.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/expr.h"
#include "support/program.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct fixture {
  test_heap heap;
  arena scratch;
  ir_program p, q;
  strbuf bytes, why;
} fixture;

static tess_status serial_fill(void *ud) {
  fixture *f = ud;
  ir_program_init(&f->p, &f->heap.heap);
  ir_program_init(&f->q, &f->heap.heap);
  test_matmul_relu(&f->p, 128, 64, 32);
  ir_stmt b = test_find_block(&f->p, "C");
  ir_val list[] = {ir_value_int(&f->p, 3), ir_value_str(&f->p, "x")};
  ir_value l = {.tag = IR_VAL_LIST, .n = 2};
  ir_anno_set(&f->p, b, ir_name(&f->p, "tiling"), ir_value_add(&f->p, l, list));
  ir_anno_set(&f->p, b, ir_name(&f->p, "unroll"), ir_value_int(&f->p, 16));
  return TESS_OK;
}

static void serial_start(fixture *f) {
  *f = (fixture){.p.heap = NULL};
  test_heap_start(&f->heap, 0);
  arena_init(&f->scratch, &f->heap.heap);
  str_init(&f->bytes, &f->heap.heap);
  str_init(&f->why, &f->heap.heap);
  assert_int_equal(mem_protect(&f->heap.heap, serial_fill, f), TESS_OK);
  ir_save(&f->p, &f->bytes);
  assert_false(f->bytes.bad);
}

static void serial_finish(fixture *f) {
  ir_program_free(&f->p);
  ir_program_free(&f->q);
  str_free(&f->bytes);
  str_free(&f->why);
  arena_free(&f->scratch);
  test_heap_end(&f->heap);
}

static tess_status restore(fixture *f, const void *bytes, size_t n) {
  str_clear(&f->why);
  return ir_restore(&f->q, &f->scratch, bytes, n, &f->why);
}

static void assert_same_text(const ir_program *p, const ir_program *q) {
  strbuf a, b;
  ir_print_opts o = {.regions = true};
  str_init(&a, p->heap);
  str_init(&b, p->heap);
  ir_print(p, &o, &a);
  ir_print(q, &o, &b);
  assert_string_equal(str_get(&a), str_get(&b));
  str_free(&a);
  str_free(&b);
}

static void test_round_trip(void **state) {
  (void)state;
  fixture f;
  serial_start(&f);
  assert_int_equal(restore(&f, f.bytes.v, f.bytes.n), TESS_OK);
  assert_string_equal(str_get(&f.why), "");
  assert_same_text(&f.p, &f.q);
  assert_true(ir_equal(&f.p, &f.q, &f.scratch));
  assert_int_equal(ir_hash(&f.p, &f.scratch), ir_hash(&f.q, &f.scratch));
  assert_int_equal(f.p.node.n, f.q.node.n);
  for (ir_expr e = 1; e < f.p.node.n; e++) {
    const ir_node *a = ir_at(&f.p, e), *b = ir_at(&f.q, e);
    assert_int_equal(a->lo, b->lo);
    assert_int_equal(a->hi, b->hi);
    assert_int_equal(a->is_index, b->is_index);
    assert_int_equal(a->has_load, b->has_load);
  }
  strbuf again;
  str_init(&again, &f.heap.heap);
  ir_save(&f.q, &again);
  assert_int_equal(again.n, f.bytes.n);
  assert_memory_equal(again.v, f.bytes.v, again.n);
  str_free(&again);
  serial_finish(&f);
}

/* A loaded program can be edited: names and nodes are found. */
static void test_tables_are_whole(void **state) {
  (void)state;
  fixture f;
  serial_start(&f);
  assert_int_equal(restore(&f, f.bytes.v, f.bytes.n), TESS_OK);
  assert_int_equal(test_find_block(&f.q, "D"), test_find_block(&f.p, "D"));
  assert_int_equal(ir_index(&f.q, 64), ir_index(&f.p, 64));
  uint32_t text = f.q.text.n, nodes = f.q.node.n;
  assert_int_equal(ir_name(&f.q, "C"), ir_name(&f.p, "C"));
  (void)ir_index(&f.q, 128);
  assert_int_equal(f.q.text.n, text);
  assert_int_equal(f.q.node.n, nodes);
  serial_finish(&f);
}

static void test_messages(void **state) {
  (void)state;
  fixture f;
  serial_start(&f);
  assert_int_equal(restore(&f, "TESS", 4), TESS_PARSE);
  assert_string_equal(str_get(&f.why), "these bytes are not a program");
  assert_int_equal(restore(&f, f.bytes.v, f.bytes.n - 1), TESS_PARSE);
  assert_string_equal(str_get(&f.why),
                      "the program is cut off, or something follows it");
  f.bytes.v[8] = 9;
  assert_int_equal(restore(&f, f.bytes.v, f.bytes.n), TESS_PARSE);
  assert_string_equal(str_get(&f.why),
                      "the program has format 9; this engine reads 3");
  f.bytes.v[8] = 3;
  f.bytes.v[f.bytes.n / 2] ^= 1;
  assert_int_equal(restore(&f, f.bytes.v, f.bytes.n), TESS_PARSE);
  assert_string_equal(str_get(&f.why),
                      "the program is damaged: its checksum does not fit");
  serial_finish(&f);
}

/* ---- damaged input ------------------------------------------------------ */

static void put64(char *at, uint64_t v) {
  for (int i = 0; i < 8; i++) at[i] = (char)(v >> 8 * i);
}

/* Makes the header fit what is in the payload. */
static void seal(char *v, size_t n) {
  put64(v + 16, n - 32);
  put64(v + 24, hash_bytes(v + 32, n - 32));
}

/* Whatever was accepted must survive all uses of programs. */
static void serial_use(fixture *f) {
  strbuf out;
  str_init(&out, &f->heap.heap);
  ir_print(&f->q, &(ir_print_opts){.regions = true}, &out);
  str_clear(&out);
  assert_true(ir_equal(&f->q, &f->q, &f->scratch));
  (void)ir_flops(&f->q);
  (void)ir_hash(&f->q, &f->scratch);
  ir_save(&f->q, &out);
  str_free(&out);
}

static void test_damaged(void **state) {
  (void)state;
  fixture f;
  serial_start(&f);
  uint32_t runs = test_runs(60000), let_through = 0;
  uint64_t seed = test_seed();
  char *copy = malloc(f.bytes.n);
  for (uint32_t i = 0; i < runs; i++) {
    rng r;
    rng_init(&r, seed, i);
    size_t n = f.bytes.n;
    memcpy(copy, f.bytes.v, n);
    if (rng_below(&r, 8) == 0) n = 32 + rng_below(&r, n - 32);
    for (uint64_t k = 1 + rng_below(&r, 4); k > 0 && n > 32; k--) {
      size_t at = 32 + rng_below(&r, n - 32);
      uint8_t small = (uint8_t)rng_below(&r, 16);
      copy[at] = rng_below(&r, 2) ? (char)small : (char)rng_u32(&r);
    }
    seal(copy, n);
    char *exact = malloc(n); /* so that reading past the end is detected */
    memcpy(exact, copy, n);
    if (restore(&f, exact, n) == TESS_OK) {
      let_through++;
      serial_use(&f);
    } else {
      assert_true(f.why.n > 0);
    }
    free(exact);
    arena_reset(&f.scratch);
  }
  free(copy);
  assert_true(let_through < runs);
  serial_finish(&f);
}

/* ---- memory ------------------------------------------------------------- */

static tess_status copy_and_restore(void *ud) {
  fixture *f = ud;
  ir_program_copy(&f->q, &f->p);
  return ir_restore(&f->q, &f->scratch, f->bytes.v, f->bytes.n, &f->why);
}

static void forget(void *ud) {
  fixture *f = ud;
  ir_program_free(&f->q);
  f->q = (ir_program){.heap = &f->heap.heap};
  arena_free(&f->scratch);
}

static void test_serial_memory(void **state) {
  (void)state;
  fixture f;
  serial_start(&f);
  forget(&f);
  assert_true(test_each_failure(&f.heap, copy_and_restore, forget, &f) > 15);
  serial_finish(&f);
}

/* The seeds of fuzz_program are of this format; tests/fuzz/seeds.lua writes
 * them. */
static void test_seeds_are_current(void **state) {
  static const char *const names[] = {"blocks", "matmul"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    fixture f;
    strbuf file;
    err_state e;
    char path[256];
    serial_start(&f);
    str_init(&file, &f.heap.heap);
    snprintf(path, sizeof path, TESS_SOURCE_DIR "/tests/fuzz/corpus/program/%s",
             names[i]);
    assert_int_equal(file_read(path, 1 << 20, &file, &e), TESS_OK);
    if (restore(&f, file.v, file.n)) fail_msg("%s", str_get(&f.why));
    str_free(&file);
    serial_finish(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                     cmocka_unit_test(test_tables_are_whole),
                                     cmocka_unit_test(test_messages),
                                     cmocka_unit_test(test_seeds_are_current),
                                     cmocka_unit_test(test_damaged),
                                     cmocka_unit_test(test_serial_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
