/* SPDX-License-Identifier: Apache-2.0
 * Core cycles: from the kernel's counter, or inferred from a chain of adds. */
#include "peak/peak.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

peak_counter peak_counter_open(void) {
  struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                              .size = sizeof a,
                              .config = PERF_COUNT_HW_CPU_CYCLES,
                              .exclude_kernel = 1,
                              .exclude_hv = 1};
  return (peak_counter){(int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0)};
}

/* A counter may open and yet stay at 0, as on some virtual machines. */
bool peak_counter_works(const peak_counter *c) {
  if (c->fd < 0) return false;
  uint64_t before = peak_counter_read(c);
  peak_add_chain(100000);
  return peak_counter_read(c) - before > 50000;
}

uint64_t peak_counter_read(const peak_counter *c) {
  uint64_t n = 0;
  if (c->fd < 0 || read(c->fd, &n, sizeof n) != sizeof n) return 0;
  return n;
}

void peak_counter_close(peak_counter *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}

uint64_t peak_add_chain(uint64_t adds) {
  uint64_t x = 0, step = 1;
  for (uint64_t i = 0; i < adds / 16; i++)
    __asm__ volatile(".rept 16\n\tadd %1, %0\n\t.endr"
                     : "+r"(x)
                     : "r"(step)
                     : "cc");
  return x;
}

uint64_t peak_tsc(void) { return __rdtsc(); }
