/* SPDX-License-Identifier: Apache-2.0
 * Tessera: probabilistic tensor-program scheduling.  The public C API.
 *
 * Objects are opaque and hang from a tess_context; each is released with its
 * own tess_X_free (NULL is fine), in any order: an object keeps alive what it
 * needs.  One thread at a time may use a context and what hangs from it; two
 * contexts may be used by two threads at once.  tess_stop() alone may be
 * called from anywhere.
 *
 * Functions that can fail return a tess_status; on failure the context's
 * last error (tess_error) has the message, and where there is one the place.
 * A refused schedule step is an ordinary TESS_REFUSED.  A failing call leaves
 * its object as it was.  What it would have given (TESS_GIVE, and the handles
 * of a builder) is NULL, or 0, then; other outputs it does not set, except
 * where said otherwise.
 *
 * Pointers must not be NULL where nothing says that they may be, but for
 * lists of no elements.  The functions that describe computations answer
 * INVALID to NULL, and all do to one in a list or struct of the host's; else
 * they do not look.
 *
 * Pointers given in are borrowed for the call (KEEP) unless marked TESS_TAKE;
 * objects given out (TESS_GIVE) belong to the caller.  A const char * that is
 * returned lives as long as its object and until the next call on it.
 *
 * How structs grow.  A struct that a host fills in, or has filled in, begins
 * with struct_size, where the host writes sizeof of it (TESS_INIT does).  New
 * members go to its end, never into padding, so each version of a struct is a
 * prefix of the next, and the size says which members the host knows: of an
 * argument those after them have their defaults, of a result they are not
 * written.  A host that was compiled against a newer header may call an older
 * library: that looks at the members it knows, and sets the rest of a result
 * to 0.  A size that no version of the struct can have is TESS_INVALID.  In an
 * array all elements have the size of the first.  Structs that the library
 * makes (tess_error_info, tess_progress) carry its own size.
 *
 * Structs without struct_size never change: tess_dtype, tess_value, tess_arg,
 * tess_candidate, tess_decision, tess_origin and tess_quality, which are array
 * elements or passed by value, and tess_allocator, a function and its user
 * data.
 *
 * Data is counted from 0 (sketches, rows, parameters, bits of a mask), but for
 * the instructions of a trace, which are counted from 1, as in Lua.  Texts for
 * people, messages and funnels among them, count from 1, and say so where a
 * host might have given the number.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <tessera/kernel.h>
#include <tessera/types.h>
#include <tessera/option.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESS_VERSION_MAJOR 0
#define TESS_VERSION_MINOR 1
#define TESS_VERSION_PATCH 0

/* ---- context ------------------------------------------------------------ */

enum { TESS_LOG_ERROR, TESS_LOG_WARN, TESS_LOG_INFO, TESS_LOG_DEBUG };

typedef struct tess_options {
  uint32_t struct_size;         /* sizeof(tess_options) */
  const tess_allocator *allocator;  /* NULL: malloc and free */
  size_t memory_cap;            /* bytes of this context; 0: none.  What
                                 * would go over it is TESS_LIMIT */
  /* Receives diagnostics that are not errors, one line each, without the
   * newline; must not use the context.  NULL: silent. */
  void (*log)(void *ud, int level, const char *text);
  void *log_ud;
  int32_t in_process;           /* compile and run without worker processes */
  /* The executable tessera-worker.  NULL: what the environment variable
   * TESSERA_WORKER names, else ../libexec from the shared library, or from
   * the program that holds the static one, else the configured libexec.  A
   * worker that is missing is found when the first one is wanted: TESS_INFRA,
   * and the message names the paths that were tried. */
  const char *worker_path;
} tess_options;

/* NULL options: the defaults.  Fails with TESS_NOMEM, with TESS_LIMIT when
 * memory_cap has no room for a context, or with TESS_INVALID when struct_size
 * is no size of a tess_options or the allocator has no function (and *out
 * NULL). */
TESS_API tess_status tess_context_new(const tess_options *o,
                                      TESS_GIVE tess_context **out);
/* Everything that hangs from it must have been freed before. */
TESS_API void tess_context_free(TESS_TAKE tess_context *c);

typedef struct tess_error_info {
  uint32_t struct_size;         /* of this library */
  tess_status code;
  const char *message;          /* one line */
  const char *place;            /* "" when there is none */
  const char *primitive;        /* "" unless a schedule step failed */
  const char *reason;           /* "NOT_ONLY_CHILD", "" */
  uint64_t serial;              /* counts the failures of this context */
  const char *detail;           /* several lines: the program with the place
                                 * marked; made when read, "" when none */
} tess_error_info;
/* The last failure in this context; valid until its next call. */
TESS_API const tess_error_info *tess_error(tess_context *c);
/* In words ("out of memory") and by name ("NOMEM"); static. */
TESS_API const char *tess_status_text(tess_status s);
TESS_API const char *tess_status_name(tess_status s);
/* Replaces what the file holds by n bytes, at once, as all that the engine
 * writes: they are written beside it, and renamed over it when they are
 * complete.  INVALID for a database, whose records would be lost; IO. */
TESS_API tess_status tess_file_write(tess_context *c, const char *path,
                                     const void *data, size_t n);
/* Whether two paths lead to one file that is there: 1 or 0. */
TESS_API int tess_file_same(const char *a, const char *b);
/* "0.1.0"; and what was built in, with versions; static. */
TESS_API const char *tess_version(void);
TESS_API const char *tess_build_info(void);  /* LLVM, jansson, SQLite, ... */
/* "float32" and so on to a dtype and back; false (0) when unknown. */
TESS_API int tess_dtype_parse(const char *text, tess_dtype *out);
TESS_API void tess_dtype_text(tess_dtype t, char out[32]);
/* Whether v is a value of t: within its range, for integers without a
 * fraction; a float is rounded, but what is finite does not become infinite.
 * (Of an integer v, one of uint64 is its 64 bits.) */
TESS_API int tess_dtype_holds(tess_dtype t, double v);
TESS_API int tess_dtype_holds_int(tess_dtype t, int64_t v);

/* Text handed to the caller; free with tess_text_free. */
TESS_API void tess_text_free(tess_context *c, TESS_TAKE char *text);

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
/* An external function of the host's, by name (for tests and extension). */
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
/* Bytes and back, checked when read. */
TESS_API tess_status tess_program_save(tess_program *p, const char *path);
TESS_API tess_status tess_program_load(tess_context *c, const char *path,
                                       TESS_GIVE tess_program **out);

/* ---- schedules ---------------------------------------------------------- */

typedef uint32_t tess_rv;       /* a random variable of one schedule; 0: none */

typedef enum tess_value_kind {
  TESS_V_NIL, TESS_V_BOOL, TESS_V_INT, TESS_V_REAL, TESS_V_STR, TESS_V_RV,
  TESS_V_AUTO, TESS_V_LIST, TESS_V_DICT, TESS_V_OP,
  TESS_V_INTS, TESS_V_REALS, TESS_V_RVS
} tess_value_kind;
/* An operand.  Lists point to n elements of the caller's (DICT: alternating
 * keys and values; OP: s names the operator, list its two operands).  INTS,
 * REALS and RVS are lists whose n elements, int64_t, double or tess_rv, s
 * points to; only arguments are such. */
typedef struct tess_value {
  int32_t kind;
  uint32_t n;
  int64_t i;                    /* BOOL, INT */
  double f;                     /* REAL */
  const char *s;                /* STR, OP */
  tess_rv rv;                   /* RV */
  const struct tess_value *list;/* LIST, DICT, OP */
} tess_value;
typedef struct tess_arg { const char *name; tess_value value; } tess_arg;

