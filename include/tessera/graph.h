/* SPDX-License-Identifier: Apache-2.0
 * Graphs of operators: whole models, as data.  Included by tessera.h.
 *
 * A graph has values, which are inputs, constants or results of nodes, and
 * nodes, each an operator by its name with attributes.  A node of an operator
 * of Tessera's ("conv2d_nchw") takes its tensors in the order of the operator's
 * page, 0 where one is left out, and has its options as attributes; of other
 * languages (a file's) the name has a prefix, "onnx.Conv".  What operators
 * are is known in Lua (`require "tessera.graph"`), where shapes are inferred
 * and programs are made of nodes; here they are given. */
#ifndef TESSERA_GRAPH_H
#define TESSERA_GRAPH_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tess_graph tess_graph;
typedef uint32_t tess_gvalue;   /* a value of one graph; 0: none */
typedef uint32_t tess_gnode;    /* a node of one graph, from 1 */

/* An extent; where it is not known yet, the name of a size ("batch"). */
typedef struct tess_dim {
  int64_t extent;
  const char *size;             /* NULL: the extent is known */
} tess_dim;

/* What a value is; dtype.bits 0: not known yet, and no dimensions either. */
typedef struct tess_gtype {
  tess_dtype dtype;
  uint32_t ndim;
  const tess_dim *dim;
} tess_gtype;

typedef enum tess_attr_kind {
  TESS_ATTR_BOOL, TESS_ATTR_INT, TESS_ATTR_REAL, TESS_ATTR_STR,
  TESS_ATTR_INTS, TESS_ATTR_REALS, TESS_ATTR_STRS,
  TESS_ATTR_TENSOR,             /* a constant of the graph */
  TESS_ATTR_GRAPH               /* as the branches of an If */
} tess_attr_kind;

/* An attribute; the member that its kind says is valid. */
typedef struct tess_attr {
  const char *name;
  tess_attr_kind kind;
  uint32_t n;                   /* entries of a list */
  int64_t i;                    /* BOOL, INT */
  double r;
  const char *s;
  const int64_t *ints;
  const double *reals;
  const char *const *strs;
  tess_gvalue tensor;
  tess_graph *graph;            /* the graph that the node is in frees it */
} tess_attr;

typedef enum tess_gkind {
  TESS_G_INPUT, TESS_G_CONSTANT, TESS_G_RESULT,
  TESS_G_OUTER                  /* in a branch: a value of the graph that it is
                                 * in, by its name */
} tess_gkind;

TESS_API tess_status tess_graph_new(tess_context *c, const char *name,
                                    TESS_GIVE tess_graph **out);
TESS_API void tess_graph_free(TESS_TAKE tess_graph *g);
TESS_API const char *tess_graph_name(const tess_graph *g);

/* ---- building ----------------------------------------------------------- */

/* An input, or in a branch a value of outside.  LIMIT beyond 16 dimensions. */
TESS_API tess_status tess_graph_input(tess_graph *g, const char *name,
                                      const tess_gtype *t, tess_gkind kind,
                                      tess_gvalue *out);
/* A constant, which keeps the tensor (it is not copied, and may not be changed
 * any more).  UNSUPPORTED for one on a device. */
TESS_API tess_status tess_graph_constant(tess_graph *g, const char *name,
                                         tess_tensor *t, tess_gvalue *out);
typedef struct tess_node_def {
  uint32_t struct_size;         /* sizeof(tess_node_def) */
  uint32_t nin, nattr, nout;
  const char *op, *name;        /* name NULL or "": none */
  const tess_gvalue *in;        /* 0: left out */
  const tess_attr *attr;        /* copied; graphs in them are taken */
  const tess_gtype *type;       /* of the results */
  const char *const *result;    /* their names; NULL: none have */
} tess_node_def;
/* Adds a node behind all others; its results are out[0 .. nout - 1].  INVALID
 * for a value that there is not, or two attributes of one name. */
TESS_API tess_status tess_graph_node(tess_graph *g, const tess_node_def *def,
                                     tess_gvalue *out);
TESS_API tess_status tess_graph_output(tess_graph *g, const char *name,
                                       tess_gvalue v);

/* ---- asking ------------------------------------------------------------- */

typedef struct tess_gvalue_info {
  uint32_t struct_size;         /* sizeof(tess_gvalue_info) */
  tess_gkind kind;
  const char *name;             /* "": none */
  tess_gtype type;
  tess_gnode node;              /* of a RESULT, and which of its results */
  uint32_t result;
} tess_gvalue_info;
TESS_API tess_status tess_graph_value(tess_graph *g, tess_gvalue v,
                                      tess_gvalue_info *out);
/* The tensor of a constant, not to be changed; INVALID for another value. */
TESS_API tess_status tess_graph_tensor(tess_graph *g, tess_gvalue v,
                                       TESS_GIVE tess_tensor **out);
typedef struct tess_gnode_info {
  uint32_t struct_size;         /* sizeof(tess_gnode_info) */
  uint32_t nin, nattr, nout;
  uint32_t group;               /* its number; 0: none */
  const char *op, *name;
  const tess_gvalue *in, *out;
  const tess_attr *attr;        /* sorted by name */
} tess_gnode_info;
TESS_API tess_status tess_graph_node_get(tess_graph *g, tess_gnode n,
                                         tess_gnode_info *out);
/* The graph that is attribute `attr` of a node; NOT_FOUND: there is none. */
TESS_API tess_status tess_graph_branch(tess_graph *g, tess_gnode n,
                                       const char *attr,
                                       TESS_GIVE tess_graph **out);
