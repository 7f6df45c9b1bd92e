/* SPDX-License-Identifier: Apache-2.0
 * Describing computations: the resulting programs. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/describing.h"
#include "support/program.h"
#include <math.h>

/* C = A x B + bias, relu: several computes, one of them a reduction. */
static void describe_matmul(describing *d) {
  describe_expr i, j;
  ir_buf a = d_input(d, "A", F32, 128, 32, 0);
  ir_buf b = d_input(d, "B", F32, 32, 64, 0);
  ir_buf bias = d_input(d, "bias", F32, 64, 0, 0);
  ir_var k = d_axis(d, "k", 32);
  d_begin(d, "C", 128, 64, &i, &j);
  describe_expr x = d_load(d, a, i, d_var(d, k));
  describe_expr y = d_load(d, b, d_var(d, k), j);
  ir_buf c = d_end(d, d_reduce(d, "sum", d_op(d, "*", x, y), k));
  d_begin(d, "unused", 4, 0, &i, NULL);
  d_end(d, d_load(d, bias, i, 0));
  d_begin(d, "D", 128, 64, &i, &j);
  x = d_op(d, "+", d_load(d, c, i, j), d_load(d, bias, j, 0));
  ir_buf out = d_end(d, d_op(d, "max", x, d_ilit(d, 0)));
  d_program(d, "matmul", 3, (ir_buf[]){a, b, bias}, out);
  describing_expect(
      d, "matmul(\n"
         "    A: float32[128, 32],\n"
         "    B: float32[32, 64],\n"
         "    bias: float32[64],\n"
         "    D: out float32[128, 64])\n"
         "  alloc C: float32[128, 64]\n"
         "  for i in range(128)\n"
         "    for j in range(64)\n"
         "      for k in range(32)\n"
         "        block C(vi: 128 = i, vj: 64 = j, vk: reduce 32 = k)\n"
         "          init\n"
         "            C[vi, vj] = 0.0\n"
         "          C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
         "  for i in range(128)\n"
         "    for j in range(64)\n"
         "      block D(vi: 128 = i, vj: 64 = j)\n"
         "        D[vi, vj] = max(C[vi, vj] + bias[vj], 0.0)\n");
  describing_regions(d, "reads(A[vi, vk], B[vk, vj])\n"
                        "          writes(C[vi, vj])\n");
}

/* Blocks of one name are numbered in their order, and what they write. */
static void equal_names(describing *d) {
  static const char *const names[] = {"C", "C_1", "C", "C"};
  describe_expr i;
  ir_buf x = d_input(d, "A", F32, 8, 0, 0), a = x;
  for (int k = 0; k < 4; k++) {
    d_begin(d, names[k], 8, 0, &i, NULL);
    x = d_end(d, d_op(d, "+", d_load(d, x, i, 0), d_ilit(d, 1)));
  }
  d_program(d, "p", 1, &a, x);
  describing_expect(d, "p(A: float32[8], C_3: out float32[8])\n"
                       "  alloc C: float32[8]\n"
                       "  alloc C_1: float32[8]\n"
                       "  alloc C_2: float32[8]\n"
                       "  for i in range(8)\n"
                       "    block C(vi: 8 = i)\n"
                       "      C[vi] = A[vi] + 1.0\n"
                       "  for i in range(8)\n"
                       "    block C_1(vi: 8 = i)\n"
                       "      C_1[vi] = C[vi] + 1.0\n"
                       "  for i in range(8)\n"
                       "    block C_2(vi: 8 = i)\n"
                       "      C_2[vi] = C_1[vi] + 1.0\n"
                       "  for i in range(8)\n"
                       "    block C_3(vi: 8 = i)\n"
                       "      C_3[vi] = C_2[vi] + 1.0\n");
}

