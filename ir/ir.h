/* SPDX-License-Identifier: Apache-2.0
 * The tensor program (IR): its tables and access to them. ir/edit.h builds and
 * edits programs; ir/query.h queries them.
 *
 * A program is a set of tables; everything in it is named by a 32-bit index
 * into one of them, and index 0 means "none" everywhere.  So cloning a program
 * is one memcpy a table, dropping one is a reset, and a program reused for the
 * next candidate does not allocate once it is warm.
 *
 *   node   expressions: immutable, hash-consed (equal means same index),
 *          simplified as they are built, with cached constant bounds
 *   stmt   statements: a mutable tree, never shared
 *   block  the parts of a block statement: iters, regions, buffers
 *   var buf iter region anno value arg text   what these refer to
 *
 * Table entries are never reused within a program's life: an index names the
 * same object for ever, or a dead one (ir_is_dead).
 *
 * Memory: all functions here may unwind through mem_protect when the heap's cap
 * is reached; none tests for NULL. */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/arena.h"
#include "base/assert.h"
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

typedef struct ir_span { uint32_t at, n; } ir_span;  /* a range of a pool */

/* ---- expressions -------------------------------------------------------- */

/* Operators.  Integer DIV and MOD are floor division and floor modulo, and both
 * give 0 for a zero divisor; DIV on floats is ordinary division.  Comparisons
 * and logic give bool.  There is no GT or GE: swap the operands. */
typedef enum ir_op {
  IR_NONE,
  IR_INT,        /* i: the value (any integer type and bool) */
  IR_REAL,       /* f: the value (any float type, exactly representable) */
  IR_VAR,        /* a: variable */
  IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MOD, IR_MIN, IR_MAX,     /* a, b */
  IR_EQ, IR_NE, IR_LT, IR_LE, IR_AND, IR_OR,                  /* a, b */
  IR_NOT,        /* a */
  IR_SELECT,     /* a: condition, b: if true, c: if false; only the selected
                  * operand is evaluated (a load in the other may be out of
                  * bounds) */
  IR_CAST,       /* a: value; to this node's dtype */
  IR_LOAD,       /* a: buffer, b: first index in arg, n: number of indices,
                  * c: mask (bool, as many lanes; 0: none; a masked-off
                  * lane gives zero); where there is one it also follows
                  * the indices in arg, as the last operand */
  IR_RAMP,       /* a: base, b: stride; lanes from dtype */
  IR_BROADCAST,  /* a: value; lanes from dtype */
  IR_CALL        /* a: function (ir_fn), b: first argument in arg,
                  * n: number of arguments, c: name (ir_fn_is_named) */
} ir_op;

/* Functions of an IR_CALL; ir/fn.def has a row for each. */
typedef enum ir_fn {
  IR_FN_NONE,
#define FN(name, text, kind, nargs, doc) IR_FN_##name,
#include "ir/fn.def"
#undef FN
  IR_FN_COUNT
} ir_fn;
typedef enum ir_fn_kind {
  IR_FN_COSTLY, /* of floats, far more expensive than arithmetic */
  IR_FN_CHEAP,  /* of floats, but abs, which is of all numbers */
  IR_FN_BITS,   /* of integers */
  IR_FN_OTHER
} ir_fn_kind;
/* Calls by name: of a function of the host, or of a tensor intrinsic's
 * implementation (ir/tensor_call.h). */
static inline bool ir_fn_is_named(uint32_t fn) {
  return fn == IR_FN_EXTERN || fn == IR_FN_INSTEAD;
}

/* Warp-collective functions: the value depends on the calls of other lanes. */
static inline bool ir_fn_of_warp(uint32_t fn) {
  return fn >= IR_FN_SHFL && fn <= IR_FN_ALL;
}
/* Functions called for their effect on a thread's asynchronous copies. */
static inline bool ir_fn_of_copies(uint32_t fn) {
  return fn >= IR_FN_ASYNC_BEGIN && fn <= IR_FN_ASYNC_WAIT;
}
enum { IR_WARP_LANES = 32 };

