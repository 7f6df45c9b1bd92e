/* SPDX-License-Identifier: Apache-2.0
 * Graphs of an ONNX file: inputs, weights, nodes, outputs; the main one, and
 * the branches of nodes. */
#include "graph/onnx/read.h"
#include <string.h>

/* ---- values ------------------------------------------------------------- */

/* The extents that a shape says; sizes without a name get one. */
static const tess_dim *read_shape(onnx_scope *s, const char *name,
                                  const Onnx__TensorShapeProto *shape) {
  arena *memory = &s->r->memory;
  tess_dim *dim = arena_array(memory, tess_dim, shape->n_dim);
  for (size_t d = 0; d < shape->n_dim; d++) {
    const Onnx__TensorShapeProto__Dimension *x = shape->dim[d];
    bool is_known =
        x->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        x->dim_value >= 0;
    bool is_named =
        x->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        *x->dim_param;
    dim[d] = (tess_dim){0};
    if (is_known)
      dim[d].extent = x->dim_value;
    else
      dim[d].size =
          is_named ? x->dim_param : arena_printf(memory, "%s.%zu", name, d);
  }
  return dim;
}

static tess_status read_type(onnx_scope *s, const Onnx__ValueInfoProto *v,
                             tess_gtype *out) {
  tess_context *c = s->r->c;
  const Onnx__TypeProto *t = v->type;
  bool is_tensor = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  *out = (tess_gtype){0};
  if (!is_tensor)
    return ctx_fail(c, TESS_UNSUPPORTED, "input '%s' is no tensor", v->name);
  const Onnx__TypeProto__Tensor *x = t->tensor_type;
  if (!onnx_dtype(x->elem_type, &out->dtype))
    return ctx_fail(c, TESS_UNSUPPORTED, "input '%s' is of type %s", v->name,
                    onnx_dtype_name(x->elem_type));
  if (!x->shape)
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "input '%s' has no shape: how many dimensions it has must "
                    "be known",
                    v->name);
  if (x->shape->n_dim > GRAPH_MAX_DIM)
    return ctx_fail(c, TESS_LIMIT,
                    "input '%s' has %zu dimensions, more than %d", v->name,
                    x->shape->n_dim, GRAPH_MAX_DIM);
  out->ndim = (uint32_t)x->shape->n_dim;
  out->dim = read_shape(s, v->name, x->shape);
  return TESS_OK;
}

/* Inputs; old files list the weights among them.  A branch's inputs, as those
 * of the body of a loop, have the types that its node says. */
static tess_status read_inputs_of(onnx_scope *s, const Onnx__GraphProto *from) {
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < from->n_input; i++) {
    const Onnx__ValueInfoProto *v = from->input[i];
    tess_gtype type = {0};
    if (!v->name || !*v->name)
      return ctx_fail(s->r->c, TESS_INVALID, "input %zu has no name", i);
    if (onnx_is_defined(s, v->name)) continue;
    if (!s->outer) st = read_type(s, v, &type);
    if (!st)
      st = onnx_define(s, v->name,
                       graph_input(s->g, v->name, &type, TESS_G_INPUT));
  }
  return st;
}

/* Of integers of few bits the constant is of bytes, and its type says what is
 * in them. */
static void set_packed_type(onnx_scope *s, const Onnx__TensorProto *t,
                            tess_gvalue v) {
  tess_dtype dtype;
  if (!onnx_dtype(t->data_type, &dtype) || dtype.bits >= 8) return;
  tess_dim *dim = arena_array(&s->r->memory, tess_dim, t->n_dims);
  for (size_t d = 0; d < t->n_dims; d++)
    dim[d] = (tess_dim){.extent = t->dims[d]};
  graph_set_type(s->g, v, &(tess_gtype){dtype, (uint32_t)t->n_dims, dim});
}

tess_status onnx_constant(onnx_scope *s, const Onnx__TensorProto *t,
                          const char *what, tess_gvalue *out) {
  onnx_reader *r = s->r;
  tess_status st = onnx_tensor(&r->from, t, &r->pending);
  if (st) {
    const char *why = arena_printf(&r->memory, "%s", r->c->err.message);
    return ctx_fail(r->c, st, "%s: %s", what, why);
  }
  *out = graph_constant(s->g, t->name ? t->name : "", r->pending);
  tess_tensor_free(r->pending);
  r->pending = NULL;
  set_packed_type(s, t, *out);
  return TESS_OK;
}

static tess_status read_weights(onnx_scope *s, const Onnx__GraphProto *from) {
  tess_status st = TESS_OK;
  if (from->n_sparse_initializer)
    return ctx_fail(s->r->c, TESS_UNSUPPORTED, "it has sparse weights");
  for (size_t i = 0; !st && i < from->n_initializer; i++) {
    const Onnx__TensorProto *t = from->initializer[i];
    tess_gvalue v = 0;
    if (!t->name || !*t->name)
      return ctx_fail(s->r->c, TESS_INVALID, "weight %zu has no name", i);
    st = onnx_constant(s, t,
                       arena_printf(&s->r->memory, "weight '%s'", t->name), &v);
    if (!st) st = onnx_define(s, t->name, v);
  }
  return st;
}

static tess_status read_outputs(onnx_scope *s, const Onnx__GraphProto *from) {
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < from->n_output; i++) {
    const char *name = from->output[i]->name;
    tess_gvalue v = 0;
    if (!name || !*name)
      return ctx_fail(s->r->c, TESS_INVALID, "output %zu has no name", i);
    st = onnx_find(s, name, NULL, &v);
    if (!st) graph_output_add(s->g, name, v);
  }
  return st;
}

/* ---- graphs ------------------------------------------------------------- */

/* The reader frees the new graph as long as it is in its list. */
static tess_graph *begin_graph(onnx_reader *r, const char *name) {
  vec_reserve(&r->c->heap, &r->graphs, 1);
  tess_graph *g = graph_new(r->c, name ? name : "");
  return vec_push(&r->c->heap, &r->graphs, g), g;
}

tess_status onnx_read_graph(onnx_reader *r, const Onnx__GraphProto *from,
                            onnx_scope *outer, tess_graph **out) {
  onnx_scope *s = onnx_scope_open(r, begin_graph(r, from->name));
  s->outer = outer;
  if (outer) s->call = outer->call;
  tess_status st = read_weights(s, from);
  if (!st) st = read_inputs_of(s, from);
  if (!st) st = onnx_read_nodes(s, from->n_node, from->node);
  if (!st) st = read_outputs(s, from);
  *out = s->g;
  onnx_scope_close(r);
  return st;
}
