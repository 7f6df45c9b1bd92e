/* SPDX-License-Identifier: Apache-2.0
 * Describing computations, and running them in the interpreter.  Included by
 * tessera.h, whose first page holds for this part, too. */
#ifndef TESSERA_DESCRIBE_H
#define TESSERA_DESCRIBE_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- describing a computation ------------------------------------------- */

/* Descriptions have limits, beyond which a call is LIMIT: 16 dimensions,
 * variables of a block, axes of a reduction and arguments of an external
 * function; 8 values of a reducer; 256 buffers that a block reads, and as many
 * that it writes; 2000 levels of an expression and 256 of statements; names of
 * 255 bytes; buffers of less than 2^60 elements. */

/* Handles inside one builder; 0 is none. */
typedef uint32_t tess_expr;
typedef uint32_t tess_var;
typedef uint32_t tess_buffer;

/* INOUT: what tess_program_param says of an input that the program changes; to
 * describe one, it is INPUT. */
typedef enum tess_role {
  TESS_ROLE_INPUT, TESS_ROLE_OUTPUT, TESS_ROLE_CONSTANT, TESS_ROLE_LAYOUT_FREE,
  TESS_ROLE_INOUT
} tess_role;

/* Describes programs; NOMEM, LIMIT. */
TESS_API tess_status tess_builder_new(tess_context *c,
                                      TESS_GIVE tess_builder **out);
TESS_API void tess_builder_free(TESS_TAKE tess_builder *b);

/* shape: ndim extents, of dtype int64, as all extents, starts and indices are
 * below: an integer of fewer bits is cast to it, of any other dtype is TYPE.
 * So is, here and below, a dtype that is not that of one number, as
 * tess_dtype_parse knows them. */
TESS_API tess_status tess_placeholder(tess_builder *b, const char *name,
    tess_dtype t, uint32_t ndim, const tess_expr *shape, tess_role role,
    tess_buffer *out);
/* What the caller promises of the integers in a placeholder: values are in
 * least .. below - 1; in row-major order each is at least the one before it
 * (sorted; one dimension); no two are equal (unique); or they are offsets of
 * the rows of `below - 1` elements, as in CSR: sorted, the first 0 and the last
 * below - 1. Schedules, compiled code and bounds rest on it: tess_interpret and
 * tess_tune refuse a tensor that breaks it, a kernel that is called with one
 * may access memory out of bounds. Equivalence checks and tuning draw within
 * it. */
typedef struct tess_contents {
  uint32_t struct_size;         /* sizeof(tess_contents) */
  int32_t has_range, sorted, unique;
  int32_t offsets;              /* sets sorted, needs has_range and least 0 */
  int64_t least, below;         /* where has_range */
} tess_contents;
/* To be called before the placeholder is read.  INVALID, naming it, for what is
 * no placeholder of role input, a contradiction (no value, fewer values than
 * elements where they are unique) or a buffer that was read; TYPE for a dtype
 * that is no integer. */
TESS_API tess_status tess_buffer_holds(tess_builder *b, tess_buffer buf,
                                       const tess_contents *contents);
/* A constant with its contents (copied), row-major. */
TESS_API tess_status tess_constant(tess_builder *b, const char *name,
    tess_dtype t, uint32_t ndim, const int64_t *shape, const void *data,
    tess_buffer *out);

/* Constants of a scalar type; TYPE when v does not fit it or it is of another
 * kind. */
TESS_API tess_status tess_int(tess_builder *b, tess_dtype t, int64_t v,
                              tess_expr *out);
TESS_API tess_status tess_real(tess_builder *b, tess_dtype t, double v,
                               tess_expr *out);
/* A literal: takes the other operand's type when combined. */
TESS_API tess_status tess_literal(tess_builder *b, double v, int is_int,
                                  tess_expr *out);
/* op: + - * / // % ^ min max == != < <= > >= and or; both operands of one
 * dtype (literals adapt).  `/` on integers is refused: use `//`. */
