/* SPDX-License-Identifier: Apache-2.0
 * Vectorizes loops of kind IR_VECTORIZED: the variable becomes a ramp, what
 * depends on it vectors, conditions on it masks (predication).  A loop whose
 * body cannot be vectorized (allocations, calls of external functions, vectors
 * already) becomes serial, which has the same semantics.
 *
 * The new body is built beside the old one, which is replaced once the new one
 * is complete. */
#include "ir/analysis/unconditional.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

typedef struct lanes {
  ir_program *p;
  arena *scratch;
  ir_var var;    /* of the loop */
  ir_expr lo;    /* its value in lane 0 */
  uint32_t n;    /* lanes */
  ir_expr mask;  /* lanes that run; 0: all */
  ir_expr *memo; /* node -> vector or uniform form, under mask */
  uint32_t nmemo;
  ir_expr *loading; /* those in the memo that load, in order; as long */
  uint32_t nloading;
  ir_unconditional common; /* of the nodes there were, once `found` */
  bool found;
  ir_expr *let; /* variable -> what it stands for; 0: itself */
  uint32_t nlet;
  bool failed;
} lanes;

static uint32_t lanes_of(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->dtype.lanes;
}

static ir_expr widen(lanes *v, ir_expr e) {
  return lanes_of(v->p, e) == v->n ? e : ir_broadcast(v->p, e, v->n);
}

/* Both operands uniform, or both vectors. */
static bool equalize_lanes(lanes *v, ir_expr *a, ir_expr *b) {
  if (lanes_of(v->p, *a) == 1 && lanes_of(v->p, *b) == 1) return false;
  *a = widen(v, *a);
  *b = widen(v, *b);
  return true;
}

static ir_expr fail(lanes *v, ir_expr e) {
  v->failed = true;
  return e;
}

/* ---- expressions -------------------------------------------------------- */

static ir_expr vector_form(lanes *v, ir_expr e);

/* An index that is affine in the variable is a ramp.  One that is no sum is
 * its own only atom, and must not be mapped here again. */
static ir_expr affine(lanes *v, ir_expr e) {
  ir_program *p = v->p;
  ir_expr atom[16];
  int64_t coef[16], constant, step = 0;
  int n = arith_terms(p, e, 16, atom, coef, &constant);
  if (n < 0) return 0;
  for (int i = 0; i < n; i++) {
    if (atom[i] == ir_ref(p, v->var))
      step = coef[i];
    else if (atom[i] == e || lanes_of(p, vector_form(v, atom[i])) != 1)
      return 0;
  }
  if (!step) return 0;
  ir_expr rest = ir_sub(p, e, ir_mul(p, ir_ref(p, v->var), ir_index(p, step)));
  ir_expr base = ir_add(p, rest, ir_mul(p, v->lo, ir_index(p, step)));
  return ir_ramp(p, base, ir_index(p, step), v->n);
}

static ir_expr map_load(lanes *v, const ir_node *n) {
  ir_program *p = v->p;
  ir_expr idx = vector_form(v, p->arg.v[n->b]);
  tess_dtype t = n->dtype;
  if (n->c || n->n != 1) return fail(v, idx);
  if (lanes_of(p, idx) == 1 && !v->mask) return ir_load(p, n->a, 1, &idx);
  t.lanes = (uint16_t)v->n;
  idx = widen(v, idx);
  return ir_load_masked(p, n->a, t, 1, &idx, v->mask);
}

/* Loads mapped since there were n go out of the memo: they are made under
 * another mask, or before memory changed. */
static void forget_loads(lanes *v, uint32_t n) {
  while (v->nloading > n) v->memo[v->loading[--v->nloading]] = 0;
}

/* The value of e, predicated by cond. */
static ir_expr map_under(lanes *v, ir_expr e, ir_expr cond) {
  ir_expr mask = v->mask;
  uint32_t n = v->nloading;
  v->mask = mask ? ir_and(v->p, mask, cond) : cond;
  ir_expr r = vector_form(v, e);
  v->mask = mask;
  forget_loads(v, n);
  return r;
}

/* Nodes that both sides evaluate are evaluated unpredicated, once. */
static void map_both(lanes *v, ir_expr e) {
  if (!v->found) ir_unconditional_find(&v->common, v->p, v->scratch);
  v->found = true;
  uint32_t n;
  const ir_expr *early = ir_unconditional_in_both(&v->common, e, &n);
  for (uint32_t i = 0; i < n; i++) (void)vector_form(v, early[i]);
}

