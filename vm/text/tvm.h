/* SPDX-License-Identifier: Apache-2.0
 * Traces in the JSON of TVM's tuning records (v0.18):
 *
 *   [instructions, decisions]
 *   instruction ::= [kind, inputs, attributes, outputs]
 *   decision    ::= [index of the instruction, from 0, decision]
 *
 * vm/tvm.def maps instructions to primitives and their fields to operands.  An
 * index map is a JSON text in a string: TVM's node graph. */
#ifndef VM_TEXT_TVM_H
#define VM_TEXT_TVM_H

#include "base/error.h"
#include "base/json.h"
#include "vm/text/map.h"
#include "vm/vm.h"

/* Writes what TVM v0.18 can express; anything else is TESS_UNSUPPORTED, by
 * name. */
tess_status vm_write_tvm(const vm_trace *t, strbuf *out, err_state *err);
/* Into `t`, which is initialised and is left empty on a failure. */
tess_status vm_read_tvm(vm_trace *t, const char *text, size_t n,
                        err_state *err);

/* ---- shared by reader and writer ---------------------------------------- */

typedef struct tvm_row {
  const char *kind;        /* TVM's name */
  const sch_prim *prim;
  const char *inputs, *attrs;
  bool later;              /* not in v0.18 */
} tvm_row;

/* NULL: there is none. */
const tvm_row *vm_tvm_find_kind(const char *kind);
const tvm_row *vm_tvm_find_prim(const sch_prim *p);

typedef enum tvm_form {
  TVM_PLAIN, TVM_REST, TVM_SIDE, TVM_KEY, TVM_FUNC, TVM_UNIFORM
} tvm_form;

/* The next field of a row's list, advancing *list; false at the end. */
typedef struct tvm_field { tvm_form form; uint32_t spec; } tvm_field;
bool vm_tvm_next_field(const char **list, const sch_prim *p, tvm_field *out);

/* TVM's prefix of annotation keys; does TVM have it on a key of ours? */
#define TVM_KEY_PREFIX "meta_schedule."
bool vm_tvm_has_prefix(const char *key);

/* Free variables of a map's graph: sampled integers, $1, $2, .. in our text, by
 * TVM's names ("v5"). */
typedef struct tvm_given { uint32_t n; char name[VM_MAP_MAX][16]; } tvm_given;

enum { TVM_MAX_TEXT = 1 << 16 }; /* of a map */

/* The text of a map (v: a text, or a list of it and its values) in which only
 * sampled integers remain as parameters, which *given names.  false: too many
 * of them, or the text is too long. */
bool vm_tvm_expand_map(const vm_trace *t, vm_value v, strbuf *out,
                       tvm_given *given);

/* Converts an index map's node graph to our text, or, where `number` is not
 * NULL and all results are one constant, to that: then *out is empty. */
bool vm_tvm_read_map(const json_t *graph, strbuf *out, vm_value *number,
                     tvm_given *given, err_state *err);
/* Converts a map (a text), or where `map` is NULL the map of nin indices to a
 * number, to a node graph; false: too large, or a name conflict with the map's
 * indices. */
bool vm_tvm_write_map(mem_heap *heap, const char *map, uint32_t nin,
                      vm_value number, const tvm_given *given, strbuf *out);
/* The number of results of a map's text with these sampled integers. */
uint32_t vm_tvm_count_results(mem_heap *heap, const char *map,
                              const tvm_given *given);

#endif
