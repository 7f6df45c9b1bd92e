/* SPDX-License-Identifier: Apache-2.0
 * Streams of decoupled access-execute machines, written by hand. */
#include "support/dae.h"
#include <stdlib.h>

static const char text[] =
    "name=test,clock=100,fetch=1,matrix.k=16,matrix.n=16,matrix.interval=1,"
    "matrix.depth=4,matrix.preload=0,matrix.call=dae_gemm,vector.interval=2,"
    "vector.depth=4,buffer.inp=32768,buffer.wgt=262144,buffer.acc=131072,"
    "buffer.uop=32768,store.acc=0,queue.load=8,queue.compute=8,queue.store=8,"
    "tokens=8,"
    "memory.bus=8,memory.latency=10,memory.burst=0,memory.beats=256,"
    "memory.priority=0,word.load=load,word.store=store,word.gemm=gemm,"
    "word.finish=finish,word.alu=alu,word.preload=preload";

const dae_machine *dae_test_machine(dae_machine *out) {
  err_state e;
  err_clear(&e);
  if (dae_machine_parse(out, text, &e)) abort();
  return out;
}

void dae_case_start(dae_case *x, mem_heap *heap) {
  *x = (dae_case){.heap = heap, .bytes = 1 << 20};
  dae_test_machine(&x->m);
  arena_init(&x->a, heap);
  x->s.uop_dram = 1 << 18;
}

void dae_case_end(dae_case *x) {
  dae_stream_free(x->heap, &x->s);
  arena_free(&x->a);
}

static uint32_t append(dae_case *x, dae_insn i) {
  vec_push(x->heap, &x->s.insn, i);
  return x->s.insn.n - 1;
}

uint32_t dae_case_load(dae_case *x, dae_memory mem, uint32_t sram,
                       uint32_t dram, uint32_t n) {
  return append(x, (dae_insn){.op = DAE_LOAD,
                              .mem = (uint8_t)mem,
                              .sram = sram,
                              .dram = dram,
                              .y = 1,
                              .x = n,
                              .stride = n});
}

uint32_t dae_case_store(dae_case *x, uint32_t sram, uint32_t dram, uint32_t n) {
  return append(x, (dae_insn){.op = DAE_STORE,
                              .mem = DAE_OUT,
                              .sram = sram,
                              .dram = dram,
                              .y = 1,
                              .x = n,
                              .stride = n});
}

uint32_t dae_case_uops(dae_case *x, uint32_t n, const dae_uop *u) {
  uint32_t at = x->s.uop.n;
  for (uint32_t i = 0; i < n; i++)
    vec_push(x->heap, &x->s.uop, dae_encode_uop(&x->m, &u[i]));
  return dae_case_load(x, DAE_UOP, at, x->s.uop_dram + at, n);
}

uint32_t dae_case_gemm(dae_case *x, uint32_t uop, uint32_t n) {
  return append(x, (dae_insn){.op = DAE_GEMM,
                              .uop_bgn = uop,
                              .uop_end = uop + 1,
                              .iter = {1, n}});
}

void dae_case_find(dae_case *x) {
  err_state e;
  err_clear(&e);
  if (dae_find_needs(&x->m, &x->s, x->bytes, &x->a, &x->needs, &e)) abort();
}

void dae_case_order(dae_case *x) {
  dae_case_find(x);
  dae_insert_tokens(&x->m, &x->s, x->heap, x->needs, &x->a);
  dae_case_find(x);
}
