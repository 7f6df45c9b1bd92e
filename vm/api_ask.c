/* SPDX-License-Identifier: Apache-2.0
 * Public API of schedules: queries about variables, loops, blocks and accesses.
 */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"
#include "vm/ask.h"
#include "vm/text/text.h"

#include <inttypes.h>

tess_rv_kind tess_schedule_rv_kind(tess_schedule *s, tess_rv rv) {
  if (!rv || rv >= s->s.trace.rv.n) return TESS_RV_NONE;
  static const tess_rv_kind kinds[] = {TESS_RV_BLOCK, TESS_RV_LOOP,
                                       TESS_RV_INT};
  return kinds[s->s.trace.rv.v[rv]];
}

static tess_status unknown(ask_question *q) {
  return ctx_fail(q->s->c, TESS_INVALID,
                  "there is no random variable %" PRIu32 " here", q->rv);
}

static bool is_known(const ask_question *q) {
  return q->rv && q->rv < q->s->s.trace.rv.n;
}

/* A failure that names the variable. */
tess_status ask_fail(ask_question *q, tess_status st, const char *what) {
  char name[16];
  if (!is_known(q)) return unknown(q);
  vm_rv_name(&q->s->s.trace, q->rv, name);
  return ctx_fail(q->s->c, st, "%s %s", name, what);
}

/* Names the instruction that removed the statement q->rv referred to. */
static tess_status is_gone(ask_question *q) {
  const vm_sched *s = &q->s->s;
  strbuf b;
  if (!is_known(q)) return unknown(q);
  str_init(&b, &q->s->c->heap);
  vm_gone_text(&s->trace, q->rv,
               ir_st(&s->m.prog, s->m.cell.v[q->rv].stmt)->prev, &b);
  const char *text = str_get(&b); /* NULL: no memory */
  tess_status st = ctx_fail(q->s->c, TESS_DEAD, "%s", text ? text : "");
  str_free(&b);
  return st;
}

/* The live statement that q->rv refers to, of that kind. */
tess_status ask_find_stmt(ask_question *q, ir_kind kind) {
  const ir_program *p = &q->s->s.m.prog;
  q->stmt = vm_sched_stmt(&q->s->s, q->rv);
  if (q->stmt == SCH_INLINE_MARK || q->stmt == SCH_ROOT_MARK)
    return ask_fail(q, TESS_TYPE, "is a mark, and no loop");
  if (tess_schedule_rv_kind(q->s, q->rv) == TESS_RV_INT)
    return ask_fail(q, TESS_TYPE, "is an integer, and no block or loop");
  if (!q->stmt) return is_gone(q);
  if (kind != IR_DEAD && ir_st(p, q->stmt)->kind != kind)
    return ask_fail(q, TESS_TYPE,
                    kind == IR_LOOP ? "is no loop" : "is no block");
  return TESS_OK;
}

/* ---- values ------------------------------------------------------------- */

static tess_status read_int(void *ud) {
  ask_question *q = ud;
  tess_status st = vm_sched_get_int(&q->s->s, q->rv, q->value);
  if (st == TESS_TYPE) return ask_fail(q, st, "is no integer variable");
  return st == TESS_OK ? st
                       : api_blame(q->s->c, st, &q->s->s.m, &q->s->s.trace);
}

tess_status tess_schedule_get_int(tess_schedule *s, tess_rv rv, int64_t *out) {
  ask_question q = {.s = s, .rv = rv, .value = out};
  return ctx_run(s->c, read_int, &q);
}

typedef struct comparison {
  tess_schedule *s;
  tess_rv a, b;
  int *out;
} comparison;

static tess_status compare_rvs(void *ud) {
  comparison *k = ud;
  bool same = k->a == k->b;
  for (int i = 0; i < 2; i++) {
    ask_question q = {.s = k->s, .rv = i ? k->b : k->a};
    if (!is_known(&q)) return unknown(&q);
  }
  if (tess_schedule_rv_kind(k->s, k->a) != TESS_RV_INT &&
      tess_schedule_rv_kind(k->s, k->a) == tess_schedule_rv_kind(k->s, k->b)) {
    tess_status st = vm_sched_same(&k->s->s, k->a, k->b, &same);
    if (st != TESS_OK)
      return api_blame(k->s->c, st, &k->s->s.m, &k->s->s.trace);
  }
  *k->out = same;
  return TESS_OK;
}

