/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules, compiled, against the interpreter on
 * the unscheduled program: on small integers, where every result is exact. */
#include "backends/interp/interp.h"
#include "backends/llvm/llvm.h"
#include "backends/runtime.h"
#include "base/rng.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "lower/lower.h"
#include "random/gen_program.h"
#include "support/scheduled.h"
#include <stdlib.h>

enum { PROGRAMS = 60, STEPS = 8, MAX_PARAMS = 16 };

typedef struct conform {
  scheduled t;
  ir_program plain; /* unscheduled */
  rng r;
  target target;
  err_state err;
  runtime rt;
  uint32_t n;
  interp_arg want[MAX_PARAMS], got[MAX_PARAMS];
  strbuf what;
  uint64_t seed;
  uint32_t applied;
} conform;

/* ---- arguments ---------------------------------------------------------- */

static size_t elements(const ir_program *p, ir_buf b) {
  size_t n = 1;
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    int64_t extent = 0;
    assert_true(ir_const_int(p, ir_dim(p, b, d), &extent));
    n *= (size_t)extent;
  }
  return n;
}

/* Small integers, or with `values` those from 0 on. */
static void llvm_programs_fill(conform *c, tess_dtype t, int64_t values,
                               size_t n, char *at) {
  for (size_t i = 0; i < n; i++, at += t.bits / 8) {
    int64_t least = values || t.code == TESS_DTYPE_UINT ? 0 : -3;
    int64_t v =
        least + (int64_t)rng_below(&c->r, values ? (uint64_t)values : 7);
    if (ir_is_float(t))
      ir_put_real(t, (double)v, at);
    else
      ir_put_int(t, ir_wrap_int(t, v), at);
  }
}

static void make_arguments(conform *c) {
  const ir_program *p = &c->plain;
  ir_span params = ir_entry(p)->params;
  c->n = params.n;
  assert_true(c->n <= MAX_PARAMS);
  for (uint32_t i = 0; i < c->n; i++) {
    ir_buf b = p->arg.v[params.at + i];
    size_t n = elements(p, b), bytes = n * p->buf.v[b].dtype.bits / 8;
    c->want[i] = (interp_arg){malloc(bytes + 1), bytes};
    c->got[i] = (interp_arg){malloc(bytes + 1), bytes};
    llvm_programs_fill(c, p->buf.v[b].dtype,
                       interp_index_range(p, b, &c->t.scratch).count, n,
                       c->want[i].data);
    memcpy(c->got[i].data, c->want[i].data, bytes);
  }
}

static void free_arguments(conform *c) {
  for (uint32_t i = 0; i < c->n; i++) {
    free(c->want[i].data);
    free(c->got[i].data);
  }
}

/* ---- scheduling --------------------------------------------------------- */

/* A block other than the root, 0: there is none. */
static ir_stmt any_block(conform *c) {
  ir_program *p = &c->t.p;
  ir_stmt list[64];
  uint32_t n = 0;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = ir_next(p, root, root); s; s = ir_next(p, s, root))
    if (ir_is_block(p, s) && n < 64) list[n++] = s;
  return n ? list[rng_below(&c->r, n)] : 0;
}

static bool try_step(conform *c) {
  scheduled *t = &c->t;
  ir_stmt block = any_block(c), v[SCHEDULED_MAX];
  uint32_t n = block ? sch_loops_above(&t->p, block, SCHEDULED_MAX, v) : 0;
  if (!n) return false;
  uint32_t k = (uint32_t)rng_below(&c->r, n);
  int64_t by = 2 + (int64_t)rng_below(&c->r, 7);
  switch (rng_below(&c->r, 7)) {
  case 0: return RUN(t, vectorize, AT(loop, v[n - 1]));
  case 1: return RUN(t, parallel, AT(loop, v[0]));
  case 2: return RUN(t, unroll, AT(loop, v[k]));
  case 3: return RUN(t, split, AT(loop, v[k]), INTS(factors, -1, by));
  case 4: return k + 1 < n && RUN(t, fuse, LIST(loops, v[k], v[k + 1]));
  case 5:
    return k + 1 < n && RUN(t, reorder, LIST(ordered_loops, v[k + 1], v[k]));
  default: return RUN(t, decompose_reduction, AT(block, block), AT(loop, v[k]));
  }
}