/* The nodes in the order in which they run, the inputs and the outputs. */
TESS_API uint32_t tess_graph_order(tess_graph *g, const tess_gnode **out);
TESS_API uint32_t tess_graph_inputs(tess_graph *g, const tess_gvalue **out);
TESS_API uint32_t tess_graph_outputs(tess_graph *g, const tess_gvalue **out);
TESS_API const char *tess_graph_output_name(tess_graph *g, uint32_t i);
/* For people: a line a node; and as a drawing, in Graphviz's language. */
TESS_API tess_status tess_graph_text(tess_graph *g, TESS_GIVE char **out);
TESS_API tess_status tess_graph_dot(tess_graph *g, TESS_GIVE char **out);
/* INVALID, with the node: what it takes is computed after it. */
TESS_API tess_status tess_graph_verify(tess_graph *g);

/* ---- changing ----------------------------------------------------------- */

/* Whoever takes `old` takes `v` instead, as do the outputs.  The order of nodes
 * may be wrong until tess_graph_sweep. */
TESS_API tess_status tess_graph_replace(tess_graph *g, tess_gvalue old,
                                        tess_gvalue v);
/* Removes nodes that no output needs, and puts the others in an order in which
 * they can run, near the one they were in.  INVALID where they go in a
 * circle. */
TESS_API tess_status tess_graph_sweep(tess_graph *g);
/* How an operator computes, as TVM's FuseOps has it: each element of one of
 * the same place; with operands that are broadcast; each of one of some other
 * place; a reduction; a reduction into whose result what follows can be fused
 * (products, convolutions); anything else. */
typedef enum tess_category {
  TESS_FUSE_ELEMENTWISE, TESS_FUSE_BROADCAST, TESS_FUSE_INJECTIVE,
  TESS_FUSE_REDUCTION, TESS_FUSE_OUT_FUSABLE, TESS_FUSE_OPAQUE
} tess_category;
/* Puts each node into a group: those of one number are one program, and stand
 * next to each other.  One category a node, in their order; the graph was
 * swept, else INVALID. */
TESS_API tess_status tess_graph_fuse(tess_graph *g, uint32_t n,
                                     const tess_category *category);
/* Says which group the node is in; 0: none. */
TESS_API tess_status tess_graph_set_group(tess_graph *g, tess_gnode n,
                                          uint32_t group);

/* ---- ONNX files --------------------------------------------------------- */

/* The graph of an ONNX file: a node "onnx.Conv" (of another domain than ONNX's
 * "onnx.DOMAIN.Conv") for each of the file's, with its attributes and ".opset",
 * the version of its domain's operators (0: the file does not say it); a call
 * of a function of the file's is its body.  Weights are constants over the
 * mapped file, which may not change as long as the graph is there, or copies
 * where their address is no multiple of an element's size; those in further
 * files must lie in the model's folder.  NOT_FOUND, IO; PARSE, with the byte,
 * for what is no such file; INVALID, with the node, for what is no graph;
 * LIMIT; UNSUPPORTED and TYPE for what graphs do not have.  The bytes are
 * copied. */
TESS_API tess_status tess_graph_from_onnx(tess_context *c, const char *path,
                                          TESS_GIVE tess_graph **out);
TESS_API tess_status tess_graph_from_onnx_bytes(tess_context *c,
    const void *bytes, size_t n, TESS_GIVE tess_graph **out);

/* ---- running ------------------------------------------------------------ */

/* A kernel with the values of its parameters, each a constant, an input or a
 * result; or no kernel and two values: the second is the first in another
 * shape. */
typedef struct tess_gstep {
  tess_kernel *kernel;          /* kept */
  const tess_gvalue *value;
  uint32_t n, reserved;
} tess_gstep;
typedef struct tess_network tess_network;  /* a graph that runs */
/* Plans the memory of what the steps compute, one arena, and lays out
 * constants as kernels want them.  The graph is kept, and may not be changed
 * any more.  INVALID for arguments that do not fit, or a layout-free parameter
 * that is no constant, and where only some kernels run on a device.  What runs
 * on a device has each value there, in memory of its own; where this machine
 * has none, running is UNSUPPORTED. */
TESS_API tess_status tess_network_new(tess_graph *g, uint32_t n,
                                      const tess_gstep *step,
                                      TESS_GIVE tess_network **out);
TESS_API void tess_network_free(TESS_TAKE tess_network *net);
/* On the inputs, then the outputs, in the graph's order.  INVALID for tensors
 * of another type or shape, and for an output that shares memory with an input
 * or another output; constants are not looked at.  seconds: NULL, or room for
 * the time of each kernel. */
TESS_API tess_status tess_network_run(tess_network *net, uint32_t n,
                                      tess_tensor *const *tensor,
                                      double *seconds);
/* 0: as many as there are cores. */
TESS_API void tess_network_set_threads(tess_network *net, uint32_t threads);
typedef struct tess_network_info {
  uint32_t struct_size;         /* sizeof(tess_network_info) */
  uint32_t kernels;
  uint64_t arena_bytes;         /* of the plan */
  uint64_t bound_bytes;         /* that live at once: no plan can be below */
  uint64_t sum_bytes;           /* of all that is computed between */
  uint64_t converted_bytes;     /* of constants in a layout of their own */
} tess_network_info;
TESS_API tess_status tess_network_get(tess_network *net,
                                      tess_network_info *out);
/* Saves it as a shared library, NAME.so, that needs neither Tessera nor LLVM,
 * with the constants in it, laid out as kernels want them; the system's `cc`
 * links it.  Its C header, at `header` or, where that is NULL, beside it, says
 * which function runs it on which tensors.  INVALID for another ending;
 * UNSUPPORTED without `cc` and in a context with in_process; BUILD_ERROR with
 * what `cc` said; IO. */
TESS_API tess_status tess_network_save(tess_network *net, const char *path,
                                       const char *header);

#ifdef __cplusplus
}
#endif
#endif
