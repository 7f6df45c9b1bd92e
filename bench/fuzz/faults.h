/* SPDX-License-Identifier: Apache-2.0
 * Mutation testing of the random tester: faults seeded on purpose.  They are
 * numbered: damage to programs (random/fuzz.h); wrong rewrites (faults.txt);
 * one for each refusal reason, whose check is skipped; and wrong rewrites of
 * lowering (faults.txt).  All but the first sort need the program fuzz-faults,
 * beside this one. */
#ifndef BENCH_FUZZ_FAULTS_H
#define BENCH_FUZZ_FAULTS_H

#include "random/fuzz.h"

/* A fault by its number or the name of a reason.  Where this program does not
 * have it, the other one is executed: argv is its own. */
uint32_t faults_find(char **argv, const char *text);
/* Executes the other program where this one has no faults. */
void faults_here(char **argv);
uint32_t faults_count(void);
const char *faults_text(uint32_t fault);
/* The row of faults.txt of that fault; 0: none.  Is it lowering's? */
uint32_t faults_row(uint32_t fault);
bool faults_lower(uint32_t fault);
/* Activates a fault; 0: none.  *hits counts how often it had an effect. */
void faults_arm(uint32_t fault, uint64_t *hits, fuzz_options *o);
/* Searches for each of them (for `only`, if that is not 0) within so many
 * seconds, prints a table, and returns the exit status: 0 when each is found,
 * or is known to be equivalent. */
int faults_hunt(uint64_t seed, uint32_t jobs, uint32_t seconds,
                uint32_t only);

#endif
