/* SPDX-License-Identifier: Apache-2.0
 * Copy stages.  A copy that runs after every write of a buffer, and before
 * every read, mirrors the buffer; so it is enough to copy, each time, all that
 * may have been written, and nothing that never was. */
#include "schedule/rewrite/cache.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/dependence/polyhedra.h"

/* ---- legality ----------------------------------------------------------- */

/* Is the block executed by single threads: below a loop over those of a block,
 * or over virtual ones? */
static bool cache_is_of_thread(const ir_program *p, ir_stmt scope) {
  for (ir_stmt q = ir_st(p, scope)->parent; q; q = ir_st(p, q)->parent)
    if (ir_is_loop(p, q) && ir_st(p, q)->loop_kind == IR_THREAD &&
        ir_st(p, q)->thread >= IR_THREADIDX_X)
      return true;
  return false;
}

static bool stage_init(sch_state *s, sch_stage *st, ir_stmt block, ir_buf buf,
                       const char *storage, bool given) {
  const ir_program *p = s->p;
  uint32_t ndim = ir_ndim(p, buf);
  *st = (sch_stage){.scope = ir_scope_of(p, block),
                    .buf = buf,
                    .ndim = ndim,
                    .box = arena_array(s->scratch, ir_expr, 4 * ndim),
                    .shift = arena_array(s->scratch, int64_t, ndim),
                    .shape = arena_array(s->scratch, ir_expr, ndim),
                    .span = arena_array(s->scratch, sch_span, ndim)};
  if (!ir_scope_parse(storage, &st->storage))
    return sch_refuse(s, SCH_R_STORAGE_UNKNOWN, .t = storage);
  if (cache_is_of_thread(p, st->scope) && ir_scope_is_shared(st->storage))
    return sch_refuse(s, SCH_R_STORAGE_INSIDE, .s = {st->scope}, .t = storage);
  if (given ? !sch_check_copied(s, st->scope, block, &st->loads)
            : !sch_check_alone(s, st->scope, block))
    return false;
  if (sch_init_uses(p, st->scope, buf))
    return sch_refuse(s, SCH_R_INIT_OF_SCOPE, .s = {st->scope, block},
                      .buf = buf);
  if (sch_has_match(p, st->scope, buf) || sch_storage(p, st->scope, buf) != buf)
    return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .s = {block}, .buf = buf);
  if (ir_is_hidden(p, buf))
    return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .s = {block}, .buf = buf);
  return true;
}

bool sch_stage_init(sch_state *s, sch_stage *st, ir_stmt block, ir_buf buf,
                    const char *storage) {
  return stage_init(s, st, block, buf, storage, false);
}

bool sch_stage_init_read(sch_state *s, sch_stage *st, ir_stmt block, ir_buf buf,
                         const char *storage) {
  uint8_t role = s->p->buf.v[buf].role;
  bool given = role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT;
  return stage_init(s, st, block, buf, storage, given);
}

static void copy_all(sch_state *s, sch_stage *st) {
  ir_program *p = s->p;
  uint32_t n = st->ndim;
  for (uint32_t d = 0; d < n; d++) {
    st->box[d] = st->box[2 * n + d] = ir_index(p, 0);
    st->box[n + d] = st->box[3 * n + d] =
        ir_sub(p, ir_dim(p, st->buf, d), ir_index(p, 1));
  }
  st->started = true;
}

bool sch_stage_is_given(const ir_program *p, const sch_stage *st) {
  uint8_t role = p->buf.v[st->buf].role;
  return role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT;
}

bool sch_stage_any_writer(sch_state *s, const sch_stage *st, ir_stmt *out) {
  const ir_program *p = s->p;
  *out = 0;
  for (ir_stmt q = st->scope; (q = sch_next_child(p, q, st->scope));) {
    if (!sch_writes_buf(p, q, st->buf)) continue;
    if (*out)
      return sch_refuse(s, SCH_R_SEVERAL_WRITERS, .s = {*out, q},
                        .buf = st->buf);
    *out = q;
  }
  return true;
}

