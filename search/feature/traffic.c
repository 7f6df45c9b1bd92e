/* SPDX-License-Identifier: Apache-2.0
 * Features of what moves, a row for each store: operations, what registers
 * load and store, and how many cache lines a cache of each size has to fetch.
 *
 * A cache keeps what the loops inside touch while all of that fits; so a line
 * is fetched once for all iterations of the innermost loop that makes them not
 * fit, and again in each iteration of those around it (the working sets of
 * P. Denning; as in M. Wolf and M. Lam, "A Data Locality Optimizing Algorithm",
 * PLDI 1991).  Sums stay in registers while the innermost loop runs that does
 * not move them. */
#include "search/feature/feature.h"

#include <math.h>
#include <stdio.h>

enum {
  AT_LANES = NEST_OPS, /* of a vector */
  AT_PIECES,           /* of work, which threads share */
  AT_SUMS,             /* that are under way at once; 0: it sums nothing */
  AT_KEPT_WIDE,        /* elements of vectors that are kept beside them, */
  AT_KEPT_ONE,         /* and vectors of one element in all lanes */
  AT_AGAIN,            /* sums that are loaded, to go on, and stored */
  AT_ROLLED, /* 1: loops are left where sums have to be in registers */
  AT_WIDE,   /* elements that vectors load side by side, */
  AT_ONE,    /* one for all lanes, */
  AT_APART,  /* a lane each, */
  AT_STORED, /* and that are stored */
  AT_LINES,  /* fetched by caches of so many bytes, from SMALLEST on,
              * each of twice the size, and by one of any size */
  SIZES = 15,
  WIDTH = AT_LINES + SIZES + 1
};
static const double SMALLEST = 4096;

/* ---- caches ------------------------------------------------------------- */

/* Cache lines that an access touches while the loops from `level` on run. */
static double lines_of(const nest_store *s, const nest_access *a,
                       uint32_t level) {
  double run = a->run[level], each = fmax(1, run * a->elem / NEST_LINE);
  double most = a->n * nest_executions(s, level);
  return fmin(a->numel[level] / run * each, most);
}

/* The part of a cache's sets, of which a way has so many bytes, in which the
 * runs can lie: those that are a multiple of a way apart share one. */
static double part_of_sets(const nest_access *a, uint32_t level, double way) {
  const nest_spread *spread = &a->spread[level];
  double bytes = fmax(NEST_LINE, a->run[level] * a->elem);
  if (!spread->dims) return 1;
  for (uint32_t i = 0; i < spread->dims; i++) {
    int64_t step = (int64_t)(spread->step[i] * a->elem);
    double apart = fmin((double)(step & -step), way);
    bytes *= fmin(spread->n[i], way / apart);
  }
  return fmin(1, bytes / way);
}

/* What a cache of so many bytes has to be, to keep what the loops from `level`
 * on touch, in times its size.  Of eight ways; the sets of large ones are not
 * told by addresses. */
static double fullness(const nest_store *s, uint32_t level, double bytes) {
  static const double ways = 8, told = 1 << 21;
  double sum = 0;
  for (uint32_t k = 0; k < s->naccess; k++) {
    const nest_access *a = &s->access[k];
    double part = bytes > told ? 1 : part_of_sets(a, level, bytes / ways);
    sum += lines_of(s, a, level) / part;
  }
  return sum * NEST_LINE / bytes;
}

/* Lines fetched where all is kept that loops inside of `level` touch. */
static double fetched(const nest_store *s, uint32_t level) {
  double sum = 0;
  for (uint32_t k = 0; k < s->naccess; k++)
    sum += lines_of(s, &s->access[k], level);
  return sum * (nest_executions(s, 0) / nest_executions(s, level));
}

/* ---- registers ---------------------------------------------------------- */

/* Bytes of a lane, of which what an instruction takes is so many. */
enum { LANE = 4 };

static bool is_called(const nest_store *s) { return s->call < s->depth; }

/* What stays in registers: the loops from `level` on, of which `vector` is the
 * vectorized one (the depth of the store: there is none). */
typedef struct tile {
  uint32_t level, vector;
  double lanes;
  bool sums; /* they stay there while the loop around it runs */
} tile;

/* Lanes of what one execution of the instruction takes of an access; without
 * one it is an element. */
