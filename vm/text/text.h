/* SPDX-License-Identifier: Apache-2.0
 * Traces as text: JSON, for databases, the wire and tools; Lua, for people.
 * Both read back to an equal trace.  Reading runs no code and trusts
 * nothing: a text that is not a trace gives one line that says where. */
#ifndef VM_TEXT_TEXT_H
#define VM_TEXT_TEXT_H

#include "base/error.h"
#include "base/json.h"
#include "vm/vm.h"

typedef struct vm_json_opts {
  bool places;             /* also who made each instruction */
  bool has_program;
  uint64_t program;        /* the hash of the program it is for */
} vm_json_opts;

/* Kinds whose operands are or hold text, so that in JSON a bare string is
 * one, and a variable {"var": ..}. */
bool vm_holds_strings(uint32_t kind);
/* What stands between the marks of a JSON string. */
void vm_write_escaped(strbuf *out, const char *s, size_t n);
/* A string and a number as JSON; an infinity is {"real": "inf"}. */
void vm_write_string(strbuf *out, const char *s, size_t n);
void vm_write_real(strbuf *out, double x);
/* One instruction a line; `o` may be NULL. */
void vm_write_json(const vm_trace *t, const vm_json_opts *o, strbuf *out);
/* Into `t`, which is initialised and is left empty on a failure.  *o (may
 * be NULL) tells what else the text held. */
tess_status vm_read_json(vm_trace *t, const char *text, size_t n,
                         vm_json_opts *o, err_state *err);
/* The same for a parsed one, as a member of something larger. */
tess_status vm_take_json(vm_trace *t, const json_t *v, vm_json_opts *o,
                         err_state *err);

/* Lua that performs the trace when it runs with a schedule named `sch`. */
void vm_write_lua(const vm_trace *t, strbuf *out);
/* Instruction k (from 0) alone, without a new line. */
void vm_write_lua_inst(const vm_trace *t, uint32_t k, strbuf *out);
tess_status vm_read_lua(vm_trace *t, const char *text, size_t n,
                        err_state *err);

#endif