bool sch_stage_writer(sch_state *s, const sch_stage *st, ir_stmt *out) {
  if (!sch_stage_any_writer(s, st, out)) return false;
  return !*out || !sch_stage_is_given(s->p, st) ||
         sch_refuse(s, SCH_R_INPUT_WRITTEN, .s = {*out}, .buf = st->buf);
}

bool sch_stage_finds_own(sch_state *s, ir_stmt block, ir_buf buf) {
  const ir_program *p = s->p;
  for (ir_stmt b = block; b; b = ir_next(p, b, block))
    if (ir_is_block(p, b) && sch_has_init(p, b) && sch_writes_buf(p, b, buf) &&
        (ir_reduce_iter_in_write(p, b) || !sch_begins_at_init(s, b, 0)))
      return false;
  return true;
}

/* What block `reader` reads of the buffer it finds in the copy, where only
 * what is written in the scope will be. */
bool sch_stage_check_reader(sch_state *s, const sch_stage *st, ir_stmt reader) {
  const ir_program *p = s->p;
  if (!ir_st(p, st->scope)->parent ||
      sch_alloc_block(p, st->buf) == st->scope ||
      (!sch_reads_buf(p, reader, st->buf) &&
       sch_stage_finds_own(s, reader, st->buf)))
    return true;
  return sch_refuse(s, SCH_R_BUFFER_LIVE_IN, .s = {reader, st->scope},
                    .buf = st->buf);
}

static bool cache_is_in(sch_list list, ir_stmt block) {
  for (uint32_t i = 0; i < list.n; i++)
    if (list.v[i] == block) return true;
  return false;
}

sch_list sch_stage_readers(sch_state *s, const sch_stage *st, ir_stmt writer,
                           sch_list list, bool listed) {
  const ir_program *p = s->p;
  sch_list all = sch_child_blocks(s, st->scope);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.n; i++)
    if (all.v[i] != writer && sch_reads_buf(p, all.v[i], st->buf) &&
        (cache_is_in(list, all.v[i]) == listed || (listed && !list.n)))
      v[n++] = all.v[i];
  return (sch_list){n, v};
}

bool sch_stage_check_list(sch_state *s, const sch_stage *st, sch_list list) {
  const ir_program *p = s->p;
  for (uint32_t i = 0; i < list.n; i++) {
    if (ir_scope_of(p, list.v[i]) != st->scope)
      return sch_refuse(s, SCH_R_SCOPES_DIFFER, .s = {list.v[i], st->scope});
    if (!sch_reads_buf(p, list.v[i], st->buf))
      return sch_refuse(s, SCH_R_NOT_READER, .s = {list.v[i]}, .buf = st->buf);
  }
  return true;
}

/* ---- where it is ---------------------------------------------------- */

static bool holds_any(const ir_program *p, ir_stmt st, sch_list blocks) {
  for (uint32_t i = 0; i < blocks.n; i++)
    if (ir_is_ancestor(p, st, blocks.v[i])) return true;
  return false;
}

void sch_stage_place(sch_state *s, sch_stage *st, ir_stmt writer,
                     sch_list readers) {
  const ir_program *p = s->p;
  st->above = st->scope;
  st->before = 0;
  for (uint32_t i = 0; i < readers.n; i++) {
    ir_stmt common = sch_common(p, writer, readers.v[i]);
    if (ir_is_ancestor(p, st->above, common)) st->above = common;
  }
  if (!readers.n) return;
  ir_stmt after = sch_step_down(p, st->above, writer);
  ir_stmt next = ir_st(p, after)->next;
  for (st->before = next; st->before && !holds_any(p, st->before, readers);)
    st->before = ir_st(p, st->before)->next;
  if (!st->before) st->before = next;
}

static void note_choice(const ir_program *p, ir_expr e, void *ud) {
  ir_op op = (ir_op)ir_at(p, e)->op;
  *(bool *)ud |= op == IR_SELECT || op == IR_AND || op == IR_OR;
}

