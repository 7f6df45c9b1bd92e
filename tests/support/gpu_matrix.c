/* SPDX-License-Identifier: Apache-2.0
 * Matrix instructions: wmma m16n16k16, mma.sync m16n8k16, ldmatrix.
 *
 * Fragments of mma.sync and matrices of ldmatrix are laid out as the PTX ISA
 * says.  Those of wmma are not documented: here lane l holds elements n l ..
 * n l + n - 1 (modulo 256) of the tile in the order in which it was loaded, so
 * that a product that takes it for the other order is wrong. */
#include "support/gpu_matrix.h"
#include "ir/scalar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { F16, BF16, F32, S8, U8, S32, NKINDS } kind;

static const struct {
  const char *name;
  tess_dtype t;
} kinds[NKINDS] = {
    {"f16", {TESS_DTYPE_FLOAT, 16, 1}}, {"bf16", {TESS_DTYPE_BFLOAT, 16, 1}},
    {"f32", {TESS_DTYPE_FLOAT, 32, 1}}, {"s8", {TESS_DTYPE_INT, 8, 1}},
    {"u8", {TESS_DTYPE_UINT, 8, 1}},    {"s32", {TESS_DTYPE_INT, 32, 1}}};

static uint32_t matrix_size_of(kind k) { return kinds[k].t.bits / 8u; }

/* All values are exact as doubles. */
static double get(kind k, const void *at) {
  if (k == S32) return *(const int32_t *)at;
  if (k == S8) return *(const int8_t *)at;
  if (k == U8) return *(const uint8_t *)at;
  return ir_get_real(kinds[k].t, at);
}

static void put(kind k, double v, void *at) {
  int32_t n = (int32_t)(uint32_t)(int64_t)v;
  if (k == S32)
    memcpy(at, &n, 4);
  else
    ir_put_real(kinds[k].t, v, at);
}

static kind kind_named(const char *name) {
  for (int k = 0; k < NKINDS; k++) {
    size_t n = strlen(kinds[k].name);
    if (!strncmp(name, kinds[k].name, n) && (!name[n] || name[n] == '.'))
      return (kind)k;
  }
  return NKINDS;
}

/* The n-th word of a name with dots. */
static const char *word(const char *name, int n) {
  while (n-- > 0 && name) {
    name = strchr(name, '.');
    if (name) name++;
  }
  return name ? name : "";
}

/* ---- wmma --------------------------------------------------------------- */

enum { TILE = 16, ALL = TILE * TILE };

/* How many elements a lane holds of an operand. */
static uint32_t held(kind k, char operand) {
  return k == F16 && (operand == 'a' || operand == 'b') ? 16 : 8;
}

/* Element j of a lane's part, as a place in memory order. */
static uint32_t place_in_tile(uint32_t lane, uint32_t j, uint32_t n) {
  return (lane * n + j) % ALL;
}

static void *address_of(void **args, uint32_t i) {
  void *at;
  memcpy(&at, args[i], sizeof at);
  return at;
}

static uint32_t word_of(void **args, uint32_t i) {
  uint32_t v;
  memcpy(&v, args[i], 4);
  return v;
}

static bool is_shared(const gpu_module *m, const char *at) {
  bool in = at >= m->dynamic && at < m->dynamic + GPU_DYNAMIC;
  for (uint32_t i = 0; i < m->nshared; i++)
    in |= at >= m->shared[i].at && at < m->shared[i].at + m->shared[i].bytes;
  return in;
}

static bool check_rows(gpu_module *m, const char *at, size_t step, size_t bytes,
                       bool writes) {
  bool shared = is_shared(m, at);
  for (size_t r = 0; r < TILE; r++)
    if (!gpu_check(m, at + r * step, bytes, shared)) return false;
  if ((uintptr_t)at % 16 || step % 16) {
    gpu_fault(m, "a matrix whose rows are not at multiples of 16 bytes");
    return false;
  }
  gpu_counts *c = m->counts;
  *(shared   ? writes ? &c->shared_written : &c->shared_read
    : writes ? &c->global_written
             : &c->global_read) += TILE * bytes;
  return true;
}

