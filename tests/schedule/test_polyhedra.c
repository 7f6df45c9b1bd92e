/* SPDX-License-Identifier: Apache-2.0
 * Legality decided exactly: over random nests with triangular bounds,
 * predicates and quasi-affine subscripts, what reorder, parallel, fission and
 * merge say is what looking at every pair of iterations says. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/scheduled.h"

enum { DEPTH = 3, MAX_RUN = 4000, NESTS = TEST_DRAWS(400) };

typedef struct world {
  scheduled t;
  rng r;
  ir_program start;
  ir_buf buf;
  uint32_t depth, nloops;
  ir_stmt loop[DEPTH], inner[2]; /* common ones, and one of each block's own */
  ir_stmt block[2];
  uint32_t nblocks;
  ir_var second[DEPTH]; /* what the common loops around the second are named
                         * by in a refusal */
} world;

static int64_t pick(world *w, int64_t lo, int64_t hi) {
  return lo + (int64_t)rng_below(&w->r, (uint64_t)(hi - lo + 1));
}

/* ---- making a nest ------------------------------------------------------ */

/* The less or the greater one of `end` and what follows a loop around, as far
 * as nests stay small. */
static ir_expr one_of_two(world *w, ir_expr end, const ir_stmt *outer,
                          uint32_t n) {
  ir_program *p = &w->t.p;
  ir_expr v = ir_ref(p, ir_st(p, outer[pick(w, 0, n - 1)])->var);
  ir_expr other = ir_add(p, ir_mul(p, v, ir_index(p, pick(w, 1, 2))),
                         ir_index(p, pick(w, -2, 1)));
  ir_op how = pick(w, 0, 1) ? IR_MIN : IR_MAX;
  end = ir_add(p, ir_binary(p, how, end, other), ir_index(p, pick(w, 0, 1)));
  return ir_binary(p, IR_MIN, end, ir_index(p, 6));
}

static ir_stmt new_loop(world *w, ir_stmt in, char name, const ir_stmt *outer,
                        uint32_t n) {
  ir_program *p = &w->t.p;
  ir_expr lo = ir_index(p, 0), end = ir_index(p, pick(w, 2, 5));
  if (n && pick(w, 0, 2) == 0) {
    ir_expr v = ir_ref(p, ir_st(p, outer[pick(w, 0, n - 1)])->var);
    if (pick(w, 0, 1))
      lo = ir_add(p, v, ir_index(p, pick(w, 0, 1)));
    else
      end = ir_add(p, v, ir_index(p, pick(w, 1, 2)));
    if (ir_at(p, end)->op == IR_INT) end = ir_index(p, 6);
  }
  if (n && pick(w, 0, 3) == 0) end = one_of_two(w, end, outer, n);
  if (n && pick(w, 0, 3) == 0) lo = one_of_two(w, lo, outer, n);
  ir_expr extent = ir_sub(p, end, lo);
  int64_t min, max;
  ir_domain_bounds(p, lo, extent, &min, &max);
  ir_var v =
      ir_var_new(p, IR_VAR_LOOP, ir_name_n(p, &name, 1), IR_INDEX, min, max);
  ir_stmt loop = ir_loop_new(p, v, lo, extent, IR_SERIAL);
  ir_append(p, in, loop);
  return loop;
}

static ir_expr random_sum(world *w, uint32_t n, const ir_expr *it) {
  static const int64_t coef[] = {0, 1, 1, 1, 2, -1};
  ir_program *p = &w->t.p;
  ir_expr e = ir_index(p, pick(w, 0, 2));
  for (uint32_t i = 0; i < n; i++)
    e = ir_add(p, e, ir_mul(p, it[i], ir_index(p, coef[pick(w, 0, 5)])));
  return e;
}

/* A subscript of at least 0, and less than 40. */
static ir_expr subscript(world *w, uint32_t n, const ir_expr *it) {
  ir_program *p = &w->t.p;
  ir_expr e = random_sum(w, n, it);
  if (ir_at(p, e)->lo < 0) e = ir_sub(p, e, ir_index(p, ir_at(p, e)->lo));
  int64_t how = pick(w, 0, 5);
  if (how < 2)
    e = ir_binary(p, how ? IR_DIV : IR_MOD, e, ir_index(p, pick(w, 2, 3)));
  return e;
}