bool sch_chooses(sch_state *s, ir_stmt block) {
  const ir_program *p = s->p;
  bool any = false;
  for (ir_stmt q = block; q && !any; q = ir_next(p, q, block)) {
    any = ir_st(p, q)->kind == IR_IF;
    if (ir_st(p, q)->kind == IR_STORE)
      ir_visit(p, s->scratch, ir_st(p, q)->value, note_choice, &any);
  }
  return any;
}

/* ---- what is copied ----------------------------------------------------- */

/* The part of [min, max] that lies in the buffer. */
static ir_expr *cache_inside(sch_state *s, ir_buf b, const ir_expr *min,
                             const ir_expr *max) {
  ir_program *p = s->p;
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * ir_ndim(p, b));
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    ir_expr lo = ir_binary(p, IR_MAX, min[d], ir_index(p, 0));
    ir_expr end = ir_add(p, max[d], ir_index(p, 1));
    end = ir_binary(p, IR_MIN, end, ir_dim(p, b, d));
    box[2 * d] = lo;
    box[2 * d + 1] = ir_sub(p, end, lo);
  }
  return box;
}

/* In an iteration of `above` region r must cover all of the box: by the
 * quick rules, else exactly. */
static bool fills(sch_state *s, ir_stmt block, ir_region r, ir_stmt above,
                  const ir_expr *min, const ir_expr *max) {
  ir_program *p = s->p;
  uint32_t n = ir_ndim(p, r.buf);
  if (ir_must_access_box(p, s->scratch, block, r, above, min, max, 0))
    return true;
  if (s->quick) return false;
  ir_expr *part = arena_array(s->scratch, ir_expr, 2 * n);
  for (uint32_t d = 0; d < n; d++) {
    part[2 * d] = ir_region_min(p, r, d);
    part[2 * d + 1] = ir_region_extent(p, r, d);
  }
  return poly_reaches_all(s, block, above, n, part,
                          cache_inside(s, r.buf, min, max));
}

static bool cache_add(sch_state *s, sch_stage *st, ir_stmt block, ir_region r,
                      bool whole, bool write) {
  ir_program *p = s->p;
  uint32_t n = st->ndim;
  if (st->loads) return copy_all(s, st), true;
  ir_expr *box = arena_array(s->scratch, ir_expr, 4 * n);
  if (!ir_may_access_box(p, s->scratch, block, r, st->above, box, box + n) ||
      (st->above != st->scope &&
       !ir_may_access_box(p, s->scratch, block, r, st->scope, box + 2 * n,
                          box + 3 * n)))
    return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {block}, .buf = st->buf);
  if (st->above == st->scope) memcpy(box + 2 * n, box, 2 * n * sizeof *box);
  if (whole &&
      (!fills(s, block, r, st->above, box, box + n) ||
       !ir_must_access_region(p, s->scratch, block, r, write) ||
       (st->started && !ir_box_within(p, s->scratch, st->buf, box, box + n,
                                      st->box, st->box + n, 0))))
    return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {block}, .buf = st->buf);
  for (uint32_t i = 0; i < 4 * n; i++) {
    ir_op op = i / n % 2 ? IR_MAX : IR_MIN;
    st->box[i] = st->started ? ir_binary(p, op, st->box[i], box[i]) : box[i];
  }
  st->started = true;
  return true;
}

bool sch_stage_add(sch_state *s, sch_stage *st, ir_stmt block, ir_region r,
                   bool whole) {
  return cache_add(s, st, block, r, whole, false);
}

bool sch_stage_add_writes(sch_state *s, sch_stage *st, ir_stmt writer) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, writer)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (p->region.v[i].buf == st->buf &&
        !cache_add(s, st, writer, p->region.v[i], true, true))
      return false;
  return true;
}

