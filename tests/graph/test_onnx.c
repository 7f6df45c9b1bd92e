/* SPDX-License-Identifier: Apache-2.0
 * Reading ONNX files (tests/data/onnx, by make.py): what is read, damaged
 * files, weights in other files, memory that runs out anywhere. */
#include "base/context.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/rng.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA TESS_SOURCE_DIR "/tests/data/onnx/"

typedef struct fixture {
  fault_alloc fault;
  tess_context *c;
  tess_graph *g;
  char *text;
} fixture;

static void begin(fixture *f) {
  *f = (fixture){0};
  fault_init(&f->fault);
  tess_allocator alloc = fault_allocator(&f->fault);
  tess_options o = {.struct_size = sizeof o, .allocator = &alloc};
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
}

static void finish(fixture *f) {
  tess_text_free(f->c, f->text);
  tess_graph_free(f->g);
  tess_context_free(f->c);
  assert_int_equal(f->fault.broken, 0);
  assert_int_equal(f->fault.live_blocks, 0);
}

static void test_parts(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  assert_int_equal(tess_graph_from_onnx(f.c, DATA "parts.onnx", &f.g), 0);
  assert_int_equal(tess_graph_verify(f.g), TESS_OK);
  assert_int_equal(tess_graph_text(f.g, &f.text), TESS_OK);
  assert_string_equal(
      f.text,
      "graph parts(\n"
      "    x: float32[batch, 3, 4, 4])\n"
      "  const w: float32[2, 3, 3, 3]\n"
      "  const b: float32[2] = {0.5, -0.25}\n"
      "  c = onnx.Conv(x, w, b, { .opset = 17, pads = {1, 1, 1, 1} }): ?\n"
      "  const yes: bool[] = {1}\n"
      "  r = onnx.If(yes, { .opset = 17, else_branch = graph e, then_branch = "
      "graph t }): ?\n"
      "  call/by = onnx.Constant({ .opset = 17, value_float = 0.5 }): ?\n"
      "  call/y = onnx.Mul(r, call/by, { .opset = 17 }): ?\n"
      "  const to: int64[2] = {0, -1}\n"
      "  y = onnx.Reshape(call/y, to, { .opset = 17 }): ?\n"
      "  output y = y\n");
  tess_graph *then;
  assert_int_equal(tess_graph_branch(f.g, 2, "then_branch", &then), TESS_OK);
  assert_string_equal(tess_graph_name(then), "t");
  tess_graph_free(then);
  assert_int_equal(tess_graph_branch(f.g, 1, "pads", &then), TESS_NOT_FOUND);
  finish(&f);
}

static void test_weights_beside(void **state) {
  (void)state;
  fixture f;
  tess_gvalue last = 0;
  tess_tensor *t;
  tess_gvalue_info w = TESS_INIT(tess_gvalue_info);
  begin(&f);
  assert_int_equal(tess_graph_from_onnx(f.c, DATA "beside.onnx", &f.g), 0);
  for (tess_gvalue v = 1; w.kind != TESS_G_CONSTANT; v++)
    assert_int_equal(tess_graph_value(f.g, last = v, &w), TESS_OK);
  assert_int_equal(tess_graph_tensor(f.g, last, &t), TESS_OK);
  strbuf file;
  str_init(&file, &f.c->heap);
  assert_int_equal(file_read(DATA "beside.weights", 1 << 20, &file, &f.c->err),
                   TESS_OK);
  assert_int_equal(file.n, 128);
  assert_memory_equal(tess_tensor_data(t), str_get(&file), 128);
  tess_tensor_free(t);
  str_free(&file);
  finish(&f);
}

/* ---- damage ------------------------------------------------------------- */

static void load(fixture *f, const char *path, strbuf *out) {
  str_init(out, &f->c->heap);
  assert_int_equal(file_read(path, 1 << 20, out, &f->c->err), TESS_OK);
}

/* A byte changed, a piece cut out or repeated, or the end cut off. */
static size_t damage(rng *r, char *bytes, size_t n) {
  size_t at = (size_t)rng_below(r, n), k = 1 + (size_t)rng_below(r, 8);
  k = k < n - at ? k : n - at;
  switch (rng_below(r, 4)) {
  case 0: bytes[at] = (char)rng_u32(r); return n;
  case 1: memmove(bytes + at, bytes + at + k, n - at - k); return n - k;
  case 2: memmove(bytes + at + k, bytes + at, n - at); return n + k;
  default: return at;
  }
}

