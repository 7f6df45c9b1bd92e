/* SPDX-License-Identifier: Apache-2.0
 * Fixture of scheduling: small programs, primitives called by name. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/scheduled.h"
#include "vm/text/map.h"

void scheduled_start(scheduled *t) {
  memset(t, 0, sizeof *t);
  test_heap_start(&t->heap, 0);
  ir_program_init(&t->p, &t->heap.heap);
  ir_program_init(&t->before, &t->heap.heap);
  ir_program_init(&t->first, &t->heap.heap);
  arena_init(&t->scratch, &t->heap.heap);
  arena_init(&t->texts, &t->heap.heap);
  t->root = ir_block_new(&t->p, ir_name(&t->p, "root"));
}

void scheduled_end(scheduled *t) {
  sch_end_questions(&t->s);
  arena_free(&t->scratch);
  arena_free(&t->texts);
  ir_program_free(&t->p);
  ir_program_free(&t->before);
  ir_program_free(&t->first);
  test_heap_end(&t->heap);
}

/* ---- describing --------------------------------------------------------- */

#define FLOAT ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})

ir_buf scheduled_buf(scheduled *t, const char *name, ir_role role,
                     uint32_t ndim, const int64_t *shape) {
  ir_expr e[8];
  for (uint32_t i = 0; i < ndim; i++) e[i] = ir_index(&t->p, shape[i]);
  ir_buf b = ir_buf_new(&t->p, ir_name(&t->p, name), FLOAT, ndim, e,
                        IR_SCOPE_GLOBAL, role);
  if (role == IR_ROLE_LOCAL)
    ir_block_add_alloc(&t->p, t->root, b);
  else
    t->param[t->nparams++] = b;
  return b;
}

static ir_var var_named(scheduled *t, ir_var_kind kind, const char *prefix,
                        uint32_t k, int64_t extent) {
  const char *name = arena_printf(&t->texts, "%s%c", prefix, (char)('a' + k));
  return ir_var_new(&t->p, kind, ir_name(&t->p, name), IR_INDEX, 0, extent - 1);
}

ir_stmt scheduled_block(scheduled *t, const char *name, const char *kinds,
                        const int64_t *extent) {
  ir_program *p = &t->p;
  ir_stmt at = t->root, b = ir_block_new(p, ir_name(p, name));
  ir_iter it[16];
  uint32_t n = 0;
  for (; kinds[n]; n++) {
    ir_expr e = ir_index(p, extent[n]), zero = ir_index(p, 0);
    ir_var lv = var_named(t, IR_VAR_LOOP, "", n, extent[n]);
    ir_stmt loop = ir_loop_new(p, lv, zero, e, IR_SERIAL);
    ir_var v = var_named(t, IR_VAR_ITER, "v", n, extent[n]);
    it[n] = (ir_iter){v,
                      kinds[n] == 'S'   ? IR_SPATIAL
                      : kinds[n] == 'R' ? IR_REDUCE
                                        : IR_OPAQUE,
                      zero, e, ir_ref(p, lv)};
    t->it[n] = ir_ref(p, v);
    ir_append(p, at, loop);
    at = loop;
  }
  ir_append(p, at, b);
  ir_block_set_iters(p, b, n, it);
  return t->block = b;
}

ir_expr scheduled_load(scheduled *t, ir_buf b, ir_expr i, ir_expr j) {
  ir_expr idx[2] = {i, j};
  return ir_load(&t->p, b, j ? 2 : 1, idx);
}

ir_expr scheduled_plus(scheduled *t, ir_expr e, int64_t c) {
  return ir_add(&t->p, e, ir_index(&t->p, c));
}

typedef struct loads {
  scheduled *t;
  ir_buf not ;
  ir_region r[16];
  uint32_t n;
} loads;

/* A point of the buffer as a region. */
static ir_region point(ir_program *p, ir_buf b, const ir_expr *idx) {
  ir_expr box[16];
  for (uint32_t i = 0; i < ir_ndim(p, b); i++) {
    box[2 * i] = idx[i];
    box[2 * i + 1] = ir_index(p, 1);
  }
  return ir_region_new(p, b, box);
}

static void note_load(const ir_program *p, ir_expr e, void *ud) {
  loads *l = ud;
  const ir_node n = *ir_at(p, e);
  ir_expr idx[8];
  if (n.op != IR_LOAD || n.a == l->not ) return;
  memcpy(idx, p->arg.v + n.b, n.n * sizeof *idx);
  l->r[l->n++] = point(&l->t->p, n.a, idx);
}