typedef struct ir_node {
  uint8_t op;
  uint8_t is_index : 1, /* built from index variables and constants only, and
                         * does not overflow: index algebra applies */
      has_load : 1,     /* reads a buffer, in it or nested */
      is_unbounded : 1, /* uses sizes, or counters without a known upper bound:
                         * assumed not to overflow where bounds do not prove it
                         * (ir_assumes_no_wrap) */
      is_huge : 1,      /* uses a constant so large that this is not assumed */
      wraps : 1,        /* is or contains int64 index arithmetic that may
                         * overflow, so it is no mathematical integer */
      spare : 3;        /* 0: nodes are compared as words */
  uint16_t n;         /* IR_LOAD, IR_CALL: number of arguments */
  tess_dtype dtype;
  union {
    struct {
      uint32_t a, b, c;
      uint32_t vars;  /* bit v % 32 of each variable v that is used */
    };
    int64_t i;
    double f;
  };
  int64_t lo, hi;     /* constant bounds of an integer's value, inclusive;
                       * INT64_MIN, INT64_MAX: unknown */
} ir_node;

/* The largest size (IR_VAR_SIZE), checked when a program is called: products of
 * two sizes, and multiples of one by at most this, fit int64. */
#define IR_MAX_SIZE INT64_C(0x7fffffff)

#define IR_INDEX ((tess_dtype){TESS_DTYPE_INT, 64, 1})   /* of loop variables */
#define IR_BOOL ((tess_dtype){TESS_DTYPE_BOOL, 8, 1})

/* ---- variables ---------------------------------------------------------- */

typedef enum ir_var_kind {
  IR_VAR_LOOP,     /* bound by the loop `owner` */
  IR_VAR_ITER,     /* an iteration variable of the block `owner` */
  IR_VAR_LET,      /* bound by the let `owner` */
  IR_VAR_SIZE,     /* a symbolic extent: argument of the function */
  IR_VAR_FORMAL    /* formal parameter of a reducer, an index map or an
                    * intrinsic */
} ir_var_kind;

/* The name of a derived variable is built only when it is printed
 * (ir_var_name): part k of a split of x is "x_k", the fusion of x and y
 * "x_y_fused", with part 1 "x_y" (a part of a longer fusion), x in an init
 * "x_init", its outer part "x_o" and its inner one "x_i". */
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

/* What is known of a buffer's integers, whoever fills it: a set of these. */
enum {
  IR_HOLDS_RANGE = 1,   /* least .. most, inclusive */
  IR_HOLDS_SORTED = 2,  /* each is at least the one before it */
  IR_HOLDS_UNIQUE = 4,  /* no two are equal */
  IR_HOLDS_ENDS = 8,    /* the first is least, the last is most */
  IR_HOLDS_ALL = 15
};

typedef struct ir_buf_rec {
  ir_str name;
  tess_dtype dtype;      /* of one element; lanes 1 until vectorised */
  uint8_t scope, role;
  uint8_t holds;         /* IR_HOLDS_*: bounds of loads follow from it */
  int64_t least, most;   /* IR_HOLDS_RANGE; most < INT64_MAX */
  uint16_t align;        /* bytes; 0: natural alignment */
  ir_span shape;         /* extents, in arg (ir_expr) */
  ir_span strides;       /* in elements, in arg; n 0: compact row-major */
  ir_expr offset;        /* in elements; 0 (none): no offset */
} ir_buf_rec;

/* ---- regions, values, annotations --------------------------------------- */

/* The box [min, min + extent) of a buffer; arg holds min and extent of each
 * dimension in turn, from index `at`. */
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
  IR_DEAD,        /* removed; prev: the instruction that did it */
  IR_LOOP,        /* body */
  IR_BLOCK,       /* body; alt: the init of a reduction */
  IR_STORE,
  IR_IF,          /* body: then, alt: else */
  IR_LET,         /* body */
  IR_EVALUATE,
  IR_ALLOCATE,    /* body: scope of the buffer; lowered programs only */
  IR_BARRIER
} ir_kind;

typedef enum ir_loop_kind {
  IR_SERIAL, IR_PARALLEL, IR_VECTORIZED, IR_UNROLLED, IR_THREAD
} ir_loop_kind;

/* A loop bound to IR_WARP has one iteration, executed once by all lanes of a
 * warp (IR_WARP_LANES threads, consecutive in the block's linear thread index,
 * .x fastest) together.  The lanes synchronize before and after it; writes of
 * each lane to memory before it are visible in it, and its writes to all lanes
 * after it. */
typedef enum ir_thread {
#define THREAD(name, text) IR_##name,
#include "ir/thread.def"
#undef THREAD
  IR_THREAD_COUNT
} ir_thread;

