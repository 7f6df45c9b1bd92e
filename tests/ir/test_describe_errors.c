/* SPDX-License-Identifier: Apache-2.0
 * Describing: what is refused, and the message. */
#include "support/describing.h"
#include <math.h>
#include <stdio.h>

#define FAILS(d, call, text) describing_fails((d), (call), (text))

static void handles(describing *d) {
  ir_builder *b = &d->b;
  describe_expr e = 0, one = d_int(d, 1);
  FAILS(d, describe_binary(b, "+", 999, one, &e),
        "the left operand is not an expression of this builder");
  FAILS(d, describe_binary(b, "+", one, 0, &e),
        "the right operand is not an expression of this builder");
  FAILS(d, describe_binary(b, "+", 0, 0, &e),
        "the left operand is not an expression of this builder");
  FAILS(d, describe_binary(b, "<>", one, one, &e), "there is no operator '<>'");
  FAILS(d, describe_var(b, 77, &e), "there is no variable 77");
  FAILS(d, describe_load(b, 5, 0, NULL, &e), "there is no buffer 5");
  FAILS(d, describe_call(b, "gamma", 1, &one, &e),
        "there is no function 'gamma'");
  FAILS(d, describe_call(b, "fma", 3, &one, &e), "there is no function 'fma'");
  FAILS(
      d,
      describe_buffer(b, "", F32, 0, NULL, IR_SCOPE_GLOBAL, IR_ROLE_INPUT, &e),
      "a buffer needs a name");
  assert_int_equal(e, 0);
}

static void types(describing *d) {
  ir_builder *b = &d->b;
  ir_buf x = d_input(d, "X", F32, 8, 0, 0), y = d_input(d, "Y", I32, 8, 0, 0);
  describe_expr zero = d_int(d, 0), e = 0;
  describe_expr f = d_load(d, x, zero, 0), i = d_load(d, y, zero, 0);
  describe_expr big = d_ilit(d, 300), half = d_lit(d, 0.5);
  describe_expr truth = d_op(d, "<", f, half);
  FAILS(d, describe_binary(b, "+", f, i, &e),
        "'+': the left operand is float32, the right one is int32 (cast one "
        "of them)");
  FAILS(d, describe_binary(b, "*", i, half, &e),
        "the right operand of '*' is 0.5, which is not a value of int32");
  FAILS(d, describe_binary(b, "/", i, i, &e),
        "'/' does not work on int32; use // for integers");
  FAILS(d, describe_binary(b, "^", i, i, &e),
        "'^' does not work on int32; cast them to a float");
  FAILS(d, describe_binary(b, "and", f, f, &e),
        "'and' does not work on float32");
  FAILS(d, describe_binary(b, "+", truth, truth, &e),
        "'+' does not work on bool");
  FAILS(d, describe_call(b, "exp", 1, &i, &e),
        "exp does not work on int32 (cast it)");
  FAILS(d, describe_call(b, "not", 1, &f, &e),
        "the operand of 'not' is float32, not bool (cast it)");
  FAILS(d, describe_call(b, "pow", 1, &f, &e), "pow takes 2 arguments, not 1");
  FAILS(d, describe_call(b, "pow", 2, (describe_expr[]){f, i}, &e),
        "argument 2 of pow is int32, not float32 (cast it)");
  FAILS(d, describe_select(b, f, f, f, &e),
        "the condition of select is float32, not bool (cast it)");
  FAILS(d, describe_select(b, truth, f, i, &e),
        "'select': the left operand is float32, the right one is int32 (cast "
        "one of them)");
  FAILS(d, describe_load(b, x, 1, &f, &e),
        "index 0 of 'X' is float32, not int64 (cast it)");
  FAILS(d, describe_load(b, x, 1, &truth, &e),
        "index 0 of 'X' is bool, not int64 (cast it)");
  ir_buf far = d_input(d, "far", U64, 8, 0, 0);
  describe_expr u = d_load(d, far, zero, 0);
  FAILS(d, describe_load(b, x, 1, &u, &e),
        "index 0 of 'X' is uint64, not int64 (cast it)");
  FAILS(d, describe_load(b, x, 2, (describe_expr[]){zero, zero}, &e),
        "buffer 'X' has 1 dimension but is indexed by 2");
  FAILS(d, describe_literal(b, 0.5, true, &e), "0.5 is not an exact integer");
  ir_buf bytes = d_input(d, "bytes", I8, 8, 0, 0);
  FAILS(d, describe_binary(b, "+", d_load(d, bytes, zero, 0), big, &e),
        "the right operand of '+' is 300, which is not a value of int8");
  FAILS(d, describe_cast(b, (tess_dtype){TESS_DTYPE_HANDLE, 64, 1}, f, &e),
        "the result of a cast cannot be handle, which is no type of one "
        "number");
  assert_int_equal(e, 0);
}