/* ---- comparing ---------------------------------------------------------- */

static void complain(conform *c, const char *text) {
  strbuf b;
  str_init(&b, &c->t.heap.heap);
  ir_print(&c->t.p, NULL, &b);
  print_error("seed %llu (%s): %s\n%s\n", (unsigned long long)c->seed,
              str_get(&c->what), text, str_get(&b));
  str_free(&b);
  fail();
}

static void run_oracle(conform *c) {
  interp in;
  interp_error e;
  interp_options o = {.domain = INTERP_NATIVE};
  interp_init(&in, &c->t.heap.heap);
  tess_status s = interp_run(&in, &c->plain, c->n, c->want, &o, &e);
  strbuf why;
  str_init(&why, &c->t.heap.heap);
  interp_error_text(&c->plain, &e, &why);
  if (s) complain(c, str_get(&why));
  str_free(&why);
  interp_free(&in);
}

static void run_compiled(conform *c) {
  scheduled *t = &c->t;
  strbuf code;
  backend_code *k;
  void *args[MAX_PARAMS];
  lower_options o = {.vector_bytes = (uint32_t)c->target.vector_bytes};
  str_init(&code, &t->heap.heap);
  if (lower_program(&t->p, &t->scratch, &o, &c->err) ||
      llvm_backend.compile(&t->p, &t->scratch, &c->target, BACKEND_CODE, &code,
                           &c->err) ||
      llvm_backend.load(&t->heap.heap, code.v, code.n, &k, &c->err))
    complain(c, c->err.message);
  for (uint32_t i = 0; i < c->n; i++) args[i] = c->got[i].data;
  int32_t status = llvm_backend.launch(k, args, NULL, &c->rt.rt);
  llvm_backend.unload(k);
  str_free(&code);
  if (status) complain(c, "the kernel fails");
}

static void llvm_programs_compare(conform *c) {
  const ir_program *p = &c->plain;
  for (uint32_t i = 0; i < c->n; i++) {
    ir_buf b = p->arg.v[ir_entry(p)->params.at + i];
    size_t size = p->buf.v[b].dtype.bits / 8u;
    const char *x = c->want[i].data, *y = c->got[i].data;
    tess_dtype t = p->buf.v[b].dtype;
    for (size_t k = 0; k < c->want[i].bytes; k += size) {
      if (!memcmp(x + k, y + k, size)) continue;
      if (ir_is_float(t) && ir_get_real(t, x + k) == ir_get_real(t, y + k))
        continue;
      complain(c, arena_printf(&c->t.texts, "'%s' differs in element %zu",
                               ir_text(p, p->buf.v[b].name), k / size));
    }
  }
}

static void llvm_programs_check_program(conform *c) {
  gen_options o = {.representable = true, .no_16bit = true, .max_points = 400};
  scheduled_start(&c->t);
  scheduled *t = &c->t;
  ir_program_init(&c->plain, &t->heap.heap);
  str_init(&c->what, &t->heap.heap);
  runtime_init(&c->rt, mem_default_allocator, 2);
  rng_init(&c->r, c->seed, 0);
  assert_int_equal(
      gen_program(&c->r, &o, &t->heap.heap, &c->plain, &c->what, &c->err),
      TESS_OK);
  ir_program_copy(&t->p, &c->plain);
  make_arguments(c);
  for (int i = 0; i < STEPS; i++) c->applied += try_step(c);
  run_oracle(c);
  run_compiled(c);
  llvm_programs_compare(c);
  free_arguments(c);
  runtime_free(&c->rt);
  str_free(&c->what);
  ir_program_free(&c->plain);
  scheduled_end(&c->t);
}

static void random_programs(void **state) {
  (void)state;
  conform *c = calloc(1, sizeof *c);
  const char *from = getenv("TESS_SEED");
  uint64_t seed = from ? strtoull(from, NULL, 10) : 1;
  assert_int_equal(target_parse(&c->target, "llvm", &c->err), TESS_OK);
  for (uint32_t i = 0; i < (from ? 1 : PROGRAMS); i++) {
    c->seed = seed + i;
    llvm_programs_check_program(c);
  }
  assert_true(from || c->applied > PROGRAMS);
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
