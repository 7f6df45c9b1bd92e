/* SPDX-License-Identifier: Apache-2.0
 * Making a graph that runs: the places of its values, and its constants in the
 * layouts that kernels want. */
#include "graph/network.h"
#include "graph/workspace.h"
#include "measure/tensor/tensor.h"

uint64_t network_bytes(const tess_gtype *t) {
  uint64_t n = t->dtype.bits == 1 ? 1 : t->dtype.bits / 8;
  for (uint32_t d = 0; d < t->ndim; d++) {
    if (t->dim[d].size) return UINT64_MAX;
    if (__builtin_mul_overflow(n, (uint64_t)t->dim[d].extent, &n))
      return UINT64_MAX;
  }
  return n;
}

/* ---- what is given ------------------------------------------------------ */

typedef struct making {
  tess_graph *g;
  tess_network *net;
  uint32_t nstep;
  const tess_gstep *step;
  tess_gvalue *root;       /* by value: the one whose elements it has */
  network_place *place;    /* by value, of roots */
  plan_block *block;       /* by value, of roots in the arena */
  network_workspace *work; /* by step */
  uint8_t *live;           /* by value: whether it has a block */
  bool elsewhere;          /* kernels run on a device */
  arena scratch;
} making;

static tess_status wrong_argument(const making *m, const tess_gstep *s,
                                  uint32_t i, const char *what) {
  return ctx_fail(m->g->c, TESS_INVALID,
                  "argument %u of kernel '%s' in graph %s %s", i + 1,
                  tess_kernel_name(s->kernel), m->g->name, what);
}

static tess_status check_argument(const making *m, const tess_gstep *s,
                                  uint32_t i) {
  tess_param p = TESS_INIT(tess_param);
  if (!graph_has(m->g, s->value[i]))
    return wrong_argument(m, s, i, "is no value of it");
  const tess_gtype *t = &m->g->value.v[s->value[i]].type;
  tess_status status = tess_program_param(s->kernel->program, i, &p);
  if (status != TESS_OK) return status;
  if (p.ndim != t->ndim || memcmp(&p.dtype, &t->dtype, sizeof p.dtype))
    return wrong_argument(m, s, i, "has another type than its parameter");
  for (uint32_t d = 0; d < p.ndim; d++)
    if (t->dim[d].size || t->dim[d].extent != p.shape[d])
      return wrong_argument(m, s, i, "has another shape than its parameter");
  return TESS_OK;
}

static tess_status check_step(const making *m, const tess_gstep *s) {
  if (!s->kernel) return TESS_OK;
  if (network_is_elsewhere(s->kernel) != m->elsewhere)
    return ctx_fail(m->g->c, TESS_INVALID,
                    "kernel '%s' of graph %s does not run where the first does",
                    tess_kernel_name(s->kernel), m->g->name);
  if (s->n != tess_program_nparams(s->kernel->program))
    return ctx_fail(m->g->c, TESS_INVALID,
                    "kernel '%s' of graph %s has %u parameters, not %u",
                    tess_kernel_name(s->kernel), m->g->name,
                    tess_program_nparams(s->kernel->program), s->n);
  for (uint32_t i = 0; i < s->n; i++) {
    tess_status status = check_argument(m, s, i);
    if (status != TESS_OK) return status;
  }
  return TESS_OK;
}

/* ---- places ------------------------------------------------------------- */

static void find_roots(making *m) {
  for (tess_gvalue v = 0; v < m->g->value.n; v++) m->root[v] = v;
  for (uint32_t k = 0; k < m->nstep; k++)
    if (!m->step[k].kernel)
      m->root[m->step[k].value[1]] = m->root[m->step[k].value[0]];
}

static void place_given(making *m) {
  const tess_graph *g = m->g;
  for (tess_gvalue v = 1; v < g->value.n; v++)
    if (g->value.v[v].kind == TESS_G_CONSTANT)
      m->place[v] = (network_place){.where = NETWORK_CONSTANT,
                                    .data = g->value.v[v].tensor->data};
  for (uint32_t i = 0; i < g->inputs.n; i++)
    m->place[g->inputs.v[i]] =
        (network_place){.where = NETWORK_INPUT, .index = i};
}

/* A result that is an output is computed there; whatever else is one is copied
 * at the end. */