TESS_API tess_status tess_binary(tess_builder *b, const char *op, tess_expr x,
                                 tess_expr y, tess_expr *out);
/* fn: - not abs exp expm1 log log1p sqrt rsqrt sin cos tan asin acos atan sinh
 * cosh tanh asinh acosh atanh sigmoid erf erfc pow floor ceil round; of
 * integers bitnot shl shr bitand bitor bitxor.  A shift by other than
 * 0 .. bits - 1 gives 0, or -1 for a right shift of what is negative. */
TESS_API tess_status tess_call(tess_builder *b, const char *fn, uint32_t n,
                               const tess_expr *args, tess_expr *out);
/* A call of an external function of the host's, by name. */
TESS_API tess_status tess_call_extern(tess_builder *b, const char *name,
    tess_dtype t, uint32_t n, const tess_expr *args, tess_expr *out);
/* yes where cond (bool) holds, else no, both of one dtype; only the one that
 * is chosen is computed. */
TESS_API tess_status tess_select(tess_builder *b, tess_expr cond,
                                 tess_expr yes, tess_expr no, tess_expr *out);
/* x as a value of type t, of as many lanes. */
TESS_API tess_status tess_cast(tess_builder *b, tess_dtype t, tess_expr x,
                               tess_expr *out);
/* The bits of x, a number, as one of type t, of as many bits and lanes. */
TESS_API tess_status tess_bit_cast(tess_builder *b, tess_dtype t, tess_expr x,
                                   tess_expr *out);
/* An element of a buffer: n indices, one a dimension. */
TESS_API tess_status tess_load(tess_builder *b, tess_buffer buf, uint32_t n,
                               const tess_expr *idx, tess_expr *out);
/* A variable as an expression. */
TESS_API tess_status tess_var_ref(tess_builder *b, tess_var v,
                                  tess_expr *out);
/* Its type; and as text, for people (tess_text_free). */
TESS_API tess_status tess_expr_dtype(tess_builder *b, tess_expr e,
                                     tess_dtype *out);
TESS_API tess_status tess_expr_text(tess_builder *b, tess_expr e,
                                    TESS_GIVE char **out);
/* What a buffer is; *ndim gets the number of its extents, of which at most
 * `max` are written. */
TESS_API tess_status tess_buffer_info(tess_builder *b, tess_buffer buf,
    const char **name, tess_dtype *t, uint32_t max, tess_expr *shape,
    uint32_t *ndim);

/* An axis lo .. lo + extent - 1 to reduce over. */
TESS_API tess_status tess_reduce_axis(tess_builder *b, const char *name,
                                      tess_expr lo, tess_expr extent,
                                      tess_var *out);
/* A symbolic extent: an argument of the kernel. */
TESS_API tess_status tess_size_var(tess_builder *b, const char *name,
                                   tess_var *out);
/* reducer: "sum" "prod" "min" "max", or one of tess_reducer.  n sources give
 * n results, to be used only as the whole body of one compute.  Primitives
 * split a reduction into partial results where combine is found, by evaluating
 * it on sample values, to be associative with that identity, and permute it
 * where combine is found to be commutative, too. */
typedef struct tess_reducer_def {
  uint32_t struct_size;         /* sizeof(tess_reducer_def) */
  uint32_t n;
  const char *name;
  /* Fill result[n] from lhs[n], rhs[n]; non-zero: failed. */
  int (*combine)(void *ud, tess_builder *b, const tess_expr *lhs,
                 const tess_expr *rhs, tess_expr *result);
  const double *identity;       /* n; may be infinite: the type's extreme */
  void *ud;
} tess_reducer_def;
TESS_API tess_status tess_reduce(tess_builder *b, const char *reducer,
    uint32_t n, const tess_expr *sources, uint32_t naxes,
    const tess_var *axes, tess_expr *out);
TESS_API tess_status tess_reduce_with(tess_builder *b,
    const tess_reducer_def *r, uint32_t n, const tess_expr *sources,
    uint32_t naxes, const tess_var *axes, tess_expr *out);

