/* SPDX-License-Identifier: Apache-2.0
 * Software pipelining: loops annotated software_pipeline_stage and
 * software_pipeline_order, and those that mark_double_buffer marked, become
 * prologue, steady state and epilogue.  An entry stands for a statement of the
 * loop after nested pipelines were expanded, each to three statements. */
#include "lower/pipeline/pipeline.h"
#include "ir/edit.h"
#include "ir/query.h"

#define STAGE "software_pipeline_stage"
#define ORDER "software_pipeline_order"
#define ASYNC "software_pipeline_async_stages"
#define VERSIONS "software_pipeline_versions"

enum { MAX_STAGE = 64 };

static const char *loop_name(const pipe *x) {
  return ir_var_text(x->p, ir_st(x->p, x->loop)->var, x->scratch);
}

/* ---- the statements ----------------------------------------------------- */

static uint32_t count_statements(const ir_program *p, ir_stmt s,
                                 uint32_t *nbuf) {
  uint32_t n = 0;
  for (ir_stmt c = ir_st(p, s)->body; c; c = ir_st(p, c)->next)
    if (ir_st(p, c)->kind == IR_ALLOCATE) {
      ++*nbuf;
      n += count_statements(p, c, nbuf);
    } else {
      n++;
    }
  return n;
}

static void list_statements(pipe *x, ir_stmt s) {
  ir_program *p = x->p;
  for (ir_stmt c = ir_st(p, s)->body; c; c = ir_st(p, c)->next)
    if (ir_st(p, c)->kind == IR_ALLOCATE) {
      x->buf[x->nbuf++] = (pipe_buffer){.buf = ir_st(p, c)->alloc};
      list_statements(x, c);
    } else {
      x->stmt[x->n++] = c;
    }
}

static void find_statements(pipe *x) {
  uint32_t nbuf = 0, n = count_statements(x->p, x->loop, &nbuf);
  x->stmt = arena_array(x->scratch, ir_stmt, n + 1);
  x->stage = arena_zalloc(x->scratch, (n + 1) * sizeof *x->stage);
  x->order = arena_zalloc(x->scratch, (n + 1) * sizeof *x->order);
  x->in_order = arena_zalloc(x->scratch, (n + 1) * sizeof *x->in_order);
  x->buf = arena_array(x->scratch, pipe_buffer, nbuf + 1);
  list_statements(x, x->loop);
}

/* ---- the annotations ---------------------------------------------------- */

/* The list's integers, or NULL. */
static const int64_t *integers(const pipe *x, const ir_anno *a, uint32_t *n) {
  const ir_value v = x->p->value.v[a->val];
  int64_t *out = arena_array(x->scratch, int64_t, v.n + 1);
  if (v.tag != IR_VAL_LIST) return NULL;
  for (uint32_t i = 0; i < v.n; i++) {
    const ir_value *w = &x->p->value.v[x->p->arg.v[v.at + i]];
    if (w->tag != IR_VAL_INT) return NULL;
    out[i] = w->i;
  }
  *n = v.n;
  return out;
}

static bool read_list(pipe *x, const char *key, int64_t *out) {
  const ir_anno *a = ir_anno_get(x->p, x->loop, key);
  uint32_t n = 0;
  const int64_t *v = a ? integers(x, a, &n) : NULL;
  if (!v) {
    err_set(x->e, TESS_UNSUPPORTED, "loop %s: %s %s", loop_name(x), key,
            a ? "is no list of integers" : "is missing");
    return false;
  }
  if (n != x->n) {
    err_set(x->e, TESS_UNSUPPORTED,
            "loop %s: %s has %u entries, its body %u statements (a pipeline "
            "inside counts as prologue, body and epilogue)",
            loop_name(x), key, (unsigned)n, (unsigned)x->n);
    return false;
  }
  memcpy(out, v, n * sizeof *v);
  return true;
}

