/* SPDX-License-Identifier: Apache-2.0
 * Bytecode of the interpreter: a flat list of scalar instructions over one
 * register file (vectors are scalarized), so that a thread is a program counter
 * and a copy of the registers.
 *
 * A register holds an interp_word: integers and floats as ir/scalar.h holds
 * them, floats of the residue domain as residues.  Register 0 is not used;
 * constants are preloaded into registers of their own. */
#ifndef BACKENDS_INTERP_CODE_H
#define BACKENDS_INTERP_CODE_H

#include "backends/interp/interp.h"

/* Nesting depth of racing loops. */
enum { CODE_LEVELS = 32 };

typedef enum code_op {
  OP_END,         /* end of the program, or of a thread's kernel body */
  OP_JUMP,        /* to c */
  OP_JZ,          /* a is 0: to c */
  OP_JNE,         /* a != b: to c */
  OP_MOVE,        /* d := a */
  OP_SELECT,      /* d := a ? b : c */
  /* int64, wrapping */
  OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX,  /* d := a op b */
  OP_EQ, OP_NE, OP_LT, OP_LE, OP_AND, OP_OR, OP_NOT,
  /* native, and integers of the residue domain; `what` is an
   * ir_op or ir_fn, `type` the operands' type */
  OP_INT,         /* d := a what b                                   */
  OP_REAL,
  OP_COMPARE,     /* d := a what b, floats                           */
  OP_CAST,        /* d := a of type `from` to `type`                 */
  OP_CALL_INT,    /* d := what(a, b, c)                              */
  OP_CALL_REAL,
  OP_REINTERPRET, /* as OP_CAST                                      */
  OP_EXTERN,      /* d := calls[a]                                   */
  /* residues */
  OP_R_ADD, OP_R_SUB, OP_R_MUL, OP_R_DIV, OP_R_MOD,
  OP_R_MIN, OP_R_MAX, OP_R_LT, OP_R_LE,
  OP_R_CAST, OP_R_FROM_INT, OP_R_TO_INT, /* as OP_CAST               */
  OP_R_CALL, OP_R_REINTERPRET, OP_R_EXTERN,
  OP_R_EFFECT,    /* calls[a], for its side effects */
  /* memory: access `a`; b: the value stored */
  OP_LOAD_INPUT,  /* of a buffer that is never written               */
  OP_LOAD, OP_LOAD_RACING, OP_STORE, OP_STORE_RACING,
  OP_STORE_ATOMIC,
  OP_CHECK,       /* bounds and regions of an access only */
  OP_ALLOC,       /* a: buffer                                       */
  /* control: loop `a` */
  OP_LOOP,        /* start; without iterations: to its exit */
  OP_NEXT,
  OP_RACE_LOOP, OP_RACE_NEXT,
  OP_LANES,       /* lanes of one store race: opens a level */
  OP_LANE,        /* the next lane                                   */
  OP_LANES_END,
  OP_DOMAIN,      /* domain check `a`                                */
  OP_KERNEL,      /* kernel `a`, whose threads start at the next one */
  OP_BARRIER,     /* suspends the thread; also once the extents of all
                   * parameters are known */
  /* of warps: suspended until the other lanes arrive */
  OP_WARP,        /* warp `a` follows, executed once; to its exit */
  OP_WARP_END,
  OP_WARP_BARRIER,
  OP_SHUFFLE,     /* d := what(mask a, value b, lane c) */
  OP_VOTE,        /* d := what(mask a, condition b) */
  OP_ASYNC        /* what(a), of the thread's copies */
} code_op;

typedef struct code_insn {
  uint8_t op, what;
  uint16_t type, from;   /* code << 8 | bits */
  uint16_t nargs;         /* OP_R_CALL */
  uint32_t d, a, b, c;
} code_insn;

static inline uint16_t code_type(tess_dtype t) {
  return (uint16_t)(t.code << 8 | t.bits);
}
static inline tess_dtype code_dtype(uint16_t t) {
  return (tess_dtype){(uint8_t)(t >> 8), (uint8_t)t, 1};
}

