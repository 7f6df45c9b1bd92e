/* SPDX-License-Identifier: Apache-2.0
 * The implementation of a tensor intrinsic as one call, in text form:
 *
 *   call    ::= symbol "(" [operand {"," operand}] ")"       a C function
 *             | parameter ("=" | "+=") "llvm." .. "(" .. ")" LLVM's intrinsic
 *   operand ::= parameter | dtype "(" parameter ")" | integer | "true"
 *             | "false"
 *
 * A parameter is its name, or "%" and its number, which is the form in the
 * annotation IR_TENSOR_CALL of a block: parameter k is the k-th match buffer of
 * the block.
 *
 * A C function gets for each parameter the address of its first element, then
 * the stride of each dimension, in elements, as int64_t; an integer is an
 * int64_t.  LLVM's intrinsics get the whole of a parameter as one vector, or a
 * scalar if it has one element; `dtype(..)` bitcasts it to vectors of another
 * type, with the stated number of lanes if one value is broadcast. */
#ifndef IR_TENSOR_CALL_H
#define IR_TENSOR_CALL_H

#include "ir/ir.h"

#define IR_TENSOR_CALL "tensor_call"

enum { IR_TENSOR_CALL_OPERANDS = 16, IR_TENSOR_CALL_PARAMS = 16 };

typedef enum ir_tensor_operand_kind {
  IR_TENSOR_PARAM, IR_TENSOR_INT, IR_TENSOR_BOOL
} ir_tensor_operand_kind;

typedef struct ir_tensor_operand {
  uint32_t kind;         /* ir_tensor_operand_kind */
  uint32_t param;
  bool is_view;          /* as vectors of `as` */
  tess_dtype as;
  int64_t value;         /* INT, BOOL */
} ir_tensor_operand;

typedef struct ir_tensor_call {
  bool is_llvm;
  char symbol[160];
  uint32_t result;       /* is_llvm: the parameter that is assigned */
  bool adds;             /* or accumulated into */
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

#endif