void scheduled_store(scheduled *t, ir_buf b, ir_expr i, ir_expr j,
                     ir_expr value, bool reduce) {
  ir_program *p = &t->p;
  ir_expr idx[2] = {i, j};
  uint32_t n = j ? 2 : 1;
  loads l = {.t = t, .not = reduce ? b : 0};
  ir_visit(p, &t->scratch, value, note_load, &l);
  if (reduce) {
    value = ir_binary(p, IR_ADD, ir_load(p, b, n, idx), value);
    ir_append_alt(p, t->block,
                  ir_store_new(p, b, n, idx, ir_real(p, FLOAT, 0)));
    ir_blk(p, t->block)->reducer = ir_reducer_builtin(p, "sum", FLOAT);
  }
  ir_append(p, t->block, ir_store_new(p, b, n, idx, value));
  ir_region w = point(p, b, idx);
  ir_block_set_reads(p, t->block, l.n, l.r);
  ir_block_set_writes(p, t->block, 1, &w);
}

void scheduled_finish(scheduled *t) {
  ir_program *p = &t->p;
  p->entry = ir_func_new(p, ir_name(p, "main"), t->nparams, t->param, t->root);
  ir_program_copy(&t->first, p);
}

static ir_buf describe_product(scheduled *t, ir_role role, int64_t m, int64_t n,
                               int64_t k) {
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, (int64_t[]){m, k});
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_INPUT, 2, (int64_t[]){k, n});
  ir_buf c = scheduled_buf(t, "C", role, 2, (int64_t[]){m, n});
  ir_expr *it = t->it;
  scheduled_block(t, "C", "SSR", (int64_t[]){m, n, k});
  scheduled_store(t, c, it[0], it[1],
                  ir_binary(&t->p, IR_MUL, scheduled_load(t, a, it[0], it[2]),
                            scheduled_load(t, b, it[2], it[1])),
                  true);
  return c;
}

void scheduled_product(scheduled *t, int64_t m, int64_t n, int64_t k) {
  describe_product(t, IR_ROLE_OUTPUT, m, n, k);
  scheduled_finish(t);
}

void scheduled_matmul(scheduled *t, int64_t m, int64_t n, int64_t k) {
  ir_program *p = &t->p;
  ir_buf c = describe_product(t, IR_ROLE_LOCAL, m, n, k);
  ir_buf d = scheduled_buf(t, "D", IR_ROLE_OUTPUT, 2, (int64_t[]){m, n});
  ir_expr *it = t->it;
  scheduled_block(t, "D", "SS", (int64_t[]){m, n});
  ir_expr sum = ir_binary(p, IR_ADD, scheduled_load(t, c, it[0], it[1]),
                          ir_real(p, FLOAT, 1));
  scheduled_store(t, d, it[0], it[1],
                  ir_binary(p, IR_MAX, sum, ir_real(p, FLOAT, 0)), false);
  scheduled_finish(t);
}

/* ---- calling ------------------------------------------------------------ */

static const scheduled_arg *arg_of(const scheduled_arg *a, const char *name) {
  for (; a->name; a++)
    if (!strcmp(a->name, name)) return a;
  return NULL;
}

/* By name, or by index where there is none; "read" and "write" are sides. */
static sch_buffer buffer_of(const scheduled_arg *a) {
  if (!a->s) return (sch_buffer){.by = SCH_BY_INDEX, .index = a->i};
  if (!strcmp(a->s, "read"))
    return (sch_buffer){.by = SCH_BY_READ, .index = a->i};
  if (!strcmp(a->s, "write"))
    return (sch_buffer){.by = SCH_BY_WRITE, .index = a->i};
  return (sch_buffer){.by = SCH_BY_NAME, .name = a->s};
}

static sch_map map_of(scheduled *t, const char *text) {
  sch_map m;
  int64_t at;
  if (!vm_read_map(text, 0, NULL, &t->p, &t->scratch, &m, &at))
    fail_msg("no index map: %s", text);
  return m;
}

static sch_fill fill_of(scheduled *t, const scheduled_arg *a) {
  if (a->s) return (sch_fill){.tag = SCH_FILL_MAP, .map = map_of(t, a->s)};
  return (sch_fill){.tag = SCH_FILL_INT, .i = a->i};
}

