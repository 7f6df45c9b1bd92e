/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera): programs and data types. */
#include "base/file.h"
#include "ir/object.h"
#include "ir/query.h"
#include "ir/scalar.h"

#include <math.h>

/* ---- life --------------------------------------------------------------- */

static tess_status init_program(void *ud) {
  ir_program *p = ud;
  ir_program_init(p, p->heap);
  return TESS_OK;
}

tess_program *program_empty(tess_context *c) {
  tess_program *p = mem_new(&c->heap, tess_program);
  *p = (tess_program){.c = c, .refs = 1, .p.heap = &c->heap};
  tess_status s = mem_protect(&c->heap, init_program, &p->p);
  if (s != TESS_OK) {
    tess_program_free(p);
    mem_unwind(&c->heap, s);
  }
  return p;
}

typedef struct copy_work {
  tess_program *to;
  const ir_program *from;
} copy_work;

static tess_status copy_program(void *ud) {
  copy_work *w = ud;
  ir_program_copy(&w->to->p, w->from);
  return TESS_OK;
}

tess_program *program_hold(tess_program *p) {
  p->refs++;
  return p;
}

tess_program *program_new(tess_context *c, const ir_program *p,
                          tess_program *from) {
  copy_work w = {program_empty(c), p};
  tess_status s = mem_protect(&c->heap, copy_program, &w);
  if (s != TESS_OK) {
    tess_program_free(w.to);
    mem_unwind(&c->heap, s);
  }
  if (from && from->holds_constants) program_hold_constants(w.to);
  if (from && p->entry == from->p.entry && ir_entry(p)->sizes.n)
    w.to->origin = program_hold(from->origin ? from->origin : from);
  return w.to;
}

void tess_program_free(tess_program *p) {
  if (!p || --p->refs) return;
  if (p->holds_constants) describe_drop_constants(&p->p);
  tess_program_free(p->origin);
  mem_free(&p->c->heap, p->extent, p->nextents * sizeof *p->extent);
  ir_program_free(&p->p);
  mem_free(&p->c->heap, p, sizeof *p);
}

/* ---- constants ---------------------------------------------------------- */

void program_hold_constants(tess_program *p) {
  describe_hold_constants(&p->p);
  p->holds_constants = true;
}

/* Copies the contents of the constants; those after the first that does not
 * fit are not held. */
static tess_status copy_contents(void *ud) {
  ir_program *p = ud;
  uint32_t n = p->constant.n;
  for (p->constant.n = 0; p->constant.n < n; p->constant.n++) {
    ir_const *c = &p->constant.v[p->constant.n];
    c->data = describe_contents(p->heap, c->data, c->bytes);
  }
  return TESS_OK;
}

/* What was restored has its constants in the bytes that it was read from. */
static void own_constants(tess_program *p) {
  tess_status s = mem_protect(p->p.heap, copy_contents, &p->p);
  p->holds_constants = true;
  if (s != TESS_OK) mem_unwind(p->p.heap, s);
}

tess_status program_restore(tess_program *p, arena *scratch, const void *bytes,
                            size_t n, strbuf *why) {
  tess_status s = ir_restore(&p->p, scratch, bytes, n, why);
  if (s == TESS_OK) own_constants(p);
  return s;
}

/* ---- text and properties ------------------------------------------------ */

typedef struct ask {
  tess_program *p, *q;
  char **text;
  const char *path;
  uint64_t hash;
  bool equal;
  strbuf bytes; /* becomes *text, or is written to the path */
} ask;

/* Runs a query with a scratch arena that, like its bytes, is freed in any
 * case. */
typedef struct with_scratch {
  tess_context *c;
  arena scratch;
  tess_status (*fn)(ask *a, arena *scratch);
  ask *a;
} with_scratch;

static tess_status run_with_scratch(void *ud) {
  with_scratch *w = ud;
  return w->fn(w->a, &w->scratch);
}

#define ask_with_scratch(...) ask_in(__func__, __VA_ARGS__)
static tess_status ask_in(const char *call, ask *a,
                          tess_status (*fn)(ask *, arena *)) {
  tess_context *c = a->p->c;
  with_scratch w = {.c = c, .fn = fn, .a = a};
  arena_init(&w.scratch, &c->heap);
  tess_status s = ctx_run_in(call, c, run_with_scratch, &w);
  str_free(&a->bytes);
  arena_free(&w.scratch);
  return s;
}

