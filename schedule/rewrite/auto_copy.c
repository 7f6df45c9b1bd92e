/* SPDX-License-Identifier: Apache-2.0
 * Automatic copies; see auto_copy.h.
 *
 * A read copy is made in each iteration of the loop, and nothing under the
 * loop writes the buffer between the copy and its readers.  A written copy
 * mirrors the buffer at the end of each iteration, and no other block writes
 * the buffer. */
#include "schedule/rewrite/auto_copy.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/gpu.h"

/* The copy of one call. */
typedef struct auto_copy {
  sch_stage st;
  ir_stmt loop;
  bool write;
  bool exact;     /* nothing but the box may be copied */
  sch_list users; /* the blocks that access the copy instead */
} auto_copy;

/* Checks that the loop is around the block, in the same scope. */
static bool init(sch_state *s, auto_copy *a, ir_stmt loop, ir_stmt block,
                 ir_buf buf, bool write, const char *storage) {
  const ir_program *p = s->p;
  *a = (auto_copy){.loop = loop, .write = write};
  if (!sch_stage_init(s, &a->st, block, buf, storage)) return false;
  if (ir_scope_of(p, loop) != a->st.scope || !ir_is_ancestor(p, loop, block))
    return sch_refuse(s, SCH_R_LOOP_NOT_AROUND, .s = {loop, block});
  a->st.above = loop;
  return true;
}

/* ---- reading ------------------------------------------------------------ */

static sch_list blocks_that(sch_state *s, ir_stmt top, ir_buf buf,
                            bool (*access)(const ir_program *, ir_stmt,
                                           ir_buf)) {
  sch_list all = sch_child_blocks(s, top);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.n; i++)
    if (access(s->p, all.v[i], buf)) v[n++] = all.v[i];
  return (sch_list){n, v};
}

/* Under the loop the buffer is written, if at all, before the child in which
 * it is first read. */
static bool check_writers_before(sch_state *s, const auto_copy *a) {
  const ir_program *p = s->p;
  sch_list w = blocks_that(s, a->loop, a->st.buf, sch_writes_buf);
  for (uint32_t i = 0; i < w.n; i++)
    if (!sch_comes_before(p, w.v[i], a->st.before))
      return sch_refuse(s, SCH_R_COPY_OVERWRITTEN, .s = {w.v[i], a->users.v[0]},
                        .buf = a->st.buf);
  return true;
}

static bool add_reads(sch_state *s, const auto_copy *a, sch_stage *st,
                      bool whole) {
  const ir_program *p = s->p;
  for (uint32_t k = 0; k < a->users.n; k++) {
    ir_span r = ir_blk(p, a->users.v[k])->reads;
    for (uint32_t i = r.at; i < r.at + r.n; i++)
      if (p->region.v[i].buf == st->buf &&
          !sch_stage_add(s, st, a->users.v[k], p->region.v[i], whole))
        return false;
  }
  return true;
}

/* Block w, before the copy, must write all that is copied from the place on
 * that both have in common, whether the readers then need it or not. */
static bool makes_all(sch_state *s, const auto_copy *a, ir_stmt w) {
  ir_program *p = s->p;
  uint32_t n = a->st.ndim;
  sch_stage st = a->st;
  ir_loops l;
  st.above = sch_common(p, w, a->st.before);
  st.box = arena_array(s->scratch, ir_expr, 2 * n);
  if (!ir_loops_between(p, s->scratch, st.above, a->st.before, &l))
    return false;
  for (uint32_t i = 0; i < 2 * n; i++) {
    ir_expr lo, hi;
    if (!arith_relax(p, s->scratch, a->st.box[i], l.n, l.var, l.lo, l.extent,
                     &lo, &hi, NULL))
      return false;
    st.box[i] = i < n ? lo : hi;
  }
  return sch_stage_is_made_by(s, &st, w);
}

