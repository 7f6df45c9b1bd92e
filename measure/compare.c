/* SPDX-License-Identifier: Apache-2.0
 * Compares outputs with their references, within the error bounds of
 * range.h. */
#include "measure/bench.h"
#include "ir/scalar.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Elements per chunk, for which the poison is generated again. */
enum { CHUNK = 512, MAX_BYTES = 8 };

/* Where rounding errors may be amplified to a jump (a number rounded to the
 * other integer, an argmax among nearly equal values), this many elements of a
 * thousand are exempt.  For small outputs one more may be off by a single jump
 * that is small in relation to the output, so that a wrong kernel cannot
 * pass. */
enum { JUMPS_PER_MILLE = 1, SMALL_STEP = 16 };

typedef struct comparison {
  const bench *b;
  const bench_param *x;
  uint32_t param;
  const char *got, *want;
  double most, rms, bound; /* of the reference: greatest, magnitude */
  double step;             /* that one element may be off by; 0: none may */
  double error;            /* greatest, as a fraction of |want| + rms */
  uint64_t worst;          /* element */
  uint64_t wrong;          /* elements beyond the bound */
  uint64_t near;           /* of these, not more than a step beyond */
  bool is_part;            /* the reference was not written whole */
} comparison;

typedef void (*look_fn)(comparison *c, uint64_t i, double got, double want);

static double element_value(tess_dtype t, const char *at) {
  if (ir_is_float(t)) return ir_get_real(t, at);
  double v = (double)ir_get_int(t, at);
  bool wrapped = t.code == TESS_DTYPE_UINT && t.bits == 64 && v < 0;
  return wrapped ? v + 0x1p64 : v;
}

/* Calls `look` for every element that the reference wrote, or for those whose
 * bits differ, of a part of those that it wrote; some 16-bit results equal the
 * poison and are skipped with them. */
static void visit_elements(comparison *c, bool all, look_fn look) {
  uint64_t words[CHUNK * MAX_BYTES / sizeof(uint64_t)];
  const char *poison = (const char *)words;
  size_t size = ir_dtype_bytes(c->x->dtype);
  for (uint64_t i = 0; i < c->x->n; i++) {
    uint64_t in_chunk = i % CHUNK;
    size_t at = (size_t)i * size;
    if (!in_chunk) fill_poison(words, at, CHUNK * size, c->b->seed, c->param);
    bool same = !memcmp(c->got + at, c->want + at, size);
    bool unwritten = !c->x->in_place &&
                     !memcmp(c->want + at, poison + in_chunk * size, size);
    if (all ? unwritten : same || (c->is_part && unwritten)) continue;
    look(c, i, element_value(c->x->dtype, c->got + at),
         element_value(c->x->dtype, c->want + at));
  }
}

static void find_most(comparison *c, uint64_t i, double got, double want) {
  (void)i, (void)got;
  if (isfinite(want) && fabs(want) > c->most) c->most = fabs(want);
}

static void add_square(comparison *c, uint64_t i, double got, double want) {
  (void)i, (void)got;
  if (isfinite(want)) c->rms += want / c->most * (want / c->most);
}

/* The root mean square of the reference, scaled so that no square overflows. */
static void find_rms(comparison *c) {
  visit_elements(c, true, find_most);
  if (c->most == 0) return;
  visit_elements(c, true, add_square);
  c->rms = c->most * sqrt(c->rms / (double)c->x->n);
}

static double relative_difference(const comparison *c, double got,
                                  double want) {
  bool is_float = ir_is_float(c->x->dtype);
  if (is_float && (got == want || (isnan(got) && isnan(want)))) return 0;
  if (!isfinite(got) || !isfinite(want)) return INFINITY;
  double scale = fabs(want) / 2 + c->rms / 2; /* finite */
  double gap = fabs(got / 2 - want / 2);
  if (!is_float && gap < .5) gap = .5; /* beyond 2^53 the last bits are lost */
  return scale > 0 ? gap / scale : INFINITY;
}

static double step_at(const comparison *c, double want) {
  return c->step > 0 ? c->step + c->bound * (fabs(want) + c->rms) : 0;
}

