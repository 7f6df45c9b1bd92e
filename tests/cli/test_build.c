/* SPDX-License-Identifier: Apache-2.0
 * Kernels as files to deploy: tessera build and kernel:save, with hosts that
 * are compiled against nothing but the header that was written.
 */
#include "support/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs a command of the shell in the folder of the test, which must succeed
 * and print `says`. */
static void shell(const char *command, const char *says) {
  char line[2000], text[500] = "";
  snprintf(line, sizeof line, "cd %s && (%s) 2>&1", c.dir, command);
  FILE *f = popen(line, "r");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  if (pclose(f) || !strstr(text, says))
    fail_msg("%s: '%s' is not said in: %s", command, says, text);
}

static void test_best_schedule_is_deployed(void **state) {
  (void)state;
  shell("cp " TESS_SOURCE_DIR "/examples/deploy.lua d.lua", "");
  expect("build d.lua -o matmul.so --db no.db", 1, "no.db");
  expect("tune d.lua --trials 2 --seed 1 --db tune.db", 0, "");
  expect("build d.lua -o matmul.so --db tune.db", 0, "");
  shell("cc " TESS_SOURCE_DIR "/examples/deploy.c -I. ./matmul.so -o deploy "
        "&& ./deploy",
        "C[3, 5] is right");
  /* It needs nothing of ours, and shows two names. */
  shell("! ldd matmul.so | grep -E 'tessera|LLVM' && echo none", "none");
  shell("nm -D --defined-only matmul.so | grep -c ' T '", "2");
  expect("build d.lua -o matmul.o --header mm.h --db tune.db", 0, "");
  shell("sed s/matmul.h/mm.h/ " TESS_SOURCE_DIR "/examples/deploy.c > h.c && "
        "cc h.c matmul.o -o alone && ./alone",
        "C[3, 5] is right");
  /* A record by its number. */
  expect("build tune.db:1 -o one.o", 0, "");
  expect("build d.lua -o x.o --db tune.db --target 'llvm -num-cores=7'", 1,
         "database tune.db has no success of program 'matmul'");
}

/* B = A + 1 over n x 8, in parallel, through a buffer that is allocated. */
static const char sizes_lua[] =
    "local ts = require 'tessera'\n"
    "local n = ts.size 'n'\n"
    "local A = ts.placeholder('A', {n, 8})\n"
    "local T = ts.compute('T', {n, 8}, function(i, j) return A(i, j) + 1 end)\n"
    "local B = ts.compute('B', {n, 8}, function(i, j) return T(i, j) * 2 end)\n"
    "local p = ts.program('double', {A}, {B})\n"
    "local sch = ts.schedule(p, { target = 'llvm' })\n"
    "for _, b in ipairs { 'T', 'B' } do\n"
    "  sch:parallel((sch:get_loops(sch:get_block(b))))\n"
    "end\n"
    "local k = ts.build(sch, 'llvm')\n"
    "k:save 'sizes.o'\n"
    "k:save('sizes.so', 'other.h')\n"
    "local ok, e = pcall(k.save, k, 'sizes.dll')\n"
    "assert(not ok and e.code == 'INVALID', e)\n"
    "ok, e = pcall(k.save, k, 'no/such/folder.o')\n"
    "assert(not ok and e.code == 'IO', e)\n"
    "ok, e = pcall(k.source, k, 'object')\n"
    "assert(not ok and e.code == 'NOT_FOUND', e)\n";

/* It counts its pieces and its memory. */
static const char sizes_c[] =
    "#include \"sizes.h\"\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "static int pieces, held, asked;\n"
    "static int32_t two(void *ud, int64_t n,\n"
    "    int32_t (*fn)(void *c, int64_t b, int64_t e), void *c) {\n"
    "  int32_t bad = fn(c, 0, n / 2);\n"
    "  pieces += ud == &pieces ? 2 : 100;\n"
    "  return bad ? bad : fn(c, n / 2, n);\n"
    "}\n"
    "static void *get(void *ud, uint64_t n, uint64_t align) {\n"
    "  (void)ud, held++, asked++;\n"
    "  return aligned_alloc(align, (n + align - 1) / align * align);\n"
    "}\n"
    "static void put(void *ud, void *p) { (void)ud, held--, free(p); }\n"
    "static void *none(void *ud, uint64_t n, uint64_t align) {\n"
    "  (void)ud, (void)n, (void)align;\n"
    "  return 0;\n"
    "}\n"
    "static int wrong(const float *b) {\n"
    "  for (int i = 0; i < 5000 * 8; i++)\n"
    "    if (b[i] != (float)(i + 1) * 2) return 1;\n"
    "  return 0;\n"
    "}\n"
    "int main(void) {\n"
    "  static float a[5000 * 8], b[5000 * 8];\n"
    "  for (int i = 0; i < 5000 * 8; i++) a[i] = (float)i;\n"
    "  if (kernel_double(a, b, 5000) || wrong(b)) return 1;\n"
    "  tess_runtime rt = {sizeof rt, &pieces, two, get, put};\n"
    "  void *args[] = {a, b};\n"
    "  const int64_t sizes[] = {5000};\n"
    "  for (int i = 0; i < 5000 * 8; i++) b[i] = 0;\n"
    "  if (kernel_double_kernel(args, sizes, &rt) || wrong(b)) return 2;\n"
    "  if (pieces != 4 || held || !asked) return 3;\n"
    "  rt.alloc = none;\n"
    "  if (!kernel_double_kernel(args, sizes, &rt)) return 4;\n"
    "  puts(\"all right\");\n"
    "  return 0;\n"
    "}\n";

/* A program whose name C has another use for, with a size and memory of its
 * own: without libgomp, with it, as a library, and on the host's runtime. */
static void test_runtimes(void **state) {
  (void)state;
  console_write(&c, "sizes.lua", sizes_lua);
  console_write(&c, "sizes.c", sizes_c);
  expect("sizes.lua", 0, "");
  shell("cc sizes.c sizes.o -o serial && ./serial", "all right");
  shell("cc sizes.c sizes.o -fopenmp -o threads && OMP_NUM_THREADS=3 ./threads",
        "all right");
  shell("cc sizes.c ./sizes.so -o shared && ./shared", "all right");
  shell("cmp sizes.h other.h && echo same", "same");
  shell("cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -include "
        "sizes.h -include " TESS_SOURCE_DIR "/include/tessera/tessera.h "
        "-I " TESS_SOURCE_DIR "/include -x c /dev/null && echo together",
        "together");
}

static void test_no_linker(void **state) {
  (void)state;
  console_write(
      &c, "p.lua",
      "return require 'tessera.ops'.matmul { m = 8, n = 8, k = 8 }\n");
  char *path = strdup(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  expect("build p.lua -o p.so", 1,
         "'p.so' needs the system's C compiler 'cc' to link it, and there is "
         "none: save a .o instead");
  expect("build p.lua -o p.o", 0, "");
  setenv("PATH", path, 1);
  free(path);
  expect("build p.lua -o no/where.so", 1, "cc could not link 'no/where.so'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_best_schedule_is_deployed),
      cmocka_unit_test(test_runtimes), cmocka_unit_test(test_no_linker)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