/* One axis in two computes, a start other than 0, coupled extents. */
static void axes(describing *d) {
  describe_expr i;
  ir_buf a = d_input(d, "A", F32, 10, 10, 0), in[] = {a};
  ir_var k = 0;
  d_begin(d, "tail", 10, 0, &i, NULL);
  assert_int_equal(
      describe_axis_new(&d->b, "k", i, d_op(d, "-", d_ilit(d, 10), i), &k),
      TESS_OK);
  ir_buf tail = d_end(d, d_reduce(d, "sum", d_load(d, a, i, d_var(d, k)), k));
  ir_var l = 0;
  assert_int_equal(describe_axis_new(&d->b, "l", d_int(d, 2), d_int(d, 5), &l),
                   TESS_OK);
  d_begin(d, "top", 10, 0, &i, NULL);
  describe_expr x = d_load(d, a, d_var(d, l), i);
  ir_buf top =
      d_end(d, d_reduce(d, "max", d_op(d, "+", x, d_load(d, tail, i, 0)), l));
  d_program(d, "axes", 1, in, top);
  describing_expect(
      d, "axes(A: float32[10, 10], top: out float32[10])\n"
         "  alloc tail: float32[10]\n"
         "  for i in range(10)\n"
         "    for k in range(10 - i)\n"
         "      block tail(vi: 10 = i, vk: reduce range(i, extent=10 - i) = "
         "i + k)\n"
         "        init\n"
         "          tail[vi] = 0.0\n"
         "        tail[vi] = tail[vi] + A[vi, vk]\n"
         "  for i in range(10)\n"
         "    for l in range(5)\n"
         "      block top(vi: 10 = i, vl: reduce range(2, 7) = l + 2)\n"
         "        init\n"
         "          top[vi] = -inf\n"
         "        top[vi] = max(top[vi], A[vl, vi] + tail[vi])\n");
}

/* ---- reducers ----------------------------------------------------------- */

static void argmax(describing *d) {
  describe_expr i, lhs[2], rhs[2], combine[2], out[2];
  tess_dtype t[] = {F32, I64};
  double identity[] = {-INFINITY, -1};
  uint32_t reducer = 0;
  ir_buf a = d_input(d, "A", F32, 8, 16, 0), bufs[2];
  ir_builder *b = &d->b;
  ir_var k = d_axis(d, "k", 16);
  assert_int_equal(describe_reducer_begin(b, "argmax", 2, t, lhs, rhs),
                   TESS_OK);
  describe_expr less = d_op(d, ">=", lhs[0], rhs[0]);
  for (int x = 0; x < 2; x++)
    assert_int_equal(describe_select(b, less, lhs[x], rhs[x], &combine[x]),
                     TESS_OK);
  assert_int_equal(describe_reducer_end(b, "argmax", 2, lhs, rhs, combine,
                                        identity, &reducer),
                   TESS_OK);
  d_begin(d, "best", 8, 0, &i, NULL);
  describe_expr sources[] = {d_load(d, a, i, d_var(d, k)), d_var(d, k)};
  assert_int_equal(describe_reduce(b, reducer, 2, sources, 1, &k, out),
                   TESS_OK);
  assert_int_equal(describe_compute_end(b, 2, out, bufs), TESS_OK);
  assert_int_equal(describe_program(b, "argmax", 1, &a, 2, bufs, &d->p),
                   TESS_OK);
  describing_expect(
      d, "argmax(A: float32[8, 16], best_v0: out float32[8], "
         "best_v1: out int64[8])\n"
         "  for i in range(8)\n"
         "    for k in range(16)\n"
         "      block best(vi: 8 = i, vk: reduce 16 = k)\n"
         "        reducer argmax(x0: float32, x1: int64; y0: float32, y1: "
         "int64) -> (select(y0 <= x0, x0, y0), select(y0 <= x0, x1, y1)) "
         "from (-inf, -1) associative\n"
         "        init\n"
         "          best_v0[vi] = -inf\n"
         "          best_v1[vi] = -1\n"
         "        let vbest_v0: float32 = select(A[vi, vk] <= best_v0[vi], "
         "best_v0[vi], A[vi, vk])\n"
         "          let vbest_v1: int64 = select(A[vi, vk] <= best_v0[vi], "
         "best_v1[vi], vk)\n"
         "            best_v0[vi] = vbest_v0\n"
         "            best_v1[vi] = vbest_v1\n");
}

