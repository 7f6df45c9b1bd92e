/* SPDX-License-Identifier: Apache-2.0
 * Faults made on purpose, to see that the tester finds them.  They are
 * numbered: damage done to programs (support/fuzz.h); wrong rewrites
 * (faults.txt); one for each reason to refuse, which is overlooked; and the
 * wrong rewrites of lowering (faults.txt).  All but the first sort need the
 * program fuzz-faults, beside this one. */
#ifndef BENCH_FUZZ_FAULTS_H
#define BENCH_FUZZ_FAULTS_H

#include "support/fuzz.h"

/* A fault by its number or the name of a reason.  Where this program does not
 * have it, the other one takes over: argv is its own. */
uint32_t faults_find(char **argv, const char *text);
/* The other program takes over where this one has no faults. */
void faults_here(char **argv);
uint32_t faults_count(void);
const char *faults_text(uint32_t fault);
/* The row of faults.txt that it is; 0: none.  Whether lowering has it. */
uint32_t faults_row(uint32_t fault);
bool faults_lower(uint32_t fault);
/* From now on the fault is there; 0: none.  How often it mattered is counted
 * in *hits. */
void faults_arm(uint32_t fault, uint64_t *hits, fuzz_options *o);
/* Looks for each of them (for `only`, if that is not 0) in so many seconds,
 * prints a table, and gives the exit status: 0 when each is found, or is
 * known not to be findable. */
int faults_hunt(uint64_t seed, uint32_t jobs, uint32_t seconds,
                uint32_t only);

#endif
