/* SPDX-License-Identifier: Apache-2.0
 * What is no trace as JSON or as Lua is refused, with what is wrong and where.
 */
#include "support/test.h"
#include "vm/text/text.h"

static tess_status init_trace(void *ud) {
  vm_trace *t = ud;
  vm_trace_init(t, t->heap);
  return TESS_OK;
}

typedef struct bad {
  const char *text, *message, *place;
  tess_status code;
} bad;

#define HEAD \
  "{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": ["
#define BLOCK \
  "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}, \"out\": [\"b0\"]}"
#define LOOPS                                               \
  "{\"op\": \"get_loops\", \"args\": {\"block\": \"b0\"}, " \
  "\"out\": [\"l1\"]}"

static const bad bad_json[] = {
    {"", NULL, NULL, TESS_PARSE},
    {"[]", "this is no trace: expected an object with 'format', not an array",
     "the outermost value", TESS_PARSE},
    {"{}", "this is no trace: 'format' is missing", "the outermost value",
     TESS_PARSE},
    {"{\"format\": 1}",
     "this is no trace: 'format' must be a string, not an integer",
     "the outermost value", TESS_PARSE},
    {"{\"format\": \"tessera.trace\"}",
     "this is no trace: 'version' is missing", "the outermost value",
     TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": \"1\"}",
     "this is no trace: 'version' must be an integer, not a string",
     "the outermost value", TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": -1}",
     "this is no trace: 'version' is -1, not within 0 to 2147483647",
     "the outermost value", TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": 1}",
     "this is no trace: 'instructions' is missing", "the outermost value",
     TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": {}}",
     "this is no trace: 'instructions' must be an array, not an object",
     "the outermost value", TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": [],"
     " \"program\": 7}",
     "'program' must be 16 hexadecimal digits", "", TESS_PARSE},
    {HEAD "{\"op\": \"no_such\"}]}", "there is no instruction 'no_such'",
     "instruction 1", TESS_NOT_FOUND},
    {HEAD "{\"op\": 3}]}", "'op' must be a string, not an integer",
     "instruction 1", TESS_PARSE},
    {HEAD "{}]}", "'op' is missing", "instruction 1", TESS_PARSE},
    {HEAD "7]}", "an instruction is an object with 'op', not an integer",
     "instruction 1", TESS_PARSE},
    {HEAD BLOCK ", {\"op\": \"get_loops\", \"args\": [\"b0\"]}]}",
     "'args' must be an object, not an array", "instruction 2", TESS_PARSE},
    {HEAD "{\"op\": \"get_block\", \"out\": \"b0\"}]}",
     "'out' must be an array, not a string", "instruction 1", TESS_PARSE},
    {HEAD
     "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}, \"out\": [3]}]}",
     "outputs are variables (\"b0\", \"l1\")", "instruction 1", TESS_PARSE},
    {HEAD "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}, "
          "\"at\": \"x.lua:3\", \"out\": [\"b0\"]}]}",
     "'at' must be [file, line]", "instruction 1", TESS_PARSE},
    {HEAD BLOCK ", {\"op\": \"get_loops\", \"args\": {\"blok\": \"b0\"}}]}",
     "get_loops has no operand 'blok'; it takes block", "instruction 2",
     TESS_NOT_FOUND},
    {HEAD BLOCK ", " BLOCK "]}",
     "variable b0 has the number of b0, which is defined already",
     "instruction 2", TESS_PARSE},
    {HEAD BLOCK ", {\"op\": \"get_loops\", \"args\": {\"loops\": \"b0\"}}]}",
     "get_loops has no operand 'loops'; it takes block", "instruction 2",
     TESS_NOT_FOUND},
    {HEAD "{\"op\": \"get_block\", \"out\": [\"b0\"]}]}",
     "get_block: operand 'name' is missing (the block's name)", "instruction 1",
     TESS_INVALID},
    {HEAD "{\"op\": \"get_block\", \"args\": {\"name\": 3}}]}",
     "get_block: operand 'name' must be a string, not an integer (the block's "
     "name)",
     "instruction 1", TESS_TYPE},
    {HEAD "{\"op\": \"get_loops\", \"args\": {\"block\": \"b0\"}}]}",
     "variable b0 is used before it is defined", "instruction 1", TESS_PARSE},
    {HEAD BLOCK ", " BLOCK "]}",
     "variable b0 has the number of b0, which is defined already", NULL,
     TESS_PARSE},
    {HEAD BLOCK ", " LOOPS ", {\"op\": \"get_loops\", \"args\": {\"block\": "
                "\"l1\"}}]}",
     "get_loops: operand 'block' must be a block; l1 is a loop "
     "(the block)",
     "instruction 3", TESS_TYPE},
    {HEAD "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}}]}",
     "get_block: gives 1 result, not the 0 asked for", "instruction 1",
     TESS_INVALID},
    {HEAD "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}, \"out\": "
          "[\"l0\"]}]}",
     "output l0 should be named b0", NULL, TESS_PARSE},
    {HEAD BLOCK
     ", " LOOPS ", {\"op\": \"sample_perfect_tile\", \"args\": "
     "{\"loop\": \"l1\", \"n\": 2}, \"decision\": \"x\", \"out\": [\"v2\", "
     "\"v3\"]}]}",
     NULL, "instruction 3", TESS_PARSE},
    {HEAD BLOCK
     ", " LOOPS ", {\"op\": \"sample_perfect_tile\", \"args\": "
     "{\"loop\": \"l1\", \"n\": 2}, \"decision\": [1, 2.5], \"out\": [\"v2\", "
     "\"v3\"]}]}",
     "sample_perfect_tile: operand 'decision' must be a list of "
     "integers; element 2 is a real number (the factors, outer first)",
     "instruction 3", TESS_TYPE},
    {HEAD BLOCK ", " LOOPS ", {\"op\": \"split\", \"args\": {\"loop\": "
                "\"l1\", \"factors\": [2, 8]}, \"out\": [\"l2\"]}]}",
     "split: gives 2 results, not the 1 asked for", "instruction 3",
     TESS_INVALID},
    {HEAD
     "{\"op\": \"get_block\", \"args\": {\"name\": \"C\"}, \"decision\": 1,"
     " \"out\": [\"b0\"]}]}",
     "get_block takes no decision", "instruction 1", TESS_INVALID},
    {HEAD "{\"op\": \"get_block\", \"arg\": {}}]}",
     "an instruction has no \"arg\"", "instruction 1", TESS_PARSE},
    {"{\"format\": \"tessera.trace\", \"version\": 2, \"instructions\": []}",
     "a trace of version 2; this engine reads version 1", "", TESS_UNSUPPORTED},
    {"{\"format\": \"tvm\", \"version\": 1, \"instructions\": []}",
     "this is no trace: its format is \"tvm\"", "", TESS_PARSE},
};

static const bad bad_lua[] = {
    {"local l0 = sch:get_block{name = \"C\"}", "output l0 should be named b0",
     "line 1, instruction 1", TESS_PARSE},
    {"print(1)", "a call of sch, or local, or rv[..], expected before 'print'",
     "line 1, instruction 1", TESS_PARSE},
    {"-- x\n\nlocal b0 = os.exit()", "a call of sch expected before 'os'",
     "line 3, instruction 1", TESS_PARSE},
    {"local b0 = sch:get_block{name = \"C\"", "',' expected at the end",
     "line 1, instruction 1", TESS_PARSE},
    {"local b0 = sch:get_block{name = \"C}", "a string is not closed",
     "line 1, instruction 1", TESS_PARSE},
    {"local b0 = sch:get_block{name = \"C\"} --[=[ not\nclosed ]] ]==]",
     "a comment is not closed", "line 1, instruction 1", TESS_PARSE},
    {"--[[ print(2)\n]] --[==[ ]] ]=]\n]==] print(1)",
     "a call of sch, or local, or rv[..], expected before 'print'",
     "line 3, instruction 1", TESS_PARSE},
    {"local b0 = sch:get_block{nam = \"C\"}",
     "get_block has no operand 'nam'; it takes name, func_name",
     "line 1, instruction 1", TESS_NOT_FOUND},
    {"local b0 = sch:get_block{name = \"C\", name = \"C\"}",
     "get_block: operand 'name' is given twice", "line 1, instruction 1",
     TESS_PARSE},
    {"local b0, b1 = sch:get_block{name = \"C\"}",
     "get_block: gives 1 result, not the 2 asked for", "line 1, instruction 1",
     TESS_INVALID},
    {"local b0 = sch:get_block{name = \"C\"}\nlocal l1 = sch:get_loops(b0)\n"
     "local l2, l3, l4 = sch:split(l1, {2, ts.auto})",
     "split: gives 2 results, not the 3 asked for", "line 3, instruction 3",
     TESS_INVALID},
    {"local l0 = sch:get_loops(sch:get_block 'C')",
     "a call is no operand: name its result before", "line 1, instruction 1",
     TESS_PARSE},
    {"sch:guard(nil, 1)",
     "a value (ts.auto is an open factor) expected before 'nil'",
     "line 1, instruction 1", TESS_PARSE},
    {"local b0 = sch:get_block [=[C]]", "a string is not closed",
     "line 1, instruction 1", TESS_PARSE},
    {"sch:guard{var = 1.5, value = 1}",
     "guard: operand 'var' must be an "
     "integer or integer variable, not a real number (what was read: an "
     "integer variable)",
     "line 1, instruction 1", TESS_TYPE},
    {"\nsch:guard{\nvar = 1.5, value = 1}\n-- x\nsch:guard{var = 1, value = 1}",
     "guard: operand 'var' must be an "
     "integer or integer variable, not a real number (what was read: an "
     "integer variable)",
     "line 3, instruction 1", TESS_TYPE},
    {"sch:guard{var = 9223372036854775808, value = 1}",
     "the integer 9223372036854775808 is too large", "line 1, instruction 1",
     TESS_PARSE},
    {"sch:guard{var = v7, value = 1}",
     "variable v7 is used before it is defined", "line 1, instruction 1",
     TESS_PARSE},
    {"sch:guard{var = 12x, value = 1}", "malformed number 12x",
     "line 1, instruction 1", TESS_PARSE},
    {"sch:guard{var = 1 + {}, value = 1}", "a number expected before '{'",
     "line 1, instruction 1", TESS_PARSE},
    {"sch:guard{var = 1 + true, value = 1}", "arithmetic is over integers",
     "line 1, instruction 1", TESS_TYPE},
    {"-- tessera trace 1\nrv[2] = sch:get_block{name = \"C\"}\nlocal rv = {}",
     "rv[..] before 'local rv = {}', which makes it", "line 2, instruction 1",
     TESS_PARSE},
    {"local b0 = sch:get_block{name = \"C\"}\nsch:get_loops{block = rv[0]}",
     "rv[..] before 'local rv = {}', which makes it", "line 2, instruction 2",
     TESS_PARSE},
    {"local b0 = sch:get_block{name = \"C\"}\n"
     "do local x = {sch:get_loops{block = b0}} for i = 1, 3 do rv[0 + i] = "
     "x[i] "
     "end end",
     "rv[..] before 'local rv = {}', which makes it", "line 2, instruction 2",
     TESS_PARSE},
    {"local rv = {}\nrv[0] = sch:get_block{name = \"C\"}\nlocal rv = {}",
     "'local rv' is declared twice", "line 3, instruction 2", TESS_PARSE},
    {"local C = sch:get_block('C\")", "a string is not closed",
     "line 1, instruction 1", TESS_PARSE},
    {"local C = sch:get_block 'C'\nsch:get_loops(D)",
     "variable D is used before it is defined", "line 2, instruction 2",
     TESS_PARSE},
    {"local ts = sch:get_block 'C'", "require expected before 'sch'",
     "line 1, instruction 1", TESS_PARSE},
    {"local C, sch = sch:get_block 'C'",
     "a variable (b0, l1, v2, ...) expected before 'sch'",
     "line 1, instruction 1", TESS_PARSE},
    {"local C = sch:get_block('C', 'main', 7)",
     "get_block: too many operands; it takes name, func_name",
     "line 1, instruction 1", TESS_INVALID},
    {"local C = sch:get_block('C', { name = 'C' })",
     "get_block: operand 'name' is given twice", "line 1, instruction 1",
     TESS_PARSE},
    {"local C = sch:get_block({ name = 'C' }, 'main')",
     "')' expected before ','", "line 1, instruction 1", TESS_PARSE},
    {"", "'-- tessera trace 1' or an instruction expected at the end", NULL,
     TESS_PARSE},
    {"-- a remark\n",
     "'-- tessera trace 1' or an instruction expected at the "
     "end",
     NULL, TESS_PARSE},
    {"-- tessera trace 2\nlocal b0 = sch:get_block{name = \"C\"}",
     "a trace of version 2; this engine reads version 1", NULL,
     TESS_UNSUPPORTED},
    {"-- tessera trace 10\n",
     "a trace of version 10; this engine reads version 1", NULL,
     TESS_UNSUPPORTED},
};

static void refuse_all(const bad *cases, size_t n,
                       tess_status (*read)(vm_trace *t, const char *text,
                                           size_t len, err_state *err)) {
  test_heap mem;
  test_heap_start(&mem, 0);
  vm_trace t = {.heap = &mem.heap};
  assert_int_equal(mem_protect(t.heap, init_trace, &t), TESS_OK);
  for (size_t i = 0; i < n; i++) {
    err_state err;
    const bad *b = &cases[i];
    assert_int_equal(read(&t, b->text, strlen(b->text), &err), b->code);
    assert_int_equal(err.code, b->code);
    if (b->message) assert_string_equal(err.message, b->message);
    if (b->place) assert_string_equal(err.place, b->place);
    assert_int_equal(t.inst.n, 0);
    assert_null(strchr(err.message, '\n'));
  }
  vm_trace_free(&t);
  test_heap_end(&mem);
}

static tess_status read_json(vm_trace *t, const char *text, size_t n,
                             err_state *err) {
  return vm_read_json(t, text, n, NULL, err);
}

static void test_refuses_bad_json(void **state) {
  (void)state;
  refuse_all(bad_json, sizeof bad_json / sizeof *bad_json, read_json);
}

static void test_refuses_bad_lua(void **state) {
  (void)state;
  refuse_all(bad_lua, sizeof bad_lua / sizeof *bad_lua, vm_read_lua);
}

/* Long chains and deep nests end in an error, not in a stack overflow. */
static void test_refuses_depth(void **state) {
  (void)state;
  enum { N = 100000 };
  static char text[N * 4 + 200];
  test_heap mem;
  err_state err;
  test_heap_start(&mem, 0);
  vm_trace t = {.heap = &mem.heap};
  assert_int_equal(mem_protect(t.heap, init_trace, &t), TESS_OK);
  static const char *const parts[] = {"(", "{", "ts.min(1, "};
  for (size_t k = 0; k < 3; k++) {
    size_t len = strlen(parts[k]), n = 0;
    memcpy(text, "sch:guard{var = ", 16);
    for (n = 16; n + len < sizeof text - 1; n += len)
      memcpy(text + n, parts[k], len);
    assert_int_equal(vm_read_lua(&t, text, n, &err), TESS_LIMIT);
  }
  size_t n = 16;
  for (; n + 4 < sizeof text; n += 4) memcpy(text + n, "1 + ", 4);
  assert_int_equal(vm_read_lua(&t, text, n, &err), TESS_LIMIT);
  vm_trace_free(&t);
  test_heap_end(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refuses_bad_json),
      cmocka_unit_test(test_refuses_bad_lua),
      cmocka_unit_test(test_refuses_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