static const char *identity_text(describing *d, const char *name,
                                 tess_dtype t) {
  uint32_t r = ir_reducer_builtin(&d->b.p, name, t);
  const ir_reducer *x = &d->b.p.reducer.v[r];
  assert_int_equal(r, ir_reducer_builtin(&d->b.p, name, t));
  str_clear(&d->text);
  ir_print_expr(&d->b.p, d->b.p.arg.v[x->identity.at], &d->text);
  str_puts(&d->text, " ");
  ir_print_expr(&d->b.p, d->b.p.arg.v[x->combine.at], &d->text);
  return str_get(&d->text);
}

static void builtins(describing *d) {
  tess_dtype u64 = {TESS_DTYPE_UINT, 64, 1}, bf = {TESS_DTYPE_BFLOAT, 16, 1};
  assert_string_equal(identity_text(d, "sum", F32), "0.0 x + y");
  assert_string_equal(identity_text(d, "prod", I32), "1 x * y");
  assert_string_equal(identity_text(d, "min", I8), "127 min(x, y)");
  assert_string_equal(identity_text(d, "max", I8), "-128 max(x, y)");
  assert_string_equal(identity_text(d, "max", U8), "0 max(x, y)");
  assert_string_equal(identity_text(d, "min", U8), "255 min(x, y)");
  assert_string_equal(identity_text(d, "min", u64),
                      "18446744073709551615 min(x, y)");
  assert_string_equal(identity_text(d, "max", I64),
                      "-9223372036854775808 max(x, y)");
  assert_string_equal(identity_text(d, "min", F16), "inf min(x, y)");
  assert_string_equal(identity_text(d, "max", bf), "-inf max(x, y)");
  assert_string_equal(identity_text(d, "sum", IR_BOOL), "false x || y");
  assert_string_equal(identity_text(d, "prod", IR_BOOL), "true x && y");
  assert_string_equal(identity_text(d, "min", IR_BOOL), "true x && y");
  assert_string_equal(identity_text(d, "max", IR_BOOL), "false x || y");
  assert_int_equal(ir_reducer_builtin(&d->b.p, "median", F32), 0);
}

/* ---- imperative statements ---------------------------------------------- */