static void new_block(world *w, uint32_t k, ir_stmt in, uint32_t n,
                      const ir_stmt *loop) {
  ir_program *p = &w->t.p;
  ir_stmt b = ir_block_new(p, ir_name(p, k ? "second" : "first"));
  ir_iter it[DEPTH + 1];
  ir_expr ref[DEPTH + 1];
  for (uint32_t i = 0; i < n; i++) {
    const ir_var_rec v = p->var.v[ir_st(p, loop[i])->var];
    char name[2] = {'v', (char)('a' + i)};
    ir_var x =
        ir_var_new(p, IR_VAR_ITER, ir_name_n(p, name, 2), IR_INDEX, v.lo, v.hi);
    it[i] = (ir_iter){x, IR_SPATIAL, ir_index(p, v.lo),
                      ir_index(p, v.hi - v.lo + 1), v.ref};
    ref[i] = ir_ref(p, x);
  }
  ir_append(p, in, b);
  ir_block_set_iters(p, b, n, it);
  if (pick(w, 0, 2) == 0) {
    ir_expr of[DEPTH + 1];
    for (uint32_t i = 0; i < n; i++) of[i] = ir_ref(p, ir_st(p, loop[i])->var);
    ir_op op = pick(w, 0, 1) ? IR_LT : IR_NE;
    ir_expr c = ir_binary(p, op, random_sum(w, n, of), random_sum(w, n, of));
    ir_blk(p, b)->pred = ir_at(p, c)->op == IR_INT ? 0 : c;
  }
  ir_expr idx[2] = {subscript(w, n, ref), subscript(w, n, ref)};
  ir_expr value = ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1);
  for (int64_t i = pick(w, 0, 2); i > 0; i--)
    value = ir_binary(p, IR_ADD, value,
                      scheduled_load(&w->t, w->buf, subscript(w, n, ref),
                                     subscript(w, n, ref)));
  ir_append(p, b, ir_store_new(p, w->buf, 2, idx, value));
  ir_block_find_regions(p, &w->t.scratch, b);
  w->block[k] = b;
}

/* Answers of one program are those of the next. */
static test_heap answers;
static struct sch_memo *answered;

static void polyhedra_make(world *w, uint64_t seed) {
  memset(w, 0, sizeof *w);
  scheduled_start(&w->t);
  w->t.s.remembers = &answers.heap;
  w->t.s.memo = answered;
  ir_program_init(&w->start, &w->t.heap.heap);
  rng_init(&w->r, seed, 3);
  const ir_program *p = &w->t.p;
  w->buf = scheduled_buf(&w->t, "A", IR_ROLE_OUTPUT, 2, (int64_t[]){64, 64});
  ir_stmt in = w->t.root, all[DEPTH + 1];
  w->depth = (uint32_t)pick(w, 1, DEPTH);
  for (uint32_t i = 0; i < w->depth; i++)
    in = all[i] = w->loop[i] = new_loop(w, in, (char)('i' + i), all, i);
  for (uint32_t i = 0; i < w->depth; i++)
    w->second[i] = ir_st(p, w->loop[i])->var;
  w->nblocks = (uint32_t)pick(w, 1, 2);
  for (uint32_t k = 0; k < w->nblocks; k++) {
    uint32_t n = w->depth;
    ir_stmt at = in;
    if (w->depth < DEPTH && pick(w, 0, 1))
      at = all[n++] = w->inner[k] = new_loop(w, in, "mn"[k], all, w -> depth);
    new_block(w, k, at, n, all);
  }
  scheduled_finish(&w->t);
  ir_program_copy(&w->start, &w->t.p);
}

static void unmake(world *w) {
  answered = w->t.s.memo;
  ir_program_free(&w->start);
  scheduled_end(&w->t);
}

/* ---- running it --------------------------------------------------------- */

typedef struct touch {
  int64_t at[DEPTH]; /* the common loops */
  uint32_t block;
  int64_t idx[2];
  bool write;
} touch;

typedef struct tracer {
  const ir_program *p;
  int64_t *value; /* by variable */
  const world *w;
  touch run[MAX_RUN];
  uint32_t n;
} tracer;

static int64_t polyhedra_eval(const tracer *x, ir_expr e) {
  const ir_node *n = ir_at(x->p, e);
  if (n->op == IR_INT) return n->i;
  if (n->op == IR_VAR) return x->value[n->a];
  if (n->op == IR_NOT) return !polyhedra_eval(x, n->a);
  int64_t a = polyhedra_eval(x, n->a), b = polyhedra_eval(x, n->b);
  int64_t q = b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
  switch ((ir_op)n->op) {
  case IR_ADD: return a + b;
  case IR_SUB: return a - b;
  case IR_MUL: return a * b;
  case IR_DIV: return q;
  case IR_MOD: return a - q * b;
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a > b ? a : b;
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_LT: return a < b;
  case IR_LE: return a <= b;
  case IR_AND: return a && b;
  case IR_OR: return a || b;
  default: fail_msg("not an index"); return 0;
  }
}