static bool read_stages(pipe *x) {
  if (!read_list(x, STAGE, x->stage)) return false;
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->stage[i] < 0 || x->stage[i] > MAX_STAGE) {
      err_set(x->e, TESS_UNSUPPORTED,
              "loop %s: entry %u of %s is %lld, not in 0 to %d", loop_name(x),
              (unsigned)i, STAGE, (long long)x->stage[i], MAX_STAGE);
      return false;
    }
    if (x->stage[i] > x->last) x->last = x->stage[i];
  }
  return true;
}

static bool read_order(pipe *x) {
  if (!read_list(x, ORDER, x->order)) return false;
  uint8_t *seen = arena_zalloc(x->scratch, x->n + 1);
  for (uint32_t i = 0; i < x->n; i++) {
    int64_t at = x->order[i];
    if (at < 0 || at >= x->n || seen[at]) {
      err_set(x->e, TESS_UNSUPPORTED,
              "loop %s: %s is no permutation of 0 to %u: entry %u is %lld",
              loop_name(x), ORDER, (unsigned)x->n - 1, (unsigned)i,
              (long long)at);
      return false;
    }
    seen[at] = 1;
  }
  return true;
}

/* Asynchronous copies; outside of kernels, and where a statement does more than
 * copy to shared memory, they are synchronous. */
static void note_async(pipe *x, uint32_t n, const int64_t *stages) {
  x->async = arena_zalloc(x->scratch, x->n + 1);
  bool any = false;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < x->n; k++)
      if (x->stage[k] == stages[i] && lower_pipe_is_copy(x, k))
        any = x->async[k] = true;
  if (!any || !x->last || !lower_in_kernel(x->p, x->loop)) x->async = NULL;
}

static bool read_async(pipe *x) {
  const ir_anno *a = ir_anno_get(x->p, x->loop, ASYNC);
  uint32_t n = 0;
  if (!a) return true;
  const int64_t *v = integers(x, a, &n);
  for (uint32_t i = 0; v && i < n; i++) {
    bool used = false;
    for (uint32_t k = 0; k < x->n; k++) used |= x->stage[k] == v[i];
    if (used) continue;
    err_set(x->e, TESS_UNSUPPORTED,
            "loop %s: %s names stage %lld, which no "
            "statement has",
            loop_name(x), ASYNC, (long long)v[i]);
    return false;
  }
  if (v) note_async(x, n, v);
  if (v) return true;
  err_set(x->e, TESS_UNSUPPORTED, "loop %s: %s is no list of integers",
          loop_name(x), ASYNC);
  return false;
}

/* Statements up to the last that writes a doubled buffer run ahead. */
static void stages_of_doubling(pipe *x, const ir_anno *doubled) {
  uint32_t n = 0, last = 0;
  const int64_t *v = integers(x, doubled, &n);
  for (uint32_t i = 0; i < x->naccess; i++)
    for (uint32_t k = 0; k < n; k++)
      if (x->access[i].writes && x->access[i].buf == (ir_buf)v[k] &&
          x->access[i].by > last)
        last = x->access[i].by;
  for (uint32_t i = 0; i < x->n; i++) {
    x->stage[i] = i > last;
    x->order[i] = i;
    if (i > last) x->last = 1;
  }
}

/* ---- the buffers -------------------------------------------------------- */

/* Private buffers of an iteration move out of the loop. */
static bool may_leave(pipe *x, ir_buf b) {
  const ir_buf_rec *r = &x->p->buf.v[b];
  ir_var v = ir_st(x->p, x->loop)->var;
  bool uses = r->offset && ir_uses_var(x->p, r->offset, v);
  for (uint32_t i = 0; i < r->shape.n; i++)
    uses |= ir_uses_var(x->p, x->p->arg.v[r->shape.at + i], v);
  for (uint32_t i = 0; i < r->strides.n; i++)
    uses |= ir_uses_var(x->p, x->p->arg.v[r->strides.at + i], v);
  if (uses)
    err_set(x->e, TESS_UNSUPPORTED,
            "loop %s: the shape of %s depends on the "
            "iteration, so that it cannot be pipelined",
            loop_name(x), ir_text(x->p, r->name));
  return !uses;
}

static bool is_doubled(const pipe *x, const ir_anno *doubled, ir_buf b) {
  uint32_t n = 0;
  const int64_t *v = doubled ? integers(x, doubled, &n) : NULL;
  for (uint32_t i = 0; i < n; i++)
    if (v[i] == (int64_t)b) return true;
  return false;
}

