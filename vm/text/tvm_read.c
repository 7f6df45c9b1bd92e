/* SPDX-License-Identifier: Apache-2.0
 * Parsing traces from TVM's JSON (the format: tvm.h). */
#include "vm/text/json_operand.h"
#include "vm/text/tvm.h"

#include <inttypes.h>

typedef struct tvm_operand {
  vm_json_operand o;
  tvm_form form;
  bool quoted; /* among the inputs, where strings have a second pair of
                * quotation marks and variables do not */
} tvm_operand;

static bool take_tvm(const void *at, const json_t *v, vm_value *out);

static bool take_dict(const tvm_operand *at, json_t *v, vm_value *out) {
  tvm_operand inside = *at;
  inside.quoted = false;
  return vm_json_dict(at->o.r, v, take_tvm, &inside, out);
}

/* Adds the sampled integers that the map uses, which only inputs can have. */
static bool take_given(const tvm_operand *at, const tvm_given *given,
                       vm_value *map) {
  vm_value e[VM_MAP_MAX + 1] = {*map};
  for (uint32_t i = 0; i < given->n; i++) {
    const char *name = given->name[i];
    if (!at->quoted)
      return vm_reader_fail(at->o.r, TESS_UNSUPPORTED,
                            "%s: operand '%s': attributes cannot hold "
                            "variables, as '%s'",
                            at->o.p->name, at->o.sp->name, name);
    if (!vm_reader_variable(at->o.r, name, strlen(name), &e[i + 1]))
      return false;
  }
  *map = vm_list(&at->o.r->pool, given->n + 1, e);
  return true;
}

/* Parses the node graph in an index map's string. */
static bool take_map(const tvm_operand *at, const char *s, size_t n,
                     vm_value *out) {
  err_state err;
  json_t *graph = js_read(s, n, vm_json_limits, &err);
  if (!graph)
    return vm_reader_fail(at->o.r, TESS_PARSE, "%s: operand '%s': %s",
                          at->o.p->name, at->o.sp->name, err.message);
  vm_value *number = at->o.sp->kind == SCH_KIND_FILL ? out : NULL;
  tvm_given given;
  str_clear(&at->o.r->text);
  bool ok = vm_tvm_read_map(graph, &at->o.r->text, number, &given, &err);
  json_decref(graph);
  if (!ok)
    return vm_reader_fail(at->o.r, err.code, "%s: operand '%s': %s",
                          at->o.p->name, at->o.sp->name, err.message);
  if (at->o.r->text.n)
    *out = vm_str(&at->o.r->pool, str_get(&at->o.r->text), at->o.r->text.n);
  return !given.n || take_given(at, &given, out);
}

static bool is_variable(const char *s, size_t n) {
  char letter;
  uint32_t number;
  return vm_parse_rv_name(s, n, &letter, &number);
}

/* "main" is TVM's name of the only function. */
static bool take_named(const tvm_operand *at, const char *s, size_t n,
                       vm_value *out) {
  vm_trace *pool = &at->o.r->pool;
  size_t skip = strlen(TVM_KEY_PREFIX);
  if (at->form == TVM_FUNC && !strcmp(s, "main"))
    *out = vm_nil();
  else if (at->form == TVM_KEY && !strncmp(s, TVM_KEY_PREFIX, skip))
    *out = vm_str(pool, s + skip, n - skip);
  else
    *out = vm_str(pool, s, n);
  return true;
}

static bool take_string(const tvm_operand *at, const json_t *v, vm_value *out) {
  const char *s = json_string_value(v);
  size_t n = json_string_length(v);
  bool is_map =
      at->o.sp->kind == SCH_KIND_INDEX_MAP || at->o.sp->kind == SCH_KIND_FILL;
  if (is_map && n && s[0] == '{') return take_map(at, s, n, out);
  if (!at->quoted) return take_named(at, s, n, out);
  if (!strcmp(s, "None")) {
    *out = at->o.sp->kind == SCH_KIND_FACTORS ? vm_auto() : vm_nil();
    return true;
  }
  if (n >= 2 && s[0] == '"' && s[n - 1] == '"') {
    *out = vm_str(&at->o.r->pool, s + 1, n - 2);
    return true;
  }
  if (is_variable(s, n)) return vm_reader_variable(at->o.r, s, n, out);
  return vm_reader_fail(at->o.r, TESS_PARSE,
                        "%s: operand '%s': \"%.40s\" is neither a variable "
                        "nor a quoted string",
                        at->o.p->name, at->o.sp->name, s);
}