/* `what` cannot have the invalid type t. */
static void no_dtype(describing *d, tess_status got, const char *what,
                     const char *name, tess_dtype t) {
  char says[160];
  snprintf(says, sizeof says,
           "%s cannot be %s: there is no such dtype (code %u, bits %u, lanes "
           "%u)",
           what, name, t.code, t.bits, t.lanes);
  FAILS(d, got, says);
}

/* Types that only a C host can make. */
static void no_dtypes(describing *d) {
  ir_builder *b = &d->b;
  const tess_dtype int7 = {TESS_DTYPE_INT, 7, 1}, int0 = {TESS_DTYPE_INT, 0, 1};
  const tess_dtype int128 = {TESS_DTYPE_INT, 128, 1},
                   float8 = {TESS_DTYPE_FLOAT, 8, 1};
  const tess_dtype float80 = {TESS_DTYPE_FLOAT, 80, 1},
                   bool1 = {TESS_DTYPE_BOOL, 1, 1};
  const tess_dtype none = {99, 32, 1}, lanes0 = {TESS_DTYPE_INT, 32, 0};
  const int64_t four = 4;
  describe_expr e = 0, one = d_int(d, 1);
  ir_buf buf = 0;
#define BUFFER(t, name)                                                        \
  no_dtype(d,                                                                  \
           describe_buffer(b, "A", t, 1, &one, IR_SCOPE_GLOBAL, IR_ROLE_INPUT, \
                           &buf),                                              \
           "buffer 'A'", name, t)
  BUFFER(int7, "int7");
  BUFFER(bool1, "bool");
  BUFFER(none, "?");
  BUFFER(lanes0, "int32x0");
#undef BUFFER
  no_dtype(d, describe_constant(b, "w", float8, 1, &four, "", &buf),
           "buffer 'w'", "float8", float8);
  no_dtype(d, describe_int(b, int0, 0, &e), "a constant", "int0", int0);
  FAILS(d, describe_int(b, F32, 0, &e),
        "a constant of an integer type is wanted, and float32 is none");
  no_dtype(d, describe_real(b, float80, 0, &e), "a constant", "float80",
           float80);
  FAILS(d, describe_real(b, I32, 0, &e),
        "a constant of a float type is wanted, and int32 is none");
  no_dtype(d, describe_extern(b, "f", int128, 0, NULL, &e), "the result of 'f'",
           "int128", int128);
  no_dtype(d, describe_cast(b, int128, one, &e), "the result of a cast",
           "int128", int128);
  assert_int_equal(e, 0);
  assert_int_equal(buf, 0);
}