typedef enum tess_rv_kind {
  TESS_RV_NONE, TESS_RV_BLOCK, TESS_RV_LOOP, TESS_RV_INT
} tess_rv_kind;

/* A schedule of the program's entry function, which it does not change; the
 * target, which may be NULL, has the facts that modules ask for, and `seed`
 * determines what is sampled.  NOMEM, LIMIT. */
TESS_API tess_status tess_schedule_new(tess_program *p, tess_target *target,
                                       uint64_t seed,
                                       TESS_GIVE tess_schedule **out);
TESS_API void tess_schedule_free(TESS_TAKE tess_schedule *s);
/* An independent copy, with the same random variables. */
TESS_API tess_status tess_schedule_copy(tess_schedule *s,
                                        TESS_GIVE tess_schedule **out);
/* Where the next instructions come from, for traces and errors. */
TESS_API void tess_schedule_place(tess_schedule *s, const char *file,
                                  uint32_t line);
/* Perform and record one primitive, operands by name.  *nout gets the number
 * of outputs, of which at most `max` are written to out: they are numbered
 * consecutively, so that the first determines all.  With list_out not NULL,
 * *list_out says whether they are one list. */
TESS_API tess_status tess_schedule_call(tess_schedule *s, const char *prim,
    uint32_t nargs, const tess_arg *args, uint32_t max, tess_rv *out,
    uint32_t *nout, int *list_out);
/* Would it be accepted?  TESS_OK or what calling it would return. */
TESS_API tess_status tess_schedule_can(tess_schedule *s, const char *prim,
                                       uint32_t nargs, const tess_arg *args);
/* The kind of a random variable; TESS_RV_NONE for one that does not exist. */
TESS_API tess_rv_kind tess_schedule_rv_kind(tess_schedule *s, tess_rv rv);
/* The value of an integer variable; records a guard in sketch mode.  TYPE for
 * a variable of another kind. */
TESS_API tess_status tess_schedule_get_int(tess_schedule *s, tess_rv rv,
                                           int64_t *out);
/* Do two variables refer to the same block or loop now?  In sketch mode a guard
 * is recorded where what was sampled may decide that.  Variables of what is
 * gone, and integers, are the same only if they are one variable. */
TESS_API tess_status tess_schedule_is_same(tess_schedule *s, tess_rv a,
                                           tess_rv b, int *out);
/* The value of a random variable as text, for people. */
TESS_API tess_status tess_schedule_rv_text(tess_schedule *s, tess_rv rv,
                                           TESS_GIVE char **out);
/* Facts of a loop or block. */
typedef struct tess_loop_info {
  uint32_t struct_size;         /* sizeof(tess_loop_info) */
  int32_t iter_type;            /* tess_iter_kind of what it drives; -1 mixed */
  const char *name, *kind, *thread;  /* kind: serial, parallel, ... */
  int64_t extent;               /* -1: not constant */
} tess_loop_info;
/* is_spatial: all its iters are, and it is not the root.  has_select: some
 * value that it computes is chosen by a condition, as padding is.  has_call: it
 * calls a function far more expensive than arithmetic: exp, log, tanh,
 * pow and the like, or one of the host's.  reuses_in_reduction: it reads again,
 * for other spatial iterations, what changes in the course of its reduction.
 * loops: of each iter, which of the loops around the block, counted from 0,
 * outermost first, alone binds it; -1: none or several do. */
typedef struct tess_block_info {
  uint32_t struct_size;         /* sizeof(tess_block_info) */
  uint32_t nreads;
  const char *name;
  uint32_t nwrites, niters;
  int32_t is_reduction, is_spatial, is_output, needs_multi_level_tiling;
  tess_iter_kind iters[16];
  int32_t has_select, has_call;
  int32_t loops[16];
  int32_t reuses_in_reduction, reserved;
} tess_block_info;
/* DEAD when the loop or block has been removed by a later primitive, TYPE when
 * the variable is of another kind; texts live until the schedule's next
 * call. */
TESS_API tess_status tess_schedule_loop_info(tess_schedule *s, tess_rv loop,
                                             tess_loop_info *out);
TESS_API tess_status tess_schedule_block_info(tess_schedule *s, tess_rv block,
                                              tess_block_info *out);
/* An estimate of the operations and stores of one execution of a loop or
 * block, with the variables of enclosing loops at half of their range; -1
 * where it depends on sizes or data. */
TESS_API tess_status tess_schedule_work(tess_schedule *s, tess_rv rv,
                                        int64_t *out);
/* Would splitting the reduction of a block itself pay, by rfactor or over
 * threads?  The block is an untiled reduction, alone in loops of constant
 * extents that are its iters; one that needs multi-level tiling has fewer
 * spatial than reduction iterations and no more than max_spatial, another has
 * more than min_reduce reduction iterations (MetaSchedule's
 * NeedsRFactorOrCrossThreadReduction). */
TESS_API tess_status tess_schedule_needs_rfactor(tess_schedule *s,
    tess_rv block, int64_t max_spatial, int64_t min_reduce, int *out);
/* The integer variable that was a loop's factor when split made it; 0: it was a
 * number, the open one, or an expression, or no split made the loop. */
TESS_API tess_status tess_schedule_factor(tess_schedule *s, tess_rv loop,
                                          tess_rv *factor);
/* How many elements of its read (or written) buffer number `index` a block can
 * access in one iteration of a loop around it (0: while the program runs): the
 * size of the box around them; -1 where it is not constant. */
TESS_API tess_status tess_schedule_footprint(tess_schedule *s, tess_rv block,
    int write, uint32_t index, tess_rv loop, int64_t *elements);
/* The iters of a block that index its read (or written) buffer number
 * `index`, as a bit mask: bit i for iter i. */
TESS_API tess_status tess_schedule_access(tess_schedule *s, tess_rv block,
                                          int write, uint32_t index,
                                          uint64_t *iters);
/* The same buffer, and for each of its dimensions the iter that is its whole
 * index, -1 where the index is any other expression; and how long it is, -1
 * where that is not constant. */
typedef struct tess_access_info {
  uint32_t struct_size;         /* sizeof(tess_access_info) */
  uint32_t ndim;
  const char *buffer;
  int32_t dims[16];             /* of the first 16 dimensions */
  tess_dtype dtype;
  uint32_t reserved;
  int64_t shape[16];
  const char *scope;            /* of the buffer: "global", "shared", .. */
} tess_access_info;
TESS_API tess_status tess_schedule_access_info(tess_schedule *s, tess_rv block,
                                               int write, uint32_t index,
                                               tess_access_info *out);
/* An annotation's value as JSON text, NULL when absent. */
TESS_API tess_status tess_schedule_annotation(tess_schedule *s, tess_rv rv,
    const char *key, TESS_GIVE char **json);
/* What the block stores, as JSON text: numbers, and for all else a list of the
 * operation, as the program's text has it, and its operands: ["load", "A"],
 * ["cast", "int8", x], ["max", x, y], ["select", c, x, y].  NULL where the
 * block has no store, or several. */
TESS_API tess_status tess_schedule_stored_value(tess_schedule *s, tess_rv block,
                                                TESS_GIVE char **json);
/* Sketch mode: reading a sampled value records a guard. */
TESS_API void tess_schedule_sketch_mode(tess_schedule *s, int on);
TESS_API tess_target *tess_schedule_target(tess_schedule *s); /* borrowed */
/* Snapshots. */
TESS_API tess_status tess_schedule_program(tess_schedule *s,
                                           TESS_GIVE tess_program **out);
