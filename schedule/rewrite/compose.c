/* SPDX-License-Identifier: Apache-2.0
 * Calls primitives from a composite one: argument structs are filled by
 * the declarations, as the trace machine does. */
#include "schedule/rewrite/compose.h"
#include "ir/query.h"

typedef struct call {
  const sch_prim *prim;
  _Alignas(16) unsigned char args[SCH_MAX_ARGS];
} call;

#define P(name) extern const sch_prim sch_prim_##name;
#include "schedule/prims.def"
#undef P

static void call_begin(call *c, const sch_prim *p) {
  c->prim = p;
  memset(c->args, 0, p->args_size);
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    void *at = c->args + sp->off;
    if (sp->role > SCH_ROLE_ATTR) continue;
    if (sp->kind == SCH_KIND_INT || sp->kind == SCH_KIND_EXPR)
      *(int64_t *)at = sp->dflt.i;
    else if (sp->kind == SCH_KIND_BOOL)
      *(bool *)at = sp->dflt.i != 0;
    else if (sp->kind == SCH_KIND_STR)
      *(const char **)at = sp->dflt.s;
  }
}

/* The field of an operand or, with `out`, of a result. */
static void *field(call *c, const char *name, bool out) {
  for (uint32_t i = 0; i < c->prim->nspecs; i++) {
    const sch_spec *sp = &c->prim->specs[i];
    if ((sp->role == SCH_ROLE_OUT) == out && !strcmp(sp->name, name))
      return c->args + sp->off;
  }
  return NULL;
}

#define SET(c, type, name, value) (*(type *)field(c, name, false) = (value))
#define GET(c, type, name) (*(const type *)field(c, name, true))

static bool run_call(sch_state *s, call *c) {
  bool ok = c->prim->apply(s, c->args);
  sch_end_questions(s);
  if (!ok && !s->refusal.t) s->refusal.t = sch_reason_name(s->refusal.reason);
  if (!ok)
    s->refusal.t = arena_printf(s->scratch, "%s: %s", c->prim->name,
                                sch_reason_name(s->refusal.reason));
  return ok;
}

bool sch_step_refused(sch_state *s, ir_stmt block) {
  const char *t = s->refusal.t;
  return sch_refuse(s, SCH_R_STEP_REFUSED, .s = {block}, .t = t ? t : "");
}

/* ---- primitives --------------------------------------------------------- */

bool sch_do_fuse(sch_state *s, uint32_t n, const ir_stmt *loops,
                 ir_stmt *fused) {
  call c;
  call_begin(&c, &sch_prim_fuse);
  SET(&c, sch_list, "loops", ((sch_list){n, loops}));
  if (!run_call(s, &c)) return false;
  *fused = GET(&c, ir_stmt, "fused_loop");
  return true;
}

bool sch_do_split(sch_state *s, ir_stmt loop, uint32_t n,
                  const int64_t *factors, ir_stmt *made) {
  call c;
  call_begin(&c, &sch_prim_split);
  SET(&c, ir_stmt, "loop", loop);
  SET(&c, sch_ints, "factors", ((sch_ints){n, factors}));
  if (!run_call(s, &c)) return false;
  memcpy(made, GET(&c, sch_list, "loops").v, n * sizeof *made);
  return true;
}

bool sch_do_reorder(sch_state *s, uint32_t n, const ir_stmt *loops) {
  call c;
  call_begin(&c, &sch_prim_reorder);
  SET(&c, sch_list, "ordered_loops", ((sch_list){n, loops}));
  return run_call(s, &c);
}

bool sch_do_bind(sch_state *s, ir_stmt loop, const char *axis) {
  call c;
  call_begin(&c, &sch_prim_bind);
  SET(&c, ir_stmt, "loop", loop);
  SET(&c, const char *, "thread_axis", axis);
  return run_call(s, &c);
}

static bool do_kind(sch_state *s, const sch_prim *p, ir_stmt loop) {
  call c;
  call_begin(&c, p);
  SET(&c, ir_stmt, "loop", loop);
  return run_call(s, &c);
}

bool sch_do_vectorize(sch_state *s, ir_stmt loop) {
  return do_kind(s, &sch_prim_vectorize, loop);
}

