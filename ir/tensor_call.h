/* SPDX-License-Identifier: Apache-2.0
 * How a tensor intrinsic is done by one call, as a text:
 *
 *   call    ::= symbol "(" [operand {"," operand}] ")"       a C function
 *             | parameter ("=" | "+=") "llvm." .. "(" .. ")" LLVM's intrinsic
 *   operand ::= parameter | dtype "(" parameter ")" | integer | "true"
 *             | "false"
 *
 * A parameter is its name, or its number behind a "%", which is how the text
 * stands in the annotation IR_TENSOR_CALL of a block: parameter k is the k-th
 * match buffer of the block.
 *
 * A C function gets for each parameter the address of its first element, and
 * then the stride of each dimension, in elements, as int64_t; an integer is
 * an int64_t.  LLVM's intrinsics get the whole of a parameter as one vector,
 * or scalar where it is one element; `dtype(..)` is the same bits as vectors
 * of another type, of as many lanes as it says where that is one value for
 * all lanes.
 */
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
  uint32_t result;       /* is_llvm: the parameter that is set, */
  bool adds;             /* or added to */
  uint32_t n;
  ir_tensor_operand operand[IR_TENSOR_CALL_OPERANDS];
} ir_tensor_call;

/* `name[i]` is what parameter i is called; NULL: only numbers are known.
 * false: *why says what the text is not. */
bool ir_tensor_call_parse(const char *text, uint32_t nparams,
                          const char *const *name, ir_tensor_call *out,
                          const char **why);
/* With numbers. */
void ir_tensor_call_print(const ir_tensor_call *c, strbuf *out);
/* Do the parameters, buffers of constant shape, fit the call?  They are `n`
 * of p, in order. */
bool ir_tensor_call_fits(const ir_program *p, const ir_tensor_call *c,
                         uint32_t n, const ir_buf *param, const char **why);
/* The lanes of an operand that is a view of `bits` bits; 0: it cannot be. */
uint32_t ir_tensor_view_lanes(tess_dtype as, uint64_t bits);

#endif