/* Which checks an access to a buffer needs. */
typedef enum code_guard {
  CODE_INPUT,     /* an input that is never written: bounds only */
  CODE_PLAIN,     /* no racing loop within its lifetime: bounds, written
                   * before */
  CODE_RACING
} code_guard;

typedef struct code_buf {
  ir_buf buf;
  uint8_t guard;         /* code_guard */
  uint8_t is_input;      /* initialized at entry */
  uint8_t is_private;    /* one instance for each thread of kernel `kernel` */
  uint8_t is_shared;     /* one for each block of threads of it */
  uint8_t is_warp;       /* one for each warp of it */
  uint32_t kernel;       /* counted from 1, 0: none */
  uint32_t ndim, extent; /* registers of its extents, in `regs` */
} code_buf;

/* An access: `regs` holds n indices, then n extents, starting at `at`. */
typedef struct code_access {
  uint32_t buf;          /* in `bufs`; 0: OP_CHECK */
  ir_buf id;
  uint32_t n, at;
  ir_stmt stmt;
  uint32_t region, nregion; /* in `regions`: of each run of alternatives that
                             * `last` ends, one must contain it */
} code_access;

/* A region that may contain an access: n mins, then n extents in `regs`. */
typedef struct code_region {
  uint32_t at;
  ir_stmt block;
  bool last;             /* the last alternative of its block */
  bool none;             /* the block declares nothing of the buffer */
} code_region;

typedef struct code_loop {
  uint32_t var, end;     /* registers */
  uint32_t lo, extent;   /* registers */
  uint32_t body, exit;   /* positions */
  ir_stmt stmt;
} code_loop;

typedef struct code_domain {
  uint32_t value, lo, extent; /* registers */
  uint32_t dim;
  ir_stmt stmt;
} code_domain;

typedef struct code_kernel {
  ir_stmt stmt;
  uint32_t extent[IR_THREAD_COUNT]; /* register; 0: the tag is not bound */
  uint32_t index[IR_THREAD_COUNT]; /* register of the thread's own index */
  uint32_t exit;
} code_kernel;

/* A loop that a warp executes once: its lanes must agree on the registers
 * listed. */
typedef struct code_warp {
  ir_stmt stmt;
  uint32_t n, at;        /* in `regs`; the variables in `vars` */
  uint32_t vars;
} code_warp;

typedef struct code_call {
  ir_str name;
  uint64_t name_hash;
  tess_dtype type;
  uint32_t n, at;        /* argument registers, in `regs` */
  ir_stmt stmt;
} code_call;

typedef VEC(uint32_t) code_times;

typedef struct code_unit {
  const ir_program *p;
  mem_heap *heap;
  VEC(code_insn) insn;
  VEC(ir_stmt) origin;   /* insn -> statement */
  VEC(interp_word) init; /* initial values of the registers */
  VEC(uint32_t) regs;
  VEC(code_buf) bufs;    /* 0 unused; parameters first, in order */
  VEC(code_access) accesses;
  VEC(code_region) regions;
  VEC(code_loop) loops;
  VEC(code_domain) domains;
  VEC(code_kernel) kernels;
  VEC(code_warp) warps;
  bool has_warps;        /* races are tracked between warps of threads */
  VEC(code_call) calls;
  uint32_t nparams;
  /* While compiling. */
  VEC(uint8_t) valid;    /* register -> holds a valid value here */
  VEC(uint32_t) undo;    /* registers to invalidate again */
  VEC(ir_stmt) blocks;   /* open blocks but the root, outermost first */
  /* While running: start times of the iterations of open racing loops. */
  code_times times;
} code_unit;

/* Compiles the entry function; TESS_INVALID, TESS_UNSUPPORTED, TESS_LIMIT with
 * *e.  Expressions may be added to the program. */
tess_status code_compile(code_unit *k, ir_program *p, arena *memory,
                         const interp_options *o, interp_error *e);
void code_free(code_unit *k);

#endif
