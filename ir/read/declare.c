/* SPDX-License-Identifier: Apache-2.0
 * Reading declarations: buffers, regions, annotations, constants. */
#include "ir/read/read.h"
#include "ir/scalar.h"
#include <string.h>

enum { MAX_VALUE_DEPTH = 32, MAX_ELEMENTS = 1 << 20 };

bool read_dtype(reader *r, tess_dtype *out) {
  read_token at = r->t;
  const char *name;
  if (!read_word(r, "a type", &name)) return false;
  return (ir_dtype_parse(name, out) && ir_dtype_ok(*out)) ||
         read_fail_at(r, &at, "there is no type '%s'", name);
}

/* ---- buffers ------------------------------------------------------------ */

/* "[" expr {"," expr} "]" */
static bool read_extents(reader *r, uint32_t *n, ir_expr *out) {
  bool ok = read_expect(r, "[");
  for (*n = 0; ok && !read_is(r, "]"); ++*n) {
    if (*n == DESCRIBE_MAX_DIM)
      return read_fail(r, "a buffer has at most %d dimensions",
                       DESCRIBE_MAX_DIM);
    ok = (!*n || read_expect(r, ",")) && read_index(r, &out[*n]);
  }
  return ok && read_advance(r);
}

/* A scope has "-" in its name, too. */
static bool read_scope(reader *r, ir_scope *out) {
  read_token at = r->t;
  const char *name, *rest;
  bool ok;
  if (!read_word(r, "a storage scope", &name)) return false;
  while (read_accept(r, "-", &ok)) {
    if (!read_word(r, "a storage scope", &rest)) return false;
    name = arena_printf(r->scratch, "%s-%s", name, rest);
  }
  return ok && (ir_scope_parse(name, out) ||
                read_fail_at(r, &at, "there is no storage scope '%s'", name));
}

/* "into 8": offsets from 0 to 8, sorted, of which the first and the last are
 * these. */
static bool read_offsets(reader *r, ir_buf_rec *x) {
  x->holds |= IR_HOLDS_RANGE | IR_HOLDS_SORTED | IR_HOLDS_ENDS;
  x->least = 0;
  return read_expect(r, "into") &&
         read_int(r, 0, INT64_MAX - 1, "an offset", &x->most);
}

static bool read_range(reader *r, ir_buf_rec *x) {
  int64_t end;
  x->holds |= IR_HOLDS_RANGE;
  if (!read_expect(r, "[") ||
      !read_int(r, INT64_MIN, INT64_MAX - 1, "a bound", &x->least) ||
      !read_expect(r, ",") ||
      !read_int(r, x->least + 1, INT64_MAX, "the end", &end))
    return false;
  x->most = end - 1;
  return read_expect(r, ")");
}

static bool read_strides(reader *r, ir_buf buf) {
  ir_expr e[DESCRIBE_MAX_DIM];
  uint32_t n;
  read_token at = r->t;
  if (!read_extents(r, &n, e)) return false;
  if (n != ir_ndim(r->p, buf))
    return read_fail_at(r, &at, "there are %u strides for %u dimensions", n,
                        ir_ndim(r->p, buf));
  ir_span strides = ir_arg_span(r->p, n, e);
  r->p->buf.v[buf].strides = strides;
  return true;
}

/* What follows the shape. */
static bool read_attributes(reader *r, ir_buf buf) {
  ir_buf_rec x = r->p->buf.v[buf];
  ir_scope scope = (ir_scope)x.scope;
  ir_expr offset = 0;
  int64_t align = x.align;
  bool ok = true, more = true;
  while (ok && more) {
    if (read_accept(r, "offsets", &ok))
      ok = read_offsets(r, &x);
    else if (ok && read_accept(r, "range", &ok))
      ok = ok && read_range(r, &x);
    else if (ok && read_accept(r, "sorted", &ok))
      x.holds |= IR_HOLDS_SORTED;
    else if (ok && read_accept(r, "unique", &ok))
      x.holds |= IR_HOLDS_UNIQUE;
    else if (ok && read_accept(r, "in", &ok))
      ok = read_scope(r, &scope);
    else if (ok && read_accept(r, "strides", &ok))
      ok = read_strides(r, buf);
    else if (ok && read_accept(r, "offset", &ok))
      ok = read_index(r, &offset);
    else if (ok && read_accept(r, "align", &ok))
      ok = read_int(r, 1, UINT16_MAX, "an alignment", &align);
    else
      more = false;
  }
  ir_buf_rec *y = &r->p->buf.v[buf];
  y->holds = x.holds;
  y->least = x.least;
  y->most = x.most;
  y->scope = (uint8_t)scope;
  y->offset = offset;
  y->align = (uint16_t)align;
  return ok;
}

