/* SPDX-License-Identifier: Apache-2.0
 * The implementation of a tensor intrinsic as one call, in text form:
 *
 *   call      ::= symbol "(" [value {"," value}] ")"         a C function
 *               | parameter ("=" | "+=") sum                 LLVM's intrinsics
 *               | intrinsic                                  one that stores
 *               | [register "="] assembly
 *   assembly  ::= "asm" "(" text "," text {"," value} ")"
 *   register  ::= parameter | dtype "(" parameter ")"
 *   text      ::= characters but '"', between two of these
 *   intrinsic ::= "llvm." .. "(" [value {"," value}] ")"
 *   value     ::= parameter | integer | "true" | "false" | intrinsic
 *               | dtype "(" value ")" | "address" "(" parameter ")"
 *               | "bytes" "(" parameter "," integer ")"
 *               | "(" sum ")"
 *   sum       ::= value {("+" | "-") value}
 *
 * A parameter is its name, or "%" and its number, which is the form in the
 * annotation IR_TENSOR_CALL of a block: parameter k is the k-th match buffer of
 * the block.
 *
 * A C function gets for each parameter the address of its first element, then
 * the stride of each dimension, in elements, as int64_t; an integer is an
 * int64_t.  LLVM's intrinsics get the whole of a parameter as one vector, or a
 * scalar if it has one element, and an integer as an i32; `address(..)` is a
 * pointer to a parameter's first element and `bytes(.., d)` the stride of its
 * dimension d, in bytes, as an i64.  `dtype(..)` bitcasts a value to vectors of
 * another type, with the stated number of lanes if one value is broadcast; of
 * an integer it is that integer in the type, and of an intrinsic that is
 * overloaded the type of its result.
 *
 * Inline assembly has LLVM's syntax: a template with $0, $1, .. and a list of
 * constraints, outputs first.  Each element of a parameter is a register of its
 * own, from the first to the last, and so is each value of `dtype(..)` in its
 * bits; an address is an i64 in its address space, or the lowest bits of that
 * which `dtype(address(..))` has. */
#ifndef IR_TENSOR_CALL_H
#define IR_TENSOR_CALL_H

#include "ir/ir.h"

#define IR_TENSOR_CALL "tensor_call"

enum {
  IR_TENSOR_CALL_OPERANDS = 16, /* of one function */
  IR_TENSOR_CALL_PARAMS = 16,
  IR_TENSOR_CALL_NODES = 256,
  IR_TENSOR_CALL_TEXT = 8192, /* names of functions, altogether; assembly */
  IR_TENSOR_REGISTERS = 512,  /* inputs of assembly, and as many outputs */
  IR_TENSOR_NO_RESULT = UINT32_MAX
};

typedef enum ir_tensor_kind {
  IR_TENSOR_PARAM,
  IR_TENSOR_INT,
  IR_TENSOR_BOOL,
  IR_TENSOR_ADDRESS,
  IR_TENSOR_BYTES,
  IR_TENSOR_VIEW,
  IR_TENSOR_CALLED,
  IR_TENSOR_SUM,
  IR_TENSOR_ASM
} ir_tensor_kind;

/* A value; its operands are linked by `next` (0: the last). */
typedef struct ir_tensor_node {
  uint32_t kind;        /* ir_tensor_kind */
  uint32_t param;       /* PARAM, ADDRESS, BYTES */
  tess_dtype as;        /* VIEW */
  int64_t value;        /* INT, BOOL; BYTES: the dimension */
  uint32_t symbol;      /* CALLED, ASM: the name, the template: in `text` */
  uint32_t constraints; /* ASM: in `text` */
  uint32_t first, next; /* VIEW, CALLED, SUM, ASM: the first operand */
  bool minus;           /* as an operand of SUM, it is subtracted */
} ir_tensor_node;

typedef struct ir_tensor_call {
  bool is_llvm;         /* or assembly, then the root is ASM; else C */
  uint32_t result;      /* the parameter assigned; or IR_TENSOR_NO_RESULT */
  tess_dtype result_as; /* ASM: in registers of this type; no bits: as is */
  bool adds;            /* or accumulated into */
  uint32_t root;        /* CALLED, or SUM of several values */
  uint32_t n, used;
  ir_tensor_node node[IR_TENSOR_CALL_NODES]; /* from 1 on */
  char text[IR_TENSOR_CALL_TEXT];
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
/* Is it inline assembly? */
static inline bool ir_tensor_call_is_asm(const ir_tensor_call *c) {
  return c->node[c->root].kind == IR_TENSOR_ASM;
}
/* The registers that assembly gets for a parameter of `bits` bits and elements
 * t, or puts it into, in registers of type `as` (no bits: as it is); 0: it
 * cannot be divided so. */
uint32_t ir_tensor_registers(tess_dtype as, tess_dtype t, uint64_t bits);
/* Are the constraints of assembly those of so many outputs and inputs? */
bool ir_tensor_constraints_fit(const ir_tensor_call *c, uint32_t outputs,
                               uint32_t inputs, const char **why);
/* Is node k what a view is of? */
bool ir_tensor_call_views(const ir_tensor_call *c, uint32_t k);
/* Does the call get the address of the parameter? */
bool ir_tensor_call_addresses(const ir_tensor_call *c, uint32_t param);
/* The lanes of a view of `bits` bits; 0: not a multiple. */
uint32_t ir_tensor_view_lanes(tess_dtype as, uint64_t bits);

#endif
