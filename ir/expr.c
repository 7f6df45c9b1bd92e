/* SPDX-License-Identifier: Apache-2.0
 * Expression nodes: hash-consing and construction.  A node is looked up before
 * it is made; its cached facts (bounds, variables, whether it loads) are
 * computed once, when it is new. */
#include "ir/expr.h"
#include "ir/arith/arith.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/pool.h"
#include "ir/query.h"
#include "ir/scalar.h"

/* ---- the hash table ----------------------------------------------------- */

static inline bool is_pooled(const ir_node *n) {
  return n->op == IR_LOAD || n->op == IR_CALL;
}

static inline bool is_literal(const ir_node *n) {
  return n->op == IR_INT || n->op == IR_REAL;
}

/* The identity of a node as words: the head without the flags, two operands or
 * the literal, the third operand.  For a node in the table they are read from
 * memory as they are; for one that is looked up they are assembled from its
 * parts, since a wide load of bytes just stored in pieces stalls (failed store
 * forwarding). */
typedef struct key {
  uint64_t head, ab;
  uint32_t c;
} key;

enum { LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

static inline uint64_t head_of(ir_op op, uint16_t n, tess_dtype t) {
  uint32_t d;
  memcpy(&d, &t, sizeof d);
  return LITTLE ? op | (uint64_t)n << 16 | (uint64_t)d << 32
                : (uint64_t)op << 56 | (uint64_t)n << 32 | d;
}

static inline uint64_t pair_of(uint32_t a, uint32_t b) {
  return LITTLE ? a | (uint64_t)b << 32 : (uint64_t)a << 32 | b;
}

static inline uint64_t head_word(const ir_node *n) {
  uint64_t w;
  memcpy(&w, n, sizeof w);
  return w;
}

static inline uint64_t flag_bits(void) {
  ir_node n = {.is_index = 1,
               .has_load = 1,
               .is_unbounded = 1,
               .is_huge = 1,
               .wraps = 1};
  return head_word(&n);
}

/* Of a node that was stored a while ago. */
static inline key key_at(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  key k = {head_word(n) & ~flag_bits(), (uint64_t)n->i, n->c};
  if (is_literal(n)) k.c = 0;
  return k;
}

/* Compares the operands first: they differ most often. */
static inline bool has_key(const ir_node *n, key k) {
  return (uint64_t)n->i == k.ab && (head_word(n) & ~flag_bits()) == k.head &&
         (n->c == k.c || is_literal(n));
}

/* Of a node just assembled. */
static inline key key_of(const ir_node *n) {
  key k = {.head = head_of((ir_op)n->op, n->n, n->dtype)};
  k.ab = is_literal(n) ? (uint64_t)n->i : pair_of(n->a, n->b);
  k.c = is_literal(n) ? 0 : n->c;
  return k;
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 wide;
  wide m = (wide)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xa0761d6478bd642fu);
  return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t hash_key(const key *k) {
  return mix(k->ab, k->head ^ (uint64_t)k->c << 17);
}

/* The arguments of a pooled node are hashed in place of their position. */
static uint64_t hash_pooled(const ir_node *n, const uint32_t *args) {
  key k = {head_of((ir_op)n->op, n->n, n->dtype), n->a, n->c};
  uint64_t h = hash_key(&k);
  for (uint32_t i = 0; i < n->n; i++) h = mix(h, args[i]);
  return h;
}

static uint64_t hash_node(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  if (is_pooled(n)) return hash_pooled(n, p->arg.v + n->b);
  key k = key_at(p, e);
  return hash_key(&k);
}

static inline uint32_t slot_of(const ir_program *p, uint64_t h) {
  return (uint32_t)(h >> 20) & (p->intern.n - 1);
}

static uint32_t find_free(const ir_program *p, uint64_t h) {
  uint32_t mask = p->intern.n - 1, at = slot_of(p, h);
  while (p->intern.v[at]) at = (at + 1) & mask;
  return at;
}

/* Doubles the table and rehashes every node, in order of creation. */
static __attribute__((noinline)) void intern_grow(ir_program *p) {
  uint32_t slots = 2 * p->intern.n;
  vec_reserve(p->heap, &p->intern, slots - p->intern.n);
  p->intern.n = slots;
  memset(p->intern.v, 0, slots * sizeof *p->intern.v);
  for (ir_expr e = 1; e < p->node.n; e++)
    p->intern.v[find_free(p, hash_node(p, e))] = e;
}

/* Slots are assigned in order of creation and released in the reverse order, so
 * no probe sequence of a remaining node crosses a released slot. */
static void forget_node(ir_program *p, ir_expr e) {
  uint32_t mask = p->intern.n - 1, at = slot_of(p, hash_node(p, e));
  while (p->intern.v[at & mask] != e) at++;
  p->intern.v[at & mask] = 0;
}

ir_mark ir_get_mark(const ir_program *p) {
  return (ir_mark){p->node.n, p->var.n, p->arg.n};
}

void ir_rollback(ir_program *p, ir_mark m) {
  TESS_ASSERT(m.node <= p->node.n && m.var <= p->var.n && m.arg <= p->arg.n);
  for (ir_expr e = p->node.n; e-- > m.node;) forget_node(p, e);
  p->node.n = m.node;
  if (p->flat > m.node) p->flat = m.node;
  p->var.n = m.var;
  p->arg.n = m.arg;
}

/* ---- nesting depth ------------------------------------------------------ */

uint32_t ir_depth_above(const ir_program *p, const uint32_t *depth, ir_expr e) {
  const uint32_t *ops;
  uint32_t fixed[3], n = ir_operands(p, e, &ops, fixed), most = 0;
  for (uint32_t i = 0; i < n; i++)
    most = depth[ops[i]] > most ? depth[ops[i]] : most;
  return most + 1;
}

bool ir_expr_depth_ok(ir_program *p, arena *scratch) {
  if (p->deep + (p->node.n - p->flat) <= IR_MAX_EXPR_DEPTH) return true;
  arena_mark mark = arena_get_mark(scratch);
  uint32_t *depth = arena_array(scratch, uint32_t, p->node.n);
  p->deep = 0;
  for (ir_expr e = 1; e < p->node.n; e++) {
    depth[e] = ir_depth_above(p, depth, e);
    if (depth[e] > p->deep) p->deep = depth[e];
  }
  p->flat = p->node.n;
  arena_reset_to(scratch, mark);
  return p->deep <= IR_MAX_EXPR_DEPTH;
}

/* ---- cached facts of a new node ----------------------------------------- */

static void clear_flags(ir_node *n) {
  n->is_index = n->has_load = n->is_unbounded = n->is_huge = n->wraps = 0;
}

/* Merges the flags and variables of an operand into the node. */
static void merge_operand_facts(const ir_program *p, ir_node *n, ir_expr e) {
  const ir_node *x = ir_at(p, e);
  n->is_index &= x->is_index;
  n->has_load |= x->has_load;
  n->is_unbounded |= x->is_unbounded;
  n->is_huge |= x->is_huge;
  n->wraps |= x->wraps;
  if (!is_literal(x)) n->vars |= x->vars;
}

static bool is_bounded(const ir_var_rec *r) {
  return r->lo != INT64_MIN && r->hi != INT64_MAX;
}

/* Counters of iterations and extents are index variables; others are only if
 * their bounds are known. */
static bool is_index_var(const ir_var_rec *r) {
  if (!ir_dtype_eq(r->dtype, IR_INDEX)) return false;
  return r->kind == IR_VAR_LOOP || r->kind == IR_VAR_ITER ||
         r->kind == IR_VAR_SIZE || is_bounded(r);
}

/* A size, or a counter with a known start and no known end. */
static bool is_unbounded_var(const ir_var_rec *r) {
  if (r->kind == IR_VAR_SIZE) return true;
  return (r->kind == IR_VAR_LOOP || r->kind == IR_VAR_ITER) &&
         r->lo != INT64_MIN && r->hi == INT64_MAX;
}

/* A constant so large that a sum with sizes may overflow int64. */
static bool is_huge(int64_t v) {
  const int64_t far = INT64_C(1) << 62;
  return v >= far || v <= -far;
}

/* Is e a constant so large that its product with a size may? */
static bool is_large(const ir_program *p, ir_expr e) {
  int64_t v;
  return ir_const_int(p, e, &v) && (v > IR_MAX_SIZE + 1 || v < -IR_MAX_SIZE);
}

bool ir_assumes_no_wrap(const ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  const ir_node *x = ir_at(p, a), *y = ir_at(p, b);
  if (op > IR_MUL || !(x->is_unbounded || y->is_unbounded) || x->is_huge ||
      y->is_huge)
    return false;
  return op != IR_MUL || !(is_large(p, a) || is_large(p, b));
}

/* Does a sum, difference or product with range r possibly overflow int64?  Then
 * index algebra does not apply to it. */
static bool may_wrap(const ir_program *p, const ir_node *n, arith_range r) {
  return n->op >= IR_ADD && n->op <= IR_MUL &&
         (r.lo == INT64_MIN || r.hi == INT64_MAX) && ir_is_algebra(n) &&
         !ir_assumes_no_wrap(p, (ir_op)n->op, n->a, n->b);
}

static void compute_facts(const ir_program *p, ir_node *n,
                          const uint32_t *args) {
  switch ((ir_op)n->op) {
  case IR_INT:
    n->is_index =
        ir_dtype_eq(n->dtype, IR_INDEX) || ir_dtype_eq(n->dtype, IR_BOOL);
    n->is_huge = is_huge(n->i);
    break;
  case IR_NONE:
  case IR_REAL: break;
  case IR_VAR:
    n->is_index = is_index_var(&p->var.v[n->a]);
    n->is_unbounded = is_unbounded_var(&p->var.v[n->a]);
    n->is_huge = n->is_unbounded && is_huge(p->var.v[n->a].lo);
    n->vars = 1u << n->a % 32;
    break;
  case IR_LOAD:
    n->has_load = true;
    for (uint32_t i = 0; i < n->n; i++) merge_operand_facts(p, n, args[i]);
    if (n->c) merge_operand_facts(p, n, n->c);
    n->is_index = false;
    break;
  case IR_CALL:
    for (uint32_t i = 0; i < n->n; i++) merge_operand_facts(p, n, args[i]);
    n->is_index = false;
    break;
  case IR_NOT:
  case IR_BROADCAST:
  case IR_CAST:
    n->is_index = n->op == IR_NOT;
    merge_operand_facts(p, n, n->a);
    break;
  case IR_SELECT:
    n->is_index = true;
    merge_operand_facts(p, n, n->a);
    merge_operand_facts(p, n, n->b);
    merge_operand_facts(p, n, n->c);
    break;
  default:
    n->is_index = n->op != IR_RAMP;
    merge_operand_facts(p, n, n->a);
    merge_operand_facts(p, n, n->b);
    break;
  }
  arith_range r = arith_node_range(p, n);
  if (may_wrap(p, n, r)) {
    n->is_index = false;
    n->wraps = true;
    r = ARITH_ALL;
  }
  n->lo = r.lo;
  n->hi = r.hi;
}

/* Inserts a new node into the free slot `at`. Not inlined: the lookup that
 * succeeds is the fast path. */
static __attribute__((noinline)) ir_expr
node_enter(ir_program *p, const ir_node *n, const uint32_t *args, uint32_t at) {
  ir_expr e = p->node.n;
  vec_reserve(p->heap, &p->node, 1);
  ir_node *x = &p->node.v[e];
  *x = *n;
  clear_flags(x);
  if (!is_literal(n)) x->vars = 0;
  compute_facts(p, x, args);
  if (is_pooled(n)) POOL_ADD(p->heap, &p->arg, n->n, args, x->b);
  if (n->op == IR_LOAD && n->c) vec_push(p->heap, &p->arg, n->c);
  p->intern.v[at] = e;
  return p->node.n++;
}

/* The node equal to *n and args, or 0 and the slot where it belongs. */
static ir_expr find_pooled(const ir_program *p, const ir_node *n,
                           const uint32_t *args, uint32_t *slot) {
  uint32_t mask = p->intern.n - 1, at = slot_of(p, hash_pooled(n, args));
  uint64_t head = head_of((ir_op)n->op, n->n, n->dtype);
  ir_expr e;
  for (; (e = p->intern.v[at]); at = (at + 1) & mask) {
    const ir_node *x = ir_at(p, e);
    if (key_at(p, e).head == head && x->a == n->a && x->c == n->c &&
        (!n->n || !memcmp(p->arg.v + x->b, args, n->n * sizeof *args)))
      break;
  }
  *slot = at;
  return e;
}

/* The same for a node without pooled operands. */
static inline ir_expr find_key(const ir_program *p, key k, uint32_t *slot) {
  uint32_t mask = p->intern.n - 1, at = slot_of(p, hash_key(&k));
  ir_expr e;
  for (; (e = p->intern.v[at]); at = (at + 1) & mask)
    if (has_key(ir_at(p, e), k)) break;
  *slot = at;
  return e;
}

static ir_expr find_node(const ir_program *p, const ir_node *n,
                         const uint32_t *args, uint32_t *slot) {
  return is_pooled(n) ? find_pooled(p, n, args, slot)
                      : find_key(p, key_of(n), slot);
}

ir_expr ir_intern(ir_program *p, const ir_node *n, const uint32_t *args) {
  uint32_t at;
  if (2 * p->node.n >= p->intern.n) intern_grow(p);
  ir_expr e = find_node(p, n, args, &at);
  return e ? e : node_enter(p, n, args, at);
}

bool ir_reintern(ir_program *p) {
  uint32_t slots = p->intern.n, at;
  if (p->node.n > UINT32_MAX / 8) return false;
  while (slots <= 2 * p->node.n) slots *= 2;
  vec_reserve(p->heap, &p->intern, slots - p->intern.n);
  p->intern.n = slots;
  memset(p->intern.v, 0, slots * sizeof *p->intern.v);
  for (ir_expr e = 1; e < p->node.n; e++) {
    ir_node *n = &p->node.v[e];
    const uint32_t *args = is_pooled(n) ? p->arg.v + n->b : NULL;
    if (find_node(p, n, args, &at)) return false;
    p->intern.v[at] = e;
    clear_flags(n);
    if (!is_literal(n)) n->vars = 0;
    compute_facts(p, n, args);
  }
  return true;
}

bool ir_node_is_consistent(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  const uint32_t *args = is_pooled(n) ? p->arg.v + n->b : NULL;
  uint32_t at;
  ir_node now = *n;
  clear_flags(&now);
  if (!is_literal(n)) now.vars = 0;
  compute_facts(p, &now, args);
  return find_node(p, n, args, &at) == e && now.is_index == n->is_index &&
         now.has_load == n->has_load && now.is_unbounded == n->is_unbounded &&
         now.is_huge == n->is_huge && now.wraps == n->wraps &&
         now.lo == n->lo && now.hi == n->hi &&
         (is_literal(n) || now.vars == n->vars);
}

ir_expr ir_binary_node(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  tess_dtype t = ir_binary_dtype(op, ir_at(p, a)->dtype);
  uint32_t at;
  if (2 * p->node.n >= p->intern.n) intern_grow(p);
  ir_expr e = find_key(p, (key){head_of(op, 0, t), pair_of(a, b), 0}, &at);
  if (e) return e;
  ir_node n = {.op = (uint8_t)op, .dtype = t, .a = a, .b = b};
  return node_enter(p, &n, NULL, at);
}

/* An integer that fits its type. */
static ir_expr int_node(ir_program *p, tess_dtype t, int64_t v) {
  uint32_t at;
  if (2 * p->node.n >= p->intern.n) intern_grow(p);
  ir_expr e = find_key(p, (key){head_of(IR_INT, 0, t), (uint64_t)v, 0}, &at);
  if (e) return e;
  ir_node n = {.op = IR_INT, .dtype = t, .i = v};
  return node_enter(p, &n, NULL, at);
}

ir_expr ir_raw(ir_program *p, const ir_node *n, const uint32_t *args) {
  return ir_intern(p, n, args);
}

/* ---- leaves ------------------------------------------------------------- */

/* Broadcasts a scalar if lanes > 1. */
static ir_expr splat(ir_program *p, ir_expr e, uint32_t lanes) {
  return lanes == 1 ? e : ir_broadcast(p, e, lanes);
}

ir_expr ir_int(ir_program *p, tess_dtype t, int64_t v) {
  uint32_t lanes = t.lanes;
  t.lanes = 1;
  return splat(p, int_node(p, t, ir_wrap_int(t, v)), lanes);
}

ir_expr ir_index(ir_program *p, int64_t v) { return int_node(p, IR_INDEX, v); }

ir_expr ir_real(ir_program *p, tess_dtype t, double v) {
  uint32_t lanes = t.lanes;
  t.lanes = 1;
  ir_node n = {.op = IR_REAL, .dtype = t, .f = ir_round_real(t, v)};
  return splat(p, ir_intern(p, &n, NULL), lanes);
}

ir_expr ir_bool(ir_program *p, bool v) { return int_node(p, IR_BOOL, v); }

/* Makes a variable and the node that refers to it. */
static ir_var var_add(ir_program *p, ir_var_rec r) {
  ir_var v = vec_push(p->heap, &p->var, r);
  ir_node n = {.op = IR_VAR, .dtype = r.dtype, .a = v};
  key k = {head_of(IR_VAR, 0, r.dtype), pair_of(v, 0), 0};
  if (2 * p->node.n >= p->intern.n) intern_grow(p);
  ir_expr e = node_enter(p, &n, NULL, find_free(p, hash_key(&k)));
  p->var.v[v].ref = e;
  return v;
}

ir_var ir_var_new(ir_program *p, ir_var_kind kind, ir_str name, tess_dtype t,
                  int64_t lo, int64_t hi) {
  return var_add(
      p,
      (ir_var_rec){
          .kind = (uint8_t)kind, .name = name, .dtype = t, .lo = lo, .hi = hi});
}

ir_var ir_var_split(ir_program *p, ir_var from, unsigned part, int64_t hi) {
  return var_add(p, (ir_var_rec){.kind = IR_VAR_LOOP,
                                 .form = IR_NAME_SPLIT,
                                 .part = (uint16_t)part,
                                 .from = {from, 0},
                                 .dtype = IR_INDEX,
                                 .lo = 0,
                                 .hi = hi});
}

ir_var ir_var_fused(ir_program *p, ir_var a, ir_var b, int64_t hi) {
  return var_add(p, (ir_var_rec){.kind = IR_VAR_LOOP,
                                 .form = IR_NAME_FUSED,
                                 .from = {a, b},
                                 .dtype = IR_INDEX,
                                 .lo = 0,
                                 .hi = hi});
}

/* ---- operators ---------------------------------------------------------- */

ir_expr ir_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  if (!a || !b) return a ? a : b;
  const ir_node *x = ir_at(p, a), *y = ir_at(p, b);
  TESS_ASSERT(ir_dtype_eq(x->dtype, y->dtype));
  if (ir_is_algebra(x) && ir_is_algebra(y)) return arith_binary(p, op, a, b);
  if (x->is_index && y->is_index && ir_is_logic(op))
    return arith_logic(p, op, a, b);
  ir_expr e = ir_local_binary(p, op, a, b);
  return e ? e : ir_binary_node(p, op, a, b);
}