TESS_API tess_status tess_schedule_trace(tess_schedule *s,
                                         TESS_GIVE tess_trace **out);

/* ---- the primitives, as data -------------------------------------------- */

typedef struct tess_prim_operand {
  uint32_t struct_size;         /* sizeof(tess_prim_operand) */
  int32_t required;
  const char *name, *help;
  const char *kind;             /* "BLOCK" "LOOP" "NODE" "BLOCKS" "LOOPS" "INT"
                                 * "BOOL" "REAL" "STR" "INTS" "REALS" "EXPR"
                                 * "FACTORS" "VALUE" "BUFFER" "INDEX_MAP"
                                 * "FILL" "DTYPE" "VAR" "VARS" */
  const char *role;             /* "in" "attr" "decision" "out" */
  const char *default_text;     /* "" when required */
} tess_prim_operand;
typedef struct tess_prim_info {
  uint32_t struct_size;         /* sizeof(tess_prim_info) */
  uint32_t noperands;
  const char *name, *summary, *rewrite, *details, *example;
  uint32_t nrefusals;
  int32_t samples, pure, unsafe, hidden;
  uint32_t reserved;
} tess_prim_info;
/* Primitives are counted from 0, and so are their operands and refusals;
 * NOT_FOUND past the last.  Texts are static. */
TESS_API uint32_t tess_prim_count(void);
TESS_API tess_status tess_prim_get(uint32_t i, tess_prim_info *out);
TESS_API tess_status tess_prim_operand_get(uint32_t i, uint32_t k,
                                           tess_prim_operand *out);
TESS_API tess_status tess_prim_refusal_get(uint32_t i, uint32_t k,
                                           const char **name,
                                           const char **text);
/* Reference page of one primitive (NULL: all) as Markdown, and LuaCATS
 * stubs. */
TESS_API tess_status tess_prim_doc(tess_context *c, const char *name,
                                   TESS_GIVE char **markdown);
TESS_API tess_status tess_prim_stubs(tess_context *c, TESS_GIVE char **lua);

/* ---- traces ------------------------------------------------------------- */

TESS_API void tess_trace_free(TESS_TAKE tess_trace *t);
/* The program that replaying takes where none is given; NULL: none. */
TESS_API tess_status tess_trace_bind(tess_trace *t, tess_program *p);
TESS_API tess_program *tess_trace_program(tess_trace *t);  /* borrowed */
/* As a Lua script and as JSON, which the functions below read again
 * (tess_text_free).  Reading: PARSE, with the place, where it is malformed or
 * no trace; what an instruction is called or given is refused, with its place,
 * as tess_schedule_call does. */
TESS_API tess_status tess_trace_lua(tess_trace *t, TESS_GIVE char **out);
TESS_API tess_status tess_trace_json(tess_trace *t, TESS_GIVE char **out);
/* Instruction i, counted from 1, as Lua. */
TESS_API tess_status tess_trace_inst_lua(tess_trace *t, uint32_t i,
                                         TESS_GIVE char **out);
/* program may be NULL (bind it later). */
TESS_API tess_status tess_trace_from_lua(tess_context *c, const char *text,
    tess_program *program, TESS_GIVE tess_trace **out);
TESS_API tess_status tess_trace_from_json(tess_context *c, const char *text,
    tess_program *program, TESS_GIVE tess_trace **out);
/* The same as TVM's tuning records have it (v0.18): [instructions,
 * decisions].  Writing is UNSUPPORTED, with the instruction named, for what
 * TVM cannot express; names of buffers and sampled integers in index maps are
 * such.  A record of a database (one line) is read, too. */
TESS_API tess_status tess_trace_tvm_json(tess_trace *t, TESS_GIVE char **out);
TESS_API tess_status tess_trace_from_tvm_json(tess_context *c,
    const char *text, tess_program *program, TESS_GIVE tess_trace **out);
/* Equal traces have the same instructions, operands and decisions, and the
 * same hash.  The size is the number of instructions. */
TESS_API int tess_trace_equal(tess_trace *a, tess_trace *b);
TESS_API uint64_t tess_trace_hash(tess_trace *t);
TESS_API uint32_t tess_trace_size(tess_trace *t);
/* Instruction i, counted from 1. */
typedef struct tess_inst_info {
  uint32_t struct_size;         /* sizeof(tess_inst_info) */
  uint32_t line;
  const char *name, *file;
  uint32_t nout, ninputs, nattrs;
  int32_t samples, has_decision;
  uint32_t ndecision;
  const int64_t *decision;
  const tess_rv *out;
} tess_inst_info;
TESS_API tess_status tess_trace_inst(tess_trace *t, uint32_t i,
                                     tess_inst_info *out);
/* Operands of instruction i as arguments (role "in" or "attr", any other is
 * INVALID); values live as long as the trace and until the next call on it. */
TESS_API tess_status tess_trace_operands(tess_trace *t, uint32_t i,
    const char *role, uint32_t max, tess_arg *out, uint32_t *n);

/* The values that the trace names (the primitive `knob`), as they were decided,
 * by name; those whose decisions are open are left out.  At most `max` of the
 * *n of them are written; they live as long as the trace and until the next
 * call on it. */
TESS_API tess_status tess_trace_params(tess_trace *t, uint32_t max,
                                       tess_arg *out, uint32_t *n);
/* A decision of a trace, and what it is about. */
typedef struct tess_decision {
  uint32_t inst;                /* the instruction, from 1 */
  uint32_t n;                   /* how many numbers it has */
  const char *knob;             /* the name that it was given; "": none */
  const char *what;             /* "tiles of i of C", "location of C" */
  const char *const *part;      /* n: what each number is, "i of C, tile 1" */
  const int64_t *decision;      /* n; NULL: it is open */
} tess_decision;
/* All decisions in their order.  Loops and blocks are called as they are in
 * the program (NULL: the one that the trace is bound to) when the decision is
 * made; what the trace no longer applies to, or where there is no program, is
 * told by its instruction.  max, *n and lives: as above. */
TESS_API tess_status tess_trace_decisions(tess_trace *t, tess_program *program,
                                          uint32_t max, tess_decision *out,
                                          uint32_t *n);

typedef struct tess_replay_options {
  uint32_t struct_size;         /* sizeof(tess_replay_options) */
  int32_t resample;             /* draw all decisions afresh */
  int32_t repair;               /* mend decisions that do not fit */
  int32_t no_postproc;          /* stop before enter_postproc */
  uint64_t seed;
} tess_replay_options;
/* program NULL: the one it is bound to; options NULL: same decisions. */
TESS_API tess_status tess_trace_replay(tess_trace *t, tess_program *program,
    const tess_replay_options *o, TESS_GIVE tess_schedule **out);
/* A copy of the first n instructions; NOT_FOUND: there are not as many. */
TESS_API tess_status tess_trace_prefix(tess_trace *t, uint32_t n,
                                       TESS_GIVE tess_trace **out);
/* A copy in which instruction i, counted from 1, has this decision;
 * NOT_FOUND when there is no such instruction, REFUSED when the decision does
 * not fit it.  The trace must be bound to a program. */
TESS_API tess_status tess_trace_with_decision(tess_trace *t, uint32_t i,
    uint32_t n, const int64_t *decision, TESS_GIVE tess_trace **out);
/* A copy in which one decision, drawn from seed, has another valid value and
 * the rest is mended to fit; the trace must be bound to a program.  NOT_FOUND
 * when no decision has another value. */
TESS_API tess_status tess_trace_mutate(tess_trace *t, uint64_t seed,
                                       TESS_GIVE tess_trace **out);
/* Dead code elimination: a copy without the instructions that do not change
 * the program and whose outputs have no uses. */
