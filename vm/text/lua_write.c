/* SPDX-License-Identifier: Apache-2.0
 * Prints a trace as Lua that performs it on a schedule named `sch`.
 *
 *   -- tessera trace 1
 *   local b0 = sch:get_block{name = "C"}
 *   local l1, l2 = sch:get_loops{block = b0}
 *   local v3, v4 = sch:sample_perfect_tile{loop = l1, n = 2, decision = {4, 8}}
 *
 * A Lua function has at most 200 local variables, so later ones live in a
 * table: rv[120] is what would be called b120, l120 or v120.  An instruction
 * with many outputs assigns them in a loop.  lua_read.c parses exactly this
 * language. */
#include "vm/text/lua_write.h"
#include "vm/text/text.h"

#include <inttypes.h>
#include <math.h>

typedef struct writer {
  const vm_trace *t;
  strbuf *out;
} writer;

/* An infinity is a literal that overflows; a float keeps its decimal point. */
static void put_lua_real(strbuf *out, double x) {
  if (isinf(x)) {
    str_puts(out, x > 0 ? "1e999" : "-1e999");
    return;
  }
  size_t at = out->n;
  str_put_double(out, x);
  if (str_get(out) && !strpbrk(str_get(out) + at, ".e")) str_puts(out, ".0");
}

/* INT64_MIN has no decimal literal in Lua. */
static void put_int(strbuf *out, int64_t i) {
  if (i == INT64_MIN)
    str_puts(out, "0x8000000000000000");
  else
    str_printf(out, "%" PRId64, i);
}

/* The outputs of an instruction are all locals or all in the table. */
static bool is_local(const vm_trace *t, vm_rv rv) {
  const vm_inst *in = &t->inst.v[t->rv_inst.v[rv]];
  return in->out + in->nout - 1 <= VM_LUA_LOCALS;
}

static void put_lua_rv(const writer *w, vm_rv rv) {
  char name[16];
  vm_rv_name(w->t, rv, name);
  if (is_local(w->t, rv))
    str_puts(w->out, name);
  else
    str_printf(w->out, "rv[%s]", name + 1);
}

static const char *const keywords[] = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

bool vm_is_lua_name(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!vm_is_name_char(s[i], i > 0)) return false;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strlen(keywords[i]) == n && !memcmp(keywords[i], s, n)) return false;
  return n > 0;
}

static void put_lua_value(const writer *w, vm_value v);

static void put_elements(const writer *w, uint32_t at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    str_puts(w->out, i ? ", " : "");
    put_lua_value(w, w->t->val.v[at + i]);
  }
}

static void put_dict(const writer *w, vm_value v) {
  str_putc(w->out, '{');
  for (uint32_t i = 0; i < v.n; i += 2) {
    const vm_value *pair = &w->t->val.v[v.at + i];
    const char *key = w->t->text.v + pair[0].str;
    str_puts(w->out, i ? ", " : "");
    if (vm_is_lua_name(key, pair[0].n)) {
      str_puts(w->out, key);
    } else {
      str_putc(w->out, '[');
      str_put_quoted(w->out, '"', key, pair[0].n);
      str_putc(w->out, ']');
    }
    str_puts(w->out, " = ");
    put_lua_value(w, pair[1]);
  }
  str_putc(w->out, '}');
}

/* Nested arithmetic is parenthesized, so that nothing depends on precedence. */
static void put_inner(const writer *w, vm_value v) {
  bool op = v.tag == VM_OP && v.op != IR_MIN && v.op != IR_MAX;
  str_puts(w->out, op ? "(" : "");
  put_lua_value(w, v);
  str_puts(w->out, op ? ")" : "");
}

static void put_op(const writer *w, vm_value v) {
  const vm_value *of = &w->t->val.v[v.at];
  const char *text = vm_op_text((ir_op)v.op);
  if (v.op == IR_MIN || v.op == IR_MAX) {
    str_printf(w->out, "ts.%s(", text);
    put_elements(w, v.at, 2);
    str_putc(w->out, ')');
    return;
  }
  put_inner(w, of[0]);
  str_printf(w->out, " %s ", text);
  put_inner(w, of[1]);
}

