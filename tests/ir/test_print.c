/* SPDX-License-Identifier: Apache-2.0
 * Printed programs and expressions. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/matmul.h"

#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})
#define I32 ((tess_dtype){TESS_DTYPE_INT, 32, 1})

static void test_program(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_expect(
      &m, &m.p, NULL,
      "main(A: float32[128, 32], B: float32[32, 64], D: out float32[128, 64])\n"
      "  alloc C: float32[128, 64]\n"
      "  for i in range(128)\n"
      "    for j in range(64)\n"
      "      for k in range(32)\n"
      "        block C(v0: 128 = i, v1: 64 = j, v2: reduce 32 = k)\n"
      "          init\n"
      "            C[v0, v1] = 0.0\n"
      "          C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]\n"
      "  for i in range(128)\n"
      "    for j in range(64)\n"
      "      block D(v0: 128 = i, v1: 64 = j)\n"
      "        D[v0, v1] = max(C[v0, v1], 0.0)\n");
  matmul_end(&m);
}

static void dress(matmul *m) {
  ir_program *p = &m->p;
  ir_st(p, m->i)->loop_kind = IR_PARALLEL;
  ir_st(p, m->j)->loop_kind = IR_THREAD;
  ir_st(p, m->j)->thread = IR_THREADIDX_X;
  ir_st(p, m->k)->loop_kind = IR_UNROLLED;
  ir_st(p, m->j2)->loop_kind = IR_VECTORIZED;
  ir_val list[] = {ir_value_int(p, 0), ir_value_str(p, "a \"b\"")};
  ir_value l = {.tag = IR_VAL_LIST, .n = 2};
  ir_anno_set(p, m->k, ir_name(p, "stage"), ir_value_add(p, l, list));
  ir_value yes = {.tag = IR_VAL_BOOL, .i = 1};
  ir_anno_set(p, m->c, ir_name(p, "tiled"), ir_value_add(p, yes, NULL));
  ir_value half = {.tag = IR_VAL_REAL, .f = 0.5};
  ir_anno_set(p, ir_entry(p)->root, ir_name(p, "x"),
              ir_value_add(p, half, NULL));
  ir_expr i = ir_ref(p, ir_st(p, m->i)->var);
  ir_blk(p, m->c)->pred = ir_binary(p, IR_LT, i, ir_index(p, 100));
  p->buf.v[ir_st(p, ir_st(p, m->c)->body)->buf].scope = IR_SCOPE_SHARED;
}

static void test_marks(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, dress);
  uint8_t changed[64] = {0};
  changed[m.j] = changed[m.d] = 1;
  ir_print_opts o = {.mark = m.c,
                     .mark_text = "this block",
                     .changed = changed,
                     .regions = true};
  matmul_expect(
      &m, &m.p, &o,
      "  main(A: float32[128, 32], B: float32[32, 64], D: out float32[128, 64])"
      " {x = 0.5}\n"
      "    alloc C: float32[128, 64] in shared\n"
      "    for i in parallel(128)\n"
      "*     for j in threadIdx.x(64)\n"
      "        for k in unrolled(32) {stage = [0, \"a \\\"b\\\"\"]}\n"
      "          block C(v0: 128 = i, v1: 64 = j, v2: reduce 32 = k)"
      " {tiled = true}\n"
      "          ^-- this block\n"
      "            where i < 100\n"
      "            reads(A[v0, v2], B[v2, v1])\n"
      "            writes(C[v0, v1])\n"
      "            init\n"
      "              C[v0, v1] = 0.0\n"
      "            C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]\n"
      "    for i in range(128)\n"
      "      for j in vectorized(64)\n"
      "*       block D(v0: 128 = i, v1: 64 = j)\n"
      "          reads(C[v0, v1])\n"
      "          writes(D[v0, v1])\n"
      "          D[v0, v1] = max(C[v0, v1], 0.0)\n");
  matmul_end(&m);
}

/* ---- expressions -------------------------------------------------------- */

static ir_expr raw(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  tess_dtype t = ir_at(p, a)->dtype;
  bool truth = op >= IR_EQ && op <= IR_NOT;
  ir_node n = {.op = (uint8_t)op, .dtype = truth ? IR_BOOL : t, .a = a, .b = b};
  return ir_raw(p, &n, NULL);
}

static void print_expect(matmul *m, ir_expr e, const char *text) {
  str_clear(&m->text);
  ir_print_expr(&m->p, e, &m->text);
  assert_string_equal(str_get(&m->text), text);
}

