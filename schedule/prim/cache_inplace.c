/* SPDX-License-Identifier: Apache-2.0
 * cache_inplace: updates a copy instead of the buffer, and copies it in and
 * out. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/rewrite/cache.h"

#define CACHE_INPLACE_SIG(F, S)                                           \
  F(S, IN, BLOCK, block, REQ, "a block that changes the buffer in place") \
  F(S, ATTR, BUFFER, read_buffer_index, REQ,                              \
    "the buffer; an index counts those it reads, from 0")                 \
  F(S, ATTR, STR, storage_scope, REQ,                                     \
    "where the copy lives: \"global\", \"local\", \"shared\", ...")       \
  F(S, OUT, BLOCK, cached_read, REQ, "the block that makes the copy")     \
  F(S, OUT, BLOCK, cached_write, REQ, "the block that copies back")

PRIM_DEFINE(
    cache_inplace, CACHE_INPLACE_SIG,
    .summary = "Let a block that changes a buffer in place change a copy.",
    .rewrite = "for i: B[i] = f(B[i])   ->   for ax0: B_local[ax0] = B[ax0]; "
               "for i: B_local[i] = f(B_local[i]); "
               "for ax0: B[ax0] = B_local[ax0]",
    .details =
        "1. The operand names a buffer that the block reads, and it writes\n"
        "   that, too; no block hides that. The storage scope is known.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another.\n"
        "3. All that is read there is given by the caller, or some block\n"
        "   before has provably made it.\n"
        "4. What is written there is all of a box.\n"
        "5. Loops whose iterations run in parallel stay free of races.\n"
        "There: in the outermost loop of the scope around the block; all\n"
        "blocks below it change the copy, which is made before that loop and\n"
        "copied back after it. The copy of B in scope \"local\" is named\n"
        "B_local, the blocks B_local and B_local_1.\n",
    .refusals = SCH_REASONS(SCH_R_STORAGE_INSIDE, SCH_BUFFER_REASONS,
                            SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN,
                            SCH_R_OTHER_STATEMENT, SCH_R_STORAGE_UNKNOWN,
                            SCH_R_INIT_OF_SCOPE, SCH_R_OPAQUE_ACCESS,
                            SCH_R_NOT_IN_PLACE, SCH_R_NOT_COVERED,
                            SCH_R_BUFFER_HIDDEN, SCH_R_REGION_NOT_WHOLE,
                            SCH_R_COPY_NOT_STATIC, SCH_R_WOULD_RACE),
    .example = "local b = sch:get_block(\"C\")\n"
               "local i = sch:get_loops(b)\n"
               "sch:decompose_reduction(b, i)\n"
               "local there, back = sch:cache_inplace(b, \"C\", \"local\")\n");

typedef struct plan {
  sch_stage in, out, all; /* what is read, what is written, both */
  sch_list users;
} plan;

/* A reduction in the block that does not begin with its init goes on from what
 * is there. */
static bool add_found(sch_state *s, sch_stage *one, ir_stmt user) {
  const ir_program *p = s->p;
  ir_span r = ir_blk(p, user)->writes;
  if (sch_stage_finds_own(s, user, one->buf)) return true;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (p->region.v[i].buf == one->buf &&
        !sch_stage_add(s, one, user, p->region.v[i], false))
      return false;
  return true;
}

/* What the users access goes to `one` and to what the copy holds. */
static bool inplace_add(sch_state *s, plan *pl, sch_stage *one, bool writes) {
  const ir_program *p = s->p;
  for (uint32_t k = 0; k < pl->users.n; k++) {
    ir_stmt user = pl->users.v[k];
    ir_span r = writes ? ir_blk(p, user)->writes : ir_blk(p, user)->reads;
    if (writes ? !sch_stage_add_writes(s, one, user) : !add_found(s, one, user))
      return false;
    for (uint32_t i = r.at; i < r.at + r.n; i++)
      if (p->region.v[i].buf == one->buf &&
          ((!writes && !sch_stage_add(s, one, user, p->region.v[i], false)) ||
           !sch_stage_add(s, &pl->all, user, p->region.v[i], false)))
        return false;
  }
  return true;
}

