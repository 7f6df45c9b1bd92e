/* SPDX-License-Identifier: Apache-2.0
 * Reading a trace from TVM's JSON; tvm.h says what it looks like. */
#include "vm/text/reader.h"
#include "vm/text/tvm.h"

#include <inttypes.h>

static const js_limits limits = {VM_TEXT_LIMIT, 2 * VM_MAX_DEPTH + 8};

/* One operand being read. */
typedef struct place {
  vm_reader *r;
  const sch_prim *p;
  const sch_spec *sp;
  tvm_form form;
  bool quoted; /* among the inputs, where strings are in a second pair of
                * quotation marks and names of variables are not */
} place;

static bool fail_value(const place *at, const json_t *v) {
  return vm_reader_fail(at->r, TESS_TYPE,
                        "%s: operand '%s' must be %s, not %s (%s)", at->p->name,
                        at->sp->name, vm_kind_text(at->sp->kind),
                        js_type_name(json_typeof(v)), at->sp->help);
}

static bool take_value(const place *at, const json_t *v, vm_value *out);

static bool take_list(const place *at, const json_t *v, uint32_t from,
                      vm_value *out) {
  vm_trace *pool = &at->r->pool;
  uint32_t size = (uint32_t)json_array_size(v);
  uint32_t n = size > from ? size - from : 0;
  uint32_t slot = vec_extend(pool->heap, &pool->val, n);
  uint16_t depth = 0;
  for (uint32_t i = 0; i < n; i++) {
    vm_value e;
    if (!take_value(at, json_array_get(v, from + i), &e)) return false;
    pool->val.v[slot + i] = e;
    depth = e.depth > depth ? e.depth : depth;
  }
  *out = (vm_value){.tag = VM_LIST, .depth = depth + 1, .n = n, .at = slot};
  return true;
}

static bool take_dict(const place *at, json_t *v, vm_value *out) {
  vm_trace *pool = &at->r->pool;
  place inside = *at;
  uint32_t n = (uint32_t)json_object_size(v);
  uint32_t slot = vec_extend(pool->heap, &pool->val, 2 * n), i = slot;
  const char *key;
  json_t *member;
  inside.quoted = false;
  json_object_foreach (v, key, member) {
    vm_value name = vm_str(pool, key, strlen(key)), e;
    if (!take_value(&inside, member, &e)) return false;
    pool->val.v[i++] = name;
    pool->val.v[i++] = e;
  }
  *out = vm_dict_of(pool, slot, n);
  return true;
}

/* The map becomes a list of it and the sampled integers that it uses, which
 * only inputs can. */
static bool take_given(const place *at, const tvm_given *given, vm_value *map) {
  vm_value e[VM_MAP_MAX + 1] = {*map};
  for (uint32_t i = 0; i < given->n; i++) {
    const char *name = given->name[i];
    if (!at->quoted)
      return vm_reader_fail(at->r, TESS_UNSUPPORTED,
                            "%s: operand '%s': attributes cannot hold "
                            "variables, as '%s'",
                            at->p->name, at->sp->name, name);
    if (!vm_reader_variable(at->r, name, strlen(name), &e[i + 1])) return false;
  }
  *map = vm_list(&at->r->pool, given->n + 1, e);
  return true;
}

/* The graph of an index map, a text in the text. */
static bool take_map(const place *at, const char *s, size_t n, vm_value *out) {
  err_state err;
  json_t *graph = js_read(s, n, limits, &err);
  if (!graph)
    return vm_reader_fail(at->r, TESS_PARSE, "%s: operand '%s': %s",
                          at->p->name, at->sp->name, err.message);
  vm_value *number = at->sp->kind == SCH_KIND_FILL ? out : NULL;
  tvm_given given;
  str_clear(&at->r->text);
  bool ok = vm_tvm_read_map(graph, &at->r->text, number, &given, &err);
  json_decref(graph);
  if (!ok)
    return vm_reader_fail(at->r, err.code, "%s: operand '%s': %s", at->p->name,
                          at->sp->name, err.message);
  if (at->r->text.n)
    *out = vm_str(&at->r->pool, str_get(&at->r->text), at->r->text.n);
  return !given.n || take_given(at, &given, out);
}