ir_expr ir_not(ir_program *p, ir_expr a) {
  TESS_ASSERT(ir_at(p, a)->dtype.code == TESS_DTYPE_BOOL);
  ir_expr e = ir_local_not(p, a);
  if (e) return e;
  ir_node n = {.op = IR_NOT, .dtype = ir_at(p, a)->dtype, .a = a};
  return ir_intern(p, &n, NULL);
}

ir_expr ir_select(ir_program *p, ir_expr cond, ir_expr yes, ir_expr no) {
  const ir_node *c = ir_at(p, cond);
  TESS_ASSERT(c->dtype.code == TESS_DTYPE_BOOL);
  TESS_ASSERT(ir_dtype_eq(ir_at(p, yes)->dtype, ir_at(p, no)->dtype));
  if (c->op == IR_INT) return c->i ? yes : no;
  if (yes == no) return yes;
  if (c->op == IR_NOT) return ir_select(p, c->a, no, yes);
  if (ir_is_const(p, yes, 1) && ir_is_const(p, no, 0) &&
      ir_at(p, yes)->dtype.code == TESS_DTYPE_BOOL)
    return cond;
  ir_node n = {.op = IR_SELECT,
               .dtype = ir_at(p, yes)->dtype,
               .a = cond,
               .b = yes,
               .c = no};
  return ir_intern(p, &n, NULL);
}