/* In-place LU without pivoting, of an n x n matrix. */
static void lu(describing *d) {
  ir_builder *b = &d->b;
  int64_t n = 16;
  ir_buf a = d_input(d, "A", F32, n, n, 0);
  ir_var k, i, j, v[3];
  describe_expr zero = d_int(d, 0), size = d_int(d, n);
  describe_expr lo3[] = {zero, zero, zero}, ext3[] = {size, size, size};
  const char *names[] = {"vk", "vi", "vj"};
  ir_iter_kind kinds[] = {IR_OPAQUE, IR_SPATIAL, IR_SPATIAL};
  assert_int_equal(describe_loop_begin(b, "k", zero, size, &k), TESS_OK);
  describe_expr next = d_op(d, "+", d_var(d, k), d_ilit(d, 1));
  describe_expr rest = d_op(d, "-", d_int(d, n), next);
  assert_int_equal(describe_loop_begin(b, "i", next, rest, &i), TESS_OK);
  describe_expr bind2[] = {d_var(d, k), d_var(d, i)};
  assert_int_equal(
      describe_block_begin(b, "scale", 2, names, kinds, lo3, ext3, bind2, 0, v),
      TESS_OK);
  describe_expr vk = d_var(d, v[0]), vi = d_var(d, v[1]);
  describe_expr at[] = {vi, vk};
  assert_int_equal(
      describe_store(b, a, 2, at,
                     d_op(d, "/", d_load(d, a, vi, vk), d_load(d, a, vk, vk))),
      TESS_OK);
  assert_int_equal(describe_end(b), TESS_OK);
  assert_int_equal(describe_loop_begin(b, "j", next, rest, &j), TESS_OK);
  describe_expr bind3[] = {d_var(d, k), d_var(d, i), d_var(d, j)};
  assert_int_equal(describe_block_begin(b, "update", 3, names, kinds, lo3, ext3,
                                        bind3, 0, v),
                   TESS_OK);
  vk = d_var(d, v[0]), vi = d_var(d, v[1]);
  describe_expr vj = d_var(d, v[2]), at2[] = {vi, vj};
  describe_expr product =
      d_op(d, "*", d_load(d, a, vi, vk), d_load(d, a, vk, vj));
  assert_int_equal(
      describe_store(b, a, 2, at2, d_op(d, "-", d_load(d, a, vi, vj), product)),
      TESS_OK);
  for (int c = 0; c < 4; c++) assert_int_equal(describe_end(b), TESS_OK);
  assert_int_equal(describe_program(b, "lu", 1, &a, 1, &a, &d->p), TESS_OK);
  describing_expect(
      d, "lu(A: inout float32[16, 16])\n"
         "  for k in range(16)\n"
         "    for i in range(k + 1, extent=15 - k)\n"
         "      block scale(vk: opaque 16 = k, vi: 16 = i)\n"
         "        A[vi, vk] = A[vi, vk] / A[vk, vk]\n"
         "      for j in range(k + 1, extent=15 - k)\n"
         "        block update(vk: opaque 16 = k, vi: 16 = i, vj: 16 = j)\n"
         "          A[vi, vj] = A[vi, vj] - A[vi, vk] * A[vk, vj]\n");
}

static void lu_flops(describing *d) {
  lu(d);
  int64_t flops = 0;
  for (int64_t x = 0; x < 16; x++) flops += (15 - x) + 2 * (15 - x) * (15 - x);
  assert_int_equal(ir_flops(&d->p), flops);
}

/* The reducer of a block with init and one update is recognized. */
static void reducing(describing *d) {
  static const struct {
    const char *op;
    double init;
    const char *name;
  } c[] = {{"+", 0, "sum"},
           {"*", 1, "prod"},
           {"max", -INFINITY, "max"},
           {"+", 1, NULL},
           {"-", 0, NULL}};
  ir_builder *b = &d->b;
  ir_buf a = d_input(d, "A", F32, 8, 0, 0), in[] = {a};
  for (int k = 0; k < 5; k++) {
    ir_buf out = 0;
    ir_var i, v;
    const char *names[] = {"vi"};
    ir_iter_kind kinds[] = {IR_REDUCE};
    describe_expr zero = d_int(d, 0), eight = d_int(d, 8);
    describe_buffer(b, "S", F32, 0, NULL, IR_SCOPE_GLOBAL, IR_ROLE_OUTPUT,
                    &out);
    describe_loop_begin(b, "i", zero, eight, &i);
    describe_expr bind = d_var(d, i);
    describe_block_begin(b, "S", 1, names, kinds, &zero, &eight, &bind, 0, &v);
    describe_init_begin(b);
    describe_store(b, out, 0, NULL, d_lit(d, c[k].init));
    describe_end(b);
    describe_expr x = d_load(d, a, d_var(d, v), 0);
    describe_store(b, out, 0, NULL, d_op(d, c[k].op, d_load(d, out, 0, 0), x));
    describe_end(b);
    describe_end(b);
    d_program(d, "p", 1, in, out);
    ir_stmt s = test_find_block(&d->p, "S");
    uint32_t r = ir_blk(&d->p, s)->reducer;
    assert_int_equal(r != 0, c[k].name != NULL);
    if (r)
      assert_string_equal(ir_text(&d->p, d->p.reducer.v[r].name), c[k].name);
  }
}