TESS_API tess_status tess_trace_simplify(tess_trace *t,
                                         TESS_GIVE tess_trace **out);

/* ---- stepping ----------------------------------------------------------- */

/* Starts before instruction 1; position n: after instruction n. */
TESS_API tess_status tess_stepper_new(tess_trace *t, tess_program *program,
                                      TESS_GIVE tess_stepper **out);
TESS_API void tess_stepper_free(TESS_TAKE tess_stepper *s);
/* 0 .. size; the size is the trace's. */
TESS_API uint32_t tess_stepper_position(tess_stepper *s);
TESS_API uint32_t tess_stepper_size(tess_stepper *s);
/* TESS_NOT_FOUND at either end; TESS_REFUSED when the instruction is. */
TESS_API tess_status tess_stepper_next(tess_stepper *s);
TESS_API tess_status tess_stepper_back(tess_stepper *s);
TESS_API tess_status tess_stepper_goto(tess_stepper *s, uint32_t n);
/* The program at the position. */
TESS_API tess_status tess_stepper_program(tess_stepper *s,
                                          TESS_GIVE tess_program **out);
/* The program as text, lines that the last instruction changed marked. */
TESS_API tess_status tess_stepper_diff(tess_stepper *s, TESS_GIVE char **out);
/* What an instruction, counted from 1, did to the statement of a line of the
 * program at the position (tess_program_text's lines, counted from 1): made
 * it, changed it or what it is annotated with, or moved it to another loop. */
typedef enum tess_effect {
  TESS_EFFECT_MADE, TESS_EFFECT_CHANGED, TESS_EFFECT_MOVED
} tess_effect;
typedef struct tess_origin {
  uint32_t line, instruction;
  tess_effect effect;
} tess_origin;
typedef struct tess_origins {
  uint32_t struct_size;         /* sizeof(tess_origins) */
  uint32_t n;
  const tess_origin *origin;    /* n, by line, then by instruction */
} tess_origins;
/* Where the lines come from; a line without any was described, and left as it
 * was.  They live until the stepper's next call. */
TESS_API tess_status tess_stepper_origins(tess_stepper *s, tess_origins *out);
/* The last instruction, as one line of Lua. */
TESS_API tess_status tess_stepper_inst(tess_stepper *s, TESS_GIVE char **out);
/* The last instruction's decision; n 0 when it takes none. */
TESS_API tess_status tess_stepper_decision(tess_stepper *s, uint32_t max,
                                           int64_t *out, uint32_t *n);
typedef struct tess_alternatives {
  uint32_t struct_size;         /* sizeof(tess_alternatives) */
  uint32_t n;                   /* rows given here */
  uint64_t count;               /* of the whole space */
  const int64_t *decision;      /* n rows of `width` */
  const double *probability;
  uint32_t width, reserved;
} tess_alternatives;
/* What the last instruction could have drawn, at most `max` of them;
 * NOT_FOUND when it draws nothing.  They live until the stepper's next
 * call. */
TESS_API tess_status tess_stepper_alternatives(tess_stepper *s, uint32_t max,
                                               tess_alternatives *out);
/* Changes it and replays what follows.  TESS_REFUSED with *invalid set to the
 * first instruction that no longer applies (the change stands), or
 * TESS_INVALID when the decision does not fit or the instruction draws
 * nothing (nothing changed). */
TESS_API tess_status tess_stepper_decide(tess_stepper *s, uint32_t n,
                                         const int64_t *d, uint32_t *invalid);
/* The whole trace, with the decisions that were changed. */
TESS_API tess_status tess_stepper_trace(tess_stepper *s,
                                        TESS_GIVE tess_trace **out);

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

/* ---- spaces and modules ------------------------------------------------- */

enum { TESS_MAX_SKETCHES = 4096 };

/* A schedule module: called for each block.  Appends zero or more schedules
 * (TESS_TAKE) through `emit`: copies of `sch`, or itself.  Return TESS_OK,
 * with *why set where there is something to say of them;
 * TESS_NOT_FOUND with *why set: not applicable, the block stays as it is;
 * TESS_NOMEM (memory ran out, as it also has where it fails over the
 * memory_cap) and TESS_CANCELLED end the generation of sketches; anything else
 * (*why may stay NULL where a call failed with it: tess_error says why then):
 * it failed, which counts as not applicable, and a warning goes to the log,
 * once for each module and *why.  One that sets *why and has drawn is called
 * again, with other draws.  A module that makes more than
 * TESS_MAX_SKETCHES sketches over all blocks fails at all of them.  With the
 * on_error of tess_tune_options either is an error of tess_tune. */
typedef struct tess_module {
  uint32_t struct_size;         /* sizeof(tess_module) */
  const char *name;
  tess_status (*apply)(void *ud, tess_schedule *sch, tess_rv block,
                       void (*emit)(void *sink, TESS_TAKE tess_schedule *s),
                       void *sink, const char **why);
  void (*free)(void *ud);
  void *ud;
} tess_module;
/* Modules one after the other, each on all blocks.  Names are copied; with
 * success `free` is the space's to call, and only then. */
TESS_API tess_status tess_space_compose(tess_context *c, uint32_t n,
    const tess_module *modules, TESS_GIVE tess_space **out);
/* One function that schedules the whole program by hand. */
TESS_API tess_status tess_space_function(tess_context *c,
    const tess_module *whole, TESS_GIVE tess_space **out);
/* The sketches of all of them. */
TESS_API tess_status tess_space_union(tess_context *c, uint32_t n,
    tess_space *const *spaces, TESS_GIVE tess_space **out);
/* A space of given sketches (traces). */
TESS_API tess_status tess_space_traces(tess_context *c, uint32_t n,
    tess_trace *const *traces, TESS_GIVE tess_space **out);
/* The default space of a target (NULL: "llvm"): the modules written in Lua that
 * come with Tessera.  libtessera-spaces, which links Lua, is loaded for it when
 * it is first asked for, from beside libtessera, or where the environment
 * variable TESSERA_SPACES says; UNSUPPORTED where it is not installed.  INVALID
 * for a target that has none.  The modules run in a Lua state of the space's
 * own. */
TESS_API tess_status tess_space_default(tess_context *c, tess_target *target,
                                        TESS_GIVE tess_space **out);
/* fn(ud) is called once, when the space is no more; of several the last. */
TESS_API void tess_space_on_free(tess_space *s, void (*fn)(void *ud),
                                 void *ud);
TESS_API void tess_space_free(TESS_TAKE tess_space *s);
/* The sketches: traces whose decisions are open.  LIMIT, and none are written,
 * where there are more than max. */
TESS_API tess_status tess_space_sketches(tess_space *s, tess_program *p,
    tess_target *t, uint32_t max, TESS_GIVE tess_trace **out, uint32_t *n);
/* Which postprocessors are appended to the space's sketches when it is tuned: a
 * trace that holds nothing else, as tess_trace_from_lua makes of their calls;
 * an empty one: none; NULL: again those of the target (of modules, where there
 * are any; none of functions and traces).  They are primitives, "rewrite_..."
 * and checks, and run whenever a candidate is replayed: what they do is part of
 * its trace.  Copied; INVALID where it holds another primitive. */
TESS_API tess_status tess_space_set_postprocs(tess_space *s,
                                              tess_trace *postprocs);
/* The sketches as they are tuned, with their postprocessors. */
TESS_API tess_status tess_space_postprocessed(tess_space *s, tess_program *p,
    tess_target *t, uint32_t max, TESS_GIVE tess_trace **out, uint32_t *n);
