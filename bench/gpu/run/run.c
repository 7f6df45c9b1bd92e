/* SPDX-License-Identifier: Apache-2.0
 * Launches bundled kernels on the NVIDIA card of a machine (bench/gpu):
 * run NAME.launch... Each is C = A B of float16 matrices with float32 results,
 * or several: NAME begins with gemm_BATCH_M_N_K_.  Times are by events, with
 * the L2 cache evicted before each run, and in turns with cuBLAS, where it can
 * be opened; some elements of C are compared with sums in double.
 *
 * Needs libc; libcuda and libcublas are opened at run time.  Types and numbers
 * are those of their binary interfaces, as their manuals document them.  One
 * JSON object a line; without a card one line on stderr, and status 0. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the driver --------------------------------------------------------- */

typedef uint64_t address;
typedef void *handle;

static struct {
  int (*init)(unsigned);
  int (*count)(int *);
  int (*device)(int *, int);
  int (*name)(char *, int, int);
  int (*attribute)(int *, int, int);
  int (*retain)(handle *, int);
  int (*use)(handle);
  int (*load)(handle *, const void *, unsigned, int *, void **);
  int (*unload)(handle);
  int (*function)(handle *, handle, const char *);
  int (*set)(handle, int, int);
  int (*get)(int *, int, handle);
  int (*alloc)(address *, size_t);
  int (*release)(address);
  int (*to_device)(address, const void *, size_t);
  int (*to_host)(void *, address, size_t);
  int (*fill)(address, unsigned, size_t);
  int (*copy)(address, address, size_t, handle);
  int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, handle, void **, void **);
  int (*event)(handle *, unsigned);
  int (*record)(handle, handle);
  int (*wait)(handle);
  int (*elapsed)(float *, handle, handle);
} cu;

enum { L2_BYTES = 38, MAX_DYNAMIC = 8, REGISTERS = 4, LOCAL_BYTES = 3 };

static int bind_one(handle library, void *slot, const char *symbol) {
  void *at = dlsym(library, symbol);
  memcpy(slot, &at, sizeof at);
  return at != NULL;
}

static int open_driver(void) {
  handle l = dlopen("libcuda.so.1", RTLD_NOW);
  int n = 0;
  return l && bind_one(l, &cu.init, "cuInit") &&
         bind_one(l, &cu.count, "cuDeviceGetCount") &&
         bind_one(l, &cu.device, "cuDeviceGet") &&
         bind_one(l, &cu.name, "cuDeviceGetName") &&
         bind_one(l, &cu.attribute, "cuDeviceGetAttribute") &&
         bind_one(l, &cu.retain, "cuDevicePrimaryCtxRetain") &&
         bind_one(l, &cu.use, "cuCtxSetCurrent") &&
         bind_one(l, &cu.load, "cuModuleLoadDataEx") &&
         bind_one(l, &cu.unload, "cuModuleUnload") &&
         bind_one(l, &cu.function, "cuModuleGetFunction") &&
         bind_one(l, &cu.set, "cuFuncSetAttribute") &&
         bind_one(l, &cu.get, "cuFuncGetAttribute") &&
         bind_one(l, &cu.alloc, "cuMemAlloc_v2") &&
         bind_one(l, &cu.release, "cuMemFree_v2") &&
         bind_one(l, &cu.to_device, "cuMemcpyHtoD_v2") &&
         bind_one(l, &cu.to_host, "cuMemcpyDtoH_v2") &&
         bind_one(l, &cu.fill, "cuMemsetD32_v2") &&
         bind_one(l, &cu.copy, "cuMemcpyDtoDAsync_v2") &&
         bind_one(l, &cu.launch, "cuLaunchKernel") &&
         bind_one(l, &cu.event, "cuEventCreate") &&
         bind_one(l, &cu.record, "cuEventRecord") &&
         bind_one(l, &cu.wait, "cuEventSynchronize") &&
         bind_one(l, &cu.elapsed, "cuEventElapsedTime") && !cu.init(0) &&
         !cu.count(&n) && n > 0;
}

