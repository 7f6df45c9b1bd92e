/* SPDX-License-Identifier: Apache-2.0
 * Whole models: from a file to a network that runs, and how its kernels are
 * tuned.  Included by tessera.h, whose first page holds for this part, too.
 *
 * A graph of operators comes from an ONNX file (tess_graph_import), or is built
 * (graph.h); tess_graph_compile makes a network of it, which runs on tensors
 * (tess_network_run), says what it needs (tess_network_get) and is saved as a
 * library (tess_network_save).  tess_graph_inputs, tess_graph_outputs and
 * tess_graph_value tell names, types and shapes.
 *
 * What operators are is known in Lua: these functions run it in a Lua state of
 * their own, which is gone when they return, and so need libtessera-spaces, as
 * tess_space_default does; UNSUPPORTED where that is not installed.  Messages
 * are those that a script gets. */
#ifndef TESSERA_MODEL_H
#define TESSERA_MODEL_H

#include <tessera/graph.h>
#include <tessera/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a file leaves open, by the name of an input, or of a size ("batch") that
 * inputs have in common. */
typedef struct tess_given {
  uint32_t struct_size;         /* sizeof(tess_given) */
  uint32_t ndim;
  const char *name;
  const int64_t *extent;        /* ndim of them, the shape of the input; of a
                                 * size one.  NULL: nothing is said of these */
  /* Contents, with which an input becomes a constant: a tensor of its dtype,
   * kept, and not to be changed any more; or, where that is NULL, `nnumber`
   * numbers of an input with one dimension, or none.  They have the shape. */
  tess_tensor *tensor;
  const double *number;         /* NULL: it stays an input */
  uint32_t nnumber, reserved;
} tess_given;

/* The graph of an ONNX file, its nodes those of Tessera's operators, with fixed
 * shapes: n entries of `given` fix what the file leaves open.  Names of no
 * input and no size are INVALID, as is what is still open then; an input that
 * two entries name has what both say.  An output whose extent the data decides
 * has room for all, and a further one, NAME.count, says how many there are.
 * Errors are those of tess_graph_from_onnx, which also says what becomes of
 * weights; UNSUPPORTED names all nodes, with their operators, that are not
 * supported, and why. */
TESS_API tess_status tess_graph_import(tess_context *c, const char *path,
    uint32_t n, const tess_given *given, TESS_GIVE tess_graph **out);
/* Of the bytes of such a file, which are copied. */
TESS_API tess_status tess_graph_import_bytes(tess_context *c,
    const void *bytes, size_t size, uint32_t n, const tess_given *given,
    TESS_GIVE tess_graph **out);

/* Makes a network of a graph of operators, for a target (NULL: "llvm"): passes
 * change the graph, also where the call fails, and fuse its nodes into groups,
 * each one kernel.  A graph whose nodes are in groups stays as it is, so that
 * one that was compiled can be tuned, and tuned further, for the same target:
 * that gives another network.
 *
 * o NULL: nothing is measured, and each kernel has its default schedule; with
 * o->tune->frozen that or the best that the database knows.  Else the kernels
 * are tuned by tess_tune_tasks with these options, as one task each, equal ones
 * together; one that it found nothing for, or that it ended before, has what a
 * frozen one has.  kernel_threads are those that the network runs on, too.
 * tess_stop, and o->progress where it gives more than 0, end the tuning with
 * the best so far; where it gives less than 0 nothing is made.
 *
 * tasks: NULL, or the results, entry i those of kernel i, with what was
 * measured and, in tess_tasks_info, how it ended; NULL where there is no
 * kernel.
 *
 * INVALID for a graph of another language's nodes or with sizes that are not
 * known, which is as it was, and for a target of another context; CANCELLED by
 * tess_stop, but while it tunes; else as tess_tune_tasks, tess_build and
 * tess_network_new. */
TESS_API tess_status tess_graph_compile(tess_graph *g, tess_target *target,
    const tess_tasks_options *o, TESS_GIVE tess_tasks **tasks,
    TESS_GIVE tess_network **out);
/* The name of kernel k, from 0, in the order in which they run: that of its
 * program; NULL past the last. */
TESS_API const char *tess_network_kernel(tess_network *net, uint32_t k);

#ifdef __cplusplus
}
#endif
#endif