static void computes(describing *d) {
  ir_builder *b = &d->b;
  describe_expr i, j, k, e[2], r[2] = {0};
  ir_buf a = d_input(d, "A", F32, 8, 8, 0), out = 0;
  ir_var axis = d_axis(d, "k", 8), v[2];
  FAILS(d, describe_compute_end(b, 1, e, &out), "no compute is open");
  describe_expr none = d_int(d, 0);
  FAILS(d, describe_compute_begin(b, "C", 1, &none, NULL, v),
        "dimension 0 of compute 'C' is 0; it must be at least 1");
  d_begin(d, "C", 8, 8, &i, &j);
  k = d_var(d, axis);
  e[0] = d_load(d, a, i, k);
  FAILS(d, describe_compute_end(b, 1, e, &out),
        "reduction axis 'k' is used outside of a reduction over it, in the "
        "body of compute 'C'");
  e[0] = e[1] = d_load(d, a, i, j);
  FAILS(d, describe_compute_end(b, 2, e, &out),
        "compute 'C' has 2 bodies; several are possible only for a reduction "
        "with as many results");
  r[0] = d_reduce(d, "sum", d_load(d, a, i, k), axis);
  FAILS(d, describe_binary(b, "*", r[0], d_lit(d, 2), &e[0]),
        "the left operand of '*' is the result of a reduction, which can only "
        "be the whole body of a compute");
  r[1] = d_reduce(d, "sum", d_load(d, a, j, k), axis);
  FAILS(d, describe_compute_end(b, 2, r, &out),
        "the body of compute 'C' must be all 1 results of one reduction, in "
        "order");
  uint32_t reducer = 0;
  FAILS(d, describe_builtin(b, "mean", r[0], &reducer),
        "there is no reducer 'mean'");
  assert_int_equal(describe_builtin(b, "sum", d_load(d, a, i, k), &reducer),
                   TESS_OK);
  FAILS(d, describe_reduce(b, reducer, 1, &r[0], 1, &axis, e),
        "source 0 of a reduction is the result of a reduction, which can only "
        "be the whole body of a compute");
  e[1] = d_load(d, a, i, k);
  ir_var not_axis = ir_at(&b->p, b->value.v[i].e)->a;
  FAILS(d, describe_reduce(b, reducer, 1, &e[1], 1, &not_axis, e),
        "axis 1 of a reduction is not a reduction axis");
  FAILS(d, describe_reduce(b, reducer, 1, &e[1], 2, (ir_var[]){axis, axis}, e),
        "a reduction has axis 'k' twice");
  FAILS(d, describe_program(b, "p", 1, &a, 0, NULL, &d->p),
        "compute 'C' is still open");
  out = d_end(d, r[0]);
  d_begin(d, "D", 4, 0, &k, NULL);
  e[0] = d_load(d, a, i, k);
  FAILS(d, describe_compute_end(b, 1, e, &out),
        "variable 'vi' is not known in the body of compute 'D'");
  describe_cancel(b, 0);
  assert_int_equal(describe_depth(b), 0);
}

/* How far a reduction by this reducer may be reordered. */
static uint32_t laws(describing *d, uint32_t n, const describe_expr *lhs,
                     const describe_expr *rhs, const describe_expr *c,
                     const double *id, const describe_expr *source) {
  uint32_t reducer;
  ir_var k = d_axis(d, "k", 8);
  describe_expr out[2];
  assert_int_equal(
      describe_reducer_end(&d->b, "r", n, lhs, rhs, c, id, &reducer), TESS_OK);
  assert_int_equal(describe_reduce(&d->b, reducer, n, source, 1, &k, out),
                   TESS_OK);
  return d->b.p.reducer.v[reducer].ordered;
}