/* ---- matrices ----------------------------------------------------------- */

enum { SIZES = 32, MOST = 64, RUNS = 31, CHECKED = 64 };

typedef struct problem {
  long batch, m, n, k;
  address a, b, c;
} problem;

static problem problems[SIZES];
static int nproblems;
static address evicted;
static unsigned evict_blocks;
static handle evict, from, to;

/* Multiples of 1/8 from -1 to 1, which float16 has. */
static double value_of(uint64_t i) {
  i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (double)((i >> 40) % 17) / 8 - 1;
}

static uint16_t half_of(double v) {
  if (v == 0) return 0;
  int e;
  double m = frexp(fabs(v), &e); /* m in [1/2, 1) */
  unsigned bits = (unsigned)(m * 2048) - 1024;
  return (uint16_t)((v < 0 ? 0x8000u : 0u) | (unsigned)(e + 14) << 10 | bits);
}

/* Matrix `which` of the problem, on the device. */
static int make_matrix(address *at, size_t count, size_t which) {
  uint16_t *v = malloc(2 * count);
  for (size_t i = 0; v && i < count; i++)
    v[i] = half_of(value_of(2 * i + which));
  int ok = v && !cu.alloc(at, 2 * count) && !cu.to_device(*at, v, 2 * count);
  free(v);
  return ok;
}

static problem *problem_of(long batch, long m, long n, long k) {
  for (int i = 0; i < nproblems; i++) {
    problem *p = &problems[i];
    if (p->batch == batch && p->m == m && p->n == n && p->k == k) return p;
  }
  if (nproblems == SIZES) return NULL;
  problem *p = &problems[nproblems];
  *p = (problem){.batch = batch, .m = m, .n = n, .k = k};
  if (!make_matrix(&p->a, (size_t)(batch * m * k), 0) ||
      !make_matrix(&p->b, (size_t)(batch * k * n), 1) ||
      cu.alloc(&p->c, (size_t)(4 * batch * m * n)))
    return NULL;
  nproblems++;
  return p;
}

/* What is not written is not right. */
static int poison(const problem *p) {
  return cu.fill(p->c, 0x7fc00000, (size_t)(p->batch * p->m * p->n));
}

static int is_right(const problem *p) {
  size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
  float *row = malloc(4 * n);
  int ok = row != NULL;
  for (size_t s = 0; ok && s < CHECKED; s++) {
    size_t e = s * 31 % (size_t)p->batch, i = s * 7919 % m, j = s * 104729 % n;
    double sum = 0, size = 0;
    for (size_t x = 0; x < k; x++) {
      double y = value_of(2 * ((e * m + i) * k + x)) *
                 value_of(2 * ((e * k + x) * n + j) + 1);
      sum += y;
      size += fabs(y);
    }
    ok = !cu.to_host(row, p->c + 4 * (e * m + i) * n, 4 * n) &&
         fabs((double)row[j] - sum) <= 1e-5 * size + 1e-3;
  }
  free(row);
  return ok;
}

/* ---- timing ------------------------------------------------------------- */

