/* SPDX-License-Identifier: Apache-2.0
 * Properties of the trace parsers, for their fuzz targets. */
#ifndef FUZZ_FUZZ_TRACE_H
#define FUZZ_FUZZ_TRACE_H

#include "fuzz/fuzz.h"
#include "vm/text/text.h"
#include "vm/text/tvm.h"

typedef enum fuzz_text { FUZZ_JSON, FUZZ_LUA, FUZZ_TVM } fuzz_text;

static inline tess_status fuzz_init(void *ud) {
  vm_trace *t = ud;
  vm_trace_init(t, t->heap);
  return TESS_OK;
}

/* Reads `text` (n bytes) into an initialised trace. */
static inline tess_status fuzz_read(vm_trace *t, const char *text, size_t n,
                                    fuzz_text form) {
  err_state err;
  err_clear(&err);
  tess_status st = form == FUZZ_LUA   ? vm_read_lua(t, text, n, &err)
                   : form == FUZZ_TVM ? vm_read_tvm(t, text, n, &err)
                                      : vm_read_json(t, text, n, NULL, &err);
  FUZZ_ASSERT(st == err.code);
  FUZZ_ASSERT(st == TESS_OK || (err.message[0] && t->inst.n == 0));
  return st;
}

/* How many instructions are no remarks. */
static inline uint32_t fuzz_acts(const vm_trace *t) {
  uint32_t n = 0;
  for (const vm_inst *in = NULL; (in = vm_next_act(t, in));) n++;
  return n;
}

/* A parsed trace round-trips. */
static inline void fuzz_again(const vm_trace *t, fuzz_text form) {
  vm_trace back = {.heap = t->heap};
  strbuf text;
  str_init(&text, t->heap);
  FUZZ_ASSERT(mem_protect(t->heap, fuzz_init, &back) == TESS_OK);
  if (form == FUZZ_LUA)
    vm_write_lua(t, &text);
  else
    vm_write_json(t, NULL, &text);
  FUZZ_ASSERT(str_get(&text));
  FUZZ_ASSERT(fuzz_read(&back, str_get(&text), text.n, form) == TESS_OK);
  FUZZ_ASSERT(vm_trace_equal(t, &back) && t->inst.n == back.inst.n);
  FUZZ_ASSERT(vm_trace_hash(t) == vm_trace_hash(&back));
  vm_trace_free(&back);
  str_free(&text);
}

/* TVM cannot express every trace; what it can round-trips, but for remarks,
 * which stay behind.  (Index maps come back simplified.) */
static inline void fuzz_as_tvm(const vm_trace *t) {
  vm_trace back = {.heap = t->heap};
  strbuf text;
  err_state err;
  str_init(&text, t->heap);
  FUZZ_ASSERT(mem_protect(t->heap, fuzz_init, &back) == TESS_OK);
  tess_status st = vm_write_tvm(t, &text, &err);
  FUZZ_ASSERT(st == TESS_OK || (st == TESS_UNSUPPORTED && err.message[0]));
  if (!st) {
    FUZZ_ASSERT(fuzz_read(&back, str_get(&text), text.n, FUZZ_TVM) == TESS_OK);
    FUZZ_ASSERT(back.inst.n == fuzz_acts(t) && back.rv.n == t->rv.n);
  }
  vm_trace_free(&back);
  str_free(&text);
}

static inline void fuzz_trace(const char *text, size_t n, fuzz_text form) {
  mem_heap heap;
  mem_heap_init(&heap, mem_default_allocator, 0);
  vm_trace t = {.heap = &heap};
  FUZZ_ASSERT(mem_protect(&heap, fuzz_init, &t) == TESS_OK);
  if (fuzz_read(&t, text, n, form) == TESS_OK) {
    fuzz_again(&t, FUZZ_JSON);
    fuzz_again(&t, FUZZ_LUA);
    fuzz_as_tvm(&t);
  }
  vm_trace_free(&t);
  FUZZ_ASSERT(heap.used == 0);
}

#endif
