/* SPDX-License-Identifier: Apache-2.0
 * Selects that are unconditionally evaluated by an expression, as sets by node.
 * Operands precede their uses, and the nodes of a set are in that order. */
#include "ir/analysis/unconditional.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct finding {
  const ir_program *p;
  arena *memory;
  ir_unconditional *s;
  uint32_t *set; /* by node: the selects that it must evaluate */
} finding;

enum { NONE = 0 }; /* the empty set */

/* Room for a set of n nodes at the end of the pool. */
static void reserve(finding *f, uint32_t n) {
  ir_unconditional *s = f->s;
  if (s->n + n + 1 <= s->cap) return;
  uint32_t cap = 2 * (s->n + n) + 64;
  uint32_t *to = arena_array(f->memory, uint32_t, cap);
  if (s->n) memcpy(to, s->pool, s->n * sizeof *to);
  s->pool = to;
  s->cap = cap;
}

/* Completes the set of n nodes that were written at the end. */
static uint32_t close_set(finding *f, uint32_t n) {
  uint32_t set = f->s->n;
  f->s->pool[set] = n;
  f->s->n += n + 1;
  return set;
}

/* The union, or (both) the intersection of two sets. */
static uint32_t merge_sets(finding *f, uint32_t x, uint32_t y, bool both) {
  if (x == y) return x;
  if (x == NONE || y == NONE) return both ? NONE : x + y;
  uint32_t nx = f->s->pool[x], ny = f->s->pool[y];
  reserve(f, nx + ny);
  const uint32_t *a = f->s->pool + x + 1, *b = f->s->pool + y + 1;
  uint32_t *out = f->s->pool + f->s->n + 1, n = 0, i = 0, j = 0;
  while (i < nx || j < ny) {
    bool of_x = j == ny || (i < nx && a[i] <= b[j]);
    bool of_y = i == nx || (j < ny && b[j] <= a[i]);
    if (!both || (of_x && of_y)) out[n++] = of_x ? a[i] : b[j];
    i += of_x;
    j += of_y;
  }
  return n == 0 ? NONE : n == nx ? x : n == ny ? y : close_set(f, n);
}

static uint32_t single(finding *f, ir_expr e) {
  reserve(f, 1);
  f->s->pool[f->s->n + 1] = e;
  return close_set(f, 1);
}

static uint32_t of_select(finding *f, ir_expr e, const ir_node *n) {
  uint32_t sides = merge_sets(f, f->set[n->b], f->set[n->c], true);
  f->s->both[e] = sides;
  uint32_t all = merge_sets(f, sides, f->set[n->a], false);
  return merge_sets(f, all, single(f, e), false);
}

/* The second operand of a conjunction and the indices of a masked load are
 * evaluated conditionally. */
static uint32_t of_node(finding *f, ir_expr e) {
  const ir_node *n = ir_at(f->p, e);
  if (n->op == IR_SELECT) return of_select(f, e, n);
  if (n->op == IR_AND || n->op == IR_OR) return f->set[n->a];
  if (n->op == IR_LOAD && n->c) return f->set[n->c];
  const uint32_t *op;
  uint32_t small[3], k = ir_operands(f->p, e, &op, small), set = NONE;
  for (uint32_t i = 0; i < k; i++)
    set = merge_sets(f, set, f->set[op[i]], false);
  return set;
}

static bool has_select(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++)
    if (ir_at(p, e)->op == IR_SELECT) return true;
  return false;
}

void ir_unconditional_find(ir_unconditional *s, const ir_program *p,
                           arena *memory) {
  *s = (ir_unconditional){0};
  if (!has_select(p)) return;
  finding f = {p, memory, s, arena_zalloc(memory, p->node.n * sizeof *f.set)};
  s->both = arena_zalloc(memory, p->node.n * sizeof *s->both);
  reserve(&f, 0);
  close_set(&f, 0);
  for (ir_expr e = 1; e < p->node.n; e++) f.set[e] = of_node(&f, e);
}
