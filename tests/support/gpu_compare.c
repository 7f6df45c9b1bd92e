/* SPDX-License-Identifier: Apache-2.0
 * Compares kernels on the emulated device with the interpreter. */
#include "support/gpu_compare.h"
#include "backends/interp/interp.h"
#include "base/file.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "support/console.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };

typedef struct comparing {
  mem_heap *heap;
  const ir_program *base, *scheduled;
  uint32_t nsizes;
  const int64_t *sizes;
  uint32_t n;
  uint64_t size[MOST];
  tess_dtype t[MOST];
  char *want[MOST], *got[MOST];
} comparing;

static int64_t extent_at(const comparing *x, ir_expr e) {
  const ir_program *p = x->base;
  const ir_node n = *ir_at(p, e);
  ir_span sizes = ir_entry(p)->sizes;
  if (n.op == IR_INT) return n.i;
  for (uint32_t i = 0; n.op == IR_VAR && i < sizes.n; i++)
    if (p->arg.v[sizes.at + i] == n.a) return x->sizes[i];
  assert_true(n.op >= IR_ADD && n.op <= IR_MAX);
  return ir_fold_int((ir_op)n.op, n.dtype, extent_at(x, n.a),
                     extent_at(x, n.b));
}

static uint64_t elements_of(const comparing *x, ir_buf b) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < ir_ndim(x->base, b); d++)
    n *= (uint64_t)extent_at(x, ir_dim(x->base, b, d));
  return n;
}

/* Of -2 .. 2, so that sums are exact. */
static void fill_element(tess_dtype t, char *at, uint64_t i) {
  int64_t v = (int64_t)((i * 2654435761u >> 7) % 5) - 2;
  size_t bytes = ir_dtype_bytes(t);
  if (ir_is_float(t)) {
    ir_put_real(t, (double)v, at);
  } else {
    if (t.code == TESS_DTYPE_UINT || t.code == TESS_DTYPE_BOOL) v = v > 0;
    memcpy(at, &v, bytes);
  }
}

static void make_args(comparing *x) {
  const ir_program *p = x->base;
  ir_span params = ir_entry(p)->params;
  x->n = params.n;
  assert_true(x->n <= MOST);
  assert_int_equal(x->nsizes, ir_entry(p)->sizes.n);
  for (uint32_t i = 0; i < x->n; i++) {
    ir_buf b = p->arg.v[params.at + i];
    x->t[i] = p->buf.v[b].dtype;
    x->size[i] = elements_of(x, b);
    size_t bytes = x->size[i] * ir_dtype_bytes(x->t[i]);
    x->want[i] = calloc(1, bytes + 1);
    x->got[i] = aligned_alloc(64, (bytes / 64 + 1) * 64);
    for (uint64_t k = 0; p->buf.v[b].role != IR_ROLE_OUTPUT && k < x->size[i];
         k++)
      fill_element(x->t[i], x->want[i] + k * ir_dtype_bytes(x->t[i]),
                   k + 131 * i);
  }
}

static void reset_args(comparing *x) {
  const ir_program *p = x->base;
  for (uint32_t i = 0; i < x->n; i++) {
    ir_buf b = p->arg.v[ir_entry(p)->params.at + i];
    size_t bytes = x->size[i] * ir_dtype_bytes(x->t[i]);
    if (p->buf.v[b].role == IR_ROLE_OUTPUT)
      memset(x->got[i], 0xff, bytes);
    else
      memcpy(x->got[i], x->want[i], bytes);
  }
}

static void interpret(comparing *x) {
  interp in;
  interp_arg args[MOST];
  interp_options o = {
      .domain = INTERP_NATIVE, .nsizes = x->nsizes, .sizes = x->sizes};
  interp_error e;
  for (uint32_t i = 0; i < x->n; i++)
    args[i] = (interp_arg){x->want[i], x->size[i] * ir_dtype_bytes(x->t[i])};
  interp_init(&in, x->heap);
  assert_int_equal(interp_run(&in, x->base, x->n, args, &o, &e), TESS_OK);
  interp_free(&in);
}

static bool is_near(tess_dtype t, const char *want, const char *got) {
  if (!ir_is_float(t)) return !memcmp(want, got, ir_dtype_bytes(t));
  double a = ir_get_real(t, want), b = ir_get_real(t, got);
  double part =
      t.bits == 16 ? (t.code == TESS_DTYPE_BFLOAT ? 0.03 : 0.004) : 1e-5;
  return a == b || (isnan(a) && isnan(b)) ||
         fabs(a - b) <= part * (fabs(a) + 1);
}

static void check_results(const comparing *x) {
  for (uint32_t i = 0; i < x->n; i++)
    for (uint64_t k = 0; k < x->size[i]; k++) {
      size_t at = k * ir_dtype_bytes(x->t[i]);
      if (is_near(x->t[i], x->want[i] + at, x->got[i] + at)) continue;
      double a = 0, b = 0;
      if (ir_is_float(x->t[i])) {
        a = ir_get_real(x->t[i], x->want[i] + at);
        b = ir_get_real(x->t[i], x->got[i] + at);
      }
      ir_dump(x->scheduled);
      fail_msg("element %llu of parameter %u is %g, not %g",
               (unsigned long long)k, i, b, a);
    }
}

