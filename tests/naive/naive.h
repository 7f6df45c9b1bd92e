/* SPDX-License-Identifier: Apache-2.0
 * What operators compute, by plain loops in double: the reference that
 * tests/lua/ops.lua compares them with. */
#ifndef NAIVE_H
#define NAIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <tessera/tessera.h>

enum { NAIVE_DIM = 16, NAIVE_TENSORS = 24 };

/* Elements in row-major order, as double. */
typedef struct naive_tensor {
  tess_dtype dtype;
  uint32_t ndim;
  int64_t shape[NAIVE_DIM], n;
  double *v;
} naive_tensor;

/* A call: the program's parameters in their order, outputs to be filled, and
 * the options it was described with. */
typedef struct naive {
  naive_tensor t[NAIVE_TENSORS];
  uint32_t n;
  void *lua; /* module.c reads options from it */
} naive;

typedef struct naive_op {
  const char *name;
  void (*run)(naive *x);
} naive_op;

/* The operators of a family; the last row has no name. */
extern const naive_op naive_dense[], naive_conv[], naive_norm[], naive_pool[],
    naive_reduce[], naive_move[], naive_linear[], naive_elementwise[];

/* An option, or what stands for it where it is not given. */
int64_t naive_int(const naive *x, const char *name, int64_t otherwise);
double naive_real(const naive *x, const char *name, double otherwise);
bool naive_flag(const naive *x, const char *name);
/* Is the option false, and not just left out? */
bool naive_denied(const naive *x, const char *name);
/* Is the option this word?  Of one that is not given: no. */
bool naive_is(const naive *x, const char *name, const char *word);
/* Entry i, from 0, of an option that is a list, or the option itself. */
int64_t naive_entry(const naive *x, const char *name, uint32_t i,
                    int64_t otherwise);
/* How many entries it has; 0 where it is not given. */
uint32_t naive_length(const naive *x, const char *name);
/* The option as an axis of `rank` dimensions, from 0. */
uint32_t naive_axis(const naive *x, const char *name, uint32_t rank,
                    int64_t otherwise);

/* The element at these indices, one for each dimension. */
double *naive_at(const naive_tensor *t, const int64_t *at);
#define AT(t, ...) (*naive_at((t), (const int64_t[]){__VA_ARGS__}))
/* Indices of element i. */
void naive_indices(const naive_tensor *t, int64_t i, int64_t *at);

/* What the options say is done to a sum in channel c; vectors are the tensors
 * from number `first` on. */
double naive_epilogue(const naive *x, double sum, int64_t c, uint32_t first);
double naive_activated(const naive *x, double v);

/* Run the operator by a library, if that has it; *ok: it could be done. */
bool naive_openblas(const char *name, naive *x, bool *ok);
bool naive_onednn(const char *name, naive *x, bool *ok);

#endif
