/* SPDX-License-Identifier: Apache-2.0
 * JSON: limits, places of errors, the canonical text, members. */
#include "support/test.h"
#include "base/json.h"

static json_t *parse(const char *text, err_state *e) {
  err_clear(e);
  return js_read(text, strlen(text), js_default_limits, e);
}

static void json_refused(const char *text, tess_status code,
                         const char *place) {
  err_state e;
  assert_null(parse(text, &e));
  assert_int_equal(e.code, code);
  assert_string_equal(e.place, place);
  assert_true(e.message[0] != '\0');
}

static void test_malformed(void **state) {
  (void)state;
  json_refused("", TESS_PARSE, "line 1, column 0");
  json_refused("{\"a\": 1,\n \"b\": }", TESS_PARSE, "line 2, column 7");
  json_refused("[1, 2] 3", TESS_PARSE, "line 1, column 8");
  json_refused("{\"a\": 1, \"a\": 2}", TESS_PARSE, "line 1, column 12");
  json_refused("\"\\u0000\"", TESS_PARSE, "line 1, column 8");
  json_refused("\"a\xff\"", TESS_PARSE, "line 1, column 2");
  json_refused("[1e999]", TESS_PARSE, "line 1, column 6");
}

/* In our words, in a value as in a key. */
static void test_nul(void **state) {
  (void)state;
  static const char *const texts[] = {"[\"a\\u0000\"]", "{\"a\\u0000\": 1}"};
  err_state e;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_null(parse(texts[i], &e));
    assert_int_equal(e.code, TESS_PARSE);
    assert_string_equal(e.message,
                        "malformed JSON: a text may not hold \\u0000");
  }
}

static void test_limits(void **state) {
  (void)state;
  err_state e;
  char text[300];
  memset(text, '[', 150);
  memset(text + 150, ']', 150);
  assert_null(js_read(text, 300, js_default_limits, &e));
  assert_int_equal(e.code, TESS_LIMIT);
  assert_string_equal(e.place, "line 1, column 101");
  json_t *v = js_read(text + 50, 200, js_default_limits, &e);
  assert_non_null(v);
  json_decref(v);
  js_limits small = {.bytes = 10, .depth = 2};
  assert_null(js_read("[1,2,3,4,5]", 11, small, &e));
  assert_int_equal(e.code, TESS_LIMIT);
  /* Brackets in strings and those that were closed do not count. */
  static const char flat[] = "[\"[[\\\"[[\",[],[],{}]";
  v = js_read(flat, strlen(flat), (js_limits){100, 2}, &e);
  assert_non_null(v);
  json_decref(v);
}

static void writes(const char *text, const char *want) {
  test_heap t;
  strbuf out;
  err_state e;
  test_heap_start(&t, 0);
  str_init(&out, &t.heap);
  json_t *v = parse(text, &e);
  assert_non_null(v);
  js_write(&out, v);
  assert_string_equal(str_get(&out), want);
  json_decref(v);
  str_free(&out);
  test_heap_end(&t);
}

static void test_canonical_text(void **state) {
  (void)state;
  writes("{}", "{}");
  writes("[ ]", "[]");
  writes("null", "null");
  writes("{\"b\": [1, true, false, null], \"a\": {\"z\": 1, \"y\": 2}}",
         "{\"a\":{\"y\":2,\"z\":1},\"b\":[1,true,false,null]}");
  writes("[0.1, 1.0, -0.0, 1e300, 9007199254740993]",
         "[0.1,1.0,-0.0,1e+300,9007199254740993]");
  writes("\"q\\\" b\\\\ n\\n \\u00e9\"", "\"q\\\" b\\\\ n\\n \xc3\xa9\"");
}

static void test_unwritable(void **state) {
  (void)state;
  test_heap t;
  strbuf out;
  test_heap_start(&t, 0);
  str_init(&out, &t.heap);
  json_t *v = json_array(), *object = json_object();
  json_array_append_new(v, object);
  json_object_set(object, "loop", v);
  js_write(&out, v);
  assert_null(str_get(&out));
  json_object_clear(object);
  str_clear(&out);
  json_object_set_new(object, "a", json_string("text"));
  for (uint64_t n = 1; n < 100; n++) {
    str_free(&out);
    fault_arm(&t.fault, n);
    js_write(&out, v);
    assert_true((str_get(&out) == NULL) == (t.fault.failed > 0));
    if (!t.fault.failed) break;
  }
  assert_string_equal(str_get(&out), "[{\"a\":\"text\"}]");
  json_decref(v);
  str_free(&out);
  test_heap_end(&t);
}

/* A member that could not be made shows, whatever follows it. */
static void test_lost_members(void **state) {
  (void)state;
  test_heap t;
  strbuf out;
  test_heap_start(&t, 0);
  str_init(&out, &t.heap);
  json_t *v = json_object(), *list = json_array();
  js_add(&list, json_integer(1));
  js_set(&v, "list", list);
  js_set(&v, "text", json_string("b"));
  js_write(&out, v);
  assert_string_equal(str_get(&out), "{\"list\":[1],\"text\":\"b\"}");
  list = json_array();
  js_add(&list, NULL);
  js_add(&list, json_integer(1));
  assert_null(list);
  js_set(&v, "list", list);
  js_set(&v, "text", json_string("c"));
  assert_null(v);
  js_write(&out, v);
  assert_null(str_get(&out));
  str_free(&out);
  test_heap_end(&t);
}

static void test_members(void **state) {
  (void)state;
  err_state e;
  int64_t x = -1;
  json_t *v = parse("{\"n\": 7, \"s\": \"t\", \"r\": 1.5}", &e);
  assert_true(js_int_member(v, "n", 0, 7, &x, &e));
  assert_int_equal(x, 7);
  assert_false(js_int_member(v, "n", 0, 6, &x, &e));
  assert_int_equal(e.code, TESS_PARSE);
  assert_string_equal(e.message, "'n' is 7, not within 0 to 6");
  assert_null(js_member(v, "missing", JSON_STRING, &e));
  assert_int_equal(e.code, TESS_PARSE);
  assert_string_equal(e.message, "'missing' is missing");
  assert_null(js_member(v, "s", JSON_INTEGER, &e));
  assert_int_equal(e.code, TESS_PARSE);
  assert_string_equal(e.message, "'s' must be an integer, not a string");
  assert_non_null(js_member(v, "n", JSON_REAL, &e));
  assert_null(js_member(json_object_get(v, "r"), "x", JSON_REAL, &e));
  assert_null(js_member(NULL, "x", JSON_REAL, &e));
  json_decref(v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_nul),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_canonical_text),
      cmocka_unit_test(test_unwritable),
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_lost_members),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
