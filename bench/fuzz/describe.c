/* SPDX-License-Identifier: Apache-2.0
 * Prints the programs of cases, for testers in Lua: bench/dae_random.lua gives
 * them to access-execute machines. */
#include "fuzz/describe.h"
#include "support/bench.h"
#include "random/gen_program.h"

#include <stdio.h>

typedef struct describing {
  mem_heap heap;
  uint64_t seed, number;
  ir_program p;
  strbuf lua;
  err_state err;
} describing;

static tess_status describe_case(void *ud) {
  describing *x = ud;
  gen_options o = {.max_points = 20000,
                   .representable = true,
                   .only_computes = true,
                   .lanes = true,
                   .lua = &x->lua};
  rng r;
  rng_init(&r, x->seed, x->number);
  return gen_program(&r, &o, &x->heap, &x->p, NULL, &x->err);
}

int describe_cases(uint64_t seed, uint64_t first, uint64_t count) {
  describing x = {.seed = seed};
  tess_status st = TESS_OK;
  mem_heap_init(&x.heap, mem_default_allocator, (size_t)1 << 30);
  for (uint64_t k = first; !st && k < first + count; k++) {
    x.number = k;
    ir_program_init(&x.p, &x.heap);
    str_init(&x.lua, &x.heap);
    st = mem_protect(&x.heap, describe_case, &x);
    if (!st) printf("-- case %llu\n%s", (unsigned long long)k, str_get(&x.lua));
    str_free(&x.lua);
    ir_program_free(&x.p);
  }
  if (st)
    bench_say("case %llu: %s", (unsigned long long)x.number, x.err.message);
  return st != TESS_OK;
}