/* wmma.m16n16k16.load.a.row.stride.f16 */
static bool load_tile(gpu_module *m, gpu_thread *lane, const char *name) {
  kind k = kind_named(word(name, 6));
  char *at = address_of(lane->args, 0);
  size_t step = word_of(lane->args, 1) * (size_t)matrix_size_of(k);
  uint32_t n = held(k, *word(name, 3)), size = matrix_size_of(k);
  bool sum = *word(name, 3) == 'c', columns = *word(name, 4) == 'c';
  if (!check_rows(m, at, step, (size_t)TILE * size, false)) return false;
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < n; j++) {
      uint32_t e = place_in_tile(l, j, n);
      if (sum && columns) e = e % TILE * TILE + e / TILE;
      memcpy((char *)lane[l].result + (size_t)j * size,
             at + e / TILE * step + (size_t)(e % TILE) * size, size);
    }
  return true;
}

/* Operands of a lane from `first` on, one a register of 4 bytes. */
static double element(const gpu_thread *t, uint32_t first, kind k, uint32_t j) {
  uint32_t per = 4 / matrix_size_of(k);
  return get(k, (char *)t->args[first + j / per] + j % per * matrix_size_of(k));
}

/* wmma.m16n16k16.store.d.row.stride.f32 */
static bool store_tile(gpu_module *m, gpu_thread *lane, const char *name) {
  kind k = kind_named(word(name, 6));
  uint32_t n = held(k, 'd'), size = matrix_size_of(k);
  uint32_t regs = n * size / 4;
  char *at = address_of(lane->args, 0);
  size_t step = word_of(lane->args, 1 + regs) * (size_t)size;
  bool columns = *word(name, 4) == 'c';
  if (!check_rows(m, at, step, (size_t)TILE * size, true)) return false;
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < n; j++) {
      uint32_t e = place_in_tile(l, j, n);
      if (columns) e = e % TILE * TILE + e / TILE;
      put(k, element(&lane[l], 1, k, j),
          at + e / TILE * step + (size_t)(e % TILE) * size);
    }
  return true;
}

/* The tile that all lanes hold, in the order of memory. */
static void collect(const gpu_thread *lane, uint32_t first, kind k, uint32_t n,
                    bool columns, double out[ALL]) {
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < n; j++) {
      uint32_t e = place_in_tile(l, j, n);
      out[columns ? e % TILE * TILE + e / TILE : e] =
          element(&lane[l], first, k, j);
    }
}

/* wmma.m16n16k16.mma.row.col.f32.f32 (the sum's types), .s8 or .bf16 */
static bool multiply_tiles(gpu_thread *lane, const char *name) {
  kind last = kind_named(word(name, 5)), in = last, out = S32;
  bool half = *word(name, 6) != 0;
  if (half) in = F16, out = last;
  if (in == BF16) out = F32;
  double a[ALL], b[ALL], c[ALL];
  uint32_t n = held(in, 'a'), regs = n * matrix_size_of(in) / 4;
  collect(lane, 0, in, n, *word(name, 3) == 'c', a);
  collect(lane, regs, in, n, *word(name, 4) == 'c', b);
  collect(lane, 2 * regs, out, 8, false, c);
  for (uint32_t i = 0; i < TILE; i++)
    for (uint32_t j = 0; j < TILE; j++) {
      double s = c[i * TILE + j];
      for (uint32_t k = 0; k < TILE; k++)
        s += a[i * TILE + k] * b[k * TILE + j];
      c[i * TILE + j] = s;
    }
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < 8; j++)
      put(out, c[place_in_tile(l, j, 8)],
          (char *)lane[l].result + (size_t)j * matrix_size_of(out));
  return true;
}

/* ---- mma.sync ----------------------------------------------------------- */

