/* SPDX-License-Identifier: Apache-2.0
 * Operation counts: arithmetic on values (not indices) executed by one
 * run of a program.  Loops whose work does not depend on their variable
 * are multiplied; others, as in triangular nests, are iterated, and past a
 * limit the middle of the range represents all of it.  The work of a statement
 * also counts its stores, so that copies are work. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"

/* Schedule modules query work, often and at small sizes. */
enum { STEPS = 1 << 22, WORK_STEPS = 1 << 14 };
enum { UNKNOWN = 0, REGULAR, IRREGULAR };

/* Where a value is computed: always (WHOLE), or in one arm of a select; and the
 * cost there. */
typedef struct place {
  uint32_t parent, depth;
  int64_t cost;
} place;

enum { UNSEEN = 0, WHOLE, UNPLACED }; /* then the arms of selects */

typedef struct counter {
  const ir_program *p;
  arena *scratch;
  int64_t *cost;  /* by expression of a statement; -1: not yet */
  uint32_t *at;   /* by expression: its place while a statement is counted */
  ir_expr *order; /* what a statement computes, operands first */
  uint32_t norder;
  place *places;
  int64_t *value; /* by variable: its current value */
  bool *unsure;   /* by variable: the value is a guess */
  uint8_t *shape; /* by loop: UNKNOWN ... */
  int64_t steps;  /* left */
  int64_t store;  /* cost of a lane of a store */
  bool guessed;   /* eval() used a guess since this was cleared */
  bool open;      /* the trip count of some loop used one */
  int64_t total;
} counter;

