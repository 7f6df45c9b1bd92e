/* SPDX-License-Identifier: Apache-2.0
 * Runs lowering pass by pass, interpreting the program after each. */
#include "ir/query.h"
#include "support/lowered.h"

#include "backends/backend.h"
#include "backends/runtime.h"
#include "base/rng.h"
#include "ir/scalar.h"
#include <stdio.h>

enum { MAX_PARAMS = 8, SEED = 5 };

void lowered_start(lowered *l) {
  memset(l, 0, sizeof *l);
  test_heap_start(&l->heap, 0);
  interp_init(&l->in, &l->heap.heap);
  interp_expect_init(&l->expect, &l->heap.heap);
  ir_program_init(&l->p, &l->heap.heap);
  arena_init(&l->scratch, &l->heap.heap);
}

void lowered_end(lowered *l) {
  arena_free(&l->scratch);
  ir_program_free(&l->p);
  interp_expect_free(&l->expect);
  interp_free(&l->in);
  test_heap_end(&l->heap);
}

static void complain(lowered *l, const ir_program *p, const char *where,
                     const char *why) {
  strbuf b;
  str_init(&b, &l->heap.heap);
  ir_print(p, NULL, &b);
  str_printf(&b, "%s: %s\nlowered:\n", where, why);
  ir_print(&l->p, NULL, &b);
  fprintf(stderr, "%s\n", str_get(&b));
  str_free(&b);
  fail();
}

static void complain_of(lowered *l, const ir_program *p, const char *where,
                        const ir_program *q, const interp_error *e) {
  strbuf b;
  str_init(&b, &l->heap.heap);
  interp_error_text(q, e, &b);
  complain(l, p, where, str_get(&b));
  str_free(&b);
}

static tess_status lower(lowered *l, const ir_program *p,
                         const lower_options *o) {
  ir_program_copy(&l->p, p);
  l->err = (err_state){.code = TESS_OK};
  arena_reset(&l->scratch);
  tess_status st = lower_program(&l->p, &l->scratch, o, &l->err);
  if (st && st != TESS_UNSUPPORTED && st != TESS_LIMIT)
    complain(l, p, "lowering", l->err.message);
  return st;
}

/* While there are blocks, what they declare of a buffer may stand outside of
 * where it was allocated meanwhile. */
static bool has_blocks(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = ir_next(p, root, root); s; s = ir_next(p, s, root))
    if (ir_is_block(p, s)) return true;
  return false;
}

tess_status lowered_check(lowered *l, const ir_program *p) {
  interp_error e;
  if (interp_expect_run(&l->expect, &l->in, p, SEED, NULL, &e))
    complain_of(l, p, "unlowered", p, &e);
  for (uint32_t n = 1; n <= LOWER_NPASSES; n++) {
    lower_options o = {.vector_bytes = 16, .keep_math = true, .stop_after = n};
    tess_status st = lower(l, p, &o);
    if (st) return st;
    strbuf why;
    str_init(&why, &l->heap.heap);
    if (!has_blocks(&l->p) && !ir_verify(&l->p, &l->scratch, &why))
      complain(l, p, lower_passes[n - 1].name, str_get(&why));
    str_free(&why);
    if (interp_expect_check(&l->expect, &l->in, &l->p, NULL, &e))
      complain_of(l, p, lower_passes[n - 1].name, &l->p, &e);
  }
  return TESS_OK;
}

void lowered_until(lowered *l, const ir_program *p, const char *pass) {
  lower_options o = {.vector_bytes = 16, .keep_math = true};
  for (uint32_t i = 0; i < LOWER_NPASSES; i++)
    if (!strcmp(lower_passes[i].name, pass)) o.stop_after = i + 1;
  if (!o.stop_after) fail_msg("there is no pass '%s'", pass);
  ir_program_copy(&l->p, p);
  if (lower_program(&l->p, &l->scratch, &o, &l->err))
    fail_msg("%s", l->err.message);
}

const char *lowered_text(lowered *l, const ir_program *p, const char *pass,
                         arena *texts) {
  strbuf b;
  lowered_until(l, p, pass);
  str_init(&b, &l->heap.heap);
  ir_print(&l->p, NULL, &b);
  const char *s = arena_printf(texts, "%s", str_get(&b));
  str_free(&b);
  return s;
}

/* ---- compiled ----------------------------------------------------------- */

typedef struct native {
  uint32_t n;
  interp_arg want[MAX_PARAMS], got[MAX_PARAMS];
} native;

static size_t bytes_of(const ir_program *p, ir_buf b) {
  size_t n = ir_dtype_bytes(p->buf.v[b].dtype);
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    int64_t extent = 0;
    assert_true(ir_const_int(p, ir_dim(p, b, d), &extent));
    n *= (size_t)extent;
  }
  return n;
}

static void make_arguments(lowered *l, native *x, const ir_program *p) {
  ir_span params = ir_entry(p)->params;
  rng r;
  rng_init(&r, SEED, 0);
  x->n = params.n;
  assert_true(x->n <= MAX_PARAMS);
  for (uint32_t i = 0; i < x->n; i++) {
    tess_dtype t = p->buf.v[p->arg.v[params.at + i]].dtype;
    size_t bytes = bytes_of(p, p->arg.v[params.at + i]);
    char *v = arena_zalloc(&l->scratch, bytes + 1);
    for (size_t k = 0; k < bytes; k += ir_dtype_bytes(t)) {
      int64_t small = (int64_t)rng_below(&r, 7) - 3;
      if (ir_is_float(t))
        ir_put_real(t, (double)small, v + k);
      else
        ir_put_int(t, ir_wrap_int(t, small), v + k);
    }
    x->want[i] = (interp_arg){v, bytes};
    x->got[i] = (interp_arg){arena_alloc(&l->scratch, bytes + 1), bytes};
    memcpy(x->got[i].data, v, bytes);
  }
}

static tess_status run_compiled(lowered *l, native *x) {
  const backend *llvm = backend_find("llvm");
  backend_code *code = NULL;
  target t;
  runtime rt;
  strbuf text;
  void *args[MAX_PARAMS];
  str_init(&text, &l->heap.heap);
  assert_int_equal(target_parse(&t, "llvm", &l->err), TESS_OK);
  tess_status st =
      llvm->compile(&l->p, &l->scratch, &t, BACKEND_CODE, &text, &l->err);
  if (!st) st = llvm->load(&l->heap.heap, text.v, text.n, &code, &l->err);
  str_free(&text);
  if (st) return st;
  for (uint32_t i = 0; i < x->n; i++) args[i] = x->got[i].data;
  runtime_init(&rt, mem_default_allocator, 2);
  assert_int_equal(llvm->launch(code, args, NULL, &rt.rt), 0);
  runtime_free(&rt);
  llvm->unload(code);
  return TESS_OK;
}

tess_status lowered_check_native(lowered *l, const ir_program *p) {
  lower_options o = {.vector_bytes = 16, .no_threads = true};
  interp_error e;
  native x;
  tess_status st = lower(l, p, &o);
  if (st) return st;
  make_arguments(l, &x, p);
  if (interp_run(&l->in, p, x.n, x.want, &(interp_options){0}, &e))
    complain_of(l, p, "in native arithmetic", p, &e);
  if ((st = run_compiled(l, &x))) return st;
  for (uint32_t i = 0; i < x.n; i++)
    if (memcmp(x.want[i].data, x.got[i].data, x.want[i].bytes))
      complain(l, p, "compiled", "another result");
  return TESS_OK;
}
