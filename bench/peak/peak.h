/* SPDX-License-Identifier: Apache-2.0
 * Parts of bench/peak: arithmetic kernels, and cycle counting. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/* Peak float32 arithmetic of one instruction set. */
typedef struct peak_isa {
  const char *name;
  uint32_t flops_per_round;  /* of `run`, per round */
  uint32_t flops_per_op;     /* of one instruction */
  bool (*is_present)(void);
  float (*run)(uint64_t rounds);
} peak_isa;

/* Widest first; ends with a row whose name is NULL. */
extern const peak_isa peak_isas[];

/* A count of the calling thread's core cycles: by the kernel's performance
 * counter where it may be read, else none. */
typedef struct peak_counter { int fd; } peak_counter;
peak_counter peak_counter_open(void);
bool peak_counter_works(const peak_counter *c);
uint64_t peak_counter_read(const peak_counter *c);
void peak_counter_close(peak_counter *c);

/* `adds` integer additions in a dependence chain: one core cycle each on every
 * x86-64 so far, so that their time gives the core's frequency. */
uint64_t peak_add_chain(uint64_t adds);
/* The constant-rate time-stamp counter. */
uint64_t peak_tsc(void);

#endif
