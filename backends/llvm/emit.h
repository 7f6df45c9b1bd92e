/* SPDX-License-Identifier: Apache-2.0
 * State of the emitter from lowered programs to LLVM IR, shared by the
 * emit_*.c.
 *
 * One emitter makes one module.  It holds LLVM objects, which are not arena
 * memory: its owner releases them (emit_close), also after memory ran out while
 * emitting.  No LLVM frame is ever unwound: LLVM calls nothing of ours that
 * allocates. */
#ifndef BACKENDS_LLVM_EMIT_H
#define BACKENDS_LLVM_EMIT_H

#include "backends/llvm/code.h"
#include "backends/target.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/analysis/unconditional.h"
#include "ir/edit.h"
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <tessera/tessera.h>

/* The alias scope and noalias metadata of one buffer. */
typedef struct emit_alias { LLVMValueRef scope, others; } emit_alias;

/* A stack slot that holds memory of the runtime's, or NULL. */
typedef struct emit_held {
  LLVMValueRef slot;
  struct emit_held *next;
} emit_held;

/* Values available at the builder's position (value numbering).  Every value is
 * on one of the trails, in order of creation. */
typedef struct emit_memo {
  LLVMValueRef *value;            /* by ir_expr, or NULL */
  ir_expr *steady, *fickle;       /* trails; fickle: depends on memory */
  uint32_t nsteady, nfickle;
} emit_memo;

/* The function being emitted. */
typedef struct emit_fn {
  LLVMValueRef fn;
  LLVMBasicBlockRef entry, exit;  /* allocas go to entry; exit returns */
  LLVMValueRef status;            /* the phi of exit */
  LLVMValueRef rt;                /* const tess_runtime * */
  LLVMValueRef frame;             /* heap memory of large buffers, or NULL */
  uint64_t stack, heap;           /* bytes given out of each */
  emit_memo memo;                 /* values are per function */
  bool in_parallel;               /* nested parallel loops are serial */
  struct emit_held *held;         /* memory to free at exit */
} emit_fn;

/* What the kernels of a device do differently from a processor's function.
 * NULL: code is for a processor. */
struct emit;
typedef struct emit_device {
  /* A loop bound to an axis of threads, or to a warp. */
  void (*thread_loop)(struct emit *m, ir_stmt loop);
  void (*barrier)(struct emit *m, const ir_stmt_rec *s);
  /* A collective of a warp, or a function on asynchronous copies. */
  LLVMValueRef (*call)(struct emit *m, ir_expr e);
  /* A store that is done in another way; false: it is like any other. */
  bool (*store)(struct emit *m, const ir_stmt_rec *s);
  /* The call in place of a warp's code, under this condition. */
  void (*instead)(struct emit *m, ir_expr cond, ir_stmt body);
  /* How many copies of the body of a serial loop make an iteration of the
   * emitted one (1: not unrolled; the extent: fully). */
  int64_t (*unroll)(struct emit *m, ir_stmt loop, int64_t extent);
  uint32_t align;     /* bytes, of memory that a kernel is called with */
} emit_device;

typedef struct emit {
  ir_program *p;
  arena *scratch;
  const target *target;
  err_state *err;                 /* set once something is unsupported */
  bool refused;

  LLVMContextRef ctx;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr;
  unsigned kind_scope, kind_noalias;

  emit_fn fn;
  LLVMValueRef *var;              /* by ir_var */
  LLVMValueRef *buf;              /* by ir_buf: its first element */
  LLVMValueRef *slot;             /* by ir_buf: holds it until its free */
  emit_alias *alias;              /* by ir_buf */
  uint8_t *fickle;                /* by ir_expr: loads, or calls the host */
  LLVMValueRef mask;              /* active lanes; NULL: all */
  ir_unconditional must;          /* evaluated on both sides of choices */
  uint32_t branches;              /* emitted for choices */
  ir_buf given_buf;               /* whose loads have this value; 0: none */
  LLVMValueRef given;
  bool has_f16;                   /* some value has type float16 */
  uint64_t frame[2];              /* bytes of the runtime's: the kernel's, and
                                   * the most of a parallel loop's body */
  const emit_device *device;      /* NULL: a processor */
  void *ud;                       /* the device's */
} emit;