/* Which module did what at which block and why not, as text. */
TESS_API tess_status tess_space_explain(tess_space *s, tess_program *p,
                                        tess_target *t,
                                        TESS_GIVE char **out);

/* ---- search ------------------------------------------------------------- */

/* A batch of candidates, as a plugged-in strategy, model or postprocessor
 * sees them; valid during the call. */
typedef struct tess_candidate {
  uint32_t sketch;              /* from 0 */
  uint32_t ndecisions;
  const int64_t *decisions;     /* each preceded by its length */
  double seconds;               /* observed; +inf when it failed */
  tess_status status;           /* observed class, TESS_OK when it ran */
} tess_candidate;

typedef struct tess_session tess_session;  /* what a strategy may ask */
/* Sketches are numbered from 0. */
TESS_API uint32_t tess_session_nsketches(tess_session *s);
/* Draw, mutate (parent), cross: a new valid candidate in *out (its storage
 * belongs to the session until the batch ends); TESS_NOT_FOUND after bounded
 * tries; TESS_INVALID for a parent of no sketch that there is, or whose
 * decisions are not entries preceded by their lengths, one for each sampling
 * instruction of its sketch. */
TESS_API tess_status tess_session_draw(tess_session *s, tess_candidate *out);
TESS_API tess_status tess_session_mutate(tess_session *s,
    const tess_candidate *parent, tess_candidate *out);
TESS_API tess_status tess_session_cross(tess_session *s,
    const tess_candidate *a, const tess_candidate *b, tess_candidate *out);
TESS_API double tess_session_unit(tess_session *s);   /* random in [0,1) */
/* What the cost model says of n candidates, higher being better; and whether
 * one was measured already. */
TESS_API tess_status tess_session_predict(tess_session *s, uint32_t n,
    const tess_candidate *c, double *score);
TESS_API int tess_session_seen(tess_session *s, const tess_candidate *c);
/* For functions of the host's that a run calls, which then return `status`: why
 * they failed, in one line, for the result's message.  Gives the status. */
TESS_API tess_status tess_session_fail(tess_session *s, tess_status status,
                                       const char *why);
/* INVALID, with what is wrong, unless the candidate's sketch exists and has as
 * many decisions; whether it replays is not asked. */
TESS_API tess_status tess_session_check(tess_session *s,
                                        const tess_candidate *c);
/* The schedule of a candidate: its trace with the decisions in it, also of one
 * that does not replay unless postprocessors of the host's change schedules;
 * and the program that it makes, REFUSED where it does not replay. */
TESS_API tess_status tess_session_trace(tess_session *s,
    const tess_candidate *c, TESS_GIVE tess_trace **out);
TESS_API tess_status tess_session_program(tess_session *s,
    const tess_candidate *c, TESS_GIVE tess_program **out);

/* Rows of numbers that describe candidates to a model.  What a column means
 * does not change within a version; docs/searching.md lists the columns. */
typedef struct tess_features {
  uint32_t struct_size;         /* sizeof(tess_features) */
  uint32_t version, nrows, ncolumns;
  const uint32_t *first;        /* of candidate i: rows first[i] up to, but
                                 * not with, first[i + 1] */
  const float *value;           /* row by row */
} tess_features;
enum { TESS_MAX_COLUMN = 64 };  /* bytes of a column's name, with its NUL */
/* Kinds: "per_store" (a row a store), "context" (a row a loop), "tree" (a row
 * a loop or store), "decisions" (one row); INVALID for others, and for a
 * candidate that does not replay.  What out points to lives until the next
 * question of the session's. */
TESS_API tess_status tess_session_features(tess_session *s, uint32_t n,
    const tess_candidate *c, const char *kind, tess_features *out);
/* The name of a column, from 0; NOT_FOUND past the last. */
TESS_API tess_status tess_session_column(tess_session *s, const char *kind,
    uint32_t column, char name[TESS_MAX_COLUMN]);

typedef struct tess_strategy {
  uint32_t struct_size;         /* sizeof(tess_strategy) */
  const char *name;
  /* Proposes up to n new candidates.  Three consecutive batches without a new
   * one end the search; more than n candidates end it with TESS_INVALID.
   * Candidates that were measured before, are proposed twice or do not replay
   * are rejected and counted in the funnel.  Those whose program was measured
   * under other decisions, before or in the batch, are not measured: they have
   * its result, follow what is measured of the batch in `observe`, and 1024 of
   * them in a row end the search.  The database's results of earlier
   * runs are observed before the first proposal, in batches, oldest first. */
  tess_status (*propose)(void *ud, tess_session *s, uint32_t n,
                         tess_candidate *out, uint32_t *got);
  tess_status (*observe)(void *ud, tess_session *s, uint32_t n,
                         const tess_candidate *c); /* NULL: does not look */
  void (*free)(void *ud);       /* NULL: nothing to free */
  void *ud;
} tess_strategy;

/* The built-in strategies, from 0: name and one line; NULL past the last. */
TESS_API const char *tess_strategy_name(uint32_t i);
TESS_API const char *tess_strategy_summary(uint32_t i);
/* An option of one, which is written behind its name, as in
 * "annealing:chains=64,steps=200". */
typedef struct tess_strategy_option {
  uint32_t struct_size;         /* sizeof(tess_strategy_option) */
  int32_t integer;              /* it takes no fractions */
  const char *name, *help;
  const char *words;            /* it takes one of these, "ei|lcb"; NULL: a
                                 * number from least to most */
  double initial, least, most;  /* initial of words: which, from 0 */
} tess_strategy_option;
/* Option k of strategy i, from 0; NOT_FOUND where there is none. */
TESS_API tess_status tess_strategy_option_get(tess_context *c, uint32_t i,
    uint32_t k, tess_strategy_option *out);

/* A mutator of the strategy "evolutionary" beside its own: what it gives is
 * repaired where it does not fit, and may be of another sketch. */
typedef struct tess_mutator {
  uint32_t struct_size;         /* sizeof(tess_mutator) */
  const char *name;
  double probability;           /* up to a factor, as those of the built-in */
  /* A child of the parent; its decisions live until the next call.
   * TESS_NOT_FOUND: it has none. */
  tess_status (*mutate)(void *ud, tess_session *s,
                        const tess_candidate *parent, tess_candidate *out);
  void *ud;
} tess_mutator;

/* A postprocessor of the host's: called for each candidate that replays and
 * that the space's postprocessors accept, on the thread that tunes, before any
 * strategy or cost model sees it.  TESS_OK: it is kept; TESS_REFUSED: it is
 * counted in the funnel by the name.  TESS_NOMEM and TESS_CANCELLED end the
 * run; after anything else the candidate is refused with a warning, once for
 * each reason, or the run ends where tess_tune_options.on_error says so. */
typedef struct tess_postproc {
  uint32_t struct_size;         /* sizeof(tess_postproc) */
  const char *name;
  /* NULL: accepts all.  tess_session_trace and tess_session_program give the
   * candidate as the postprocessors before have left it. */
  tess_status (*accepts)(void *ud, tess_session *s, const tess_candidate *c);
  void *ud;
  /* NULL: changes nothing; called after `accepts`, where there is one.
   * Schedules the candidate, `sch`, further, in place: whatever primitive it
   * calls, but for those that sample, ends the candidate's trace, behind
   * enter_postproc, so that the trace with its decisions is the whole kernel.
   * Mutation and crossover see the decisions only, and the function is called
   * anew for what they make; it may be called more than once for a candidate
   * and must do the same each time.  `sch` is borrowed.  *why, which is NULL
   * before: a reason, which lives until the next call. */
  tess_status (*apply)(void *ud, tess_session *s, tess_schedule *sch,
                       const char **why);
} tess_postproc;

