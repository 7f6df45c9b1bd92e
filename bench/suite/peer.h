/* SPDX-License-Identifier: Apache-2.0
 * Libraries written by hand that compute a row of the operator suite, on the
 * same tensors: OpenBLAS, BLIS and libxsmm (blas.c), which are loaded when they
 * are there, and oneDNN (onednn.c), where its headers were there when this was
 * built.  Weights are laid out as the library likes them, beforehand;
 * activations keep our layout. */
#ifndef BENCH_SUITE_PEER_H
#define BENCH_SUITE_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { PEERS = 8 };

typedef struct peer {
  const char *name;
  void (*run)(void *self);
  void *self; /* lives as long as the process */
  bool exact; /* it computes the row, not just work like it */
} peer;

/* A row, as bench/suite.lua describes it, and its tensors' data in the order of
 * the parameters, the output last. */
typedef struct row {
  const char *operator;
  json_t *options;
  void **data;
  void *out; /* where a peer writes its result */
  uint64_t out_bytes;
  uint32_t threads;
} row;

/* A number among the options, or that default. */
int64_t row_number(const row *r, const char *name, int64_t otherwise);

/* The peers of that row; each gives how many it added at list. */
uint32_t blas_peers(const row *r, peer *list);
uint32_t onednn_peers(const row *r, peer *list);

#endif
