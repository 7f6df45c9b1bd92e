/* SPDX-License-Identifier: Apache-2.0
 * TreeGRU: a gated recurrent unit (Cho et al. 2014) folded over loop trees
 * bottom-up (Chen et al., "Learning to Optimize Tensor Programs", NeurIPS
 * 2018).
 *
 * Each node's columns are embedded; the states of its children are folded, the
 * last one first, and the state of a single one stands for itself; a cell that
 * sees the embedding and the fold gives the node's state.  The fold of the
 * trees at the top is scored linearly.
 *
 * Forward and backward passes run over all trees of a batch at once: cells are
 * listed by level, and each level is one product a side. */
#ifndef SEARCH_MODEL_GRU_H
#define SEARCH_MODEL_GRU_H

#include "base/arena.h"
#include "search/model/blas.h"

enum { GRU_STATE = 32 };

/* Trees as rows (feature/tree.c): column 0 is the parent's row in its tree. */
typedef struct gru_trees {
  uint32_t n, width;
  const uint32_t *first;     /* rows of tree i: first[i] .. first[i + 1] - 1 */
  const float *v;
} gru_trees;

/* Where the weights lie in one vector of numbers. */
typedef struct gru_shape {
  uint32_t input;            /* columns but the parent's */
  uint32_t embed, embed_bias;/* [S, input], [S] */
  uint32_t in, in_bias;      /* of the cell: [3 S, S], [3 S]: update, reset, */
  uint32_t hidden, hidden_bias; /* candidate */
  uint32_t out;              /* [S] and one more */
  uint32_t n;                /* of them all */
} gru_shape;
gru_shape gru_shape_of(uint32_t width);

typedef struct gru_cell {
  uint32_t x, h;             /* states it sees, by number; h 0: zeros */
} gru_cell;

/* A batch, ready for passes: made for its trees, used with any weights. */
typedef struct gru_batch {
  gru_shape shape;
  const blas *b;
  uint32_t ntree, nrow, ncell, nlevel;
  double *input;             /* [nrow, input], on the scale of the shift */
  gru_cell *cell;            /* level by level */
  uint32_t *level;           /* nlevel + 1: where each begins */
  uint32_t *result;          /* of each tree: number of its state */
  /* State 0 is zeros, then the rows' embeddings, then the cells'. */
  double *state, *dstate;
  double *gates;             /* of each cell: update, reset, candidate, and the
                              * hidden side of the candidate before reset */
  double *x, *h, *gx, *gh, *dx, *dh;  /* of one level */
} gru_batch;

/* shift, scale: of each column, before the net sees it; unwinds. */
void gru_begin(gru_batch *g, arena *a, const blas *b, const gru_trees *t,
               const double *shift, const double *scale);
void gru_forward(gru_batch *g, const double *weight, double *score);
/* After gru_forward with the same weights: adds the gradient of a sum of which
 * dscore[i] is the derivative by score[i]. */
void gru_backward(gru_batch *g, const double *weight, const double *dscore,
                  double *gradient);

#endif