/* Is the shape of the memory access one element, or elements in a row from an
 * address on?  For a device's own stores: the address of the first, and how
 * many (0: neither). */
LLVMValueRef emit_row_address(emit *m, ir_buf b, ir_expr index,
                              uint32_t *lanes);
/* Bytes that the address of its first element is a multiple of. */
uint32_t emit_row_align(emit *m, ir_buf b, ir_expr index);

/* Records the first thing that cannot be compiled; emitting goes on, with
 * arbitrary values, and its result is discarded. */
void emit_refuse(emit *m, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));

/* ---- types and constants (emit_type.c) ---------------------------------- */

/* Of a value: bool is i1, bfloat16 its bits (i16). */
LLVMTypeRef emit_type(emit *m, tess_dtype t);
/* Of an element in memory: bool is a byte. */
LLVMTypeRef emit_memory_type(emit *m, tess_dtype t);
LLVMTypeRef emit_vector_type(LLVMTypeRef element, uint32_t lanes);
LLVMValueRef emit_int(emit *m, tess_dtype t, int64_t v);   /* all lanes */
LLVMValueRef emit_real(emit *m, tess_dtype t, double v);   /* all lanes */
LLVMValueRef emit_i64(emit *m, int64_t v);
LLVMValueRef emit_splat(emit *m, LLVMValueRef v, uint32_t lanes);
/* Call of the intrinsic "llvm.<name>", overloaded by n types. */
LLVMValueRef emit_intrinsic(emit *m, const char *name, unsigned n,
                            LLVMTypeRef *types, unsigned nargs,
                            LLVMValueRef *args);
LLVMBasicBlockRef emit_new_block(emit *m, const char *name);

/* ---- expressions -------------------------------------------------------- */

/* The value of e at the builder's position (emit_expr.c). */
LLVMValueRef emit_expr(emit *m, ir_expr e);
/* cond ? yes : no; a side that loads is evaluated only when chosen; an
 * expression that is 0 stands for the value beside it. */
LLVMValueRef emit_choice(emit *m, ir_expr cond, ir_expr yes,
                         LLVMValueRef yes_value, ir_expr no,
                         LLVMValueRef no_value);
/* a op b on values (emit_arith.c); n has operator, flags and types. */
LLVMValueRef emit_binary(emit *m, ir_expr e, LLVMValueRef a, LLVMValueRef b);
/* The remainder of truncated division as of fmod, on float32 or float64
 * (emit_remainder.c). */
LLVMValueRef emit_remainder(emit *m, tess_dtype t, LLVMValueRef a,
                            LLVMValueRef b);
LLVMValueRef emit_call(emit *m, ir_expr e);                /* emit_call.c */
LLVMValueRef emit_cast(emit *m, tess_dtype to, ir_expr from,
                       LLVMValueRef v);                    /* emit_cast.c */

/* Invalidates the values computed since a mark: at a merge point they may not
 * dominate what follows. */
typedef struct emit_mark { uint32_t steady, fickle; } emit_mark;
emit_mark emit_get_mark(const emit *m);
void emit_release(emit *m, emit_mark mark);
/* Invalidates loaded values: memory may have changed. */
void emit_forget_loads(emit *m);

/* ---- memory (emit_memory.c) --------------------------------------------- */

LLVMValueRef emit_load(emit *m, ir_expr e);
void emit_store(emit *m, const ir_stmt_rec *s);
/* The address of an unmasked load. */
LLVMValueRef emit_address(emit *m, ir_expr load);
/* noalias metadata: buffers in use do not overlap. */
void emit_alias_facts(emit *m, const uint8_t *used);

/* A loop that transpose_copies marked, as a transposition in registers; false:
 * it is not of that form (emit_transpose.c). */