bool sch_do_parallel(sch_state *s, ir_stmt loop) {
  return do_kind(s, &sch_prim_parallel, loop);
}

bool sch_do_add_unit_loop(sch_state *s, ir_stmt at, ir_stmt *loop) {
  call c;
  call_begin(&c, &sch_prim_add_unit_loop);
  SET(&c, ir_stmt, "block_or_loop", at);
  if (!run_call(s, &c)) return false;
  *loop = GET(&c, ir_stmt, "new_loop");
  return true;
}

bool sch_do_decompose_reduction(sch_state *s, ir_stmt block, ir_stmt loop,
                                ir_stmt *init) {
  call c;
  call_begin(&c, &sch_prim_decompose_reduction);
  SET(&c, ir_stmt, "block", block);
  SET(&c, ir_stmt, "loop", loop);
  if (!run_call(s, &c)) return false;
  *init = GET(&c, ir_stmt, "init");
  return true;
}

bool sch_do_tensorize(sch_state *s, ir_stmt block, const char *intrin) {
  call c;
  call_begin(&c, &sch_prim_tensorize);
  SET(&c, ir_stmt, "block_or_loop", block);
  SET(&c, const char *, "tensor_intrin", intrin);
  return run_call(s, &c);
}

bool sch_do_transform_layout(sch_state *s, ir_stmt block, uint32_t read,
                             sch_map map) {
  call c;
  call_begin(&c, &sch_prim_transform_layout);
  SET(&c, ir_stmt, "block", block);
  SET(&c, sch_buffer, "buffer",
      ((sch_buffer){.by = SCH_BY_READ, .index = read}));
  SET(&c, sch_map, "index_map", map);
  return run_call(s, &c);
}

/* ---- questions ---------------------------------------------------------- */

bool sch_anno_int(const ir_program *p, ir_stmt st, const char *key,
                  int64_t *value) {
  const ir_anno *a = ir_st(p, st)->anno ? ir_anno_get(p, st, key) : NULL;
  if (!a) return false;
  const ir_value *v = &p->value.v[a->val];
  if (v->tag != IR_VAL_INT && v->tag != IR_VAL_BOOL) return false;
  *value = v->i;
  return true;
}

const char *sch_anno_text(const ir_program *p, ir_stmt st, const char *key) {
  const ir_anno *a = ir_st(p, st)->anno ? ir_anno_get(p, st, key) : NULL;
  if (!a || p->value.v[a->val].tag != IR_VAL_STR) return NULL;
  return ir_text(p, p->value.v[a->val].s);
}

ir_stmt sch_kernel_of(const ir_program *p, ir_stmt st) {
  ir_stmt found = 0;
  for (; st; st = ir_st(p, st)->parent)
    if (ir_is_thread_loop(ir_st(p, st))) found = st;
  return found;
}

void sch_thread_extents(const ir_program *p, ir_stmt kernel,
                        int64_t extent[IR_THREAD_COUNT]) {
  memset(extent, 0, IR_THREAD_COUNT * sizeof *extent);
  for (ir_stmt st = kernel; st; st = ir_next(p, st, kernel)) {
    int64_t n, warp;
    if (ir_is_thread_loop(ir_st(p, st)) &&
        ir_const_int(p, ir_st(p, st)->extent, &n) &&
        n > extent[ir_st(p, st)->thread])
      extent[ir_st(p, st)->thread] = n;
    if (ir_is_block(p, st) && sch_anno_int(p, st, "warp_execution", &warp) &&
        warp && extent[IR_THREADIDX_X] < IR_WARP_LANES)
      extent[IR_THREADIDX_X] = IR_WARP_LANES;
  }
}

static bool holds_blocks(const ir_program *p, ir_stmt block) {
  for (ir_stmt st = block; (st = ir_next(p, st, block));)
    if (ir_is_block(p, st)) return true;
  return false;
}

sch_list sch_leaf_blocks(sch_state *s) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    n += ir_is_block(p, st) != 0;
  ir_stmt *v = arena_array(s->scratch, ir_stmt, n + 1);
  n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    if (ir_is_block(p, st) && st != root && !holds_blocks(p, st)) v[n++] = st;
  return (sch_list){n, v};
}
