/* SPDX-License-Identifier: Apache-2.0
 * isl sets and maps of what polyhedra.h is asked about.  Every isl function of
 * a NULL argument gives NULL, so code is straight-line and errors are checked
 * at the end.  None of our memory is taken here. */
#ifndef SCHEDULE_DEPENDENCE_POLYHEDRA_ISL_H
#define SCHEDULE_DEPENDENCE_POLYHEDRA_ISL_H

#include "ir/edit.h"
#include "schedule/dependence/polyhedra.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

/* Translating, for one block of the pair. */
typedef struct poly_builder {
  const poly_pair *x;
  const ir_program *p;
  isl_ctx *ctx;
  isl_space *space; /* of the block's iterations; to be freed */
  uint32_t budget;  /* nodes that may yet be looked at */
  bool strange;     /* what was looked at is not quasi-affine */
  bool vague;       /* something was left out of a domain */
} poly_builder;

/* The context of a question, which gives up after a second or so; NULL: none,
 * as after one of the same primitive that has given up. */
isl_ctx *poly_context(sch_state *s);
/* Gives the variables of block k of the pair their places. */
void poly_enter(poly_builder *b, isl_ctx *ctx, const poly_pair *x, int k);
/* Of iterations: the value of an index; where a condition holds; those in
 * which all conditions hold, with what is known of the parameters. */
isl_pw_aff *poly_value(poly_builder *b, ir_expr e);
isl_set *poly_where(poly_builder *b, ir_expr cond);
isl_set *poly_domain(poly_builder *b, const poly_cond *when);
/* Those of `in` in which the block's reduce iters are at their start. */
isl_set *poly_at_start(poly_builder *b, isl_set *in, ir_stmt block);
/* Iterations, those of `in`, the access's domain, to the elements they
 * access. */
isl_map *poly_access_map(poly_builder *b, const poly_access *a, isl_set *in);
/* The same of block k of the pair, in all of the domain; *vague: it says too
 * much. */
isl_map *poly_accesses(isl_ctx *ctx, const poly_pair *x, int k,
                       const poly_access *a, bool *vague);
int64_t poly_coordinate(isl_point *at, enum isl_dim_type type, uint32_t k);
/* An iteration: the loops around a block, outer first, and their values. */
enum { POLY_LOOPS = 48 };
typedef struct poly_iteration {
  uint32_t n;
  ir_var var[POLY_LOOPS];
  int64_t at[POLY_LOOPS];
} poly_iteration;
/* One more loop, the next further in (there is room for so many of them). */
void poly_add(poly_iteration *to, ir_var v, int64_t at);
/* Adds side k of a pair of iterations, a point of both blocks' dimensions:
 * the loops around, the shared ones first. */
void poly_note(const poly_pair *x, isl_point *at, int k, poly_iteration *out);
/* Two that conflict (b NULL: one), with the loops that determine most: those in
 * which they differ, the outer ones first; where there is room the
 * innermost. */
void poly_tell(const poly_iteration *a, const poly_iteration *b,
               sch_conflict *out);

#endif
