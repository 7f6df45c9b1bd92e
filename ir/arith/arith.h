/* SPDX-License-Identifier: Apache-2.0
 * Integer arithmetic over index expressions: simplification, value ranges,
 * proofs, affine iteration maps and regions.  Scratch memory goes to the arena
 * that is passed. */
#ifndef IR_ARITH_ARITH_H
#define IR_ARITH_ARITH_H

#include "ir/ir.h"

/* ---- simplifying (simplify.c), called by ir_binary and friends ---------- */

/* Index arithmetic in canonical form: a sum of atoms times constants, atoms
 * ordered by creation, the constant last; (x // c) * c + x % c is folded to x;
 * common factors are taken out of // and %; operations decided by value ranges
 * are folded.  Both operands are int64 index expressions. */
ir_expr arith_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b);
/* IR_AND and IR_OR of conditions over index variables (logic.c): flattened,
 * ordered, without operands implied by another one. */
ir_expr arith_logic(ir_program *p, ir_op op, ir_expr a, ir_expr b);

/* e as sum of coef[i] * atom[i] + *constant over distinct atoms that are
 * not sums; returns the number of terms, or -1 when more than `max`. */
int arith_terms(const ir_program *p, ir_expr e, int max, ir_expr *atom,
                int64_t *coef, int64_t *constant);

/* ---- bounds (bounds.c) -------------------------------------------------- */

typedef struct arith_range { int64_t lo, hi; } arith_range;   /* inclusive */

static inline arith_range arith_bounds(const ir_program *p, ir_expr e) {
  return (arith_range){ir_at(p, e)->lo, ir_at(p, e)->hi};
}
/* Value range of e when the listed variables range over `range` instead of
 * their own domains (others keep theirs). */
arith_range arith_bounds_with(const ir_program *p, arena *scratch, ir_expr e,
                              uint32_t n, const ir_var *var,
                              const arith_range *range);
/* Symbolic bounds: the minimum and maximum of e, as expressions over the
 * variables that are not listed, while each listed variable var[i] ranges over
 * [lo[i], lo[i] + extent[i]).  Exact for quasi-affine e where ranges prove it,
 * else an over-approximation; false: none is known (a load depends on a listed
 * variable).  `exact` may be NULL. */
bool arith_relax(ir_program *p, arena *scratch, ir_expr e, uint32_t n,
                 const ir_var *var, const ir_expr *lo, const ir_expr *extent,
                 ir_expr *min, ir_expr *max, bool *exact);

/* True only if cond holds for all values of the variables in their bounds for
 * which `assume` holds (a bool expression over the same variables; 0: true).
 * Sound, not complete. */
bool arith_prove(ir_program *p, arena *scratch, ir_expr cond, ir_expr assume);
bool arith_prove_eq(ir_program *p, ir_expr a, ir_expr b);
bool arith_prove_le(ir_program *p, ir_expr a, ir_expr b);  /* a <= b */

/* ---- affine iteration maps (itermap.c) ---------------------------------- */

/* Affine iteration map detection: writes each binding as a sum of digits (x //
 * d) % m * scale of the input variables, and decides what the map from inputs
 * to bindings is.  `pred` (0: true) restricts the inputs, as a block's
 * predicate does. */
typedef enum arith_map_kind {
  ARITH_MAP_NONE = 0,       /* not quasi-affine, or undecided */
  ARITH_MAP_INJECTIVE = 1,  /* distinct inputs give distinct bindings */
  ARITH_MAP_SURJECTIVE = 2, /* covers the box [lo, lo + extent) of the
                             * outputs */
  ARITH_MAP_BIJECTIVE = ARITH_MAP_INJECTIVE | ARITH_MAP_SURJECTIVE
} arith_map_kind;
/* lo, extent: the domain of each binding, to be covered.  Inputs range over
 * their own bounds or, if given, input_extent (expressions). */
arith_map_kind arith_map(ir_program *p, arena *scratch, uint32_t nin,
                         const ir_var *in, const ir_expr *input_extent,
                         uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                         const ir_expr *extent, ir_expr pred);
/* Is it proven to have all properties in `wanted`? Others are not looked for,
 * which is faster. */
bool arith_map_is(ir_program *p, arena *scratch, arith_map_kind wanted,
                  uint32_t nin, const ir_var *in, const ir_expr *input_extent,
                  uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                  const ir_expr *extent, ir_expr pred);
/* Inverse of an injective map: out[i] gives in[i] over the formal variables
 * `result` (one a binding), valid on the map's image.  Inputs range as for
 * arith_map. false: no quasi-affine inverse was found. */
bool arith_inverse(ir_program *p, arena *scratch, uint32_t nin,
                   const ir_var *in, const ir_expr *input_extent, uint32_t nout,
                   const ir_expr *bind, const ir_expr *result, ir_expr *out);
/* Subspace division for blockize and compute_at: every binding as outer *
 * extent + inner, where outer uses only variables not in `inner_var` and inner
 * only those. false: not divisible. */
bool arith_divide(ir_program *p, arena *scratch, uint32_t nout,
                  const ir_expr *bind, uint32_t ninner, const ir_var *inner_var,
                  ir_expr *outer, ir_expr *inner, ir_expr *inner_extent);

/* ---- regions (region.c) ------------------------------------------------- */

/* The smallest box that provably covers both (same buffer). */
ir_region arith_region_union(ir_program *p, ir_region a, ir_region b);
/* True only if `outer` contains `inner` for all values of the variables. */
bool arith_region_covers(ir_program *p, arena *scratch, ir_region outer,
                         ir_region inner);

/* ---- conditions at the first iteration of loops (start.c) --------------- */

/* Does `cond`, wherever it holds, also hold with the variables v for which
 * set[v] & bits at their minimum? */
bool arith_holds_at_start(const ir_program *p, ir_expr cond, const uint8_t *set,
                          uint8_t bits);

#endif
