/* SPDX-License-Identifier: Apache-2.0
 * Which faults there are. */
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

static bool is_number(const char *text) {
  return *text && strspn(text, "0123456789") == strlen(text);
}

uint32_t faults_find(char **argv, const char *text) {
  uint64_t n = is_number(text) ? strtoull(text, NULL, 10) : UINT64_MAX;
  if (n <= FUZZ_FAULTS) return (uint32_t)n;
  faults_here(argv);
  for (uint32_t r = 1; r < SCH_R_COUNT; r++)
    if (!strcmp(sch_reason_name((sch_reason)r), text))
      return FUZZ_FAULTS + faulty_rows() + r;
  return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint32_t faults_count(void) {
  return FUZZ_FAULTS + (faulty_is_here() ? faulty_rows() + SCH_R_COUNT - 1 : 0);
}

const char *faults_text(uint32_t fault) {
  if (fault <= FUZZ_FAULTS) return fuzz_fault_text(fault);
  fault -= FUZZ_FAULTS;
  return fault <= faulty_rows()
             ? faulty_row_text(fault)
             : sch_reason_name((sch_reason)(fault - faulty_rows()));
}

void faults_arm(uint32_t fault, uint64_t *hits, fuzz_options *o) {
  faulty = (faulty_state){.hits = hits};
  o->fault = fault <= FUZZ_FAULTS ? fault : 0;
  o->hits = NULL;
  o->reason = 0;
  o->about = NULL;
  if (fault <= FUZZ_FAULTS) return;
  o->hits = hits;
  o->about = strchr(faults_text(fault), ':') ? faults_text(fault) : NULL;
  fault -= FUZZ_FAULTS;
  if (fault <= faulty_rows())
    faulty.row = fault;
  else
    o->reason = faulty.reason = fault - faulty_rows();
}