static void place_outputs(making *m) {
  const tess_graph *g = m->g;
  tess_network *net = m->net;
  net->copy = arena_array(&net->memory, network_copy, g->outputs.n);
  for (uint32_t i = 0; i < g->outputs.n; i++) {
    tess_gvalue r = m->root[g->outputs.v[i]];
    if (g->value.v[r].kind == TESS_G_RESULT &&
        m->place[r].where == NETWORK_ARENA)
      m->place[r] = (network_place){.where = NETWORK_OUTPUT, .index = i};
    else
      net->copy[net->ncopy++] = (network_copy){i, &m->place[r]};
  }
}

/* What is in the arena lives while it is an argument. */
static void find_lives(making *m) {
  for (uint32_t k = 0; k < m->nstep; k++)
    for (uint32_t i = 0; i < m->step[k].n && m->step[k].kernel; i++) {
      tess_gvalue r = m->root[m->step[k].value[i]];
      if (m->place[r].where != NETWORK_ARENA) continue;
      if (!m->live[r])
        m->block[r] = (plan_block){
            .bytes = network_bytes(&m->g->value.v[r].type), .from = k};
      m->live[r] = 1;
      m->block[r].to = k;
    }
}

/* What kernels ask for while they run lives as long; on as many threads as
 * their target has cores. */
static void find_workspaces(making *m) {
  for (uint32_t k = 0; k < m->nstep && !m->elsewhere; k++) {
    const tess_kernel *kernel = m->step[k].kernel;
    if (!kernel || !kernel->code.backend->frame) continue;
    backend_frame f = kernel->code.backend->frame(kernel->code.kernel);
    int64_t cores = f.thread ? kernel->target.num_cores : 0;
    if (cores > WORKSPACE_THREADS) cores = WORKSPACE_THREADS;
    if (f.own || f.thread)
      m->work[k] = (network_workspace){
          .own = f.own, .thread = f.thread, .n = 1 + (uint32_t)cores};
  }
}

static uint64_t workspace_bytes(const network_workspace *w) {
  return w->n ? w->own + (w->n - 1) * w->thread : 0;
}

static void plan_arena(making *m) {
  uint32_t n = 0, most = m->g->value.n + m->nstep;
  plan_block *block = arena_array(&m->scratch, plan_block, most);
  uint64_t **offset = arena_array(&m->scratch, uint64_t *, most);
  for (tess_gvalue v = 1; v < m->g->value.n; v++)
    if (m->live[v]) {
      offset[n] = &m->place[v].offset;
      block[n++] = m->block[v];
    }
  for (uint32_t k = 0; k < m->nstep; k++)
    if (m->work[k].n) {
      offset[n] = &m->work[k].offset;
      block[n++] = (plan_block){
          .bytes = workspace_bytes(&m->work[k]), .from = k, .to = k};
    }
  tess_network_info *info = &m->net->info;
  info->arena_bytes = plan_place(block, n, &m->scratch);
  info->bound_bytes = plan_bound(block, n, &m->scratch);
  info->sum_bytes = plan_sum(block, n);
  for (uint32_t i = 0; i < n; i++) *offset[i] = block[i].offset;
}

/* ---- steps -------------------------------------------------------------- */

static void take_steps(making *m) {
  tess_network *net = m->net;
  net->step = arena_zalloc(&net->memory, m->nstep * sizeof *net->step);
  for (uint32_t k = 0; k < m->nstep; k++) {
    const tess_gstep *s = &m->step[k];
    if (!s->kernel) continue;
    network_step *to = &net->step[net->nstep];
    to->place = arena_array(&net->memory, const network_place *, s->n);
    tess_gvalue *value = arena_array(&net->memory, tess_gvalue, s->n);
    memcpy(value, s->value, s->n * sizeof *value);
    to->value = value;
    to->args = arena_zalloc(&net->memory, s->n * sizeof *to->args);
    to->bytes = arena_array(&net->memory, uint64_t, s->n);
    to->n = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
      to->place[i] = &m->place[m->root[s->value[i]]];
      to->bytes[i] = network_bytes(&m->g->value.v[s->value[i]].type);
    }
    to->work = m->work[k];
    to->kernel = s->kernel;
    s->kernel->refs++;
    net->nstep++;
  }
}