static void visit_difference(comparison *c, uint64_t i, double got,
                             double want) {
  double d = relative_difference(c, got, want);
  if (d > c->bound) c->wrong++;
  if (d > c->bound && fabs(got - want) <= step_at(c, want)) c->near++;
  if (d > c->error) c->error = d, c->worst = i;
}

/* "[3, 17]" */
static void put_index(const bench_param *x, uint64_t i, char *out, size_t n) {
  int64_t at[16];
  for (uint32_t d = x->ndim; d-- > 0;) {
    at[d] = (int64_t)(i % (uint64_t)x->shape[d]);
    i /= (uint64_t)x->shape[d];
  }
  size_t used = 0;
  out[0] = '\0';
  for (uint32_t d = 0; d < x->ndim && used + 24 < n; d++)
    used += (size_t)snprintf(out + used, n - used, "%s%lld", d ? ", " : "[",
                             (long long)at[d]);
  if (used) snprintf(out + used, n - used, "]");
}

static tess_status report_worst(const comparison *c, err_state *e) {
  char at[400];
  const bench_param *x = c->x;
  size_t byte = (size_t)c->worst * ir_dtype_bytes(x->dtype);
  put_index(x, c->worst, at, sizeof at);
  return err_set(e, TESS_WRONG_RESULT,
                 "%s%s is %.9g, not %.9g; %llu of %llu elements differ by "
                 "more than %.2g of the magnitude",
                 x->name, at, element_value(x->dtype, c->got + byte),
                 element_value(x->dtype, c->want + byte),
                 (unsigned long long)c->wrong, (unsigned long long)x->n,
                 c->bound);
}

/* The jump that changes the norm of the output by little. */
static double small_step(const comparison *c) {
  const range_fact *f = &c->x->fact;
  double norm = c->rms * sqrt((double)c->x->n);
  bool is_small = isfinite(f->step) && f->step * SMALL_STEP <= norm;
  return f->jumps && is_small ? f->step : 0;
}

static bool is_within_bound(const comparison *c) {
  if (!c->x->fact.jumps) return c->wrong == 0;
  uint64_t anything = c->x->n / 1000 * JUMPS_PER_MILLE;
  return c->wrong - c->near <= anything && c->wrong <= anything + (c->near > 0);
}

static tess_status compare_param(comparison *c, err_state *e) {
  const bench_param *x = c->x;
  c->bound = range_bound(&x->fact);
  if (!memcmp(c->got, c->want, x->bytes)) return TESS_OK;
  find_rms(c);
  c->step = small_step(c);
  visit_elements(c, false, visit_difference);
  return is_within_bound(c) ? TESS_OK : report_worst(c, e);
}

static tess_status compare_all(const bench *b, bool is_part, double *error,
                               double *bound, err_state *e) {
  *error = *bound = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    const bench_param *x = &b->param[i];
    if (!x->written) continue;
    comparison c = {.b = b,
                    .x = x,
                    .param = i,
                    .got = x->mem.data,
                    .want = b->reference.data + x->reference,
                    .is_part = is_part};
    tess_status s = compare_param(&c, e);
    if (c.error > *error) *error = c.error;
    if (c.bound > *bound) *bound = c.bound;
    if (s) return s;
  }
  return TESS_OK;
}

tess_status bench_compare(const bench *b, double *error, double *bound,
                          err_state *e) {
  return compare_all(b, false, error, bound, e);
}

tess_status bench_compare_part(const bench *b, err_state *e) {
  double error, bound;
  return compare_all(b, true, &error, &bound, e);
}

static void count_special(comparison *c, uint64_t i, double got, double want) {
  (void)i, (void)got;
  c->wrong += !isfinite(want);
}

uint64_t bench_count_special(const bench *b, uint32_t i) {
  const bench_param *x = &b->param[i];
  if (!x->written || !ir_is_float(x->dtype)) return 0;
  comparison c = {.b = b, .x = x, .param = i};
  c.got = c.want = b->reference.data + x->reference;
  visit_elements(&c, true, count_special);
  return c.wrong;
}
