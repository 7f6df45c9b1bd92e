/* SPDX-License-Identifier: Apache-2.0
 * Reading a trace from JSON; json.c says what it looks like. */
#include "vm/text/reader.h"
#include "vm/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Deep enough for the deepest value: its objects take two levels each. */
static const js_limits limits = {VM_TEXT_LIMIT, 2 * VM_MAX_DEPTH + 8};

typedef struct place {
  vm_reader *r;
  const sch_prim *p;
  const sch_spec *sp; /* the operand being read */
} place;

static bool fail_value(const place *at, const json_t *v) {
  return vm_reader_fail(at->r, TESS_TYPE,
                        "%s: operand '%s' must be %s, not %s (%s)", at->p->name,
                        at->sp->name, vm_kind_text(at->sp->kind),
                        js_type_name(json_typeof(v)), at->sp->help);
}

static bool take_value(const place *at, const json_t *v, bool strings,
                       vm_value *out);

/* n values read into fresh slots of the pool. */
static bool take_elements(const place *at, const json_t *v, bool strings,
                          vm_value *out) {
  vm_trace *pool = &at->r->pool;
  uint32_t n = (uint32_t)json_array_size(v);
  uint32_t slot = vec_extend(pool->heap, &pool->val, n);
  uint16_t depth = 0;
  for (uint32_t i = 0; i < n; i++) {
    vm_value e;
    if (!take_value(at, json_array_get(v, i), strings, &e)) return false;
    pool->val.v[slot + i] = e;
    depth = e.depth > depth ? e.depth : depth;
  }
  *out = (vm_value){.tag = VM_LIST, .depth = depth + 1, .n = n, .at = slot};
  return true;
}

static bool take_dict(const place *at, json_t *v, vm_value *out) {
  vm_trace *pool = &at->r->pool;
  uint32_t n = (uint32_t)json_object_size(v);
  uint32_t slot = vec_extend(pool->heap, &pool->val, 2 * n), i = slot;
  const char *key;
  json_t *member;
  json_object_foreach (v, key, member) {
    vm_value name = vm_str(pool, key, strlen(key)), e;
    if (!take_value(at, member, true, &e)) return false;
    pool->val.v[i++] = name;
    pool->val.v[i++] = e;
  }
  *out = vm_dict_of(pool, slot, n);
  return true;
}

static bool take_op(const place *at, const char *name, const json_t *of,
                    vm_value *out) {
  ir_op op = vm_parse_op(name);
  if (!op || !json_is_array(of) || json_array_size(of) != 2)
    return vm_reader_fail(at->r, TESS_PARSE,
                          "%s: operand '%s': arithmetic is an operator "
                          "(+ - * // %% min max) of two values",
                          at->p->name, at->sp->name);
  if (!take_elements(at, of, false, out)) return false;
  out->tag = VM_OP;
  out->op = (uint8_t)op;
  out->n = 0;
  return true;
}

static bool take_infinity(const place *at, const char *text, vm_value *out) {
  if (strcmp(text, "inf") && strcmp(text, "-inf"))
    return vm_reader_fail(at->r, TESS_PARSE,
                          "%s: operand '%s': {\"real\": ..} is for \"inf\" "
                          "and \"-inf\"",
                          at->p->name, at->sp->name);
  *out = vm_real(*text == '-' ? -INFINITY : INFINITY);
  return true;
}

static bool take_object(const place *at, json_t *v, vm_value *out) {
  json_t *op = json_object_get(v, "op"), *of = json_object_get(v, "of");
  json_t *var = json_object_get(v, "var"), *real = json_object_get(v, "real");
  json_t *dict = json_object_get(v, "dict");
  if (json_object_size(v) == 2 && json_is_string(op) && of)
    return take_op(at, json_string_value(op), of, out);
  if (json_object_size(v) == 1 && json_is_string(var))
    return vm_reader_variable(at->r, json_string_value(var),
                              json_string_length(var), out);
  if (json_object_size(v) == 1 && json_is_string(real))
    return take_infinity(at, json_string_value(real), out);
  if (json_object_size(v) == 1 && json_is_object(dict))
    return take_dict(at, dict, out);
  if (at->sp->kind == SCH_KIND_VALUE)
    return vm_reader_fail(at->r, TESS_TYPE,
                          "%s: operand '%s' must be %s, not an object (a "
                          "dictionary is written {\"dict\": {..}})",
                          at->p->name, at->sp->name,
                          vm_kind_text(at->sp->kind));
  return fail_value(at, v);
}

