/* SPDX-License-Identifier: Apache-2.0
 * Traces in the JSON of TVM's tuning records (v0.18):
 *
 *   [instructions, decisions]
 *   instruction ::= [kind, inputs, attributes, outputs]
 *   decision    ::= [instruction, counted from 0, what was chosen]
 *
 * vm/tvm.def says which instruction is which primitive, and which operand
 * stands where.  An index map is a text in the text: TVM's graph of nodes. */
#ifndef VM_TEXT_TVM_H
#define VM_TEXT_TVM_H

#include "base/error.h"
#include "base/json.h"
#include "vm/text/map.h"
#include "vm/vm.h"

/* Writes what TVM v0.18 can express; what it cannot is TESS_UNSUPPORTED,
 * named. */
tess_status vm_write_tvm(const vm_trace *t, strbuf *out, err_state *err);
/* Into `t`, which is initialised and is left empty on a failure. */
tess_status vm_read_tvm(vm_trace *t, const char *text, size_t n,
                        err_state *err);

/* ---- shared by the two -------------------------------------------------- */

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

/* The next operand of a row's list, which *list is moved behind; false at
 * the end. */
typedef struct tvm_field { tvm_form form; uint32_t spec; } tvm_field;
bool vm_tvm_next_field(const char **list, const sch_prim *p, tvm_field *out);

/* TVM's prefix of annotation keys, and whether a key of ours has it there. */
#define TVM_KEY_PREFIX "meta_schedule."
bool vm_tvm_has_prefix(const char *key);

/* Variables of a map's graph that are none of its indices: sampled integers,
 * $1, $2, .. of our text, by TVM's names ("v5"). */
typedef struct tvm_given { uint32_t n; char name[VM_MAP_MAX][16]; } tvm_given;

enum { TVM_MAX_TEXT = 1 << 16 }; /* of a map */

/* The text of a map (v: a text, or a list of it and what is given) in which
 * only sampled integers are left to give, which *given names.  false: they
 * are too many, or it is too long. */
bool vm_tvm_expand_map(const vm_trace *t, vm_value v, strbuf *out,
                       tvm_given *given);

/* The index map in a node graph as our text, or the number that all its
 * results are, where `number` is not NULL: then *out is empty. */
bool vm_tvm_read_map(const json_t *graph, strbuf *out, vm_value *number,
                     tvm_given *given, err_state *err);
/* The node graph of a map (a text), or of the map of nin indices to a number
 * where `map` is NULL; false: it is too large, or a name of the map's indices
 * is in the way. */
bool vm_tvm_write_map(mem_heap *heap, const char *map, uint32_t nin,
                      vm_value number, const tvm_given *given, strbuf *out);
/* How many results the text of a map with these sampled integers has. */
uint32_t vm_tvm_count_results(mem_heap *heap, const char *map,
                              const tvm_given *given);

#endif