/* An identity must be a value of its type. */
static void identities(describing *d) {
  static const struct {
    tess_dtype t;
    double v;
    const char *why;
  } wrong[] = {
      {F16, -1e30, "is -1e+30, which is too large for a value of float16"},
      {F16, 65520, "is 65520, which is too large for a value of float16"},
      {F32, 1e39, "is 1e+39, which is too large for a value of float32"},
      {F32, NAN, "is not a number"},
      {I8, 300, "is 300, which is not a value of int8"},
      {I8, -129, "is -129, which is not a value of int8"},
      {U8, -1, "is -1, which is not a value of uint8"},
      {IR_BOOL, 2, "is 2, which is not a value of bool"},
      {I32, NAN, "is not a number"},
      {I64, 0x1p63,
       "is 9.22337e+18; of integers one is 2^53 at most, or infinite: the "
       "least or greatest of the type"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    describe_expr lhs, rhs;
    uint32_t reducer;
    assert_int_equal(
        describe_reducer_begin(&d->b, "r", 1, &wrong[i].t, &lhs, &rhs),
        TESS_OK);
    char text[200];
    snprintf(text, sizeof text, "identity 0 of reducer 'r' %s", wrong[i].why);
    FAILS(d,
          describe_reducer_end(&d->b, "r", 1, &lhs, &rhs, &lhs, &wrong[i].v,
                               &reducer),
          text);
  }
  static const struct {
    tess_dtype t;
    double v;
  } right[] = {
      {F16, -65504}, {F16, -INFINITY}, {{TESS_DTYPE_BFLOAT, 16, 1}, -1e30},
      {I8, -128},    {I8, INFINITY},   {U8, 255},
      {IR_BOOL, 1}};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    describe_expr lhs, rhs;
    uint32_t reducer;
    assert_int_equal(
        describe_reducer_begin(&d->b, "r", 1, &right[i].t, &lhs, &rhs),
        TESS_OK);
    assert_int_equal(describe_reducer_end(&d->b, "r", 1, &lhs, &rhs, &lhs,
                                          &right[i].v, &reducer),
                     TESS_OK);
  }
}

static void reducers(describing *d) {
  ir_builder *b = &d->b;
  tess_dtype t[] = {F32, I32};
  describe_expr lhs[2], rhs[2], c[2];
  double id[] = {0, 0.5};
  uint32_t reducer;
  FAILS(d, describe_reducer_begin(b, "sum", 1, t, lhs, rhs),
        "a reducer cannot be called 'sum'; there is a built-in one");
  FAILS(d, describe_reducer_begin(b, "r", 0, t, lhs, rhs),
        "reducer 'r' has 0 values; 1 to 8 are possible");
  assert_int_equal(describe_reducer_begin(b, "r", 2, t, lhs, rhs), TESS_OK);
  c[0] = lhs[0], c[1] = rhs[0];
  FAILS(d, describe_reducer_end(b, "r", 2, lhs, rhs, c, id, &reducer),
        "result 1 of reducer 'r' is float32, not int32 (cast it)");
  c[1] = rhs[1];
  FAILS(d, describe_reducer_end(b, "r", 2, lhs, rhs, c, id, &reducer),
        "identity 1 of reducer 'r' is 0.5, which is not a value of int32");
  ir_buf a = d_input(d, "A", F32, 8, 0, 0);
  c[0] = d_load(d, a, d_int(d, 0), 0);
  FAILS(d, describe_reducer_end(b, "r", 2, lhs, rhs, c, id, &reducer),
        "result 0 of reducer 'r' loads from a buffer");
  ir_var other = d_axis(d, "k", 8);
  assert_int_equal(describe_cast(b, F32, d_var(d, other), &c[0]), TESS_OK);
  FAILS(d, describe_reducer_end(b, "r", 2, lhs, rhs, c, id, &reducer),
        "reduction axis 'k' is used outside of a reduction over it, in result "
        "0 of reducer 'r'");
  describe_expr source[2] = {d_load(d, a, d_int(d, 0), 0)};
  assert_int_equal(describe_cast(b, I32, source[0], &source[1]), TESS_OK);
  c[0] = lhs[0], id[1] = 0;
  assert_int_equal(laws(d, 2, lhs, rhs, c, id, source), IR_ORDER_FIXED);
  c[0] =
      d_op(d, "+", d_op(d, "*", lhs[0], rhs[0]), d_op(d, "+", lhs[0], rhs[0]));
  c[1] = d_op(d, "min", d_op(d, "+", lhs[1], rhs[1]), d_ilit(d, 10));
  assert_int_equal(laws(d, 2, lhs, rhs, c, id, source), IR_ORDER_FIXED);
  tess_dtype one = F32;
  assert_int_equal(describe_reducer_begin(b, "r", 1, &one, lhs, rhs), TESS_OK);
  assert_int_equal(describe_extern(b, "f", F32, 1, rhs, &c[0]), TESS_OK);
  c[0] = d_op(d, "+", lhs[0], c[0]);
  assert_int_equal(laws(d, 1, lhs, rhs, c, id, source), IR_ORDER_FIXED);
}

