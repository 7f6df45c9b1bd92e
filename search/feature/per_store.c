/* SPDX-License-Identifier: Apache-2.0
 * Per-store features, a row for each store: the 164 columns of Ansor (Zheng
 * et al., "Ansor: Generating High-Performance Tensor Programs for Deep
 * Learning", OSDI 2020) as MetaSchedule has them, in its order.
 *
 * They differ from MetaSchedule's where those are dead or wrong: multiply-adds
 * are counted; a loop's position tells spatial from reduction loops; integer
 * operations count towards arithmetic intensity; bytes touched at a level are
 * elements times their size; each store has a row, also where several write one
 * buffer; any thread-bound loop makes is_gpu 1.  A store is of a constant in an
 * init: no row. */
#include "search/feature/feature.h"

#include <math.h>
#include <stdio.h>

enum {
  KIND = 11,
  BUFFERS = 5,
  BUFFER = 18,
  CURVE = 10,
  AT_KINDS = NEST_OPS,
  AT_GPU = AT_KINDS + 3 * KIND,
  AT_BUFFERS = AT_GPU + 8,
  AT_CURVE = AT_BUFFERS + BUFFERS * BUFFER,
  AT_ALLOC = AT_CURVE + CURVE,
  AT_OUTER = AT_ALLOC + 4,
  WIDTH = AT_OUTER + 3
};
_Static_assert(WIDTH == 164, "the published number of columns");

/* ---- loops -------------------------------------------------------------- */

enum {
  POS_NONE,
  POS_INNER_S,
  POS_MIDDLE_S,
  POS_OUTER_S,
  POS_INNER_R,
  POS_MIDDLE_R,
  POS_OUTER_R,
  POS_MIXED
};

/* Where among the loops of its type the one at depth d stands. */
static int per_store_position(const nest_store *s, uint32_t d) {
  uint8_t type = s->drives[d] ? s->drives[d] : NEST_SPATIAL;
  bool outer = true, inner = true;
  if (type == (NEST_SPATIAL | NEST_REDUCE)) return POS_MIXED;
  for (uint32_t k = 0; k < s->depth; k++) {
    uint8_t other = s->drives[k] ? s->drives[k] : NEST_SPATIAL;
    if (other != type || k == d) continue;
    if (k < d)
      outer = false;
    else
      inner = false;
  }
  int base = type == NEST_REDUCE ? POS_INNER_R : POS_INNER_S;
  return base + (inner ? 0 : outer ? 2 : 1);
}

static void loop_kind(const nest *n, const nest_store *s, ir_loop_kind kind,
                      float *row) {
  double count = 0, product = 1, length = 0;
  int pos = POS_NONE;
  for (uint32_t d = 0; d < s->depth; d++) {
    if (n->loop[s->loop[d]].kind != kind) continue;
    count++;
    length = s->times[d];
    product *= length;
    pos = per_store_position(s, d);
  }
  row[0] = feature_log(count);
  row[1] = feature_log(count > 0 ? product : 0);
  row[2] = feature_log(length);
  row[3 + pos] = 1;
}

static void gpu(const nest *n, const nest_store *s, float *row) {
  double extent[7] = {1, 1, 1, 1, 1, 1, 1};
  for (uint32_t d = 0; d < s->depth; d++) {
    const nest_loop *l = &n->loop[s->loop[d]];
    if (l->kind != IR_THREAD) continue;
    row[0] = 1;
    if (l->thread <= IR_THREADIDX_Z)
      extent[l->thread - IR_BLOCKIDX_X] *= s->times[d];
    else if (l->thread <= IR_VTHREAD_Z)
      extent[6] *= s->times[d];
  }
  for (int i = 0; i < 7; i++) row[1 + i] = feature_log(extent[i]);
}

/* ---- buffers ------------------------------------------------------------ */

enum { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE };

typedef struct reuse {
  int type;
  double iterations, bytes, count;
} reuse;

static double touched_bytes(const nest_store *s, uint32_t level) {
  double sum = 0;
  for (uint32_t k = 0; k < s->naccess; k++)
    sum += s->access[k].numel[level] * s->access[k].elem;
  return sum;
}

/* How many stores below the loop access the buffer, and what they touch in
 * one of its iterations. */
static uint32_t touchers(const nest *n, uint32_t loop, ir_buf buf,
                         double *bytes) {
  const nest_loop *l = &n->loop[loop];
  uint32_t found = 0;
  *bytes = 0;
  for (uint32_t i = l->first; i < l->end; i++) {
    const nest_store *s = &n->store[i];
    bool hit = false;
    for (uint32_t k = 0; k < s->naccess; k++) hit |= s->access[k].buf == buf;
    found += hit;
    *bytes += touched_bytes(s, l->depth + 1);
  }
  return found;
}

