/* SPDX-License-Identifier: Apache-2.0
 * Fills tensors with contents that depend on (how, dtype, seed, stream)
 * alone. */
#ifndef MEASURE_TENSOR_FILL_H
#define MEASURE_TENSOR_FILL_H

#include "ir/ir.h"

typedef enum fill_how {
  FILL_EMPTY, /* left as it is */
  FILL_ZEROS,
  FILL_RANDOM,   /* floats: uniform in [0, 1); integers: 0 .. 7 */
  FILL_INTEGERS, /* -range .. range, or 0 .. range where unsigned */
  FILL_SIGNED    /* floats: uniform in [-1, 1); integers: 0 .. 7 */
} fill_how;

enum { FILL_RANGE = 4 }; /* of "integers" as the public header means it */

/* "empty" "zeros" "random" "integers"; false: no such. */
bool fill_parse(const char *text, fill_how *out);

/* n elements of type t at `data`. */
void fill_elements(void *data, tess_dtype t, uint64_t n, fill_how how,
                   int64_t range, uint64_t seed, uint64_t stream);
/* Integers least .. below - 1, for values that are used as indices; in the
 * order that `holds` (IR_HOLDS_*) says: rows of about equal length for
 * offsets. */
void fill_within(void *data, tess_dtype t, uint64_t n, int64_t least,
                 int64_t below, uint8_t holds, uint64_t seed, uint64_t stream);
/* Poison for outputs, which no computation is likely to give: bytes `from` ..
 * from + bytes - 1 of a stream, `from` a multiple of 8. */
void fill_poison(void *data, uint64_t from, size_t bytes, uint64_t seed,
                 uint64_t stream);
/* Whether every byte is poison still (from byte 0). */
bool fill_is_poison(const void *data, size_t bytes, uint64_t seed,
                    uint64_t stream);

#endif
