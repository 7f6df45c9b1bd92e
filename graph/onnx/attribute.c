/* SPDX-License-Identifier: Apache-2.0
 * Attributes of ONNX nodes as those of graphs. */
#include "graph/onnx/read.h"
#include <string.h>

typedef Onnx__AttributeProto attribute;

const attribute *onnx_attribute_of(const onnx_scope *s, const attribute *a) {
  const onnx_call *call = s->call;
  const char *name = a->ref_attr_name;
  if (!name || !*name) return a;
  for (uint32_t i = 0; call && i < call->nattr; i++)
    if (!strcmp(call->attr[i]->name, name)) return call->attr[i];
  return NULL;
}

static tess_status refuse_attribute(onnx_scope *s, const Onnx__NodeProto *node,
                                    const attribute *a, const char *what) {
  return ctx_fail(s->r->c, TESS_UNSUPPORTED, "%s: attribute '%s' %s",
                  onnx_node_text(s->r, node), a->name ? a->name : "", what);
}

/* Text of bytes, which may have a NUL. */
static const char *bytes_text(onnx_scope *s, ProtobufCBinaryData b) {
  if (b.len && memchr(b.data, 0, b.len)) return NULL;
  char *text = arena_alloc(&s->r->memory, b.len + 1);
  if (b.len) memcpy(text, b.data, b.len);
  text[b.len] = 0;
  return text;
}

/* The kind that an attribute has; old files do not say it. */
static Onnx__AttributeProto__AttributeType attribute_kind(const attribute *a) {
  if (a->has_type &&
      a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
    return a->type;
  if (a->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  if (a->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
  if (a->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  if (a->t) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  if (a->g) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
  if (a->n_floats) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
  if (a->n_strings) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
  return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static void read_reals(onnx_scope *s, const attribute *a, tess_attr *out) {
  double *reals = arena_array(&s->r->memory, double, a->n_floats);
  for (size_t i = 0; i < a->n_floats; i++) reals[i] = a->floats[i];
  out->kind = TESS_ATTR_REALS;
  out->n = (uint32_t)a->n_floats;
  out->reals = reals;
}

static tess_status read_texts(onnx_scope *s, const Onnx__NodeProto *node,
                              const attribute *a, tess_attr *out) {
  const char **texts = arena_array(&s->r->memory, const char *, a->n_strings);
  for (size_t i = 0; i < a->n_strings; i++) {
    texts[i] = bytes_text(s, a->strings[i]);
    if (!texts[i]) return refuse_attribute(s, node, a, "has a NUL byte");
  }
  out->kind = TESS_ATTR_STRS;
  out->n = (uint32_t)a->n_strings;
  out->strs = texts;
  return TESS_OK;
}

static tess_status read_tensor(onnx_scope *s, const Onnx__NodeProto *node,
                               const attribute *a, tess_attr *out) {
  if (!a->t) return refuse_attribute(s, node, a, "has no tensor");
  out->kind = TESS_ATTR_TENSOR;
  return onnx_constant(s, a->t,
                       arena_printf(&s->r->memory, "attribute '%s' of %s",
                                    a->name, onnx_node_text(s->r, node)),
                       &out->tensor);
}

static tess_status read_branch(onnx_scope *s, const Onnx__NodeProto *node,
                               const attribute *a, tess_attr *out) {
  if (!a->g) return refuse_attribute(s, node, a, "has no graph");
  out->kind = TESS_ATTR_GRAPH;
  return onnx_read_graph(s->r, a->g, s, &out->graph);
}

static tess_status read_text(onnx_scope *s, const Onnx__NodeProto *node,
                             const attribute *a, tess_attr *out) {
  out->kind = TESS_ATTR_STR;
  out->s = bytes_text(s, a->s);
  return out->s ? TESS_OK : refuse_attribute(s, node, a, "has a NUL byte");
}

tess_status onnx_read_attribute(onnx_scope *s, const Onnx__NodeProto *node,
                                const attribute *a, tess_attr *out) {
  *out = (tess_attr){.name = a->name};
  switch (attribute_kind(a)) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
    out->kind = TESS_ATTR_REAL;
    out->r = a->f;
    return TESS_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
    out->kind = TESS_ATTR_INT;
    out->i = a->i;
    return TESS_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    out->kind = TESS_ATTR_INTS;
    out->n = (uint32_t)a->n_ints;
    out->ints = a->ints;
    return TESS_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    read_reals(s, a, out);
    return TESS_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    return read_text(s, node, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    return read_texts(s, node, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
    return read_tensor(s, node, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
    return read_branch(s, node, a, out);
  default:
    return refuse_attribute(s, node, a,
                            "is of a kind that is not supported (of lists of "
                            "tensors or graphs, sparse tensors and types)");
  }
}