/* Begin a compute of the given shape: makes one variable a dimension, named
 * by axis_names (NULL: i, j, k, ...); then end it with its n bodies (one a
 * buffer; several only for a tuple reduction), giving n buffers.  The block
 * and (n = 1) the buffer are named `name`; further ones name_v1, ... */
TESS_API tess_status tess_compute_begin(tess_builder *b, const char *name,
    uint32_t ndim, const tess_expr *shape, const char *const *axis_names,
    tess_var *vars);
TESS_API tess_status tess_compute_end(tess_builder *b, uint32_t n,
                                      const tess_expr *body,
                                      tess_buffer *out);
/* How many computes and statements are begun and not ended; and to end a
 * description that failed: drops the innermost of them, with all that is in
 * them, until at most `depth` are open. */
TESS_API uint32_t tess_builder_depth(const tess_builder *b);
TESS_API tess_status tess_builder_cancel(tess_builder *b, uint32_t depth);

/* Imperative blocks: statements are appended to the innermost one open. */
typedef enum tess_iter_kind {
  TESS_SPATIAL, TESS_REDUCE, TESS_OPAQUE
} tess_iter_kind;
/* A loop over lo .. lo + extent - 1; its variable in *out. */
TESS_API tess_status tess_loop_begin(tess_builder *b, const char *name,
    tess_expr lo, tess_expr extent, tess_var *out);
/* A block with n iteration variables: kind, domain [lo, lo + extent) and
 * value of each, none read from a buffer.  The values must be proven to lie
 * in the domains by bounds, by the predicate (0: none) and by the enclosing
 * loops and conditions; INVALID otherwise.  The read and write regions are
 * derived from the body. */
TESS_API tess_status tess_block_begin(tess_builder *b, const char *name,
    uint32_t n, const char *const *iter_names, const tess_iter_kind *kinds,
    const tess_expr *lo, const tess_expr *extent, const tess_expr *bind,
    tess_expr predicate, tess_var *vars);
/* The init of a block's reduction: statements that run before its first step.
 * Directly in a block, at most once. */
TESS_API tess_status tess_init_begin(tess_builder *b);
/* A conditional: what follows runs where cond (bool) holds; what comes between
 * else_begin and end runs where it does not. */
TESS_API tess_status tess_if_begin(tess_builder *b, tess_expr cond);
TESS_API tess_status tess_else_begin(tess_builder *b);
/* Binds a variable to a value in what follows, up to its tess_end. */
TESS_API tess_status tess_let_begin(tess_builder *b, const char *name,
                                    tess_expr value, tess_var *out);
TESS_API tess_status tess_end(tess_builder *b);  /* closes the innermost */
/* buf[idx] = value: n indices, one a dimension, and a value of its dtype. */
TESS_API tess_status tess_store(tess_builder *b, tess_buffer buf, uint32_t n,
                                const tess_expr *idx, tess_expr value);
/* An expression for its effects: a call of an external function.  A program
 * has what writes its buffers, and all effects of the section it is made in. */
TESS_API tess_status tess_evaluate(tess_builder *b, tess_expr e);
/* Of a builder that describes many programs: what of its description is in use.
 * All that these need stays, all else is forgotten, its memory free; in place
 * of each handle stands the new one, and all others are no longer valid.  The
 * statements of these sections stay, too.  Programs that were made are not
 * affected.  Nothing may be open. */
typedef struct tess_kept {
  uint32_t struct_size;        /* sizeof(tess_kept) */
  uint32_t nexprs, nbuffers, nvars, nsections;
  tess_expr *exprs;
  tess_buffer *buffers;
  tess_var *vars;
  const uint32_t *sections;
} tess_kept;
TESS_API tess_status tess_builder_trim(tess_builder *b, const tess_kept *kept);

/* What follows is of section n, any number (0 at the start), for builders
 * that describe several programs with effects.  Of a statement of the section
 * in which a program is made, if not 0, that the program leaves out since no
 * output needs it, a warning goes to the log. */
