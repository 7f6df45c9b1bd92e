/* SPDX-License-Identifier: Apache-2.0
 * Shared by the JSON trace parsers (ours and TVM's): operand values, output
 * lists, and the protected parse of a whole trace. */
#ifndef VM_TEXT_JSON_OPERAND_H
#define VM_TEXT_JSON_OPERAND_H

#include "base/json.h"
#include "vm/text/reader.h"

/* Deep enough for the deepest value: its objects take two levels each. */
extern const js_limits vm_json_limits;

/* The operand being read. */
typedef struct vm_json_operand {
  vm_reader *r;
  const sch_prim *p;
  const sch_spec *sp;
} vm_json_operand;

/* Reads one JSON value into *out; at: the reader's own context. */
typedef bool vm_json_take(const void *at, const json_t *v, vm_value *out);

/* TYPE: the operand's kind is not that of the value; false. */
bool vm_json_fail_value(const vm_json_operand *o, const json_t *v);
/* The elements from `from` on, as a VM_LIST in the reader's pool. */
bool vm_json_list(vm_reader *r, const json_t *v, uint32_t from,
                  vm_json_take *take, const void *at, vm_value *out);
/* The members of an object, as a VM_DICT. */
bool vm_json_dict(vm_reader *r, json_t *v, vm_json_take *take, const void *at,
                  vm_value *out);
/* Names the outputs of the last instruction: an array of "b0", "l1", ... */
bool vm_json_outputs(vm_reader *r, const json_t *names);

/* Runs read(r, v) with a reader of `t`, memory exhaustion caught.  On a
 * failure *err says why and `t` is left empty. */
tess_status vm_json_read_trace(vm_trace *t, const json_t *v,
                               bool (*read)(vm_reader *r, const json_t *v),
                               err_state *err);

#endif
