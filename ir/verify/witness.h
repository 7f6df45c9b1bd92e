/* SPDX-License-Identifier: Apache-2.0
 * Witnesses: an instance of an access whose guards hold and whose index leaves
 * the extent, for all sizes.  Sought by branch and bound: the box of the free
 * variables (loop variables, and the elements that are loaded from parameters
 * of a declared range) is bisected, and interval arithmetic discards parts in
 * which a guard fails or the index stays inside.  So nothing is refused that an
 * instance does not do; where the effort limit is reached, or data decides,
 * there is no witness. */
#ifndef IR_VERIFY_WITNESS_H
#define IR_VERIFY_WITNESS_H

#include "ir/arith/range.h"
#include "ir/edit.h"

typedef enum witness_kind {
  WITNESS_TRUE,  /* expr holds */
  WITNESS_FALSE, /* expr does not hold */
  WITNESS_LOOP,  /* loop `at` executes the iteration of its variable's value */
  WITNESS_START  /* iter `at` is at the start of its domain */
} witness_kind;

/* What must hold for an access to be executed; `up`: the further ones. */
typedef struct witness_guard {
  const struct witness_guard *up;
  uint32_t kind, at;
  ir_expr expr;
} witness_guard;

enum { WITNESS_SLOTS = 64 };

/* A free variable: the node of a loop variable or load. */
typedef struct witness_slot {
  ir_expr node;
  arith_range range;
} witness_slot;

typedef struct witness_finder {
  const ir_program *p;
  uint8_t *fixed; /* by buffer: a parameter that is only read */
  uint32_t *seen; /* by expression: the round that `value` is of */
  arith_range *value;
  uint32_t *known; /* by expression: the search that `deps` is of */
  uint64_t *deps;  /* the slots that its value depends on */
  uint32_t round, query, nslot, nguard, depth;
  int boxes;     /* left to this search */
  int64_t total; /* left to all searches */
  bool hopeless; /* nothing can be certain */
  witness_slot slot[WITNESS_SLOTS];
  const witness_guard **guard; /* those that depend on slots */
  uint32_t guards;             /* allocated */
  arena *memory;
  ir_expr index, extent;
  bool high;     /* an index beyond the extent is sought, not below 0 */
  int64_t found; /* the index of the witness */
} witness_finder;

void witness_init(witness_finder *w, const ir_program *p, arena *memory);
/* Is there a witness?  Then `found` is its index, and the slots that it depends
 * on (witness_deps) are points. */
bool witness_find(witness_finder *w, const witness_guard *guards, ir_expr index,
                  ir_expr extent);
static inline uint64_t witness_deps(const witness_finder *w, ir_expr e) {
  return w->known[e] == w->query ? w->deps[e] : 0;
}

/* Interval evaluation (witness_eval.c): adds the free variables of e as slots,
 * and returns those that it depends on. */
uint64_t witness_collect(witness_finder *w, ir_expr e);
/* The range of e over the slots' ranges, since the last change of one. */
arith_range witness_value(witness_finder *w, ir_expr e);
static inline void witness_changed(witness_finder *w) { w->round++; }
/* Whether elements with the values of these slots, all of them points, can be
 * in their buffers together. */
bool witness_loads_agree(witness_finder *w);

#endif