/* Outwards, the first loop that touches the same elements again and again, or
 * below which another store touches the buffer. */
static reuse find_reuse(const nest *n, const nest_store *s,
                        const nest_access *a) {
  for (uint32_t d = s->depth; d-- > 0;) {
    double bytes;
    if (s->times[d] > 1 && a->numel[d] == a->numel[d + 1] && a->stride[d] == 0)
      return (reuse){REUSE_LOOP, nest_executions(s, d + 1),
                     touched_bytes(s, d + 1), s->times[d]};
    uint32_t count = touchers(n, s->loop[d], a->buf, &bytes);
    if (count > 1)
      return (reuse){REUSE_SERIAL, nest_executions(s, d + 1), bytes,
                     count - 1.0};
  }
  return (reuse){REUSE_NONE, 0, 0, 0};
}

typedef struct accessed {
  const nest_access *a;
  double bytes, unique, lines, unique_lines, stride;
} accessed;

/* Cache lines that executions touch: loops that do not move it stay in one,
 * and the next one out moves it by its stride. */
static accessed measure(const nest_store *s, const nest_access *a) {
  accessed x = {.a = a};
  double still = 1;
  for (uint32_t d = s->depth; d-- > 0;) {
    x.stride = a->stride[d];
    if (x.stride > 0) break;
    still *= s->times[d];
  }
  double total = nest_executions(s, 0);
  x.bytes = a->elem * total;
  x.unique = a->elem * a->numel[0];
  x.lines = total / still * fmin(1, x.stride * a->elem / NEST_LINE);
  x.lines = fmax(1, x.lines);
  x.unique_lines = fmax(1, x.unique / fmin(NEST_LINE, a->run[0] * a->elem));
  return x;
}

static void buffer(const nest *n, const nest_store *s, const accessed *x,
                   float *row) {
  const nest_access *a = x->a;
  reuse r = find_reuse(n, s, a);
  double part = r.count > 0 ? r.count : 0.5;
  row[a->reads && a->writes ? 2 : a->writes ? 1 : 0] = 1;
  row[3] = feature_log(x->bytes);
  row[4] = feature_log(x->unique);
  row[5] = feature_log(x->lines);
  row[6] = feature_log(x->unique_lines);
  row[7 + r.type] = 1;
  row[10] = feature_log(r.iterations);
  row[11] = feature_log(r.bytes);
  row[12] = feature_log(r.count);
  row[13] = feature_log(x->bytes / part);
  row[14] = feature_log(x->unique / part);
  row[15] = feature_log(x->lines / part);
  row[16] = feature_log(x->unique_lines / part);
  row[17] = feature_log(x->stride);
}

static bool goes_before(const accessed *x, const accessed *y) {
  if (x->lines != y->lines) return x->lines > y->lines;
  return x->bytes > y->bytes;
}

/* The five that take most cache lines, then most bytes, then the first. */
static void buffers(const nest *n, const nest_store *s, float *row) {
  accessed best[BUFFERS];
  uint32_t have = 0;
  for (uint32_t k = 0; k < s->naccess; k++) {
    accessed x = measure(s, &s->access[k]);
    uint32_t at = have < BUFFERS ? have++ : BUFFERS;
    while (at > 0 && goes_before(&x, &best[at - 1])) {
      if (at < BUFFERS) best[at] = best[at - 1];
      at--;
    }
    if (at < BUFFERS) best[at] = x;
  }
  for (uint32_t k = 0; k < have; k++) buffer(n, s, &best[k], row + k * BUFFER);
}

/* ---- the rest ----------------------------------------------------------- */

/* Operations for each byte touched against operations, from the innermost
 * loop outwards, at equal parts of all operations. */
static void intensity(const nest_store *s, float *row) {
  double ops = nest_ops(s), all = ops * nest_executions(s, 0);
  uint32_t d = s->depth;
  double done = ops, here = ops / touched_bytes(s, d), before = 0, last = here;
  for (int i = 0; i < CURVE; i++) {
    double want = all * (i + 1) / CURVE;
    while (d > 0 && done < want * (1 - 1e-9)) {
      before = done;
      last = here;
      d--;
      done = ops * nest_executions(s, d);
      here = done / touched_bytes(s, d);
    }
    double part = done > before ? (want - before) / (done - before) : 1;
    row[i] = feature_log(want < before ? last : last + part * (here - last));
  }
}

