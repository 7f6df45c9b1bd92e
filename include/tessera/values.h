/* SPDX-License-Identifier: Apache-2.0
 * Operands of schedule primitives from what C has: tess_v_int(4) is the
 * tess_value that holds 4.  What a pointer leads to is borrowed and must live
 * until the call. */
#ifndef TESSERA_VALUES_H
#define TESSERA_VALUES_H

#include <tessera/tessera.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was left out: the default. */
static inline tess_value tess_v_nil(void) {
  tess_value v = {TESS_V_NIL, 0, 0, 0, NULL, 0, NULL};
  return v;
}

static inline tess_value tess_v_bool(int x) {
  tess_value v = {TESS_V_BOOL, 0, x != 0, 0, NULL, 0, NULL};
  return v;
}

static inline tess_value tess_v_int(int64_t x) {
  tess_value v = {TESS_V_INT, 0, x, 0, NULL, 0, NULL};
  return v;
}

static inline tess_value tess_v_real(double x) {
  tess_value v = {TESS_V_REAL, 0, 0, x, NULL, 0, NULL};
  return v;
}

static inline tess_value tess_v_str(const char *x) {
  tess_value v = {TESS_V_STR, 0, 0, 0, x, 0, NULL};
  return v;
}

/* A block, a loop or a sampled integer. */
static inline tess_value tess_v_rv(tess_rv x) {
  tess_value v = {TESS_V_RV, 0, 0, 0, NULL, x, NULL};
  return v;
}

/* A factor that is left open, to be what the others leave. */
static inline tess_value tess_v_auto(void) {
  tess_value v = {TESS_V_AUTO, 0, 0, 0, NULL, 0, NULL};
  return v;
}

/* Lists of n elements. */
static inline tess_value tess_v_list(uint32_t n, const tess_value *x) {
  tess_value v = {TESS_V_LIST, n, 0, 0, NULL, 0, x};
  return v;
}

static inline tess_value tess_v_rvs(uint32_t n, const tess_rv *x) {
  tess_value v = {TESS_V_RVS, n, 0, 0, (const char *)x, 0, NULL};
  return v;
}

static inline tess_value tess_v_ints(uint32_t n, const int64_t *x) {
  tess_value v = {TESS_V_INTS, n, 0, 0, (const char *)x, 0, NULL};
  return v;
}

static inline tess_value tess_v_reals(uint32_t n, const double *x) {
  tess_value v = {TESS_V_REALS, n, 0, 0, (const char *)x, 0, NULL};
  return v;
}

/* n / 2 keys, each before its value. */
static inline tess_value tess_v_dict(uint32_t n, const tess_value *x) {
  tess_value v = {TESS_V_DICT, n, 0, 0, NULL, 0, x};
  return v;
}

/* op of two integers: + - * // % min max. */
static inline tess_value tess_v_op(const char *op, const tess_value *two) {
  tess_value v = {TESS_V_OP, 2, 0, 0, op, 0, two};
  return v;
}

/* A boolean that may be left out. */
typedef enum tess_choice {
  TESS_DEFAULT, TESS_NO, TESS_YES
} tess_choice;

static inline tess_value tess_v_choice(tess_choice x) {
  return x == TESS_DEFAULT ? tess_v_nil() : tess_v_bool(x == TESS_YES);
}

#ifdef __cplusplus
}
#endif
#endif
