/* SPDX-License-Identifier: Apache-2.0
 * Parsing traces from JSON (the format: json_write.c). */
#include "vm/text/json_operand.h"
#include "vm/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct json_operand {
  vm_json_operand o;
  bool strings; /* a bare string is one, not a variable */
} json_operand;

static bool take_json(const void *at, const json_t *v, vm_value *out);

static bool take_op(const json_operand *at, const char *name, const json_t *of,
                    vm_value *out) {
  ir_op op = vm_parse_op(name);
  if (!op || !json_is_array(of) || json_array_size(of) != 2)
    return vm_reader_fail(at->o.r, TESS_PARSE,
                          "%s: operand '%s': arithmetic is an operator "
                          "(+ - * // %% min max) of two values",
                          at->o.p->name, at->o.sp->name);
  json_operand inside = {at->o, false};
  if (!vm_json_list(at->o.r, of, 0, take_json, &inside, out)) return false;
  *out = vm_op_of(&at->o.r->pool, out->at, op);
  return true;
}

static bool take_infinity(const json_operand *at, const char *text,
                          vm_value *out) {
  if (strcmp(text, "inf") && strcmp(text, "-inf"))
    return vm_reader_fail(at->o.r, TESS_PARSE,
                          "%s: operand '%s': {\"real\": ..} is for \"inf\" "
                          "and \"-inf\"",
                          at->o.p->name, at->o.sp->name);
  *out = vm_real(*text == '-' ? -INFINITY : INFINITY);
  return true;
}

static bool take_dict(const json_operand *at, json_t *v, vm_value *out) {
  json_operand inside = {at->o, true};
  return vm_json_dict(at->o.r, v, take_json, &inside, out);
}

static bool take_object(const json_operand *at, json_t *v, vm_value *out) {
  json_t *op = json_object_get(v, "op"), *of = json_object_get(v, "of");
  json_t *var = json_object_get(v, "var"), *real = json_object_get(v, "real");
  json_t *dict = json_object_get(v, "dict");
  if (json_object_size(v) == 2 && json_is_string(op) && of)
    return take_op(at, json_string_value(op), of, out);
  if (json_object_size(v) == 1 && json_is_string(var))
    return vm_reader_variable(at->o.r, json_string_value(var),
                              json_string_length(var), out);
  if (json_object_size(v) == 1 && json_is_string(real))
    return take_infinity(at, json_string_value(real), out);
  if (json_object_size(v) == 1 && json_is_object(dict))
    return take_dict(at, dict, out);
  if (at->o.sp->kind == SCH_KIND_VALUE)
    return vm_reader_fail(at->o.r, TESS_TYPE,
                          "%s: operand '%s' must be %s, not an object (a "
                          "dictionary is written {\"dict\": {..}})",
                          at->o.p->name, at->o.sp->name,
                          vm_kind_text(at->o.sp->kind));
  return vm_json_fail_value(&at->o, v);
}

static bool take_string(const json_operand *at, const json_t *v,
                        vm_value *out) {
  const char *s = json_string_value(v);
  size_t n = json_string_length(v);
  if (at->strings) {
    *out = vm_str(&at->o.r->pool, s, n);
    return true;
  }
  if (at->o.sp->kind == SCH_KIND_FACTORS && !strcmp(s, "auto")) {
    *out = vm_auto();
    return true;
  }
  return vm_reader_variable(at->o.r, s, n, out);
}

static bool take_json(const void *ud, const json_t *v, vm_value *out) {
  const json_operand *at = ud;
  switch (json_typeof(v)) {
  case JSON_TRUE:
  case JSON_FALSE: *out = vm_bool(json_is_true(v)); return true;
  case JSON_INTEGER: *out = vm_int(json_integer_value(v)); return true;
  case JSON_REAL: *out = vm_real(json_real_value(v)); return true;
  case JSON_STRING: return take_string(at, v, out);
  case JSON_ARRAY: return vm_json_list(at->o.r, v, 0, take_json, at, out);
  case JSON_OBJECT: return take_object(at, (json_t *)(uintptr_t)v, out);
  case JSON_NULL: break;
  }
  return vm_json_fail_value(&at->o, v);
}

static bool take_operand(vm_reader *r, const sch_prim *p, const char *name,
                         bool decision, const json_t *v) {
  uint32_t spec;
  if (!vm_reader_operand(r, p, name, &spec)) return false;
  const sch_spec *sp = &p->specs[spec];
  json_operand at = {{r, p, sp}, vm_holds_strings(sp->kind)};
  if (decision != (sp->role == SCH_ROLE_DECISION))
    return vm_reader_fail(r, TESS_PARSE, "%s has no operand '%s'", p->name,
                          name);
  return take_json(&at, v, &r->operand[spec]);
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
  const sch_spec *sp = vm_decision_spec(p);
  if (!v) return true;
  if (!sp)
    return vm_reader_fail(r, TESS_INVALID, "%s takes no decision", p->name);
  return take_operand(r, p, sp->name, true, v);
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
         vm_json_outputs(r, out);
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

static bool read_instructions(vm_reader *r, const json_t *v) {
  const json_t *list = json_object_get(v, "instructions");
  for (size_t i = 0; i < json_array_size(list); i++) {
    vm_reader_next(r);
    if (!take_inst(r, json_array_get(list, i))) return false;
  }
  return true;
}

tess_status vm_take_json(vm_trace *t, const json_t *v, vm_json_opts *o,
                         err_state *err) {
  vm_json_opts unused;
  err_clear(err);
  tess_status st = take_head(v, o ? o : &unused, err);
  return st != TESS_OK ? st : vm_json_read_trace(t, v, read_instructions, err);
}

tess_status vm_read_json(vm_trace *t, const char *text, size_t n,
                         vm_json_opts *o, err_state *err) {
  json_t *v = js_read(text, n, vm_json_limits, err);
  if (!v) return err->code;
  tess_status st = vm_take_json(t, v, o, err);
  json_decref(v);
  return st;
}