bool sch_stage_is_made_by(sch_state *s, const sch_stage *st, ir_stmt w) {
  ir_program *p = s->p;
  uint32_t n = st->ndim;
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * n);
  ir_span r = ir_blk(p, w)->writes;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (p->region.v[i].buf == st->buf &&
        ir_may_access_box(p, s->scratch, w, p->region.v[i], st->above, box,
                          box + n) &&
        ir_box_within(p, s->scratch, st->buf, st->box, st->box + n, box,
                      box + n, 0) &&
        ir_must_access_region(p, s->scratch, w, p->region.v[i], true) &&
        fills(s, w, p->region.v[i], st->above, box, box + n))
      return true;
  return false;
}

static bool cache_is_own(const ir_program *p, ir_stmt scope, ir_buf buf) {
  ir_span own = ir_blk(p, scope)->allocs;
  for (uint32_t i = own.at; i < own.at + own.n; i++)
    if (p->arg.v[i] == buf) return true;
  return !ir_st(p, scope)->parent;
}

/* In an iteration of `above` the writer makes all that the reader reads. */
static bool cache_is_covered(sch_state *s, const sch_stage *st, ir_stmt writer,
                             ir_stmt reader) {
  ir_program *p = s->p;
  sch_stage part = *st;
  part.box = arena_array(s->scratch, ir_expr, 2 * st->ndim);
  ir_span r = ir_blk(p, reader)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (p->region.v[i].buf == st->buf &&
        (!ir_may_access_box(p, s->scratch, reader, p->region.v[i], st->above,
                            part.box, part.box + st->ndim) ||
         !sch_stage_is_made_by(s, &part, writer)))
      return false;
  return true;
}

/* In an iteration of `above` all of the writer is before all of the reader. */
static bool cache_follows(const ir_program *p, const sch_stage *st,
                          ir_stmt writer, ir_stmt reader) {
  ir_stmt w = sch_step_down(p, st->above, writer);
  ir_stmt r = sch_step_down(p, st->above, reader);
  return w != r && sch_comes_before(p, w, r);
}

bool sch_stage_reads_given(const ir_program *p, const sch_stage *st,
                           ir_stmt writer, sch_list readers) {
  for (uint32_t k = 0; k < readers.n; k++) {
    ir_stmt w = sch_step_down(p, st->scope, writer);
    ir_stmt r = sch_step_down(p, st->scope, readers.v[k]);
    if (r == w || !sch_comes_before(p, r, w)) return false;
  }
  return true;
}

bool sch_stage_reads_made(sch_state *s, const sch_stage *st, ir_stmt writer,
                          sch_list readers) {
  for (uint32_t k = 0; k < readers.n; k++)
    if (!cache_follows(s->p, st, writer, readers.v[k]) ||
        !cache_is_covered(s, st, writer, readers.v[k]))
      return sch_refuse(s, SCH_R_INPUT_WRITTEN, .s = {writer}, .buf = st->buf);
  return true;
}

bool sch_stage_check_made(sch_state *s, const sch_stage *st, ir_stmt writer,
                          sch_list readers) {
  const ir_program *p = s->p;
  if (cache_is_own(p, st->scope, st->buf)) return true;
  for (uint32_t k = 0; k < readers.n; k++) {
    ir_stmt reader = readers.v[k];
    bool after = cache_follows(p, st, writer, reader);
    if (!after && !sch_stage_check_reader(s, st, reader)) return false;
    if (!cache_is_covered(s, st, writer, reader))
      return sch_refuse(s,
                        after ? SCH_R_BUFFER_LIVE_IN : SCH_R_REGION_NOT_WHOLE,
                        .s = {reader, st->scope}, .buf = st->buf);
  }
  return true;
}

/* The box holds all that there is of a dimension, or more. */
static bool holds_all(ir_program *p, ir_expr min, ir_expr max, ir_expr dim) {
  ir_expr last = ir_sub(p, dim, ir_index(p, 1));
  return arith_bounds(p, min).hi <= 0 &&
         (max == last || arith_prove_le(p, last, max));
}