static void set(scheduled *t, const sch_spec *sp, const scheduled_arg *a,
                void *to) {
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_LOOP:
  case SCH_KIND_NODE: *(ir_stmt *)to = (ir_stmt)a->i; break;
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES: *(sch_list *)to = (sch_list){a->n, a->v}; break;
  case SCH_KIND_INT:
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: *(int64_t *)to = a->i; break;
  case SCH_KIND_BOOL: *(bool *)to = a->i != 0; break;
  case SCH_KIND_STR: *(const char **)to = a->s; break;
  case SCH_KIND_BUFFER: *(sch_buffer *)to = buffer_of(a); break;
  case SCH_KIND_INDEX_MAP: *(sch_map *)to = map_of(t, a->s); break;
  case SCH_KIND_FILL: *(sch_fill *)to = fill_of(t, a); break;
  case SCH_KIND_INTS:
  case SCH_KIND_FACTORS:
  case SCH_KIND_VARS: *(sch_ints *)to = (sch_ints){a->n, a->v}; break;
  case SCH_KIND_REALS: *(sch_reals *)to = (sch_reals){a->n, a->v}; break;
  case SCH_KIND_VALUE: *(ir_val *)to = (ir_val)a->i; break;
  case SCH_KIND_DTYPE: assert_true(ir_dtype_parse(a->s, to)); break;
  default: fail_msg("operand kind not known to the test");
  }
}

static void set_defaults(const sch_prim *prim, char *args) {
  for (uint32_t i = 0; i < prim->nspecs; i++) {
    const sch_spec *sp = &prim->specs[i];
    if (sp->dflt.required) continue;
    if (sp->kind == SCH_KIND_INT || sp->kind == SCH_KIND_EXPR)
      *(int64_t *)(void *)(args + sp->off) = sp->dflt.i;
    else if (sp->kind == SCH_KIND_BOOL)
      *(bool *)(args + sp->off) = sp->dflt.i != 0;
    else if (sp->kind == SCH_KIND_STR)
      *(const char **)(void *)(args + sp->off) = sp->dflt.s;
  }
}

static void take_outputs(scheduled *t, const sch_prim *prim, const char *args) {
  t->nout = 0;
  for (uint32_t i = 0; i < prim->nspecs; i++) {
    const sch_spec *sp = &prim->specs[i];
    const void *from = args + sp->off;
    if (sp->role != SCH_ROLE_OUT) continue;
    if (sp->kind == SCH_KIND_VAR) {
      t->value[t->nout++] = *(const int64_t *)from;
    } else if (sp->kind == SCH_KIND_VARS) {
      const sch_ints *l = from;
      for (uint32_t k = 0; k < l->n; k++) t->value[t->nout++] = l->v[k];
    } else if (sp->kind == SCH_KIND_LOOPS || sp->kind == SCH_KIND_BLOCKS) {
      const sch_list *l = from;
      for (uint32_t k = 0; k < l->n; k++) t->out[t->nout++] = l->v[k];
    } else {
      t->out[t->nout++] = *(const ir_stmt *)from;
    }
  }
}

/* The decision given, or one drawn; in t->texts, to last. */
static bool decide(scheduled *t, const sch_prim *prim,
                   const scheduled_arg *given, char *args) {
  const sch_sampler *sm = prim->sampler;
  const sch_spec *sp = prim->specs;
  uint32_t n;
  while (sp->role != SCH_ROLE_DECISION) sp++;
  if (!sm->size(&t->s, args, &n)) return false;
  const scheduled_arg *a = arg_of(given, sp->name);
  bool scalar = sp->kind == SCH_KIND_INT;
  int64_t *d = arena_array(&t->texts, int64_t, n);
  if (!a) {
    rng r;
    rng_init(&r, t->seed++, 0);
    sm->draw(&t->s, args, &r, d);
  } else if (!sm->admit(&t->s, args, scalar ? 1 : a->n,
                        scalar ? &a->i : a->v)) {
    return false;
  } else {
    memcpy(d, scalar ? &a->i : a->v, n * sizeof *d);
  }
  if (scalar)
    *(int64_t *)(void *)(args + sp->off) = d[0];
  else
    *(sch_ints *)(void *)(args + sp->off) = (sch_ints){n, d};
  return true;
}

#define SAME(field)                                     \
  (assert_int_equal(t->p.field.n, t->before.field.n),   \
   assert_memory_equal(t->p.field.v, t->before.field.v, \
                       t->p.field.n * sizeof *t->p.field.v))
