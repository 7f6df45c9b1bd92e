/* SPDX-License-Identifier: Apache-2.0
 * Queries on the IR: expressions, walks over the tree, reductions; hashing,
 * comparing, verifying, counting, printing and serializing whole programs. */
#ifndef IR_QUERY_H
#define IR_QUERY_H

#include "ir/ir.h"

/* ---- expressions (analysis/expr_query.c) -------------------------------- */

/* Bounds of the values in [lo, lo + extent); INT64_MIN and INT64_MAX where
 * not known.  For a domain that may be empty, max is at least min. */
void ir_domain_bounds(const ir_program *p, ir_expr lo, ir_expr extent,
                      int64_t *min, int64_t *max);
bool ir_finds_var(const ir_program *p, ir_expr e, ir_var v);
/* Does e use variable v?  Most that do not are told by their bits. */
static inline bool ir_uses_var(const ir_program *p, ir_expr e, ir_var v) {
  return (ir_vars(p, e) >> v % 32 & 1) && ir_finds_var(p, e, v);
}
/* True when e reads any buffer (or only `b`, when not 0). */
bool ir_has_load(const ir_program *p, ir_expr e, ir_buf b);
typedef enum ir_look { IR_LOOK_BELOW, IR_LOOK_PAST, IR_LOOK_FOUND } ir_look;
/* Calls f for e and the nodes below it that are no constants, until it finds
 * something; a node that is met often enough is not asked again.  f must not
 * unwind. */
bool ir_any(const ir_program *p, ir_expr e,
            ir_look (*f)(const ir_program *p, ir_expr e, void *ud), void *ud);
/* Written out as a tree, has it so few nodes that one may walk it so? */
bool ir_is_small(const ir_program *p, ir_expr e);
/* Calls f for e and every node below it, once each, operands first. */
void ir_visit(const ir_program *p, arena *scratch, ir_expr e,
              void (*f)(const ir_program *p, ir_expr e, void *ud), void *ud);
/* Operands of a node that are expressions (not buffers, functions). */
uint32_t ir_operands(const ir_program *p, ir_expr e, const uint32_t **out,
                     uint32_t fixed[3]);

/* ---- what statements hold (held.c) -------------------------------------- */

/* Asks f of every expression that the one statement itself holds, until it
 * says yes: indices, values and masks, bounds, conditions, and of a block the
 * domains and bindings, the predicate, and where its match buffers lie. */
bool ir_any_held(const ir_program *p, ir_stmt s,
                 bool (*f)(const ir_program *p, ir_expr e, void *ud),
                 void *ud);
/* Does anything at or below `top` load the buffer (`stores`: or store to it),
 * also by the name that a match gives it? */
bool ir_uses_below(const ir_program *p, ir_stmt top, ir_buf buf, bool stores);
/* The first statement at or below `top` that changes what e loads (0: it loads
 * nothing), and of which buffer; 0: none does. */
ir_stmt ir_changes(const ir_program *p, ir_stmt top, ir_expr e, ir_buf *buf);
/* May `top` clobber what e loads: does it, or what is below it, store to a
 * buffer that e loads, or call anything? */
bool ir_may_clobber(const ir_program *p, ir_stmt top, ir_expr e);
/* Does e call a function of the host's? */
bool ir_calls_host(const ir_program *p, ir_expr e);
/* Does it call a function of the host's, in or below it, for what it does: in
 * a statement of its own, not for a value? */
bool ir_has_effects(const ir_program *p, ir_stmt top);

/* ---- the statement tree (stmt.c) ---------------------------------------- */

/* How deep statements may nest, a root being 1 deep: everything may then
 * recurse.  And how deep those of `top` do. */
enum { IR_MAX_STMT_DEPTH = 512, IR_MAX_EXPR_DEPTH = 4096 };
/* How deep expression e nests, given that of those made before it. */
uint32_t ir_depth_above(const ir_program *p, const uint32_t *depth, ir_expr e);
/* No expression nests deeper than IR_MAX_EXPR_DEPTH.  Looks at them only when
 * enough have been made since it last did. */
bool ir_exprs_nest_well(ir_program *p, arena *scratch);
uint32_t ir_depth(const ir_program *p, ir_stmt top);
/* The block that s stands in (not s itself); 0 at the root. */
ir_stmt ir_scope_of(const ir_program *p, ir_stmt s);
bool ir_is_ancestor(const ir_program *p, ir_stmt above, ir_stmt below);