static ir_expr map_select(lanes *v, ir_expr e, const ir_node *n) {
  ir_expr c = vector_form(v, n->a), a, b;
  if (lanes_of(v->p, c) == 1) {
    a = vector_form(v, n->b);
    b = vector_form(v, n->c);
    equalize_lanes(v, &a, &b);
    return ir_select(v->p, c, a, b);
  }
  map_both(v, e);
  a = widen(v, map_under(v, n->b, c));
  b = widen(v, map_under(v, n->c, ir_not(v->p, c)));
  return ir_select(v->p, c, a, b);
}

static ir_expr map_call(lanes *v, ir_expr e, const ir_node *n) {
  ir_expr arg[8];
  bool wide = false;
  if (ir_fn_is_named(n->a) || ir_fn_of_warp(n->a) || n->n > 8)
    return fail(v, e);
  for (uint32_t i = 0; i < n->n; i++) {
    arg[i] = vector_form(v, v->p->arg.v[n->b + i]);
    wide |= lanes_of(v->p, arg[i]) != 1;
  }
  tess_dtype t = n->dtype;
  if (wide) {
    t.lanes = (uint16_t)v->n;
    for (uint32_t i = 0; i < n->n; i++) arg[i] = widen(v, arg[i]);
  }
  return ir_call(v->p, (ir_fn)n->a, t, n->n, arg);
}

static ir_expr map_node(lanes *v, ir_expr e) {
  ir_program *p = v->p;
  const ir_node n = *ir_at(p, e);
  ir_expr a, b;
  tess_dtype t = n.dtype;
  if (n.dtype.lanes != 1) return fail(v, e);
  switch ((ir_op)n.op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL: return e;
  case IR_VAR:
    if (n.a == v->var) return ir_ramp(p, v->lo, ir_index(p, 1), v->n);
    return n.a < v->nlet && v->let[n.a] ? v->let[n.a] : e;
  case IR_LOAD: return map_load(v, &n);
  case IR_SELECT: return map_select(v, e, &n);
  case IR_CALL: return map_call(v, e, &n);
  case IR_NOT: return ir_not(p, vector_form(v, n.a));
  case IR_CAST:
    a = vector_form(v, n.a);
    t.lanes = (uint16_t)lanes_of(p, a);
    return ir_cast(p, t, a);
  case IR_RAMP:
  case IR_BROADCAST: return fail(v, e);
  default:
    a = vector_form(v, n.a);
    b = vector_form(v, n.b);
    equalize_lanes(v, &a, &b);
    return ir_binary(p, (ir_op)n.op, a, b);
  }
}

/* Room for what there is of nodes now. */
static void vectorize_grow(lanes *v) {
  uint32_t n = v->p->node.n + 64;
  ir_expr *memo = arena_zalloc(v->scratch, n * sizeof *memo);
  ir_expr *loading = arena_array(v->scratch, ir_expr, n);
  if (v->nmemo) memcpy(memo, v->memo, v->nmemo * sizeof *memo);
  if (v->nloading) memcpy(loading, v->loading, v->nloading * sizeof *loading);
  v->memo = memo;
  v->loading = loading;
  v->nmemo = n;
}

static ir_expr vector_form(lanes *v, ir_expr e) {
  if (!e) return 0;
  if (e >= v->nmemo) vectorize_grow(v);
  if (v->memo[e]) return v->memo[e];
  ir_expr r = 0;
  if (ir_at(v->p, e)->is_index && ir_uses_var(v->p, e, v->var))
    r = affine(v, e);
  if (!r) r = map_node(v, e);
  if (e >= v->nmemo) return r;
  v->memo[e] = r;
  if (ir_at(v->p, e)->has_load) v->loading[v->nloading++] = e;
  return r;
}

/* ---- statements --------------------------------------------------------- */

static void build_list(lanes *v, ir_stmt first, ir_stmt into, bool alt);

static void append_stmt(lanes *v, ir_stmt into, bool alt, ir_stmt s) {
  if (alt)
    ir_append_alt(v->p, into, s);
  else
    ir_append(v->p, into, s);
}

/* A store to a uniform index needs a uniform value and no mask. */
static void build_store(lanes *v, const ir_stmt_rec *r, ir_stmt into,
                        bool alt) {
  ir_program *p = v->p;
  if (r->idx.n != 1 || r->mask || r->loop_kind) {
    v->failed = true;
    return;
  }
  ir_expr idx = vector_form(v, p->arg.v[r->idx.at]),
          value = vector_form(v, r->value);
  if (lanes_of(p, idx) == 1 && (v->mask || lanes_of(p, value) != 1)) {
    v->failed = true;
    return;
  }
  if (lanes_of(p, idx) != 1) value = widen(v, value);
  ir_stmt s = ir_store_new(p, r->buf, 1, &idx, value);
  ir_st(p, s)->mask = v->mask;
  append_stmt(v, into, alt, s);
}

