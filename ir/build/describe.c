/* SPDX-License-Identifier: Apache-2.0
 * The program builder: lifetime, names, buffers. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"

void describe_init(ir_builder *b, mem_heap *heap, err_state *err) {
  *b = (ir_builder){.heap = heap, .err = err};
  arena_init(&b->scratch, heap);
  ir_program_init(&b->p, heap);
  vec_push(heap, &b->value, ((describe_value){.kind = DESCRIBE_NONE}));
}

void describe_free(ir_builder *b) {
  describe_drop_constants(&b->p);
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
  /* Traces contain block names, and are JSON; all is printed line by line. */
  size_t n = strlen(name), good = str_utf8(name, n), plain = str_plain(name, n);
  if (good < n && plain == good)
    return err_set(b->err, TESS_INVALID,
                   "the name of %s is not UTF-8 from byte %zu on", what,
                   good + 1);
  if (plain < n)
    return err_set(b->err, TESS_INVALID,
                   "the name of %s has a control character, %d, at %zu", what,
                   (unsigned char)name[plain], plain + 1);
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

/* The number of elements, at most INT64_MAX; 0: symbolic. */
static int64_t known_elements(const ir_program *p, ir_buf buf) {
  int64_t n = 1, extent;
  for (uint32_t d = 0; d < ir_ndim(p, buf); d++)
    if (!ir_const_int(p, ir_dim(p, buf, d), &extent) ||
        __builtin_mul_overflow(n, extent, &n))
      return 0;
  return n;
}

static bool was_read(const ir_program *p, ir_buf buf) {
  for (ir_expr e = 1; e < p->node.n; e++)
    if (ir_at(p, e)->op == IR_LOAD && ir_at(p, e)->a == buf) return true;
  return false;
}

static tess_status check_range(ir_builder *b, const char *name, tess_dtype t,
                               int64_t least, int64_t below) {
  if (least >= below)
    return err_set(b->err, TESS_INVALID,
                   "placeholder '%s': no value is in [%lld, %lld)", name,
                   (long long)least, (long long)below);
  if (least >= ir_int_min(t) && below - 1 <= ir_int_max(t)) return TESS_OK;
  return err_set(b->err, TESS_INVALID,
                 "placeholder '%s': [%lld, %lld) is not within %s", name,
                 (long long)least, (long long)below, describe_type_text(b, t));
}

/* Is there a tensor that holds it? */
static tess_status check_contents(ir_builder *b, ir_buf buf, uint8_t holds,
                                  int64_t least, int64_t below) {
  const ir_buf_rec r = b->p.buf.v[buf];
  const char *name = ir_text(&b->p, r.name);
  int64_t n = known_elements(&b->p, buf);
  bool ranged = holds & IR_HOLDS_RANGE;
  tess_status s =
      ranged ? check_range(b, name, r.dtype, least, below) : TESS_OK;
  if (s) return s;
  if (holds & (IR_HOLDS_SORTED | IR_HOLDS_ENDS) && r.shape.n != 1)
    return err_set(b->err, TESS_INVALID,
                   "placeholder '%s': what is sorted has one dimension, this "
                   "has %u",
                   name, r.shape.n);
  if (holds & IR_HOLDS_ENDS && n == 1 && least + 1 < below)
    return err_set(b->err, TESS_INVALID,
                   "placeholder '%s': offsets begin with 0 and end with %lld, "
                   "but there is one element",
                   name, (long long)below - 1);
  uint64_t values =
      ranged ? (uint64_t)below - (uint64_t)least
             : (uint64_t)ir_int_max(r.dtype) - (uint64_t)ir_int_min(r.dtype);
  if (holds & IR_HOLDS_UNIQUE && ((uint64_t)n > values || !n))
    return err_set(b->err, TESS_INVALID,
                   "placeholder '%s': %s elements cannot be unique among %llu "
                   "values",
                   name,
                   n ? arena_printf(&b->scratch, "%lld", (long long)n)
                     : "an unknown number of",
                   (unsigned long long)values);
  return TESS_OK;
}

tess_status describe_holds(ir_builder *b, ir_buf buf, uint8_t holds,
                           int64_t least, int64_t below) {
  if (!describe_buf_ok(b, buf))
    return err_set(b->err, TESS_INVALID, "there is no buffer %u", buf);
  ir_buf_rec *r = &b->p.buf.v[buf];
  const char *name = ir_text(&b->p, r->name);
  if (!holds) return TESS_OK;
  if (r->role != IR_ROLE_INPUT)
    return err_set(b->err, TESS_INVALID,
                   "'%s': only of an input is it declared what it holds", name);
  if (!ir_is_int(r->dtype) || r->dtype.code == TESS_DTYPE_BOOL)
    return err_set(b->err, TESS_TYPE,
                   "placeholder '%s': a range, an order or offsets are of "
                   "integers, not of %s",
                   name, describe_type_text(b, r->dtype));
  if (was_read(&b->p, buf))
    return err_set(b->err, TESS_INVALID,
                   "placeholder '%s' was read before it was declared what it "
                   "holds",
                   name);
  tess_status s = check_contents(b, buf, holds, least, below);
  arena_reset(&b->scratch);
  if (s) return s;
  r->holds = holds;
  r->least = holds & IR_HOLDS_RANGE ? least : 0;
  r->most = holds & IR_HOLDS_RANGE ? below - 1 : 0;
  return TESS_OK;
}

/* Stands before the contents, which keep the alignment of the heap. */
typedef struct contents_head {
  _Alignas(16) uint32_t refs;
} contents_head;

static contents_head *head_of(const ir_const *c) {
  return (contents_head *)(uintptr_t)c->data - 1;
}

void *describe_contents(mem_heap *heap, const void *data, size_t bytes) {
  contents_head *head = mem_resize(heap, NULL, 0, sizeof *head + bytes);
  head->refs = 1;
  return memcpy(head + 1, data, bytes);
}

void describe_hold_constants(const ir_program *p) {
  for (uint32_t i = 0; i < p->constant.n; i++)
    head_of(&p->constant.v[i])->refs++;
}

void describe_drop_constants(const ir_program *p) {
  for (uint32_t i = 0; i < p->constant.n; i++) {
    const ir_const *c = &p->constant.v[i];
    contents_head *head = head_of(c);
    if (--head->refs == 0) mem_free(p->heap, head, sizeof *head + c->bytes);
  }
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
  void *copy = describe_contents(b->heap, data, bytes);
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