static void add_counts(gpu_counts *to, const gpu_counts *from) {
  to->global_read += from->global_read;
  to->global_written += from->global_written;
  to->shared_read += from->shared_read;
  to->shared_written += from->shared_written;
  to->async_bytes += from->async_bytes;
  to->bank_conflicts += from->bank_conflicts;
  to->barriers += from->barriers;
  to->collectives += from->collectives;
  to->read_sectors += from->read_sectors;
}

/* false: the target does not take it. */
static bool run_once(comparing *x, const char *target, bool reversed,
                     gpu_compared *out) {
  ir_program p;
  arena scratch;
  err_state e;
  void *args[MOST];
  gpu_program_options o = {target, reversed};
  err_clear(&e);
  arena_init(&scratch, x->heap);
  ir_program_init(&p, x->heap);
  ir_program_copy(&p, x->scheduled);
  reset_args(x);
  for (uint32_t i = 0; i < x->n; i++) args[i] = x->got[i];
  out->counts = (gpu_counts){0};
  tess_status s =
      gpu_run_program(&p, &scratch, &o, args, x->sizes, &out->counts, &e);
  add_counts(&out->all, &out->counts);
  ir_program_free(&p);
  arena_free(&scratch);
  if (s && s != TESS_UNSUPPORTED && s != TESS_LIMIT) {
    ir_dump(x->scheduled);
    fail_msg("%s", e.message);
  }
  if (s) snprintf(out->why, sizeof out->why, "%s", e.message);
  if (s) print_message("refused: %s\n", e.message);
  if (!s) check_results(x);
  return !s;
}

bool gpu_compare_at(mem_heap *heap, const ir_program *base,
                    const ir_program *scheduled, const char *target,
                    uint32_t nsizes, const int64_t *sizes, gpu_compared *out) {
  comparing x = {heap, base, scheduled, nsizes, sizes, .n = 0};
  make_args(&x);
  interpret(&x);
  bool ok = run_once(&x, target, false, out) && run_once(&x, target, true, out);
  for (uint32_t i = 0; i < x.n; i++) {
    free(x.want[i]);
    free(x.got[i]);
  }
  out->right += ok;
  out->refused += !ok;
  return ok;
}

bool gpu_compare(mem_heap *heap, const ir_program *base,
                 const ir_program *scheduled, const char *target,
                 gpu_compared *out) {
  return gpu_compare_at(heap, base, scheduled, target, 0, NULL, out);
}

/* ---- cases -------------------------------------------------------------- */

/* "-": none. */
static uint32_t read_sizes(const char *text, int64_t out[MOST]) {
  uint32_t n = 0;
  while (*text >= '0' && *text <= '9' && n < MOST) {
    char *end;
    out[n++] = strtoll(text, &end, 10);
    text = *end ? end + 1 : end;
  }
  return n;
}

static void load(mem_heap *heap, ir_program *p, const char *dir,
                 const char *name) {
  char path[256];
  strbuf bytes, why;
  err_state e;
  arena scratch;
  arena_init(&scratch, heap);
  str_init(&bytes, heap);
  str_init(&why, heap);
  ir_program_init(p, heap);
  snprintf(path, sizeof path, "%s/%s", dir, name);
  err_clear(&e);
  assert_int_equal(file_read(path, 1 << 24, &bytes, &e), TESS_OK);
  assert_int_equal(ir_restore(p, &scratch, bytes.v, bytes.n, &why), TESS_OK);
  str_free(&bytes);
  str_free(&why);
  arena_free(&scratch);
}

static void compare_case(mem_heap *heap, const char *dir, const char *base,
                         const char *scheduled, const char *at,
                         const char *target, gpu_compared *out) {
  ir_program p, q;
  int64_t sizes[MOST];
  uint32_t n = read_sizes(at, sizes);
  load(heap, &p, dir, base);
  load(heap, &q, dir, scheduled);
  print_message("%s %s\n", scheduled, at);
  fflush(stdout);
  gpu_compare_at(heap, &p, &q, target, n, sizes, out);
  ir_program_free(&p);
  ir_program_free(&q);
}

void gpu_compare_cases(const char *kind, uint32_t count, const char *target,
                       gpu_compared *out) {
  test_heap heap;
  console c;
  char path[128], base[64], scheduled[64], sizes[64];
  const char *more = getenv("TESS_GPU_CASES");
  if (more && count > 1) count = (uint32_t)atoi(more);
  test_heap_start(&heap, 0);
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  if (console_run(&c, CONSOLE_TESSERA " %s %s %u .",
                  TESS_SOURCE_DIR "/tests/support/gpu_cases.lua", kind, count))
    fail_msg("%s", c.err);
  snprintf(path, sizeof path, "%s/index", c.dir);
  FILE *index = fopen(path, "r");
  assert_non_null(index);
  while (fscanf(index, "%63s %63s %63s", base, scheduled, sizes) == 3)
    compare_case(&heap.heap, c.dir, base, scheduled, sizes, target, out);
  fclose(index);
  console_end(&c);
  test_heap_end(&heap);
}