/* Body and alt are sibling lists linked by next and prev, so a sequence needs
 * no node. parent is 0 only at a function's root block, and while a statement
 * is detached. */
typedef struct ir_stmt_rec {
  uint8_t kind;          /* ir_kind */
  uint8_t loop_kind;     /* IR_LOOP; IR_STORE: the ir_op of an atomic update
                          * of the element, which the value loads; 0: none */
  uint8_t thread;        /* IR_LOOP of kind IR_THREAD: ir_thread; IR_BARRIER:
                          * the ir_scope that it orders */
  uint8_t in_alt;        /* it is in its parent's alt list */
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
  ir_expr bind;          /* its value, over variables bound outside */
} ir_iter;

/* A buffer that aliases, inside the block, a region of another. */
typedef struct ir_match { ir_buf buf; ir_region source; } ir_match;

typedef struct ir_block_rec {
  ir_str name;           /* unique in its function; "root" for the root */
  ir_stmt stmt;          /* its statement */
  ir_span iters;         /* in iter */
  ir_expr pred;          /* over variables bound outside; 0: true */
  ir_span reads, writes; /* in region */
  ir_span allocs;        /* ir_buf, in arg: buffers allocated in it */
  ir_span matches;       /* in match */
  uint32_t reducer;      /* in reducer: combiner of its reduction; 0: none */
} ir_block_rec;

/* How far schedules may reorder a reduction; determined from the reducer when a
 * description uses it (ir/build/describe_laws.c). */
typedef enum ir_order {
  IR_ORDER_FREE,
  IR_ORDER_KEPT,  /* may be reassociated, but not commuted */
  IR_ORDER_FIXED  /* neither: strictly one after another */
} ir_order;

/* (combine, identity) over n-tuples. combine[i] is an expression over the
 * formal parameters lhs[0..n) and rhs[0..n). */
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

/* Contents of an IR_ROLE_CONSTANT buffer; the bytes are shared by clones and
 * owned by whoever made the first program. */
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
  uint32_t entry;        /* the current function, index into func; by default
                          * the first one made */
  uint32_t step;         /* index of the instruction being applied, recorded in
                          * every statement that dies */
  uint32_t edits;        /* counts edits; caches compare it */
  uint32_t flat, deep;   /* the first `flat` nodes nest at most `deep` */
} ir_program;

/* The tables whose entries are mutable; node and arg only grow, and intern
 * follows node. */
/* clang-format off */
#define IR_CHANGED_TABLES(T) \
  T(var) T(buf) T(stmt) T(block) T(iter) T(region) T(match) T(reducer) \
  T(func) T(constant) T(anno) T(value) T(text) T(names)
/* clang-format on */

/* Access by index.  The pointers are invalidated by the next call that makes
 * something. */
static inline const ir_node *ir_at(const ir_program *p, ir_expr e) {
  TESS_ASSERT(e < p->node.n);
  return &p->node.v[e];
}
/* The condition under which a tensor intrinsic replaces the code in its place:
 * its operands are addresses, and are not read. */
static inline bool ir_is_instead(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_CALL && n->a == IR_FN_INSTEAD;
}
static inline ir_stmt_rec *ir_st(const ir_program *p, ir_stmt s) {
  TESS_ASSERT(s < p->stmt.n);
  return &p->stmt.v[s];
}
static inline ir_block_rec *ir_blk(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  TESS_ASSERT(r->kind == IR_BLOCK || r->kind == IR_DEAD);
  TESS_ASSERT(r->block < p->block.n);
  return &p->block.v[r->block];
}
static inline ir_func *ir_entry(const ir_program *p) {
  TESS_ASSERT(p->entry < p->func.n);
  return &p->func.v[p->entry];
}

/* ---- lifetime of a program (program.c) ---------------------------------- */

void ir_program_init(ir_program *p, mem_heap *heap);
void ir_program_free(ir_program *p);
/* Clears it, keeping the memory. */
void ir_program_reset(ir_program *p);
/* dst := src, exactly (same indices); reuses dst's memory. */
void ir_program_copy(ir_program *dst, const ir_program *src);

/* ---- names (text.c) ----------------------------------------------------- */

ir_str ir_name(ir_program *p, const char *s);          /* interned */
ir_str ir_name_n(ir_program *p, const char *s, size_t n);
/* Rebuilds the table of names of a text that was loaded and ends in a NUL;
 * false: a name is empty or occurs twice. */
