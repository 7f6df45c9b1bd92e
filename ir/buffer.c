/* SPDX-License-Identifier: Apache-2.0
 * Buffers, regions, functions; and the names of scopes, threads, operators and
 * functions, from their .def tables. */
#include "ir/edit.h"
#include "ir/query.h"

ir_buf ir_buf_new(ir_program *p, ir_str name, tess_dtype t, uint32_t ndim,
                  const ir_expr *shape, ir_scope scope, ir_role role) {
  ir_span span = ir_arg_span(p, ndim, shape);
  ir_buf_rec r = {.name = name,
                  .dtype = t,
                  .scope = (uint8_t)scope,
                  .role = (uint8_t)role,
                  .shape = span};
  return vec_push(p->heap, &p->buf, r);
}

void ir_buf_keep_range(ir_program *p, ir_buf made, ir_buf of) {
  const ir_buf_rec *from = &p->buf.v[of];
  if (!(from->holds & IR_HOLDS_RANGE)) return;
  p->buf.v[made].holds = IR_HOLDS_RANGE;
  p->buf.v[made].least = from->least;
  p->buf.v[made].most = from->most;
}

ir_region ir_region_new(ir_program *p, ir_buf b, const ir_expr *min_extent) {
  return (ir_region){b, ir_args(p, 2 * ir_ndim(p, b), min_extent)};
}

ir_region ir_region_full(ir_program *p, ir_buf b) {
  uint32_t n = ir_ndim(p, b);
  ir_expr zero = ir_index(p, 0);
  uint32_t at = vec_extend(p->heap, &p->arg, 2 * n);
  for (uint32_t i = 0; i < n; i++) {
    p->arg.v[at + 2 * i] = zero;
    p->arg.v[at + 2 * i + 1] = ir_dim(p, b, i);
  }
  return (ir_region){b, at};
}

/* The symbolic extents found, in order of first use. */
typedef struct size_list {
  ir_program *p;
  uint32_t at, n; /* in arg, at its end */
} size_list;

static void add_size(size_list *l, ir_var v) {
  for (uint32_t i = 0; i < l->n; i++)
    if (l->p->arg.v[l->at + i] == v) return;
  vec_push(l->p->heap, &l->p->arg, v);
  l->n++;
}

static void find_sizes(size_list *l, ir_expr e) {
  const ir_node *n = ir_at(l->p, e);
  if (n->op == IR_VAR) {
    if (l->p->var.v[n->a].kind == IR_VAR_SIZE) add_size(l, n->a);
    return;
  }
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(l->p, e, &ops, fixed);
  bool pooled = ops != fixed;
  uint32_t at = pooled ? (uint32_t)(ops - l->p->arg.v) : 0;
  for (uint32_t i = 0; i < k; i++)
    find_sizes(l, pooled ? l->p->arg.v[at + i] : fixed[i]);
}

/* The symbolic extents are those that the parameters' shapes use. */
uint32_t ir_func_new(ir_program *p, ir_str name, uint32_t nparams,
                     const ir_buf *params, ir_stmt root) {
  ir_span span = ir_arg_span(p, nparams, params);
  size_list sizes = {p, p->arg.n, 0};
  for (uint32_t i = 0; i < nparams; i++) {
    ir_buf b = p->arg.v[span.at + i];
    for (uint32_t d = 0; d < ir_ndim(p, b); d++)
      find_sizes(&sizes, ir_dim(p, b, d));
  }
  ir_func f = {
      .name = name, .params = span, .sizes = {sizes.at, sizes.n}, .root = root};
  uint32_t at = vec_push(p->heap, &p->func, f);
  if (!p->entry) p->entry = at;
  p->edits++;
  return at;
}

/* ---- names -------------------------------------------------------------- */

static const char *const scope_text[] = {
#define SCOPE(name, text) text,
#include "ir/scope.def"
#undef SCOPE
};
static const char *const thread_text[] = {
#define THREAD(name, text) text,
#include "ir/thread.def"
#undef THREAD
};
static const char *const fn_text[] = {
    "",
#define FN(name, text, kind, nargs, doc) text,
#include "ir/fn.def"
#undef FN
};
static const uint8_t fn_kind[] = {
    IR_FN_OTHER,
#define FN(name, text, kind, nargs, doc) IR_FN_##kind,
#include "ir/fn.def"
#undef FN
};
static const char *const op_text[] = {
    [IR_NONE] = "none",
    [IR_INT] = "int",
    [IR_REAL] = "real",
    [IR_VAR] = "var",
    [IR_ADD] = "+",
    [IR_SUB] = "-",
    [IR_MUL] = "*",
    [IR_DIV] = "//",
    [IR_MOD] = "%",
    [IR_MIN] = "min",
    [IR_MAX] = "max",
    [IR_EQ] = "==",
    [IR_NE] = "!=",
    [IR_LT] = "<",
    [IR_LE] = "<=",
    [IR_AND] = "&&",
    [IR_OR] = "||",
    [IR_NOT] = "!",
    [IR_SELECT] = "select",
    [IR_CAST] = "cast",
    [IR_LOAD] = "load",
    [IR_RAMP] = "ramp",
    [IR_BROADCAST] = "broadcast",
    [IR_CALL] = "call",
};

static bool find_in_table(const char *const *list, int n, const char *s,
                          int *out) {
  for (int i = 0; i < n; i++)
    if (!strcmp(list[i], s)) {
      *out = i;
      return true;
    }
  return false;
}

bool ir_scope_parse(const char *s, ir_scope *out) {
  int i;
  return find_in_table(scope_text, IR_SCOPE_COUNT, s, &i)
             ? (*out = (ir_scope)i, true)
             : false;
}

bool ir_thread_parse(const char *s, ir_thread *out) {
  int i;
  return find_in_table(thread_text, IR_THREAD_COUNT, s, &i)
             ? (*out = (ir_thread)i, true)
             : false;
}

const char *ir_scope_text(ir_scope s) {
  TESS_ASSERT(s < IR_SCOPE_COUNT);
  return scope_text[s];
}
const char *ir_thread_text(ir_thread t) {
  TESS_ASSERT(t < IR_THREAD_COUNT);
  return thread_text[t];
}
const char *ir_op_text(ir_op op) {
  TESS_ASSERT(op <= IR_CALL);
  return op_text[op];
}
const char *ir_fn_text(ir_fn fn) {
  TESS_ASSERT(fn < IR_FN_COUNT);
  return fn_text[fn];
}
ir_fn_kind ir_fn_kind_of(ir_fn fn) {
  TESS_ASSERT(fn < IR_FN_COUNT);
  return (ir_fn_kind)fn_kind[fn];
}
