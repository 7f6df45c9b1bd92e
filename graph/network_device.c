/* SPDX-License-Identifier: Apache-2.0
 * Running a graph on a device: what kernels in a worker take and give are
 * tensors there, made with the network and each kept. */
#include "base/clock.h"
#include "graph/network.h"
#include "measure/tensor/tensor.h"

#include <stdio.h>
#include <string.h>

bool network_is_elsewhere(const tess_kernel *k) {
  return k && (k->remote.n || k->foreign);
}

/* ---- making ------------------------------------------------------------- */

typedef struct placing {
  tess_network *net;
  uint32_t nstep;
  const tess_gstep *step;
} placing;

/* Room for the tensors, and the steps with those that only reshape. */
static tess_status take_all(void *ud) {
  placing *p = ud;
  tess_network *net = p->net;
  net->there = arena_zalloc(&net->memory, sizeof *net->there);
  net->there->tensor =
      arena_zalloc(&net->memory, net->g->value.n * sizeof(tess_tensor *));
  net->there->move = arena_array(&net->memory, tess_gvalue, 2 * p->nstep);
  net->there->kernel = arena_array(&net->memory, uint32_t, p->nstep);
  net->there->n = p->nstep;
  for (uint32_t k = 0, i = 0; k < p->nstep; k++) {
    const tess_gstep *s = &p->step[k];
    net->there->kernel[k] = s->kernel ? i++ : NETWORK_MOVES;
    for (int d = 0; !s->kernel && d < 2; d++)
      net->there->move[2 * k + (uint32_t)d] = s->value[d];
    if (s->kernel && s->kernel->foreign)
      net->there->foreign = s->kernel->foreign;
  }
  return TESS_OK;
}

/* A tensor of zeros of a value's type. */
static tess_status zeros_of(tess_network *net, tess_gvalue v,
                            tess_tensor **out) {
  const tess_gtype *t = &net->g->value.v[v].type;
  int64_t shape[TENSOR_MAX_DIM];
  for (uint32_t d = 0; d < t->ndim; d++) shape[d] = t->dim[d].extent;
  tess_status s = tensor_make(net->c, t->dtype, t->ndim, shape, out);
  if (s == TESS_OK && (*out)->bytes) memset((*out)->data, 0, (*out)->bytes);
  return s;
}

static tess_status place_value(tess_network *net, tess_gvalue v,
                               const char *device) {
  tess_tensor **at = &net->there->tensor[v], *from = NULL;
  if (*at) return TESS_OK;
  const graph_value *x = &net->g->value.v[v];
  if (x->kind == TESS_G_CONSTANT) return tess_tensor_to(x->tensor, device, at);
  tess_status s = zeros_of(net, v, &from);
  if (s == TESS_OK) s = tess_tensor_to(from, device, at);
  tess_tensor_free(from);
  return s;
}

static tess_status place_all(const placing *p) {
  char device[24] = "";
  for (uint32_t k = 0; k < p->nstep && !*device; k++)
    if (p->step[k].kernel)
      snprintf(device, sizeof device, "%.15s:%lld",
               p->step[k].kernel->target.kind,
               (long long)p->step[k].kernel->target.device);
  for (uint32_t k = 0; k < p->nstep; k++)
    for (uint32_t i = 0; i < p->step[k].n; i++) {
      tess_status s = place_value(p->net, p->step[k].value[i], device);
      if (s != TESS_OK) return s;
    }
  return TESS_OK;
}

tess_status network_to_device(tess_network *net, uint32_t n,
                              const tess_gstep *step) {
  placing p = {net, n, step};
  tess_status s = ctx_run(net->c, take_all, &p);
  return s == TESS_OK && !net->there->foreign ? place_all(&p) : s;
}

void network_leave_device(tess_network *net) {
  for (tess_gvalue v = 0; net->there && v < net->g->value.n; v++)
    tess_tensor_free(net->there->tensor[v]);
}

/* ---- running ------------------------------------------------------------ */

static tess_status run_kernel(tess_network *net, network_step *s) {
  tess_tensor **args = (tess_tensor **)s->args;
  for (uint32_t i = 0; i < s->n; i++) args[i] = net->there->tensor[s->value[i]];
  return tess_kernel_run(s->kernel, s->n, args);
}

static tess_status run_steps(tess_network *net, double *seconds) {
  network_device *d = net->there;
  tess_status s = TESS_OK;
  for (uint32_t k = 0; s == TESS_OK && k < d->n; k++) {
    double start = clock_now();
    uint32_t i = d->kernel[k];
    if (i == NETWORK_MOVES)
      s = tensor_move(d->tensor[d->move[2 * k + 1]], d->tensor[d->move[2 * k]]);
    else
      s = run_kernel(net, &net->step[i]);
    if (seconds && i != NETWORK_MOVES) seconds[i] = clock_now() - start;
  }
  return s;
}

/* Where an output's elements are: on the device, or in what is given. */
static tess_tensor *source_of(const tess_network *net, tess_gvalue v,
                              tess_tensor *const *given) {
  const tess_graph *g = net->g;
  if (g->value.v[v].kind == TESS_G_CONSTANT) return g->value.v[v].tensor;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (g->inputs.v[i] == v) return given[i];
  return net->there->tensor[v];
}

tess_status network_run_there(tess_network *net, tess_tensor *const *tensor,
                              double *seconds) {
  const tess_graph *g = net->g;
  tess_status s = TESS_OK;
  if (net->there->foreign)
    return ctx_fail(net->c, TESS_UNSUPPORTED, "%s", net->there->foreign);
  for (uint32_t i = 0; s == TESS_OK && i < g->inputs.n; i++) {
    tess_tensor *to = net->there->tensor[g->inputs.v[i]];
    if (to) s = tensor_move(to, tensor[i]);
  }
  if (s == TESS_OK) s = run_steps(net, seconds);
  for (uint32_t i = 0; s == TESS_OK && i < g->outputs.n; i++)
    s = tensor_move(tensor[g->inputs.n + i],
                    source_of(net, g->outputs.v[i], tensor));
  return s;
}