typedef struct tess_cost_model {
  uint32_t struct_size;         /* sizeof(tess_cost_model) */
  const char *name;
  /* Higher is better; a NaN counts as the worst, with a warning.  It is updated
   * whenever the strategy has observed. */
  tess_status (*predict)(void *ud, tess_session *s, uint32_t n,
                         const tess_candidate *c, double *score);
  tess_status (*update)(void *ud, tess_session *s, uint32_t n,
                        const tess_candidate *c);  /* NULL: does not learn */
  void (*free)(void *ud);       /* NULL: nothing to free */
  void *ud;
} tess_cost_model;

/* A built-in cost model that learns, apart from a run: it keeps what it was
 * taught, over several runs, and in a file.  Of names there are "random",
 * "xgb", "xgb_rank", "forest", "gp" and "treegru"; names joined by "+" are an
 * ensemble, whose members vote. */
typedef struct tess_model tess_model;
/* NOT_FOUND where there is none of the name; UNSUPPORTED where a library that
 * it needs is not there, with its name. */
TESS_API tess_status tess_model_new(tess_context *c, const char *name,
                                    TESS_GIVE tess_model **out);
/* A file holds what the model was taught, with which it is trained again when
 * it is asked first.  IO; INVALID for what is no such file or is damaged, and
 * for features of another version. */
TESS_API tess_status tess_model_save(tess_model *m, const char *path);
TESS_API tess_status tess_model_load(tess_context *c, const char *path,
                                     TESS_GIVE tess_model **out);
TESS_API const char *tess_model_name(tess_model *m);
/* How many measured candidates it was taught. */
TESS_API uint32_t tess_model_samples(tess_model *m);
/* The k-th of the columns of its features by how much they matter, from 0, and
 * the share that it has; NOT_FOUND past the last that matters, and while it is
 * not trained; UNSUPPORTED where no model of these names tells, as "xgb",
 * "xgb_rank" and "forest" do. */
TESS_API tess_status tess_model_importance(tess_model *m, uint32_t k,
    char name[TESS_MAX_COLUMN], double *share);
TESS_API void tess_model_free(TESS_TAKE tess_model *m);

/* How well a model told a batch before it was taught the batch. */
typedef struct tess_quality {
  uint32_t trials, n;           /* taught before; in the batch */
  double rmse;                  /* of throughput relative to the best; NaN of a
                                 * model that only ranks */
  double rank_accuracy;         /* share of pairs in the right order */
  double top_k_recall;          /* share of the fastest quarter that is among as
                                 * many of the best predicted */
} tess_quality;

/* Told after each trial, and while a batch is compiled, between its parts. */
typedef struct tess_progress {
  uint32_t struct_size;         /* of this library */
  uint32_t trials, max_trials, failed;  /* so far, at most, of them failed */
  double best_seconds, gflops, elapsed;
  double eta;                   /* seconds left; INFINITY until some trials are
                                 * there to judge by */
  const char *text;             /* one line for people */
  uint32_t compiled, compiling; /* of a batch of so many; 0, 0: this is told
                                 * after a trial, whose are */
  tess_status status;           /* how it ended */
  double seconds;               /* and its time, INFINITY where it has none */
} tess_progress;

/* tess_tune_options and tess_tasks_options. */
#include <tessera/options.h>

/* Searches the space for the fastest schedule of p; target NULL: "llvm", space
 * NULL: that of tess_space_default, options NULL: the defaults.  NOT_FOUND when
 * the space has no sketch, or there is no strategy or cost model of that name;
 * INVALID with the option named; NOMEM when there is no room for the program's
 * tensors; TIMEOUT when filling them takes too long; UNSUPPORTED when this
 * machine cannot run what is made for the target, sizes of the program are
 * known only when it is called, or the default space is not installed.
 * Custom strategies and models are borrowed for the call; `free`, where they
 * have one, is called once at its end, with `ud` whatever that is and however
 * the call ended, unless struct_size is refused. */
TESS_API tess_status tess_tune(tess_program *p, tess_target *target,
    tess_space *space, const tess_tune_options *o,
    TESS_GIVE tess_result **out);
/* From any thread or a signal handler: what this context is doing ends, a run
 * of tess_tune with the best so far; tess_build, tess_kernel_source,
 * tess_kernel_time, tess_interpret, tess_equivalent and tess_tensor_intrin with
 * CANCELLED.  A kernel that runs is not broken off; nor is a later call. */
TESS_API void tess_stop(tess_context *c);

/* A result is given even when nothing valid was found: status says so.  What
 * it names as the best computed what the unscheduled program does.  A run
 * that breaks off (its database cannot be written, memory runs out, a strategy
 * fails) gives the best so far where there is one: status and message are
 * then the failure's. */
typedef struct tess_result_info {
  uint32_t struct_size;         /* sizeof(tess_result_info) */
  tess_status status;           /* TESS_OK, TESS_NOT_FOUND, TESS_CANCELLED,
                                 * or what broke the run off */
  double latency;               /* seconds, median when the best few were timed
                                 * again at the end */
  double gflops;
  uint32_t trials, failed;      /* those of the database included */
  uint32_t ncurve;              /* as many as there were trials */
  int32_t exhausted;            /* it ended before its trials: the strategy had
                                 * nothing new three times in a row, or 1024
                                 * times in a row a measured program; the funnel
                                 * says what became of what it drew */
  const double *curve;          /* best seconds after each of them; +inf while
                                 * nothing valid is known */
  /* Of this run alone, without the records that the database had before it:
   * the rejection funnel, and where the time went, as text; the classes of
   * results and their counts, as JSON. */
  const char *funnel;
  const char *ledger;
  const char *classes;
  const char *message;          /* why the run broke off, or was ended by a
                                 * candidate that failed; else "" */
  const char *note;             /* one line, where latency is far from the time
                                 * of the best trial, the best is slower than
                                 * the unscheduled program, or the check of
                                 * results sees little; else "" */
  uint32_t nquality;            /* of the cost model, batch by batch, once it
                                 * knew something */
  const tess_quality *quality;
} tess_result_info;
/* Facts of a run; texts and the curve live as long as the result. */
TESS_API tess_status tess_result_get(tess_result *r, tess_result_info *out);
/* The best that was found, as its trace, its schedule and its kernel (built
 * now: errors of tess_build); NOT_FOUND when nothing valid was. */
TESS_API tess_status tess_result_trace(tess_result *r,
                                       TESS_GIVE tess_trace **out);
TESS_API tess_status tess_result_schedule(tess_result *r,
                                          TESS_GIVE tess_schedule **out);
TESS_API tess_status tess_result_kernel(tess_result *r,
                                        TESS_GIVE tess_kernel **out);
/* The cost model of the run, which goes on from what it learnt; NOT_FOUND when
 * it was a custom one. */
TESS_API tess_status tess_result_model(tess_result *r,
                                       TESS_GIVE tess_model **out);
TESS_API void tess_result_free(TESS_TAKE tess_result *r);

/* ---- many tasks --------------------------------------------------------- */

/* A program to tune together with others.  Programs that are structurally
 * equal (tess_program_hash) and have the same space are one task: its weight
 * is the sum of theirs, and it is named after the first.  Another strategy or
 * cost model than that of the first is INVALID. */
typedef struct tess_task {
  uint32_t struct_size;         /* sizeof(tess_task) */
  uint32_t reserved;
  tess_program *program;
  tess_space *space;            /* NULL: that of tess_space_default */
  double weight;                /* how often it runs, say; 1 when 0 */
  const char *name;             /* NULL: the program's */
  /* Of this task alone, instead of those that the options name; borrowed until
   * tess_tune_tasks returns, and not freed by it. */
  const tess_strategy *strategy;
  const tess_cost_model *cost_model;
} tess_task;