static bool is_variable(const char *s, size_t n) {
  char letter;
  uint32_t number;
  return vm_parse_rv_name(s, n, &letter, &number);
}

/* "main" is TVM's name of the only function. */
static bool take_named(const place *at, const char *s, size_t n,
                       vm_value *out) {
  vm_trace *pool = &at->r->pool;
  size_t skip = strlen(TVM_KEY_PREFIX);
  if (at->form == TVM_FUNC && !strcmp(s, "main"))
    *out = vm_nil();
  else if (at->form == TVM_KEY && !strncmp(s, TVM_KEY_PREFIX, skip))
    *out = vm_str(pool, s + skip, n - skip);
  else
    *out = vm_str(pool, s, n);
  return true;
}

static bool take_string(const place *at, const json_t *v, vm_value *out) {
  const char *s = json_string_value(v);
  size_t n = json_string_length(v);
  bool is_map =
      at->sp->kind == SCH_KIND_INDEX_MAP || at->sp->kind == SCH_KIND_FILL;
  if (is_map && n && s[0] == '{') return take_map(at, s, n, out);
  if (!at->quoted) return take_named(at, s, n, out);
  if (!strcmp(s, "None")) {
    *out = at->sp->kind == SCH_KIND_FACTORS ? vm_auto() : vm_nil();
    return true;
  }
  if (n >= 2 && s[0] == '"' && s[n - 1] == '"') {
    *out = vm_str(&at->r->pool, s + 1, n - 2);
    return true;
  }
  if (is_variable(s, n)) return vm_reader_variable(at->r, s, n, out);
  return vm_reader_fail(at->r, TESS_PARSE,
                        "%s: operand '%s': \"%.40s\" is neither a variable "
                        "nor a quoted string",
                        at->p->name, at->sp->name, s);
}

static bool take_value(const place *at, const json_t *v, vm_value *out) {
  int64_t i = json_integer_value(v);
  switch (json_typeof(v)) {
  case JSON_TRUE:
  case JSON_FALSE: *out = vm_bool(json_is_true(v)); return true;
  case JSON_INTEGER:
    *out = at->sp->kind == SCH_KIND_BOOL && (i == 0 || i == 1) ? vm_bool(i)
                                                               : vm_int(i);
    return true;
  case JSON_REAL: *out = vm_real(json_real_value(v)); return true;
  case JSON_STRING: return take_string(at, v, out);
  case JSON_ARRAY: return take_list(at, v, 0, out);
  case JSON_NULL: *out = vm_nil(); return true;
  case JSON_OBJECT:
    if (at->sp->kind != SCH_KIND_VALUE) break;
    return take_dict(at, (json_t *)(uintptr_t)v, out);
  }
  return fail_value(at, v);
}

/* A loop, or a list of blocks. */
static bool take_nodes(const place *at, const json_t *v, vm_value *out) {
  const vm_trace *t = at->r->t, *pool = &at->r->pool;
  bool list = json_is_array(v);
  if (!take_value(at, v, out)) return false;
  if (!list) *out = vm_list(&at->r->pool, 1, out);
  for (uint32_t i = 0; i < out->n; i++) {
    vm_value e = pool->val.v[out->at + i];
    if (e.tag != VM_RV || (t->rv.v[e.rv] == VM_RV_LOOP) == list)
      return vm_reader_fail(at->r, TESS_TYPE,
                            "%s: operand '%s' is a loop, or a list of blocks",
                            at->p->name, at->sp->name);
  }
  return true;
}

/* An index, and 0 or 1: read or write. */
static bool take_side(const place *at, const json_t *index, const json_t *side,
                      vm_value *out) {
  int64_t w = json_is_integer(side) ? json_integer_value(side) : -1;
  if (!json_is_integer(index) || w < 0 || w > 1)
    return vm_reader_fail(at->r, TESS_PARSE,
                          "%s: operand '%s' is an index, and 0 for what is "
                          "read or 1 for what is written",
                          at->p->name, at->sp->name);
  const char *name = w ? "write" : "read";
  vm_value e[2] = {vm_str(&at->r->pool, name, strlen(name)),
                   vm_int(json_integer_value(index))};
  *out = vm_list(&at->r->pool, 2, e);
  return true;
}