TESS_API tess_status tess_section(tess_builder *b, uint32_t n);
/* A buffer that imperative code fills: local to the function, or (role
 * OUTPUT, INPUT used in place) a parameter. */
TESS_API tess_status tess_buffer_new(tess_builder *b, const char *name,
    tess_dtype t, uint32_t ndim, const tess_expr *shape, const char *scope,
    tess_role role, int is_parameter, tess_buffer *out);

/* The program that computes the outputs from the inputs (what they need of
 * this builder's computes is collected).  The builder may be used on.  Blocks
 * of equal names, and what they write, are numbered in their order: C, C_1. */
TESS_API tess_status tess_program_new(tess_builder *b, const char *name,
    uint32_t nin, const tess_buffer *in, uint32_t nout,
    const tess_buffer *out, TESS_GIVE tess_program **p);
/* Several functions in one program: further's entry function joins `p`. */
TESS_API tess_status tess_program_add(tess_program *p,
                                      const tess_program *further);
/* A copy in which another of the functions is the one that is scheduled,
 * interpreted and built; of a new program that is the first one. */
TESS_API tess_status tess_program_work_on(tess_program *p, const char *func,
                                          TESS_GIVE tess_program **out);

TESS_API void tess_program_free(TESS_TAKE tess_program *p);
/* As the listing that the documentation describes (tess_text_free). */
TESS_API tess_status tess_program_text(tess_program *p, TESS_GIVE char **out);
/* What that wrote, read back: a program of the same hash.  PARSE, with line and
 * column, where it is no listing; INVALID where what it says is no program.
 * Constants of more than 64 elements are not in listings, so such ones cannot
 * be read. */
TESS_API tess_status tess_program_parse(tess_context *c, const char *text,
                                        TESS_GIVE tess_program **out);
/* The structural hash: it includes names of blocks and annotations, not names
 * of variables; the same on every machine; 0 when memory ran out. */
TESS_API uint64_t tess_program_hash(tess_program *p);
/* Operations of one run, on values and not on indices, floating-point or
 * integer; 0 when memory ran out, -1 where that depends on sizes that are known
 * only when the program is called, or on data that bounds a loop (as the rows
 * of a sparse matrix do). */
TESS_API int64_t tess_program_flops(tess_program *p);
/* Is it well-formed, without an access that must be out of bounds?  INVALID,
 * with the place, when it is not: what the library made is, unless a primitive
 * that is marked unsafe made it. */
TESS_API tess_status tess_program_verify(tess_program *p);
typedef struct tess_lower_options {
  uint32_t struct_size;         /* sizeof(tess_lower_options) */
  int32_t no_threads;           /* thread loops become serial ones */
  const char *after;            /* the last pass to run; NULL: the last one
                                 * after which buffers have their shapes */
  uint32_t vector_bytes;        /* of a vector register, as the target's field
                                 * "vector-bytes"; 0: 32 */
  int32_t keep_intrinsics;      /* leave exp, tanh, ... as calls, which both
                                 * domains of the interpreter agree on */
} tess_lower_options;
/* A copy after a prefix of the lowering passes (o NULL: all defaults).  By
 * default it shows what a device with threads runs: each nest of thread loops
 * is a kernel, one loop nest around the code of a thread, with barriers where
 * threads conflict; copies, pipelines and reductions across threads are
 * expanded.  The interpreter runs it after any pass; threads run in lockstep.
 * NOT_FOUND, with a list, where there is no such pass; UNSUPPORTED where a
 * pass refuses the program. */
TESS_API tess_status tess_program_lower(tess_program *p,
                                        const tess_lower_options *o,
                                        TESS_GIVE tess_program **out);
/* The passes in the order in which they run, from 0; NULL past the last.
 * Names and summaries are static. */
TESS_API uint32_t tess_lower_pass_count(void);
TESS_API const char *tess_lower_pass_name(uint32_t i);
TESS_API const char *tess_lower_pass_summary(uint32_t i);
/* Which pass bears the name, or TVM's for the same ("UnrollLoop"); the count
 * where none does. */
