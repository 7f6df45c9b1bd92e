/* SPDX-License-Identifier: Apache-2.0
 * Any bytes behind a valid header: ir_restore refuses them with a message, or
 * gives a program on which all queries work and which round-trips. */
#include "fuzz/fuzz.h"
#include "ir/edit.h"
#include "ir/query.h"

#include "base/hash.h"
#include "ir/ir.h"

enum { HEADER = 32 };

typedef struct work {
  mem_heap heap;
  arena scratch;
  ir_program p, q;
  strbuf why, bytes, text;
  const char *in;
  size_t n;
} work;

static void put64(char *at, uint64_t v) {
  for (int i = 0; i < 8; i++) at[i] = (char)(v >> 8 * i);
}

/* Only the header is repaired: the payload is what is tested. */
static char *seal(work *w, const uint8_t *data, size_t size) {
  size_t n = size < HEADER ? HEADER : size;
  char *v = arena_zalloc(&w->scratch, n);
  memcpy(v, data, size);
  memcpy(v, "TESSPROG\3\0\0\0\0\0\0\0", 16);
  put64(v + 16, n - HEADER);
  put64(v + 24, hash_bytes(v + HEADER, n - HEADER));
  w->n = n;
  return v;
}

static void copy_statements(work *w) {
  ir_program *p = &w->p;
  ir_stmt root = ir_entry(p)->root;
  ir_subst s;
  ir_subst_init(&s, p, &w->scratch);
  for (ir_stmt c = ir_st(p, root)->body; c; c = ir_st(p, c)->next)
    ir_kill(p, ir_clone_stmt(&s, c, "_copy"));
  FUZZ_ASSERT(ir_verify(p, &w->scratch, &w->why));
}

static tess_status program_use(void *ud) {
  work *w = ud;
  ir_program_init(&w->p, &w->heap);
  ir_program_init(&w->q, &w->heap);
  tess_status s = ir_restore(&w->p, &w->scratch, w->in, w->n, &w->why);
  FUZZ_ASSERT(s == TESS_OK || w->why.n > 0);
  if (s != TESS_OK || !w->p.entry) return TESS_OK;
  ir_print(&w->p, &(ir_print_opts){.regions = true}, &w->text);
  (void)ir_flops(&w->p);
  (void)ir_verify_bounds(&w->p, true, &w->scratch, &w->text);
  ir_save(&w->p, &w->bytes);
  s = ir_restore(&w->q, &w->scratch, w->bytes.v, w->bytes.n, &w->why);
  FUZZ_ASSERT(s == TESS_OK && ir_equal(&w->p, &w->q, &w->scratch));
  FUZZ_ASSERT(ir_hash(&w->p, &w->scratch) == ir_hash(&w->q, &w->scratch));
  copy_statements(w);
  return TESS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  work w = {.n = 0};
  mem_heap_init(&w.heap, mem_default_allocator, (size_t)1 << 30);
  arena_init(&w.scratch, &w.heap);
  str_init(&w.why, &w.heap);
  str_init(&w.bytes, &w.heap);
  str_init(&w.text, &w.heap);
  w.in = seal(&w, data, size);
  tess_status s = mem_protect(&w.heap, program_use, &w);
  FUZZ_ASSERT(s == TESS_OK || s == TESS_LIMIT);
  ir_program_free(&w.p);
  ir_program_free(&w.q);
  str_free(&w.why);
  str_free(&w.bytes);
  str_free(&w.text);
  arena_free(&w.scratch);
  FUZZ_ASSERT(w.heap.used == 0);
  return 0;
}