/* The least number of versions of buffers in shared memory that the loop asks
 * for: an instruction may read them longer than its statement lasts. */
static bool read_versions(const pipe *x, int64_t *out) {
  const ir_anno *a = ir_anno_get(x->p, x->loop, VERSIONS);
  *out = 1;
  if (!a) return true;
  const ir_value v = x->p->value.v[a->val];
  if (v.tag == IR_VAL_INT && v.i >= 1 && v.i <= MAX_STAGE) {
    *out = v.i;
    return true;
  }
  err_set(x->e, TESS_UNSUPPORTED, "loop %s: %s is no number from 1 to %d",
          loop_name(x), VERSIONS, MAX_STAGE);
  return false;
}

static bool settle_buffers(pipe *x, const ir_anno *doubled) {
  int64_t least;
  if (!read_versions(x, &least)) return false;
  for (uint32_t i = 0; i < x->nbuf; i++) {
    pipe_buffer *b = &x->buf[i];
    if (!may_leave(x, b->buf)) return false;
    b->versions = lower_pipe_versions(x, b->buf);
    if (b->versions < 2 && is_doubled(x, doubled, b->buf)) b->versions = 2;
    ir_scope s = (ir_scope)x->p->buf.v[b->buf].scope;
    bool outlives = ir_scope_is_shared(s) ||
                    (s >= IR_SCOPE_DAE_INP && s <= IR_SCOPE_DAE_ACC);
    if (b->versions < least && outlives) b->versions = least;
  }
  return true;
}

/* ---- the whole ---------------------------------------------------------- */

static bool check_kind(pipe *x) {
  ir_loop_kind k = (ir_loop_kind)ir_st(x->p, x->loop)->loop_kind;
  if (k == IR_SERIAL || k == IR_UNROLLED) return true;
  err_set(x->e, TESS_UNSUPPORTED,
          "loop %s: its iterations run at once, so that it cannot be "
          "pipelined",
          loop_name(x));
  return false;
}

static bool pipeline_loop(ir_program *p, arena *scratch, ir_stmt loop,
                          err_state *e) {
  pipe x = {.p = p, .scratch = scratch, .e = e, .loop = loop};
  const ir_anno *doubled = ir_anno_get(p, loop, LOWER_DOUBLED);
  bool staged = ir_anno_get(p, loop, STAGE) || ir_anno_get(p, loop, ORDER);
  if (!check_kind(&x)) return false;
  find_statements(&x);
  lower_pipe_accesses(&x);
  if (!staged)
    stages_of_doubling(&x, doubled);
  else if (!read_stages(&x) || !read_order(&x) || !read_async(&x))
    return false;
  for (uint32_t i = 0; i < x.n; i++) x.in_order[x.order[i]] = i;
  if (!lower_pipe_allowed(&x) || !settle_buffers(&x, doubled)) return false;
  ir_anno_remove(p, loop, STAGE);
  ir_anno_remove(p, loop, ORDER);
  ir_anno_remove(p, loop, ASYNC);
  ir_anno_remove(p, loop, VERSIONS);
  ir_anno_remove(p, loop, LOWER_DOUBLED);
  lower_pipe_emit(&x);
  return true;
}

static bool is_pipelined(const ir_program *p, ir_stmt s) {
  return ir_is_loop(p, s) && ir_st(p, s)->body &&
         (ir_anno_get(p, s, STAGE) || ir_anno_get(p, s, ORDER) ||
          ir_anno_get(p, s, LOWER_DOUBLED));
}

/* Inner pipelines first. */
static bool pipeline_below(ir_program *p, arena *scratch, ir_stmt s,
                           err_state *e) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      if (!pipeline_below(p, scratch, c, e)) return false;
    }
  return !is_pipelined(p, s) || pipeline_loop(p, scratch, s, e);
}

LOWER_PASS(software_pipeline) {
  (void)o;
  return pipeline_below(p, scratch, ir_entry(p)->root, e) ? TESS_OK : e->code;
}
