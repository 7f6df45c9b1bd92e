/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what becomes of a scheduled program.  Lowered, it is
 * still the same computation in the residue domain, rounding of 16-bit floats
 * included; compiled, it gives what the interpreter gives in native
 * arithmetic.  Where nothing rounds that is asked of the scheduled program,
 * and elsewhere of the lowered one, of which products and sums are not fused:
 * to the bit. */
#include "backends/backend.h"
#include "backends/runtime.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "lower/lower.h"
#include "random/fuzz.h"
#include "support/gpu_backend.h"

#include <math.h>
#include <string.h>

typedef struct fuzz_arg {
  tess_dtype t;
  uint64_t size;            /* elements */
  char *start, *want, *got; /* bytes */
} fuzz_arg;

struct fuzz_native {
  target t, rounds; /* rounds: products and sums are not fused */
  target device;
  runtime rt;
};

/* Values of 16 bits are computed with in float32 once lowered, and rounded. */
static bool has_16bit(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++) {
    tess_dtype t = ir_at(p, e)->dtype;
    if (ir_is_float(t) && t.bits == 16) return true;
  }
  return false;
}

static uint32_t pass_number(const char *name) {
  uint32_t k = 0;
  while (strcmp(lower_passes[k].name, name)) k++;
  return k;
}

/* A lowered copy of the program in f->damaged; UNSUPPORTED and LIMIT are no
 * mistake. */
static tess_status lower(fuzz *f, const lower_options *o) {
  err_state err = {.code = TESS_OK};
  ir_program_copy(&f->damaged, &f->s.m.prog);
  tess_status st = lower_program(&f->damaged, &f->scratch, o, &err);
  arena_reset(&f->scratch);
  if (st && st != TESS_UNSUPPORTED && st != TESS_LIMIT)
    fuzz_wrong(f, "lowering fails: %s", err.message);
  return st;
}

/* Why it is not compared; false: it is wrong. */
static bool skip(fuzz *f, tess_status st, fuzz_skip unsupported,
                 fuzz_skip limit) {
  if (st == TESS_UNSUPPORTED)
    f->counts.skipped[unsupported]++;
  else if (st == TESS_LIMIT)
    f->counts.skipped[limit]++;
  else
    return false;
  return true;
}

/* While its buffers keep their shapes, so that people may look at it, it is a
 * program like any other.  Not looked at each time. */
static bool is_well_formed(fuzz *f, lower_options o) {
  if (f->number % 4 != 1) return true;
  strbuf why;
  str_init(&why, &f->heap);
  o.stop_after = pass_number("flatten_buffer");
  bool ok = lower(f, &o) || ir_verify(&f->damaged, &f->scratch, &why);
  arena_reset(&f->scratch);
  if (!ok) {
    fuzz_wrong(f, "lowered, it is malformed: %s", str_get(&why));
    str_puts(&f->report, "scheduled:\n");
    ir_print(&f->s.m.prog, NULL, &f->report);
    str_puts(&f->report, "lowered:\n");
    ir_print(&f->damaged, NULL, &f->report);
  }
  str_free(&why);
  return ok;
}

/* Expects what the scheduled program computes if each operation on 16-bit
 * floats is done in float32 and rounded: only that pass is done. */
static tess_status expect_rounded(fuzz *f, interp_error *e) {
  lower_options o = {.keep_math = true};
  interp_options limit = fuzz_run_options(f);
  err_state err;
  const lower_pass *half = &lower_passes[pass_number("legalize_float16")];
  ir_program_copy(&f->before, &f->s.m.prog);
  tess_status st = half->run(&f->before, &f->scratch, &o, &err);
  arena_reset(&f->scratch);
  return st ? st
            : interp_expect_instead(&f->expect, &f->in, &f->before, &limit, e);
}

/* Threads that share a reduction sum in another order, which rounding would
 * tell: with 16-bit floats their loops run one after the other. */
bool fuzz_check_lowered(fuzz *f) {
  interp_options limit = fuzz_run_options(f);
  interp_error e = {.fault = INTERP_FINE};
  bool halves = has_16bit(&f->s.m.prog);
  lower_options o = {.vector_bytes = 16u << fuzz_below(f, 3),
                     .keep_math = true,
                     .no_threads = halves};
  if (!is_well_formed(f, o)) return false;
  tess_status st = lower(f, &o);
  if (st) return skip(f, st, FUZZ_NOT_LOWERED, FUZZ_LOWER_LIMIT);
  if (halves && expect_rounded(f, &e)) {
    if (e.fault == INTERP_LIMIT)
      return skip(f, TESS_LIMIT, FUZZ_ROUNDED_LONG, FUZZ_ROUNDED_LONG);
    fuzz_wrong(f, "rounding 16-bit floats, it does not run:");
    interp_error_text(&f->before, &e, &f->report);
    return false;
  }
  f->counts.lowered++;
  f->counts.halves += halves;
  f->counts.comparisons++;
  if (!interp_expect_check(&f->expect, &f->in, &f->damaged, &limit, &e))
    return true;
  if (e.fault == INTERP_LIMIT)
    return skip(f, TESS_LIMIT, FUZZ_TOO_LONG, FUZZ_TOO_LONG);
  fuzz_wrong(f, "lowered, it is not the same:");
  interp_error_text(&f->damaged, &e, &f->report);
  str_puts(&f->report, "\nscheduled:\n");
  ir_print(&f->s.m.prog, NULL, &f->report);
  str_puts(&f->report, "lowered:\n");
  ir_print(&f->damaged, NULL, &f->report);
  return false;
}

