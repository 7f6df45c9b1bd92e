/* SPDX-License-Identifier: Apache-2.0
 * What the readers of both texts share: the trace as far as it was read,
 * the names of its variables, and the error. */
#ifndef VM_TEXT_READER_H
#define VM_TEXT_READER_H

#include "base/error.h"
#include "vm/exec.h"

enum {
  VM_TEXT_LIMIT = 64 << 20,      /* bytes of a text */
  VM_READER_NUMBERS = 1 << 20    /* variables are numbered below this */
};

typedef struct vm_reader {
  vm_trace *t;             /* what was read */
  vm_trace pool;           /* operands of the instruction being read */
  VEC(vm_rv) names;        /* number in a name -> variable; 0: none */
  err_state *err;
  strbuf text;             /* a sentence under construction */
  uint32_t line;           /* of the text, where there are lines; else 0 */
  uint32_t inst;           /* the instruction at work, from 1 */
  vm_value operand[VM_MAX_SPECS];
} vm_reader;

void vm_reader_init(vm_reader *r, vm_trace *t, err_state *err);
void vm_reader_free(vm_reader *r);

/* Names the instruction at work and the line in the error's place. */
bool vm_reader_fail(vm_reader *r, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* From here on the next instruction is at work, until its outputs are named. */
void vm_reader_next(vm_reader *r);
/* The primitive of that name, with no operand given yet; NULL: failed. */
const sch_prim *vm_reader_begin(vm_reader *r, const char *name);
/* Which spec an operand named so is; fails on an unknown one, on an output,
 * and on one given twice. */
bool vm_reader_operand(vm_reader *r, const sch_prim *p, const char *name,
                       uint32_t *spec);
/* "b0" or the like that stands for a variable already defined. */
bool vm_reader_variable(vm_reader *r, const char *name, size_t n,
                        vm_value *out);
bool vm_reader_number(vm_reader *r, uint32_t number, vm_value *out);
/* Reads the number out of such a name; false: it is none. */
bool vm_parse_rv_name(const char *name, size_t n, char *letter,
                      uint32_t *number);
/* Appends the instruction with nout outputs. */
bool vm_reader_end(vm_reader *r, const sch_prim *p, uint32_t nout,
                   const char *file, uint32_t line);
/* Output i of the last instruction is called so; letter 0: any. */
bool vm_reader_define(vm_reader *r, uint32_t i, char letter,
                      uint32_t number);
/* What the reader returns after `st`: names exhaustion in *err, leaves the
 * trace empty unless all went well. */
tess_status vm_reader_finish(vm_trace *t, tess_status st, err_state *err);

#endif
