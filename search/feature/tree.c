/* SPDX-License-Identifier: Apache-2.0
 * The loop tree as rows, parents before children and these in the order of
 * the program: loops have the columns of "context", stores what one execution
 * computes and touches.  Column 0 is the parent's row, -1 at the top. */
#include "search/feature/feature.h"

#include <stdio.h>

enum {
  PARENT,
  IS_STORE,
  CONTEXT,
  OPS = CONTEXT + CONTEXT_WIDTH,
  WIDTH = OPS + NEST_OPS
};

static void store_row(const nest_store *s, float *row) {
  row[IS_STORE] = 1;
  for (int i = 0; i < NEST_OPS; i++) row[OPS + i] = feature_log(s->op[i]);
  for (uint32_t k = 0; k < s->naccess && k < CONTEXT_BUFFERS; k++) {
    const nest_access *a = &s->access[k];
    float *b = row + CONTEXT + CONTEXT_LOOP + k * CONTEXT_BUFFER;
    b[0] = feature_log(s->depth ? a->stride[s->depth - 1] : 0);
    b[1] = feature_log(a->numel[s->depth] * a->elem);
    b[2] = feature_log(a->n);
  }
}

/* Stores of loop `loop` itself stand between the loops in it by number of
 * their first store. */
static void tree_make(const nest *n, feature_rows *out) {
  uint32_t all = n->nloop + n->nstore, at = 0, loop = 0;
  uint32_t *row_of = arena_array(n->scratch, uint32_t, n->nloop + 1);
  feature_begin(out, all ? all : 1, WIDTH, n->scratch);
  for (uint32_t i = 0; i <= n->nstore; i++) {
    for (; loop < n->nloop && n->loop[loop].first <= i; loop++) {
      const nest_loop *l = &n->loop[loop];
      float *row = out->v + (size_t)at * WIDTH;
      row[PARENT] = l->parent == NEST_NONE ? -1 : (float)row_of[l->parent];
      context_row(n, loop, row + CONTEXT);
      row_of[loop] = at++;
    }
    if (i == n->nstore) break;
    const nest_store *s = &n->store[i];
    float *row = out->v + (size_t)at++ * WIDTH;
    row[PARENT] = s->depth ? (float)row_of[s->loop[s->depth - 1]] : -1;
    store_row(s, row);
  }
  if (!all) out->v[PARENT] = -1;
}

static void tree_name_of(uint32_t i, char out[FEATURE_NAME]) {
  static const char *const op[NEST_OPS] = {
      "mad",      "add",      "mul",     "div",     "cmp",     "math",
      "call",     "int_mad",  "int_add", "int_mul", "int_div", "int_cmp",
      "int_math", "int_call", "bool",    "select"};
  if (i >= OPS)
    snprintf(out, FEATURE_NAME, "op.%s", op[i - OPS]);
  else if (i >= CONTEXT)
    context_name(i - CONTEXT, out);
  else
    snprintf(out, FEATURE_NAME, "%s", i == PARENT ? "parent" : "is_store");
}

const feature_maker feature_tree = {
    "tree",
    "a row a loop or store of the loop tree, with its parent's",
    1,
    WIDTH,
    tree_name_of,
    tree_make};
