/* SPDX-License-Identifier: Apache-2.0
 * Text: appending, running out of memory, numbers that read back. */
#include "support/test.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/rng.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void test_appending(void **state) {
  (void)state;
  test_heap t;
  strbuf b;
  test_heap_start(&t, 0);
  str_init(&b, &t.heap);
  assert_string_equal(str_get(&b), "");
  str_puts(&b, "");
  str_printf(&b, "%d-%s", 7, "x");
  assert_string_equal(str_get(&b), "7-x");
  str_putc(&b, '!');
  str_write(&b, "abcdef", 3);
  assert_string_equal(str_get(&b), "7-x!abc");
  str_clear(&b);
  assert_string_equal(str_get(&b), "");
  for (int i = 0; i < 500; i++)
    str_printf(&b, "%03d%s", i,
               i % 50
                   ? ""
                   : "a text longer than a line of "
                     "a terminal, so that printing meets the end of the room");
  assert_int_equal(b.n, strlen(b.v));
  assert_memory_equal(b.v, "000a text", 9);
  assert_memory_equal(b.v + b.n - 3, "499", 3);
  str_free(&b);
  test_heap_end(&t);
}

static void test_memory_out_shows_once(void **state) {
  (void)state;
  test_heap t;
  strbuf b;
  test_heap_start(&t, 0);
  str_init(&b, &t.heap);
  str_puts(&b, "kept");
  fault_arm(&t.fault, 1);
  for (int i = 0; i < 100; i++) str_puts(&b, "0123456789");
  assert_null(str_get(&b));
  assert_int_equal(b.n, 0);
  str_printf(&b, "%d", 1);
  assert_null(str_get(&b));
  str_clear(&b);
  str_puts(&b, "again");
  assert_string_equal(str_get(&b), "again");
  fault_arm(&t.fault, 1);
  str_printf(&b, "%500d", 1);
  assert_null(str_get(&b));
  str_free(&b);
  test_heap_end(&t);
}

/* What is made of a text that is incomplete is, too. */
static void test_memory_out_is_passed_on(void **state) {
  (void)state;
  test_heap t;
  strbuf lost, b;
  test_heap_start(&t, 0);
  str_init(&lost, &t.heap);
  str_init(&b, &t.heap);
  str_puts(&b, "kept");
  assert_string_equal(str_or(&b, "?"), "kept");
  fault_arm(&t.fault, 1);
  str_puts(&lost, "lost");
  assert_string_equal(str_or(&lost, "?"), "?");
  str_puts(&b, str_get(&lost));
  assert_null(str_get(&b));
  assert_int_equal(str_status(&b), TESS_NOMEM);
  str_free(&lost);
  str_free(&b);
  test_heap_end(&t);
}

static void str_put(strbuf *b, double x, const char *want) {
  str_clear(b);
  str_put_double(b, x);
  assert_string_equal(str_get(b), want);
}

static void test_doubles_are_short(void **state) {
  (void)state;
  test_heap t;
  strbuf b;
  test_heap_start(&t, 0);
  str_init(&b, &t.heap);
  str_put(&b, 0.1, "0.1");
  str_put(&b, 1, "1");
  str_put(&b, -0.0, "-0");
  str_put(&b, 1e23, "1e+23");
  str_put(&b, 0.1 + 0.2, "0.30000000000000004");
  str_put(&b, 5e-324, "5e-324");
  str_put(&b, DBL_MAX, "1.7976931348623157e+308");
  str_put(&b, INFINITY, "inf");
  str_put(&b, -INFINITY, "-inf");
  str_put(&b, NAN, "nan");
  str_free(&b);
  test_heap_end(&t);
}

