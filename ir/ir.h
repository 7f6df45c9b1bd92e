/* SPDX-License-Identifier: Apache-2.0
 * The tensor program (IR): its tables, and access to them.  ir/edit.h builds
 * and changes programs; ir/query.h asks about them.
 *
 * A program is a handful of tables; everything in it is named by a 32-bit
 * index into one of them, and index 0 means "none" everywhere.  So cloning a
 * program is one memcpy a table, dropping one is a reset, and a program
 * reused for the next candidate allocates nothing once it is warm.
 *
 *   node   expressions: immutable, interned (equal means same index),
 *          simplified as they are built, with constant bounds kept beside
 *   stmt   statements: a mutable tree, never shared
 *   block  what a block statement holds beyond its place in the tree
 *   var buf iter region anno value arg text   what these refer to
 *
 * Table entries are never reused within a program's life: an index, once
 * given out, names the same thing or a dead one (ir_is_dead).
 *
 * Memory: all functions here may unwind through mem_protect when the heap's
 * cap is reached; none tests for NULL.
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include <tessera/types.h>

typedef uint32_t ir_expr;   /* index into node */
typedef uint32_t ir_stmt;   /* index into stmt */
typedef uint32_t ir_var;    /* index into var */
typedef uint32_t ir_buf;    /* index into buf */
typedef uint32_t ir_str;    /* offset into text of a NUL-terminated name */
typedef uint32_t ir_val;    /* index into value */

typedef struct ir_span { uint32_t at, n; } ir_span;  /* a piece of a pool */

/* ---- expressions -------------------------------------------------------- */

/* Operators.  Integer DIV and MOD are floor division and floor modulo, and
 * both give 0 for a zero divisor; DIV on floats is ordinary division.
 * Comparisons and logic give bool.  GT and GE do not exist: swap. */
typedef enum ir_op {
  IR_NONE,
  IR_INT,        /* i: the value (any integer type and bool)               */
  IR_REAL,       /* f: the value (any float type, exactly representable)   */
  IR_VAR,        /* a: variable                                            */
  IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MOD, IR_MIN, IR_MAX,     /* a, b      */
  IR_EQ, IR_NE, IR_LT, IR_LE, IR_AND, IR_OR,                  /* a, b      */
  IR_NOT,        /* a                                                      */
  IR_SELECT,     /* a: condition, b: if true, c: if false; only the chosen
                  * side is evaluated (a load there may be out of bounds
                  * when not chosen)                                       */
  IR_CAST,       /* a: value; to this node's dtype                         */
  IR_LOAD,       /* a: buffer, b: first index in arg, n: number of indices,
                  * c: mask (bool, as many lanes; 0: none; a masked-off
                  * lane gives zero); where there is one it also follows
                  * the indices in arg, as the last operand                */
  IR_RAMP,       /* a: base, b: stride; lanes from dtype                   */
  IR_BROADCAST,  /* a: value; lanes from dtype                             */
  IR_CALL        /* a: function (ir_fn), b: first argument in arg,
                  * n: number of arguments, c: name (ir_fn_is_named)       */
} ir_op;

/* Functions an IR_CALL can name; ir/fn.def has a row for each. */
typedef enum ir_fn {
  IR_FN_NONE,
#define FN(name, text, nargs, doc) IR_FN_##name,
#include "ir/fn.def"
#undef FN
  IR_FN_COUNT
} ir_fn;
/* Calls that have a name: of the host's function, or what ir/tensor_call.h
 * says. */
static inline bool ir_fn_is_named(uint32_t fn) {
  return fn == IR_FN_EXTERN || fn == IR_FN_INSTEAD;
}

/* A function whose value depends on what other lanes of the warp call. */
static inline bool ir_fn_of_warp(uint32_t fn) {
  return fn >= IR_FN_SHFL && fn <= IR_FN_ALL;
}
/* One that is called for what it does to a thread's copies. */
static inline bool ir_fn_of_copies(uint32_t fn) {
  return fn >= IR_FN_ASYNC_BEGIN && fn <= IR_FN_ASYNC_WAIT;
}
enum { IR_WARP_LANES = 32 };