tess_status tess_schedule_is_same(tess_schedule *s, tess_rv a, tess_rv b,
                                  int *out) {
  comparison k = {s, a, b, out};
  *out = 0;
  return ctx_run(s->c, compare_rvs, &k);
}

static void put_rv_text(strbuf *out, void *ud) {
  ask_question *q = ud;
  const ir_program *p = &q->s->s.m.prog;
  tess_rv_kind kind = tess_schedule_rv_kind(q->s, q->rv);
  if (kind == TESS_RV_INT) {
    str_printf(out, "%" PRId64, q->s->s.m.cell.v[q->rv].i);
    return;
  }
  ir_stmt st = vm_sched_stmt(&q->s->s, q->rv);
  if (st == SCH_INLINE_MARK || st == SCH_ROOT_MARK)
    str_puts(out, st == SCH_INLINE_MARK ? "inline" : "root");
  else if (!st)
    str_printf(out, "a %s that is gone",
               kind == TESS_RV_BLOCK ? "block" : "loop");
  else
    ir_print_stmt_head(p, st, out);
}

static tess_status describe_rv(void *ud) {
  ask_question *q = ud;
  if (tess_schedule_rv_kind(q->s, q->rv) == TESS_RV_NONE)
    return ask_fail(q, TESS_INVALID, "");
  *q->text = api_text(q->s->c, put_rv_text, q);
  return TESS_OK;
}

tess_status tess_schedule_rv_text(tess_schedule *s, tess_rv rv, char **out) {
  ask_question q = {.s = s, .rv = rv, .text = out};
  *out = NULL;
  return ctx_run(s->c, describe_rv, &q);
}

/* ---- facts of loops and blocks ------------------------------------------ */

/* Analyses allocate from the machine's scratch. */
sch_state *ask_analysis(ask_question *q) {
  vm_machine *m = &q->s->s.m;
  m->state.p = &m->prog;
  m->state.scratch = &m->scratch;
  return &m->state;
}

static tess_status about_loop(void *ud) {
  static const char *const kinds[] = {"serial", "parallel", "vectorized",
                                      "unrolled", "thread"};
  static const int32_t types[] = {[SCH_LOOP_S] = TESS_SPATIAL,
                                  [SCH_LOOP_R] = TESS_REDUCE,
                                  [SCH_LOOP_MIXED] = -1,
                                  [SCH_LOOP_OPAQUE] = TESS_OPAQUE};
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_LOOP);
  if (st != TESS_OK) return st;
  const ir_program *p = &q->s->s.m.prog;
  const ir_stmt_rec *r = ir_st(p, q->stmt);
  strbuf *name = &q->s->name;
  arena_mark mark = arena_get_mark(&q->s->s.m.scratch);
  tess_loop_info info = {.extent = -1};
  str_clear(name);
  ir_var_name(p, r->var, name);
  if (name->bad) return str_status(name);
  info.name = str_get(name);
  info.kind = kinds[r->loop_kind];
  info.thread =
      r->loop_kind == IR_THREAD ? ir_thread_text((ir_thread)r->thread) : "";
  ir_const_int(p, r->extent, &info.extent);
  info.iter_type = types[sch_type_of_loop(ask_analysis(q), q->stmt)];
  arena_reset_to(&q->s->s.m.scratch, mark);
  return ctx_give(q->s->c, tess_loop_info, &info, q->loop);
}

tess_status tess_schedule_loop_info(tess_schedule *s, tess_rv loop,
                                    tess_loop_info *out) {
  ask_question q = {.s = s, .rv = loop, .loop = out};
  return ctx_run(s->c, about_loop, &q);
}

static tess_status count_work(void *ud) {
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_DEAD);
  if (st == TESS_OK)
    *q->value = ir_work(&q->s->s.m.prog, q->stmt, &q->s->s.m.scratch);
  return st;
}

tess_status tess_schedule_work(tess_schedule *s, tess_rv rv, int64_t *out) {
  ask_question q = {.s = s, .rv = rv, .value = out};
  return ctx_run(s->c, count_work, &q);
}