/* Constants whose layout the schedule chose are converted once, here. */
static tess_status convert_constants(tess_network *net, network_step *s,
                                     const tess_runtime *rt) {
  const bundle *b = &s->kernel->code;
  for (uint32_t i = 0; i < b->n; i++) {
    const network_place *p = s->place[b->param[i]];
    if (p->where != NETWORK_CONSTANT)
      return ctx_fail(net->c, TESS_INVALID,
                      "parameter %u of kernel '%s' is layout-free, and has to "
                      "be a constant",
                      b->param[i] + 1, tess_kernel_name(s->kernel));
    s->args[b->param[i]] = (void *)(uintptr_t)p->data;
    net->info.converted_bytes += b->bytes[i];
  }
  if (!b->n) return TESS_OK;
  int32_t status = bundle_convert(b, s->args, rt, &s->made);
  if (!status) return TESS_OK;
  return ctx_fail(net->c, TESS_LAUNCH_ERROR,
                  "laying out the constants of kernel '%s' failed with %d",
                  tess_kernel_name(s->kernel), status);
}

static tess_status make_block(tess_network *net) {
  size_t bytes = net->info.arena_bytes + PLAN_ALIGN;
  net->block = mem_resize(&net->c->heap, NULL, 0, bytes);
  net->block_bytes = bytes;
  uintptr_t at = (uintptr_t)net->block + PLAN_ALIGN - 1;
  net->base = (char *)(at / PLAN_ALIGN * PLAN_ALIGN);
  return TESS_OK;
}

static tess_status fill_network(void *ud) {
  making *m = ud;
  uint32_t n = m->g->value.n;
  m->root = arena_array(&m->scratch, tess_gvalue, n);
  m->block = arena_zalloc(&m->scratch, n * sizeof *m->block);
  m->live = arena_zalloc(&m->scratch, n);
  m->work = arena_zalloc(&m->scratch, m->nstep * sizeof *m->work);
  m->place = arena_zalloc(&m->net->memory, n * sizeof *m->place);
  for (uint32_t k = 0; k < m->nstep; k++) {
    tess_status s = check_step(m, &m->step[k]);
    if (s != TESS_OK) return s;
  }
  find_roots(m);
  place_given(m);
  place_outputs(m);
  find_lives(m);
  find_workspaces(m);
  plan_arena(m);
  take_steps(m);
  return make_block(m->net);
}

static tess_status convert_all(tess_network *net) {
  const tess_runtime *rt = tess_default_runtime(net->c, 0);
  if (!rt) return net->c->err.code;
  for (uint32_t k = 0; k < net->nstep; k++) {
    tess_status s = convert_constants(net, &net->step[k], rt);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

static tess_status make_network(void *ud) {
  making *m = ud;
  mem_heap *heap = &m->g->c->heap;
  m->net = mem_new(heap, tess_network);
  *m->net = (tess_network){.c = m->g->c, .g = m->g};
  m->g->refs++;
  arena_init(&m->net->memory, heap);
  tess_status s = mem_protect(heap, fill_network, m);
  m->net->info.kernels = m->net->nstep;
  if (s == TESS_OK && !m->elsewhere) s = convert_all(m->net);
  if (s == TESS_OK) return TESS_OK;
  tess_network_free(m->net);
  m->net = NULL;
  return s;
}

tess_status network_new(tess_graph *g, uint32_t n, const tess_gstep *step,
                        tess_network **out) {
  making m = {.g = g, .nstep = n, .step = step};
  arena_init(&m.scratch, &g->c->heap);
  for (uint32_t k = 0; k < n && !m.elsewhere; k++)
    m.elsewhere = network_is_elsewhere(step[k].kernel);
  tess_status s = ctx_run(g->c, make_network, &m);
  arena_free(&m.scratch);
  if (s == TESS_OK && m.elsewhere) s = network_to_device(m.net, n, step);
  if (s != TESS_OK) {
    tess_network_free(m.net);
    m.net = NULL;
  }
  *out = m.net;
  return s;
}

void tess_network_free(tess_network *net) {
  if (!net) return;
  network_leave_device(net);
  for (uint32_t k = 0; k < net->nstep; k++) {
    bundle_args_free(&net->step[k].made);
    tess_kernel_free(net->step[k].kernel);
  }
  mem_free(&net->c->heap, net->block, net->block_bytes);
  arena_free(&net->memory);
  tess_graph_free(net->g);
  mem_free(&net->c->heap, net, sizeof *net);
}
