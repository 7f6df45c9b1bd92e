/* SPDX-License-Identifier: Apache-2.0
 * Names of an ONNX graph and what they stand for. */
#include "base/hash.h"
#include "graph/onnx/read.h"
#include <string.h>

onnx_scope *onnx_scope_open(onnx_reader *r, tess_graph *g) {
  onnx_scope *s = arena_alloc(&r->memory, sizeof *s);
  *s = (onnx_scope){.r = r, .below = r->scope, .g = g, .prefix = ""};
  map_init(&s->index, &r->c->heap);
  r->scope = s;
  return s;
}

void onnx_scope_close(onnx_reader *r) {
  onnx_scope *s = r->scope;
  r->scope = s->below;
  map_free(&s->index);
  vec_free(&r->c->heap, &s->names);
}

static uint64_t key_of(const char *name) {
  return hash_bytes(name, strlen(name));
}

static const onnx_name *find_name(const onnx_scope *s, const char *name) {
  uint32_t at = map_get(&s->index, key_of(name));
  if (at == MAP_NONE || strcmp(s->names.v[at].text, name)) return NULL;
  return &s->names.v[at];
}

tess_status onnx_define(onnx_scope *s, const char *name, tess_gvalue v) {
  mem_heap *heap = &s->r->c->heap;
  if (map_get(&s->index, key_of(name)) != MAP_NONE)
    return ctx_fail(s->r->c, TESS_INVALID, "'%s' is defined twice", name);
  vec_push(heap, &s->names, ((onnx_name){name, v}));
  map_put(&s->index, key_of(name), s->names.n - 1);
  return TESS_OK;
}

bool onnx_is_defined(const onnx_scope *s, const char *name) {
  return find_name(s, name) != NULL;
}

/* The same where a name may be one of outside: a value of the graph around this
 * one is known here by the name that it has there. */
static bool find_value(onnx_scope *s, const char *name, tess_gvalue *out) {
  const onnx_name *own = find_name(s, name);
  *out = own ? own->v : 0;
  if (own || !s->outer || !find_value(s->outer, name, out)) return own != NULL;
  if (*out) {
    tess_gtype unknown = {0};
    const char *there = s->outer->g->value.v[*out].name;
    *out = graph_input(s->g, *there ? there : name, &unknown, TESS_G_OUTER);
  }
  return onnx_define(s, name, *out) == TESS_OK;
}

tess_status onnx_find(onnx_scope *s, const char *name,
                      const Onnx__NodeProto *node, tess_gvalue *out) {
  if (find_value(s, name, out)) return TESS_OK;
  if (!node)
    return ctx_fail(s->r->c, TESS_INVALID,
                    "output '%s' is given by no node before", name);
  return ctx_fail(s->r->c, TESS_INVALID,
                  "%s takes '%s', which nothing before it gives",
                  onnx_node_text(s->r, node), name);
}

/* ---- versions ----------------------------------------------------------- */

static bool is_default(const char *domain) {
  return !*domain || !strcmp(domain, "ai.onnx");
}

static bool same_domain(const char *a, const char *b) {
  return !strcmp(a, b) || (is_default(a) && is_default(b));
}

int64_t onnx_opset(const onnx_scope *s, const char *domain) {
  const onnx_call *call = s->call;
  size_t n =
      call ? call->function->n_opset_import : s->r->model->n_opset_import;
  Onnx__OperatorSetIdProto *const *v =
      call ? call->function->opset_import : s->r->model->opset_import;
  for (size_t i = 0; i < n; i++)
    if (same_domain(v[i]->domain ? v[i]->domain : "", domain))
      return v[i]->version;
  return 0;
}

const char *onnx_node_text(onnx_reader *r, const Onnx__NodeProto *n) {
  const char *op = n->op_type ? n->op_type : "?";
  if (n->name && *n->name)
    return arena_printf(&r->memory, "node '%s' (%s)", n->name, op);
  if (n->n_output && *n->output[0])
    return arena_printf(&r->memory, "the node of '%s' (%s)", n->output[0], op);
  return arena_printf(&r->memory, "a node without a name (%s)", op);
}