/* A task as it stands; name and shapes live until the next progress. */
typedef struct tess_task_state {
  uint32_t struct_size;         /* of this library */
  uint32_t entries;             /* equal programs that it stands for */
  const char *name, *shapes;    /* shapes: "64x64 64x64 -> 64x64" */
  double weight;
  uint32_t trials, failed;
  double best_seconds, gflops;  /* +inf, 0 while nothing valid is known */
  double gain;                  /* seconds of weighted latency that a minute of
                                 * its batches gained, over the last
                                 * window_size; NaN before there are two */
  double seconds;               /* that it was worked on */
  int32_t live;                 /* it may get further batches */
} tess_task_state;

/* Told after each trial, while a batch is compiled, and after each batch. */
typedef struct tess_tasks_progress {
  uint32_t struct_size;         /* of this library */
  uint32_t ntask;
  const tess_task_state *task;
  uint32_t current;             /* the task at work, from 0 */
  uint32_t trials, max_trials;  /* of all tasks; 0: no limit of trials */
  uint32_t failed;
  int32_t round;                /* a batch has ended, and `trial` is NULL */
  double latency;               /* weighted sum of the best times; +inf until
                                 * each task has one */
  double elapsed, eta;          /* eta: as of tess_progress */
  const tess_progress *trial;   /* of the current task */
  const char *text, *table;     /* a line, and a table, for people */
} tess_tasks_progress;

typedef struct tess_tasks tess_tasks;  /* the results of many tasks */
typedef struct tess_tasks_info {
  uint32_t struct_size;         /* sizeof(tess_tasks_info) */
  tess_status status;           /* OK; CANCELLED; else of the first task that
                                 * has no valid result or broke off */
  uint32_t ntask, nentry;       /* different programs, and those given */
  uint32_t trials, failed;      /* of all tasks */
  double latency;               /* weighted sum; +inf where one has none */
  double seconds;
  const char *funnel, *ledger;  /* of all tasks together */
  const char *table;            /* of the tasks, at the end */
  const char *note, *message;   /* one line each, or "" */
} tess_tasks_info;

/* Tunes n programs under one budget: the scheduler gives batch after batch to
 * one task or another.  Each task keeps its records in the one database, has a
 * strategy and a cost model of its own, and ends with finals of its own; one
 * that breaks off leaves the others going.  Errors are those of tess_tune, with
 * the task named, before anything is measured.  INVALID for no task at all and
 * for what the options do not allow; NOT_FOUND for an unknown scheduler. */
TESS_API tess_status tess_tune_tasks(tess_context *c, uint32_t n,
    const tess_task *task, tess_target *target, const tess_tasks_options *o,
    TESS_GIVE tess_tasks **out);
TESS_API tess_status tess_tasks_get(tess_tasks *t, tess_tasks_info *out);
/* The result of the i-th of the programs given, from 0; equal ones share it.
 * NOT_FOUND past the last. */
TESS_API tess_status tess_tasks_result(tess_tasks *t, uint32_t i,
                                       TESS_GIVE tess_result **out);
/* Which task, from 0, the i-th of the programs given became. */
TESS_API uint32_t tess_tasks_index(tess_tasks *t, uint32_t i);
TESS_API void tess_tasks_free(TESS_TAKE tess_tasks *t);

/* ---- database ----------------------------------------------------------- */

/* Opens a database; one that is not there is made, one that may not be
 * written can be read.  IO, with the path, where that fails. */
TESS_API tess_status tess_database_open(tess_context *c, const char *path,
                                        TESS_GIVE tess_database **out);
TESS_API void tess_database_free(TESS_TAKE tess_database *d);
typedef struct tess_record {
  uint32_t struct_size; /* sizeof(tess_record) */
  uint32_t nsample;
  int64_t id;
  uint64_t workload;
  const char *workload_name, *target, *policy, *engine, *status;
  double seconds; /* +inf where it failed or is damaged */
  uint64_t program_hash;
  int32_t checked; /* compared with the unscheduled program, and agreed */
  int32_t damaged; /* trace or decisions cannot be read, or are of two
                    * candidates */
  const char *message; /* why it failed; else "" */
  const double *sample; /* nsample seconds, as measured; of a success */
  const char *shapes;   /* of the program's parameters, as "A: float32[8, 4],
                         * B: out float32[8]", "?" where symbolic; "" where the
                         * stored program is damaged */
  int64_t run;          /* that made it (tess_database_run); 0: unknown */
  uint32_t round, slot; /* its batch of the run, and its place there */
  double elapsed;       /* seconds since the run began; NaN: unknown */
  double predicted;     /* score of the cost model before it was measured; NaN:
                         * it knew nothing, or there was none */
  uint64_t sketch;      /* hash of the trace without decisions */
  const int64_t *decisions; /* as of tess_candidate; NULL: damaged */
  uint32_t ndecisions;
  uint32_t reserved;
  const char *stored_at; /* UTC, "2026-01-31T12:00:00Z" */
} tess_record;
/* Which records: those for which all that is given holds. */
typedef struct tess_record_filter {
  uint32_t struct_size;         /* sizeof(tess_record_filter) */
  int32_t checked;              /* non-zero: only successes that agreed with
                                 * the unscheduled program */
  tess_program *program;        /* this one, by its hash; NULL: any */
  const char *workload_name;    /* each NULL: any */
  const char *target;           /* as tess_target_text gives it */
  const char *policy;
  const char *before;           /* stored before: UTC, "2026-01-31", to which
                                 * "T12:00:00Z" may be added; NULL: ever */
  const uint64_t *sketch;       /* of other sketches than these nsketch, of
                                 * tess_space_postprocessed, by their
                                 * tess_trace_hash; NULL: of any */
  uint32_t nsketch;
  int32_t failed;               /* non-zero: only failures */
} tess_record_filter;
/* From now on rows are of these records only; NULL: of all.  INVALID where
 * `before` is no time. */
TESS_API tess_status tess_database_filter(tess_database *d,
                                          const tess_record_filter *f);
/* How many rows there are, damaged ones included. */
TESS_API tess_status tess_database_count(tess_database *d, uint64_t *n);
/* Among which records the best is: those whose times say the same. */
typedef struct tess_best_filter {
  uint32_t struct_size;         /* sizeof(tess_best_filter) */
  int32_t measure;              /* non-zero: times that a function `measure`
                                 * gave; 0: measured ones */
  const char *measure_name;     /* of the function; NULL: any */
  const char *target;           /* as tess_target_text gives it; NULL: any */
  const char *policy;           /* measured just so, and nothing else is asked;
                                 * NULL: any that the others allow */
  tess_tensor *const *inputs;   /* measured on these, as the option of
                                 * tess_tune; NULL: on drawn ones */
  uint32_t ninputs, reserved;
} tess_best_filter;
/* The fastest record of the program that agreed with the unscheduled one.
 * Where such records are of several targets or policies, whose times are not
 * comparable, it is the best of those that are measured as the newest of them
 * is; its fields say how.  NULL: an empty filter.  NOT_FOUND if there is none;
 * INVALID for a policy with inputs or `measure`, and as tess_tune for inputs
 * that are not the program's.  Sets the rows' filter to what it searched
 * for. */
TESS_API tess_status tess_database_best_of(tess_database *d, tess_program *p,
                                           const tess_best_filter *f,
                                           tess_record *out);
/* The same with a target only, which may be NULL. */
TESS_API tess_status tess_database_best(tess_database *d, tess_program *p,
                                        const char *target, tess_record *out);