static void note(tracer *x, uint32_t block, bool write, uint32_t at) {
  assert_true(x->n < MAX_RUN);
  touch *t = &x->run[x->n++];
  *t = (touch){.block = block, .write = write};
  for (uint32_t i = 0; i < x->w->depth; i++)
    t->at[i] = x->value[ir_st(x->p, x->w->loop[i])->var];
  for (int d = 0; d < 2; d++)
    t->idx[d] = polyhedra_eval(x, x->p->arg.v[at + (uint32_t)d]);
}

static void note_loads(tracer *x, uint32_t block, ir_expr e) {
  const ir_node *n = ir_at(x->p, e);
  if (!n->has_load) return;
  if (n->op == IR_LOAD) {
    note(x, block, false, n->b);
    return;
  }
  note_loads(x, block, n->a);
  note_loads(x, block, n->b);
}

static void polyhedra_run(tracer *x, ir_stmt first) {
  const ir_program *p = x->p;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP) {
      int64_t lo = polyhedra_eval(x, r->lo),
              end = lo + polyhedra_eval(x, r->extent);
      for (int64_t v = lo; v < end; v++) {
        x->value[r->var] = v;
        polyhedra_run(x, r->body);
      }
      continue;
    }
    const ir_block_rec *b = ir_blk(p, s);
    if (b->pred && !polyhedra_eval(x, b->pred)) continue;
    for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++)
      x->value[p->iter.v[i].var] = polyhedra_eval(x, p->iter.v[i].bind);
    uint32_t k = s == x->w->block[1];
    note_loads(x, k, ir_st(p, r->body)->value);
    note(x, k, true, ir_st(p, r->body)->idx.at);
  }
}

static bool meet(const touch *a, const touch *b) {
  return (a->write || b->write) && a->idx[0] == b->idx[0] &&
         a->idx[1] == b->idx[1];
}

/* ---- what is legal ------------------------------------------------------ */

static bool same_before(const touch *a, const touch *b, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (a->at[i] != b->at[i]) return false;
  return true;
}

static bool may_parallel(const tracer *x, uint32_t k) {
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t j = 0; j < i; j++) {
      const touch *a = &x->run[j], *b = &x->run[i];
      if (same_before(a, b, k) && a->at[k] != b->at[k] && meet(a, b))
        return false;
    }
  return true;
}

/* Of the loops in the order to[0 .. depth). */
static int polyhedra_compare(const tracer *x, const touch *a, const touch *b,
                             const uint32_t *to) {
  for (uint32_t i = 0; i < x->w->depth; i++)
    if (a->at[to[i]] != b->at[to[i]])
      return a->at[to[i]] < b->at[to[i]] ? -1 : 1;
  return 0;
}

static bool may_reorder(const tracer *x, const uint32_t *to) {
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t j = 0; j < i; j++)
      if (meet(&x->run[j], &x->run[i]) &&
          polyhedra_compare(x, &x->run[j], &x->run[i], to) > 0)
        return false;
  return true;
}

/* The common loops from number k on, cut between the two blocks, or two nests
 * of them merged: iterations of which the first block's comes later. */
static bool may_part(const tracer *x, uint32_t k) {
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t j = 0; j < i; j++) {
      const touch *a = &x->run[j], *b = &x->run[i];
      if (same_before(a, b, k) && a->block && !b->block && meet(a, b))
        return false;
    }
  return true;
}

/* ---- comparing ---------------------------------------------------------- */

typedef struct tally {
  uint32_t legal, illegal, clashes;
} tally;

static int64_t value_in(const sch_conflict *c, int k, ir_var v) {
  for (uint32_t i = 0; i < c->n[k]; i++)
    if (c->var[k][i] == v) return c->at[k][i];
  fail_msg("a loop is missing in a conflict");
  return 0;
}

/* The two iterations that a refusal names do meet. */
static void check_clash(const world *w, const tracer *x) {
  const sch_conflict *c = &w->t.s.refusal.conflict;
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t j = 0; j < x->n; j++) {
      bool same = meet(&x->run[i], &x->run[j]);
      for (uint32_t d = 0; d < w->depth && same; d++) {
        ir_var v = ir_st(x->p, w->loop[d])->var;
        same = x->run[i].at[d] == value_in(c, 0, v) &&
               x->run[j].at[d] == value_in(c, 1, w->second[d]);
      }
      if (same) return;
    }
  fail_msg("the refusal names iterations that do not meet: %s",
           scheduled_why((scheduled *)(uintptr_t)&w->t, "it"));
}

