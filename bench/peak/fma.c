/* SPDX-License-Identifier: Apache-2.0
 * Fourteen independent chains of multiply-adds in registers: more than
 * latency times ports of any core, and with two operands they just fill the
 * 16 registers of AVX2.  The value stays near 1, so nothing is subnormal. */
#include "peak/peak.h"

#include <immintrin.h>

#define CHAINS(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
enum { N_CHAINS = 14 };

/* Keeps a value in a register, and the optimiser from folding the loop. */
#define OPAQUE(v) __asm__ volatile("" : "+v"(v))

__attribute__((target("avx512f"))) static float run_avx512(uint64_t rounds) {
  __m512 m = _mm512_set1_ps(0.5f), c = _mm512_set1_ps(0.5f);
#define START(i) __m512 a##i = _mm512_set1_ps(1.0f + 0x1p-10f * (i));
#define STEP(i) a##i = _mm512_fmadd_ps(a##i, m, c);
#define SUM(i) sum = _mm512_add_ps(sum, a##i);
  CHAINS(START)
  OPAQUE(m);
  for (uint64_t r = 0; r < rounds; r++) {
    CHAINS(STEP)
    OPAQUE(c);
  }
  __m512 sum = _mm512_setzero_ps();
  CHAINS(SUM)
  return _mm512_cvtss_f32(sum);
#undef START
#undef STEP
#undef SUM
}

__attribute__((target("avx2,fma"))) static float run_avx2(uint64_t rounds) {
  __m256 m = _mm256_set1_ps(0.5f), c = _mm256_set1_ps(0.5f);
#define START(i) __m256 a##i = _mm256_set1_ps(1.0f + 0x1p-10f * (i));
#define STEP(i) a##i = _mm256_fmadd_ps(a##i, m, c);
#define SUM(i) sum = _mm256_add_ps(sum, a##i);
  CHAINS(START)
  OPAQUE(m);
  for (uint64_t r = 0; r < rounds; r++) {
    CHAINS(STEP)
    OPAQUE(c);
  }
  __m256 sum = _mm256_setzero_ps();
  CHAINS(SUM)
  return _mm256_cvtss_f32(sum);
#undef START
#undef STEP
#undef SUM
}

/* Without fused operations: a product and a sum, one after the other. */
static float run_sse(uint64_t rounds) {
  __m128 m = _mm_set1_ps(0.5f), c = _mm_set1_ps(0.5f);
#define START(i) __m128 a##i = _mm_set1_ps(1.0f + 0x1p-10f * (i));
#define STEP(i) a##i = _mm_add_ps(_mm_mul_ps(a##i, m), c);
#define SUM(i) sum = _mm_add_ps(sum, a##i);
  CHAINS(START)
  OPAQUE(m);
  for (uint64_t r = 0; r < rounds; r++) {
    CHAINS(STEP)
    OPAQUE(c);
  }
  __m128 sum = _mm_setzero_ps();
  CHAINS(SUM)
  return _mm_cvtss_f32(sum);
#undef START
#undef STEP
#undef SUM
}

static bool has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static bool has_sse(void) { return true; }

const peak_isa peak_isas[] = {
    {"avx512", N_CHAINS * 32, 32, has_avx512, run_avx512},
    {"avx2", N_CHAINS * 16, 16, has_avx2, run_avx2},
    {"sse", N_CHAINS * 8, 4, has_sse, run_sse},
    {NULL, 0, 0, NULL, NULL},
};
