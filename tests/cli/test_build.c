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
  /* What it changes in place is no constant. */
  shell("printf 'return require \"tessera.ops\".lu { n = 8 }' > lu.lua", "");
  expect("build lu.lua -o lu.o", 0, "");
  shell("cat lu.h", "A: inout, float");
  shell("grep 'int32_t lu(' lu.h | grep -c const || true", "0");
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
    "  if (!kernel_double(a, b, 0) || !kernel_double(a, b, -1)) return 5;\n"
    "  puts(\"all right\");\n"
    "  return 0;\n"
    "}\n";

/* Calls that library from the threads of a host, in a fork, and after it was
 * unloaded and loaded again; a hang is ended by the alarm. */
static const char threads_c[] =
    "#include <dlfcn.h>\n"
    "#include <pthread.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <sys/wait.h>\n"
    "#include <unistd.h>\n"
    "enum { N = 500 };\n"
    "static int32_t (*twice)(const float *, float *, int64_t);\n"
    "static float a[N * 8];\n"
    "static void *work(void *bad) {\n"
    "  static _Thread_local float b[N * 8];\n"
    "  for (int k = 0; k < 50; k++) {\n"
    "    for (int i = 0; i < N * 8; i++) b[i] = 0;\n"
    "    if (twice(a, b, N)) return bad;\n"
    "    for (int i = 0; i < N * 8; i++)\n"
    "      if (b[i] != (float)(i + 1) * 2) return bad;\n"
    "  }\n"
    "  return NULL;\n"
    "}\n"
    "int main(void) {\n"
    "  int status = 1;\n"
    "  alarm(60);\n"
    "  for (int i = 0; i < N * 8; i++) a[i] = (float)i;\n"
    "  for (int round = 0; round < 5; round++) {\n"
    "    void *so = dlopen(\"./sizes.so\", RTLD_NOW | RTLD_LOCAL), *bad;\n"
    "    pthread_t id[4];\n"
    "    if (!so) return 1;\n"
    "    *(void **)&twice = dlsym(so, \"kernel_double\");\n"
    "    for (int i = 0; i < 4; i++)\n"
    "      if (pthread_create(&id[i], NULL, work, a)) return 2;\n"
    "    for (int i = 0; i < 4; i++)\n"
    "      if (pthread_join(id[i], &bad) || bad) return 3;\n"
    "    pid_t child = fork();\n"
    "    if (child == 0) return work(a) != NULL;\n"
    "    if (waitpid(child, &status, 0) != child || status) return 4;\n"
    "    if (work(a) || dlclose(so)) return 5;\n"
    "  }\n"
    "  puts(\"all right\");\n"
    "  return 0;\n"
    "}\n";

/* A program whose name C has another use for, with a size and memory of its
 * own: as an object and a library, and on the host's runtime. */
static void test_runtimes(void **state) {
  (void)state;
  console_write(&c, "sizes.lua", sizes_lua);
  console_write(&c, "sizes.c", sizes_c);
  console_write(&c, "threads.c", threads_c);
  expect("sizes.lua", 0, "");
  shell("cc sizes.c sizes.o -o alone && OMP_NUM_THREADS=3 ./alone",
        "all right");
  shell("cc sizes.c sizes.o -fopenmp -o omp && ./omp", "all right");
  shell("cc sizes.c ./sizes.so -o shared && ./shared", "all right");
  shell("! nm sizes.so | grep -iE 'gomp|tess_.*@|tess_default' && "
        "! readelf -d sizes.so | grep NEEDED | grep -v 'libc[.]' && echo none",
        "none");
  shell("cc threads.c -o threads && for n in 1 2 4; do "
        "OMP_NUM_THREADS=$n ./threads || exit; done",
        "all right\nall right\nall right");
  shell("OMP_WAIT_POLICY=passive OMP_NUM_THREADS=3 ./threads", "all right");
  shell("cmp sizes.h other.h && echo same", "same");
  shell("cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -include "
        "sizes.h -include " TESS_SOURCE_DIR "/include/tessera/tessera.h "
        "-I " TESS_SOURCE_DIR "/include -I " TESS_BUILD_DIR
        "/include -x c /dev/null && echo together",
        "together");
}

/* Names that C, its library, headers or the pool use; parameters with one name;
 * sizes that no tensor has. */
static const char names_lua[] =
    "local ts = require 'tessera'\n"
    "local function save(name, file, add)\n"
    "  local n, m = ts.size 'int', ts.size 'A'\n"
    "  local A = ts.placeholder('A', {n, m})\n"
    "  local A2 = ts.placeholder('A', {n, m})\n"
    "  local B = ts.compute('int32_t', {n, m}, function(i, j)\n"
    "    return add(A(i, j), A2(i, j))\n"
    "  end)\n"
    "  ts.build(ts.program(name, {A, A2}, {B}), 'llvm'):save(file .. '.o')\n"
    "end\n"
    "local function plus(a, b) return a + b end\n"
    "for _, name in ipairs { 'malloc', 'int32_t', 'main', 'exp', 'typename',\n"
    "                        'run_chunks', 'parallel' } do\n"
    "  save(name, 'as_' .. name, plus)\n"
    "end\n"
    "assert(package.loadlib('" TESS_EXTERNS "', '*'))\n"
    "local ok, e = pcall(save, 'test_plus_one', 'x', function(a)\n"
    "  return ts.call_extern('test_plus_one', 'float32', a)\n"
    "end)\n"
    "print(ok, e)\n";