/* Nothing is copied that nobody has made. */
static bool check_made(sch_state *s, const auto_copy *a) {
  const ir_program *p = s->p;
  ir_stmt some = 0;
  for (ir_stmt q = a->st.scope; (q = sch_next_child(p, q, a->st.scope));) {
    if (!sch_writes_buf(p, q, a->st.buf)) continue;
    some = q;
    if (sch_comes_before(p, q, a->st.before) && makes_all(s, a, q)) return true;
  }
  return sch_refuse(s, SCH_R_NOT_COVERED, .s = {a->users.v[0], some},
                    .buf = a->st.buf);
}

/* Threads of one block share the copy, so it holds what all of them read;
 * none of them may have made it. */
static bool relax_threads(sch_state *s, auto_copy *a) {
  ir_program *p = s->p;
  sch_stage *st = &a->st;
  if (!ir_scope_is_shared(st->storage)) return true;
  for (ir_stmt l = a->loop; l != st->scope; l = ir_st(p, l)->parent) {
    const ir_stmt_rec r = *ir_st(p, l);
    if (!sch_threads_share(st->storage, &r)) continue;
    if (blocks_that(s, l, st->buf, sch_writes_buf).n) return true;
    for (uint32_t i = 0; i < 2 * st->ndim; i++) {
      ir_expr lo, hi;
      if (!arith_relax(p, s->scratch, st->box[i], 1, &r.var, &r.lo, &r.extent,
                       &lo, &hi, NULL))
        return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {a->users.v[0]},
                          .buf = st->buf);
      st->box[i] = i < st->ndim ? lo : hi;
    }
  }
  return true;
}

static bool plan_read(sch_state *s, auto_copy *a) {
  const ir_program *p = s->p;
  sch_stage *st = &a->st;
  uint8_t role = p->buf.v[st->buf].role;
  a->users = blocks_that(s, a->loop, st->buf, sch_reads_buf);
  st->before = sch_step_down(p, a->loop, a->users.v[0]);
  if (!check_writers_before(s, a)) return false;
  bool made = a->exact = role == IR_ROLE_LOCAL || role == IR_ROLE_OUTPUT;
  bool here = made && blocks_that(s, st->scope, st->buf, sch_writes_buf).n;
  for (uint32_t i = 0; made && !here && i < a->users.n; i++)
    if (sch_chooses(s, a->users.v[i]))
      return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {a->users.v[i]},
                        .buf = st->buf);
  if (!add_reads(s, a, st, made && !here)) return false;
  if ((!made || here) && !relax_threads(s, a)) return false;
  return !here || check_made(s, a);
}

/* ---- writing ------------------------------------------------------------ */

static bool plan_write(sch_state *s, auto_copy *a) {
  const ir_program *p = s->p;
  sch_stage *st = &a->st;
  uint8_t role = p->buf.v[st->buf].role;
  a->exact = true;
  sch_list w = blocks_that(s, a->loop, st->buf, sch_writes_buf);
  if (role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT)
    return sch_refuse(s, SCH_R_INPUT_WRITTEN, .s = {w.v[0]}, .buf = st->buf);
  for (ir_stmt q = st->scope; (q = sch_next_child(p, q, st->scope));)
    if (sch_writes_buf(p, q, st->buf) && !ir_is_ancestor(p, a->loop, q))
      return sch_refuse(s, SCH_R_SEVERAL_WRITERS, .s = {q, w.v[0]},
                        .buf = st->buf);
  for (uint32_t i = 0; i < w.n; i++)
    if (!sch_stage_add_writes(s, st, w.v[i])) return false;
  st->before = ir_st(p, sch_step_down(p, a->loop, w.v[w.n - 1]))->next;
  sch_list all = sch_child_blocks(s, a->loop);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.n; i++) {
    if (st->before && !sch_comes_before(p, all.v[i], st->before)) break;
    if (sch_writes_buf(p, all.v[i], st->buf) ||
        sch_reads_buf(p, all.v[i], st->buf))
      v[n++] = all.v[i];
  }
  a->users = (sch_list){n, v};
  for (uint32_t i = 0; i < n; i++)
    if (!sch_stage_check_reader(s, st, v[i])) return false;
  return true;
}

