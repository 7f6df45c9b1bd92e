/* SPDX-License-Identifier: Apache-2.0
 * Context features, a row for each loop: what AutoTVM's "itervar" features
 * tell of one (Chen et al., "Learning to Optimize Tensor Programs", NeurIPS
 * 2018): length, annotation, the product of the loops outside and inside, the
 * arithmetic of one iteration, and for each of the five buffers that it
 * accesses most the stride, the bytes touched and how often each is. */
#include "search/feature/feature.h"

#include <math.h>
#include <stdio.h>

enum { LENGTH, DEPTH, OUTER, INNER, KINDS, ARITH = KINDS + 8 };
_Static_assert(ARITH + 4 == CONTEXT_LOOP, "columns of a loop");

static uint32_t context_kind_of(const nest_loop *l) {
  if (l->kind != IR_THREAD) return l->kind;
  if (l->thread <= IR_BLOCKIDX_Z) return 4;
  if (l->thread <= IR_THREADIDX_Z) return 5;
  return l->thread <= IR_VTHREAD_Z ? 6 : 7;
}

/* What a loop does to one buffer, in all of the stores below it. */
typedef struct use {
  ir_buf buf;
  double stride, bytes, count, elem, thread_count, thread_bytes;
} use;

/* The depth of the outermost loop bound to threads of a block that stands at
 * depth d or further out; d where there is none. */
static uint32_t thread_level(const nest *n, const nest_store *s, uint32_t d) {
  for (uint32_t k = 0; k < d; k++)
    if (context_kind_of(&n->loop[s->loop[k]]) == 5) return k;
  return d;
}

static void add_use(const nest *n, use *u, const nest_store *s,
                    const nest_access *a, uint32_t d) {
  uint32_t t = thread_level(n, s, d);
  double count = a->n * nest_executions(s, d);
  u->stride = fmax(u->stride, a->stride[d]);
  u->bytes = fmax(u->bytes, a->numel[d] * a->elem);
  u->count += count;
  u->elem = a->elem;
  u->thread_count += count * nest_executions(s, t) / nest_executions(s, d);
  u->thread_bytes = fmax(u->thread_bytes, a->numel[t] * a->elem);
}

/* All buffers accessed below the loop, in the order of their first access. */
static uint32_t find_uses(const nest *n, const nest_loop *l, use **out) {
  uint32_t most = 0, have = 0;
  for (uint32_t i = l->first; i < l->end; i++) most += n->store[i].naccess;
  use *u = arena_array(n->scratch, use, most + 1);
  for (uint32_t i = l->first; i < l->end; i++) {
    const nest_store *s = &n->store[i];
    for (uint32_t k = 0; k < s->naccess; k++) {
      uint32_t at = 0;
      while (at < have && u[at].buf != s->access[k].buf) at++;
      if (at == have) u[have++] = (use){.buf = s->access[k].buf};
      add_use(n, &u[at], s, &s->access[k], l->depth);
    }
  }
  *out = u;
  return have;
}

/* The five with most accesses, ties as they come; the rest follows anyhow. */
static uint32_t most_used(use *u, uint32_t n) {
  uint32_t wanted = n < CONTEXT_BUFFERS ? n : CONTEXT_BUFFERS;
  for (uint32_t i = 0; i < wanted; i++) {
    uint32_t best = i;
    for (uint32_t k = i + 1; k < n; k++)
      if (u[k].count > u[best].count) best = k;
    use x = u[best];
    memmove(&u[i + 1], &u[i], (best - i) * sizeof *u);
    u[i] = x;
  }
  return wanted;
}

static void buffer_columns(const use *u, float *row) {
  row[0] = feature_log(u->stride);
  row[1] = feature_log(u->bytes);
  row[2] = feature_log(u->count);
  row[3] = feature_log(u->count * u->elem / u->bytes);
  row[4] = feature_log(u->thread_count);
  row[5] = feature_log(u->thread_count * u->elem / u->thread_bytes);
}

/* Additions, products, quotients and the rest that one iteration does. */
static void arithmetic(const nest *n, const nest_loop *l, float *row) {
  double sum[4] = {0};
  for (uint32_t i = l->first; i < l->end; i++) {
    const nest_store *s = &n->store[i];
    double times = nest_executions(s, l->depth + 1);
    for (int k = 0; k < NEST_OPS; k++) {
      double x = s->op[k] * times;
      bool mad = k == NEST_MAD || k == NEST_INT_MAD;
      if (mad || k == NEST_ADD || k == NEST_INT_ADD) sum[0] += x;
      if (mad || k == NEST_MUL || k == NEST_INT_MUL) sum[1] += x;
      if (k == NEST_DIV || k == NEST_INT_DIV) sum[2] += x;
      if (!mad && k != NEST_ADD && k != NEST_INT_ADD && k != NEST_MUL &&
          k != NEST_INT_MUL && k != NEST_DIV && k != NEST_INT_DIV)
        sum[3] += x;
    }
  }
  for (int k = 0; k < 4; k++) row[k] = feature_log(sum[k]);
}

void context_row(const nest *n, uint32_t loop, float row[CONTEXT_WIDTH]) {
  const nest_loop *l = &n->loop[loop];
  double outer = 1, inner = 1;
  use *u;
  for (uint32_t k = l->parent; k != NEST_NONE; k = n->loop[k].parent)
    outer *= n->loop[k].extent;
  for (uint32_t i = l->first; i < l->end; i++)
    inner = fmax(inner, nest_executions(&n->store[i], l->depth + 1));
  row[LENGTH] = feature_log(l->extent);
  row[DEPTH] = feature_log(l->depth);
  row[OUTER] = feature_log(outer);
  row[INNER] = feature_log(inner);
  row[KINDS + context_kind_of(l)] = 1;
  arithmetic(n, l, row + ARITH);
  uint32_t all = find_uses(n, l, &u), some = most_used(u, all);
  for (uint32_t k = 0; k < some; k++)
    buffer_columns(&u[k], row + CONTEXT_LOOP + k * CONTEXT_BUFFER);
}

static void context_make(const nest *n, feature_rows *out) {
  feature_begin(out, n->nloop ? n->nloop : 1, CONTEXT_WIDTH, n->scratch);
  for (uint32_t i = 0; i < n->nloop; i++)
    context_row(n, i, out->v + (size_t)i * CONTEXT_WIDTH);
}

static const char *const loop_names[CONTEXT_LOOP] = {
    "length",     "depth",    "outer",     "inner",  "serial",  "parallel",
    "vectorized", "unrolled", "block",     "thread", "vthread", "warp",
    "additions",  "products", "quotients", "others"};
static const char *const buffer_names[CONTEXT_BUFFER] = {
    "stride", "bytes", "count", "reuse", "thread_count", "thread_reuse"};

void context_name(uint32_t i, char out[FEATURE_NAME]) {
  if (i < CONTEXT_LOOP)
    snprintf(out, FEATURE_NAME, "%s", loop_names[i]);
  else
    snprintf(out, FEATURE_NAME, "buffer%u.%s",
             (i - CONTEXT_LOOP) / CONTEXT_BUFFER,
             buffer_names[(i - CONTEXT_LOOP) % CONTEXT_BUFFER]);
}

const feature_maker feature_context = {
    "context",
    "a row a loop: length, annotation, memory (AutoTVM's)",
    1,
    CONTEXT_WIDTH,
    context_name,
    context_make};
