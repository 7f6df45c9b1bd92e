/* SPDX-License-Identifier: Apache-2.0
 * What the files that save a graph that runs share. */
#ifndef GRAPH_SAVE_H
#define GRAPH_SAVE_H

#include "graph/network.h"
#include <limits.h>

/* A constant in the file: its bytes are in this process, too. */
typedef struct saved_weight {
  const void *data;
  uint64_t bytes, offset;
} saved_weight;

typedef struct network_saving {
  tess_network *net;
  const char *path, *header, *name, *weights;
  char folder[32], real[PATH_MAX];
  arena scratch;
  strbuf text;
  VEC(saved_weight) weight;
  uint64_t weight_bytes;
  VEC(const char *) object; /* files that are linked */
  measure_build build;      /* the kernel's that is built now */
  tess_program *program, *convert;
} network_saving;

/* The C name of the model, which is its file's, and the header's path where
 * none was given: beside it. */
void save_name(network_saving *w);
/* The header, and the tables that it declares, to w->text. */
void save_put_header(network_saving *w);
void save_put_tables(network_saving *w);

#endif