static void statements(describing *d) {
  ir_builder *b = &d->b;
  ir_var i, v[2];
  ir_buf a = d_input(d, "A", F32, 8, 0, 0);
  describe_expr zero = d_int(d, 0), eight = d_int(d, 8), half = d_lit(d, 0.5);
  const char *names[] = {"vi"};
  ir_iter_kind kinds[] = {IR_SPATIAL};
  FAILS(d, describe_end(b), "no statement is open");
  FAILS(d, describe_else_begin(b),
        "an else must stand directly in an if that has none yet");
  FAILS(d, describe_loop_begin(b, "i", zero, half, &i),
        "the extent of 'i' is 0.5, which is not a value of int64");
  FAILS(d, describe_loop_begin(b, "i", zero, d_int(d, -1), &i),
        "the extent of 'i' is -1; it must be at least 0");
  FAILS(d, describe_loop_begin(b, "i", d_int(d, INT64_MAX), eight, &i),
        "the extent of 'i' is 8 behind a start of 9223372036854775807, which "
        "is more than int64 holds");
  FAILS(d, describe_axis_new(b, "k", eight, d_int(d, INT64_MAX), &i),
        "the extent of a reduction axis is 9223372036854775807 behind a start "
        "of 8, which is more than int64 holds");
  assert_int_equal(describe_loop_begin(b, "i", zero, eight, &i), TESS_OK);
  describe_expr at = d_var(d, i);
  FAILS(d, describe_init_begin(b),
        "an init must stand directly in a block that has none yet");
  FAILS(d, describe_store(b, a, 1, &at, zero),
        "the value stored to 'A' is int64, not float32 (cast it)");
  FAILS(d, describe_store(b, a, 0, NULL, half),
        "buffer 'A' has 1 dimension but is indexed by 0");
  FAILS(
      d,
      describe_block_begin(b, "B", 1, names, kinds, &zero, &eight, &half, 0, v),
      "the value of 'vi' of block 'B' is 0.5, which is not a value of "
      "int64");
  FAILS(d,
        describe_block_begin(b, "B", 1, names, kinds, &zero, &eight, &at, zero,
                             v),
        "the predicate of a block is int64, not bool (cast it)");
  assert_int_equal(
      describe_block_begin(b, "B", 1, names, kinds, &zero, &eight, &at, 0, v),
      TESS_OK);
  FAILS(d, describe_store(b, a, 1, &at, half),
        "loop variable 'i' is used in index 0 of 'A' inside of block 'B'; "
        "bind one of the block's variables to it");
  describe_expr vi = d_var(d, v[0]);
  assert_int_equal(describe_store(b, a, 1, &vi, half), TESS_OK);
  assert_int_equal(describe_init_begin(b), TESS_OK);
  assert_int_equal(describe_store(b, a, 1, &vi, zero = d_lit(d, 0)), TESS_OK);
  assert_int_equal(describe_end(b), TESS_OK);
  FAILS(d, describe_init_begin(b),
        "an init must stand directly in a block that has none yet");
  FAILS(d, describe_program(b, "p", 1, &a, 0, NULL, &d->p),
        "block 'B' is still open");
  assert_int_equal(describe_end(b), TESS_OK);
  FAILS(d, describe_store(b, a, 1, &vi, half),
        "variable 'vi' is not known in index 0 of 'A'");
  assert_int_equal(describe_end(b), TESS_OK);
  int64_t shape[] = {8};
  float data[8] = {0};
  ir_buf w = 0;
  assert_int_equal(describe_constant(b, "w", F32, 1, shape, data, &w), TESS_OK);
  at = d_int(d, 0);
  FAILS(d, describe_store(b, w, 1, &at, half),
        "constant 'w' cannot be stored to");
}

