/* SPDX-License-Identifier: Apache-2.0
 * State of the printer of OpenCL C, shared by the emit_*.c.
 *
 * Expressions are printed nested; a subexpression that is used several times,
 * or nests deep, gets a constant of its own (t1, t2, ...) before the
 * statement.  A side of a choice that loads is evaluated only when chosen.
 *
 * OpenCL has vectors of 2, 4, 8 and 16 lanes, so a vector statement is printed
 * in slices of these widths: `first` and `width` say which lanes of a vector
 * expression are printed.  In a slice of one lane it is a scalar.
 *
 * Values: a bool is 0 or 1, in vectors a char of 0 or -1, in memory a uchar;
 * float16 and bfloat16 are their bits (ushort), which conversions between them
 * and float interpret, so no device needs an extension for them. */
#ifndef BACKENDS_OPENCL_EMIT_H
#define BACKENDS_OPENCL_EMIT_H

#include "backends/opencl/opencl.h"
#include "base/map.h"
#include "ir/analysis/unconditional.h"

/* How tightly the outermost operator of a text binds. */
typedef enum ocl_prec {
  OCL_COND = 2,
  OCL_LOR,
  OCL_LAND,
  OCL_OR,
  OCL_XOR,
  OCL_AND,
  OCL_EQ,
  OCL_REL,
  OCL_SHIFT,
  OCL_ADD,
  OCL_MUL,
  OCL_UNARY,
  OCL_PRIMARY
} ocl_prec;

typedef struct ocl_text {
  const char *s;   /* in the arena; NULL: none */
  uint16_t prec;   /* ocl_prec */
  uint16_t depth;  /* of its nesting */
} ocl_text;

typedef struct ocl {
  ir_program *p;
  arena *scratch;
  const target *target;
  err_state *err;
  bool refused;
  strbuf body;           /* of the kernels */
  strbuf helpers;        /* functions that they call, printed before them */
  int indent;
  map names, has_helper; /* hashes of names in use; of helpers printed */
  const device_kernel *kernel;     /* NULL: none yet */
  char name[BACKEND_SYMBOL + 24];  /* its name */
  const char **var, **buf; /* names by ir_var and ir_buf, or NULL */
  uint8_t *vectors;      /* by ir_buf: lanes, of an array of vectors; 0: none */
  uint32_t *uses;        /* by ir_expr: in the current statement */
  ir_expr *counted;      /* those of them that are not 0 */
  uint32_t ncounted;
  ocl_text *value;       /* by ir_expr, at this place */
  ir_expr *trail;        /* those that have one, in order */
  uint32_t ntrail;
  uint32_t first, width; /* the slice */
  ocl_text mask;         /* active lanes of the slice; s NULL: all */
  ir_buf given_buf;      /* whose loads are this text; 0: none */
  ocl_text given;
  uint32_t temps, branches;
  bool has_double;
  ir_unconditional must;
} ocl;

/* Records the first thing that cannot be printed, after the kernel's name;
 * printing goes on. */