/* Who uses the copy, where it is and what it holds. */
static bool plan(sch_state *s, auto_copy *a) {
  return a->write ? plan_write(s, a) : plan_read(s, a);
}

/* ---- making it ---------------------------------------------------------- */

/* How one dimension is indexed: by a loop of the body, over `extent`, from
 * `scale` times an iter bound to `bind`. */
typedef struct dim {
  int64_t extent, scale;
  ir_expr bind; /* 0: there is no iter, and the index */
  int64_t from; /*   starts here */
  ir_expr last; /* the greatest value bound; 0: as its bounds say */
} dim;

/* The values bound have a constant least one, and a greatest that sizes may
 * determine. */
static bool find_domain(sch_state *s, const auto_copy *a, dim *x) {
  ir_program *p = s->p;
  arith_range r = arith_bounds(p, x->bind);
  ir_loops l;
  ir_expr lo;
  if (r.lo == INT64_MIN || r.hi != INT64_MAX) return r.lo != INT64_MIN;
  return ir_loops_between(p, s->scratch, a->st.scope, ir_st(p, a->loop)->body,
                          &l) &&
         arith_relax(p, s->scratch, x->bind, l.n, l.var, l.lo, l.extent, &lo,
                     &x->last, NULL);
}

static bool plan_dim(sch_state *s, const auto_copy *a, uint32_t d, dim *out) {
  ir_program *p = s->p;
  sch_span span = a->st.span[d];
  if (span.extent == SCH_SPAN_WHOLE) {
    *out = (dim){.scale = 1};
    return ir_const_int(p, ir_dim(p, a->st.buf, d), &out->extent);
  }
  ir_expr extent = ir_add(p, ir_sub(p, a->st.box[a->st.ndim + d], a->st.box[d]),
                          ir_index(p, 1));
  if (a->exact && ir_at(p, extent)->op != IR_INT) return false;
  *out = (dim){.extent = span.extent, .scale = 1};
  if (ir_const_int(p, span.min, &out->from)) {
    int64_t lo = a->st.shift[d], size;
    bool known = ir_const_int(p, a->st.shape[d], &size);
    if (!known || (out->from < lo + size && out->from + out->extent > lo))
      return true;
    /* All of it lies outside of the buffer, where nothing is truly read. */
    out->from = lo;
    out->extent = 1;
    return !a->exact;
  }
  ir_expr by = ir_index(p, span.extent);
  ir_expr tile = ir_binary(p, IR_DIV, span.min, by);
  bool tiled = arith_prove_eq(p, ir_mul(p, tile, by), span.min);
  out->bind = tiled ? tile : span.min;
  out->scale = tiled ? span.extent : 1;
  return find_domain(s, a, out);
}

static void guard(sch_state *s, ir_expr *cond, ir_expr c) {
  ir_program *p = s->p;
  if (!ir_is_const(p, c, 1) && !arith_prove(p, s->scratch, c, 0))
    *cond = *cond ? ir_and(p, *cond, c) : c;
}