static const char names_c[] =
    "#include \"as_malloc.h\"\n"
    "#include \"as_int32_t.h\"\n"
    "#include \"as_main.h\"\n"
    "#include \"as_exp.h\"\n"
    "#include \"as_typename.h\"\n"
    "#include \"as_run_chunks.h\"\n"
    "#include \"as_parallel.h\"\n"
    "#include <stdio.h>\n"
    "typedef int32_t kernel(const float *, const float *, float *, int64_t,\n"
    "                       int64_t);\n"
    "int main(void) {\n"
    "  kernel *k[] = {kernel_malloc, kernel_int32_t, kernel_main, kernel_exp,\n"
    "                 kernel_typename, run_chunks, parallel};\n"
    "  float a[6] = {1, 2, 3, 4, 5, 6}, b[6];\n"
    "  for (int i = 0; i < 7; i++) {\n"
    "    if (k[i](a, a, b, 2, 3) || b[5] != 12) return 1;\n"
    "    if (k[i](0, 0, 0, 0, 3) != 2 || k[i](0, 0, 0, 3, -1) != 2) return 2;\n"
    "  }\n"
    "  puts(\"all right\");\n"
    "  return 0;\n"
    "}\n";

static void test_names(void **state) {
  (void)state;
  console_write(&c, "names.lua", names_lua);
  console_write(&c, "names.c", names_c);
  expect("names.lua", 0,
         "program 'test_plus_one' calls an external function of the same name");
  shell("cc -Wall -Werror names.c as_*.o -o names && ./names", "all right");
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
  expect("build p.lua -o no/where.so", 2,
         "option -o: no/: No such file or directory");
}

/* A program of two kernels, whose grids and workspace depend on sizes, and
 * with a constant; saved for an OpenCL device, this processor and a card that
 * is not here. */
static const char device_lua[] =
    "local ts = require 'tessera'\n"
    "local n, m = ts.size 'n', ts.size 'm'\n"
    "local A = ts.placeholder('A', {n, m})\n"
    "local W = ts.constant('W', ts.tensor('float32', {4}, 'integers', 3))\n"
    "local k = ts.reduce_axis('k', m)\n"
    "local T = ts.compute('T', {n, m}, function(i, j)\n"
    "  return A(i, j) * W(j % 4) end)\n"
    "local S = ts.compute('S', {n}, function(i)\n"
    "  return ts.sum(T(i, k), k) end)\n"
    "local p = ts.program('sums', {A}, {S})\n"
    "local sch = ts.schedule(p)\n"
    "for _, b in ipairs { 'T', 'S' } do\n"
    "  local l = sch:get_loops(sch:get_block(b))\n"
    "  local x, y = sch:split(l, { ts.auto, 32 })\n"
    "  sch:bind(x, 'blockIdx.x')\n"
    "  sch:bind(y, 'threadIdx.x')\n"
    "end\n"
    "ts.build(sch, 'opencl'):save 'sums.kernel'\n"
    "local far = ts.build(sch, 'cuda -arch=sm_80')\n"
    "far:save 'far.kernel'\n"
    "ts.build(p, 'llvm'):save 'host.kernel'\n"
    "local function says(what, f, ...)\n"
    "  local ok, e = pcall(f, ...)\n"
    "  assert(not ok and e.message:find(what, 1, true), e.message)\n"
    "end\n"
    "says(\"the kernel 'sums' is for 'cuda'\", far.save, far, 'x.so')\n"
    "says('save it as NAME.kernel', far.save, far, 'x.o')\n"
    "says('has no C header', far.save, far, 'x.kernel', 'x.h')\n"
    "says('NAME.kernel', far.save, far, 'x.cubin')\n";

