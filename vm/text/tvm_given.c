/* SPDX-License-Identifier: Apache-2.0
 * Inlines the values of an index map's $ parameters, for TVM, whose format has
 * free variables in the map's graph and no list of values. */
#include "vm/text/text.h"
#include "vm/text/tvm.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct expansion {
  const vm_trace *t;
  strbuf *out;
  tvm_given *given;
} expansion;

/* $k, one number per variable. */
static bool put_variable(expansion *x, vm_rv rv) {
  tvm_given *g = x->given;
  char name[16];
  uint32_t i = 0;
  vm_rv_name(x->t, rv, name);
  while (i < g->n && strcmp(g->name[i], name)) i++;
  if (i == VM_MAP_MAX) return false;
  if (i == g->n) strcpy(g->name[g->n++], name);
  str_printf(x->out, "$%" PRIu32, i + 1);
  return true;
}

/* Writes an integer value as an operand of an expression. */
static bool put_integer(expansion *x, vm_value v) {
  if (v.tag == VM_RV) return put_variable(x, v.rv);
  if (v.tag == VM_INT) {
    str_printf(x->out, v.i < 0 ? "(%" PRId64 ")" : "%" PRId64, v.i);
    return true;
  }
  const vm_value *e = x->t->val.v + v.at;
  bool is_call = v.op == IR_MIN || v.op == IR_MAX;
  const char *op = vm_op_text((ir_op)v.op);
  str_printf(x->out, "%s(", is_call ? op : "");
  if (x->out->n > TVM_MAX_TEXT || !put_integer(x, e[0])) return false;
  str_printf(x->out, is_call ? ", " : " %s ", op);
  if (!put_integer(x, e[1])) return false;
  str_putc(x->out, ')');
  return true;
}

bool vm_tvm_expand_map(const vm_trace *t, vm_value v, strbuf *out,
                       tvm_given *given) {
  expansion x = {t, out, given};
  const vm_value *e = v.tag == VM_LIST ? t->val.v + v.at : &v;
  given->n = 0;
  for (const char *s = t->text.v + e->str; *s;) {
    if (*s != '$') {
      str_putc(out, *s++);
      continue;
    }
    char *end;
    unsigned long k = strtoul(s + 1, &end, 10);
    if (out->n > TVM_MAX_TEXT || !put_integer(&x, e[k])) return false;
    s = end;
  }
  return out->n <= TVM_MAX_TEXT;
}