/* Predicates, init, if, else, let; loops inside of a block. */
static void forms(describing *d) {
  ir_builder *b = &d->b;
  ir_buf a = d_input(d, "A", F32, 8, 8, 0), out = 0, in[] = {a};
  describe_expr shape[] = {d_int(d, 8)}, zero = d_int(d, 0);
  assert_int_equal(describe_buffer(b, "S", F32, 1, shape, IR_SCOPE_GLOBAL,
                                   IR_ROLE_OUTPUT, &out),
                   TESS_OK);
  ir_var i, k, t, v[2];
  const char *names[] = {"vi"};
  ir_iter_kind kinds[] = {IR_SPATIAL};
  describe_loop_begin(b, "i", zero, d_int(d, 10), &i);
  describe_expr bind[] = {d_var(d, i)}, ext[] = {d_int(d, 8)};
  describe_expr where = d_op(d, "<", d_var(d, i), d_ilit(d, 8));
  assert_int_equal(describe_block_begin(b, "rows", 1, names, kinds, &zero, ext,
                                        bind, where, v),
                   TESS_OK);
  describe_expr vi = d_var(d, v[0]);
  assert_int_equal(describe_init_begin(b), TESS_OK);
  assert_int_equal(describe_store(b, out, 1, &vi, d_ilit(d, 0)), TESS_OK);
  assert_int_equal(describe_end(b), TESS_OK);
  describe_loop_begin(b, "k", zero, d_int(d, 8), &k);
  assert_int_equal(
      describe_let_begin(b, "t", d_load(d, a, vi, d_var(d, k)), &t), TESS_OK);
  describe_expr x = d_var(d, t), sum = d_op(d, "+", d_load(d, out, vi, 0), x);
  assert_int_equal(describe_if_begin(b, d_op(d, ">", x, d_lit(d, 0.5))),
                   TESS_OK);
  describe_store(b, out, 1, &vi, sum);
  assert_int_equal(describe_else_begin(b), TESS_OK);
  describe_store(b, out, 1, &vi, d_op(d, "-", sum, d_lit(d, 1)));
  for (int c = 0; c < 5; c++) assert_int_equal(describe_end(b), TESS_OK);
  d_program(d, "forms", 1, in, out);
  describing_expect(d, "forms(A: float32[8, 8], S: out float32[8])\n"
                       "  for i in range(10)\n"
                       "    block rows(vi: 8 = i)\n"
                       "      where i < 8\n"
                       "      init\n"
                       "        S[vi] = 0.0\n"
                       "      for k in range(8)\n"
                       "        let t: float32 = A[vi, k]\n"
                       "          if 0.5 < t\n"
                       "            S[vi] = S[vi] + t\n"
                       "          else\n"
                       "            S[vi] = S[vi] + t - 1.0\n");
  describing_regions(d, "reads(A[vi, 0:8])\n"
                        "      writes(S[vi])\n");
}

/* ---- several functions, constants, symbolic extents --------------------- */

static void modules(describing *d) {
  ir_builder *b = &d->b;
  describe_expr i, n;
  ir_var size;
  ir_buf w = 0;
  int64_t shape[] = {4};
  float data[] = {1, 2, 3, 4};
  assert_int_equal(describe_constant(b, "w", F32, 1, shape, data, &w), TESS_OK);
  ir_buf a = d_input(d, "A", F32, 4, 0, 0);
  d_begin(d, "B", 4, 0, &i, NULL);
  ir_buf c = d_end(d, d_op(d, "*", d_load(d, a, i, 0), d_load(d, w, i, 0)));
  d_program(d, "scale", 1, &a, c);
  assert_int_equal(describe_size(b, "n", &size), TESS_OK);
  n = d_var(d, size);
  ir_buf x = 0, y = 0;
  assert_int_equal(describe_buffer(b, "x", F32, 1, &n, IR_SCOPE_GLOBAL,
                                   IR_ROLE_LAYOUT_FREE, &x),
                   TESS_OK);
  ir_var v;
  assert_int_equal(describe_compute_begin(b, "y", 1, &n, NULL, &v), TESS_OK);
  y = d_end(d, d_call(d, "exp", d_load(d, x, d_var(d, v), 0)));
  assert_int_equal(describe_program(b, "grow", 1, &x, 1, &y, &d->q), TESS_OK);
  assert_int_equal(describe_join(&d->p, &d->q, &d->scratch, &d->err), TESS_OK);
  describing_expect(
      d, "constant w: float32[4] = [1.0, 2.0, 3.0, 4.0]\n"
         "entry scale(A: float32[4], B: out float32[4])\n"
         "  for i in range(4)\n"
         "    block B(vi: 4 = i)\n"
         "      B[vi] = A[vi] * w[vi]\n"
         "\n"
         "grow(n: size, x: layout_free float32[n], y: out float32[n])\n"
         "  for i in range(n)\n"
         "    block y(vi: n = i)\n"
         "      y[vi] = exp(x[vi])\n");
  describing_fails(d, describe_join(&d->p, &d->q, &d->scratch, &d->err),
                   "two functions are called 'grow'");
}