static ir_walk is_select(const ir_program *p, ir_expr e, void *ud) {
  (void)ud;
  return ir_at(p, e)->op == IR_SELECT ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static ir_walk is_costly_call(const ir_program *p, ir_expr e, void *ud) {
  (void)ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_CALL) return IR_WALK_DESCEND;
  bool costly =
      n->a == IR_FN_EXTERN || ir_fn_kind_of((ir_fn)n->a) == IR_FN_COSTLY;
  return costly ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

/* Is there a node for which f says so in a value that the block stores? */
static bool any_stored(const ir_program *p, ir_stmt block,
                       ir_walk (*f)(const ir_program *, ir_expr, void *)) {
  for (ir_stmt s = block; s; s = ir_next(p, s, block))
    if (ir_st(p, s)->kind == IR_STORE && ir_any(p, ir_st(p, s)->value, f, NULL))
      return true;
  return false;
}

/* The position of the only loop around the block whose variable the binding
 * uses; -1: none or several. */
static int32_t binding_loop(const ir_program *p, ir_stmt block, ir_expr bind) {
  int32_t n = 0, found = -1;
  bool several = false;
  for (ir_stmt l = ir_st(p, block)->parent; l && ir_st(p, l)->kind != IR_BLOCK;
       l = ir_st(p, l)->parent) {
    if (ir_st(p, l)->kind != IR_LOOP) continue;
    if (ir_uses_var(p, bind, ir_st(p, l)->var)) {
      several = found >= 0;
      found = n;
      if (several) break;
    }
    n++;
  }
  if (found < 0 || several) return -1;
  return n - 1 - found;
}

static tess_status about_block(void *ud) {
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_BLOCK);
  if (st != TESS_OK) return st;
  const ir_program *p = &q->s->s.m.prog;
  const ir_block_rec *b = ir_blk(p, q->stmt);
  tess_block_info info = {.nreads = b->reads.n,
                          .nwrites = b->writes.n,
                          .niters = b->iters.n,
                          .is_spatial = ir_st(p, q->stmt)->parent != 0};
  str_clear(&q->s->name);
  str_puts(&q->s->name, ir_text(p, b->name));
  if (q->s->name.bad) return str_status(&q->s->name);
  info.name = str_get(&q->s->name);
  for (uint32_t i = 0; i < b->iters.n; i++) {
    uint32_t kind = p->iter.v[b->iters.at + i].kind;
    info.is_spatial &= kind == IR_SPATIAL;
    info.is_reduction |= kind == IR_REDUCE;
    if (i >= 16) continue;
    info.iters[i] = (tess_iter_kind)kind;
    info.loops[i] = binding_loop(p, q->stmt, p->iter.v[b->iters.at + i].bind);
  }
  info.is_output = sch_is_output(p, q->stmt);
  info.has_select = any_stored(p, q->stmt, is_select);
  info.has_call = any_stored(p, q->stmt, is_costly_call);
  arena_mark mark = arena_get_mark(&q->s->s.m.scratch);
  info.needs_multi_level_tiling = sch_needs_tiling(ask_analysis(q), q->stmt);
  info.reuses_in_reduction = sch_reuses_in_reduction(ask_analysis(q), q->stmt);
  arena_reset_to(&q->s->s.m.scratch, mark);
  return ctx_give(q->s->c, tess_block_info, &info, q->block);
}

tess_status tess_schedule_block_info(tess_schedule *s, tess_rv block,
                                     tess_block_info *out) {
  ask_question q = {.s = s, .rv = block, .block = out};
  return ctx_run(s->c, about_block, &q);
}

/* The region of the access that is asked about. */
tess_status ask_find_region(ask_question *q, ir_region *out) {
  tess_status st = ask_find_stmt(q, IR_BLOCK);
  if (st != TESS_OK) return st;
  const ir_program *p = &q->s->s.m.prog;
  const ir_block_rec *b = ir_blk(p, q->stmt);
  ir_span regions = q->write ? b->writes : b->reads;
  if (q->index >= regions.n)
    return ctx_fail(q->s->c, TESS_NOT_FOUND,
                    "block \"%s\" %s %u buffers; there is no number %u",
                    ir_text(p, b->name), q->write ? "writes" : "reads",
                    regions.n, q->index);
  *out = p->region.v[regions.at + q->index];
  return TESS_OK;
}

static tess_status about_access(void *ud) {
  ask_question *q = ud;
  ir_region r;
  tess_status st = ask_find_region(q, &r);
  if (st != TESS_OK) return st;
  const ir_program *p = &q->s->s.m.prog;
  ir_span it = ir_blk(p, q->stmt)->iters;
  *q->mask = 0;
  for (uint32_t i = 0; i < it.n && i < 64; i++)
    if (sch_is_indexed_by(p, r, p->iter.v[it.at + i].var))
      *q->mask |= UINT64_C(1) << i;
  return TESS_OK;
}