ir_expr ir_cast(ir_program *p, tess_dtype t, ir_expr a) {
  if (ir_dtype_eq(ir_at(p, a)->dtype, t)) return a;
  ir_expr e = ir_local_cast(p, t, a);
  if (e) return e;
  ir_node n = {.op = IR_CAST, .dtype = t, .a = a};
  return ir_intern(p, &n, NULL);
}

ir_expr ir_ramp(ir_program *p, ir_expr base, ir_expr stride, uint32_t lanes) {
  TESS_ASSERT(ir_dtype_eq(ir_at(p, base)->dtype, ir_at(p, stride)->dtype));
  if (lanes == 1) return base;
  if (ir_is_const(p, stride, 0)) return ir_broadcast(p, base, lanes);
  ir_node n = {
      .op = IR_RAMP, .dtype = ir_at(p, base)->dtype, .a = base, .b = stride};
  n.dtype.lanes = (uint16_t)lanes;
  return ir_intern(p, &n, NULL);
}

ir_expr ir_broadcast(ir_program *p, ir_expr a, uint32_t lanes) {
  if (lanes == 1) return a;
  ir_node n = {.op = IR_BROADCAST, .dtype = ir_at(p, a)->dtype, .a = a};
  n.dtype.lanes = (uint16_t)lanes;
  return ir_intern(p, &n, NULL);
}