static const char loads_lua[] =
    "local ts = require 'tessera'\n"
    "local function run(k, n, m)\n"
    "  local a = ts.tensor('float32', {n, m}, 'integers', 1)\n"
    "  local s = ts.tensor('float32', {n})\n"
    "  k(a, s)\n"
    "  return s\n"
    "end\n"
    "local k, host = ts.load_kernel 'sums.kernel', ts.load_kernel "
    "'host.kernel'\n"
    "for _, n in ipairs { {1, 1}, {70, 33} } do\n"
    "  local s = run(k, n[1], n[2])\n"
    "  assert(s:compare(run(host, n[1], n[2])) == 0)\n"
    "end\n"
    "assert(tostring(k) == 'kernel sums')\n"
    "assert(k:source 'opencl':find 'sums_kernel_1')\n"
    "k:save 'again.kernel'\n"
    "local function bytes(path)\n"
    "  local f <close> = assert(io.open(path, 'rb'))\n"
    "  return f:read 'a'\n"
    "end\n"
    "local all = bytes 'sums.kernel'\n"
    "assert(bytes 'again.kernel' == all)\n"
    "local function refused(code, what, text)\n"
    "  local path = 'bad.kernel'\n"
    "  if text then\n"
    "    local f <close> = assert(io.open(path, 'wb'))\n"
    "    f:write(text)\n"
    "  else path = 'far.kernel' end\n"
    "  local ok, e = pcall(ts.load_kernel, path)\n"
    "  assert(not ok and e.code == code and e.message:find(what, 1, true),\n"
    "         tostring(e))\n"
    "end\n"
    "local function with(at, c)\n"
    "  return all:sub(1, at - 1) .. c .. all:sub(at + 1)\n"
    "end\n"
    "refused('UNSUPPORTED', \"'far.kernel' has a kernel for 'cuda \")\n"
    "refused('PARSE', 'is no kernel', 'a text')\n"
    "refused('PARSE', 'is no kernel', '')\n"
    "refused('PARSE', 'is a kernel in format 9, and this', with(9, '\\9'))\n"
    "refused('PARSE', 'cut off', all:sub(1, -2))\n"
    "refused('PARSE', 'checksum', with(#all, '\\1'))\n"
    "refused('PARSE', 'checksum', with(100, '\\255'))\n"
    "local ok, e = pcall(ts.load_kernel, 'none.kernel')\n"
    "assert(not ok and e.code == 'NOT_FOUND')\n"
    "print 'all right'\n";

static void test_device_kernels(void **state) {
  (void)state;
  console_write(&c, "device.lua", device_lua);
  console_write(&c, "loads.lua", loads_lua);
  expect("device.lua", 0, "");
  expect("loads.lua", 0, "all right");
  shell("cp " TESS_SOURCE_DIR "/examples/deploy.lua e.lua", "");
  expect("build e.lua -o e.so --target opencl", 1, "is for 'opencl'");
  expect("build e.lua -o e.kernel --target opencl", 0, "e.kernel");
  expect("show e.kernel", 1, "e.kernel: a saved kernel, which is compiled");
}

/* A machine of the script's own, whose matrix unit has a shape of its own. */
static const char machine_lua[] =
    "local ts = require 'tessera'\n"
    "local machines = require 'tessera.machines'\n"
    "machines.define(machines.like('vta', { name = 'broad',\n"
    "  matrix = { k = 8, n = 32, call = 'broad_gemm' } }))\n"
    "local A = ts.placeholder('A', { 8, 16 }, 'int8')\n"
    "local B = ts.placeholder('B', { 32, 16 }, 'int8')\n"
    "local k = ts.reduce_axis('k', 16)\n"
    "local C = ts.compute('C', { 8, 32 }, function(i, j)\n"
    "  return ts.sum(ts.cast(A(i, k), 'int32') *\n"
    "                ts.cast(B(j, k), 'int32'), k)\n"
    "end)\n"
    "local D = ts.compute('D', { 8, 32 }, function(i, j)\n"
    "  return ts.cast(ts.max(ts.min(C(i, j) // 16, 127), -128), 'int8')\n"
    "end)\n"
    "return ts.program('dense', { A, B }, { D })\n";

/* What tune says that is next is so, on an accelerator, too. */
static void test_accelerator_kernels(void **state) {
  (void)state;
  console_write(&c, "machine.lua", machine_lua);
  shell("sed /define/,/broad_gemm/d machine.lua > std.lua", "");
  expect("tune machine.lua --trials 2 --seed 1 --min-time 1e-6 --db m.db "
         "--target 'dae -model=broad'",
         0, "-o NAME.kernel");
  assert_null(strstr(c.out, "on the host"));
  /* The record has the machine and the intrinsic. */
  expect("build m.db:1 -o m.kernel", 0, "as it is scheduled");
  expect("tune std.lua --trials 2 --seed 1 --min-time 1e-6 -o best.lua "
         "--target 'dae -model=gemmini'",
         0,
         "build best.lua --program std.lua --target 'dae -model=gemmini' "
         "-o NAME.kernel");
  expect("show best.lua", 0, "tensor_intrin = \"gemmini_compute_16x16\"");
  expect("build best.lua --program std.lua --target 'dae -model=gemmini' "
         "-o s.kernel",
         0, "as it is scheduled");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_best_schedule_is_deployed),
      cmocka_unit_test(test_runtimes),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_no_linker),
      cmocka_unit_test(test_device_kernels),
      cmocka_unit_test(test_accelerator_kernels)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