static void programs(describing *d) {
  ir_builder *b = &d->b;
  describe_expr i, n;
  ir_var size, v;
  ir_buf a = d_input(d, "A", F32, 8, 0, 0), x = d_input(d, "X", F32, 8, 0, 0);
  d_begin(d, "C", 8, 0, &i, NULL);
  ir_buf c = d_end(d, d_op(d, "+", d_load(d, a, i, 0), d_load(d, x, i, 0)));
  d_begin(d, "C", 8, 0, &i, NULL);
  ir_buf c2 = d_end(d, d_load(d, c, i, 0));
  d_begin(d, "root", 8, 0, &i, NULL);
  ir_buf r = d_end(d, d_load(d, a, i, 0));
  ir_buf both[] = {a, x}, twice[] = {a, a};
  FAILS(d, describe_program(b, "", 1, &a, 1, &c, &d->p),
        "a program needs a name");
  FAILS(d, describe_program(b, "p", 1, &a, 1, &c, &d->p),
        "buffer 'X' is used but is not among the parameters");
  FAILS(d, describe_program(b, "p", 2, twice, 1, &c, &d->p),
        "'A' is given twice as a parameter");
  FAILS(d, describe_program(b, "p", 1, &c, 1, &c2, &d->p),
        "input 'C' is computed; only a placeholder can be an input");
  FAILS(d, describe_program(b, "p", 1, &a, 1, &x, &d->p),
        "output 'X' is not computed");
  FAILS(d, describe_program(b, "p", 1, &a, 1, &r, &d->p),
        "a block cannot be called 'root'; the outermost one is");
  FAILS(d, describe_program(b, "p", 2, both, 1, (ir_buf[]){99}, &d->p),
        "there is no buffer 99");
  assert_int_equal(describe_size(b, "n", &size), TESS_OK);
  n = d_var(d, size);
  assert_int_equal(describe_compute_begin(b, "S", 1, &n, NULL, &v), TESS_OK);
  ir_buf s = d_end(d, d_lit(d, 1)), t = 0;
  ir_var k = 0;
  assert_int_equal(describe_axis_new(b, "k", d_int(d, 0), n, &k), TESS_OK);
  assert_int_equal(describe_compute_begin(b, "T", 0, NULL, NULL, &v), TESS_OK);
  t = d_end(d, d_reduce(d, "sum", d_load(d, s, d_var(d, k), 0), k));
  FAILS(d, describe_program(b, "p", 0, NULL, 1, &t, &d->p),
        "size 'n' is not an extent of any parameter");
  /* After all of that the builder still works. */
  d_program(d, "p", 2, both, c);
  describing_expect(d, "p(A: float32[8], X: float32[8], C: out float32[8])\n"
                       "  for i in range(8)\n"
                       "    block C(vi: 8 = i)\n"
                       "      C[vi] = A[vi] + X[vi]\n");
}

