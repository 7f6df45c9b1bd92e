/* SPDX-License-Identifier: Apache-2.0
 * Products: calls of the machine's tensor intrinsic. */
#include "backends/dae/compile.h"
#include <string.h>

/* A parameter of a call: the index of its first element, which is that of a
 * compact box. */
typedef struct param {
  ir_buf buf;
  dae_form at;
  int64_t elements;
} param;

static bool base_of(dae_compile *c, const dae_nest *n, ir_expr load,
                    dae_form *out) {
  const ir_node at = *ir_at(c->p, load);
  return at.op == IR_LOAD && dae_find_form(c, n, dae_index(c, &at), out);
}

/* The arguments are the number of parameters, then of each its dimensions,
 * their extents, its first element and the next one along each
 * (lower_tensor_calls.c). */
static dae_tried read_param(dae_compile *c, const dae_nest *n,
                            const uint32_t **arg, param *out) {
  int64_t ndim = 0, extent[8];
  ir_const_int(c->p, *(*arg)++, &ndim);
  if (ndim > 8) return DAE_REFUSED;
  out->elements = 1;
  for (int64_t d = 0; d < ndim; d++) {
    if (!ir_const_int(c->p, *(*arg)++, &extent[d])) return DAE_REFUSED;
    out->elements *= extent[d];
  }
  out->buf = ir_at(c->p, **arg)->a;
  if (!base_of(c, n, *(*arg)++, &out->at)) return DAE_RETRY;
  int64_t step = out->elements;
  for (int64_t d = 0; d < ndim; d++) {
    dae_form next;
    if (!base_of(c, n, *(*arg)++, &next)) return DAE_RETRY;
    step /= extent[d];
    if (extent[d] > 1 && next.base - out->at.base != step) return DAE_REFUSED;
  }
  return DAE_DONE;
}

static bool is_of(const dae_compile *c, const param *p, uint32_t mem,
                  int64_t elements) {
  return dae_memory_of(c, p->buf) == mem && p->elements == elements;
}

/* acc, inp, wgt of a call "gemm(inp, wgt, acc)". */
static dae_tried read_call(dae_compile *c, const dae_nest *n,
                           const ir_node *call, param p[3]) {
  static const uint8_t place[] = {1, 2, 0};
  const uint32_t *arg = c->p->arg.v + call->b + 1;
  for (int k = 0; k < 3; k++) {
    dae_tried t = read_param(c, n, &arg, &p[place[k]]);
    if (t == DAE_REFUSED)
      dae_refuse(c, n->leaf, "an operand of '%s' is not consecutive",
                 c->m->call);
    if (t != DAE_DONE) return t;
  }
  if (is_of(c, &p[0], DAE_ACC, c->m->n) && is_of(c, &p[1], DAE_INP, c->m->k) &&
      is_of(c, &p[2], DAE_WGT, c->m->k * c->m->n))
    return DAE_DONE;
  dae_refuse(c, n->leaf,
             "'%s' multiplies %lld elements in local.inp_buffer by %lld in "
             "local.wgt_buffer into %lld in local.acc_buffer",
             c->m->call, (long long)c->m->k, (long long)(c->m->k * c->m->n),
             (long long)c->m->n);
  return DAE_REFUSED;
}

/* From elements, of which each operand has its own number an entry. */
static bool to_entries(const dae_compile *c, dae_loops *l) {
  const int64_t entry[] = {c->m->n, c->m->k, c->m->k * c->m->n};
  for (uint32_t k = 0; k < 3; k++) {
    if (l->base[k] % entry[k]) return false;
    l->base[k] /= entry[k];
    for (uint32_t i = 0; i < l->n; i++) {
      if (l->step[k][i] % entry[k] && l->extent[i] > 1) return false;
      l->step[k][i] /= entry[k];
    }
  }
  return true;
}

static bool is_ours(const dae_compile *c, const char *text) {
  size_t n = strlen(c->m->call);
  return !strncmp(text, c->m->call, n) && !strcmp(text + n, "(%0, %1, %2)");
}

dae_tried dae_emit_product(dae_compile *c, const dae_nest *n) {
  const ir_node call = *ir_at(c->p, ir_st(c->p, n->leaf)->cond);
  const char *text = ir_text(c->p, call.c);
  param p[3];
  dae_loops l;
  if (!is_ours(c, text)) {
    dae_refuse(c, n->leaf,
               "the tensor intrinsic \"%s\" is none of machine '%s', which "
               "has \"%s\"",
               text, c->m->name, c->m->call);
    return DAE_REFUSED;
  }
  dae_tried t = read_call(c, n, &call, p);
  if (t != DAE_DONE) return t;
  dae_set_loops(n, &l);
  for (uint32_t k = 0; k < 3; k++)
    dae_set_operand(c, &l, k, p[k].buf, &p[k].at);
  if (!to_entries(c, &l)) {
    dae_refuse(c, n->leaf, "an operand of '%s' does not begin at an entry",
               c->m->call);
    return DAE_REFUSED;
  }
  if (dae_is_clobbered(c, &l, 0)) {
    dae_refuse(c, n->leaf, "a sum was stored, in place, before its end");
    return DAE_REFUSED;
  }
  return dae_emit_loops(c, &(dae_insn){.op = DAE_GEMM}, &l);
}