/* An input that is written prints as inout. */
static bool read_role(reader *r, ir_role *role) {
  static const struct {
    const char *word;
    ir_role role;
  } words[] = {{"out", IR_ROLE_OUTPUT},
               {"inout", IR_ROLE_INPUT},
               {"constant", IR_ROLE_CONSTANT},
               {"layout_free", IR_ROLE_LAYOUT_FREE}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!read_is(r, words[i].word)) continue;
    *role = words[i].role;
    return read_advance(r);
  }
  return true;
}

bool read_buffer(reader *r, ir_role role, ir_buf *out) {
  read_token at = r->t;
  const char *name;
  ir_expr shape[DESCRIBE_MAX_DIM];
  uint32_t n;
  tess_dtype t;
  if (!read_word(r, "the name of a buffer", &name) || !read_expect(r, ":") ||
      (role == IR_ROLE_INPUT && !read_role(r, &role)) || !read_dtype(r, &t) ||
      !read_extents(r, &n, shape))
    return false;
  *out =
      ir_buf_new(r->p, ir_name(r->p, name), t, n, shape, IR_SCOPE_GLOBAL, role);
  return read_bind(r, &at, name, true, *out) && read_attributes(r, *out);
}

/* ---- regions ------------------------------------------------------------ */

/* "i", "0:4", "i +: n" of one dimension. */
static bool read_interval(reader *r, ir_expr *min, ir_expr *extent) {
  bool ok;
  ir_expr end;
  *extent = ir_index(r->p, 1);
  if (!read_index(r, min)) return false;
  if (read_accept(r, "+:", &ok)) return ok && read_index(r, extent);
  if (!ok || !read_accept(r, ":", &ok)) return ok;
  if (!read_index(r, &end)) return false;
  *extent = ir_sub(r->p, end, *min);
  return true;
}

bool read_region(reader *r, ir_region *out) {
  read_token at = r->t;
  const char *name;
  if (!read_word(r, "the name of a buffer", &name)) return false;
  const read_name *x = read_find(r, name);
  if (!x || !x->is_buffer)
    return read_fail_at(r, &at, "there is no buffer '%s'", name);
  uint32_t n = ir_ndim(r->p, x->id);
  ir_expr *e = arena_array(r->scratch, ir_expr, 2 * n + 1);
  ir_buf buf = x->id;
  bool ok = read_expect(r, "[");
  for (uint32_t d = 0; ok && d < n; d++)
    ok = (!d || read_expect(r, ",")) &&
         read_interval(r, &e[2 * d], &e[2 * d + 1]);
  if (!ok || !read_expect(r, "]")) return false;
  *out = ir_region_new(r->p, buf, e);
  return true;
}

bool read_regions(reader *r, uint32_t *n, ir_region **out) {
  uint32_t cap = 4;
  *n = 0;
  *out = arena_array(r->scratch, ir_region, cap);
  bool ok = read_expect(r, "(");
  while (ok && !read_is(r, ")")) {
    if (*n == cap) {
      ir_region *grown = arena_array(r->scratch, ir_region, cap *= 2);
      memcpy(grown, *out, *n * sizeof *grown);
      *out = grown;
    }
    ok = (!*n || read_expect(r, ",")) && read_region(r, &(*out)[*n]);
    *n += ok;
  }
  return ok && read_advance(r);
}

/* ---- annotations -------------------------------------------------------- */

static bool read_value(reader *r, ir_val *out);

/* Elements up to `close`; of a dictionary keys and values in turn. */
static bool read_elements(reader *r, const char *close, ir_value v,
                          ir_val *out) {
  VEC(ir_val) elem = {0};
  uint32_t cap = 0;
  bool ok = true;
  if (++r->depth > MAX_VALUE_DEPTH)
    return read_fail(r, "the value nests too deep");
  while (ok && !read_is(r, close)) {
    bool value = v.tag == IR_VAL_DICT && elem.n % 2;
    ok = !elem.n || read_expect(r, value ? "=" : ",");
    if (elem.n == cap) {
      cap = cap ? 2 * cap : 8;
      ir_val *grown = arena_array(r->scratch, ir_val, cap);
      if (elem.n) memcpy(grown, elem.v, elem.n * sizeof *grown);
      elem.v = grown;
    }
    ok = ok && read_value(r, &elem.v[elem.n]);
    elem.n += ok;
  }
  if (!ok || !read_advance(r)) return false;
  r->depth--;
  v.n = elem.n;
  *out = ir_value_add(r->p, v, elem.v);
  return true;
}