static tess_status make_text(ask *a, arena *scratch) {
  (void)scratch;
  str_init(&a->bytes, &a->p->c->heap);
  ir_print(&a->p->p, &(ir_print_opts){0}, &a->bytes);
  *a->text = ctx_text_of(a->p->c, &a->bytes);
  return TESS_OK;
}

tess_status tess_program_text(tess_program *p, char **out) {
  ask a = {.p = p, .text = out};
  *out = NULL;
  return ask_with_scratch(&a, make_text);
}

static tess_status make_hash(ask *a, arena *scratch) {
  a->hash = ir_hash(&a->p->p, scratch);
  return TESS_OK;
}

uint64_t tess_program_hash(tess_program *p) {
  ask a = {.p = p};
  return ask_with_scratch(&a, make_hash) == TESS_OK ? a.hash : 0;
}

int64_t tess_program_flops(tess_program *p) { return ir_flops(&p->p); }

static tess_status compare_programs(ask *a, arena *scratch) {
  a->equal = ir_equal(&a->p->p, &a->q->p, scratch);
  return TESS_OK;
}

int tess_program_equal(tess_program *p, tess_program *q) {
  ask a = {.p = p, .q = q};
  return ask_with_scratch(&a, compare_programs) == TESS_OK && a.equal;
}

static tess_status verify_program(ask *a, arena *scratch) {
  strbuf why;
  str_init(&why, &a->p->c->heap);
  bool ok = ir_verify(&a->p->p, scratch, &why) &&
            ir_verify_bounds(&a->p->p, false, scratch, &why);
  tess_status s = ok ? TESS_OK : why.bad ? str_status(&why) : TESS_INVALID;
  if (s == TESS_INVALID) ctx_fail(a->p->c, s, "%s", str_get(&why));
  str_free(&why);
  return s;
}

tess_status tess_program_verify(tess_program *p) {
  ask a = {.p = p};
  return ask_with_scratch(&a, verify_program);
}

const char *tess_program_name(tess_program *p) {
  return ir_text(&p->p, ir_entry(&p->p)->name);
}

uint32_t tess_program_nparams(tess_program *p) {
  return ir_entry(&p->p)->params.n;
}

static tess_role public_role(const ir_program *p, ir_buf b) {
  switch ((ir_role)p->buf.v[b].role) {
  case IR_ROLE_OUTPUT: return TESS_ROLE_OUTPUT;
  case IR_ROLE_CONSTANT: return TESS_ROLE_CONSTANT;
  case IR_ROLE_LAYOUT_FREE: return TESS_ROLE_LAYOUT_FREE;
  default: return ir_is_stored(p, b) ? TESS_ROLE_INOUT : TESS_ROLE_INPUT;
  }
}

/* Caches the parameters' extents; their shapes point into the cache. */
static tess_status note_extents(void *ud) {
  tess_program *p = ud;
  const ir_program *ir = &p->p;
  ir_span params = ir_entry(ir)->params;
  uint32_t n = 1, at = 0; /* not empty */
  for (uint32_t i = 0; i < params.n; i++)
    n += ir_ndim(ir, ir->arg.v[params.at + i]);
  p->extent = mem_resize(&p->c->heap, NULL, 0, n * sizeof *p->extent);
  p->nextents = n;
  for (uint32_t i = 0; i < params.n; i++) {
    ir_buf b = ir->arg.v[params.at + i];
    for (uint32_t d = 0; d < ir_ndim(ir, b); d++, at++)
      if (!ir_const_int(ir, ir_dim(ir, b, d), &p->extent[at]))
        p->extent[at] = -1;
  }
  return TESS_OK;
}

static tess_contents public_contents(const ir_buf_rec *r) {
  tess_contents c = {.struct_size = sizeof c,
                     .has_range = (r->holds & IR_HOLDS_RANGE) != 0,
                     .sorted = (r->holds & IR_HOLDS_SORTED) != 0,
                     .unique = (r->holds & IR_HOLDS_UNIQUE) != 0,
                     .offsets = (r->holds & IR_HOLDS_ENDS) != 0};
  if (!c.has_range) return c;
  c.least = r->least;
  c.below = r->most + 1;
  return c;
}