/* The iterator that the region is exactly at; -1: none. */
static int32_t plain_iter(const ir_program *p, ir_span it, ir_region r,
                          uint32_t d) {
  ir_expr min = ir_region_min(p, r, d);
  if (!ir_is_const(p, ir_region_extent(p, r, d), 1)) return -1;
  for (uint32_t i = 0; i < it.n; i++)
    if (ir_ref(p, p->iter.v[it.at + i].var) == min) return (int32_t)i;
  return -1;
}

static tess_status about_dims(void *ud) {
  ask_question *q = ud;
  ir_region r;
  tess_status st = ask_find_region(q, &r);
  if (st != TESS_OK) return st;
  const ir_program *p = &q->s->s.m.prog;
  tess_access_info x = {.dtype = p->buf.v[r.buf].dtype,
                        .ndim = ir_ndim(p, r.buf)};
  str_clear(&q->s->name);
  str_puts(&q->s->name, ir_text(p, p->buf.v[r.buf].name));
  if (q->s->name.bad) return str_status(&q->s->name);
  x.buffer = str_get(&q->s->name);
  x.scope = ir_scope_text((ir_scope)p->buf.v[r.buf].scope);
  for (uint32_t d = 0; d < x.ndim && d < 16; d++) {
    x.dims[d] = plain_iter(p, ir_blk(p, q->stmt)->iters, r, d);
    if (!ir_const_int(p, ir_dim(p, r.buf, d), &x.shape[d])) x.shape[d] = -1;
  }
  return ctx_give(q->s->c, tess_access_info, &x, q->access);
}

tess_status tess_schedule_access_info(tess_schedule *s, tess_rv block,
                                      int write, uint32_t index,
                                      tess_access_info *out) {
  ask_question q = {
      .s = s, .rv = block, .write = write, .index = index, .access = out};
  return ctx_run(s->c, about_dims, &q);
}

tess_status tess_schedule_access(tess_schedule *s, tess_rv block, int write,
                                 uint32_t index, uint64_t *iters) {
  ask_question q = {
      .s = s, .rv = block, .write = write, .index = index, .mask = iters};
  return ctx_run(s->c, about_access, &q);
}

/* ---- annotations -------------------------------------------------------- */

static void put_anno_value(const ir_program *p, ir_val v, strbuf *out) {
  const ir_value *x = &p->value.v[v];
  bool dict = x->tag == IR_VAL_DICT;
  switch ((ir_val_tag)x->tag) {
  case IR_VAL_NIL: str_puts(out, "null"); return;
  case IR_VAL_BOOL: str_puts(out, x->i ? "true" : "false"); return;
  case IR_VAL_INT: str_printf(out, "%" PRId64, x->i); return;
  case IR_VAL_REAL: vm_write_real(out, x->f); return;
  case IR_VAL_STR:
    vm_write_string(out, ir_text(p, x->s), strlen(ir_text(p, x->s)));
    return;
  case IR_VAL_LIST:
  case IR_VAL_DICT: break;
  }
  str_putc(out, dict ? '{' : '[');
  for (uint32_t i = 0; i < x->n; i++) {
    str_puts(out, !i ? "" : dict && i % 2 ? ": " : ", ");
    put_anno_value(p, p->arg.v[x->at + i], out);
  }
  str_putc(out, dict ? '}' : ']');
}

static void put_annotation(strbuf *out, void *ud) {
  ask_question *q = ud;
  const ir_program *p = &q->s->s.m.prog;
  put_anno_value(p, ir_anno_get(p, q->stmt, q->key)->val, out);
}

static tess_status about_annotation(void *ud) {
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_DEAD);
  if (st == TESS_OK && ir_anno_get(&q->s->s.m.prog, q->stmt, q->key))
    *q->text = api_text(q->s->c, put_annotation, q);
  return st;
}

tess_status tess_schedule_annotation(tess_schedule *s, tess_rv rv,
                                     const char *key, char **json) {
  ask_question q = {.s = s, .rv = rv, .key = key, .text = json};
  *json = NULL;
  return ctx_run(s->c, about_annotation, &q);
}