static bool take_string(const place *at, const json_t *v, bool strings,
                        vm_value *out) {
  const char *s = json_string_value(v);
  size_t n = json_string_length(v);
  if (strings) {
    *out = vm_str(&at->r->pool, s, n);
    return true;
  }
  if (at->sp->kind == SCH_KIND_FACTORS && !strcmp(s, "auto")) {
    *out = vm_auto();
    return true;
  }
  return vm_reader_variable(at->r, s, n, out);
}

static bool take_value(const place *at, const json_t *v, bool strings,
                       vm_value *out) {
  switch (json_typeof(v)) {
  case JSON_TRUE:
  case JSON_FALSE: *out = vm_bool(json_is_true(v)); return true;
  case JSON_INTEGER: *out = vm_int(json_integer_value(v)); return true;
  case JSON_REAL: *out = vm_real(json_real_value(v)); return true;
  case JSON_STRING: return take_string(at, v, strings, out);
  case JSON_ARRAY: return take_elements(at, v, strings, out);
  case JSON_OBJECT: return take_object(at, (json_t *)(uintptr_t)v, out);
  case JSON_NULL: break;
  }
  return fail_value(at, v);
}

static bool take_operand(vm_reader *r, const sch_prim *p, const char *name,
                         bool decision, const json_t *v) {
  uint32_t spec;
  if (!vm_reader_operand(r, p, name, &spec)) return false;
  place at = {r, p, &p->specs[spec]};
  if (decision != (at.sp->role == SCH_ROLE_DECISION))
    return vm_reader_fail(r, TESS_PARSE, "%s has no operand '%s'", p->name,
                          name);
  return take_value(&at, v, vm_holds_strings(at.sp->kind), &r->operand[spec]);
}

/* The name of the DECISION row; NULL: it takes none. */
static const char *decision_name(const sch_prim *p) {
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (p->specs[i].role == SCH_ROLE_DECISION) return p->specs[i].name;
  return NULL;
}

/* A member of an instruction, of that type. */
static bool take_member(vm_reader *r, const json_t *v, const char *key,
                        json_type type, json_t **out) {
  err_state err;
  *out = js_member(v, key, type, &err);
  return *out || vm_reader_fail(r, err.code, "%s", err.message);
}

/* The same of one that may be missing: NULL. */
static bool take_optional(vm_reader *r, const json_t *v, const char *key,
                          json_type type, json_t **out) {
  *out = NULL;
  return !json_object_get(v, key) || take_member(r, v, key, type, out);
}

static bool take_args(vm_reader *r, const sch_prim *p, json_t *args) {
  const char *key;
  json_t *v;
  json_object_foreach (args, key, v)
    if (!take_operand(r, p, key, false, v)) return false;
  return true;
}

static bool take_decision(vm_reader *r, const sch_prim *p, const json_t *v) {
  const char *name = decision_name(p);
  if (!v) return true;
  if (!name)
    return vm_reader_fail(r, TESS_INVALID, "%s takes no decision", p->name);
  return take_operand(r, p, name, true, v);
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
                            "'out' must list variables (\"b0\", \"l1\")");
    if (!vm_reader_define(r, i, letter, number)) return false;
  }
  return true;
}

static bool take_place(vm_reader *r, const json_t *at, const char **file,
                       uint32_t *line) {
  const json_t *f = json_array_get(at, 0), *l = json_array_get(at, 1);
  *file = NULL;
  *line = 0;
  if (!at) return true;
  if (!json_is_array(at) || json_array_size(at) != 2 || !json_is_string(f) ||
      !json_is_integer(l) || json_integer_value(l) < 0 ||
      json_integer_value(l) > INT32_MAX)
    return vm_reader_fail(r, TESS_PARSE, "'at' must be [file, line]");
  *file = json_string_value(f);
  *line = (uint32_t)json_integer_value(l);
  return true;
}

