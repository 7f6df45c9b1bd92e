/* SPDX-License-Identifier: Apache-2.0
 * Running a graph: its kernels one after the other, on the caller's tensors. */
#include "base/clock.h"
#include "graph/network.h"
#include "graph/workspace.h"
#include "measure/tensor/tensor.h"

typedef struct network_run {
  tess_network *net;
  uint32_t n;
  tess_tensor *const *tensor; /* inputs, then outputs */
} network_run;

/* The type and shape of a tensor, and where it is unless in this process. */
static void put_tensor(const tess_tensor *x, strbuf *out) {
  tess_dim dim[TENSOR_MAX_DIM] = {0};
  for (uint32_t d = 0; d < x->ndim; d++) dim[d].extent = x->shape[d];
  const tess_gtype is = {x->dtype, x->ndim, dim};
  graph_put_type(&is, out);
  if (x->device[0]) str_printf(out, " of %s", x->device);
}

static tess_status wrong_tensor(const tess_network *net, const char *what,
                                const char *name, const tess_gtype *t,
                                const tess_tensor *x) {
  strbuf text;
  str_init(&text, &net->c->heap);
  str_printf(&text, "%s %s of graph %s is ", what, name, net->g->name);
  graph_put_type(t, &text);
  str_puts(&text, ", and the tensor is ");
  put_tensor(x, &text);
  tess_status s =
      text.bad ? ctx_ran_out(net->c, str_status(&text), "checking a tensor")
               : ctx_fail(net->c, TESS_INVALID, "%s", str_get(&text));
  str_free(&text);
  return s;
}

static tess_status check_tensor(const tess_network *net, const char *what,
                                const char *name, const tess_gtype *t,
                                const tess_tensor *x) {
  if (!x)
    return ctx_fail(net->c, TESS_INVALID, "%s %s of graph %s is NULL", what,
                    name, net->g->name);
  bool fits = x->ndim == t->ndim && !x->device[0] &&
              !memcmp(&x->dtype, &t->dtype, sizeof x->dtype);
  for (uint32_t d = 0; fits && d < t->ndim; d++)
    fits = x->shape[d] == t->dim[d].extent;
  return fits ? TESS_OK : wrong_tensor(net, what, name, t, x);
}

/* "input x" or "output y": what tensor i is of. */
static const char *tensor_use(const network_run *r, uint32_t i,
                              const char **name) {
  const tess_graph *g = r->net->g;
  bool in = i < g->inputs.n;
  *name =
      in ? g->value.v[g->inputs.v[i]].name : g->output_name.v[i - g->inputs.n];
  return in ? "input" : "output";
}

/* Outputs are computed where they are while inputs are still read. */
static tess_status check_no_alias(const network_run *r) {
  const tess_graph *g = r->net->g;
  for (uint32_t i = g->inputs.n; i < r->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (tensor_overlaps(r->tensor[k], r->tensor[i])) {
        const char *name[2];
        const char *what = tensor_use(r, k, &name[0]);
        tensor_use(r, i, &name[1]);
        return ctx_fail(r->net->c, TESS_INVALID,
                        "%s '%s' and output '%s' of graph %s share memory: "
                        "pass another tensor for the output",
                        what, name[0], name[1], g->name);
      }
  return TESS_OK;
}

static tess_status check_tensors(const network_run *r) {
  const tess_graph *g = r->net->g;
  if (r->n != g->inputs.n + g->outputs.n)
    return ctx_fail(r->net->c, TESS_INVALID,
                    "graph %s has %u inputs and %u outputs, and got %u tensors",
                    g->name, g->inputs.n, g->outputs.n, r->n);
  for (uint32_t i = 0; i < r->n; i++) {
    tess_gvalue v =
        i < g->inputs.n ? g->inputs.v[i] : g->outputs.v[i - g->inputs.n];
    const char *name, *what = tensor_use(r, i, &name);
    tess_status s =
        check_tensor(r->net, what, name, &g->value.v[v].type, r->tensor[i]);
    if (s != TESS_OK) return s;
  }
  return check_no_alias(r);
}

static void *address(const network_run *r, const network_place *p) {
  switch (p->where) {
  case NETWORK_ARENA: return r->net->base + p->offset;
  case NETWORK_CONSTANT: return (void *)(uintptr_t)p->data;
  case NETWORK_INPUT: return r->tensor[p->index]->data;
  default: return r->tensor[r->net->g->inputs.n + p->index]->data;
  }
}

static tess_status run_step(const network_run *r, network_step *s,
                            workspace *w) {
  const bundle *b = &s->kernel->code;
  for (uint32_t i = 0; i < s->n; i++) s->args[i] = address(r, s->place[i]);
  bundle_replace(b, &s->made, s->args);
  const network_workspace *at = &s->work;
  const tess_runtime *rt =
      workspace_for(w, r->net->base + at->offset, at->own, at->thread, at->n);
  int32_t status = backend_launch(b->backend, b->kernel, s->args, NULL, rt);
  if (!status) return TESS_OK;
  return ctx_fail(r->net->c, TESS_LAUNCH_ERROR,
                  "kernel '%s' of graph %s returned %d",
                  tess_kernel_name(s->kernel), r->net->g->name, status);
}

static void copy_outputs(const network_run *r) {
  const tess_graph *g = r->net->g;
  for (uint32_t i = 0; i < r->net->ncopy; i++) {
    tess_tensor *to = r->tensor[g->inputs.n + r->net->copy[i].output];
    memcpy(to->data, address(r, r->net->copy[i].from), to->bytes);
  }
}

tess_status network_run_steps(tess_network *net, uint32_t n,
                              tess_tensor *const *tensor, double *seconds) {
  network_run r = {net, n, tensor};
  tess_status s = check_tensors(&r);
  if (s != TESS_OK) return s;
  if (net->there) return network_run_there(net, tensor, seconds);
  const tess_runtime *rt = tess_default_runtime(net->c, net->threads);
  if (!rt) return net->c->err.code;
  workspace w;
  workspace_init(&w, rt);
  for (uint32_t k = 0; s == TESS_OK && k < net->nstep; k++) {
    double start = seconds ? clock_now() : 0;
    s = run_step(&r, &net->step[k], &w);
    if (seconds) seconds[k] = clock_now() - start;
  }
  if (s == TESS_OK) copy_outputs(&r);
  return s;
}