TESS_API uint32_t tess_lower_pass_find(const char *name);
/* Non-zero: structurally equal, up to the names of variables. */
TESS_API int tess_program_equal(tess_program *p, tess_program *q);
/* Of its entry function. */
TESS_API const char *tess_program_name(tess_program *p);
typedef struct tess_param {
  uint32_t struct_size;         /* sizeof(tess_param) */
  uint32_t ndim;
  const char *name;
  const int64_t *shape;         /* ndim extents; -1: symbolic */
  tess_dtype dtype;
  tess_role role;
  tess_contents contents;       /* all 0: nothing was promised */
} tess_param;
/* Parameters of the entry function, in the order in which kernels take their
 * tensors; i counts from 0, NOT_FOUND past the last.  Name and shape live as
 * long as the program. */
TESS_API uint32_t tess_program_nparams(tess_program *p);
TESS_API tess_status tess_program_param(tess_program *p, uint32_t i,
                                        tess_param *out);
/* The extents of parameter i in a call with these n tensors, one a parameter,
 * of which those that are not there yet, i itself among them, are NULL: what a
 * host makes an output of.  `shape` has room for the parameter's ndim.
 * UNSUPPORTED where an extent does not follow from the tensors; TYPE, INVALID
 * and LIMIT as of tess_kernel_run; NOT_FOUND past the last parameter. */
TESS_API tess_status tess_program_shape(tess_program *p, uint32_t i,
    uint32_t n, tess_tensor *const *args, int64_t *shape);
/* Bytes and back, checked when read. */
TESS_API tess_status tess_program_save(tess_program *p, const char *path);
TESS_API tess_status tess_program_load(tess_context *c, const char *path,
                                       TESS_GIVE tess_program **out);

/* ---- the interpreter ---------------------------------------------------- */

/* Interprets the program on tensors in native arithmetic; races, reads of
 * uninitialized elements and accesses out of bounds are errors. */
TESS_API tess_status tess_interpret(tess_program *p, uint32_t n,
                                    tess_tensor *const *args);
/* Declares a tensor intrinsic, which schedules of this context can then name
 * in `tensorize`: its description and its implementation, two programs with
 * the same parameters, which are checked to be equivalent (else the errors of
 * tess_equivalent).  Declaring the same one again is allowed; another one of
 * that name is TESS_INVALID, unless `override` is set: it then replaces the
 * old one, except in programs whose schedules have used that. */
TESS_API tess_status tess_tensor_intrin(tess_context *c, const char *name,
                                        tess_program *desc,
                                        tess_program *impl, int override);
/* Declares one that is done by one call: "name(A, B, C)" of a C function,
 * which gets for each parameter the address of its first element and the
 * stride of each dimension, in elements, as int64_t; or of one of LLVM's
 * intrinsics, "C = llvm.fma.v16f32(A, B, C)", "C += ..", which gets each
 * parameter whole, as a vector; `int32x16(A)` is its bits as another type, in
 * all lanes where it is one value.  They may be nested, and added up
 * ("C = llvm.x(A) + llvm.y(llvm.z(B))"); one that stores itself gets
 * `address(C)` and strides, `bytes(C, 0)`.  Compiled code makes the call, and
 * the interpreter runs the description. */
TESS_API tess_status tess_tensor_intrin_call(tess_context *c, const char *name,
                                             tess_program *desc,
                                             const char *call, int override);
/* TESS_OK when both compute the same on inputs drawn from seed, interpreted in
 * the residue domain (integers modulo a product of primes in place of floats,
 * so that sums and products are exact, and e^(x + y) is e^x e^y);
 * TESS_MISMATCH with the place where not, or
 * where q reads uninitialized elements (where p does, it is TESS_UNWRITTEN).
 * TESS_INVALID where their
 * parameters cannot be compared: other numbers, roles, types or shapes of
 * them, or a size that is known only when the program is called. */
TESS_API tess_status tess_equivalent(tess_program *p, tess_program *q,
                                     uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
