/* SPDX-License-Identifier: Apache-2.0
 * A scheduler with seeded faults: copies of schedule/, and of sources of
 * lowering (mutate.lua), in which single checks can be skipped and single
 * rewrites be wrong.  Only the program fuzz-faults links them; for all others
 * there are none. */
#ifndef BENCH_FUZZ_FAULTY_H
#define BENCH_FUZZ_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

/* The active fault: a skipped refusal reason, or a row of faults.txt; 0: none. 
 * `hits` counts how often it changed something, or may have. */
typedef struct faulty_state {
  uint32_t reason, row;
  uint64_t *hits;
} faulty_state;
extern faulty_state faulty;

static inline bool faulty_is(bool on) {
  if (on)
    ++*faulty.hits;
  return on;
}
static inline bool faulty_row(uint32_t row) {
  return faulty_is(faulty.row == row);
}
#define sch_check(st, why, ...)                                             \
  (faulty_is(faulty.reason == (uint32_t)(why)) ||                           \
   sch_refuse(st, why, __VA_ARGS__))
#define faulty_note(...) sch_refuse(__VA_ARGS__)
#define faulty_passes(st) faulty_is(faulty.reason == (st)->refusal.reason)

/* Is this the program with faults?  Its number of rows, of which the last ones,
 * after faulty_rewrites(), are lowering's. */
bool faulty_is_here(void);
uint32_t faulty_rows(void), faulty_rewrites(void);
const char *faulty_row_text(uint32_t row);

#endif
