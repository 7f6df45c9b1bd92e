/* SPDX-License-Identifier: Apache-2.0
 * The catalogue of seeded faults. */
#include "fuzz/faults.h"

#include "fuzz/faulty.h"
#include "support/bench.h"

#include <stdlib.h>
#include <unistd.h>

void faults_here(char **argv) {
  char path[4096];
  if (faulty_is_here()) return;
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
  if (n > 0) {
    memcpy(path + n, "-faults", sizeof "-faults");
    execv(path, argv);
  }
  bench_say("%s is not there: it has the faults", n > 0 ? path : "fuzz-faults");
  exit(2);
}

static bool is_decimal(const char *text) {
  return *text && strspn(text, "0123456789") == strlen(text);
}

uint32_t faults_find(char **argv, const char *text) {
  uint64_t n = is_decimal(text) ? strtoull(text, NULL, 10) : UINT64_MAX;
  if (n <= FUZZ_FAULTS) return (uint32_t)n;
  faults_here(argv);
  for (uint32_t r = 1; r < SCH_R_COUNT; r++)
    if (!strcmp(sch_reason_name((sch_reason)r), text))
      return FUZZ_FAULTS + faulty_rewrites() + r;
  return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint32_t faults_count(void) {
  return FUZZ_FAULTS + (faulty_is_here() ? faulty_rows() + SCH_R_COUNT - 1 : 0);
}

/* The first number after the refusal reasons. */
static uint32_t first_lowering(void) {
  return FUZZ_FAULTS + faulty_rewrites() + SCH_R_COUNT;
}

bool faults_lower(uint32_t fault) {
  return faulty_is_here() && fault >= first_lowering();
}

uint32_t faults_row(uint32_t fault) {
  if (faults_lower(fault))
    return faulty_rewrites() + 1 + fault - first_lowering();
  bool row = fault > FUZZ_FAULTS && fault <= FUZZ_FAULTS + faulty_rewrites();
  return row ? fault - FUZZ_FAULTS : 0;
}

const char *faults_text(uint32_t fault) {
  if (fault <= FUZZ_FAULTS) return fuzz_fault_text(fault);
  uint32_t row = faults_row(fault);
  return row ? faulty_row_text(row)
             : sch_reason_name(
                   (sch_reason)(fault - FUZZ_FAULTS - faulty_rewrites()));
}

void faults_arm(uint32_t fault, uint64_t *hits, fuzz_options *o) {
  faulty = (faulty_state){.hits = hits};
  o->fault = fault <= FUZZ_FAULTS ? fault : 0;
  o->hits = NULL;
  o->lowering = false;
  o->reason = 0;
  o->about = NULL;
  if (fault <= FUZZ_FAULTS) return;
  o->hits = hits;
  o->lowering = faults_lower(fault);
  o->about = strchr(faults_text(fault), ':') ? faults_text(fault) : NULL;
  faulty.row = faults_row(fault);
  if (!faulty.row)
    o->reason = faulty.reason = fault - FUZZ_FAULTS - faulty_rewrites();
}