/* A scalar result, and one without inputs. */
static void scalars(describing *d) {
  ir_buf a = d_input(d, "A", F32, 16, 0, 0), in[] = {a};
  ir_var k = d_axis(d, "k", 16);
  d_begin(d, "total", 0, 0, NULL, NULL);
  ir_buf t = d_end(d, d_reduce(d, "sum", d_load(d, a, d_var(d, k), 0), k));
  d_begin(d, "half", 0, 0, NULL, NULL);
  ir_buf h = d_end(d, d_op(d, "*", d_load(d, t, 0, 0), d_lit(d, 0.5)));
  d_program(d, "scalars", 1, in, h);
  describing_expect(d, "scalars(A: float32[16], half: out float32[])\n"
                       "  alloc total: float32[]\n"
                       "  for k in range(16)\n"
                       "    block total(vk: reduce 16 = k)\n"
                       "      init\n"
                       "        total[] = 0.0\n"
                       "      total[] = total[] + A[vk]\n"
                       "  block half()\n"
                       "    half[] = total[] * 0.5\n");
}

static void run_part(void (*part)(describing *)) {
  describing d;
  describing_start(&d);
  describing_run(&d, part);
  describing_end(&d);
}

static void test_computes(void **state) {
  (void)state;
  run_part(describe_matmul);
  run_part(equal_names);
  run_part(axes);
  run_part(scalars);
}

static void test_reducers(void **state) {
  (void)state;
  run_part(argmax);
  run_part(builtins);
}

static void test_statements(void **state) {
  (void)state;
  run_part(lu_flops);
  run_part(forms);
  run_part(reducing);
}

static void test_modules(void **state) {
  (void)state;
  run_part(modules);
}

/* ---- memory ------------------------------------------------------------- */

static tess_status describe_everything(void *ud) {
  describing *d = ud;
  describe_init(&d->b, &d->heap.heap, &d->err);
  ir_program_init(&d->p, &d->heap.heap);
  ir_program_init(&d->q, &d->heap.heap);
  describe_matmul(d);
  argmax(d);
  lu(d);
  modules(d);
  return TESS_OK;
}

static void forget(void *ud) {
  describing *d = ud;
  describe_free(&d->b);
  ir_program_free(&d->p);
  ir_program_free(&d->q);
  arena_free(&d->scratch);
  str_free(&d->text);
  d->b = (ir_builder){.heap = &d->heap.heap};
  d->p = d->q = (ir_program){.heap = &d->heap.heap};
}

static void test_describe_memory(void **state) {
  (void)state;
  describing d;
  memset(&d, 0, sizeof d);
  test_heap_start(&d.heap, 0);
  str_init(&d.text, &d.heap.heap);
  arena_init(&d.scratch, &d.heap.heap);
  forget(&d);
  assert_true(test_each_failure(&d.heap, describe_everything, forget, &d) >
              100);
  test_heap_end(&d.heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_computes), cmocka_unit_test(test_reducers),
      cmocka_unit_test(test_statements), cmocka_unit_test(test_modules),
      cmocka_unit_test(test_describe_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