static void limits(describing *d) {
  ir_builder *b = &d->b;
  describe_expr e = d_int(d, 1), shape[20];
  char name[300];
  ir_buf buf;
  ir_var v;
  for (int i = 0; i < 20; i++) shape[i] = e;
  memset(name, 'x', sizeof name);
  name[299] = '\0';
  FAILS(d,
        describe_buffer(b, name, F32, 0, NULL, IR_SCOPE_GLOBAL, IR_ROLE_INPUT,
                        &buf),
        "the name of a buffer is longer than 255 bytes");
  FAILS(d,
        describe_buffer(b, "A\nB", F32, 0, NULL, IR_SCOPE_GLOBAL, IR_ROLE_INPUT,
                        &buf),
        "the name of a buffer has a control character, 10, at 2");
  FAILS(d,
        describe_buffer(b, "\xc3\xa9\xff", F32, 0, NULL, IR_SCOPE_GLOBAL,
                        IR_ROLE_INPUT, &buf),
        "the name of a buffer is not UTF-8 from byte 3 on");
  assert_int_equal(describe_buffer(b, "\xc3\xa9", F32, 0, NULL, IR_SCOPE_GLOBAL,
                                   IR_ROLE_INPUT, &buf),
                   TESS_OK);
  FAILS(d,
        describe_buffer(b, "A", F32, 20, shape, IR_SCOPE_GLOBAL, IR_ROLE_INPUT,
                        &buf),
        "buffer 'A' has 20 dimensions; at most 16 are possible");
  FAILS(d, describe_compute_begin(b, "C", 17, shape, NULL, &v),
        "compute 'C' has 17 dimensions; at most 16 are possible");
  FAILS(d,
        describe_buffer(b, "A", (tess_dtype){TESS_DTYPE_FLOAT, 32, 4}, 0, NULL,
                        IR_SCOPE_GLOBAL, IR_ROLE_INPUT, &buf),
        "buffer 'A' cannot be float32x4, which is no type of one number");
  int64_t bad[] = {4, 0};
  FAILS(d, describe_constant(b, "w", F32, 2, bad, "", &buf),
        "constant 'w' has an extent that is not positive, or is too large");
  ir_buf x = d_input(d, "X", F32, 4, 0, 0);
  describe_expr deep = d_load(d, x, d_int(d, 0), 0), next = 0;
  tess_status s = TESS_OK;
  for (int i = 0; i < 5000 && !s; i++) {
    s = describe_call(b, "sqrt", 1, &deep, &next);
    deep = next;
  }
  FAILS(d, s,
        "an expression nests deeper than 2000; use a reduction, or a "
        "compute for a part of it");
  /* An operator is one level, and X[0] the first of them. */
  int terms = 0;
  deep = d_load(d, x, d_int(d, 0), 0);
  for (s = TESS_OK; !s && terms < 5000; deep = next, terms++)
    s = describe_binary(b, terms % 2 ? "*" : "+", deep, d_load(d, x, e, 0),
                        &next);
  FAILS(d, s,
        "an expression nests deeper than 2000; use a reduction, or a "
        "compute for a part of it");
  assert_in_range(terms, 1999, 2000);
  s = TESS_OK;
  for (int i = 0; i < 500 && !s; i++)
    s = describe_loop_begin(b, "i", d_int(d, 0), d_int(d, 2), &v);
  FAILS(d, s, "statements nest deeper than 160");
}

/* What must be out of bounds is refused when the program is made. */
static void bounds(describing *d) {
  describe_expr i, at;
  ir_buf a = d_input(d, "A", F32, 8, 0, 0), in[] = {a};
  d_begin(d, "shift", 8, 0, &i, NULL);
  at = d_op(d, "+", i, d_ilit(d, 1));
  ir_buf c = d_end(d, d_load(d, a, at, 0));
  FAILS(d, describe_program(&d->b, "p", 1, in, 1, &c, &d->p),
        "buffer 'A' is read outside of its shape: index 0, `vi + 1`, is in "
        "[1, 8] and the extent is `8`, in `shift[vi] = A[vi + 1]`");
  /* With a guard it is accepted. */
  d_begin(d, "guarded", 8, 0, &i, NULL);
  at = d_op(d, "+", i, d_ilit(d, 1));
  describe_expr x = d_load(d, a, at, 0), e = 0;
  assert_int_equal(
      describe_select(&d->b, d_op(d, "<", i, d_ilit(d, 7)), x, d_lit(d, 0), &e),
      TESS_OK);
  d_program(d, "p", 1, in, d_end(d, e));
}

static void test_errors(void **state) {
  (void)state;
  void (*const parts[])(describing *) = {
      handles,  types,      no_dtypes, computes, identities,
      reducers, statements, programs,  limits,   bounds};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    describing d;
    describing_start(&d);
    describing_run(&d, parts[i]);
    describing_end(&d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