static int compare_doubles(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* A kernel that reads more than the L2 cache has; the store, which never
 * happens, keeps the loads. */
static const char evict_ptx[] =
    ".version 6.3\n.target sm_70\n.address_size 64\n"
    ".visible .entry evict(.param .u64 from) {\n"
    "  .reg .pred %p;\n  .reg .b32 %r<9>;\n  .reg .b64 %a<4>;\n"
    "  ld.param.u64 %a1, [from];\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  mul.wide.u32 %a2, %r4, 16;\n  add.s64 %a3, %a1, %a2;\n"
    "  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%a3];\n"
    "  setp.ne.u32 %p, %r5, 0;\n  @%p st.global.u32 [%a3], %r6;\n"
    "  ret;\n}\n";

static int prepare_evicting(int l2) {
  handle module = NULL;
  evict_blocks = 2 * ((unsigned)l2 / 4096 + 1);
  return !cu.alloc(&evicted, (size_t)evict_blocks * 4096) &&
         !cu.fill(evicted, 0, (size_t)evict_blocks * 1024) &&
         !cu.load(&module, evict_ptx, 0, NULL, NULL) &&
         !cu.function(&evict, module, "evict");
}

typedef struct subject {
  int (*run)(void *);
  void *ud;
  double t[RUNS];
} subject;

static int time_once(subject *s, int i) {
  void *args[] = {&evicted};
  float ms = 0;
  if (cu.launch(evict, evict_blocks, 1, 1, 256, 1, 1, 0, NULL, args, NULL) ||
      cu.record(from, NULL) || s->run(s->ud) || cu.record(to, NULL) ||
      cu.wait(to) || cu.elapsed(&ms, from, to))
    return 0;
  s->t[i] = 1e-3 * (double)ms;
  return 1;
}

/* Runs the subjects in turns, and sorts the seconds of each. */
static int time_all(subject *s, int n) {
  for (int k = 0; k < n; k++)
    if (s[k].run(s[k].ud) || s[k].run(s[k].ud)) return 0;
  for (int i = 0; i < RUNS; i++)
    for (int k = 0; k < n; k++)
      if (!time_once(&s[k], i)) return 0;
  for (int k = 0; k < n; k++)
    qsort(s[k].t, RUNS, sizeof *s[k].t, compare_doubles);
  return 1;
}

static void say_figure(const char *name, const problem *p, const subject *s) {
  double flops = 2.0 * (double)(p->batch * p->m) * (double)(p->n * p->k);
  double median = s->t[RUNS / 2], best = s->t[0];
  printf("{\"figure\": \"tflops\", \"value\": %.2f, \"unit\": \"TFLOP/s\", "
         "\"batch\": %ld, \"m\": %ld, \"n\": %ld, \"k\": %ld, \"name\": "
         "\"%s\", \"us\": %.2f, \"best_us\": %.2f}\n",
         flops / median / 1e12, p->batch, p->m, p->n, p->k, name, 1e6 * median,
         1e6 * best);
  fflush(stdout);
}

/* ---- the memory's bandwidth ------------------------------------------- */

enum { COPIED = 1 << 29 };

static int run_copy(void *ud) {
  const address *at = ud;
  return cu.copy(at[0], at[1], COPIED, NULL);
}

/* Bytes read and written by the driver's copy within the device. */
static void measure_copy(void) {
  address at[2] = {0, 0};
  subject s = {run_copy, at, {0}};
  if (!cu.alloc(&at[0], COPIED) && !cu.alloc(&at[1], COPIED) &&
      !cu.fill(at[1], 1, COPIED / 4) && time_all(&s, 1))
    printf("{\"figure\": \"copy\", \"value\": %.0f, \"unit\": \"GB/s\", "
           "\"best\": %.0f}\n",
           2.0 * COPIED / s.t[RUNS / 2] / 1e9, 2.0 * COPIED / s.t[0] / 1e9);
  for (int i = 0; i < 2; i++)
    if (at[i]) cu.release(at[i]);
  fflush(stdout);
}

/* ---- bundled programs --------------------------------------------------- */

typedef struct launch {
  unsigned kernel, grid[3], block[3];
  int n;
  uint64_t arg[MOST];
  int is_buffer[MOST];
} launch;

typedef struct program {
  handle module, kernel[MOST];
  unsigned shared[MOST];
  address buffer[MOST];
  int nkernel, nbuffer, nlaunch;
  launch launch[MOST];
} program;

static int read_launch(FILE *f, launch *l) {
  int nbuf, nvar;
  if (fscanf(f, "%u %u %u %u %u %u %u %d %d", &l->kernel, &l->grid[0],
             &l->grid[1], &l->grid[2], &l->block[0], &l->block[1], &l->block[2],
             &nbuf, &nvar) != 9 ||
      nbuf < 0 || nvar < 0 || nbuf + nvar > MOST)
    return 0;
  l->n = nbuf + nvar;
  for (int i = 0; i < l->n; i++) {
    unsigned long long v;
    if (fscanf(f, "%llu", &v) != 1) return 0;
    l->arg[i] = v;
    l->is_buffer[i] = i < nbuf;
  }
  return 1;
}

/* Buffers 1, 2 and 3 are A, B and C; others are workspace. */
static int take_buffer(program *p, const problem *q, FILE *f) {
  unsigned long long number, bytes;
  if (fscanf(f, "%llu %llu", &number, &bytes) != 2 || number >= MOST ||
      (int)number != p->nbuffer + 1)
    return 0;
  address *at = &p->buffer[number];
  p->nbuffer++;
  *at = number == 1 ? q->a : number == 2 ? q->b : number == 3 ? q->c : 0;
  return number <= 3 || !cu.alloc(at, bytes ? bytes : 1);
}

static int take_kernel(program *p, FILE *f) {
  unsigned i;
  char name[256];
  unsigned long long shared;
  if (fscanf(f, "%u %255s %llu", &i, name, &shared) != 3 || i >= MOST ||
      cu.function(&p->kernel[i], p->module, name))
    return 0;
  p->shared[i] = (unsigned)shared;
  p->nkernel++;
  return shared <= 48 << 10 || !cu.set(p->kernel[i], MAX_DYNAMIC, (int)shared);
}

static int read_launches(program *p, const problem *q, FILE *f) {
  char word[16];
  while (fscanf(f, "%15s", word) == 1) {
    int ok = !strcmp(word, "buffer")   ? take_buffer(p, q, f)
             : !strcmp(word, "kernel") ? take_kernel(p, f)
             : !strcmp(word, "launch") && p->nlaunch < MOST
                 ? read_launch(f, &p->launch[p->nlaunch++])
                 : 0;
    if (!ok) return 0;
  }
  return p->nlaunch > 0;
}

static int load_ptx(program *p, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = calloc(1, (size_t)n + 1);
  int ok = text && fread(text, 1, (size_t)n, f) == (size_t)n &&
           !cu.load(&p->module, text, 0, NULL, NULL);
  free(text);
  fclose(f);
  return ok;
}

static int run_program(void *ud) {
  program *p = ud;
  for (int i = 0; i < p->nlaunch; i++) {
    launch *l = &p->launch[i];
    void *args[MOST];
    uint64_t value[MOST];
    for (int k = 0; k < l->n; k++) {
      value[k] = l->is_buffer[k] ? p->buffer[l->arg[k] % MOST] : l->arg[k];
      args[k] = &value[k];
    }
    int code = cu.launch(p->kernel[l->kernel % MOST], l->grid[0], l->grid[1],
                         l->grid[2], l->block[0], l->block[1], l->block[2],
                         p->shared[l->kernel % MOST], NULL, args, NULL);
    if (code) return code;
  }
  return 0;
}

static void say_usage(const program *p, const char *stem) {
  int registers = 0, local = 0;
  for (int i = 0; i < p->nkernel; i++) {
    int r = 0, l = 0;
    cu.get(&r, REGISTERS, p->kernel[i]);
    cu.get(&l, LOCAL_BYTES, p->kernel[i]);
    registers = r > registers ? r : registers;
    local = l > local ? l : local;
  }
  fprintf(stderr, "%s: %d registers, %d bytes of local memory\n", stem,
          registers, local);
}

/* ---- cuBLAS ------------------------------------------------------------- */

typedef int gemm_strided(handle, int, int, int, int, int, const void *,
                         const void *, int, int, long long, const void *, int,
                         int, long long, const void *, void *, int, int,
                         long long, int, int, int);

static struct {
  int (*create)(handle *);
  gemm_strided *gemm;
  handle h;
} blas;

enum { R_32F = 0, R_16F = 2, COMPUTE_32F = 68, TENSOR_OP = 99 };

static int open_cublas(void) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                      "libcublas.so.11", "libcublas.so"};
  handle l = NULL;
  for (size_t i = 0; !l && i < sizeof names / sizeof *names; i++)
    l = dlopen(names[i], RTLD_NOW);
  return l && bind_one(l, &blas.create, "cublasCreate_v2") &&
         bind_one(l, &blas.gemm, "cublasGemmStridedBatchedEx") &&
         !blas.create(&blas.h);
}