static bool knows_members(vm_reader *r, json_t *v) {
  static const char *const known[] = {"op", "args", "decision", "out", "at"};
  const char *key;
  json_t *member;
  json_object_foreach (v, key, member) {
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      found = found || !strcmp(key, known[i]);
    if (!found)
      return vm_reader_fail(r, TESS_PARSE, "an instruction has no \"%.100s\"",
                            key);
  }
  return true;
}

static bool take_inst(vm_reader *r, json_t *v) {
  json_t *op, *args, *out;
  const char *file;
  uint32_t line;
  if (!json_is_object(v))
    return vm_reader_fail(r, TESS_PARSE,
                          "an instruction is an object with 'op', not %s",
                          js_type_name(json_typeof(v)));
  if (!knows_members(r, v) || !take_member(r, v, "op", JSON_STRING, &op) ||
      !take_optional(r, v, "args", JSON_OBJECT, &args) ||
      !take_optional(r, v, "out", JSON_ARRAY, &out))
    return false;
  const sch_prim *p = vm_reader_begin(r, json_string_value(op));
  return p && take_args(r, p, args) &&
         take_decision(r, p, json_object_get(v, "decision")) &&
         take_place(r, json_object_get(v, "at"), &file, &line) &&
         vm_reader_end(r, p, (uint32_t)json_array_size(out), file, line) &&
         take_outputs(r, out);
}

/* ---- the whole ---------------------------------------------------------- */

static tess_status no_trace(err_state *err) {
  char why[sizeof err->message];
  snprintf(why, sizeof why, "%s", err->message);
  err_set(err, TESS_PARSE, "this is no trace: %s", why);
  err_place(err, "the outermost value");
  return TESS_PARSE;
}

static tess_status take_head(const json_t *v, vm_json_opts *o, err_state *err) {
  int64_t version;
  const char *key;
  json_t *member;
  json_object_foreach ((json_t *)(uintptr_t)v, key, member)
    if (strcmp(key, "format") && strcmp(key, "version") &&
        strcmp(key, "program") && strcmp(key, "instructions"))
      return err_set(err, TESS_PARSE, "a trace has no \"%.100s\"", key);
  json_t *format = js_member(v, "format", JSON_STRING, err);
  if (!format || !js_int_member(v, "version", 0, INT32_MAX, &version, err) ||
      !js_member(v, "instructions", JSON_ARRAY, err))
    return no_trace(err);
  if (strcmp(json_string_value(format), "tessera.trace"))
    return err_set(err, TESS_PARSE, "this is no trace: its format is \"%.40s\"",
                   json_string_value(format));
  if (version != 1)
    return err_set(
        err, TESS_UNSUPPORTED,
        "a trace of version %" PRId64 "; this engine reads version 1", version);
  const json_t *program = json_object_get(v, "program");
  *o = (vm_json_opts){.has_program = program != NULL};
  if (!program) return TESS_OK;
  const char *hash = json_string_value(program);
  if (!hash || strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16)
    return err_set(err, TESS_PARSE, "'program' must be 16 hexadecimal digits");
  o->program = strtoull(hash, NULL, 16);
  return TESS_OK;
}

typedef struct job {
  vm_reader r;
  const json_t *v;
} job;

static tess_status read_all(void *ud) {
  job *j = ud;
  const json_t *list = json_object_get(j->v, "instructions");
  vm_trace_reset(j->r.t);
  for (size_t i = 0; i < json_array_size(list); i++) {
    vm_reader_next(&j->r);
    if (!take_inst(&j->r, json_array_get(list, i))) return j->r.err->code;
  }
  return TESS_OK;
}

tess_status vm_take_json(vm_trace *t, const json_t *v, vm_json_opts *o,
                         err_state *err) {
  job j = {.v = v};
  vm_json_opts unused;
  err_clear(err);
  tess_status st = take_head(v, o ? o : &unused, err);
  if (st != TESS_OK) return st;
  vm_reader_init(&j.r, t, err);
  st = mem_protect(t->heap, read_all, &j);
  vm_reader_free(&j.r);
  return vm_reader_finish(t, st, err);
}

tess_status vm_read_json(vm_trace *t, const char *text, size_t n,
                         vm_json_opts *o, err_state *err) {
  json_t *v = js_read(text, n, limits, err);
  if (!v) return err->code;
  tess_status st = vm_take_json(t, v, o, err);
  json_decref(v);
  return st;
}