static int64_t flops_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t flops_times(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- expressions -------------------------------------------------------- */

/* Lists what e computes, each node once.  Indices cost nothing, nor do the
 * indices of loads. */
static void list_computed(counter *c, ir_expr e) {
  if (!e || ir_at(c->p, e)->is_index || c->at[e] != UNSEEN) return;
  c->at[e] = UNPLACED;
  const uint32_t *ops;
  uint32_t fixed[3], n = 0;
  if (ir_at(c->p, e)->op != IR_LOAD) n = ir_operands(c->p, e, &ops, fixed);
  for (uint32_t i = 0; i < n; i++) list_computed(c, ops[i]);
  c->order[c->norder++] = e;
}

/* e is used in place `here`: it is computed in the common place of its uses. */
static void use_in_place(counter *c, ir_expr e, uint32_t here) {
  if (!e || c->at[e] == UNSEEN) return;
  uint32_t at = c->at[e] == UNPLACED ? here : c->at[e];
  while (at != here) {
    const place *a = &c->places[at], *b = &c->places[here];
    if (a->depth >= b->depth) at = a->parent;
    if (b->depth >= a->depth) here = b->parent;
  }
  c->at[e] = at;
}

/* Uses follow definitions in the order.  The two arms of the select at order[i]
 * get the places from next on; returns the next free one. */
static uint32_t place_operands(counter *c, ir_expr e, uint32_t next) {
  const ir_node *n = ir_at(c->p, e);
  const uint32_t *ops, here = c->at[e];
  uint32_t fixed[3], count_expr = 0;
  if (n->op == IR_SELECT) {
    for (uint32_t i = 0; i < 2; i++)
      c->places[next + i] = (place){here, c->places[here].depth + 1, 0};
    use_in_place(c, n->a, here);
    use_in_place(c, n->b, next);
    use_in_place(c, n->c, next + 1);
    return next + 2;
  }
  if (n->op != IR_LOAD) count_expr = ir_operands(c->p, e, &ops, fixed);
  for (uint32_t i = 0; i < count_expr; i++) use_in_place(c, ops[i], here);
  return next;
}

/* Operations of the node itself, one a lane. */
static int64_t own_cost(const ir_node *n) {
  switch ((ir_op)n->op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL:
  case IR_VAR:
  case IR_LOAD:
  case IR_CAST:
  case IR_RAMP:
  case IR_BROADCAST:
  case IR_SELECT: return 0;
  case IR_CALL: return n->dtype.lanes * (n->a == IR_FN_FMA ? 2 : 1);
  default: return n->dtype.lanes;
  }
}

/* Adds up the costs by place, innermost first; a select costs its more
 * expensive arm. */
static int64_t add_places(counter *c, uint32_t end) {
  for (uint32_t i = 0; i < c->norder; i++) {
    const ir_node *n = ir_at(c->p, c->order[i]);
    int64_t cost = own_cost(n);
    if (n->op == IR_SELECT) {
      end -= 2;
      cost = larger(c->places[end].cost, c->places[end + 1].cost);
    }
    place *to = &c->places[c->at[c->order[i]]];
    to->cost = flops_add(to->cost, cost);
  }
  return c->places[WHOLE].cost;
}

/* The cost of e as compiled: a value with several uses is computed once. */
static int64_t count_expr(counter *c, ir_expr e) {
  arena_mark mark = arena_get_mark(c->scratch);
  uint32_t end = UNPLACED + 1;
  c->norder = 0;
  list_computed(c, e);
  c->places = arena_array(c->scratch, place, end + 2 * (size_t)c->norder);
  c->places[WHOLE] = (place){0};
  use_in_place(c, e, WHOLE);
  for (uint32_t i = c->norder; i-- > 0;)
    end = place_operands(c, c->order[i], end);
  int64_t cost = add_places(c, end);
  for (uint32_t i = 0; i < c->norder; i++) c->at[c->order[i]] = UNSEEN;
  arena_reset_to(c->scratch, mark);
  return cost;
}

static int64_t cost_of(counter *c, ir_expr e) {
  if (!e) return 0;
  if (c->cost[e] < 0) c->cost[e] = count_expr(c, e);
  return c->cost[e];
}

/* A representative for an unknown value. */
static int64_t guess_value(counter *c, const ir_node *n) {
  c->guessed = true;
  if (n->lo == INT64_MIN || n->hi == INT64_MAX) return n->lo > 1 ? n->lo : 1;
  return n->lo + (int64_t)(((uint64_t)n->hi - (uint64_t)n->lo) / 2);
}

/* The value of an index for the current values of the loop variables. */
static int64_t flops_eval(counter *c, ir_expr e) {
  const ir_node *n = ir_at(c->p, e);
  if (n->op == IR_INT) return n->i;
  if (n->op == IR_VAR && c->p->var.v[n->a].kind != IR_VAR_SIZE) {
    c->guessed |= c->unsure[n->a];
    return c->value[n->a];
  }
  if (n->op == IR_SELECT)
    return flops_eval(c, flops_eval(c, n->a) ? n->b : n->c);
  if (n->op == IR_NOT) return !flops_eval(c, n->a);
  if (n->op == IR_CAST && !n->has_load && ir_is_int(n->dtype) &&
      ir_is_int(ir_at(c->p, n->a)->dtype)) {
    int64_t x = flops_eval(c, n->a);
    return x >= n->lo && x <= n->hi ? x : guess_value(c, n);
  }
  if (n->op < IR_ADD || n->op > IR_OR || !ir_is_int(n->dtype))
    return guess_value(c, n);
  return ir_fold_int((ir_op)n->op, ir_at(c->p, n->a)->dtype,
                     flops_eval(c, n->a), flops_eval(c, n->b));
}

/* Sets the variable to the value of e, plus n. */
static void set_var(counter *c, ir_var v, ir_expr e, int64_t n) {
  bool guessed = c->guessed;
  c->guessed = false;
  c->value[v] = flops_add(flops_eval(c, e), n);
  c->unsure[v] = c->guessed;
  c->guessed = guessed;
}

/* ---- statements --------------------------------------------------------- */

static int64_t list_cost(counter *c, ir_stmt first);

/* Does the extent of an inner loop depend on this loop's variable, directly or
 * through what is computed from it? */
static uint8_t find_shape(const ir_program *p, ir_stmt loop) {
  uint32_t vars = 1u << ir_st(p, loop)->var % 32;
  for (ir_stmt s = ir_next(p, loop, loop); s; s = ir_next(p, s, loop)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP && ir_at(p, r->extent)->op != IR_INT &&
        ir_at(p, r->extent)->vars & vars)
      return IRREGULAR;
    if (r->kind == IR_LET && ir_at(p, r->let_value)->op != IR_INT &&
        ir_at(p, r->let_value)->op != IR_REAL &&
        ir_at(p, r->let_value)->vars & vars)
      vars |= 1u << r->let_var % 32;
    if (r->kind != IR_BLOCK) continue;
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (ir_at(p, p->iter.v[i].bind)->op != IR_INT &&
          ir_at(p, p->iter.v[i].bind)->vars & vars)
        vars |= 1u << p->iter.v[i].var % 32;
  }
  return REGULAR;
}