/* Trailing attributes may be missing: TVM adds some in later versions. */
static bool take_fields(vm_reader *r, const sch_prim *p, const char *fields,
                        const json_t *list, bool quoted) {
  tvm_field f;
  uint32_t i = 0, n = (uint32_t)json_array_size(list);
  while (vm_tvm_next_field(&fields, p, &f) && (i < n || f.form == TVM_REST)) {
    place at = {r, p, &p->specs[f.spec], f.form, quoted};
    vm_value *to = &r->operand[f.spec];
    bool ok = f.form == TVM_REST   ? take_list(&at, list, i, to)
              : f.form == TVM_SIDE ? take_side(&at, json_array_get(list, i),
                                               json_array_get(list, i + 1), to)
              : p->specs[f.spec].kind == SCH_KIND_NODES
                  ? take_nodes(&at, json_array_get(list, i), to)
                  : take_value(&at, json_array_get(list, i), to);
    if (!ok) return false;
    i = f.form == TVM_REST ? n : f.form == TVM_SIDE ? i + 2 : i + 1;
  }
  return i >= n ||
         vm_reader_fail(r, TESS_PARSE, "%s has %u %s, not %u", p->name, i,
                        quoted ? "inputs" : "attributes", n);
}

static bool take_outputs(vm_reader *r, const json_t *out) {
  for (uint32_t i = 0; i < json_array_size(out); i++) {
    const json_t *v = json_array_get(out, i);
    char letter;
    uint32_t number;
    if (!json_is_string(v) ||
        !vm_parse_rv_name(json_string_value(v), json_string_length(v), &letter,
                          &number))
      return vm_reader_fail(r, TESS_PARSE,
                            "outputs are variables (\"b0\", \"l1\")");
    if (!vm_reader_define(r, i, letter, number)) return false;
  }
  return true;
}

static bool take_decision(vm_reader *r, const sch_prim *p, const json_t *v) {
  for (uint32_t i = 0; v && i < p->nspecs; i++) {
    place at = {r, p, &p->specs[i], TVM_PLAIN, false};
    if (at.sp->role == SCH_ROLE_DECISION)
      return take_value(&at, v, &r->operand[i]);
  }
  return !v || vm_reader_fail(r, TESS_INVALID, "%s takes no decision", p->name);
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
         take_outputs(r, part[3]);
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

typedef struct job {
  vm_reader r;
  const json_t *v;
} job;

static tess_status read_all(void *ud) {
  job *j = ud;
  const json_t *insts = json_array_get(j->v, 0);
  const json_t *made = json_array_get(j->v, 1);
  size_t n = json_array_size(insts), at = 0;
  vm_trace_reset(j->r.t);
  for (size_t i = 0; i < n; i++) {
    const json_t *d = json_array_get(made, at);
    const json_t *of = json_array_get(d, 0), *decision = NULL;
    if (json_is_integer(of) && json_integer_value(of) == (json_int_t)i &&
        json_array_size(d) == 2) {
      decision = json_array_get(d, 1);
      at++;
    }
    vm_reader_next(&j->r);
    if (!take_inst(&j->r, json_array_get(insts, i), decision))
      return j->r.err->code;
  }
  if (at < json_array_size(made))
    return err_set(j->r.err, TESS_PARSE,
                   "decision %zu is [instruction, decision], in the order of "
                   "the instructions",
                   at + 1);
  return TESS_OK;
}

tess_status vm_read_tvm(vm_trace *t, const char *text, size_t n,
                        err_state *err) {
  err_clear(err);
  json_t *v = js_read(text, n, limits, err);
  if (!v) return err->code;
  job j = {.v = find_trace(v)};
  tess_status st = TESS_OK;
  if (j.v) {
    vm_reader_init(&j.r, t, err);
    st = mem_protect(t->heap, read_all, &j);
    vm_reader_free(&j.r);
  } else {
    st = err_set(err, TESS_PARSE,
                 "this is no trace of TVM's: [instructions, decisions]");
  }
  json_decref(v);
  return vm_reader_finish(t, st, err);
}