static void test_doubles_round_trip(void **state) {
  (void)state;
  test_heap t;
  strbuf b;
  rng r;
  test_heap_start(&t, 0);
  str_init(&b, &t.heap);
  rng_init(&r, 11, 0);
  for (int i = 0; i < 50000; i++) {
    union {
      uint64_t bits;
      double x;
    } u = {rng_u64(&r)};
    if (i % 5 == 0) u.bits &= UINT64_C(0x800fffffffffffff) >> rng_below(&r, 52);
    if (!isfinite(u.x)) continue;
    str_clear(&b);
    str_put_double(&b, u.x);
    double back = strtod(str_get(&b), NULL);
    assert_memory_equal(&back, &u.x, sizeof back);
  }
  str_free(&b);
  test_heap_end(&t);
}

static void test_status_texts(void **state) {
  (void)state;
  err_state e;
  assert_int_equal(err_set(&e, TESS_NOT_FOUND, "no block '%s'", "C"),
                   TESS_NOT_FOUND);
  assert_string_equal(e.message, "no block 'C'");
  assert_string_equal(e.place, "");
  err_place(&e, "%s:%d", "a.lua", 3);
  assert_string_equal(e.place, "a.lua:3");
  err_clear(&e);
  assert_int_equal(e.code, TESS_OK);
  assert_string_equal(e.message, "");
  assert_string_equal(err_status_name(TESS_NOT_FOUND), "NOT_FOUND");
  assert_string_equal(err_status_text(TESS_NOT_FOUND), "not found");
  assert_string_equal(err_status_name((tess_status)999), "UNKNOWN");
  /* prefixes the message */
  err_set(&e, TESS_INVALID, "Symbols not found");
  err_set(&e, TESS_LAUNCH_ERROR, "loading: %s", e.message);
  assert_string_equal(e.message, "loading: Symbols not found");
}

/* The published XXH3 value of no bytes, and that every byte counts. */
static void test_hashing(void **state) {
  (void)state;
  char text[300];
  memset(text, 'a', sizeof text);
  assert_true(hash_bytes("", 0) == UINT64_C(0x2D06800538D394C2));
  uint64_t whole = hash_bytes(text, sizeof text);
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = 'b';
    assert_true(hash_bytes(text, sizeof text) != whole);
    text[i] = 'a';
  }
  assert_true(hash_mix(1, 2) != hash_mix(2, 1));
}

static void test_utf8(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n, good;
  } cases[] = {
      {"", 0, 0},
      {"a\0b", 3, 3},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 9},
      {"ab\xff", 3, 2},
      {"a\xc3", 2, 1},    /* cut off */
      {"\xc0\x80", 2, 0}, /* overlong */
      {"\xe0\x9f\xbf", 3, 0},
      {"\xed\xa0\x80", 3, 0},     /* a surrogate */
      {"\xf4\x90\x80\x80", 4, 0}, /* beyond U+10FFFF */
      {"\x80", 1, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(str_utf8(cases[i].text, cases[i].n), cases[i].good);
}

/* What was probably meant: a few letters off, or the beginning of it. */
static void test_nearest(void **state) {
  (void)state;
  static const char *const names[] = {"num-cores", "vector-bytes", "l1", "l2",
                                      "registers-per-block"};
  static const char *const cases[][2] = {{"num-coers", "num-cores"},
                                         {"numcores", "num-cores"},
                                         {"vectorbyte", "vector-bytes"},
                                         {"registers", "registers-per-block"},
                                         {"l3", "l1"},
                                         {"l", NULL},
                                         {"", NULL},
                                         {"colours", NULL}};
  char name[100];
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nearest n = {.word = cases[i][0]};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      nearest_try(&n, names[k]);
    nearest_try(&n, name);
    if (!cases[i][1])
      assert_null(n.best);
    else
      assert_string_equal(n.best, cases[i][1]);
  }
  nearest n = {.word = name};
  nearest_try(&n, name);
  assert_null(n.best);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_appending),
      cmocka_unit_test(test_memory_out_shows_once),
      cmocka_unit_test(test_memory_out_is_passed_on),
      cmocka_unit_test(test_doubles_are_short),
      cmocka_unit_test(test_doubles_round_trip),
      cmocka_unit_test(test_status_texts),
      cmocka_unit_test(test_hashing),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_nearest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
