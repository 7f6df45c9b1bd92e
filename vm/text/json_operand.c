/* SPDX-License-Identifier: Apache-2.0
 * Shared by the JSON trace parsers (ours and TVM's): operand values, output
 * lists, and the protected parse of a whole trace. */
#include "vm/text/json_operand.h"

const js_limits vm_json_limits = {VM_TEXT_LIMIT, 2 * VM_MAX_DEPTH + 8};

bool vm_json_fail_value(const vm_json_operand *o, const json_t *v) {
  return vm_reader_fail(o->r, TESS_TYPE,
                        "%s: operand '%s' must be %s, not %s (%s)", o->p->name,
                        o->sp->name, vm_kind_text(o->sp->kind),
                        js_type_name(json_typeof(v)), o->sp->help);
}

/* Elements may add runs of their own to the pool: the slots come first. */
bool vm_json_list(vm_reader *r, const json_t *v, uint32_t from,
                  vm_json_take *take, const void *at, vm_value *out) {
  vm_trace *pool = &r->pool;
  uint32_t size = (uint32_t)json_array_size(v);
  uint32_t n = size > from ? size - from : 0;
  uint32_t slot = vec_extend(pool->heap, &pool->val, n);
  for (uint32_t i = 0; i < n; i++) {
    vm_value e;
    if (!take(at, json_array_get(v, from + i), &e)) return false;
    pool->val.v[slot + i] = e;
  }
  *out = vm_list_of(pool, slot, n);
  return true;
}

bool vm_json_dict(vm_reader *r, json_t *v, vm_json_take *take, const void *at,
                  vm_value *out) {
  vm_trace *pool = &r->pool;
  uint32_t n = (uint32_t)json_object_size(v);
  uint32_t slot = vec_extend(pool->heap, &pool->val, 2 * n), i = slot;
  const char *key;
  json_t *member;
  json_object_foreach (v, key, member) {
    vm_value name = vm_str(pool, key, strlen(key)), e;
    if (!take(at, member, &e)) return false;
    pool->val.v[i++] = name;
    pool->val.v[i++] = e;
  }
  *out = vm_dict_of(pool, slot, n);
  return true;
}

bool vm_json_outputs(vm_reader *r, const json_t *names) {
  for (uint32_t i = 0; i < json_array_size(names); i++) {
    const json_t *v = json_array_get(names, i);
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

/* ---- the whole ---------------------------------------------------------- */

typedef struct trace_parse {
  vm_reader r;
  const json_t *v;
  bool (*read)(vm_reader *r, const json_t *v);
} trace_parse;

static tess_status parse_trace(void *ud) {
  trace_parse *p = ud;
  vm_trace_reset(p->r.t);
  return p->read(&p->r, p->v) ? TESS_OK : p->r.err->code;
}

tess_status vm_json_read_trace(vm_trace *t, const json_t *v,
                               bool (*read)(vm_reader *r, const json_t *v),
                               err_state *err) {
  trace_parse p = {.v = v, .read = read};
  vm_reader_init(&p.r, t, err);
  tess_status st = mem_protect(t->heap, parse_trace, &p);
  vm_reader_free(&p.r);
  return vm_reader_finish(t, st, err);
}