/* ---- compiled ----------------------------------------------------------- */

static tess_status start_native(fuzz *f) {
  err_state err;
  if (f->native) return TESS_OK;
  f->native = mem_resize(&f->heap, NULL, 0, sizeof *f->native);
  runtime_init(&f->native->rt, mem_default_allocator, 2);
  tess_status st = target_parse(&f->native->t, "llvm", &err);
  if (!st) st = target_parse(&f->native->rounds, "llvm -fp-contract=off", &err);
  if (!st && f->o->device)
    st = target_parse(&f->native->device, f->o->device, &err);
  if (st) fuzz_wrong(f, "no target: %s", err.message);
  return st;
}

void fuzz_end_native(fuzz *f) {
  if (!f->native) return;
  runtime_free(&f->native->rt);
  mem_free(&f->heap, f->native, sizeof *f->native);
  f->native = NULL;
}

/* Nothing rounds: values may be any, and wrap alike. */
static bool all_integer(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++)
    if (ir_is_float(ir_at(p, e)->dtype)) return false;
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (ir_is_float(p->buf.v[b].dtype)) return false;
  return true;
}

static int64_t draw_any(fuzz *f, tess_dtype t) {
  switch (fuzz_below(f, 6)) {
  case 0: return ir_int_min(t);
  case 1: return ir_int_max(t);
  default: return ir_wrap_int(t, (int64_t)rng_u64(&f->r));
  }
}

/* What is drawn for inputs: any integers, small ones, of which sums and
 * products are exact, or small ones and, for floats, fractions. */
typedef enum values { ANY_INTEGERS, EXACT, FRACTIONS } values;

/* An index below `range`, or such a value. */
static void draw_element(fuzz *f, tess_dtype t, int64_t range, values which,
                         char *at) {
  bool any = which == ANY_INTEGERS;
  if (which == FRACTIONS && ir_is_float(t)) {
    ir_put_real(t, (double)fuzz_below(f, 4000) / 1000 - 2, at);
    return;
  }
  int64_t v = range ? (int64_t)fuzz_below(f, (uint32_t)range)
              : any
                  ? draw_any(f, t)
                  : (int64_t)fuzz_below(f, 7) - (t.code != TESS_DTYPE_UINT) * 3;
  if (ir_is_float(t))
    ir_put_real(t, (double)v, at);
  else
    ir_put_int(t, v, at);
}

static void make_arg(fuzz *f, ir_buf b, values which, fuzz_arg *a) {
  const ir_program *p = &f->base;
  int64_t range = interp_index_range(p, b, &f->scratch).count, n;
  interp_options o = fuzz_run_options(f);
  *a = (fuzz_arg){.t = p->buf.v[b].dtype, .size = 1};
  for (uint32_t d = 0; d < ir_ndim(p, b); d++)
    if (interp_extent(p, ir_dim(p, b, d), &o, &n)) a->size *= (uint64_t)n;
  size_t each = ir_dtype_bytes(a->t), bytes = a->size * each;
  a->start = arena_zalloc(&f->args, bytes + 1);
  a->want = arena_zalloc(&f->args, bytes + 1);
  a->got = arena_zalloc(&f->args, bytes + 1);
  if (p->buf.v[b].role != IR_ROLE_OUTPUT)
    for (uint64_t i = 0; i < a->size; i++)
      draw_element(f, a->t, range, which, a->start + i * each);
  memcpy(a->want, a->start, bytes);
  memcpy(a->got, a->start, bytes);
}

static bool same_bits(tess_dtype t, const char *x, const char *y) {
  return !memcmp(x, y, ir_dtype_bytes(t)) ||
         (ir_is_float(t) && isnan(ir_get_real(t, x)) &&
          isnan(ir_get_real(t, y)));
}

/* Equal, or as near as fused multiply-adds may bring them. */
static bool near(tess_dtype t, const char *x, const char *y) {
  if (!ir_is_float(t)) return ir_get_int(t, x) == ir_get_int(t, y);
  double a = ir_get_real(t, x), b = ir_get_real(t, y);
  double step = t.code == TESS_DTYPE_BFLOAT ? 0x1p-6
                : t.bits == 16              ? 0x1p-9
                : t.bits == 32              ? 0x1p-20
                                            : 0x1p-48;
  return (isnan(a) && isnan(b)) || a == b ||
         fabs(a - b) <= step * fmax(fabs(a), fabs(b));
}