static bool take_tvm(const void *ud, const json_t *v, vm_value *out) {
  const tvm_operand *at = ud;
  int64_t i = json_integer_value(v);
  switch (json_typeof(v)) {
  case JSON_TRUE:
  case JSON_FALSE: *out = vm_bool(json_is_true(v)); return true;
  case JSON_INTEGER:
    *out = at->o.sp->kind == SCH_KIND_BOOL && (i == 0 || i == 1) ? vm_bool(i)
                                                                 : vm_int(i);
    return true;
  case JSON_REAL: *out = vm_real(json_real_value(v)); return true;
  case JSON_STRING: return take_string(at, v, out);
  case JSON_ARRAY: return vm_json_list(at->o.r, v, 0, take_tvm, at, out);
  case JSON_NULL: *out = vm_nil(); return true;
  case JSON_OBJECT:
    if (at->o.sp->kind != SCH_KIND_VALUE) break;
    return take_dict(at, (json_t *)(uintptr_t)v, out);
  }
  return vm_json_fail_value(&at->o, v);
}

/* A loop, or a list of blocks. */
static bool take_nodes(const tvm_operand *at, const json_t *v, vm_value *out) {
  const vm_trace *t = at->o.r->t, *pool = &at->o.r->pool;
  bool list = json_is_array(v);
  if (!take_tvm(at, v, out)) return false;
  if (!list) *out = vm_list(&at->o.r->pool, 1, out);
  for (uint32_t i = 0; i < out->n; i++) {
    vm_value e = pool->val.v[out->at + i];
    if (e.tag != VM_RV || (t->rv.v[e.rv] == VM_RV_LOOP) == list)
      return vm_reader_fail(at->o.r, TESS_TYPE,
                            "%s: operand '%s' is a loop, or a list of blocks",
                            at->o.p->name, at->o.sp->name);
  }
  return true;
}

/* An index, and 0 or 1: read or write. */
static bool take_side(const tvm_operand *at, const json_t *index,
                      const json_t *side, vm_value *out) {
  int64_t w = json_is_integer(side) ? json_integer_value(side) : -1;
  if (!json_is_integer(index) || w < 0 || w > 1)
    return vm_reader_fail(at->o.r, TESS_PARSE,
                          "%s: operand '%s' is an index, and 0 for what is "
                          "read or 1 for what is written",
                          at->o.p->name, at->o.sp->name);
  const char *name = w ? "write" : "read";
  vm_value e[2] = {vm_str(&at->o.r->pool, name, strlen(name)),
                   vm_int(json_integer_value(index))};
  *out = vm_list(&at->o.r->pool, 2, e);
  return true;
}

/* Trailing attributes may be missing: TVM adds some in later versions. */
static bool take_fields(vm_reader *r, const sch_prim *p, const char *fields,
                        const json_t *list, bool quoted) {
  tvm_field f;
  uint32_t i = 0, n = (uint32_t)json_array_size(list);
  while (vm_tvm_next_field(&fields, p, &f) && (i < n || f.form == TVM_REST)) {
    tvm_operand at = {{r, p, &p->specs[f.spec]}, f.form, quoted};
    vm_value *to = &r->operand[f.spec];
    bool ok = f.form == TVM_REST   ? vm_json_list(r, list, i, take_tvm, &at, to)
              : f.form == TVM_SIDE ? take_side(&at, json_array_get(list, i),
                                               json_array_get(list, i + 1), to)
              : p->specs[f.spec].kind == SCH_KIND_NODES
                  ? take_nodes(&at, json_array_get(list, i), to)
                  : take_tvm(&at, json_array_get(list, i), to);
    if (!ok) return false;
    i = f.form == TVM_REST ? n : f.form == TVM_SIDE ? i + 2 : i + 1;
  }
  return i >= n ||
         vm_reader_fail(r, TESS_PARSE, "%s has %u %s, not %u", p->name, i,
                        quoted ? "inputs" : "attributes", n);
}