typedef struct ir_node {
  uint8_t op;
  uint8_t is_index : 1, /* built from index variables and constants only, and
                         * does not overflow: integer algebra may rearrange
                         * it */
      has_load : 1,     /* reads a buffer, here or below                    */
      is_open : 1,      /* uses sizes, or counts of which no end is known:
                         * taken not to overflow where bounds do not tell
                         * (ir_takes_to_fit) */
      is_far : 1,       /* uses a number so large that sums with sizes are
                         * not taken so                                     */
      wraps : 1,        /* is, or has below, int64 arithmetic on indices that
                         * may leave int64: no mathematical integer */
      spare : 3;        /* 0: nodes are told apart by their words           */
  uint16_t n;         /* IR_LOAD, IR_CALL: number of arguments */
  tess_dtype dtype;
  union {
    struct {
      uint32_t a, b, c;
      uint32_t vars;  /* bit v % 32 of each variable v used here or below   */
    };
    int64_t i;
    double f;
  };
  int64_t lo, hi;     /* inclusive constant bounds of an integer's value;
                       * INT64_MIN, INT64_MAX where not known */
} ir_node;

/* A size (IR_VAR_SIZE) is not greater, which is looked at when a program is
 * called: so products of two, and multiples by no more than this, stay within
 * int64. */
#define IR_MAX_SIZE INT64_C(0x7fffffff)

#define IR_INDEX ((tess_dtype){TESS_DTYPE_INT, 64, 1})   /* of loop variables */
#define IR_BOOL ((tess_dtype){TESS_DTYPE_BOOL, 8, 1})

/* ---- variables ---------------------------------------------------------- */

typedef enum ir_var_kind {
  IR_VAR_LOOP,     /* bound by the loop `owner` */
  IR_VAR_ITER,     /* an iteration variable of the block `owner` */
  IR_VAR_LET,      /* bound by the let `owner` */
  IR_VAR_SIZE,     /* a symbolic extent: argument of the function */
  IR_VAR_FORMAL    /* a formal of a reducer, an index map or an intrinsic */
} ir_var_kind;

/* A derived variable's name is spelled out only when printed
 * (ir_var_name): split part k of x is "x_k", fused x and y "x_y_fused", with
 * part 1 "x_y" (a piece of a longer fusion), x of an init "x_init", its
 * outer part "x_o" and its inner one "x_i". */
typedef enum ir_name_form {
  IR_NAME_PLAIN, IR_NAME_SPLIT, IR_NAME_FUSED, IR_NAME_AX, /* ax<part> */
  IR_NAME_INIT, IR_NAME_OUTER, IR_NAME_INNER
} ir_name_form;

typedef struct ir_var_rec {
  uint8_t kind, form;
  uint16_t part;
  tess_dtype dtype;
  ir_str name;           /* IR_NAME_PLAIN */
  ir_var from[2];        /* FUSED: both; other derived ones: [0] */
  ir_stmt owner;
  ir_expr ref;           /* the IR_VAR node */
  int64_t lo, hi;        /* constant bounds of its values, inclusive */
} ir_var_rec;

/* ---- buffers ------------------------------------------------------------ */

typedef enum ir_scope {
#define SCOPE(name, text) IR_SCOPE_##name,
#include "ir/scope.def"
#undef SCOPE
  IR_SCOPE_COUNT
} ir_scope;

typedef enum ir_role {
  IR_ROLE_LOCAL,        /* allocated inside the function */
  IR_ROLE_INPUT, IR_ROLE_OUTPUT, IR_ROLE_CONSTANT,
  IR_ROLE_LAYOUT_FREE   /* an input whose layout the schedule may choose */
} ir_role;

typedef struct ir_buf_rec {
  ir_str name;
  tess_dtype dtype;      /* of one element; lanes 1 until vectorised */
  uint8_t scope, role;
  uint16_t align;        /* bytes; 0: natural */
  ir_span shape;         /* extents, in arg (ir_expr) */
  ir_span strides;       /* in elements, in arg; n 0: compact row-major */
  ir_expr offset;        /* in elements; 0 (none): no offset */
} ir_buf_rec;

/* ---- regions, values, annotations --------------------------------------- */

/* The box [min, min + extent) of a buffer; arg holds min, extent for each
 * dimension in turn, starting at `at`. */
typedef struct ir_region { ir_buf buf; uint32_t at; } ir_region;

