/* SPDX-License-Identifier: Apache-2.0
 * Writing traces as TVM's JSON (the format: tvm.h). */
#include "vm/text/map.h"
#include "vm/text/text.h"
#include "vm/text/tvm.h"

#include <inttypes.h>
#include <math.h>

typedef struct writer {
  const vm_trace *t;
  uint32_t k; /* the current instruction, from 0 */
  strbuf *out;
  err_state *err;
  const sch_spec *sp; /* the current operand */
  bool quoted;        /* among the inputs */
  bool in_table;      /* inside a dictionary, where TVM resolves no variables */
} writer;

static bool refuse_tvm(const writer *w, const char *what) {
  const sch_prim *p = w->t->inst.v[w->k].prim;
  if (w->sp)
    err_set(w->err, TESS_UNSUPPORTED, "%s: TVM cannot express %s as '%s'",
            p->name, what, w->sp->name);
  else
    err_set(w->err, TESS_UNSUPPORTED, "%s: TVM has no such %s", p->name, what);
  err_place(w->err, "instruction %" PRIu32, w->k + 1);
  return false;
}

static const char *string_of(const writer *w, vm_value v) {
  return w->t->text.v + v.str;
}

/* TVM's parser rejects \u in strings. */
static bool has_control(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (((unsigned char)s[i] < 0x20 && !strchr("\b\t\n\f\r", s[i])) ||
        s[i] == 0x7f || !s[i])
      return true;
  return false;
}

/* Among the inputs strings have a second pair of marks. */
static bool put_string(const writer *w, const char *s, size_t n) {
  if (has_control(s, n)) return refuse_tvm(w, "a control character");
  str_puts(w->out, w->quoted ? "\"\\\"" : "\"");
  vm_write_escaped(w->out, s, n);
  str_puts(w->out, w->quoted ? "\\\"\"" : "\"");
  return true;
}

static bool put_tvm_value(const writer *w, vm_value v);

static bool put_elements(const writer *w, vm_value v) {
  for (uint32_t i = 0; i < v.n; i++) {
    str_puts(w->out, i ? ", " : "");
    if (!put_tvm_value(w, w->t->val.v[v.at + i])) return false;
  }
  return true;
}

static bool put_dict(const writer *w, vm_value v) {
  writer inside = *w;
  inside.quoted = false;
  inside.in_table = true;
  str_putc(w->out, '{');
  for (uint32_t i = 0; i < v.n; i += 2) {
    const vm_value *pair = &w->t->val.v[v.at + i];
    str_puts(w->out, i ? ", " : "");
    if (!put_string(&inside, string_of(w, pair[0]), pair[0].n)) return false;
    str_puts(w->out, ": ");
    if (!put_tvm_value(&inside, pair[1])) return false;
  }
  str_putc(w->out, '}');
  return true;
}

/* TVM returns a boolean as an integer; as an attribute it is one. */
static bool put_bool(const writer *w, vm_value v) {
  if (w->sp->kind != SCH_KIND_BOOL) return refuse_tvm(w, "a boolean");
  str_putc(w->out, v.i ? '1' : '0');
  return true;
}

static bool put_tvm_real(const writer *w, vm_value v) {
  if (isinf(v.f)) return refuse_tvm(w, "an infinity");
  vm_write_real(w->out, v.f);
  return true;
}

static bool put_tvm_value(const writer *w, vm_value v) {
  char name[16];
  switch ((vm_tag)v.tag) {
  case VM_NIL: str_puts(w->out, w->quoted ? "\"None\"" : "null"); break;
  case VM_BOOL: return put_bool(w, v);
  case VM_INT: str_printf(w->out, "%" PRId64, v.i); break;
  case VM_REAL: return put_tvm_real(w, v);
  case VM_STR: return put_string(w, string_of(w, v), v.n);
  case VM_RV:
    if (w->in_table) return refuse_tvm(w, "a variable in a table");
    vm_rv_name(w->t, v.rv, name);
    str_printf(w->out, "\"%s\"", name);
    break;
  case VM_AUTO: str_puts(w->out, "\"None\""); break;
  case VM_LIST:
    str_putc(w->out, '[');
    if (!put_elements(w, v)) return false;
    str_putc(w->out, ']');
    break;
  case VM_DICT: return put_dict(w, v);
  case VM_OP: return refuse_tvm(w, "arithmetic over variables");
  }
  return true;
}

/* ---- index maps --------------------------------------------------------- */

