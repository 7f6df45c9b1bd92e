/* SPDX-License-Identifier: Apache-2.0
 * Shared state of the trace parsers: the trace parsed so far, variables by
 * name, the current instruction, and the error. */
#ifndef VM_TEXT_READER_H
#define VM_TEXT_READER_H

#include "base/error.h"
#include "vm/exec.h"

enum {
  VM_TEXT_LIMIT = 64 << 20,      /* bytes of a text */
  VM_READER_NUMBERS = 1 << 20    /* variables are numbered below this */
};

typedef struct vm_reader {
  vm_trace *t;             /* the result */
  vm_trace pool;           /* operands of the instruction being read */
  VEC(vm_rv) names;        /* number in a name -> variable; 0: none */
  err_state *err;
  strbuf text;             /* scratch for messages */
  uint32_t line;           /* of the text, where there are lines; else 0 */
  uint32_t inst;           /* the current instruction, from 1 */
  vm_value operand[VM_MAX_SPECS];
} vm_reader;

void vm_reader_init(vm_reader *r, vm_trace *t, err_state *err);
void vm_reader_free(vm_reader *r);

/* Fails with the current instruction and line as the error's place. */
bool vm_reader_fail(vm_reader *r, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* Starts the next instruction. */
void vm_reader_next(vm_reader *r);
/* Looks up the primitive and clears its operands; NULL: failed. */
const sch_prim *vm_reader_begin(vm_reader *r, const char *name);
/* The names of the operands that a primitive takes, "loop, factors", as far as
 * there is room; "none". */
void vm_operand_names(const sch_prim *p, char *out, size_t size);
/* The spec of an operand by name; fails on unknown names, outputs, and operands
 * given twice. */
bool vm_reader_operand(vm_reader *r, const sch_prim *p, const char *name,
                       uint32_t *spec);
/* Looks up a variable by its name ("b0"). */
bool vm_reader_variable(vm_reader *r, const char *name, size_t n,
                        vm_value *out);
bool vm_reader_number(vm_reader *r, uint32_t number, vm_value *out);
/* Splits a variable's name into letter and number; false: not a name. */
bool vm_parse_rv_name(const char *name, size_t n, char *letter,
                      uint32_t *number);
/* Appends the instruction with nout outputs. */
bool vm_reader_end(vm_reader *r, const sch_prim *p, uint32_t nout,
                   const char *file, uint32_t line);
/* Names output i of the last instruction; letter 0: any. */
bool vm_reader_define(vm_reader *r, uint32_t i, char letter,
                      uint32_t number);
/* The status to return after `st`: reports exhaustion in *err, and leaves the
 * trace empty on a failure. */
tess_status vm_reader_finish(vm_trace *t, tess_status st, err_state *err);

#endif