static bool take_decision(vm_reader *r, const sch_prim *p, const json_t *v) {
  const sch_spec *sp = vm_decision_spec(p);
  tvm_operand at = {{r, p, sp}, TVM_PLAIN, false};
  if (!v) return true;
  if (!sp)
    return vm_reader_fail(r, TESS_INVALID, "%s takes no decision", p->name);
  return take_tvm(&at, v, &r->operand[sp - p->specs]);
}

static bool take_inst(vm_reader *r, const json_t *v, const json_t *decision) {
  const json_t *part[4];
  for (uint32_t i = 0; i < 4; i++) {
    part[i] = json_array_get(v, i);
    if (json_array_size(v) != 4 ||
        !(i ? json_is_array(part[i]) : json_is_string(part[i])))
      return vm_reader_fail(r, TESS_PARSE,
                            "an instruction is [kind, [inputs], "
                            "[attributes], [outputs]]");
  }
  const char *kind = json_string_value(part[0]);
  const tvm_row *row = vm_tvm_find_kind(kind);
  if (!row)
    return vm_reader_fail(r, TESS_UNSUPPORTED,
                          "there is no primitive for TVM's '%.100s'", kind);
  const sch_prim *p = vm_reader_begin(r, row->prim->name);
  return p && take_fields(r, p, row->inputs, part[1], true) &&
         take_fields(r, p, row->attrs, part[2], false) &&
         take_decision(r, p, decision) &&
         vm_reader_end(r, p, (uint32_t)json_array_size(part[3]), NULL, 0) &&
         vm_json_outputs(r, part[3]);
}

/* ---- the whole ---------------------------------------------------------- */

/* In a line of a database the trace is the first part of the second one. */
static const json_t *find_trace(const json_t *v) {
  if (json_is_integer(json_array_get(v, 0)))
    v = json_array_get(json_array_get(v, 1), 0);
  bool ok = json_array_size(v) == 2 && json_is_array(json_array_get(v, 0)) &&
            json_is_array(json_array_get(v, 1));
  return ok ? v : NULL;
}

static bool read_instructions(vm_reader *r, const json_t *v) {
  const json_t *insts = json_array_get(v, 0), *made = json_array_get(v, 1);
  size_t n = json_array_size(insts), at = 0;
  for (size_t i = 0; i < n; i++) {
    const json_t *d = json_array_get(made, at);
    const json_t *of = json_array_get(d, 0), *decision = NULL;
    if (json_is_integer(of) && json_integer_value(of) == (json_int_t)i &&
        json_array_size(d) == 2) {
      decision = json_array_get(d, 1);
      at++;
    }
    vm_reader_next(r);
    if (!take_inst(r, json_array_get(insts, i), decision)) return false;
  }
  if (at >= json_array_size(made)) return true;
  err_set(r->err, TESS_PARSE,
          "decision %zu is [instruction, decision], in the order of the "
          "instructions",
          at + 1);
  return false;
}

tess_status vm_read_tvm(vm_trace *t, const char *text, size_t n,
                        err_state *err) {
  err_clear(err);
  json_t *v = js_read(text, n, vm_json_limits, err);
  if (!v) return err->code;
  const json_t *trace = find_trace(v);
  tess_status st = trace
                       ? vm_json_read_trace(t, trace, read_instructions, err)
                       : vm_reader_finish(t,
                                          err_set(err, TESS_PARSE,
                                                  "this is no trace of TVM's: "
                                                  "[instructions, decisions]"),
                                          err);
  json_decref(v);
  return st;
}