static void polyhedra_expect(world *w, const tracer *x, tally *n, bool legal,
                             bool ok, const char *what, uint64_t seed) {
  if (legal != ok) {
    ir_program_copy(&w->t.p, &w->start);
    fail_msg("seed %llu: %s is %s\n%s%s", (unsigned long long)seed, what,
             legal ? "legal, and refused" : "not legal, and accepted",
             scheduled_text(&w->t), ok ? "" : scheduled_why(&w->t, what));
  }
  n->legal += legal;
  n->illegal += !legal;
  if (!ok && w->t.s.refusal.conflict.n[0]) {
    n->clashes++;
    check_clash(w, x);
  }
  ir_program_copy(&w->t.p, &w->start);
}

static bool is_box(const world *w) {
  const ir_program *p = &w->t.p;
  for (uint32_t i = 0; i < w->depth; i++) {
    const ir_stmt_rec *r = ir_st(p, w->loop[i]);
    if (ir_at(p, r->lo)->op != IR_INT || ir_at(p, r->extent)->op != IR_INT)
      return false;
  }
  return true;
}

static void orders(world *w, const tracer *x, tally *n, uint64_t seed) {
  static const uint32_t perm[5][3] = {
      {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
  uint32_t count = w->depth == 3 ? 5 : w->depth == 2 ? 1 : 0;
  for (uint32_t k = 0; k < count && is_box(w); k++) {
    ir_stmt to[DEPTH];
    for (uint32_t i = 0; i < w->depth; i++) to[i] = w->loop[perm[k][i]];
    bool ok =
        RUN(&w->t, reorder, {.name = "ordered_loops", .v = to, .n = w->depth});
    polyhedra_expect(w, x, n, may_reorder(x, perm[k]), ok, "reorder", seed);
  }
}

/* The second block leaves the common loops from number k on for copies of
 * them, whatever that does; returns the innermost copy. */
static ir_stmt part(world *w, uint32_t k) {
  ir_program *p = &w->t.p;
  ir_stmt last = w->loop[w->depth - 1], inner = 0;
  ir_stmt at = ir_st(p, ir_st(p, last)->body)->next;
  w->t.s = (sch_state){.p = p,
                       .scratch = &w->t.scratch,
                       .remembers = &answers.heap,
                       .memo = w->t.s.memo};
  ir_detach(p, at);
  for (uint32_t i = w->depth; i-- > k;) {
    const ir_stmt_rec r = *ir_st(p, w->loop[i]);
    const ir_var_rec old = p->var.v[r.var];
    ir_var v = w->second[i] = ir_var_like(p, r.var, old.lo, old.hi);
    ir_expr to = ir_ref(p, v);
    ir_stmt copy = ir_loop_new(p, v, r.lo, r.extent, IR_SERIAL);
    ir_append(p, copy, at);
    sch_replace_vars(&w->t.s, copy, 1, &r.var, &to);
    if (!inner) inner = copy;
    at = copy;
  }
  ir_insert_after(p, w->loop[k], at);
  return inner;
}

static void merges(world *w, const tracer *x, tally *n, uint64_t seed) {
  for (uint32_t k = 0; k < w->depth; k++) {
    ir_stmt other = part(w, k);
    bool ok = RUN(&w->t, merge, LIST(loops, w->loop[w->depth - 1], other));
    polyhedra_expect(w, x, n, may_part(x, k), ok, "merge", seed);
    for (uint32_t i = 0; i < w->depth; i++)
      w->second[i] = ir_st(&w->t.p, w->loop[i])->var;
  }
}

/* A loop of one iteration may always be parallel. */
static void test_exact(void **state) {
  (void)state;
  tally n = {0};
  test_heap_start(&answers, 0);
  for (uint64_t seed = 0; seed < NESTS; seed++) {
    static world w;
    static tracer x;
    polyhedra_make(&w, seed);
    x = (tracer){.p = &w.start, .w = &w};
    x.value = arena_zalloc(&w.t.texts, w.t.p.var.n * sizeof *x.value);
    polyhedra_run(&x, ir_st(&w.start, w.t.root)->body);
    for (uint32_t k = 0; k < w.depth; k++) {
      bool ok = RUN(&w.t, parallel, AT(loop, w.loop[k]));
      polyhedra_expect(&w, &x, &n, may_parallel(&x, k), ok, "parallel", seed);
    }
    orders(&w, &x, &n, seed);
    if (w.nblocks == 2) {
      bool ok = RUN(&w.t, fission, AT(loop, w.loop[w.depth - 1]));
      polyhedra_expect(&w, &x, &n, may_part(&x, w.depth - 1), ok, "fission",
                       seed);
      merges(&w, &x, &n, seed);
    }
    unmake(&w);
  }
  assert_non_null(answered);
  sch_forget_answers(&(sch_state){.memo = answered});
  test_heap_end(&answers);
  assert_true(n.legal > TEST_DRAWS(200) && n.illegal > TEST_DRAWS(200) &&
              n.clashes > TEST_DRAWS(150));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