/* Best first.  Of the records of one workload, target and policy the first was
 * compared with the unscheduled program when it was stored; others may not have
 * been (`checked`).  Damaged records come last and are ignored by tuning.  A
 * success with an impossible time is left out with a warning.  Row k counted
 * from 0; TESS_NOT_FOUND past the last.  What a record points to lives until
 * the next call on the database. */
TESS_API tess_status tess_database_row(tess_database *d, uint64_t k,
                                       tess_record *out);
/* The trace of a row, with its decisions; NOT_FOUND when there is no such
 * id.  It is replayed once: if that is refused or gives another program than
 * the one that was measured, as it may after a change of the engine or of the
 * file, a warning says so. */
TESS_API tess_status tess_database_trace(tess_database *d, int64_t id,
                                         TESS_GIVE tess_trace **out);
/* A run that is in the database. */
typedef struct tess_run {
  uint32_t struct_size;         /* sizeof(tess_run) */
  uint32_t batch;
  int64_t id;
  uint64_t workload, seed;
  const char *target, *policy, *strategy, *model, *engine, *started_at;
  const char *ended;            /* its status; "" where it goes on */
  double seconds;               /* that it took so far */
  const char *funnel, *ledger;  /* as of tess_result_info, at the last batch */
  const char *quality;          /* of its cost model: JSON, a list of [trials,
                                 * n, rmse, rank_accuracy, top_k_recall], null
                                 * for what it has not */
  int32_t transfer;             /* whether other workloads' records might teach
                                 * it (no_transfer of tess_tune_options), 0 or
                                 * 1; -1: not known */
  uint32_t reserved;
} tess_run;
/* The k-th run, from 0; NOT_FOUND past the last.  What it points to lives until
 * the next call. */
TESS_API tess_status tess_database_run(tess_database *d, uint64_t k,
                                       tess_run *out);
/* Looks for damage that reading records does not show: pages of the file that
 * are inconsistent (SQLite's integrity_check), programs of workloads that
 * cannot be restored or are others, and values outside of their column's
 * domain in any table, as impossible times, unknown statuses, texts that are no
 * target or policy, and rows that belong to no workload or run.  found(ud,
 * what) is called for each, `what` one line that lives until it returns
 * ("record 3: seconds is -1.0, not a time from ..."); it may not use the
 * database.  Whether records replay `damaged` of a tess_record and
 * tess_database_trace tell.  The filter ends. */
TESS_API tess_status tess_database_verify(
    tess_database *d, void (*found)(void *ud, const char *what), void *ud);
/* Stores a success that was measured elsewhere, n samples in seconds, of which
 * the median counts; policy: how it was measured, in any words, since times
 * under other policies are not compared with it.  The target's text is
 * completed, as by tess_target_new, whose errors are given.  The trace, bound
 * to its program, is replayed: REFUSED where it does not apply.  INVALID for
 * times that are none, and for an empty policy. */
TESS_API tess_status tess_database_add(tess_database *d, tess_trace *t,
    const char *target, const char *policy, uint32_t n, const double *sample);
/* Adds the workloads and records of another file that this one has not: the
 * same candidate with the same result and time is there once.  All or nothing;
 * the filter ends, as with the next two. */
TESS_API tess_status tess_database_merge(tess_database *d, const char *path,
                                         uint64_t *added);
/* Keeps the best `keep` records of each workload, target and policy, and the
 * best one that was compared with the unscheduled program; damaged ones are the
 * worst. */
TESS_API tess_status tess_database_prune(tess_database *d, uint32_t keep,
                                         uint64_t *removed);
/* Removes the records that the filter lets by (NULL: all), except for those
 * that tess_database_prune would keep; `keep` 0: none is kept, and a filter
 * that says nothing, as one whose fields were left out by mistake, is
 * INVALID.  What is known
 * of runs goes with the last record of their workload, target and policy; those
 * that lack some cannot be taken up again.  `dry`, if non-zero: they are
 * counted, and nothing is removed. */
TESS_API tess_status tess_database_remove(tess_database *d,
                                          const tess_record_filter *f,
                                          uint32_t keep, int dry,
                                          uint64_t *removed);
/* Everything as JSON, an object a line: "type": "workload" or "record"; and
 * from such a file, in which PARSE names the line that is wrong, as one whose
 * workload is neither in the database nor in a line before, or whose time is
 * impossible.  Records
 * that are there already are not added.  All or nothing. */
TESS_API tess_status tess_database_export(tess_database *d, const char *path);
TESS_API tess_status tess_database_import(tess_database *d, const char *path,
                                          uint64_t *added);

/* ---- fleets ------------------------------------------------------------- */

/* A fleet is a PostgreSQL database in which tuning runs leave what is to be
 * measured and agents, which may be anywhere, fetch it (docs/fleet.md).  It is
 * given by its address, as libpq takes it ("postgres://user@host/fleet"); libpq
 * is loaded when one is used, and UNSUPPORTED says that it is not there. */

typedef struct tess_agent_options {
  uint32_t struct_size;         /* sizeof(tess_agent_options) */
  int32_t share_cores;          /* 1: its cores, or device, may be others' */
  const char *fleet;
  const char *key;              /* of equal devices: "zen3-2c", "sm_90" */
  const char *name;             /* of the device, and of no other of the fleet;
                                 * NULL: of the host and the cores */
  const char *role;             /* "build", "run" or, NULL, "both" */
  const char *target;           /* NULL: "llvm" with its cores, or `device` */
  const char *cores;            /* "0,1"; NULL: all of the process */
  const char *device;           /* "cuda:0"; NULL: none */
  int32_t poll;                 /* 1: the server has no LISTEN, as behind a
                                 * pooler */
  int32_t reserved;
  void (*say)(void *ud, const char *line);   /* events; NULL: nobody is told */
  void *say_ud;
  const char *sign;             /* the file of the fleet's private key, which an
                                 * agent that only builds needs */
  const char *trust;            /* and of its public key, which one that only
                                 * runs needs: what it runs was signed, and
                                 * runs in a sandbox */
  const char *via;              /* a command of the shell that starts a program
                                 * on the device ("ssh board"), which then needs
                                 * nothing but tessera-run; NULL: the device is
                                 * of this machine */
  const char *runner;           /* the path of tessera-run there; NULL: that of
                                 * the target's beside tessera-worker, as
                                 * emulators find it */
} tess_agent_options;

/* Measures for the fleet until tess_stop(), or until it is told to drain; what
 * it is at then is finished.  A server that goes away later is waited for;
 * INFRA: it was not there at the beginning, a core is another agent's, or the
 * name is. */
TESS_API tess_status tess_agent_run(tess_context *c,
                                    const tess_agent_options *o);
/* Steers a fleet; arguments (NULL: none) and answer are JSON.  "init" {"lease":
 * seconds, "keys": folder} makes the schema or brings it up to date, and the
 * keys fleet.key and fleet.pub, if a folder is given; "status", "metrics" and
 * "check" tell; "target" {"key"} is that of a key's devices; "doctor" {"key"}
 * tries an empty job, hop by hop; "add" {"name", "role", "password"} makes a
 * user; "pause" {"name", "on"}, "drain" and "retry" {"name"} are of a device or
 * of a key; "gc" {"age": seconds} forgets.  NOT_FOUND: no such command;
 * INVALID: it was refused, and why; INFRA. */
TESS_API tess_status tess_fleet_call(tess_context *c, const char *fleet,
                                     const char *command, const char *json,
                                     TESS_GIVE char **out);

#ifdef __cplusplus
}
#endif

#include <tessera/graph.h>
#endif
