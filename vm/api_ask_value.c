/* SPDX-License-Identifier: Apache-2.0
 * Public API of schedules: what a block stores, as a tree of operations. */
#include "vm/ask.h"
#include "vm/text/text.h"

#include <inttypes.h>

static void put_tree(const ir_program *p, ir_expr e, strbuf *out);

static void put_name(strbuf *out, const char *name) {
  str_putc(out, '[');
  vm_write_string(out, name, strlen(name));
}

static void put_operand(const ir_program *p, ir_expr e, strbuf *out) {
  if (!e) return;
  str_puts(out, ", ");
  put_tree(p, e, out);
}

static void put_cast(const ir_program *p, const ir_node *n, strbuf *out) {
  put_name(out, "cast");
  str_puts(out, ", \"");
  ir_dtype_print(n->dtype, out);
  str_putc(out, '"');
  put_operand(p, n->a, out);
}

static void put_load(const ir_program *p, const ir_node *n, strbuf *out) {
  const char *name = ir_text(p, p->buf.v[n->a].name);
  put_name(out, "load");
  str_puts(out, ", ");
  vm_write_string(out, name, strlen(name));
}

static void put_tree(const ir_program *p, ir_expr e, strbuf *out) {
  const ir_node n = *ir_at(p, e);
  switch (n.op) {
  case IR_INT: str_printf(out, "%" PRId64, n.i); return;
  case IR_REAL: vm_write_real(out, n.f); return;
  case IR_VAR: put_name(out, "var"); break;
  case IR_LOAD: put_load(p, &n, out); break;
  case IR_CAST: put_cast(p, &n, out); break;
  case IR_CALL:
    put_name(out, ir_fn_text((ir_fn)n.a));
    for (uint32_t i = 0; i < n.n; i++) put_operand(p, p->arg.v[n.b + i], out);
    break;
  default:
    put_name(out, n.op == IR_SELECT ? "select" : ir_op_text((ir_op)n.op));
    put_operand(p, n.a, out);
    put_operand(p, n.b, out);
    if (n.op == IR_SELECT) put_operand(p, n.c, out);
    break;
  }
  str_putc(out, ']');
}

typedef struct stored {
  const ir_program *p;
  ir_expr value;
} stored;

static void put_stored(strbuf *out, void *ud) {
  const stored *x = ud;
  put_tree(x->p, x->value, out);
}

static tess_status about_stored(void *ud) {
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_BLOCK);
  if (st != TESS_OK) return st;
  stored x = {&q->s->s.m.prog, 0};
  for (ir_stmt s = q->stmt; s; s = ir_next(x.p, s, q->stmt)) {
    if (ir_st(x.p, s)->kind != IR_STORE) continue;
    if (x.value) return TESS_OK;
    x.value = ir_st(x.p, s)->value;
  }
  if (x.value) *q->text = api_text(q->s->c, put_stored, &x);
  return st;
}

tess_status tess_schedule_stored_value(tess_schedule *s, tess_rv block,
                                       char **json) {
  ask_question q = {.s = s, .rv = block, .text = json};
  *json = NULL;
  return ctx_run(s->c, about_stored, &q);
}