static void expressions(matmul *m) {
  ir_program *p = &m->p;
  ir_var vi = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "i"), IR_INDEX, 0, 9);
  ir_var vj = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "j"), IR_INDEX, 0, 9);
  ir_var vi2 = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "i"), IR_INDEX, 0, 9);
  ir_expr i = ir_ref(p, vi), j = ir_ref(p, vj), i2 = ir_ref(p, vi2);
  ir_expr four = ir_index(p, 4), minus = ir_index(p, -3);
  ir_expr sum = raw(p, IR_ADD, i, j), less = raw(p, IR_LT, i, four);
  print_expect(m, raw(p, IR_MUL, sum, four), "(i + j) * 4");
  print_expect(m, raw(p, IR_ADD, raw(p, IR_MUL, i, four), j), "i * 4 + j");
  print_expect(m, raw(p, IR_SUB, i, sum), "i - (i + j)");
  print_expect(m, raw(p, IR_SUB, sum, i), "i + j - i");
  print_expect(m, raw(p, IR_ADD, i, minus), "i - 3");
  print_expect(m, raw(p, IR_ADD, i, raw(p, IR_MUL, j, minus)), "i - j * 3");
  print_expect(m, raw(p, IR_MUL, sum, ir_index(p, -1)), "-(i + j)");
  print_expect(m, raw(p, IR_DIV, i, raw(p, IR_DIV, j, four)), "i // (j // 4)");
  print_expect(m, raw(p, IR_MOD, raw(p, IR_DIV, i, four), four), "i // 4 % 4");
  print_expect(m, raw(p, IR_MIN, i, sum), "min(i, i + j)");
  print_expect(m, raw(p, IR_OR, less, raw(p, IR_AND, less, less)),
               "i < 4 || i < 4 && i < 4");
  print_expect(m, raw(p, IR_AND, raw(p, IR_OR, less, less), less),
               "(i < 4 || i < 4) && i < 4");
  print_expect(m, raw(p, IR_NOT, less, 0), "!(i < 4)");
  print_expect(m, raw(p, IR_EQ, less, less), "(i < 4) == (i < 4)");
  print_expect(m, raw(p, IR_ADD, i, i2), "i + i_1");
  print_expect(m, ir_real(p, F32, 1), "1.0");
  print_expect(m, ir_real(p, F32, -0.1), "-0.10000000149011612");
  print_expect(m, ir_real(p, F32, 1e30), "1.0000000150474662e+30");
  print_expect(m, ir_extreme(p, F32, false), "-inf");
  print_expect(m, ir_bool(p, true), "true");
  print_expect(m, ir_int(p, (tess_dtype){TESS_DTYPE_UINT, 64, 1}, -1),
               "18446744073709551615");
  print_expect(m, ir_cast(p, I32, i), "int32(i)");
  print_expect(m, ir_select(p, less, i, j), "select(i < 4, i, j)");
  print_expect(m, ir_ramp(p, i, ir_index(p, 2), 8), "ramp(i, 2, 8)");
  print_expect(m, ir_broadcast(p, i, 8), "broadcast(i, 8)");
  ir_expr x = ir_cast(p, F32, i), xy[] = {x, ir_cast(p, F32, j)};
  print_expect(m, raw(p, IR_DIV, x, x), "float32(i) / float32(i)");
  print_expect(m, ir_call(p, IR_FN_POW, F32, 2, xy),
               "pow(float32(i), float32(j))");
  print_expect(m, ir_call_extern(p, "f", F32, 1, xy),
               "float32.extern \"f\"(float32(i))");
}

static void test_expressions(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, expressions);
  matmul_end(&m);
}

/* x0 = i + i, x1 = x0 * x0 ...: as a tree this would never end. */
static void shared(matmul *m) {
  ir_program *p = &m->p;
  ir_expr e = ir_ref(p, ir_st(p, m->i)->var);
  for (int k = 0; k < 100; k++) e = raw(p, IR_MIN, e, e);
  str_clear(&m->text);
  ir_print_expr(p, e, &m->text);
  assert_true(m->text.n < 1000000);
  assert_non_null(strstr(str_get(&m->text), "..."));
}

static void test_shared(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, shared);
  matmul_end(&m);
}

/* ---- names -------------------------------------------------------------- */

static void names(matmul *m) {
  ir_program *p = &m->p;
  ir_var i = ir_st(p, m->i)->var, j = ir_st(p, m->j)->var;
  ir_var split = ir_var_split(p, i, 1, 3);
  ir_var fused = ir_var_fused(p, split, j, 9);
  print_expect(m, ir_ref(p, split), "i_1");
  print_expect(m, ir_ref(p, fused), "i_1_j_fused");
  /* Fusing with itself doubles a name each time; it is cut. */
  for (int k = 0; k < 60; k++) fused = ir_var_fused(p, fused, fused, 9);
  str_clear(&m->text);
  ir_var_name(p, fused, &m->text);
  assert_true(m->text.n < 200);
}

static void test_print_names(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, names);
  matmul_end(&m);
}

/* Every allocation of the printer may fail; the text is then bad. */
static void test_print_memory(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  for (uint64_t n = 1;; n++) {
    str_free(&m.text);
    fault_arm(&m.heap.fault, n);
    ir_print(&m.p, NULL, &m.text);
    bool failed = m.heap.fault.failed > 0;
    m.heap.fault.fail_at = 0;
    assert_int_equal(m.text.bad, failed);
    if (!failed) break;
  }
  matmul_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program),     cmocka_unit_test(test_marks),
      cmocka_unit_test(test_expressions), cmocka_unit_test(test_shared),
      cmocka_unit_test(test_print_names), cmocka_unit_test(test_print_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