/* What the new buffer holds of dimension d, at least one element, and which
 * part of it each run copies.  false: no constant bounds the latter. */
static bool set_dim(sch_state *s, sch_stage *st, uint32_t d) {
  ir_program *p = s->p;
  uint32_t n = st->ndim;
  ir_expr dim = ir_dim(p, st->buf, d), min = st->box[d];
  ir_expr extent = ir_add(p, ir_sub(p, st->box[n + d], min), ir_index(p, 1));
  int64_t lo, hi, size;
  st->shift[d] = 0;
  st->shape[d] = dim;
  if (ir_const_int(p, st->box[2 * n + d], &lo) &&
      ir_const_int(p, st->box[3 * n + d], &hi) && ir_const_int(p, dim, &size)) {
    lo = lo < 0 ? 0 : lo >= size ? size - 1 : lo;
    hi = hi >= size ? size - 1 : hi < lo ? lo : hi;
    st->shift[d] = lo;
    st->shape[d] = ir_index(p, hi - lo + 1);
  }
  st->span[d] = (sch_span){min, arith_bounds(p, extent).hi};
  bool open = st->filled && st->span[d].extent == INT64_MAX;
  if (open || holds_all(p, min, st->box[n + d], dim))
    st->span[d].extent = SCH_SPAN_WHOLE;
  return st->span[d].extent != INT64_MAX;
}

/* ---- making it ---------------------------------------------------------- */

ir_str sch_nth_name(ir_program *p, char letter, uint32_t k) {
  char name[16], *at = name + sizeof name;
  *--at = '\0';
  do *--at = (char)('0' + k % 10);
  while (k /= 10);
  *--at = letter;
  return ir_name(p, at);
}

/* The copying block's iters: over the part of the buffer that is held. */
static void make_iters(sch_state *s, const sch_stage *st, ir_stmt copy) {
  ir_program *p = s->p;
  ir_iter *it = arena_array(s->scratch, ir_iter, st->ndim);
  for (uint32_t d = 0; d < st->ndim; d++) {
    int64_t last = arith_bounds(p, st->shape[d]).hi;
    last = last == INT64_MAX ? last : st->shift[d] + last - 1;
    ir_var v = ir_var_new(p, IR_VAR_ITER, sch_nth_name(p, 'v', d), IR_INDEX,
                          st->shift[d], last);
    it[d] = (ir_iter){v, IR_SPATIAL, ir_index(p, st->shift[d]), st->shape[d],
                      ir_index(p, st->shift[d])};
  }
  ir_block_set_iters(p, copy, st->ndim, it);
}

/* One point of buffer `b` as a region. */
static ir_region point_region(sch_state *s, ir_buf b, const ir_expr *idx) {
  ir_program *p = s->p;
  uint32_t n = ir_ndim(p, b);
  ir_expr *e = arena_array(s->scratch, ir_expr, 2 * n);
  for (uint32_t d = 0; d < n; d++) {
    e[2 * d] = idx[d];
    e[2 * d + 1] = ir_index(p, 1);
  }
  return ir_region_new(p, b, e);
}

void sch_copy_body(sch_state *s, ir_stmt copy, ir_buf to, const ir_expr *ti,
                   ir_buf from, const ir_expr *fi) {
  ir_program *p = s->p;
  ir_expr value = ir_load(p, from, ir_ndim(p, from), fi);
  ir_append(p, copy, ir_store_new(p, to, ir_ndim(p, to), ti, value));
  ir_region r = point_region(s, from, fi), w = point_region(s, to, ti);
  ir_block_set_reads(p, copy, 1, &r);
  ir_block_set_writes(p, copy, 1, &w);
}