static void allocation(const nest *n, const nest_store *s, float *row) {
  const nest_access *a = &s->access[0];
  uint32_t scope = nest_lifetime(n, s, a->buf);
  bool local = n->p->buf.v[a->buf].role == IR_ROLE_LOCAL;
  double numel = a->numel[local ? scope : 0];
  double all = nest_executions(s, 0), inside = nest_executions(s, scope);
  double outside = all / inside;
  row[0] = feature_log(numel * a->elem);
  row[1] = feature_log(numel * outside);
  row[2] = feature_log(outside);
  row[3] = feature_log(inside);
}

static void make_row(const nest *n, const nest_store *s, float *row) {
  double all = nest_executions(s, 0);
  for (int i = 0; i < NEST_OPS; i++) row[i] = feature_log(s->op[i] * all);
  loop_kind(n, s, IR_VECTORIZED, row + AT_KINDS);
  loop_kind(n, s, IR_UNROLLED, row + AT_KINDS + KIND);
  loop_kind(n, s, IR_PARALLEL, row + AT_KINDS + 2 * KIND);
  gpu(n, s, row + AT_GPU);
  buffers(n, s, row + AT_BUFFERS);
  intensity(s, row + AT_CURVE);
  allocation(n, s, row + AT_ALLOC);
  row[AT_OUTER] = feature_log(all);
  row[AT_OUTER + 1] = feature_log(s->depth);
  row[AT_OUTER + 2] = feature_log(s->unroll);
}

/* A program that stores nothing is one row of zeros. */
static void per_store_make(const nest *n, feature_rows *out) {
  feature_begin(out, n->nstore ? n->nstore : 1, WIDTH, n->scratch);
  for (uint32_t i = 0; i < n->nstore; i++)
    make_row(n, &n->store[i], out->v + (size_t)i * WIDTH);
}

/* ---- names -------------------------------------------------------------- */

const char *const nest_op_name[NEST_OPS] = {
    "float_mad", "float_add",  "float_mul",  "float_div",
    "float_cmp", "float_math", "float_call", "int_mad",
    "int_add",   "int_mul",    "int_div",    "int_cmp",
    "int_math",  "int_call",   "bool",       "select"};
static const char *const kind_names[3] = {"vectorize", "unroll", "parallel"};
static const char *const kind_columns[KIND] = {
    "count",         "product",        "length",        "none",
    "inner_spatial", "middle_spatial", "outer_spatial", "inner_reduce",
    "middle_reduce", "outer_reduce",   "mixed"};
static const char *const gpu_names[8] = {
    "is_gpu",      "blockIdx.x",  "blockIdx.y",  "blockIdx.z",
    "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"};
static const char *const buffer_columns[BUFFER] = {"read",
                                                   "write",
                                                   "read_write",
                                                   "bytes",
                                                   "unique_bytes",
                                                   "lines",
                                                   "unique_lines",
                                                   "reuse_loop",
                                                   "reuse_serial",
                                                   "reuse_none",
                                                   "reuse_iterations",
                                                   "reuse_bytes",
                                                   "reuse_count",
                                                   "bytes_per_reuse",
                                                   "unique_bytes_per_reuse",
                                                   "lines_per_reuse",
                                                   "unique_lines_per_reuse",
                                                   "stride"};
static const char *const rest_names[] = {
    "alloc.bytes",   "alloc.total", "alloc.outer", "alloc.inner",
    "outer.product", "outer.loops", "outer.unroll"};

static void per_store_name_of(uint32_t i, char out[FEATURE_NAME]) {
  const size_t n = FEATURE_NAME;
  if (i < AT_KINDS)
    snprintf(out, n, "op.%s", nest_op_name[i]);
  else if (i < AT_GPU)
    snprintf(out, n, "%s.%s", kind_names[(i - AT_KINDS) / KIND],
             kind_columns[(i - AT_KINDS) % KIND]);
  else if (i < AT_BUFFERS)
    snprintf(out, n, "gpu.%s", gpu_names[i - AT_GPU]);
  else if (i < AT_CURVE)
    snprintf(out, n, "buffer%u.%s", (i - AT_BUFFERS) / BUFFER,
             buffer_columns[(i - AT_BUFFERS) % BUFFER]);
  else if (i < AT_ALLOC)
    snprintf(out, n, "intensity%u", i - AT_CURVE);
  else
    snprintf(out, n, "%s", rest_names[i - AT_ALLOC]);
}

const feature_maker feature_per_store = {
    "per_store",
    "a row a store: operations, loops, memory (Ansor's)",
    1,
    WIDTH,
    per_store_name_of,
    per_store_make};