/* All that is copied when it begins has been made; else names the last one
 * that makes some of it before, or the first that makes any. */
static bool check_made(sch_state *s, const plan *pl, ir_stmt block) {
  const ir_program *p = s->p;
  const sch_stage *st = &pl->in;
  uint8_t role = p->buf.v[st->buf].role;
  if (role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT) return true;
  ir_stmt some = 0;
  for (ir_stmt q = st->scope; (q = sch_next_child(p, q, st->scope));) {
    if (!sch_writes_buf(p, q, st->buf)) continue;
    bool before = sch_comes_before(p, q, st->before);
    if (before && sch_stage_is_made_by(s, st, q)) return true;
    if (before || !some) some = q;
  }
  return sch_refuse(s, SCH_R_NOT_COVERED, .s = {block, some}, .buf = st->buf);
}

/* What is copied back has a value: all of it is written, or what is not was
 * copied there. */
static bool check_back(sch_state *s, const plan *pl) {
  size_t size = 4 * pl->in.ndim * sizeof *pl->in.box;
  return !memcmp(pl->in.box, pl->out.box, size) ||
         sch_stage_check_box(s, &pl->out, true);
}

static bool make_plan(sch_state *s, struct cache_inplace_args *a, plan *pl) {
  const ir_program *p = s->p;
  sch_stage *st = &pl->in;
  ir_buf buf;
  if (!sch_find_buffer(s, a->block, a->read_buffer_index, SCH_READS, NULL, NULL,
                       &buf) ||
      !sch_stage_init(s, st, a->block, buf, a->storage_scope) ||
      !sch_stage_init(s, &pl->out, a->block, buf, a->storage_scope) ||
      !sch_stage_init(s, &pl->all, a->block, buf, a->storage_scope))
    return false;
  if (ir_is_hidden(p, buf))
    return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .s = {a->block}, .buf = buf);
  if (!sch_writes_buf(p, a->block, buf))
    return sch_refuse(s, SCH_R_NOT_IN_PLACE, .s = {a->block}, .buf = buf);
  ir_stmt top = sch_step_down(p, st->scope, a->block);
  st->above = pl->out.above = pl->all.above = st->scope;
  st->before = top;
  pl->out.before = ir_st(p, top)->next;
  sch_list all = sch_child_blocks(s, st->scope);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.n; i++)
    if (ir_is_ancestor(p, top, all.v[i])) v[n++] = all.v[i];
  pl->users = (sch_list){n, v};
  return inplace_add(s, pl, st, false) && inplace_add(s, pl, &pl->out, true) &&
         check_made(s, pl, a->block) && sch_stage_size(s, &pl->all) &&
         sch_stage_size(s, st) && sch_stage_check_box(s, st, false) &&
         sch_stage_size(s, &pl->out) && check_back(s, pl);
}

static bool cache_inplace_rewrite(sch_state *s, void *ud) {
  struct cache_inplace_args *a = ud;
  ir_program *p = s->p;
  plan pl;
  ir_buf made;
  if (!make_plan(s, a, &pl)) return false;
  pl.in.shift = pl.out.shift = pl.all.shift;
  pl.in.shape = pl.out.shape = pl.all.shape;
  a->cached_read = sch_stage_new(s, &pl.in, &made);
  sch_stage_hang(s, &pl.in, false, made, a->cached_read);
  ir_str name = ir_fresh_block_name(p, p->buf.v[made].name);
  a->cached_write = ir_block_new(p, name);
  sch_stage_hang(s, &pl.out, true, made, a->cached_write);
  for (uint32_t i = 0; i < pl.users.n; i++)
    sch_stage_redirect(s, &pl.in, pl.users.v[i], made);
  return true;
}

static bool cache_inplace_apply(sch_state *s, struct cache_inplace_args *a) {
  return sch_transaction(s, cache_inplace_rewrite, a, a->block);
}
