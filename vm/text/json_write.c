/* SPDX-License-Identifier: Apache-2.0
 * Prints a trace as JSON: operands by name, the decision inside its
 * instruction.
 *
 *   {"format": "tessera.trace", "version": 1, "program": "<hash>",
 *    "instructions": [
 *     {"op": "get_block", "args": {"name": "C"}, "out": ["b0"]},
 *     ...]}
 *
 * Values are typed by the declaration of their operand: a name like "v3" is a
 * variable wherever no string is valid.  Where one is, a variable is {"var":
 * "v3"}; everywhere, arithmetic is
 * {"op": "*", "of": [..]}, a table with keys {"dict": {..}}, an infinity
 * {"real": "inf"}, and an open factor "auto". */
#include "vm/text/text.h"

#include <inttypes.h>
#include <math.h>

typedef struct writer {
  const vm_trace *t;
  strbuf *out;
  bool strings; /* a bare string is a string, not a variable */
} writer;

void vm_write_escaped(strbuf *out, const char *s, size_t n) {
  static const char known[] = "\b\t\n\f\r";
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    const char *short_form = c ? strchr(known, c) : NULL;
    if (c == '"' || c == '\\')
      str_printf(out, "\\%c", c);
    else if (short_form)
      str_printf(out, "\\%c", "btnfr"[short_form - known]);
    else if (c < 0x20 || c == 0x7f)
      str_printf(out, "\\u%04x", c);
    else
      str_putc(out, (char)c);
  }
}

void vm_write_string(strbuf *out, const char *s, size_t n) {
  str_putc(out, '"');
  vm_write_escaped(out, s, n);
  str_putc(out, '"');
}

void vm_write_real(strbuf *out, double x) {
  if (isinf(x)) {
    str_puts(out, x > 0 ? "{\"real\": \"inf\"}" : "{\"real\": \"-inf\"}");
    return;
  }
  size_t at = out->n;
  str_put_double(out, x);
  if (str_get(out) && !strpbrk(str_get(out) + at, ".e")) str_puts(out, ".0");
}

static void put_json_rv(const writer *w, vm_rv rv) {
  char name[16];
  vm_rv_name(w->t, rv, name);
  str_printf(w->out, w->strings ? "{\"var\": \"%s\"}" : "\"%s\"", name);
}

static void put_json_value(const writer *w, vm_value v);

static void put_elements(const writer *w, uint32_t at, uint32_t n) {
  str_putc(w->out, '[');
  for (uint32_t i = 0; i < n; i++) {
    str_puts(w->out, i ? ", " : "");
    put_json_value(w, w->t->val.v[at + i]);
  }
  str_putc(w->out, ']');
}

static void put_dict(const writer *w, vm_value v) {
  str_puts(w->out, "{\"dict\": {");
  for (uint32_t i = 0; i < v.n; i += 2) {
    const vm_value *pair = &w->t->val.v[v.at + i];
    str_puts(w->out, i ? ", " : "");
    vm_write_string(w->out, w->t->text.v + pair[0].str, pair[0].n);
    str_puts(w->out, ": ");
    put_json_value(w, pair[1]);
  }
  str_puts(w->out, "}}");
}

static void put_op(const writer *w, vm_value v) {
  writer inside = {w->t, w->out, false};
  str_printf(w->out, "{\"op\": \"%s\", \"of\": ", vm_op_text(v.op));
  put_elements(&inside, v.at, 2);
  str_putc(w->out, '}');
}

static void put_json_value(const writer *w, vm_value v) {
  switch ((vm_tag)v.tag) {
  case VM_NIL: str_puts(w->out, "null"); break;
  case VM_BOOL: str_puts(w->out, v.i ? "true" : "false"); break;
  case VM_INT: str_printf(w->out, "%" PRId64, v.i); break;
  case VM_REAL: vm_write_real(w->out, v.f); break;
  case VM_STR: vm_write_string(w->out, w->t->text.v + v.str, v.n); break;
  case VM_RV: put_json_rv(w, v.rv); break;
  case VM_AUTO: str_puts(w->out, "\"auto\""); break;
  case VM_LIST: put_elements(w, v.at, v.n); break;
  case VM_DICT: put_dict(w, v); break;
  case VM_OP: put_op(w, v); break;
  }
}

bool vm_holds_strings(uint32_t kind) {
  switch (kind) {
  case SCH_KIND_STR:
  case SCH_KIND_VALUE:
  case SCH_KIND_BUFFER:
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_FILL:
  case SCH_KIND_DTYPE: return true;
  default: return false;
  }
}

static void put_args(const vm_trace *t, uint32_t k, strbuf *out) {
  const sch_prim *p = t->inst.v[k].prim;
  const char *before = ", \"args\": {";
  bool any = false;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    vm_value v = vm_operand(t, k, i);
    if (v.tag == VM_NIL) continue;
    writer w = {t, out, vm_holds_strings(p->specs[i].kind)};
    str_printf(out, "%s\"%s\": ", before, p->specs[i].name);
    put_json_value(&w, v);
    before = ", ";
    any = true;
  }
  if (any) str_putc(out, '}');
}

static void put_json_decision(const vm_trace *t, const vm_inst *in,
                              strbuf *out) {
  if (!vm_samples(in) || in->open) return;
  bool scalar = vm_decides_one(in->prim);
  str_printf(out, ", \"decision\": %s", scalar ? "" : "[");
  for (uint32_t i = 0; i < in->decision.n; i++)
    str_printf(out, "%s%" PRId64, i ? ", " : "", t->dec.v[in->decision.at + i]);
  str_puts(out, scalar ? "" : "]");
}

static void put_inst(const vm_trace *t, uint32_t k, bool places, strbuf *out) {
  const vm_inst *in = &t->inst.v[k];
  str_printf(out, "{\"op\": \"%s\"", in->prim->name);
  put_args(t, k, out);
  put_json_decision(t, in, out);
  for (uint32_t i = 0; i < in->nout; i++) {
    char name[16];
    vm_rv_name(t, in->out + i, name);
    str_printf(out, "%s\"%s\"", i ? ", " : ", \"out\": [", name);
  }
  str_puts(out, in->nout ? "]" : "");
  if (places && in->file) {
    const char *file = t->text.v + in->file;
    str_puts(out, ", \"at\": [");
    vm_write_string(out, file, strlen(file));
    str_printf(out, ", %" PRIu32 "]", in->line);
  }
  str_putc(out, '}');
}

void vm_write_json(const vm_trace *t, const vm_json_opts *o, strbuf *out) {
  str_puts(out, "{\"format\": \"tessera.trace\", \"version\": 1");
  if (o && o->has_program)
    str_printf(out, ", \"program\": \"%016" PRIx64 "\"", o->program);
  str_puts(out, ",\n \"instructions\": [");
  for (uint32_t k = 0; k < t->inst.n; k++) {
    str_puts(out, k ? ",\n  " : "\n  ");
    put_inst(t, k, o && o->places, out);
  }
  str_puts(out, "]}\n");
}