bool ir_reintern_names(ir_program *p);
ir_str ir_name_cat(ir_program *p, ir_str a, const char *suffix);
static inline const char *ir_text(const ir_program *p, ir_str s) {
  TESS_ASSERT(s < p->text.n);
  return p->text.v + s;
}
/* Builds a variable's name in `out`. Not made unique: the printer does that. */
void ir_var_name(const ir_program *p, ir_var v, strbuf *out);
/* The same in an arena. */
const char *ir_var_text(const ir_program *p, ir_var v, arena *scratch);

static inline ir_expr ir_ref(const ir_program *p, ir_var v) {
  TESS_ASSERT(v < p->var.n);
  return p->var.v[v].ref;
}

/* ---- dtypes (dtype.c) --------------------------------------------------- */

/* "float32", "int8", "bool", "bfloat16", "float32x8"; false: no such type. */
bool ir_dtype_parse(const char *s, tess_dtype *out);
/* Is there such a type?  (A C program can make any.) */
bool ir_dtype_ok(tess_dtype t);
/* Is it a type of one number? */
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
/* Superset of the variables that e uses, as a bit set: bit v % 32 of each. */
static inline uint32_t ir_vars(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT || n->op == IR_REAL ? 0 : n->vars;
}
static inline uint32_t ir_ndim(const ir_program *p, ir_buf b) {
  TESS_ASSERT(b < p->buf.n);
  return p->buf.v[b].shape.n;
}
static inline ir_expr ir_dim(const ir_program *p, ir_buf b, uint32_t i) {
  TESS_ASSERT(i < ir_ndim(p, b));
  return p->arg.v[p->buf.v[b].shape.at + i];
}
static inline ir_expr ir_region_min(const ir_program *p, ir_region r,
                                    uint32_t i) {
  TESS_ASSERT(i < ir_ndim(p, r.buf) && r.at + 2 * i < p->arg.n);
  return p->arg.v[r.at + 2 * i];
}
static inline ir_expr ir_region_extent(const ir_program *p, ir_region r,
                                       uint32_t i) {
  TESS_ASSERT(i < ir_ndim(p, r.buf) && r.at + 2 * i + 1 < p->arg.n);
  return p->arg.v[r.at + 2 * i + 1];
}
static inline bool ir_is_dead(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->kind == IR_DEAD;
}
static inline bool ir_is_loop(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->kind == IR_LOOP;
}
static inline bool ir_is_thread_loop(const ir_stmt_rec *r) {
  return r->kind == IR_LOOP && r->loop_kind == IR_THREAD;
}
static inline bool ir_is_block(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->kind == IR_BLOCK;
}
/* Pre-order successor of s inside `top`, not descending into s; 0 at the
 * end. */
ir_stmt ir_skip(const ir_program *p, ir_stmt s, ir_stmt top);
/* The same, descending. */
static inline ir_stmt ir_next(const ir_program *p, ir_stmt s, ir_stmt top) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->body ? r->body : r->alt ? r->alt : ir_skip(p, s, top);
}

/* ---- names of scopes, threads, operators (buffer.c) --------------------- */

bool ir_scope_parse(const char *s, ir_scope *out);
const char *ir_scope_text(ir_scope s);
/* Matrix fragments are distributed over a warp, and are accessed only by all of
 * its lanes together (in a loop bound to IR_WARP). */
static inline bool ir_scope_is_fragment(uint32_t s) {
  return s >= IR_SCOPE_WMMA_A && s <= IR_SCOPE_SIMDGROUP;
}
/* All threads see the same memory, on whichever device it is. */
static inline bool ir_scope_is_global(uint32_t s) {
  return s == IR_SCOPE_GLOBAL || (s >= IR_SCOPE_VTCM && s <= IR_SCOPE_DAE_ACC);
}
/* The threads of a block see the same memory. */
static inline bool ir_scope_is_shared(uint32_t s) {
  return s == IR_SCOPE_SHARED || s == IR_SCOPE_SHARED_DYN;
}
bool ir_thread_parse(const char *s, ir_thread *out);
const char *ir_thread_text(ir_thread t);
/* The annotation of a loop that is left to an accelerator's host: why, a text.
 */
#define IR_ON_HOST "pragma_host"
const char *ir_op_text(ir_op op);          /* "+", "min", ... */
const char *ir_fn_text(ir_fn fn);          /* "exp", ... */
ir_fn_kind ir_fn_kind_of(ir_fn fn);

#endif