static void build_masked(lanes *v, ir_stmt first, ir_expr cond, ir_stmt into,
                         bool alt) {
  ir_expr mask = v->mask;
  v->mask = mask ? ir_and(v->p, mask, cond) : cond;
  build_list(v, first, into, alt);
  v->mask = mask;
}

/* Evaluates cond once, in a let. */
static ir_expr bind_condition(lanes *v, ir_expr cond, ir_stmt *into,
                              bool *alt) {
  ir_program *p = v->p;
  ir_str name = ir_name_n(p, "cond", 4);
  ir_var w = ir_var_new(p, IR_VAR_LET, name, ir_at(p, cond)->dtype, 0, 1);
  ir_stmt let = ir_let_new(p, w, cond);
  append_stmt(v, *into, *alt, let);
  *into = let;
  *alt = false;
  return ir_ref(p, w);
}

/* Each masked store evaluates the mask: bind one that the body may clobber. */
static void build_if(lanes *v, ir_stmt at, ir_stmt into, bool alt) {
  const ir_stmt_rec *r = ir_st(v->p, at);
  ir_stmt body = r->body, other = r->alt;
  bool changes = ir_may_clobber(v->p, at, r->cond);
  ir_expr cond = vector_form(v, r->cond);
  if (lanes_of(v->p, cond) != 1) {
    if (changes) cond = bind_condition(v, cond, &into, &alt);
    build_masked(v, body, cond, into, alt);
    if (other) build_masked(v, other, ir_not(v->p, cond), into, alt);
    return;
  }
  ir_stmt s = ir_if_new(v->p, cond);
  append_stmt(v, into, alt, s);
  build_list(v, body, s, false);
  build_list(v, other, s, true);
}

static void build_loop(lanes *v, const ir_stmt_rec *r, ir_stmt into, bool alt) {
  ir_program *p = v->p;
  ir_expr lo = vector_form(v, r->lo), extent = vector_form(v, r->extent);
  bool serial = r->loop_kind == IR_SERIAL || r->loop_kind == IR_UNROLLED;
  if (!serial || lanes_of(p, lo) != 1 || lanes_of(p, extent) != 1) {
    v->failed = true;
    return;
  }
  ir_stmt s = ir_loop_new(p, r->var, lo, extent, (ir_loop_kind)r->loop_kind);
  ir_st(p, s)->anno = r->anno;
  append_stmt(v, into, alt, s);
  build_list(v, r->body, s, false);
}

static void build_let(lanes *v, const ir_stmt_rec *r, ir_stmt into, bool alt) {
  ir_program *p = v->p;
  ir_expr value = vector_form(v, r->let_value);
  ir_var w = r->let_var;
  if (lanes_of(p, value) != 1) {
    w = ir_var_new(p, IR_VAR_LET, p->var.v[r->let_var].name,
                   ir_at(p, value)->dtype, INT64_MIN, INT64_MAX);
    v->let[r->let_var] = ir_ref(p, w);
  }
  ir_stmt s = ir_let_new(p, w, value);
  append_stmt(v, into, alt, s);
  build_list(v, r->body, s, false);
}

static void build_list(lanes *v, ir_stmt first, ir_stmt into, bool alt) {
  for (ir_stmt s = first; s && !v->failed; s = ir_st(v->p, s)->next) {
    const ir_stmt_rec r = *ir_st(v->p, s);
    forget_loads(v, 0);
    switch ((ir_kind)r.kind) {
    case IR_STORE: build_store(v, &r, into, alt); break;
    case IR_IF: build_if(v, s, into, alt); break;
    case IR_LOOP: build_loop(v, &r, into, alt); break;
    case IR_LET: build_let(v, &r, into, alt); break;
    default: v->failed = true;
    }
  }
}

/* ---- loops -------------------------------------------------------------- */

/* The body of `loop` for lanes lo .. lo + n - 1, appended to `into`. */
static bool build(ir_program *p, arena *scratch, ir_stmt loop, ir_expr lo,
                  uint32_t n, ir_stmt into) {
  lanes v = {.p = p,
             .scratch = scratch,
             .var = ir_st(p, loop)->var,
             .lo = lo,
             .n = n,
             .nlet = p->var.n};
  v.let = arena_zalloc(scratch, v.nlet * sizeof *v.let);
  build_list(&v, ir_st(p, loop)->body, into, false);
  return !v.failed;
}