/* A value of an annotation or attribute. */
typedef enum ir_val_tag {
  IR_VAL_NIL, IR_VAL_BOOL, IR_VAL_INT, IR_VAL_REAL, IR_VAL_STR, IR_VAL_LIST,
  IR_VAL_DICT    /* list of alternating keys (STR) and values */
} ir_val_tag;
typedef struct ir_value {
  uint32_t tag, n;       /* LIST, DICT: number of elements */
  union {
    int64_t i;           /* INT, BOOL */
    double f;            /* REAL */
    ir_str s;            /* STR */
    uint32_t at;         /* LIST, DICT: first element (ir_val) in arg */
  };
} ir_value;
typedef struct ir_anno { ir_str key; ir_val val; uint32_t next; } ir_anno;

/* ---- statements --------------------------------------------------------- */

typedef enum ir_kind {
  IR_DEAD,        /* was removed; prev: the instruction that ended it */
  IR_LOOP,        /* body */
  IR_BLOCK,       /* body; alt: the init of a reduction */
  IR_STORE,
  IR_IF,          /* body: then, alt: else */
  IR_LET,         /* body */
  IR_EVALUATE,
  IR_ALLOCATE,    /* body: where the buffer lives; lowered programs only */
  IR_BARRIER
} ir_kind;

typedef enum ir_loop_kind {
  IR_SERIAL, IR_PARALLEL, IR_VECTORIZED, IR_UNROLLED, IR_THREAD
} ir_loop_kind;

/* A loop bound to IR_WARP has one iteration, which all lanes of a warp (the
 * IR_WARP_LANES threads whose numbers in the block follow one another, .x
 * fastest) run together, once: they wait for each other before it and after
 * it, and what they did to memory before is seen in it, as is after it what
 * it did. */
typedef enum ir_thread {
#define THREAD(name, text) IR_##name,
#include "ir/thread.def"
#undef THREAD
  IR_THREAD_COUNT
} ir_thread;

/* Body and alt are lists of siblings linked by next and prev, so a sequence
 * needs no node of its own.  parent is 0 only at a function's root block. */
typedef struct ir_stmt_rec {
  uint8_t kind;          /* ir_kind */
  uint8_t loop_kind;     /* IR_LOOP */
  uint8_t thread;        /* IR_LOOP of kind IR_THREAD: ir_thread;
                          * IR_BARRIER: the ir_scope it orders */
  uint8_t in_alt;        /* it hangs in its parent's alt list */
  ir_stmt parent, prev, next, body, alt;
  uint32_t anno;         /* IR_LOOP, IR_BLOCK: first annotation */
  union {
    struct { ir_var var; ir_expr lo, extent; };           /* IR_LOOP */
    uint32_t block;                                       /* IR_BLOCK */
    struct { ir_buf buf; ir_span idx; ir_expr value, mask; }; /* IR_STORE */
    ir_expr cond;                                         /* IR_IF */
    struct { ir_var let_var; ir_expr let_value; };        /* IR_LET */
    ir_expr eval;                                         /* IR_EVALUATE */
    ir_buf alloc;                                         /* IR_ALLOCATE */
  };
} ir_stmt_rec;

typedef enum ir_iter_kind { IR_SPATIAL, IR_REDUCE, IR_OPAQUE } ir_iter_kind;

typedef struct ir_iter {
  ir_var var;
  uint32_t kind;         /* ir_iter_kind */
  ir_expr lo, extent;    /* its domain */
  ir_expr bind;          /* its value, over the loops around the block */
} ir_iter;

/* A buffer that names, inside the block, a region of another. */
typedef struct ir_match { ir_buf buf; ir_region source; } ir_match;

typedef struct ir_block_rec {
  ir_str name;           /* unique in its function; "root" for the root */
  ir_stmt stmt;          /* its statement */
  ir_span iters;         /* in iter */
  ir_expr pred;          /* over the loops around; 0: always true */
  ir_span reads, writes; /* in region */
  ir_span allocs;        /* ir_buf, in arg: buffers that live in it */
  ir_span matches;       /* in match */
  uint32_t reducer;      /* in reducer: how its reduction combines; 0: none */
} ir_block_rec;

/* What schedules may do to the order of what a reducer combines, which is
 * found out where a description uses it (ir/build/describe_laws.c). */
typedef enum ir_order {
  IR_ORDER_FREE,
  IR_ORDER_KEPT,  /* parts by themselves, but in their order */
  IR_ORDER_FIXED  /* one after another */
} ir_order;