/* The number of indices that the instruction's map has, for a constant map. */
static uint32_t count_indices(const writer *w) {
  const sch_prim *p = w->t->inst.v[w->k].prim;
  strbuf text;
  tvm_given given;
  uint32_t i = 0, n = 0;
  while (i < p->nspecs && p->specs[i].kind != SCH_KIND_INDEX_MAP) i++;
  if (i == p->nspecs) return 0;
  str_init(&text, w->t->heap);
  if (vm_tvm_expand_map(w->t, vm_operand(w->t, w->k, i), &text, &given) &&
      str_get(&text))
    n = vm_tvm_count_results(w->t->heap, str_get(&text), &given);
  str_free(&text);
  return n;
}

/* Sampled integers become free variables of the graph, which TVM resolves among
 * the inputs only. */
static bool write_graph(const writer *w, vm_value v, strbuf *text,
                        strbuf *graph) {
  tvm_given given = {.n = 0};
  bool number = v.tag == VM_INT || v.tag == VM_REAL;
  if (v.tag == VM_RV || v.tag == VM_OP) return false;
  if (!number && !vm_tvm_expand_map(w->t, v, text, &given)) return false;
  if (given.n && !w->quoted) return false;
  return vm_tvm_write_map(w->t->heap, number ? NULL : str_get(text),
                          number ? count_indices(w) : 0, v, &given, graph);
}

static bool put_map(const writer *w, vm_value v) {
  strbuf text, graph;
  if (v.tag == VM_NIL) return put_tvm_value(w, v);
  str_init(&text, w->t->heap);
  str_init(&graph, w->t->heap);
  bool ok = write_graph(w, v, &text, &graph);
  if (str_get(&graph)) vm_write_string(w->out, graph.v, graph.n);
  w->out->bad |= graph.bad | text.bad;
  str_free(&graph);
  str_free(&text);
  return ok || refuse_tvm(w, "a map with sampled integers");
}

/* ---- operands ----------------------------------------------------------- */

/* The default of an operand that was left out, where the table has one. */
static vm_value filled_in(const sch_spec *sp, vm_value v) {
  if (v.tag != VM_NIL) return v;
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_INT:
  case SCH_KIND_EXPR: return vm_int(sp->dflt.i);
  case SCH_KIND_BOOL: return vm_bool(sp->dflt.i);
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_INTS:
  case SCH_KIND_REALS:
  case SCH_KIND_FACTORS: return (vm_value){.tag = VM_LIST, .depth = 1};
  default: return v;
  }
}

/* By index; the side is written only where TVM has a field for it. */
static bool put_buffer(const writer *w, vm_value v, bool side) {
  const vm_value *pair = w->t->val.v + (v.tag == VM_LIST ? v.at : 0);
  if (v.tag == VM_STR) return refuse_tvm(w, "a buffer's name");
  if (v.tag == VM_LIST)
    str_printf(w->out, "%" PRId64, pair[1].i);
  else
    str_printf(w->out, "%" PRId64, v.i);
  if (!side) return true;
  if (v.tag != VM_LIST) return refuse_tvm(w, "an index without its side");
  str_printf(w->out, ", %d", !strcmp(string_of(w, pair[0]), "write"));
  return true;
}

/* TVM takes a loop, or a list of blocks. */
static bool put_nodes(const writer *w, vm_value v) {
  const vm_value *node = w->t->val.v + v.at;
  bool loop = false;
  for (uint32_t i = 0; i < v.n; i++)
    loop = loop || w->t->rv.v[node[i].rv] == VM_RV_LOOP;
  if (loop && v.n > 1) return refuse_tvm(w, "loops in a list");
  return put_tvm_value(w, loop ? *node : v);
}

/* Equal probabilities, as many as the previous operand has elements. */
static void put_uniform(const writer *w, uint32_t spec) {
  uint32_t n = vm_operand(w->t, w->k, spec - 1).n;
  str_putc(w->out, '[');
  for (uint32_t i = 0; i < n; i++) {
    str_puts(w->out, i ? ", " : "");
    vm_write_real(w->out, 1.0 / n);
  }
  str_putc(w->out, ']');
}

static bool put_string_default(const writer *w, vm_value v, tvm_form form) {
  const char *s = v.tag == VM_STR    ? string_of(w, v)
                  : form == TVM_FUNC ? "main"
                  : w->sp->dflt.s    ? w->sp->dflt.s
                                     : "";
  if (form == TVM_KEY && vm_tvm_has_prefix(s)) {
    str_puts(w->out, "\"" TVM_KEY_PREFIX);
    str_printf(w->out, "%s\"", s);
    return true;
  }
  return put_string(w, s, strlen(s));
}