#define GROWN(field)                                    \
  (assert_true(t->p.field.n >= t->before.field.n),      \
   assert_memory_equal(t->p.field.v, t->before.field.v, \
                       t->before.field.n * sizeof *t->p.field.v))

/* Everything that a program says is as it was; asking may have left
 * expressions that nothing uses behind the others. */
static void assert_unchanged(scheduled *t) {
  SAME(stmt), SAME(block), SAME(iter), SAME(region), SAME(match);
  SAME(buf), SAME(func), SAME(anno), SAME(reducer), SAME(var);
  GROWN(node), GROWN(arg), GROWN(text), GROWN(value);
}

bool scheduled_call(scheduled *t, const char *name,
                    const scheduled_arg *given) {
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  const sch_prim *prim = sch_find_prim(name);
  assert_non_null(prim);
  arena_reset(&t->scratch);
  t->s = (sch_state){.p = &t->p,
                     .scratch = &t->scratch,
                     .remembers = t->s.remembers,
                     .memo = t->s.memo};
  t->p.step++;
  set_defaults(prim, args);
  for (const scheduled_arg *a = given; a->name; a++) {
    const sch_spec *sp = prim->specs;
    while (sp < prim->specs + prim->nspecs && strcmp(sp->name, a->name)) sp++;
    if (sp == prim->specs + prim->nspecs) fail_msg("no operand %s", a->name);
    if (sp->role != SCH_ROLE_DECISION) set(t, sp, a, args + sp->off);
  }
  ir_program_copy(&t->before, &t->p);
  bool ok = (!(prim->flags & SCH_SAMPLES) || decide(t, prim, given, args)) &&
            prim->apply(&t->s, args);
  sch_end_questions(&t->s);
  if (ok) {
    take_outputs(t, prim, args);
    if (prim->flags & SCH_PURE) assert_unchanged(t);
    return true;
  }
  assert_unchanged(t);
  bool listed = false;
  for (const uint16_t *r = prim->refusals; *r && !listed; r++)
    listed = *r == t->s.refusal.reason;
  if (!listed)
    fail_msg("%s does not list its refusal %s", name,
             sch_reason_name((sch_reason)t->s.refusal.reason));
  if (!t->untraced) scheduled_refused(t, prim, given);
  return false;
}

void scheduled_must(scheduled *t, bool ok, const char *prim, const char *file,
                    int line) {
  if (ok) return;
  print_error("%s\n%s:%d: %s\n", scheduled_text(t), file, line,
              scheduled_why(t, prim));
  fail();
}

ir_stmt scheduled_get(scheduled *t, const char *block) {
  DO(t, get_block, STR(name, block));
  return t->out[0];
}

ir_stmt scheduled_loop(scheduled *t, ir_stmt block, uint32_t k) {
  ir_stmt v[SCHEDULED_MAX];
  uint32_t n = sch_loops_above(&t->p, block, SCHEDULED_MAX, v);
  assert_true(k < n);
  return v[k];
}

static const char *keep(scheduled *t, strbuf *b) {
  assert_false(b->bad);
  const char *s = arena_printf(&t->texts, "%s", str_get(b));
  str_free(b);
  return s;
}

const char *scheduled_text(scheduled *t) {
  strbuf b;
  str_init(&b, &t->heap.heap);
  ir_print(&t->p, NULL, &b);
  return keep(t, &b);
}

static bool is_whole(scheduled *t) {
  strbuf why;
  str_init(&why, &t->heap.heap);
  bool ok = ir_verify(&t->p, &t->scratch, &why);
  if (ok)
    str_free(&why);
  else
    print_error("%s%s\n", scheduled_text(t), keep(t, &why));
  return ok;
}

bool scheduled_same(scheduled *t) {
  if (!is_whole(t)) return false;
  interp_error e;
  int which = 0;
  interp_options o = {.check_regions = true};
  if (!interp_equal(&t->heap.heap, &t->first, &t->p, 42, &o, &e, &which))
    return true;
  strbuf b;
  str_init(&b, &t->heap.heap);
  interp_error_text(which ? &t->p : &t->first, &e, &b);
  print_error("%s%s\n", scheduled_text(t), keep(t, &b));
  return false;
}

void scheduled_expect(scheduled *t, const char *text) {
  assert_string_equal(scheduled_text(t), text);
}

const char *scheduled_why(scheduled *t, const char *prim) {
  strbuf b;
  str_init(&b, &t->heap.heap);
  sch_refusal_text(&t->p, prim, &t->s.refusal, &b);
  return keep(t, &b);
}
