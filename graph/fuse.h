/* SPDX-License-Identifier: Apache-2.0
 * Fusion: which nodes become one program. */
#ifndef GRAPH_FUSE_H
#define GRAPH_FUSE_H

#include "graph/graph.h"

/* Puts nodes into groups, numbered from 1 in the order in which they run, and
 * the nodes of a group next to each other.  `category` is by position in the
 * order.  The graph was swept. */
void graph_fuse(tess_graph *g, const tess_category *category, arena *scratch);

#endif