bool emit_transpose(emit *m, ir_stmt loop);
/* Memory accesses of a transposition: `lanes` elements in a row, the first
 * `skip` (a value) behind that at the index. */
LLVMValueRef emit_load_row(emit *m, ir_buf b, ir_expr first, LLVMValueRef skip,
                           uint32_t lanes);
void emit_store_row(emit *m, ir_buf b, ir_expr first, uint32_t skip,
                    LLVMValueRef v);

/* The call of a tensor intrinsic, an `instead` (emit_tensor.c). */
void emit_tensor_call(emit *m, ir_expr e);

/* ---- statements --------------------------------------------------------- */

/* The statement, without its siblings (emit_stmt.c). */
void emit_one_stmt(emit *m, ir_stmt s);
/* s and all siblings after it. */
void emit_list(emit *m, ir_stmt s);
/* Is s a loop that is run by several threads? (emit_parallel.c) */
bool emit_is_parallel(const emit *m, ir_stmt s);
/* Emits such a loop as a call of rt->parallel_for. */
void emit_parallel(emit *m, ir_stmt loop);
/* The body of a loop once, for that value of its variable. */
void emit_body_with(emit *m, const ir_stmt_rec *s, LLVMValueRef value);
/* Emits a loop over from .. to - 1; `some`: with at least one iteration. */
void emit_serial(emit *m, const ir_stmt_rec *s, LLVMValueRef from,
                 LLVMValueRef to, bool some);
/* The buffers and variables that the statement s and all below it use
 * (emit_survey.c); by index, zeroed by the caller. */
typedef struct emit_uses { uint8_t *buf, *var; } emit_uses;
void emit_survey(emit *m, ir_stmt s, emit_uses u);
/* Local buffers (emit_frame.c): allocates storage for each allocation of
 * constant size below `first`, less those in parallel loops. */
void emit_frame(emit *m, ir_stmt first);
/* After the functions: how much they ask of the runtime, EMIT_FRAME. */
void emit_frame_sizes(emit *m);
/* Bytes of a buffer of constant size; false: not constant, or too many. */
bool emit_constant_bytes(const emit *m, ir_buf b, uint64_t *bytes);
/* A stack slot that lives as long as the function. */
LLVMValueRef emit_stack(emit *m, LLVMTypeRef type, uint64_t bytes);
/* Before and after the body of the allocation s: a buffer whose size is not
 * constant is allocated there. */
void emit_allocate(emit *m, ir_stmt s);
void emit_free(emit *m, ir_stmt s);
/* Opens a function of that type at its entry, without an exit. */
void emit_open_fn(emit *m, const char *name, LLVMTypeRef type);
/* Closes it: from the entry, where allocas are, to the start. */
void emit_close_entry(emit *m, LLVMBasicBlockRef start);
/* Opens a function `int32 name(types...)` at its entry, and closes it with
 * TESS_OK; in between, emit_fail returns a status when `failed`. */
void emit_begin_fn(emit *m, const char *name, bool exported, unsigned nparams,
                   LLVMTypeRef *params);
void emit_end_fn(emit *m);
void emit_fail_if(emit *m, LLVMValueRef failed, LLVMValueRef status);
/* A member of the tess_runtime structure. */
LLVMValueRef emit_rt_entry(emit *m, size_t offset);

/* ---- the whole (emit_module.c) ------------------------------------------ */

/* Opens the module of p's entry function for a target machine. */
void emit_open(emit *m, LLVMContextRef ctx, const char *triple,
               LLVMTargetDataRef layout);
/* Its tables, by node, variable and buffer; before anything is emitted. */
void emit_prepare(emit *m);
/* Emits it; unwinds when memory runs out. */
void emit_kernel(emit *m);
void emit_close(emit *m);
/* After emit_kernel: makes the module one that is linked without Tessera
 * (deploy.c). */
tess_status llvm_deploy(emit *m);

#endif