/* ---- blocks, annotations, functions ------------------------------------- */

/* Annotations of a block that list buffers by name: whose regions are what a
 * person said and not worked out, and which accesses it does not declare. */
#define IR_EXPLICIT_READS "explicit_read_region"
#define IR_EXPLICIT_WRITES "explicit_write_region"
#define IR_HIDDEN_READS "hidden_read_region"
#define IR_HIDDEN_WRITES "hidden_write_region"
bool ir_notes_buffer(const ir_program *p, ir_stmt b, const char *key,
                     ir_buf buf);
/* Some block of the program hides an access of the buffer. */
bool ir_is_hidden(const ir_program *p, ir_buf buf);
/* The block of the entry function named so; 0: none. */
ir_stmt ir_find_block(const ir_program *p, ir_str name);
/* Annotations of a loop or block. */
const ir_anno *ir_anno_get(const ir_program *p, ir_stmt s, const char *key);
bool ir_value_eq(const ir_program *p, ir_val a, const ir_program *q, ir_val b);
/* Behind the functions of a program stand those of the tensor intrinsics that
 * it knows ("name.desc", "name.impl"), from this index on: they are no part
 * of what it computes. */
uint32_t ir_func_end(const ir_program *p);

/* ---- reductions (reducer.c) --------------------------------------------- */

bool ir_has_reduce_iter(const ir_program *p, ir_stmt block);
/* Does a reduce iter tell where the block writes?  Its init is not for all of
 * that. */
bool ir_place_reduced(const ir_program *p, ir_stmt block);
/* Does the block combine by a reducer that keeps its sources' order? */
static inline bool ir_reduces_in_order(const ir_program *p, ir_stmt block) {
  return p->reducer.v[ir_blk(p, block)->reducer].ordered != 0;
}

/* ---- what a whole program is asked -------------------------------------- */

/* Structural hash (hash.c): ignores variable names and table indices,
 * includes block names, annotations, loop kinds.  Same on every machine. */
uint64_t ir_hash(const ir_program *p, arena *scratch);
/* Structural equality up to variable names (equal.c). */
bool ir_equal(const ir_program *p, const ir_program *q, arena *scratch);
/* Well-formedness (verify.c): links, dtypes, scoping of variables, regions
 * cover accesses, unique block names.  false: `why` says what and where. */
bool ir_verify(const ir_program *p, arena *scratch, strbuf *why);
/* false: some access of a program that verifies surely leaves its buffer, of
 * those behind a condition only when `guarded`. */
bool ir_verify_bounds(const ir_program *p, bool guarded, arena *scratch,
                      strbuf *why);
/* The same for what stands behind none, when the sizes of the function have
 * these values (verify_sizes.c): TESS_INVALID, and why, or no memory. */
tess_status ir_verify_bounds_at(const ir_program *p, const int64_t *sizes,
                                arena *scratch, strbuf *why);
/* Floating-point and integer operations done by one run; -1 where that depends
 * on sizes that are known when it is called. */
int64_t ir_flops(const ir_program *p);
/* Such operations and stores that one run of a statement does, where the loops
 * around it stand at their middle; -1 where that depends on sizes or data. */
int64_t ir_work(const ir_program *p, ir_stmt s, arena *scratch);

/* Readable loop nest (print.c).  mark: a statement to point at, or 0;
 * changed: one byte a statement, non-zero lines get a mark; or NULL. */
typedef struct ir_print_opts {
  ir_stmt mark;
  const char *mark_text;
  const uint8_t *changed;
  bool regions;          /* also reads, writes of each block */
} ir_print_opts;
void ir_print(const ir_program *p, const ir_print_opts *o, strbuf *out);
void ir_print_expr(const ir_program *p, ir_expr e, strbuf *out);
void ir_print_stmt_head(const ir_program *p, ir_stmt s, strbuf *out);

/* Bytes and back (serial.c): the tables, less what no function uses, with a
 * header and checksum; indices are others then.  Loading trusts nothing: every
 * index is checked, then ir_verify.  Contents of constants stay where they are
 * in `bytes`, at multiples of 64 from its start. */
void ir_save(const ir_program *p, strbuf *out);
tess_status ir_restore(ir_program *p, arena *scratch, const void *bytes,
                       size_t n, strbuf *why);

#endif
