/* SPDX-License-Identifier: Apache-2.0
 * Reading ONNX files to graphs: what the files of this folder share. */
#ifndef GRAPH_ONNX_READ_H
#define GRAPH_ONNX_READ_H

#include "base/map.h"
#include "graph/graph.h"
#include "graph/onnx/tensor.h"

/* Bounds of what is made of a file: a node's parts, functions that call each
 * other, and nodes in all, since functions are copied where they are called. */
enum {
  ONNX_MAX_PARTS = 1 << 16,
  ONNX_MAX_ATTRIBUTES = 256,
  ONNX_MAX_CALLS = 32,
  ONNX_MAX_NODES = 1 << 20
};

typedef struct onnx_reader {
  tess_context *c;
  onnx_source from;
  arena memory; /* the unpacked file, and names */
  strbuf copy;  /* the file without raw data, until it is unpacked */
  const Onnx__ModelProto *model;
  VEC(tess_graph *) graphs; /* in the making, freed where reading fails */
  tess_tensor *pending;     /* not yet of a graph */
  struct onnx_scope *scope; /* the innermost that is open */
  uint32_t nodes;
} onnx_reader;

/* Reads the file, or the bytes where from.path is NULL, whose first mapping is
 * held.  Unwinds when memory runs out; frees nothing. */
tess_status onnx_read(onnx_reader *r, tess_graph **out);
void onnx_reader_free(onnx_reader *r);

/* ---- scopes (scope.c) --------------------------------------------------- */

/* A name and what it stands for; its text is the graph's. */
typedef struct onnx_name {
  const char *text;
  tess_gvalue v; /* 0: an output that a caller of the function leaves out */
} onnx_name;

/* A call of a function whose body is read: its attributes stand for those that
 * refer to them. */
typedef struct onnx_call {
  const Onnx__FunctionProto *function;
  uint32_t nattr;
  const Onnx__AttributeProto *const *attr;
  uint32_t depth; /* of calls around it */
} onnx_call;

/* The names of a graph, or of a function's body in it. */
typedef struct onnx_scope {
  onnx_reader *r;
  struct onnx_scope *below; /* the one that was open before */
  tess_graph *g;
  struct onnx_scope *outer; /* of a branch: where the node is */
  const onnx_call *call;    /* NULL: not in a function */
  const char *prefix;       /* of names in a function: "node/" */
  map index;                /* from a hash of the name to its entry */
  VEC(onnx_name) names;
} onnx_scope;

/* The reader closes those that are left open by an unwinding. */
onnx_scope *onnx_scope_open(onnx_reader *r, tess_graph *g);
void onnx_scope_close(onnx_reader *r); /* the innermost */
/* INVALID for a name that is there. */
tess_status onnx_define(onnx_scope *s, const char *name, tess_gvalue v);
bool onnx_is_defined(const onnx_scope *s, const char *name);
/* The value of a name; one of outside becomes a value of this graph.  INVALID
 * where nothing gives it; `node` is who asks, for the message. */
tess_status onnx_find(onnx_scope *s, const char *name,
                      const Onnx__NodeProto *node, tess_gvalue *out);
/* The version of a domain's operators that holds here; 0: it is not said. */
int64_t onnx_opset(const onnx_scope *s, const char *domain);
/* "node 'conv1' (Conv)". */
const char *onnx_node_text(onnx_reader *r, const Onnx__NodeProto *n);

/* ---- graphs (graph.c) --------------------------------------------------- */

/* A new graph of the file's; a branch where `outer` is there. */
tess_status onnx_read_graph(onnx_reader *r, const Onnx__GraphProto *from,
                            onnx_scope *outer, tess_graph **out);
/* A constant of a tensor of the file; `what` says which for the message. */
tess_status onnx_constant(onnx_scope *s, const Onnx__TensorProto *t,
                          const char *what, tess_gvalue *out);

/* ---- nodes (node.c) ----------------------------------------------------- */

tess_status onnx_read_nodes(onnx_scope *s, size_t n,
                            Onnx__NodeProto *const *nodes);

/* ---- attributes (attribute.c) ------------------------------------------- */

/* What attribute `a` is here: itself, or what its caller gives; NULL: nothing.
 */
const Onnx__AttributeProto *onnx_attribute_of(const onnx_scope *s,
                                              const Onnx__AttributeProto *a);
tess_status onnx_read_attribute(onnx_scope *s, const Onnx__NodeProto *node,
                                const Onnx__AttributeProto *a, tess_attr *out);

#endif
