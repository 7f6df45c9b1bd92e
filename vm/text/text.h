/* SPDX-License-Identifier: Apache-2.0
 * Trace texts: JSON, for databases, the wire protocol and tools; Lua, for
 * people.  Both round-trip.  Parsing runs no code and is safe on untrusted
 * input: a malformed text gives a one-line error with its place. */
#ifndef VM_TEXT_TEXT_H
#define VM_TEXT_TEXT_H

#include "base/error.h"
#include "base/json.h"
#include "vm/vm.h"

typedef struct vm_json_opts {
  bool places;             /* also the file and line of each instruction */
  bool has_program;
  uint64_t program;        /* the hash of the program it is for */
} vm_json_opts;

/* Is the operand kind textual?  Then a bare JSON string is a string, and a
 * variable is {"var": ..}. */
bool vm_holds_strings(uint32_t kind);
/* Writes the characters between the quotes of a JSON string. */
void vm_write_escaped(strbuf *out, const char *s, size_t n);
/* A string and a number as JSON; an infinity is {"real": "inf"}. */
void vm_write_string(strbuf *out, const char *s, size_t n);
void vm_write_real(strbuf *out, double x);
/* One instruction per line; `o` may be NULL. */
void vm_write_json(const vm_trace *t, const vm_json_opts *o, strbuf *out);
/* Into `t`, which is initialised and is left empty on a failure.  *o (may be
 * NULL) gets the header's other members. */
tess_status vm_read_json(vm_trace *t, const char *text, size_t n,
                         vm_json_opts *o, err_state *err);
/* The same from a parsed value, as a member of something larger. */
tess_status vm_take_json(vm_trace *t, const json_t *v, vm_json_opts *o,
                         err_state *err);

/* Lua that performs the trace when it runs with a schedule named `sch`. */
void vm_write_lua(const vm_trace *t, strbuf *out);
/* Only instruction k (from 0), without a newline. */
void vm_write_lua_inst(const vm_trace *t, uint32_t k, strbuf *out);
tess_status vm_read_lua(vm_trace *t, const char *text, size_t n,
                        err_state *err);

/* The trace as Lua to stderr, for calls from a debugger (dump.c). */
void vm_dump(const vm_trace *t);

#endif