void ocl_refuse(ocl *m, tess_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- names and lines (emit_names.c) --------------------------------- */

const char *ocl_var(ocl *m, ir_var v);
const char *ocl_buf(ocl *m, ir_buf b);
/* A name for something else, not taken yet. */
const char *ocl_fresh(ocl *m, const char *want);
void ocl_forget_names(ocl *m);
/* A line at the current indentation. */
void ocl_line(ocl *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- texts (emit_text.c) -------------------------------------------- */

ocl_text ocl_text_of(ocl *m, ocl_prec prec, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The text as an operand that must bind at least so tightly. */
const char *ocl_in(ocl *m, ocl_text t, ocl_prec least);
/* a op b, left associative. */
ocl_text ocl_infix(ocl *m, ocl_text a, const char *op, ocl_text b,
                   ocl_prec prec);
/* The text as a constant's name, declared before the statement unless it is
 * one already. */
ocl_text ocl_bind(ocl *m, const char *type, ocl_text t);
/* Lane k of the slice, of a bound text. */
const char *ocl_lane(ocl *m, ocl_text t, uint32_t k);

/* ---- types (emit_type.c) -------------------------------------------- */

/* Is an expression of this type a vector in the current slice? */
static inline bool ocl_is_wide(const ocl *m, tess_dtype t) {
  return t.lanes > 1 && m->width > 1;
}
static inline tess_dtype ocl_scalar(tess_dtype t) {
  t.lanes = 1;
  return t;
}
/* Names of types: of a value in the current slice, of an element in memory,
 * of one with so many lanes. */
const char *ocl_type(ocl *m, tess_dtype t);
const char *ocl_memory_type(tess_dtype t);
const char *ocl_wide_type(ocl *m, const char *element, uint32_t width);
const char *ocl_value_type(tess_dtype t); /* of a scalar */
/* The signed integer of the same width: what comparisons of vectors give. */
const char *ocl_mask_type(tess_dtype t);
ocl_text ocl_int(ocl *m, tess_dtype t, int64_t v);   /* in all lanes */
ocl_text ocl_real(ocl *m, tess_dtype t, double v);
ocl_text ocl_splat(ocl *m, tess_dtype t, ocl_text scalar);

/* ---- helper functions (emit_helper.c) ------------------------------- */

/* Each prints the function where it was not yet, and gives its name. */
const char *ocl_helper_extreme(ocl *m, tess_dtype t, bool is_max);
const char *ocl_helper_divide(ocl *m, tess_dtype t, bool is_mod);
const char *ocl_helper_shift(ocl *m, tess_dtype t, bool left);
const char *ocl_helper_saturate(ocl *m, tess_dtype to, tess_dtype from);
/* Updates an element of 32 bits in global memory. */
const char *ocl_helper_atomic(ocl *m, tess_dtype t, ir_op op);
/* To and from float32, of float16 and bfloat16. */
const char *ocl_helper_half(ocl *m, tess_dtype t, bool to_float);
/* To float32, rounded to odd: so the second rounding gives what one would. */
const char *ocl_helper_odd(ocl *m, tess_dtype from);
/* f(operands) in each lane of the slice; the operands become bound. */
ocl_text ocl_per_lane(ocl *m, tess_dtype t, const char *f, uint32_t n,
                      const ocl_text *operand, const tess_dtype *type);

/* ---- expressions ---------------------------------------------------- */

/* Counts the uses in an expression of the statement that comes next. */
void ocl_count(ocl *m, ir_expr e);
/* Begins another statement: nothing has a value. */
void ocl_forget(ocl *m);
void ocl_slice(ocl *m, uint32_t first, uint32_t width);
/* The width of the slice of `lanes` lanes that begins at `first`. */
uint32_t ocl_slice_width(uint32_t lanes, uint32_t first);
ocl_text ocl_expr(ocl *m, ir_expr e);                       /* emit_expr.c */
uint32_t ocl_mark(const ocl *m);
void ocl_release(ocl *m, uint32_t mark);
ocl_text ocl_binary(ocl *m, ir_expr e);                     /* emit_arith.c */
ocl_text ocl_choice(ocl *m, ir_expr e);                     /* emit_choice.c */
ocl_text ocl_logic(ocl *m, ir_expr e);
ocl_text ocl_cast(ocl *m, tess_dtype to, ir_expr from, ocl_text v);
ocl_text ocl_call(ocl *m, ir_expr e);                       /* emit_call.c */
ocl_text ocl_load(ocl *m, ir_expr e);                       /* emit_memory.c */
void ocl_store(ocl *m, const ir_stmt_rec *r);
/* a & b, of masks of which either may be none. */
ocl_text ocl_both_masks(ocl *m, ocl_text a, ocl_text b);

/* ---- statements (emit_stmt.c) --------------------------------------- */

void ocl_kernel_body(ocl *m, const device_kernel *k);
/* Finds the private buffers of the kernel that are arrays of vectors
 * (emit_vectors.c). */
void ocl_find_vectors(ocl *m, const device_kernel *k);

#endif