static int64_t loop_cost(counter *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  c->guessed = false;
  int64_t n = flops_eval(c, r->extent), sum = 0;
  c->open |= c->guessed;
  if (n <= 0) return 0;
  if (!c->shape[s]) c->shape[s] = find_shape(c->p, s);
  if (c->shape[s] == REGULAR || n > c->steps) {
    set_var(c, r->var, r->lo, n / 2);
    return flops_times(n, list_cost(c, r->body));
  }
  c->steps -= n;
  for (int64_t i = 0; i < n; i++) {
    set_var(c, r->var, r->lo, i);
    sum = flops_add(sum, list_cost(c, r->body));
  }
  return sum;
}

static void set_iters(counter *c, ir_stmt s) {
  ir_span it = ir_blk(c->p, s)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    set_var(c, c->p->iter.v[i].var, c->p->iter.v[i].bind, 0);
}

static int64_t block_cost(counter *c, ir_stmt s) {
  set_iters(c, s);
  return flops_add(list_cost(c, ir_st(c->p, s)->alt),
                   list_cost(c, ir_st(c->p, s)->body));
}

static int64_t stmt_cost(counter *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return loop_cost(c, s);
  case IR_BLOCK: return block_cost(c, s);
  case IR_STORE:
    return flops_add(cost_of(c, r->value),
                     c->store * ir_at(c->p, r->value)->dtype.lanes);
  case IR_IF:
    return flops_add(cost_of(c, r->cond),
                     larger(list_cost(c, r->body), list_cost(c, r->alt)));
  case IR_LET:
    if (ir_is_int(c->p->var.v[r->let_var].dtype))
      set_var(c, r->let_var, r->let_value, 0);
    return flops_add(cost_of(c, r->let_value), list_cost(c, r->body));
  case IR_EVALUATE: return cost_of(c, r->eval);
  case IR_ALLOCATE: return list_cost(c, r->body);
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  return 0;
}

static int64_t list_cost(counter *c, ir_stmt first) {
  int64_t sum = 0;
  for (ir_stmt s = first; s; s = ir_st(c->p, s)->next)
    sum = flops_add(sum, stmt_cost(c, s));
  return sum;
}

static void flops_begin(counter *c) {
  const ir_program *p = c->p;
  c->cost = arena_array(c->scratch, int64_t, p->node.n);
  memset(c->cost, 0xff, p->node.n * sizeof *c->cost);
  c->at = arena_zalloc(c->scratch, p->node.n * sizeof *c->at);
  c->order = arena_array(c->scratch, ir_expr, p->node.n);
  c->value = arena_zalloc(c->scratch, p->var.n * sizeof *c->value);
  c->unsure = arena_zalloc(c->scratch, p->var.n * sizeof *c->unsure);
  c->shape = arena_zalloc(c->scratch, p->stmt.n);
}

static tess_status count_stmts(void *ud) {
  counter *c = ud;
  flops_begin(c);
  if (c->p->entry) c->total = stmt_cost(c, ir_entry(c->p)->root);
  return TESS_OK;
}

/* If memory runs out the answer stays 0: unknown. */
static int64_t flops_of_run(const ir_program *p, bool *open) {
  arena scratch;
  counter c = {.p = p, .scratch = &scratch, .steps = STEPS};
  arena_init(&scratch, p->heap);
  tess_status s = mem_protect(p->heap, count_stmts, &c);
  arena_free(&scratch);
  *open = c.open;
  return s ? 0 : c.total;
}

int64_t ir_flops(const ir_program *p) {
  bool open;
  if (p->entry && ir_entry(p)->sizes.n) return -1;
  int64_t n = flops_of_run(p, &open);
  return open ? -1 : n;
}

int64_t ir_flops_guess(const ir_program *p) {
  bool open;
  return flops_of_run(p, &open);
}

/* Sets the loops around s to the middle of their ranges. */
static void set_loops_to_middle(counter *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  if (r->parent) set_loops_to_middle(c, r->parent);
  if (r->kind == IR_LOOP) {
    c->guessed = false;
    int64_t n = flops_eval(c, r->extent);
    bool unsure = c->guessed;
    set_var(c, r->var, r->lo, n / 2);
    c->unsure[r->var] |= unsure;
  }
  if (r->kind == IR_BLOCK) set_iters(c, s);
}

int64_t ir_work(const ir_program *p, ir_stmt s, arena *scratch) {
  arena_mark mark = arena_get_mark(scratch);
  counter c = {.p = p, .scratch = scratch, .steps = WORK_STEPS, .store = 1};
  flops_begin(&c);
  if (ir_st(p, s)->parent) set_loops_to_middle(&c, ir_st(p, s)->parent);
  int64_t work = stmt_cost(&c, s);
  arena_reset_to(scratch, mark);
  return c.open ? -1 : work;
}