/* (combine, identity) over n-tuples.  combine[i] is an expression over the
 * formals lhs[0..n) and rhs[0..n). */
typedef struct ir_reducer {
  ir_str name;           /* "sum" "prod" "min" "max", else the user's */
  uint32_t n;
  ir_span lhs, rhs;      /* ir_var, in arg */
  ir_span combine, identity; /* ir_expr, in arg */
  uint32_t ordered;      /* ir_order */
} ir_reducer;

typedef struct ir_func {
  ir_str name;
  ir_span params;        /* ir_buf, in arg: inputs, then outputs */
  ir_span sizes;         /* ir_var, in arg: symbolic extents */
  ir_stmt root;          /* its root block */
} ir_func;

/* Contents of an IR_ROLE_CONSTANT buffer; the bytes are shared by clones
 * and belong to whoever made the first program. */
typedef struct ir_const {
  ir_buf buf;
  const void *data;
  size_t bytes;
} ir_const;

typedef struct ir_program {
  mem_heap *heap;
  VEC(ir_node) node;
  VEC(uint32_t) intern;  /* hash table over node; n is a power of two */
  VEC(ir_var_rec) var;
  VEC(ir_buf_rec) buf;
  VEC(ir_stmt_rec) stmt;
  VEC(ir_block_rec) block;
  VEC(ir_iter) iter;
  VEC(ir_region) region;
  VEC(ir_match) match;
  VEC(ir_reducer) reducer;
  VEC(ir_func) func;
  VEC(ir_const) constant;
  VEC(ir_anno) anno;
  VEC(ir_value) value;
  VEC(uint32_t) arg;
  VEC(char) text;
  VEC(uint32_t) names;   /* hash table over text: a count, then slots */
  uint32_t entry;        /* the function worked on, index into func;
                          * the first one made, until somebody sets it */
  uint32_t step;         /* number of the instruction now being applied:
                          * noted in every statement that dies */
  uint32_t edits;        /* counts edits; what is cached compares it */
  uint32_t flat, deep;   /* the first `flat` nodes nest at most `deep` */
} ir_program;

/* The tables of which entries are changed after they were made; node and arg
 * are only added to, and intern follows node. */
/* clang-format off */
#define IR_CHANGED_TABLES(T) \
  T(var) T(buf) T(stmt) T(block) T(iter) T(region) T(match) T(reducer) \
  T(func) T(constant) T(anno) T(value) T(text) T(names)
/* clang-format on */

/* Access by index.  The pointers die at the next call that makes something. */
static inline const ir_node *ir_at(const ir_program *p, ir_expr e) {
  return &p->node.v[e];
}
/* The condition of what a tensor intrinsic may do instead: its operands are
 * addresses, and are not read. */
static inline bool ir_is_instead(const ir_program *p, ir_expr e) {
  const ir_node *n = &p->node.v[e];
  return n->op == IR_CALL && n->a == IR_FN_INSTEAD;
}
static inline ir_stmt_rec *ir_st(const ir_program *p, ir_stmt s) {
  return &p->stmt.v[s];
}
static inline ir_block_rec *ir_blk(const ir_program *p, ir_stmt s) {
  return &p->block.v[p->stmt.v[s].block];
}
static inline ir_func *ir_entry(const ir_program *p) {
  return &p->func.v[p->entry];
}

/* ---- life (program.c) --------------------------------------------------- */

void ir_program_init(ir_program *p, mem_heap *heap);
void ir_program_free(ir_program *p);
/* Forget everything, keep the memory. */
void ir_program_reset(ir_program *p);
/* dst := src, exactly (same indices); reuses dst's memory. */
void ir_program_copy(ir_program *dst, const ir_program *src);

/* ---- names (text.c) ----------------------------------------------------- */

ir_str ir_name(ir_program *p, const char *s);          /* interned */
ir_str ir_name_n(ir_program *p, const char *s, size_t n);
/* Enters all of text again, which came from elsewhere and ends in a NUL;
 * false when a name is empty or there twice. */
bool ir_reintern_names(ir_program *p);
ir_str ir_name_cat(ir_program *p, ir_str a, const char *suffix);
static inline const char *ir_text(const ir_program *p, ir_str s) {
  return p->text.v + s;
}
/* Spell a variable's name; derived ones are built in `out`.  Not made unique:
 * the printer does that. */