typedef bool alike(tess_dtype t, const char *x, const char *y);

static void show_programs(fuzz *f) {
  str_puts(&f->report, "scheduled:\n");
  ir_print(&f->s.m.prog, NULL, &f->report);
  str_puts(&f->report, "lowered:\n");
  ir_print(&f->damaged, NULL, &f->report);
}

static bool compare_args(fuzz *f, const fuzz_arg *a, uint32_t n, alike *same) {
  for (uint32_t i = 0; i < n; i++)
    for (uint64_t k = 0; k < a[i].size; k++) {
      size_t at = k * ir_dtype_bytes(a[i].t);
      if (same(a[i].t, a[i].want + at, a[i].got + at)) continue;
      fuzz_wrong(f, "compiled, element %llu of parameter %u differs",
                 (unsigned long long)k, (unsigned)i);
      show_programs(f);
      return false;
    }
  if (fuzz_compiled_calls(f)) return true;
  fuzz_wrong(f, "compiled, it makes other calls");
  show_programs(f);
  return false;
}

static tess_status run_compiled(fuzz *f, const target *t, const fuzz_arg *a,
                                uint32_t n) {
  bool emulated = f->o->device && !strcmp(t->kind, "cuda") && !t->is_host;
  const backend *by = emulated ? &gpu_backend : backend_find(t->kind);
  backend_code *code = NULL;
  err_state err = {.code = TESS_OK};
  strbuf text;
  str_init(&text, &f->heap);
  tess_status st =
      by->compile(&f->damaged, &f->scratch, t, BACKEND_CODE, &text, &err);
  if (!st) st = by->load(&f->heap, text.v, text.n, &code, &err);
  str_free(&text);
  arena_reset(&f->scratch);
  if (st) {
    if (st != TESS_UNSUPPORTED)
      fuzz_wrong(f, "compiling fails: %s", err.message);
    return st;
  }
  void *args[GEN_MAX_TENSORS];
  for (uint32_t i = 0; i < n; i++) args[i] = a[i].got;
  fuzz_watch_compiled();
  int32_t rc = backend_launch(by, code, args, f->size, &f->native->rt.rt);
  by->unload(code);
  if (rc) fuzz_wrong(f, "the kernel returns %d", (int)rc);
  return rc ? TESS_INTERNAL : TESS_OK;
}

/* The interpreter's results go to `want`. */
static bool interpret(fuzz *f, const ir_program *p, uint32_t n,
                      const fuzz_arg *a) {
  interp_options limit = fuzz_run_options(f);
  interp_arg want[GEN_MAX_TENSORS];
  interp_error e;
  for (uint32_t i = 0; i < n; i++)
    want[i] = (interp_arg){a[i].want, a[i].size * ir_dtype_bytes(a[i].t)};
  fuzz_watch_calls(f, &limit);
  if (!interp_run(&f->in, p, n, want, &limit, &e)) return true;
  if (e.fault == INTERP_LIMIT)
    return f->counts.skipped[FUZZ_NATIVE_LIMIT]++, false;
  fuzz_wrong(f, "in native arithmetic it does not run:");
  interp_error_text(p, &e, &f->report);
  return false;
}

bool fuzz_check_compiled(fuzz *f) {
  ir_span params = ir_entry(&f->base)->params;
  fuzz_arg a[GEN_MAX_TENSORS];
  bool exact = fuzz_is_exact(f), device = f->o->device != NULL;
  if (start_native(f)) return !f->report.n;
  arena_reset(&f->args);
  values which = !exact                                      ? FRACTIONS
                 : all_integer(&f->base) && fuzz_below(f, 4) ? ANY_INTEGERS
                                                             : EXACT;
  for (uint32_t i = 0; i < params.n; i++)
    make_arg(f, f->base.arg.v[params.at + i], which, &a[i]);
  const target *t = device  ? &f->native->device
                    : exact ? &f->native->t
                            : &f->native->rounds;
  lower_options o = {.vector_bytes = (uint32_t)t->vector_bytes,
                     .no_threads = !device};
  tess_status st = lower(f, &o);
  if (st) return skip(f, st, FUZZ_NATIVE_UNSUPPORTED, FUZZ_NATIVE_LIMIT);
  if (!interpret(f, exact ? &f->s.m.prog : &f->damaged, params.n, a))
    return !f->report.n;
  st = run_compiled(f, t, a, params.n);
  if (st)
    return st == TESS_UNSUPPORTED &&
           skip(f, st, FUZZ_NOT_COMPILED, FUZZ_NOT_COMPILED);
  f->counts.through_llvm += !device;
  f->counts.through_device += device;
  f->counts.any_integers += which == ANY_INTEGERS;
  f->counts.to_the_bit += !exact;
  return compare_args(f, a, params.n, exact ? near : same_bits);
}