static bool read_number(reader *r, bool negative, ir_value *v) {
  bool is_int = r->t.kind == READ_INT;
  if (is_int && r->t.i > (uint64_t)INT64_MAX + negative)
    return read_fail(r, "%llu is too large", (unsigned long long)r->t.i);
  double f = read_is(r, "inf")   ? (double)__builtin_inf()
             : read_is(r, "nan") ? (double)__builtin_nan("")
                                 : r->t.f;
  if (is_int)
    *v = (ir_value){.tag = IR_VAL_INT,
                    .i = negative ? (int64_t)(0 - r->t.i) : (int64_t)r->t.i};
  else
    *v = (ir_value){.tag = IR_VAL_REAL, .f = negative ? -f : f};
  return read_advance(r);
}

static bool read_value(reader *r, ir_val *out) {
  ir_value v = {.tag = IR_VAL_NIL};
  bool ok = true, negative;
  if (read_accept(r, "[", &ok) && ok)
    return read_elements(r, "]", (ir_value){.tag = IR_VAL_LIST}, out);
  if (ok && read_accept(r, "{", &ok) && ok)
    return read_elements(r, "}", (ir_value){.tag = IR_VAL_DICT}, out);
  negative = ok && read_accept(r, "-", &ok);
  if (!ok) return false;
  if (r->t.kind == READ_INT || r->t.kind == READ_REAL || read_is(r, "inf") ||
      read_is(r, "nan")) {
    ok = read_number(r, negative, &v);
  } else if (!negative && r->t.kind == READ_STRING) {
    v = (ir_value){.tag = IR_VAL_STR, .s = ir_name_n(r->p, r->t.s, r->t.n)};
    ok = read_advance(r);
  } else if (!negative && (read_is(r, "true") || read_is(r, "false"))) {
    v = (ir_value){.tag = IR_VAL_BOOL, .i = read_is(r, "true")};
    ok = read_advance(r);
  } else if (!negative && read_is(r, "nil")) {
    ok = read_advance(r);
  } else {
    return read_fail(r, "a value is expected, not %s", read_spell(r, &r->t));
  }
  if (ok) *out = ir_value_add(r->p, v, NULL);
  return ok;
}

bool read_annos(reader *r, ir_stmt s) {
  bool ok;
  if (!read_accept(r, "{", &ok)) return ok;
  for (bool first = true; ok && !read_is(r, "}"); first = false) {
    read_token at;
    const char *key;
    ir_val v;
    if (!first && !read_expect(r, ",")) return false;
    at = r->t;
    if (!read_word(r, "a key", &key) || !read_expect(r, "=") ||
        !read_value(r, &v))
      return false;
    if (ir_anno_get(r->p, s, key))
      return read_fail_at(r, &at, "the key '%s' stands twice", key);
    ir_anno_set(r->p, s, ir_name(r->p, key), v);
  }
  return ok && read_advance(r);
}

/* ---- constants ---------------------------------------------------------- */

static bool count_elements(reader *r, ir_buf buf, size_t *out) {
  *out = 1;
  for (uint32_t d = 0; d < ir_ndim(r->p, buf); d++) {
    int64_t n;
    if (!ir_const_int(r->p, ir_dim(r->p, buf, d), &n) || n < 0 ||
        n > MAX_ELEMENTS || (*out *= (size_t)n) > MAX_ELEMENTS)
      return read_fail(r,
                       "a constant has a constant shape of at most %d "
                       "elements",
                       MAX_ELEMENTS);
  }
  return true;
}

static bool read_element(reader *r, tess_dtype t, void *at) {
  ir_expr e;
  if (!read_expr(r, &t, &e)) return false;
  const ir_node *n = ir_at(r->p, e);
  if (n->op == IR_INT)
    ir_put_int(t, n->i, at);
  else if (n->op == IR_REAL)
    ir_put_real(t, n->f, at);
  else
    return read_fail(r, "an element of a constant is a number");
  return true;
}

bool read_constant(reader *r) {
  read_token at = r->t;
  ir_buf buf;
  size_t n;
  if (!read_buffer(r, IR_ROLE_CONSTANT, &buf) || !count_elements(r, buf, &n))
    return false;
  if (!read_is(r, "="))
    return read_fail_at(r, &at,
                        "the contents of this constant are not in the "
                        "listing; a saved program has them");
  tess_dtype t = r->p->buf.v[buf].dtype;
  size_t bytes = ir_dtype_bytes(t);
  char *data = arena_zalloc(r->scratch, n * bytes + 1);
  bool ok = read_advance(r) && read_expect(r, "[");
  for (size_t i = 0; ok && i < n; i++)
    ok = (!i || read_expect(r, ",")) && read_element(r, t, data + i * bytes);
  if (!ok || !read_expect(r, "]") || !read_line_end(r)) return false;
  vec_reserve(r->p->heap, &r->p->constant, 1);
  ir_const c = {.buf = buf, .bytes = n * bytes};
  c.data = describe_contents(r->p->heap, data, c.bytes);
  vec_push(r->p->heap, &r->p->constant, c);
  return true;
}
