/* SPDX-License-Identifier: Apache-2.0
 * Prints what a block has otherwise than the description of a tensor
 * intrinsic: the field, and the two values. */
#include "schedule/rewrite/intrin_difference.h"
#include "ir/query.h"
#include <inttypes.h>
#include <stdio.h>
#include <tessera/tessera.h>

static void put_type(tess_dtype t, strbuf *out) {
  char text[32];
  tess_dtype_text(t, text);
  str_puts(out, text);
}

static void put_loop_kind(const ir_stmt_rec *r, strbuf *out) {
  static const char *const words[] = {[IR_SERIAL] = "serial",
                                      [IR_PARALLEL] = "parallel",
                                      [IR_VECTORIZED] = "vectorized",
                                      [IR_UNROLLED] = "unrolled"};
  str_puts(out, r->loop_kind == IR_THREAD ? ir_thread_text((ir_thread)r->thread)
                                          : words[r->loop_kind]);
}

static void put_buffer(const ir_program *p, intrin_values values, ir_buf b,
                       strbuf *out) {
  const ir_buf_rec *r = &p->buf.v[b];
  if (values == INTRIN_BUFFER_TYPES) put_type(r->dtype, out);
  if (values == INTRIN_BUFFER_DIMS) str_printf(out, "%u", ir_ndim(p, b));
  if (values == INTRIN_BUFFER_SCOPES)
    str_puts(out, ir_scope_text((ir_scope)r->scope));
  if (values == INTRIN_BUFFERS)
    str_puts(out, ir_text(p, r->name));
  else
    str_printf(out, " (%s)", ir_text(p, r->name));
}

/* A loop, the head of a block or a store; 0: nothing. */
static void put_statement(const ir_program *p, ir_stmt s, strbuf *out) {
  if (!s)
    str_puts(out, "nothing");
  else if (ir_is_block(p, s))
    str_printf(out, "block %s", ir_text(p, ir_blk(p, s)->name));
  else
    str_putc(out, '`'), ir_print_stmt_head(p, s, out), str_putc(out, '`');
}

static void put_value(const ir_program *p, intrin_values values, uint32_t v,
                      strbuf *out) {
  static const char *const kinds[] = {
      [IR_SPATIAL] = "spatial", [IR_REDUCE] = "reduce", [IR_OPAQUE] = "opaque"};
  switch (values) {
  case INTRIN_NO_VALUES: break;
  case INTRIN_EXPRS:
  case INTRIN_OPERATORS: ir_print_expr(p, v, out); break;
  case INTRIN_EXPR_TYPES: put_type(ir_at(p, v)->dtype, out); break;
  case INTRIN_BUFFER_TYPES:
  case INTRIN_BUFFER_DIMS:
  case INTRIN_BUFFER_SCOPES:
  case INTRIN_BUFFERS: put_buffer(p, values, v, out); break;
  case INTRIN_COUNTS: str_printf(out, "%" PRIu32, v); break;
  case INTRIN_LOOP_KINDS: put_loop_kind(ir_st(p, v), out); break;
  case INTRIN_ITER_KINDS: str_puts(out, kinds[v]); break;
  case INTRIN_STATEMENTS: put_statement(p, v, out); break;
  }
}

void intrin_print_difference(const ir_program *p, uint32_t desc,
                             const intrin_difference *x, char *out, size_t n) {
  const char *name = ir_text(p, p->func.v[desc].name);
  int length = (int)(strlen(name) - strlen(".desc"));
  strbuf text;
  str_init(&text, p->heap);
  str_printf(&text, "\"%.*s\": %s", length, name, x->what);
  if (x->values != INTRIN_NO_VALUES) {
    str_puts(&text, " is ");
    put_value(p, x->values, x->described, &text);
    str_puts(&text, " in the description and ");
    put_value(p, x->values, x->found, &text);
    str_puts(&text, " in the block");
  }
  const char *full = str_get(&text);
  snprintf(out, n, "%s", full ? full : x->what);
  str_free(&text);
}
