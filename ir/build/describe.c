/* SPDX-License-Identifier: Apache-2.0
 * The program builder: lifetime, names, buffers. */
#include "ir/build/describe.h"
#include "ir/edit.h"

void describe_init(ir_builder *b, mem_heap *heap, err_state *err) {
  *b = (ir_builder){.heap = heap, .err = err};
  arena_init(&b->scratch, heap);
  ir_program_init(&b->p, heap);
  vec_push(heap, &b->value, ((describe_value){.kind = DESCRIBE_NONE}));
}

void describe_free(ir_builder *b) {
  for (uint32_t i = 0; i < b->p.constant.n; i++) {
    const ir_const *c = &b->p.constant.v[i];
    mem_free(b->heap, (void *)(uintptr_t)c->data, c->bytes);
  }
  vec_free(b->heap, &b->value);
  vec_free(b->heap, &b->reduction);
  vec_free(b->heap, &b->axis);
  vec_free(b->heap, &b->compute);
  vec_free(b->heap, &b->open);
  vec_free(b->heap, &b->stage);
  ir_program_free(&b->p);
  arena_free(&b->scratch);
}

tess_status describe_name_ok(ir_builder *b, const char *name,
                             const char *what) {
  if (!name || !*name)
    return err_set(b->err, TESS_INVALID, "%s needs a name", what);
  if (strlen(name) > DESCRIBE_MAX_NAME)
    return err_set(b->err, TESS_LIMIT, "the name of %s is longer than %d bytes",
                   what, DESCRIBE_MAX_NAME);
  /* Messages and programs are printed line by line. */
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      return err_set(b->err, TESS_INVALID,
                     "the name of %s has a control character, %d, at %zu", what,
                     *c, (size_t)(c - name) + 1);
  /* Traces contain block names, and are JSON. */
  size_t n = strlen(name), good = str_utf8(name, n);
  if (good < n)
    return err_set(b->err, TESS_INVALID,
                   "the name of %s is not UTF-8 from byte %zu on", what,
                   good + 1);
  return TESS_OK;
}

const char *describe_type_text(ir_builder *b, tess_dtype t) {
  enum { LONGEST = 32 };
  char *text = arena_alloc(&b->scratch, LONGEST);
  strbuf s;
  str_init(&s, b->heap);
  ir_dtype_print(t, &s);
  bool bad = s.bad;
  size_t n = s.n < LONGEST ? s.n : LONGEST - 1;
  if (n) memcpy(text, s.v, n);
  text[n] = '\0';
  str_free(&s);
  if (bad) mem_unwind_refused(b->heap);
  return text;
}

tess_status describe_number_ok(ir_builder *b, tess_dtype t, const char *what) {
  if (ir_is_number(t)) return TESS_OK;
  const char *name = describe_type_text(b, t);
  if (ir_dtype_ok(t))
    return err_set(b->err, TESS_TYPE,
                   "%s cannot be %s, which is no type of one number", what,
                   name);
  return err_set(b->err, TESS_TYPE,
                 "%s cannot be %s: there is no such dtype (code %u, bits %u, "
                 "lanes %u)",
                 what, *name ? name : "?", t.code, t.bits, t.lanes);
}

bool describe_buf_ok(const ir_builder *b, ir_buf buf) {
  return buf && buf < b->p.buf.n;
}

/* ---- buffers ------------------------------------------------------------ */

static tess_status check_new_buffer(ir_builder *b, const char *name,
                                    tess_dtype t, uint32_t ndim) {
  tess_status s = describe_name_ok(b, name, "a buffer");
  if (s) return s;
  if (!ir_is_number(t)) {
    const char *what = arena_printf(&b->scratch, "buffer '%s'", name);
    s = describe_number_ok(b, t, what);
    arena_reset(&b->scratch);
    return s;
  }
  if (ndim > DESCRIBE_MAX_DIM)
    return err_set(b->err, TESS_LIMIT,
                   "buffer '%s' has %u dimensions; at most %d are possible",
                   name, ndim, DESCRIBE_MAX_DIM);
  return TESS_OK;
}

tess_status describe_buffer(ir_builder *b, const char *name, tess_dtype t,
                            uint32_t ndim, const describe_expr *shape,
                            ir_scope scope, ir_role role, ir_buf *out) {
  ir_expr dims[DESCRIBE_MAX_DIM];
  tess_status s = check_new_buffer(b, name, t, ndim);
  for (uint32_t d = 0; d < ndim && !s; d++) {
    const char *what =
        arena_printf(&b->scratch, "dimension %u of '%s'", d, name);
    s = describe_extent(b, shape[d], 1, what, &dims[d]);
  }
  if (!s)
    s = describe_elements_ok(b, ndim, dims,
                             arena_printf(&b->scratch, "buffer '%s'", name));
  arena_reset(&b->scratch);
  if (s) return s;
  *out = ir_buf_new(&b->p, ir_name(&b->p, name), t, ndim, dims, scope, role);
  return TESS_OK;
}

/* The size of a constant in bytes; 0: the shape is invalid. */
static size_t constant_bytes(tess_dtype t, uint32_t ndim,
                             const int64_t *shape) {
  size_t bytes = ir_dtype_bytes(t);
  for (uint32_t d = 0; d < ndim; d++)
    if (shape[d] < 1 || __builtin_mul_overflow(bytes, (size_t)shape[d], &bytes))
      return 0;
  return bytes;
}

tess_status describe_constant(ir_builder *b, const char *name, tess_dtype t,
                              uint32_t ndim, const int64_t *shape,
                              const void *data, ir_buf *out) {
  ir_expr dims[DESCRIBE_MAX_DIM];
  tess_status s = check_new_buffer(b, name, t, ndim);
  if (s) return s;
  size_t bytes = constant_bytes(t, ndim, shape);
  if (!bytes)
    return err_set(b->err, TESS_INVALID,
                   "constant '%s' has an extent that is not positive, or is "
                   "too large",
                   name);
  for (uint32_t d = 0; d < ndim; d++) dims[d] = ir_index(&b->p, shape[d]);
  ir_buf buf = ir_buf_new(&b->p, ir_name(&b->p, name), t, ndim, dims,
                          IR_SCOPE_GLOBAL, IR_ROLE_CONSTANT);
  vec_reserve(b->heap, &b->p.constant, 1);
  void *copy = mem_resize(b->heap, NULL, 0, bytes);
  memcpy(copy, data, bytes);
  vec_push(b->heap, &b->p.constant, ((ir_const){buf, copy, bytes}));
  *out = buf;
  return TESS_OK;
}

tess_status describe_size(ir_builder *b, const char *name, ir_var *out) {
  tess_status s = describe_name_ok(b, name, "a size");
  if (s) return s;
  *out = ir_var_new(&b->p, IR_VAR_SIZE, ir_name(&b->p, name), IR_INDEX, 1,
                    INT64_MAX);
  return TESS_OK;
}
