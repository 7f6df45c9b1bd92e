/* SPDX-License-Identifier: Apache-2.0
 * Lowers mathematical intrinsics to arithmetic that vectorizes, since a call
 * of libm would not.  No fused operations are used, so that results do not
 * depend on whether the machine has them.
 *
 * The functions are in lower/math_*.c.  Zeros have the sign that C says, and
 * not-a-number, infinities and subnormals give and are what they do there.  How
 * far results are off, in ulp, is in mapped_fns of tests/support/mapped.c,
 * which tests/backends/test_llvm_math*.c check, and in docs/describing.md. */
#include "ir/edit.h"
#include "lower/math_build.h"

static ir_expr expand_rsqrt(math *m, ir_expr x) {
  return math_div(m, math_real(m, 1), call1(m, IR_FN_SQRT, x));
}

static ir_expr (*const expansions[IR_FN_COUNT])(math *m, ir_expr x) = {
    [IR_FN_EXP] = lower_expand_exp,     [IR_FN_EXPM1] = lower_expand_expm1,
    [IR_FN_LOG] = lower_expand_log,     [IR_FN_LOG1P] = lower_expand_log1p,
    [IR_FN_SINH] = lower_expand_sinh,   [IR_FN_COSH] = lower_expand_cosh,
    [IR_FN_TANH] = lower_expand_tanh,   [IR_FN_SIGMOID] = lower_expand_sigmoid,
    [IR_FN_ASINH] = lower_expand_asinh, [IR_FN_ACOSH] = lower_expand_acosh,
    [IR_FN_ATANH] = lower_expand_atanh, [IR_FN_SIN] = lower_expand_sin,
    [IR_FN_COS] = lower_expand_cos,     [IR_FN_TAN] = lower_expand_tan,
    [IR_FN_ASIN] = lower_expand_asin,   [IR_FN_ACOS] = lower_expand_acos,
    [IR_FN_ATAN] = lower_expand_atan,   [IR_FN_ERF] = lower_expand_erf,
    [IR_FN_ERFC] = lower_expand_erfc,   [IR_FN_RSQRT] = expand_rsqrt,
};

static ir_expr expand_intrin(ir_program *p, const ir_node *n, const ir_expr *a,
                             void *ud) {
  (void)ud;
  if (n->op != IR_CALL || n->dtype.code != TESS_DTYPE_FLOAT ||
      n->dtype.bits < 32)
    return 0;
  math m = {p, n->dtype};
  if (n->a == IR_FN_POW) return lower_expand_pow(&m, a[0], a[1]);
  return expansions[n->a] ? expansions[n->a](&m, a[0]) : 0;
}

LOWER_PASS(lower_intrin) {
  (void)e;
  if (!o->keep_math) lower_map(p, scratch, expand_intrin, NULL);
  return TESS_OK;
}
