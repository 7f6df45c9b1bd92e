/* SPDX-License-Identifier: Apache-2.0
 * A graph that runs: kernels in order, on inputs, constants, outputs and one
 * arena. */
#ifndef GRAPH_NETWORK_H
#define GRAPH_NETWORK_H

#include "graph/graph.h"
#include "graph/plan.h"
#include "measure/kernel.h"

/* Where a value is. */
typedef enum network_where {
  NETWORK_ARENA, NETWORK_CONSTANT, NETWORK_INPUT, NETWORK_OUTPUT
} network_where;
typedef struct network_place {
  network_where where;
  uint32_t index;          /* of INPUT and OUTPUT */
  uint64_t offset;         /* in the ARENA */
  const void *data;        /* of a CONSTANT */
} network_place;

/* Where in the arena the memory is that a kernel asks for while it runs: its
 * own, then that of each thread. */
typedef struct network_workspace {
  uint64_t offset, own, thread;
  uint32_t n;              /* the kernel and threads; 0: it asks for none */
} network_workspace;

typedef struct network_step {
  tess_kernel *kernel;     /* held */
  bundle_args made;        /* constants in the layout that it wants */
  uint32_t n;
  const tess_gvalue *value;    /* by parameter */
  const network_place **place; /* of these */
  uint64_t *bytes;         /* by parameter, as described */
  void **args;             /* of one run */
  network_workspace work;
} network_step;

/* What a run copies at its end: outputs that are inputs, constants or other
 * outputs. */
typedef struct network_copy {
  uint32_t output;
  const network_place *from;
} network_copy;

/* Of kernels that run elsewhere: the values on their device, and all steps,
 * with those that only reshape. */
enum { NETWORK_MOVES = UINT32_MAX };
typedef struct network_device {
  tess_tensor **tensor;    /* by value, held; NULL: no step takes it */
  uint32_t n;
  uint32_t *kernel;        /* by step: which kernel; NETWORK_MOVES: none */
  tess_gvalue *move;       /* from and to, of such */
  const char *foreign;     /* why this machine cannot run it; else NULL */
} network_device;

struct tess_network {
  tess_context *c;
  arena memory;            /* of all below */
  tess_graph *g;           /* held: its constants, names and types */
  uint32_t nstep, ncopy, threads;
  network_step *step;
  network_copy *copy;
  network_device *there;   /* NULL: kernels run here */
  tess_network_info info;
  void *block;             /* the arena, and where it begins in it */
  size_t block_bytes;
  char *base;
};

/* A value's elements in bytes; UINT64_MAX where its extents are not known. */
uint64_t network_bytes(const tess_gtype *t);

/* tess_network_new, tess_network_run and tess_network_save (save.c). */
tess_status network_new(tess_graph *g, uint32_t n, const tess_gstep *step,
                        tess_network **out);
tess_status network_run_steps(tess_network *net, uint32_t n,
                              tess_tensor *const *tensor, double *seconds);
tess_status network_save(tess_network *net, const char *path,
                         const char *header);

/* ---- on devices (network_device.c) -------------------------------------- */

/* Whether a kernel runs in a worker, or not on this machine. */
bool network_is_elsewhere(const tess_kernel *k);
/* Puts constants on the device and makes room for the rest; the network has
 * its steps.  Sets the context's error. */
tess_status network_to_device(tess_network *net, uint32_t n,
                              const tess_gstep *step);
void network_leave_device(tess_network *net);
/* tess_network_run, of checked tensors. */
tess_status network_run_there(tess_network *net, tess_tensor *const *tensor,
                              double *seconds);

#endif