static void test_damaged(void **state) {
  (void)state;
  fixture f;
  strbuf whole;
  uint32_t refused = 0;
  begin(&f);
  load(&f, DATA "parts.onnx", &whole);
  for (uint64_t i = 0; i < 1000; i++) {
    char bytes[2048];
    rng r;
    rng_init(&r, 39, i);
    memcpy(bytes, whole.v, whole.n);
    size_t n = damage(&r, bytes, damage(&r, bytes, whole.n) + 1);
    tess_status s = tess_graph_from_onnx_bytes(f.c, bytes, n, &f.g);
    if (s) {
      const char *why = tess_error(f.c)->message;
      assert_non_null(why);
      assert_true(!strncmp(why, "ONNX: ", 6) && !strchr(why, '\n'));
      assert_null(f.g);
      refused++;
    } else {
      assert_int_equal(tess_graph_verify(f.g), TESS_OK);
      tess_graph_free(f.g);
      f.g = NULL;
    }
  }
  assert_true(refused > 500);
  str_free(&whole);
  finish(&f);
}

static void refused_as(fixture *f, const void *bytes, size_t n, tess_status s,
                       const char *why) {
  assert_int_equal(tess_graph_from_onnx_bytes(f->c, bytes, n, &f->g), s);
  assert_string_equal(tess_error(f->c)->message, why);
}

/* A graph in an attribute of a node in a graph ..., `n` times. */
static size_t nest(uint8_t *to, size_t room, uint32_t n) {
  static const uint8_t tags[] = {0x3a, 0x0a, 0x2a, 0x32};
  size_t at = room;
  for (uint32_t i = 0; i < n; i++) {
    size_t length = room - at;
    to[--at] = (uint8_t)(length >> 7);
    to[--at] = (uint8_t)(length | 0x80);
    uint32_t level = n - 1 - i;
    to[--at] = level ? tags[1 + (level - 1) % 3] : tags[0];
  }
  memmove(to, to + at, room - at);
  return room - at;
}

static void test_hostile(void **state) {
  (void)state;
  static const uint8_t twice[] = {0x3a, 0, 0x3a, 0};
  static const uint8_t beyond[] = {0x3a, 0x7f};
  static const uint8_t another[] = {0x38, 1};
  uint8_t deep[512];
  fixture f;
  begin(&f);
  refused_as(&f, "", 0, TESS_PARSE, "ONNX: there is no graph in it");
  refused_as(&f, twice, sizeof twice, TESS_PARSE,
             "ONNX: byte 2: the field is there twice");
  refused_as(&f, beyond, sizeof beyond, TESS_PARSE,
             "ONNX: byte 1: a length reaches beyond its message");
  refused_as(&f, another, sizeof another, TESS_PARSE,
             "ONNX: byte 0, in graph: the field is of another kind");
  size_t n = nest(deep, sizeof deep, 130);
  assert_int_equal(tess_graph_from_onnx_bytes(f.c, deep, n, &f.g), TESS_LIMIT);
  assert_non_null(strstr(tess_error(f.c)->message, "more than 100 levels"));
  finish(&f);
}

/* ---- other folders ------------------------------------------------------ */

/* The model in a folder of its own, with its weights under another name. */
static void test_outside(void **state) {
  (void)state;
  fixture f;
  strbuf model;
  char folder[] = "/tmp/tess-onnx-XXXXXX", path[64], link[64];
  begin(&f);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.onnx", folder);
  snprintf(link, sizeof link, "%s/beside.weights", folder);
  load(&f, DATA "beside.onnx", &model);
  assert_int_equal(file_write(path, model.v, model.n, &f.c->err), TESS_OK);
  assert_int_equal(tess_graph_from_onnx(f.c, path, &f.g), TESS_NOT_FOUND);
  assert_int_equal(symlink(DATA "beside.weights", link), 0);
  assert_int_equal(tess_graph_from_onnx(f.c, path, &f.g), TESS_INVALID);
  assert_non_null(strstr(tess_error(f.c)->message,
                         "weight 'w': its data is in 'beside.weights', which "
                         "is not in the model's folder"));
  char *name = memmem(model.v, model.n, "beside.weights", 14);
  memcpy(name, "../../etc/pass", 14);
  assert_int_equal(tess_graph_from_onnx_bytes(f.c, model.v, model.n, &f.g),
                   TESS_INVALID);
  assert_int_equal(file_write(path, model.v, model.n, &f.c->err), TESS_OK);
  assert_int_equal(tess_graph_from_onnx(f.c, path, &f.g), TESS_INVALID);
  str_free(&model);
  unlink(link);
  unlink(path);
  rmdir(folder);
  finish(&f);
}

static void test_memory(void **state) {
  (void)state;
  tess_status s = TESS_NOMEM;
  for (uint64_t at = 1; s == TESS_NOMEM; at++) {
    fixture f;
    begin(&f);
    fault_arm(&f.fault, at);
    s = tess_graph_from_onnx(f.c, DATA "parts.onnx", &f.g);
    assert_true(s == TESS_NOMEM || s == TESS_OK);
    fault_arm(&f.fault, 0);
    finish(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts),   cmocka_unit_test(test_weights_beside),
      cmocka_unit_test(test_damaged), cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_outside), cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