static void make_body(sch_state *s, const sch_stage *st, ir_stmt copy,
                      bool back, ir_buf made) {
  ir_program *p = s->p;
  ir_expr *old = arena_array(s->scratch, ir_expr, 2 * st->ndim);
  ir_expr *new = old + st->ndim;
  for (uint32_t d = 0; d < st->ndim; d++) {
    old[d] = ir_ref(p, p->iter.v[ir_blk(p, copy)->iters.at + d].var);
    new[d] = ir_sub(p, old[d], ir_index(p, st->shift[d]));
  }
  if (back)
    sch_copy_body(s, copy, st->buf, old, made, new);
  else
    sch_copy_body(s, copy, made, new, st->buf, old);
}

bool sch_stage_size(sch_state *s, sch_stage *st) {
  for (uint32_t d = 0; d < st->ndim; d++)
    if (!set_dim(s, st, d))
      return sch_refuse(s, SCH_R_COPY_NOT_STATIC, .s = {st->above},
                        .buf = st->buf);
  return true;
}

ir_stmt sch_stage_new(sch_state *s, const sch_stage *st, ir_buf *made) {
  ir_program *p = s->p;
  const ir_buf_rec old = p->buf.v[st->buf];
  const char *storage = ir_scope_text(st->storage);
  char *suffix = arena_alloc(s->scratch, strlen(storage) + 2);
  suffix[0] = '_';
  strcpy(suffix + 1, storage);
  ir_str name = ir_fresh_block_name(p, ir_name_cat(p, old.name, suffix));
  *made = ir_buf_new(p, name, old.dtype, st->ndim, st->shape, st->storage,
                     IR_ROLE_LOCAL);
  ir_buf_keep_range(p, *made, st->buf);
  ir_block_add_alloc(p, st->scope, *made);
  return ir_block_new(p, name);
}

void sch_stage_hang(sch_state *s, const sch_stage *st, bool back, ir_buf made,
                    ir_stmt copy) {
  sch_nest nest;
  make_iters(s, st, copy);
  make_body(s, st, copy, back, made);
  sch_spans_clip(s, copy, st->span);
  sch_nest_plan(s, copy, st->span, true, &nest);
  sch_nest_hang(s, copy, &nest, st->above, st->before);
}

/* All of the box lies outside of the buffer, as what guarded accesses never
 * reach: none of it is there to be copied. */
static bool is_outside(const ir_program *p, const sch_stage *st) {
  for (uint32_t d = 0; d < st->ndim; d++) {
    int64_t size;
    if (arith_bounds(p, st->box[3 * st->ndim + d]).hi < 0 ||
        (ir_const_int(p, ir_dim(p, st->buf, d), &size) &&
         arith_bounds(p, st->box[2 * st->ndim + d]).lo >= size))
      return true;
  }
  return false;
}

/* Each run copies as many elements as the longest one needs: no others than
 * those of the box, or they would be copied before anything wrote them;
 * only what the caller fills is there from the start. */
static bool copies_box(sch_state *s, const sch_stage *st) {
  ir_program *p = s->p;
  if (is_outside(p, st)) return false;
  ir_expr *last = arena_array(s->scratch, ir_expr, st->ndim);
  for (uint32_t d = 0; d < st->ndim; d++) {
    int64_t n = st->span[d].extent;
    last[d] = n == SCH_SPAN_WHOLE
                  ? st->box[st->ndim + d]
                  : ir_add(p, st->box[d], ir_index(p, n < 1 ? 0 : n - 1));
  }
  return ir_box_within(p, s->scratch, st->buf, st->box, last, st->box,
                       st->box + st->ndim, 0);
}

bool sch_stage_check_box(sch_state *s, const sch_stage *st, bool back) {
  uint8_t role = s->p->buf.v[st->buf].role;
  bool filled = role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT;
  if ((filled && !back) || copies_box(s, st)) return true;
  return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {st->above},
                    .buf = st->buf);
}

bool sch_stage_make(sch_state *s, sch_stage *st, bool back, ir_buf *made,
                    ir_stmt *copy) {
  if (!sch_stage_size(s, st) || !sch_stage_check_box(s, st, back)) return false;
  *copy = sch_stage_new(s, st, made);
  sch_stage_hang(s, st, back, *made, *copy);
  return true;
}