/* By columns the product of rows C = A B is C' = B' A'. */
static int run_cublas(void *ud) {
  const problem *p = ud;
  const float one = 1, zero = 0;
  int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  return blas.gemm(blas.h, 0, 0, n, m, k, &one, (void *)(uintptr_t)p->b, R_16F,
                   n, (long long)p->k * n, (void *)(uintptr_t)p->a, R_16F, k,
                   (long long)p->m * k, &zero, (void *)(uintptr_t)p->c, R_32F,
                   n, (long long)p->m * n, (int)p->batch, COMPUTE_32F,
                   TENSOR_OP);
}

/* ---- comparing ---------------------------------------------------------- */

static void compare(const char *name, program *p, problem *q) {
  subject s[2] = {{run_program, p, {0}}, {run_cublas, q, {0}}};
  int n = blas.h ? 2 : 1, ok = 0;
  if (!poison(q) && !run_program(p)) ok = is_right(q);
  if (!ok) {
    fprintf(stderr, "%s: is wrong, or does not run\n", name);
    return;
  }
  if (n > 1 && (poison(q) || run_cublas(q) || !is_right(q))) {
    fprintf(stderr, "%s: cuBLAS fails\n", name);
    n = 1;
  }
  if (!time_all(s, n)) {
    fprintf(stderr, "%s: cannot be timed\n", name);
    return;
  }
  say_figure(name, q, &s[0]);
  if (n < 2) return;
  say_figure("cublas", q, &s[1]);
  printf("{\"figure\": \"of_cublas\", \"value\": %.3f, \"unit\": \"1\", "
         "\"name\": \"%s\", \"by_best\": %.3f}\n",
         s[1].t[RUNS / 2] / s[0].t[RUNS / 2], name, s[1].t[0] / s[0].t[0]);
  fflush(stdout);
}