/* The nest of loops in the block's body; *at is the innermost statement. */
static void make_loops(sch_state *s, const auto_copy *a, const dim *dims,
                       ir_stmt copy, ir_expr *idx, ir_stmt *at) {
  ir_program *p = s->p;
  ir_iter *it = arena_array(s->scratch, ir_iter, a->st.ndim);
  ir_expr cond = 0;
  uint32_t niter = 0, nloop = 0;
  *at = copy;
  for (uint32_t d = 0; d < a->st.ndim; d++) {
    dim x = dims[d];
    idx[d] = ir_index(p, x.from);
    if (x.bind) {
      arith_range r = arith_bounds(p, x.bind);
      ir_var v = ir_var_new(p, IR_VAR_ITER, sch_nth_name(p, 'v', niter),
                            IR_INDEX, r.lo, r.hi);
      ir_expr last = x.last ? x.last : ir_index(p, r.hi);
      it[niter++] = (ir_iter){v, IR_SPATIAL, ir_index(p, r.lo),
                              ir_add(p, last, ir_index(p, 1 - r.lo)), x.bind};
      idx[d] = ir_mul(p, ir_ref(p, v), ir_index(p, x.scale));
    }
    if (x.extent != 1) {
      ir_expr extent = ir_index(p, x.extent);
      ir_var ax = sch_ax_var(p, nloop++, extent);
      ir_stmt l = ir_loop_new(p, ax, ir_index(p, 0), extent, IR_SERIAL);
      ir_append(p, *at, l);
      *at = l;
      idx[d] = ir_add(p, idx[d], ir_ref(p, ax));
    }
    ir_expr lo = ir_index(p, a->st.shift[d]);
    guard(s, &cond, ir_binary(p, IR_LE, lo, idx[d]));
    guard(s, &cond, ir_binary(p, IR_LT, idx[d], ir_add(p, lo, a->st.shape[d])));
  }
  if (cond) {
    ir_stmt c = ir_if_new(p, cond);
    ir_append(p, *at, c);
    *at = c;
  }
  ir_block_set_iters(p, copy, niter, it);
}

/* Makes it; false after refusing, before any change. */
static bool auto_copy_make(sch_state *s, auto_copy *a, ir_stmt *copy) {
  ir_program *p = s->p;
  sch_stage *st = &a->st;
  dim *dims = arena_array(s->scratch, dim, st->ndim);
  ir_expr *old = arena_array(s->scratch, ir_expr, 2 * st->ndim);
  ir_expr *new = old + st->ndim;
  ir_stmt at;
  ir_buf made;
  if (!sch_stage_size(s, st)) return false;
  for (uint32_t d = 0; d < st->ndim; d++)
    if (!plan_dim(s, a, d, &dims[d]))
      return sch_refuse(s, SCH_R_COPY_NOT_STATIC, .s = {a->loop},
                        .buf = a->st.buf);
  *copy = sch_stage_new(s, st, &made);
  make_loops(s, a, dims, *copy, old, &at);
  for (uint32_t d = 0; d < st->ndim; d++)
    new[d] = ir_sub(p, old[d], ir_index(p, st->shift[d]));
  ir_buf from = a->write ? made : st->buf, to = a->write ? st->buf : made;
  ir_expr value = ir_load(p, from, st->ndim, a->write ? new : old);
  ir_append(p, at, ir_store_new(p, to, st->ndim, a->write ? old : new, value));
  ir_block_find_regions(p, s->scratch, *copy);
  ir_anno_set(p, *copy, ir_name(p, "auto_copy"), ir_value_int(p, 1));
  if (st->before)
    ir_insert_before(p, st->before, *copy);
  else
    ir_append(p, a->loop, *copy);
  for (uint32_t i = 0; i < a->users.n; i++)
    sch_stage_redirect(s, st, a->users.v[i], made);
  return true;
}

bool sch_auto_copy(sch_state *s, ir_stmt loop, ir_stmt block, sch_buffer meant,
                   bool write, const char *storage, ir_stmt *copy) {
  auto_copy a;
  ir_buf buf;
  if (!sch_find_buffer(s, block, meant, write ? SCH_WRITES : SCH_READS, NULL,
                       NULL, &buf))
    return false;
  if (ir_is_hidden(s->p, buf))
    return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .s = {block}, .buf = buf);
  return init(s, &a, loop, block, buf, write, storage) && plan(s, &a) &&
         auto_copy_make(s, &a, copy);
}
