/* SPDX-License-Identifier: Apache-2.0
 * Times one tuned row, its peers and its naive loops, interleaved in this
 * process, and prints the figures as a line of JSON. */
#include "bench/suite/measure.h"

#include "bench/suite/peer.h"
#include "bench/support/bench.h"
#include "vm/object.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARAMS = 16, ROUNDS = 10 };

typedef struct bout {
  tess_context *c;
  tess_target *target;
  tess_kernel *ours;
  tess_tensor *tensor[PARAMS];
  void *data[PARAMS], *args[PARAMS], *naive_args[PARAMS];
  uint32_t n, out;    /* the output's number */
  void *want, *first; /* a peer's result; what an in-place row starts
                       * with */
  uint64_t bytes;
  const tess_runtime *rt;
  tess_kernel_fn naive;
  row r;
  bool in_place;
} bout;

static void check_bout(bout *b, tess_status s) {
  if (s == TESS_OK) return;
  bench_say("suite: %s", tess_error(b->c)->message);
  exit(1);
}

int64_t row_number(const row *r, const char *name, int64_t otherwise) {
  const json_t *v = json_object_get(r->options, name);
  return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

/* ---- the tensors -------------------------------------------------------- */

/* Diagonally dominant and symmetric: no pivoting, positive definite. */
static void fill_dominant(double *a, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      a[i * n + k] = i == k ? (double)n : (double)((i * k) % 17) / 17;
}

static void make_tensors(bout *b, tess_program *p) {
  b->n = tess_program_nparams(p);
  for (uint32_t i = 0; i < b->n && i < PARAMS; i++) {
    tess_param t = TESS_INIT(tess_param);
    check_bout(b, tess_program_param(p, i, &t));
    bool out = t.role == TESS_ROLE_OUTPUT;
    check_bout(b, tess_tensor_new(b->c, t.dtype, t.ndim, t.shape,
                                  out && !b->in_place ? "zeros" : "random",
                                  i + 1, &b->tensor[i]));
    b->data[i] = tess_tensor_data(b->tensor[i]);
    if (i + 1 < b->n && !out) continue;
    b->out = i;
    b->bytes = t.dtype.bits / 8;
    for (uint32_t d = 0; d < t.ndim; d++) b->bytes *= (uint64_t)t.shape[d];
  }
  b->want = bench_alloc(b->bytes);
  b->first = bench_alloc(b->bytes);
  if (b->in_place) fill_dominant(b->data[b->out], row_number(&b->r, "n", 1));
  memcpy(b->first, b->data[b->out], b->bytes);
}

static void load_row(bout *b, const char *folder) {
  char path[512];
  json_error_t e;
  snprintf(path, sizeof path, "%s/row.json", folder);
  json_t *v = json_load_file(path, 0, &e);
  if (!v) {
    bench_say("suite: %s: %s", path, e.text);
    exit(1);
  }
  b->r.operator= json_string_value(json_object_get(v, "operator"));
  b->r.options = json_object_get(v, "options");
  b->in_place =
      !strcmp(b->r.operator, "lu") || !strcmp(b->r.operator, "cholesky");
}

static void load_kernels(bout *b, const char *folder) {
  char path[512], text[64];
  tess_program *p;
  snprintf(text, sizeof text, "llvm -num-cores=%u", b->r.threads);
  if (tess_context_new(NULL, &b->c) != TESS_OK) exit(1);
  check_bout(b, tess_target_new(b->c, text, &b->target));
  snprintf(path, sizeof path, "%s/best.program", folder);
  check_bout(b, tess_program_load(b->c, path, &p));
  make_tensors(b, p);
  check_bout(b, tess_build(p, b->target, &b->ours));
  tess_kernel_set_threads(b->ours, b->r.threads);
  check_bout(b, tess_kernel_prepare(b->ours, b->n, b->tensor, b->args));
  b->rt = tess_default_runtime(b->c, b->r.threads);
  snprintf(path, sizeof path, "%s/naive.so", folder);
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *f = so ? dlsym(so, "tess_kernel") : NULL;
  memcpy(&b->naive, &f, sizeof f);
  memcpy(b->naive_args, b->data, sizeof b->data);
  b->r.data = b->data;
  b->r.out = b->want;
}

/* ---- timing ------------------------------------------------------------- */

/* Seconds after which there is no further run of naive loops. */
enum { LONG = 3 };

/* The best of the runs that some milliseconds hold; each starts with the same
 * contents where it works in place. */
static double best_of(bout *b, const peer *p, tess_kernel_fn f, void **args) {
  double best = INFINITY, now, end = bench_now() + 0.03;
  uint32_t runs = 0;
  usleep(5000); /* let idle threads stop spinning */
  do {
    void *out = p ? b->r.out : b->data[b->out];
    if (b->in_place) memcpy(out, b->first, b->bytes);
    double start = bench_now();
    if (p)
      p->run(p->self);
    else if (f(args, NULL, b->rt)) {
      bench_say("suite: a kernel failed");
      exit(1);
    }
    best = fmin(best, bench_now() - start);
    now = bench_now();
  } while (++runs < 3 ? now < end + LONG : now < end && runs < 1000);
  return best;
}

/* How far the result of ours is from a peer's, relative to the largest. */
static double difference(const bout *b) {
  const float *x = b->data[b->out], *y = b->want;
  double most = 0, apart = 0;
  for (uint64_t i = 0; i < b->bytes / 4; i++) {
    most = fmax(most, fabs((double)y[i]));
    apart = fmax(apart, fabs((double)x[i] - (double)y[i]));
  }
  return apart / fmax(most, 1e-30);
}

static json_t *measured(bout *b) {
  peer peers[PEERS];
  uint32_t n = blas_peers(&b->r, peers);
  n += onednn_peers(&b->r, peers + n);
  double ours = INFINITY, naive = INFINITY, times[PEERS];
  tess_kernel_fn f = tess_kernel_function(b->ours);
  json_t *list = json_object(), *apart = json_object();
  for (uint32_t i = 0; i < n; i++) times[i] = INFINITY;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    ours = fmin(ours, best_of(b, NULL, f, b->args));
    for (uint32_t i = 0; i < n; i++)
      times[i] = fmin(times[i], best_of(b, &peers[i], NULL, NULL));
  }
  bool floats = tess_tensor_dtype(b->tensor[b->out]).bits == 32 &&
                tess_tensor_dtype(b->tensor[b->out]).code == TESS_DTYPE_FLOAT;
  for (uint32_t i = 0; i < n; i++) {
    json_object_set_new(list, peers[i].name, json_real(times[i]));
    if (!floats || !peers[i].exact) continue;
    peers[i].run(peers[i].self);
    json_object_set_new(apart, peers[i].name, json_real(difference(b)));
  }
  if (b->naive) naive = best_of(b, NULL, b->naive, b->naive_args);
  json_t *v = json_pack("{s:f, s:o, s:o}", "ours", ours, "peers", list,
                        "difference", apart);
  if (b->naive) json_object_set_new(v, "naive", json_real(naive));
  return v;
}

int suite_measure(const char *folder, uint32_t threads) {
  bout b = {.r.threads = threads};
  load_row(&b, folder);
  load_kernels(&b, folder);
  json_t *v = measured(&b);
  json_dumpf(v, stdout, JSON_COMPACT);
  putchar('\n');
  return fflush(stdout) != 0;
}
