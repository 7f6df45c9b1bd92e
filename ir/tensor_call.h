/* SPDX-License-Identifier: Apache-2.0
 * The implementation of a tensor intrinsic as one call, in text form:
 *
 *   call    ::= symbol "(" [operand {"," operand}] ")"       a C function
 *             | parameter ("=" | "+=") "llvm." .. "(" .. ")" LLVM's intrinsic
 *             | [view "="] "asm" "(" text "," text {"," operand} ")"
 *   operand ::= view | integer | "true" | "false"
 *             | "&" parameter | dtype "(" "&" parameter ")"
 *   view    ::= parameter | dtype "(" parameter ")"
 *   text    ::= characters but '"', between two of these
 *
 * A parameter is its name, or "%" and its number, which is the form in the
 * annotation IR_TENSOR_CALL of a block: parameter k is the k-th match buffer of
 * the block.
 *
 * A C function gets for each parameter the address of its first element, then
 * the stride of each dimension, in elements, as int64_t; an integer is an
 * int64_t.  LLVM's intrinsics get the whole of a parameter as one vector, or a
 * scalar if it has one element; `dtype(..)` bitcasts it to vectors of another
 * type, with the stated number of lanes if one value is broadcast.
 *
 * Inline assembly has LLVM's syntax: a template with $0, $1, .. and a list of
 * constraints, outputs first.  Each element of a parameter is a register of its
 * own, from the first to the last, and so is each value of `dtype` in its bits;
 * an integer is an i32, "&" the address of the first element in its address
 * space, an i64 unless `dtype` says how many of its lowest bits. */
#ifndef IR_TENSOR_CALL_H
#define IR_TENSOR_CALL_H

#include "ir/ir.h"

#define IR_TENSOR_CALL "tensor_call"

enum { IR_TENSOR_CALL_OPERANDS = 16, IR_TENSOR_CALL_PARAMS = 16 };
enum { IR_TENSOR_ASM_REGISTERS = 512 }; /* inputs, and as many outputs */

typedef enum ir_tensor_operand_kind {
  IR_TENSOR_PARAM,
  IR_TENSOR_INT,
  IR_TENSOR_BOOL,
  IR_TENSOR_ADDRESS
} ir_tensor_operand_kind;

typedef enum ir_tensor_call_kind {
  IR_TENSOR_C,
  IR_TENSOR_LLVM,
  IR_TENSOR_ASM
} ir_tensor_call_kind;

/* A part of the text that was parsed. */
typedef struct ir_tensor_text {
  const char *at;
  size_t n;
} ir_tensor_text;

typedef struct ir_tensor_operand {
  uint32_t kind; /* ir_tensor_operand_kind */
  uint32_t param;
  bool is_view; /* as vectors of `as` */
  tess_dtype as;
  int64_t value; /* INT, BOOL */
} ir_tensor_operand;

typedef struct ir_tensor_call {
  ir_tensor_call_kind kind;
  char symbol[160];
  bool has_result;                  /* LLVM; ASM may have none */
  ir_tensor_operand result;         /* the parameter that is assigned */
  bool adds;                        /* LLVM: or accumulated into */
  ir_tensor_text code, constraints; /* ASM; of the text that was parsed */
  uint32_t n;
  ir_tensor_operand operand[IR_TENSOR_CALL_OPERANDS];
} ir_tensor_call;

/* `name[i]` is the name of parameter i; NULL: only numbers are accepted. false:
 * *why is the syntax error. */
bool ir_tensor_call_parse(const char *text, uint32_t nparams,
                          const char *const *name, ir_tensor_call *out,
                          const char **why);
/* With parameters as numbers. */
void ir_tensor_call_print(const ir_tensor_call *c, strbuf *out);
/* Can the parameters, buffers of constant shape, be passed to the call?  They
 * are `n` of p, in order. */
bool ir_tensor_call_fits(const ir_program *p, const ir_tensor_call *c,
                         uint32_t n, const ir_buf *param, const char **why);
/* The lanes of an operand that is a view of `bits` bits; 0: not a multiple. */
uint32_t ir_tensor_view_lanes(tess_dtype as, uint64_t bits);
/* The registers that inline assembly gets for a parameter of `bits` bits whose
 * elements are `t`; 0: it cannot be divided so. */
uint32_t ir_tensor_registers(const ir_tensor_operand *o, tess_dtype t,
                             uint64_t bits);
/* Are the constraints of inline assembly those of so many outputs and inputs?
 */
bool ir_tensor_constraints_fit(const ir_tensor_call *c, uint32_t outputs,
                               uint32_t inputs, const char **why);

#endif