static void put_lua_value(const writer *w, vm_value v) {
  switch ((vm_tag)v.tag) {
  case VM_NIL: str_puts(w->out, "nil"); break;
  case VM_BOOL: str_puts(w->out, v.i ? "true" : "false"); break;
  case VM_INT: put_int(w->out, v.i); break;
  case VM_REAL: put_lua_real(w->out, v.f); break;
  case VM_STR: str_put_quoted(w->out, '"', w->t->text.v + v.str, v.n); break;
  case VM_RV: put_lua_rv(w, v.rv); break;
  case VM_AUTO: str_puts(w->out, "ts.auto"); break;
  case VM_LIST:
    str_putc(w->out, '{');
    put_elements(w, v.at, v.n);
    str_putc(w->out, '}');
    break;
  case VM_DICT: put_dict(w, v); break;
  case VM_OP: put_op(w, v); break;
  }
}

static void put_lua_decision(const writer *w, const vm_inst *in) {
  bool scalar = vm_decides_one(in->prim);
  str_puts(w->out, scalar ? "" : "{");
  for (uint32_t i = 0; i < in->decision.n; i++) {
    str_puts(w->out, i ? ", " : "");
    put_int(w->out, w->t->dec.v[in->decision.at + i]);
  }
  str_puts(w->out, scalar ? "" : "}");
}

static void put_call(const writer *w, uint32_t k) {
  const vm_inst *in = &w->t->inst.v[k];
  const char *before = "{";
  str_printf(w->out, "sch:%s", in->prim->name);
  for (uint32_t i = 0; i < in->prim->nspecs; i++) {
    const sch_spec *sp = &in->prim->specs[i];
    vm_value v = vm_operand(w->t, k, i);
    bool decision = sp->role == SCH_ROLE_DECISION && !in->open;
    if (v.tag == VM_NIL && !decision) continue;
    str_printf(w->out, "%s%s = ", before, sp->name);
    before = ", ";
    if (decision)
      put_lua_decision(w, in);
    else
      put_lua_value(w, v);
  }
  str_puts(w->out, *before == '{' ? "()" : "}");
}

/* More outputs in one assignment would exceed Lua's registers. */
static void put_in_loop(const writer *w, uint32_t k) {
  const vm_inst *in = &w->t->inst.v[k];
  str_puts(w->out, "do local x = {");
  put_call(w, k);
  str_printf(w->out,
             "} for i = 1, %" PRIu32 " do rv[%" PRIu32 " + i] = x[i] end end",
             in->nout, in->out - 2);
}

void vm_write_lua_inst(const vm_trace *t, uint32_t k, strbuf *out) {
  const vm_inst *in = &t->inst.v[k];
  writer w = {t, out};
  bool local = in->nout && is_local(t, in->out);
  if (!local && in->nout > VM_LUA_TARGETS) {
    put_in_loop(&w, k);
    return;
  }
  str_puts(out, local ? "local " : "");
  for (uint32_t i = 0; i < in->nout; i++) {
    str_puts(out, i ? ", " : "");
    put_lua_rv(&w, in->out + i);
  }
  str_puts(out, in->nout ? " = " : "");
  put_call(&w, k);
}

static bool mentions_ts(const vm_trace *t, vm_value v) {
  bool op = v.tag == VM_OP && (v.op == IR_MIN || v.op == IR_MAX);
  uint32_t n = v.tag == VM_OP                         ? 2
               : v.tag == VM_LIST || v.tag == VM_DICT ? v.n
                                                      : 0;
  if (v.tag == VM_AUTO || op) return true;
  for (uint32_t i = 0; i < n; i++)
    if (mentions_ts(t, t->val.v[v.at + i])) return true;
  return false;
}

static bool needs_ts(const vm_trace *t) {
  for (uint32_t k = 0; k < t->inst.n; k++)
    for (uint32_t i = 0; i < t->inst.v[k].prim->nspecs; i++)
      if (mentions_ts(t, vm_operand(t, k, i))) return true;
  return false;
}

void vm_write_lua(const vm_trace *t, strbuf *out) {
  str_puts(out, "-- tessera trace 1\n");
  if (needs_ts(t)) str_puts(out, "local ts = require \"tessera\"\n");
  if (t->rv.n - 1 > VM_LUA_LOCALS) str_puts(out, "local rv = {}\n");
  for (uint32_t k = 0; k < t->inst.n; k++) {
    vm_write_lua_inst(t, k, out);
    str_putc(out, '\n');
  }
}