tess_status tess_program_param(tess_program *p, uint32_t i, tess_param *out) {
  const ir_program *ir = &p->p;
  ir_span params = ir_entry(ir)->params;
  if (i >= params.n)
    return ctx_fail(p->c, TESS_NOT_FOUND,
                    "the program has %u parameters; there is none at %llu, "
                    "counted from 1",
                    params.n, (unsigned long long)i + 1);
  ir_buf b = ir->arg.v[params.at + i];
  const ir_buf_rec *r = &ir->buf.v[b];
  if (!p->extent) {
    tess_status s = ctx_run(p->c, note_extents, p);
    if (s != TESS_OK) return s;
  }
  uint32_t before = 0;
  for (uint32_t k = 0; k < i; k++)
    before += ir_ndim(ir, ir->arg.v[params.at + k]);
  const tess_param param = {.name = ir_text(ir, r->name),
                            .dtype = r->dtype,
                            .ndim = ir_ndim(ir, b),
                            .shape = p->extent + before,
                            .role = public_role(ir, b),
                            .contents = public_contents(r)};
  ctx_clear(p->c);
  return ctx_give(p->c, tess_param, &param, out);
}

/* ---- bytes -------------------------------------------------------------- */

static tess_status save_program(ask *a, arena *scratch) {
  (void)scratch;
  tess_context *c = a->p->c;
  strbuf *b = &a->bytes;
  str_init(b, &c->heap);
  ir_save(&a->p->p, b);
  tess_status s = str_status(b);
  return s ? s : file_write(a->path, str_get(b), b->n, &c->err);
}

tess_status tess_program_save(tess_program *p, const char *path) {
  ask a = {.p = p, .path = path};
  return ask_with_scratch(&a, save_program);
}

#define MAX_FILE ((size_t)1 << 30)

typedef struct load_work {
  tess_context *c;
  const char *path;
  strbuf bytes, why;
  arena scratch;
  tess_program *p;
} load_work;

static tess_status load_program_file(void *ud) {
  load_work *w = ud;
  tess_context *c = w->c;
  tess_status s = file_read(w->path, MAX_FILE, &w->bytes, &c->err);
  if (s != TESS_OK) return s;
  w->p = program_empty(c);
  s = program_restore(w->p, &w->scratch, str_get(&w->bytes), w->bytes.n,
                      &w->why);
  if (s == TESS_NOMEM || s == TESS_LIMIT)
    return ctx_ran_out(c, s, "%s", w->path);
  if (s != TESS_OK)
    ctx_fail(c, s, "%s: %s", w->path,
             w->why.n ? str_get(&w->why) : err_status_text(s));
  return s;
}

tess_status tess_program_load(tess_context *c, const char *path,
                              tess_program **out) {
  load_work w = {.c = c, .path = path};
  *out = NULL;
  str_init(&w.bytes, &c->heap);
  str_init(&w.why, &c->heap);
  arena_init(&w.scratch, &c->heap);
  tess_status s = ctx_run(c, load_program_file, &w);
  str_free(&w.bytes);
  str_free(&w.why);
  arena_free(&w.scratch);
  if (s == TESS_OK)
    *out = w.p;
  else
    tess_program_free(w.p);
  return s;
}

/* ---- data types --------------------------------------------------------- */

int tess_dtype_parse(const char *text, tess_dtype *out) {
  return ir_dtype_parse(text, out);
}

int tess_dtype_holds(tess_dtype t, double v) {
  if (!ir_is_number(t)) return 0;
  if (ir_is_float(t)) return ir_holds_real(t, v);
  if (t.code == TESS_DTYPE_BOOL) return v == 0 || v == 1;
  double end = ldexp(1, t.code == TESS_DTYPE_UINT ? t.bits : t.bits - 1);
  return trunc(v) == v && v < end &&
         v >= (t.code == TESS_DTYPE_UINT ? 0 : -end);
}

int tess_dtype_holds_int(tess_dtype t, int64_t v) {
  if (!ir_is_number(t)) return 0;
  return ir_is_float(t) ? ir_holds_real(t, (double)v) : ir_holds_int(t, v);
}

/* Built on the stack: the longest name is "bfloat16x65535". */
void tess_dtype_text(tess_dtype t, char out[32]) {
  mem_heap heap;
  strbuf b;
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&b, &heap);
  ir_dtype_print(t, &b);
  const char *s = str_get(&b);
  size_t n = s ? strlen(s) : 0;
  if (n > 31) n = 31;
  if (n) memcpy(out, s, n);
  out[n] = '\0';
  str_free(&b);
}