static double width_of(const nest_store *s, const nest_access *a) {
  return is_called(s) ? fmax(1, a->numel[s->call] * a->elem / LANE) : 1;
}

/* LLVM makes no others; the depth of the store: there is none. */
static uint32_t find_vector(const nest *n, const nest_store *s) {
  for (uint32_t d = s->depth; d-- > 0;)
    if (n->loop[s->loop[d]].kind == IR_VECTORIZED && s->times[d] > 1) return d;
  return s->depth;
}

/* The sums are those that the innermost loop of several iterations leaves where
 * they are. */
static tile find_tile(const nest *n, const nest_store *s) {
  const nest_access *a = &s->access[0];
  uint32_t vector = find_vector(n, s), d = s->call;
  tile t = {vector, vector, vector < s->depth ? s->times[vector] : 1, false};
  if (is_called(s)) t = (tile){d, s->depth, width_of(s, a), false};
  while (a->reads && !t.sums && d-- > 0) {
    t.sums = s->times[d] > 1 && a->stride[d] == 0;
    if (t.sums) t.level = d + 1;
  }
  return t;
}

/* Different elements of an access while the loops from `level` on run, those
 * of an instruction as lanes. */
static double elements(const nest_store *s, const nest_access *a,
                       uint32_t level) {
  double most = is_called(s) ? 1 : a->n;
  for (uint32_t d = level; d < s->call; d++)
    if (a->stride[d] > 0) most *= s->times[d];
  return fmin(a->numel[level] / (is_called(s) ? a->numel[s->call] : 1), most) *
         width_of(s, a);
}

static int how_loaded(const nest_access *a, const nest_store *s, tile t) {
  double stride = t.vector < s->depth ? a->stride[t.vector] : 0;
  if (is_called(s)) return width_of(s, a) > 1 ? AT_WIDE : AT_ONE;
  return stride == 0 ? AT_ONE : stride == 1 ? AT_WIDE : AT_APART;
}

/* Unrolling (lower/unroll.c): short loops are, whatever is annotated. */
static double most_steps(const nest_store *s) {
  static const double few = 16;
  return fmax(few, s->unroll);
}

static double steps(const nest_store *s, tile t) {
  double product = 1;
  for (uint32_t d = t.level; d < s->call; d++)
    if (d != t.vector) product *= s->times[d];
  return product;
}

/* Elements that one iteration of a loop shares with the next are kept where
 * both are in straight code, but for vectors that begin elsewhere. */
static double shared(const nest_store *s, const nest_access *a, tile t,
                     uint32_t d) {
  double n = elements(s, a, d + 1), stride = a->stride[d];
  if (s->times[d] <= 1) return 0;
  if (stride == 0) return n;
  if (how_loaded(a, s, t) != AT_ONE && fmod(stride, t.lanes) > 0) return 0;
  double all = elements(s, a, d);
  return all < n * s->times[d] ? all : 0;
}

/* What of an operand is needed again in the tile after others of it, or in the
 * loops around it that are unrolled. */
static void keep_operand(const nest_store *s, const nest_access *a, tile t,
                         double *kept) {
  bool one = how_loaded(a, s, t) == AT_ONE;
  double n = one ? 1 : fmax(t.lanes, width_of(s, a)), all = 1;
  for (uint32_t d = s->call; d-- > 0;) {
    if (d == t.vector) continue;
    all *= s->times[d];
    if (d < t.level && all > most_steps(s)) break;
    if (d >= t.level && a->stride[d] > 0) continue;
    n = fmax(n, shared(s, a, t, d));
  }
  kept[one ? AT_KEPT_ONE : AT_KEPT_WIDE] += n;
}

/* The iterations around the tile in which its sums stay the same. */
static double additions(const nest_store *s, tile t) {
  double product = 1;
  for (uint32_t d = t.level; d-- > 0;) {
    if (d == t.vector) continue;
    if (s->access[0].stride[d] > 0) break;
    product *= s->times[d];
  }
  return product;
}

/* Results, of which an instruction makes several at once, while the loops from
 * `level` on run. */
static double results(const nest_store *s, tile t, uint32_t level) {
  double n = nest_executions(s, level);
  return is_called(s) ? n / nest_executions(s, s->call) * t.lanes : n;
}