/* ---- loads and calls ---------------------------------------------------- */

/* The greatest number of lanes among the operands. */
static uint16_t lanes_of(const ir_program *p, uint32_t n, const ir_expr *args) {
  uint16_t lanes = 1;
  for (uint32_t i = 0; i < n; i++)
    if (ir_at(p, args[i])->dtype.lanes > lanes)
      lanes = ir_at(p, args[i])->dtype.lanes;
  return lanes;
}

ir_expr ir_load(ir_program *p, ir_buf b, uint32_t n, const ir_expr *idx) {
  TESS_ASSERT(b && b < p->buf.n);
  ir_node x = {
      .op = IR_LOAD, .n = (uint16_t)n, .a = b, .dtype = p->buf.v[b].dtype};
  x.dtype.lanes = (uint16_t)(x.dtype.lanes * lanes_of(p, n, idx));
  return ir_intern(p, &x, idx);
}

ir_expr ir_load_masked(ir_program *p, ir_buf b, tess_dtype t, uint32_t n,
                       const ir_expr *idx, ir_expr mask) {
  int64_t on;
  if (mask && ir_splat(p, mask, &on)) {
    if (!on) return ir_zero(p, t);
    mask = 0;
  }
  ir_node x = {.op = IR_LOAD, .n = (uint16_t)n, .a = b, .c = mask, .dtype = t};
  return ir_intern(p, &x, idx);
}

ir_expr ir_call(ir_program *p, ir_fn fn, tess_dtype t, uint32_t n,
                const ir_expr *args) {
  ir_node x = {.op = IR_CALL, .n = (uint16_t)n, .a = fn, .dtype = t};
  return ir_intern(p, &x, args);
}

ir_expr ir_call_named(ir_program *p, ir_fn fn, const char *name, tess_dtype t,
                      uint32_t n, const ir_expr *args) {
  ir_node x = {.op = IR_CALL,
               .n = (uint16_t)n,
               .a = fn,
               .c = ir_name(p, name),
               .dtype = t};
  return ir_intern(p, &x, args);
}