/* As many lanes as four registers of the widest element stored. */
static uint32_t most_lanes(const ir_program *p, ir_stmt loop,
                           const lower_options *o) {
  size_t bytes = o->vector_bytes ? o->vector_bytes : 32, widest = 1;
  for (ir_stmt s = loop; s; s = ir_next(p, s, loop)) {
    if (ir_st(p, s)->kind != IR_STORE) continue;
    size_t w = ir_dtype_bytes(p->buf.v[ir_st(p, s)->buf].dtype);
    if (w > widest) widest = w;
  }
  size_t n = 4 * bytes / widest;
  return n < 4 ? 4 : (uint32_t)n;
}

/* A copy of the loop's body with the variable fixed, appended to `into`. */
static void build_scalar(ir_program *p, arena *scratch, ir_stmt loop,
                         ir_expr at, ir_stmt into) {
  for (ir_stmt c = ir_st(p, loop)->body; c; c = ir_st(p, c)->next) {
    ir_subst sub;
    ir_subst_init(&sub, p, scratch);
    ir_subst_var(&sub, ir_st(p, loop)->var, at);
    ir_stmt copy = ir_clone_stmt(&sub, c, NULL);
    ir_append(p, into, copy);
  }
}

/* Loops and lets below own their variables again. */
static void own_again(ir_program *p, ir_stmt top) {
  for (ir_stmt s = ir_next(p, top, top); s; s = ir_next(p, s, top)) {
    if (ir_is_loop(p, s)) p->var.v[ir_st(p, s)->var].owner = s;
    if (ir_st(p, s)->kind == IR_LET) p->var.v[ir_st(p, s)->let_var].owner = s;
  }
}

/* The whole loop in chunks of at most `most` lanes and a rest, under `into`;
 * a variable bound in the body is bound by each part. */
static bool build_parts(ir_program *p, arena *scratch, ir_stmt loop,
                        int64_t extent, uint32_t most, ir_stmt into) {
  ir_expr lo = ir_st(p, loop)->lo;
  if (extent <= most)
    return build(p, scratch, loop, lo, (uint32_t)extent, into);
  int64_t chunks = extent / most, rest = extent % most;
  ir_var v = ir_var_new(p, IR_VAR_LOOP, p->var.v[ir_st(p, loop)->var].name,
                        IR_INDEX, 0, chunks - 1);
  ir_stmt outer =
      ir_loop_new(p, v, ir_index(p, 0), ir_index(p, chunks), IR_SERIAL);
  ir_append(p, into, outer);
  ir_expr at = ir_add(p, lo, ir_mul(p, ir_ref(p, v), ir_index(p, most)));
  if (!build(p, scratch, loop, at, most, outer)) return false;
  if (!rest) return true;
  ir_subst sub; /* the rest binds variables of its own */
  ir_subst_init(&sub, p, scratch);
  ir_stmt fresh = ir_clone_stmt(&sub, loop, NULL);
  at = ir_add(p, lo, ir_index(p, chunks * most));
  bool ok = true;
  if (rest == 1)
    build_scalar(p, scratch, fresh, at, into);
  else
    ok = build(p, scratch, fresh, at, (uint32_t)rest, into);
  ir_kill(p, fresh);
  return ok;
}

static void vectorize_loop(ir_program *p, arena *scratch, ir_stmt loop,
                           const lower_options *o) {
  int64_t extent;
  ir_st(p, loop)->loop_kind = IR_SERIAL;
  if (!ir_const_int(p, ir_st(p, loop)->extent, &extent) || extent < 2) return;
  ir_stmt into = ir_if_new(p, ir_bool(p, true));
  bool ok = build_parts(p, scratch, loop, extent, most_lanes(p, loop, o), into);
  if (!ok) {
    own_again(p, loop);
    ir_kill(p, into);
    return;
  }
  ir_replace(p, loop, into);
  ir_kill(p, loop);
  lower_splice(p, into);
}

/* Post-order: a loop around a vectorized one becomes serial. */
static void vectorize_below(ir_program *p, arena *scratch, ir_stmt s,
                            const lower_options *o) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      vectorize_below(p, scratch, c, o);
    }
  if (ir_is_loop(p, s) && ir_st(p, s)->loop_kind == IR_VECTORIZED)
    vectorize_loop(p, scratch, s, o);
}

LOWER_PASS(vectorize) {
  (void)e;
  vectorize_below(p, scratch, ir_entry(p)->root, o);
  return TESS_OK;
}