/* Iterations of a vectorized loop around the tile are in it, too. */
static double widened(tile t, double x) {
  return t.vector < t.level ? x * t.lanes : x;
}

static void registers(const nest *n, const nest_store *s, float *row) {
  tile t = find_tile(n, s);
  double all = results(s, t, 0);
  double inside = widened(t, results(s, t, t.level));
  double moved[AT_LINES] = {0};
  for (uint32_t k = 0; k < s->naccess; k++) {
    const nest_access *a = &s->access[k];
    int how = how_loaded(a, s, t);
    double x = elements(s, a, t.level) * (all / inside);
    bool sum = t.sums && k == 0;
    if (how != AT_ONE) x = widened(t, x);
    if (a->reads && !sum) moved[how] += x;
    if (a->writes && !sum) moved[AT_STORED] += x;
    if (t.sums && k > 0) keep_operand(s, a, t, moved);
  }
  for (int i = AT_KEPT_WIDE; i < AT_LINES; i++) row[i] = feature_log(moved[i]);
  row[AT_LANES] = feature_log(t.lanes);
  row[AT_SUMS] = feature_log(t.sums ? inside : 0);
  row[AT_ROLLED] = t.sums && steps(s, t) > most_steps(s);
  row[AT_AGAIN] = feature_log(t.sums ? all / additions(s, t) : 0);
}

/* Registers keep what the tile takes, so that it is fetched once. */
static void fetches(const nest_store *s, tile t, float *row) {
  uint32_t level = s->depth; /* the outermost that fits */
  double bytes = SMALLEST;
  for (uint32_t i = 0; i < SIZES; i++, bytes *= 2) {
    while (level > 0 && (level > t.level || fullness(s, level - 1, bytes) <= 1))
      level--;
    row[i] = feature_log(fetched(s, level > 0 ? level - 1 : 0));
  }
  row[SIZES] = feature_log(fetched(s, 0));
}

/* ---- rows --------------------------------------------------------------- */

static double pieces(const nest *n, const nest_store *s) {
  double product = 1;
  for (uint32_t d = 0; d < s->depth; d++)
    if (n->loop[s->loop[d]].kind == IR_PARALLEL) product *= s->times[d];
  return product;
}

/* An instruction is one multiply-add, whatever it is described by. */
static void operations(const nest *n, const nest_store *s, float *row) {
  double all = nest_executions(s, 0);
  for (int k = 0; k < NEST_OPS; k++)
    row[k] = feature_log(is_called(s) ? 0 : s->op[k] * all);
  if (is_called(s) && nest_ops(s) > 0)
    row[NEST_MAD] = feature_log(results(s, find_tile(n, s), 0));
}

static void make_row(const nest *n, const nest_store *s, float *row) {
  operations(n, s, row);
  registers(n, s, row);
  row[AT_PIECES] = feature_log(pieces(n, s));
  fetches(s, find_tile(n, s), row + AT_LINES);
}

/* What lays a parameter out beforehand has a row of zeros, as a program that
 * stores nothing. */
static void traffic_make(const nest *n, feature_rows *out) {
  feature_begin(out, n->nstore ? n->nstore : 1, WIDTH, n->scratch);
  for (uint32_t i = 0; i < n->nstore; i++)
    if (!n->store[i].beforehand)
      make_row(n, &n->store[i], out->v + (size_t)i * WIDTH);
}

/* ---- names -------------------------------------------------------------- */

static const char *const rest_names[] = {
    "lanes",     "pieces",      "sums",   "kept.wide",
    "kept.one",  "sums.again",  "rolled", "loads.wide",
    "loads.one", "loads.apart", "stores"};

static void traffic_name_of(uint32_t i, char out[FEATURE_NAME]) {
  const size_t n = FEATURE_NAME;
  if (i < NEST_OPS)
    snprintf(out, n, "op.%s", nest_op_name[i]);
  else if (i < AT_LINES)
    snprintf(out, n, "%s", rest_names[i - AT_LANES]);
  else if (i < AT_LINES + SIZES)
    snprintf(out, n, "lines.%uK", 4u << (i - AT_LINES));
  else
    snprintf(out, n, "lines");
}

const feature_maker feature_traffic = {
    "traffic",
    "a row a store: operations, loads, cache lines fetched",
    1,
    WIDTH,
    traffic_name_of,
    traffic_make};
