/* SPDX-License-Identifier: Apache-2.0
 * Graphs through the public header: text, order, branches, what is refused,
 * and memory that runs out anywhere. */
#include "base/fault.h"
#include "support/test.h"
#include <tessera/tessera.h>

static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
static const tess_dim four = {.extent = 4};
static const tess_gtype vector = {{TESS_DTYPE_FLOAT, 32, 1}, 1, &four};

typedef struct fixture {
  fault_alloc fault;
  tess_allocator alloc;
  tess_context *c;
  tess_graph *g;
  tess_tensor *t;
  char *text;
} fixture;

static void graph_end(fixture *f) {
  if (f->text) tess_text_free(f->c, f->text);
  tess_graph_free(f->g);
  tess_tensor_free(f->t);
  tess_context_free(f->c);
  assert_int_equal(f->fault.broken, 0);
  assert_int_equal(f->fault.live_blocks, 0);
  f->c = NULL;
  f->g = NULL;
  f->t = NULL;
  f->text = NULL;
}

#define TRY(call)                 \
  do {                            \
    tess_status s_ = (call);      \
    if (s_ != TESS_OK) return s_; \
  } while (0)

static tess_status add_two(tess_graph *g, const char *op, tess_gvalue x,
                           tess_gvalue y, tess_gvalue *out) {
  const tess_gvalue in[] = {x, y};
  const tess_node_def def = {.struct_size = sizeof def,
                             .op = op,
                             .nin = 2,
                             .in = in,
                             .nout = 1,
                             .type = &vector};
  return tess_graph_node(g, &def, out);
}

/* y = (x + w) if .. with a branch, two lists and a result without a type. */
static tess_status add_branch(fixture *f, tess_gvalue x, tess_gvalue *out) {
  tess_graph *branch;
  tess_gvalue v;
  const int64_t ints[] = {1, -2};
  const double reals[] = {0.5};
  const char *strs[] = {"a\nb", "c"};
  const tess_gtype unknown = {.ndim = 0};
  TRY(tess_graph_new(f->c, "then", &branch));
  tess_status s = tess_graph_input(branch, "h", &unknown, TESS_G_OUTER, &v);
  if (s == TESS_OK) s = tess_graph_output(branch, "y", v);
  if (s != TESS_OK) {
    tess_graph_free(branch);
    return s;
  }
  tess_attr attr[] = {
      {.name = "z", .kind = TESS_ATTR_GRAPH, .graph = branch},
      {.name = "ints", .kind = TESS_ATTR_INTS, .n = 2, .ints = ints},
      {.name = "reals", .kind = TESS_ATTR_REALS, .n = 1, .reals = reals},
      {.name = "strs", .kind = TESS_ATTR_STRS, .n = 2, .strs = strs},
      {.name = "b", .kind = TESS_ATTR_BOOL, .i = 1}};
  const tess_node_def def = {.struct_size = sizeof def,
                             .op = "onnx.If",
                             .name = "choice",
                             .nin = 1,
                             .in = &x,
                             .nattr = 5,
                             .attr = attr,
                             .nout = 1,
                             .type = &unknown};
  return tess_graph_node(f->g, &def, out);
}

/* Everything once: h = x + w, dead = h * h, y = If(h); y takes h's place. */
static tess_status build_all(fixture *f) {
  const tess_options o = {.struct_size = sizeof o, .allocator = &f->alloc};
  const int64_t shape[] = {4};
  const tess_dim batch = {.size = "batch"};
  const tess_gtype open = {f32, 1, &batch};
  tess_gvalue x, z, w, h, dead, y;
  TRY(tess_context_new(&o, &f->c));
  TRY(tess_tensor_new(f->c, f32, 1, shape, "integers", 1, &f->t));
  TRY(tess_graph_new(f->c, "small", &f->g));
  TRY(tess_graph_input(f->g, "x", &vector, TESS_G_INPUT, &x));
  TRY(tess_graph_input(f->g, "z", &open, TESS_G_INPUT, &z));
  TRY(tess_graph_constant(f->g, "w", f->t, &w));
  TRY(add_two(f->g, "add", x, w, &h));
  TRY(add_two(f->g, "mul", h, h, &dead));
  TRY(add_branch(f, h, &y));
  TRY(tess_graph_output(f->g, "out", h));
  TRY(tess_graph_output(f->g, "y", y));
  TRY(tess_graph_sweep(f->g));
  TRY(tess_graph_verify(f->g));
  TRY(tess_graph_text(f->g, &f->text));
  tess_text_free(f->c, f->text);
  f->text = NULL;
  TRY(tess_graph_dot(f->g, &f->text));
  return TESS_OK;
}

static void graph_start(fixture *f) {
  fault_init(&f->fault);
  f->alloc = fault_allocator(&f->fault);
}