static bool put_field(writer *w, const tvm_field *f) {
  const sch_prim *p = w->t->inst.v[w->k].prim;
  w->sp = &p->specs[f->spec];
  vm_value v = filled_in(w->sp, vm_operand(w->t, w->k, f->spec));
  if (f->form == TVM_REST) return put_elements(w, v);
  if (f->form == TVM_UNIFORM && !v.n) return put_uniform(w, f->spec), true;
  switch ((sch_kind)w->sp->kind) {
  case SCH_KIND_NODES: return put_nodes(w, v);
  case SCH_KIND_BUFFER: return put_buffer(w, v, f->form == TVM_SIDE);
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_FILL: return put_map(w, v);
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE: return put_string_default(w, v, f->form);
  default: return put_tvm_value(w, v);
  }
}

static bool put_fields(writer *w, const char *fields, bool quoted) {
  const sch_prim *p = w->t->inst.v[w->k].prim;
  tvm_field f;
  w->quoted = quoted;
  str_puts(w->out, ", [");
  for (size_t at = w->out->n; vm_tvm_next_field(&fields, p, &f);) {
    size_t before = w->out->n;
    str_puts(w->out, before > at ? ", " : "");
    size_t comma = w->out->n;
    if (!put_field(w, &f)) return false;
    if (w->out->n == comma) w->out->n = before; /* an empty rest */
  }
  w->sp = NULL;
  str_putc(w->out, ']');
  return true;
}

/* ---- the whole ---------------------------------------------------------- */

/* An operand that none of TVM's fields can hold. */
static bool has_more(writer *w, const tvm_row *row) {
  const sch_prim *p = row->prim;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const char *lists[] = {row->inputs, row->attrs};
    bool found = vm_operand(w->t, w->k, i).tag == VM_NIL;
    for (uint32_t l = 0; l < 2 && !found; l++)
      for (tvm_field f; vm_tvm_next_field(&lists[l], p, &f);)
        found = found || f.spec == i;
    w->sp = &p->specs[i];
    if (!found) return true;
  }
  w->sp = NULL;
  return false;
}

static bool put_inst(writer *w) {
  const vm_inst *in = &w->t->inst.v[w->k];
  const tvm_row *row = vm_tvm_find_prim(in->prim);
  w->sp = NULL;
  if (!row) return refuse_tvm(w, "instruction");
  if (has_more(w, row)) return refuse_tvm(w, "what is given");
  str_printf(w->out, "[\"%s\"", row->kind);
  if (!put_fields(w, row->inputs, true) || !put_fields(w, row->attrs, false))
    return false;
  str_puts(w->out, ", [");
  for (uint32_t i = 0; i < in->nout; i++) {
    char name[16];
    vm_rv_name(w->t, in->out + i, name);
    str_printf(w->out, "%s\"%s\"", i ? ", " : "", name);
  }
  str_puts(w->out, "]]");
  return true;
}

/* The decision of the instruction that is number `at` in TVM's form. */
static void put_tvm_decision(const vm_trace *t, const vm_inst *in, uint32_t at,
                             strbuf *out) {
  bool scalar = vm_decides_one(in->prim);
  str_printf(out, "[%" PRIu32 ", %s", at, scalar ? "" : "[");
  for (uint32_t i = 0; i < in->decision.n; i++)
    str_printf(out, "%s%" PRId64, i ? ", " : "", t->dec.v[in->decision.at + i]);
  str_puts(out, scalar ? "]" : "]]");
}

static bool has_decision(const vm_inst *in) {
  return vm_samples(in) && !in->open;
}

/* Remarks stay behind: TVM has none. */
tess_status vm_write_tvm(const vm_trace *t, strbuf *out, err_state *err) {
  writer w = {.t = t, .out = out, .err = err};
  uint32_t at = 0;
  const char *comma = "";
  err_clear(err);
  str_puts(out, "[[");
  for (const vm_inst *in = NULL; (in = vm_next_act(t, in));) {
    w.k = (uint32_t)(in - t->inst.v);
    str_puts(out, at++ ? ",\n  " : "");
    if (!put_inst(&w)) return err->code;
  }
  str_puts(out, "],\n [");
  at = 0;
  for (const vm_inst *in = NULL; (in = vm_next_act(t, in)); at++) {
    if (!has_decision(in)) continue;
    str_puts(out, comma);
    put_tvm_decision(t, in, at, out);
    comma = ", ";
  }
  str_puts(out, "]]\n");
  return TESS_OK;
}