void ir_var_name(const ir_program *p, ir_var v, strbuf *out);
/* The same in an arena. */
const char *ir_var_text(const ir_program *p, ir_var v, arena *scratch);

static inline ir_expr ir_ref(const ir_program *p, ir_var v) {
  return p->var.v[v].ref;
}

/* ---- dtypes (dtype.c) --------------------------------------------------- */

/* "float32", "int8", "bool", "bfloat16", "float32x8"; false: no such type. */
bool ir_dtype_parse(const char *s, tess_dtype *out);
/* Whether there is such a type: a C program can make any. */
bool ir_dtype_ok(tess_dtype t);
/* Whether it is a type of one number. */
bool ir_is_number(tess_dtype t);
void ir_dtype_print(tess_dtype t, strbuf *out);
static inline bool ir_dtype_eq(tess_dtype a, tess_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
static inline bool ir_is_float(tess_dtype t) {
  return t.code == TESS_DTYPE_FLOAT || t.code == TESS_DTYPE_BFLOAT;
}
static inline bool ir_is_int(tess_dtype t) {
  return t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT ||
         t.code == TESS_DTYPE_BOOL;
}
static inline size_t ir_dtype_bytes(tess_dtype t) {
  return (size_t)((t.bits + 7) / 8) * t.lanes;
}

/* ---- access ------------------------------------------------------------- */

static inline bool ir_is_const(const ir_program *p, ir_expr e, int64_t v) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT && n->i == v;
}
static inline bool ir_const_int(const ir_program *p, ir_expr e, int64_t *v) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT ? (*v = n->i, true) : false;
}
/* Bit v % 32 of each variable v that e uses, others perhaps with it. */
static inline uint32_t ir_vars(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT || n->op == IR_REAL ? 0 : n->vars;
}
static inline uint32_t ir_ndim(const ir_program *p, ir_buf b) {
  return p->buf.v[b].shape.n;
}
static inline ir_expr ir_dim(const ir_program *p, ir_buf b, uint32_t i) {
  return p->arg.v[p->buf.v[b].shape.at + i];
}
static inline ir_expr ir_region_min(const ir_program *p, ir_region r,
                                    uint32_t i) {
  return p->arg.v[r.at + 2 * i];
}
static inline ir_expr ir_region_extent(const ir_program *p, ir_region r,
                                       uint32_t i) {
  return p->arg.v[r.at + 2 * i + 1];
}
static inline bool ir_is_dead(const ir_program *p, ir_stmt s) {
  return p->stmt.v[s].kind == IR_DEAD;
}
static inline bool ir_is_loop(const ir_program *p, ir_stmt s) {
  return p->stmt.v[s].kind == IR_LOOP;
}
static inline bool ir_is_block(const ir_program *p, ir_stmt s) {
  return p->stmt.v[s].kind == IR_BLOCK;
}
/* Pre-order: the statement after s inside `top`, not descending into s; 0 at
 * the end. */
ir_stmt ir_skip(const ir_program *p, ir_stmt s, ir_stmt top);
/* The same, descending. */
static inline ir_stmt ir_next(const ir_program *p, ir_stmt s, ir_stmt top) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->body ? r->body : r->alt ? r->alt : ir_skip(p, s, top);
}

/* ---- names of scopes, threads, operators (buffer.c) --------------------- */

bool ir_scope_parse(const char *s, ir_scope *out);
const char *ir_scope_text(ir_scope s);
/* Fragments of matrices belong to a warp, and only what all of its lanes do
 * together (a loop bound to IR_WARP) touches them. */
static inline bool ir_scope_is_fragment(uint32_t s) {
  return s >= IR_SCOPE_WMMA_A && s <= IR_SCOPE_SIMDGROUP;
}
/* Threads see the same memory, whatever device it is near to. */
static inline bool ir_scope_is_global(uint32_t s) {
  return s == IR_SCOPE_GLOBAL || (s >= IR_SCOPE_VTCM && s <= IR_SCOPE_AMX);
}
bool ir_thread_parse(const char *s, ir_thread *out);
const char *ir_thread_text(ir_thread t);
const char *ir_op_text(ir_op op);          /* "+", "min", ... */
const char *ir_fn_text(ir_fn fn);          /* "exp", ... */

#endif