static void test_text(void **state) {
  (void)state;
  fixture f = {0};
  graph_start(&f);
  assert_int_equal(build_all(&f), TESS_OK);
  assert_non_null(strstr(f.text, "n1 -> n3 [label=\"float32[4]\"];"));
  assert_null(strstr(f.text, "mul"));
  tess_text_free(f.c, f.text);
  assert_int_equal(tess_graph_text(f.g, &f.text), TESS_OK);
  assert_string_equal(
      f.text, "graph small(\n"
              "    x: float32[4],\n"
              "    z: float32[batch])\n"
              "  const w: float32[4] = {4, 4, 1, 2}\n"
              "  %4 = add(x, w): float32[4]\n"
              "  %6 = onnx.If(%4, { b = true, ints = {1, -2}, reals = {0.5}, "
              "strs = {\"a?b\", \"c\"}, z = graph then }): ?\n"
              "  output out = %4\n"
              "  output y = %6\n");
  graph_end(&f);
}

static void test_order(void **state) {
  (void)state;
  fixture f = {0};
  tess_gvalue x, a, b, c;
  const tess_gnode *order;
  graph_start(&f);
  assert_int_equal(tess_context_new(NULL, &f.c), TESS_OK);
  assert_int_equal(tess_graph_new(f.c, "order", &f.g), TESS_OK);
  assert_int_equal(tess_graph_input(f.g, "x", &vector, TESS_G_INPUT, &x), 0);
  assert_int_equal(add_two(f.g, "add", x, x, &a), TESS_OK);
  assert_int_equal(add_two(f.g, "mul", a, x, &b), TESS_OK);
  assert_int_equal(tess_graph_output(f.g, "y", b), TESS_OK);
  assert_int_equal(add_two(f.g, "sub", x, x, &c), TESS_OK);
  assert_int_equal(tess_graph_replace(f.g, a, c), TESS_OK);
  assert_int_equal(tess_graph_verify(f.g), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "node mul of graph order: input 1, %4, is not computed "
                      "before it");
  assert_int_equal(tess_graph_sweep(f.g), TESS_OK);
  assert_int_equal(tess_graph_verify(f.g), TESS_OK);
  assert_int_equal(tess_graph_order(f.g, &order), 2);
  assert_int_equal(order[0], 3);
  assert_int_equal(order[1], 2);
  tess_gnode_info n = TESS_INIT(tess_gnode_info);
  assert_int_equal(tess_graph_node_get(f.g, order[1], &n), TESS_OK);
  assert_string_equal(n.op, "mul");
  assert_int_equal(n.in[0], c);
  tess_gvalue_info v = TESS_INIT(tess_gvalue_info);
  assert_int_equal(tess_graph_value(f.g, b, &v), TESS_OK);
  assert_int_equal(v.node, 2);
  assert_int_equal(tess_graph_replace(f.g, x, b), TESS_OK); /* a circle */
  assert_int_equal(tess_graph_sweep(f.g), TESS_INVALID);
  assert_int_equal(tess_graph_order(f.g, &order), 2);
  graph_end(&f);
}

static void test_refusals(void **state) {
  (void)state;
  fixture f = {0};
  tess_gvalue x = 7, y = 7;
  tess_tensor *t;
  tess_dim many[17] = {{.extent = 1}};
  const tess_gtype deep = {f32, 17, many};
  const tess_dim minus = {.extent = -1};
  const tess_gtype negative = {f32, 1, &minus};
  graph_start(&f);
  assert_int_equal(tess_context_new(NULL, &f.c), TESS_OK);
  assert_int_equal(tess_graph_new(f.c, "wrong", &f.g), TESS_OK);
  assert_int_equal(tess_graph_input(f.g, "x", &deep, TESS_G_INPUT, &x),
                   TESS_LIMIT);
  assert_int_equal(x, 0);
  assert_int_equal(tess_graph_input(f.g, "x", &negative, TESS_G_INPUT, &x),
                   TESS_INVALID);
  assert_int_equal(add_two(f.g, "add", 1, 2, &y), TESS_INVALID);
  assert_int_equal(y, 0);
  assert_string_equal(tess_error(f.c)->message,
                      "input 1 of node add is no value of graph wrong");
  assert_int_equal(tess_graph_output(f.g, "y", 3), TESS_INVALID);
  assert_int_equal(tess_graph_input(f.g, "x", &vector, TESS_G_INPUT, &x), 0);
  assert_int_equal(tess_graph_tensor(f.g, x, &t), TESS_INVALID);
  const tess_attr twice[] = {{.name = "a", .kind = TESS_ATTR_INT},
                             {.name = "a", .kind = TESS_ATTR_INT}};
  const tess_node_def def = {.struct_size = sizeof def,
                             .op = "relu",
                             .nin = 1,
                             .in = &x,
                             .nattr = 2,
                             .attr = twice,
                             .nout = 1,
                             .type = &vector};
  assert_int_equal(tess_graph_node(f.g, &def, &y), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "node relu has attribute a twice");
  graph_end(&f);
}

static void test_memory(void **state) {
  (void)state;
  tess_status s = TESS_NOMEM;
  uint64_t at = 1;
  for (; s == TESS_NOMEM; at++) {
    fixture f = {0};
    graph_start(&f);
    f.fault.fail_at = at;
    s = build_all(&f);
    if (f.c)
      graph_end(&f);
    else
      assert_int_equal(f.fault.live_blocks, 0);
  }
  assert_int_equal(s, TESS_OK);
  assert_true(at > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
