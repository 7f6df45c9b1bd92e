/* SPDX-License-Identifier: Apache-2.0
 * Queries on the IR: uses and accesses of expressions and statements, the
 * statement tree, reductions; structural hash and equality, verification,
 * operation counts, printing, serialization. */
#ifndef IR_QUERY_H
#define IR_QUERY_H

#include "ir/ir.h"

/* ---- expressions (analysis/expr_query.c) -------------------------------- */

/* Bounds of the values in [lo, lo + extent); INT64_MIN and INT64_MAX where
 * unknown.  If the domain may be empty, max is at least min. */
void ir_domain_bounds(const ir_program *p, ir_expr lo, ir_expr extent,
                      int64_t *min, int64_t *max);
bool ir_finds_var(const ir_program *p, ir_expr e, ir_var v);
/* Does e use variable v?  Decided by the bit set where the bit is clear. */
static inline bool ir_uses_var(const ir_program *p, ir_expr e, ir_var v) {
  return (ir_vars(p, e) >> v % 32 & 1) && ir_finds_var(p, e, v);
}
/* True when e reads any buffer (or only `b`, when not 0). */
bool ir_has_load(const ir_program *p, ir_expr e, ir_buf b);
typedef enum ir_walk { IR_WALK_DESCEND, IR_WALK_SKIP, IR_WALK_FOUND } ir_walk;
/* Visits e and the nodes nested in it that are not constants until f finds
 * something.  Nodes visited often are memoized, so shared subexpressions cost
 * little. f must not unwind. */
bool ir_any(const ir_program *p, ir_expr e,
            ir_walk (*f)(const ir_program *p, ir_expr e, void *ud), void *ud);
/* Is e small enough, expanded to a tree, for a walk without memo? */
bool ir_is_small(const ir_program *p, ir_expr e);
/* Calls f for e and every node nested in it, once each, operands first. */
void ir_visit(const ir_program *p, arena *scratch, ir_expr e,
              void (*f)(const ir_program *p, ir_expr e, void *ud), void *ud);
/* Operands of a node that are expressions (not buffers, functions). */
uint32_t ir_operands(const ir_program *p, ir_expr e, const uint32_t **out,
                     uint32_t fixed[3]);

/* Splits e into a rest, which is returned, and a constant, *at; rest 0: e is
 * constant. */
ir_expr ir_split_offset(const ir_program *p, ir_expr e, int64_t *at);
/* Is e, or each lane of it, a constant power of two, whose exponent is put? */
bool ir_is_power_of_two(const ir_program *p, ir_expr e, uint32_t *exponent);
/* Is e exactly a load of the element that the store writes? */
bool ir_loads_stored(const ir_program *p, const ir_stmt_rec *store, ir_expr e);

/* ---- expressions of statements (analysis/stmt_exprs.c) ------------------ */

/* Does f hold for some expression of the one statement?  These are indices,
 * values and masks, bounds, conditions; of a block the domains and bindings,
 * the predicate, and the source regions of match buffers. */
bool ir_stmt_any_expr(const ir_program *p, ir_stmt s,
                      bool (*f)(const ir_program *p, ir_expr e, void *ud),
                      void *ud);
/* Is the buffer loaded (`stores`: or stored to) in `top` or nested in it, also
 * through a match buffer? */
bool ir_uses_below(const ir_program *p, ir_stmt top, ir_buf buf, bool stores);
/* Does some store of the entry function name the buffer?  An input for which
 * that holds is changed. */
bool ir_is_stored(const ir_program *p, ir_buf b);
/* The first statement in `top` that clobbers a buffer which e loads (0: none),
 * and the buffer. */
ir_stmt ir_first_clobber(const ir_program *p, ir_stmt top, ir_expr e,
                         ir_buf *buf);
/* May `top` clobber what e loads: does it, or a nested statement, store to a
 * buffer that e loads, or call anything? */
bool ir_may_clobber(const ir_program *p, ir_stmt top, ir_expr e);
/* Does e call a function of the host? */
bool ir_calls_host(const ir_program *p, ir_expr e);
/* Does it contain a call of a function of the host for its side effects: in an
 * evaluate statement, not for a value? */
bool ir_has_effects(const ir_program *p, ir_stmt top);

/* A statement of the entry function that certainly loads an element before
 * anything can have written to its buffer, and the buffer; 0: none is found
 * without running the program (analysis/unwritten.c). */
ir_stmt ir_find_unwritten(const ir_program *p, arena *scratch, ir_buf *buf);

/* ---- the statement tree (stmt.c) ---------------------------------------- */

/* The maximal nesting of statements (a root has depth 1) and expressions, which
 * bounds recursion; and the nesting of `top`. */
enum { IR_MAX_STMT_DEPTH = 512, IR_MAX_EXPR_DEPTH = 4096 };
/* The nesting of expression e, given that of the nodes before it. */
uint32_t ir_depth_above(const ir_program *p, const uint32_t *depth, ir_expr e);
/* Does no expression nest deeper than IR_MAX_EXPR_DEPTH? Recomputed only when
 * enough nodes have been made since the last call. */
bool ir_expr_depth_ok(ir_program *p, arena *scratch);
uint32_t ir_depth(const ir_program *p, ir_stmt top);
/* The block that encloses s (not s itself); 0 at the root. */
ir_stmt ir_scope_of(const ir_program *p, ir_stmt s);
bool ir_is_ancestor(const ir_program *p, ir_stmt above, ir_stmt below);