/* The element of A, B or C that lane l holds as number j. */
static void place_of(char operand, uint32_t size, uint32_t l, uint32_t j,
                     uint32_t *row, uint32_t *column) {
  uint32_t g = l / 4, t = l % 4;
  if (operand == 'c') {
    *row = g + 8 * (j / 2);
    *column = 2 * t + j % 2;
    return;
  }
  uint32_t wide = 4 / size; /* elements of a register */
  uint32_t r = j / wide, e = j % wide;
  if (operand == 'a') {
    *row = g + 8 * (r % 2);
    *column = wide * t + e + 8 * (r / 2);
  } else {
    *row = wide * t + e + 8 * r;
    *column = g;
  }
}

static void collect_mma(const gpu_thread *lane, char operand, uint32_t first,
                        kind k, uint32_t n, double out[ALL]) {
  uint32_t row, column;
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < n; j++) {
      place_of(operand, matrix_size_of(k), l, j, &row, &column);
      out[row * TILE + column] = element(&lane[l], first, k, j);
    }
}

/* mma.m16n8k16.row.col.f32.f32, .bf16 or .s8 */
static bool multiply_mma(gpu_thread *lane, const char *name) {
  kind last = kind_named(word(name, 4)), in = last, out = S32;
  bool half = *word(name, 5) != 0;
  if (half) in = F16, out = last;
  if (in == BF16) out = F32;
  double a[ALL], b[ALL], c[ALL];
  uint32_t row, column, na = 8 * matrix_size_of(in) / 4, nb = na / 2;
  if (matrix_size_of(in) == 1) na = 2, nb = 1;
  collect_mma(lane, 'a', 0, in, 8, a);
  collect_mma(lane, 'b', na, in, 4, b);
  collect_mma(lane, 'c', na + nb, out, 4, c);
  for (uint32_t l = 0; l < GPU_LANES; l++)
    for (uint32_t j = 0; j < 4; j++) {
      place_of('c', 4, l, j, &row, &column);
      double s = c[row * TILE + column];
      for (uint32_t k = 0; k < TILE; k++)
        s += a[row * TILE + k] * b[k * TILE + column];
      put(out, s, (char *)lane[l].result + (size_t)j * matrix_size_of(out));
    }
  return true;
}

/* ldmatrix.sync.aligned.m8n8.x4[.trans].b16: lanes 8 i .. 8 i + 7 give the
 * rows of matrix i, of which lane l gets elements 2 (l % 4) and the next of row
 * l / 4, or of that column. */
static bool load_matrices(gpu_module *m, gpu_thread *lane, const char *name) {
  uint32_t n = (uint32_t)atoi(word(name, 4) + 1);
  bool trans = *word(name, 5) == 't';
  gpu_access row[8];
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t r = 0; r < 8; r++) {
      char *at = address_of(lane[8 * i + r].args, 0);
      if (!gpu_check(m, at, 16, true)) return false;
      row[r] = (gpu_access){.lane = r, .bytes = 16, .at = (uintptr_t)at};
      if ((uintptr_t)at % 16) {
        gpu_fault(m, "a row of ldmatrix that is not aligned");
        return false;
      }
    }
    m->counts->shared_read += 128;
    m->counts->bank_conflicts += gpu_conflicts(row, 8);
    for (uint32_t l = 0; l < GPU_LANES; l++)
      for (uint32_t e = 0; e < 2; e++) {
        uint32_t r = l / 4, c = l % 4 * 2 + e;
        const char *from = (const char *)row[trans ? c : r].at;
        memcpy((char *)lane[l].result + (size_t)4 * i + (size_t)2 * e,
               from + (size_t)2 * (trans ? r : c), 2);
      }
  }
  return true;
}

/* ---- all of them -------------------------------------------------------- */

bool gpu_matrix(gpu_module *m, gpu_thread *lane, const char *name) {
  if (!strncmp(name, "wmma.m16n16k16.", 15)) {
    char what = *word(name, 2);
    return what == 'l'   ? load_tile(m, lane, name)
           : what == 's' ? store_tile(m, lane, name)
                         : multiply_tiles(lane, name);
  }
  if (!strncmp(name, "mma.m16n8k16.", 13)) return multiply_mma(lane, name);
  if (!strncmp(name, "ldmatrix.", 9)) return load_matrices(m, lane, name);
  gpu_fault(m, "the emulator has no '%s'", name);
  return false;
}