/* NAME.launch with NAME.ptx. */
static void run_file(const char *path) {
  char stem[512], ptx[520];
  long batch = 0, m = 0, n = 0, k = 0;
  size_t len = strlen(path);
  snprintf(stem, sizeof stem, "%.*s", (int)(len > 7 ? len - 7 : 0), path);
  snprintf(ptx, sizeof ptx, "%s.ptx", stem);
  const char *name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem;
  int sized = sscanf(name, "gemm_%ld_%ld_%ld_%ld", &batch, &m, &n, &k) == 4 &&
              batch > 0 && m > 0 && n > 0 && k > 0;
  FILE *f = sized ? fopen(path, "r") : NULL;
  problem *q = f ? problem_of(batch, m, n, k) : NULL;
  program *p = calloc(1, sizeof *p);
  if (q && p && load_ptx(p, ptx) && read_launches(p, q, f)) {
    say_usage(p, name);
    compare(name, p, q);
  } else {
    fprintf(stderr, "%s: cannot be loaded\n", name);
  }
  for (int i = 4; p && i <= p->nbuffer; i++) cu.release(p->buffer[i]);
  if (p && p->module) cu.unload(p->module);
  if (f) fclose(f);
  free(p);
}

int main(int argc, char **argv) {
  int device, l2 = 0;
  char name[128] = "";
  handle context = NULL;
  if (!open_driver()) {
    fprintf(stderr, "run: there is no NVIDIA card on this machine\n");
    return 0;
  }
  if (cu.device(&device, 0) || cu.retain(&context, device) || cu.use(context) ||
      cu.event(&from, 0) || cu.event(&to, 0)) {
    fprintf(stderr, "run: the card cannot be used\n");
    return 1;
  }
  cu.name(name, sizeof name, device);
  cu.attribute(&l2, L2_BYTES, device);
  if (!prepare_evicting(l2 > 0 ? l2 : 64 << 20)) return 1;
  fprintf(stderr, "%s\n", name);
  if (argc == 1) measure_copy();
  if (argc > 1 && !open_cublas()) fprintf(stderr, "run: cuBLAS is not there\n");
  for (int i = 1; i < argc; i++) run_file(argv[i]);
  return 0;
}