/* ---- blocks, annotations, functions ------------------------------------- */

/* Annotations of a block that list buffers by name: those whose regions are
 * stated explicitly and not inferred, and those with accesses that it does not
 * declare. */
#define IR_EXPLICIT_READS "explicit_read_region"
#define IR_EXPLICIT_WRITES "explicit_write_region"
#define IR_HIDDEN_READS "hidden_read_region"
#define IR_HIDDEN_WRITES "hidden_write_region"
bool ir_anno_lists_buffer(const ir_program *p, ir_stmt b, const char *key,
                          ir_buf buf);
/* Does some block of the program hide an access of the buffer? */
bool ir_is_hidden(const ir_program *p, ir_buf buf);
/* Annotations of a loop or block. */
const ir_anno *ir_anno_get(const ir_program *p, ir_stmt s, const char *key);
bool ir_value_eq(const ir_program *p, ir_val a, const ir_program *q, ir_val b);
/* Is the entry function's root annotated tensor_cores = "mma"?  Then products
 * of fragments are done by mma.sync, whose layouts are documented, whatever the
 * target's default. */
bool ir_asks_for_mma(const ir_program *p);
/* The end of the functions that belong to the program: from this index on, func
 * holds those of the tensor intrinsics that it uses ("name.desc",
 * "name.impl"). */
uint32_t ir_func_end(const ir_program *p);

/* ---- reductions (reducer.c) --------------------------------------------- */

/* sum, prod, min, max */
bool ir_reducer_is_builtin(const char *name);
bool ir_has_reduce_iter(const ir_program *p, ir_stmt block);
/* Does a write region of the block depend on a reduce iter?  Its init then
 * initializes only part of it. */
bool ir_reduce_iter_in_write(const ir_program *p, ir_stmt block);
/* Does the block's reducer constrain the order of its operands? */
static inline bool ir_reduces_in_order(const ir_program *p, ir_stmt block) {
  return p->reducer.v[ir_blk(p, block)->reducer].ordered != 0;
}

/* ---- queries on whole programs ------------------------------------------ */

/* Structural hash (hash.c): ignores variable names and table indices,
 * includes block names, annotations, loop kinds.  Same on every machine. */
uint64_t ir_hash(const ir_program *p, arena *scratch);
/* Structural equality up to variable names (equal.c). */
bool ir_equal(const ir_program *p, const ir_program *q, arena *scratch);
/* Well-formedness (verify/verify.c): links, dtypes, scoping of variables,
 * regions cover accesses, unique block names. false: `why` is what and
 * where. */
bool ir_verify(const ir_program *p, arena *scratch, strbuf *why);
/* false: some access must be out of bounds (p is well-formed); accesses under a
 * condition are checked only if `guarded`. */
bool ir_verify_bounds(const ir_program *p, bool guarded, arena *scratch,
                      strbuf *why);
/* The same for unguarded accesses, for these values of the function's sizes
 * (verify/verify_sizes.c): TESS_INVALID with `why`, or no memory. */
tess_status ir_verify_bounds_at(const ir_program *p, const int64_t *sizes,
                                arena *scratch, strbuf *why);
/* Floating-point and integer operations of one run; -1 if that depends on sizes
 * that are known only when it is called, or on data: on loops whose trip counts
 * are loaded. */
int64_t ir_flops(const ir_program *p);
/* The same, with a guess for each trip count that is unknown. */
int64_t ir_flops_guess(const ir_program *p);
/* Such operations and stores of one run of a statement, with the surrounding
 * loops at the middle of their ranges; -1 if that depends on sizes or data. */
int64_t ir_work(const ir_program *p, ir_stmt s, arena *scratch);

/* The program as a readable loop nest (print/print.c). mark: a statement to
 * point at, or 0; changed: one byte a statement, non-zero: its line is marked;
 * or NULL. */
typedef VEC(ir_stmt) ir_lines;
typedef struct ir_print_opts {
  ir_stmt mark;
  const char *mark_text;
  const uint8_t *changed;
  bool regions; /* also reads, writes of each block */
  ir_lines *lines; /* gets the statement of each line; 0: of none */
} ir_print_opts;
void ir_print(const ir_program *p, const ir_print_opts *o, strbuf *out);
void ir_print_expr(const ir_program *p, ir_expr e, strbuf *out);
void ir_print_stmt_head(const ir_program *p, ir_stmt s, strbuf *out);
/* To stderr, for calls from a debugger (print/dump.c): a program with the
 * regions of its blocks, a statement with all below it, an expression. */
void ir_dump(const ir_program *p);
void ir_dump_stmt(const ir_program *p, ir_stmt s);
void ir_dump_expr(const ir_program *p, ir_expr e);

/* Serialization (serial.c): the tables, without entries that no function uses,
 * with a header and checksum; indices change.  Loading trusts nothing: every
 * index is checked, then ir_verify.  Contents of constants are not copied: they
 * stay in `bytes`, at multiples of 64 from its start. */
void ir_save(const ir_program *p, strbuf *out);
tess_status ir_restore(ir_program *p, arena *scratch, const void *bytes,
                       size_t n, strbuf *why);

#endif
