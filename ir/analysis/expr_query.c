/* SPDX-License-Identifier: Apache-2.0
 * Queries and walks over expressions.  Nodes are shared, so a walk without a
 * visited set can take exponential time: a search goes without one for a number
 * of steps, which nearly always suffices, then marks visited nodes. */
#include "ir/edit.h"
#include "ir/memo.h"
#include "ir/query.h"

uint32_t ir_operands(const ir_program *p, ir_expr e, const uint32_t **out,
                     uint32_t fixed[3]) {
  const ir_node *n = ir_at(p, e);
  *out = fixed;
  fixed[0] = n->a;
  fixed[1] = n->b;
  fixed[2] = n->c;
  switch ((ir_op)n->op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL:
  case IR_VAR: return 0;
  case IR_NOT:
  case IR_CAST:
  case IR_BROADCAST: return 1;
  case IR_SELECT: return 3;
  case IR_LOAD: *out = p->arg.v + n->b; return n->n + (n->c != 0);
  case IR_CALL: *out = p->arg.v + n->b; return n->n;
  default: return 2;
  }
}

ir_expr ir_split_offset(const ir_program *p, ir_expr e, int64_t *at) {
  const ir_node *n = ir_at(p, e);
  *at = 0;
  if (ir_const_int(p, e, at)) return 0;
  return n->op == IR_ADD && ir_const_int(p, n->b, at) ? n->a : e;
}

bool ir_is_power_of_two(const ir_program *p, ir_expr e, uint32_t *exponent) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_BROADCAST) n = ir_at(p, n->a);
  if (n->op != IR_INT || n->i <= 0 || (n->i & (n->i - 1))) return false;
  *exponent = (uint32_t)__builtin_ctzll((uint64_t)n->i);
  return true;
}

bool ir_loads_stored(const ir_program *p, const ir_stmt_rec *store, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && n->a == store->buf && !n->c &&
         !memcmp(p->arg.v + n->b, p->arg.v + store->idx.at,
                 n->n * sizeof *p->arg.v);
}

/* ---- searching ---------------------------------------------------------- */

typedef struct search {
  const ir_program *p;
  uint32_t var;       /* this variable, when not 0 */
  ir_buf buf;         /* else a load of this buffer, 0: of any */
  uint32_t steps;     /* before the visited set is used */
  VEC(uint64_t) seen; /* a bit a node, once steps is 0 */
} search;

static bool is_hit(const search *s, const ir_node *n) {
  if (s->var) return n->op == IR_VAR && n->a == s->var;
  return n->op == IR_LOAD && (!s->buf || n->a == s->buf);
}

/* Do the cached facts exclude a match in n or nested in it? */
static bool is_ruled_out(const search *s, const ir_node *n) {
  if (n->op == IR_INT || n->op == IR_REAL) return true;
  return s->var ? !(n->vars & 1u << s->var % 32) : !n->has_load;
}

static bool was_seen(search *s, ir_expr e) {
  if (s->steps > 0) {
    s->steps--;
    return false;
  }
  uint32_t words = s->p->node.n / 64 + 1;
  if (!s->seen.n) {
    vec_reserve(s->p->heap, &s->seen, words);
    s->seen.n = words;
    memset(s->seen.v, 0, words * sizeof *s->seen.v);
  }
  uint64_t bit = UINT64_C(1) << e % 64, old = s->seen.v[e / 64];
  s->seen.v[e / 64] |= bit;
  return old & bit;
}

static bool search_expr(search *s, ir_expr e) {
  const ir_node *n = ir_at(s->p, e);
  if (is_ruled_out(s, n)) return false;
  if (is_hit(s, n)) return true;
  if (was_seen(s, e)) return false;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(s->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++)
    if (search_expr(s, ops[i])) return true;
  return false;
}

static bool search_for(search *s, ir_expr e) {
  bool found = search_expr(s, e);
  vec_free(s->p->heap, &s->seen);
  return found;
}

enum { FREE_STEPS = 512 };

bool ir_finds_var(const ir_program *p, ir_expr e, ir_var v) {
  search s = {.p = p, .var = v, .steps = FREE_STEPS};
  return search_for(&s, e);
}

bool ir_has_load(const ir_program *p, ir_expr e, ir_buf b) {
  if (!ir_at(p, e)->has_load || !b) return ir_at(p, e)->has_load;
  search s = {.p = p, .buf = b, .steps = FREE_STEPS};
  return search_for(&s, e);
}

/* ---- generic search ----------------------------------------------------- */

typedef struct asking {
  const ir_program *p;
  ir_walk (*f)(const ir_program *p, ir_expr e, void *ud);
  void *ud;
  search seen;
} asking;

static bool walk_any(asking *a, ir_expr e) {
  const ir_node *n = ir_at(a->p, e);
  if (n->op == IR_INT || n->op == IR_REAL) return false;
  ir_walk look = a->f(a->p, e, a->ud);
  if (look != IR_WALK_DESCEND || n->op == IR_VAR) return look == IR_WALK_FOUND;
  if (was_seen(&a->seen, e)) return false;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(a->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++)
    if (walk_any(a, ops[i])) return true;
  return false;
}

bool ir_any(const ir_program *p, ir_expr e,
            ir_walk (*f)(const ir_program *p, ir_expr e, void *ud), void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT || n->op == IR_REAL) return false;
  if (n->op == IR_VAR) return f(p, e, ud) == IR_WALK_FOUND;
  asking a = {p, f, ud, {.p = p, .steps = FREE_STEPS}};
  bool found = walk_any(&a, e);
  if (a.seen.seen.cap) vec_free(p->heap, &a.seen.seen);
  return found;
}

enum { MOST_OF_TREE = 4096 };

static bool takes(const ir_program *p, ir_expr e, uint32_t *left) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT || n->op == IR_VAR) return true;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(p, e, &ops, fixed);
  if (!*left) return false;
  --*left;
  for (uint32_t i = 0; i < k; i++)
    if (!takes(p, ops[i], left)) return false;
  return true;
}

bool ir_is_small(const ir_program *p, ir_expr e) {
  uint32_t left = MOST_OF_TREE;
  return takes(p, e, &left);
}

/* ---- visiting ----------------------------------------------------------- */

/* An operand that is on the stack twice is visited when first reached. */
void ir_visit(const ir_program *p, arena *scratch, ir_expr e,
              void (*f)(const ir_program *p, ir_expr e, void *ud), void *ud) {
  arena_mark mark = arena_get_mark(scratch);
  ir_memo met = {0};
  struct {
    ir_expr e;
    uint32_t next;
  } *stack = arena_alloc(scratch, ((size_t)e + 1) * sizeof *stack);
  uint32_t depth = 0;
  stack[depth].e = e;
  stack[depth++].next = 0;
  *ir_memo_of(&met, scratch, e) = 1;
  while (depth) {
    const uint32_t *ops;
    uint32_t fixed[3], at = depth - 1;
    uint32_t k = ir_operands(p, stack[at].e, &ops, fixed);
    if (stack[at].next == k) {
      f(p, stack[at].e, ud);
      depth--;
      continue;
    }
    ir_expr below = ops[stack[at].next++];
    uint32_t *was = ir_memo_of(&met, scratch, below);
    if (*was) continue;
    *was = 1;
    stack[depth].e = below;
    stack[depth++].next = 0;
  }
  arena_reset_to(scratch, mark);
}
