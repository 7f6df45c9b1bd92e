/* SPDX-License-Identifier: Apache-2.0
 * Partitions a lowered program: finds the kernels and their arguments, and
 * encodes what is around them as the host program. */
#include "backends/device/code.h"
#include "backends/device/device.h"
#include "ir/edit.h"
#include "ir/query.h"
#include <string.h>

/* Buffers of a single thread that are larger are workspace: a device's private
 * memory is small. */
enum { SINGLE_BYTES = 4 << 10 };

typedef struct splitting {
  device_split *d;
  const ir_program *p;
  err_state *e;
  uint8_t *has_threads; /* by statement: in it, or below */
  uint8_t *seen;        /* by expression, of one kernel's survey */
  uint8_t *buf, *var;   /* what one kernel uses: USED, WRITTEN, OWN */
  bool refused;
} splitting;

enum { USED = 1, WRITTEN = 2, OWN = 4 };

static const char reads_data[] =
    "between kernels the host would have to read data, which is on the device";
static const char integers_only[] =
    "between kernels the host computes with integers only";

static void refuse_host(splitting *s, const char *what) {
  if (!s->refused)
    err_set(s->e, TESS_UNSUPPORTED, "%s: %s",
            ir_text(s->p, ir_entry(s->p)->name), what);
  s->refused = true;
}

/* ---- words ---------------------------------------------------------- */

static uint32_t put(splitting *s, int64_t word) {
  vec_push(s->p->heap, &s->d->code, word);
  return s->d->code.n - 1;
}

static uint32_t buffer_slot(splitting *s, ir_buf b) {
  if (!s->d->slot[b]) s->d->slot[b] = ++s->d->nslot;
  return s->d->slot[b] - 1;
}

static uint32_t variable_place(splitting *s, ir_var v) {
  if (!s->d->place[v]) s->d->place[v] = ++s->d->nplace;
  return s->d->place[v] - 1;
}

static bool is_host_operator(const ir_node *n) {
  return n->op == IR_INT || n->op == IR_VAR || n->op == IR_NOT ||
         n->op == IR_SELECT || n->op == IR_CAST ||
         (n->op >= IR_ADD && n->op <= IR_OR);
}

/* An expression over integers that the host program knows. */
static void put_expr(splitting *s, ir_expr e) {
  const ir_node n = *ir_at(s->p, e);
  if (!is_host_operator(&n) || !ir_is_int(n.dtype) || n.dtype.lanes > 1) {
    refuse_host(s, n.has_load ? reads_data : integers_only);
    return;
  }
  put(s, n.op);
  if (n.op == IR_INT) {
    put(s, n.i);
  } else if (n.op == IR_VAR) {
    put(s, variable_place(s, n.a));
  } else if (n.op == IR_CAST) {
    put(s, code_type(n.dtype));
    put(s, code_type(ir_at(s->p, n.a)->dtype));
    put_expr(s, n.a);
  } else if (n.op == IR_NOT || n.op == IR_SELECT) {
    put_expr(s, n.a);
    if (n.op == IR_SELECT) put_expr(s, n.b), put_expr(s, n.c);
  } else {
    put(s, code_type(ir_at(s->p, n.a)->dtype));
    put_expr(s, n.a);
    put_expr(s, n.b);
  }
}

/* The number of elements: all extents' product. */
static void put_buffer_elements(splitting *s, ir_buf b) {
  for (uint32_t i = 0; i + 1 < ir_ndim(s->p, b); i++) {
    put(s, IR_MUL);
    put(s, code_type(IR_INDEX));
    put_expr(s, ir_dim(s->p, b, i));
  }
  if (ir_ndim(s->p, b))
    put_expr(s, ir_dim(s->p, b, ir_ndim(s->p, b) - 1));
  else
    put(s, IR_INT), put(s, 1);
}

/* ---- what a kernel uses --------------------------------------------- */

static void survey_expr(splitting *s, ir_expr e) {
  if (!e || s->seen[e]) return;
  s->seen[e] = true;
  const ir_node *n = ir_at(s->p, e);
  if (n->op == IR_VAR) s->var[n->a] |= USED;
  if (n->op == IR_LOAD) s->buf[n->a] |= USED;
  const uint32_t *operands;
  uint32_t fixed[3], k = ir_operands(s->p, e, &operands, fixed);
  for (uint32_t i = 0; i < k; i++) survey_expr(s, operands[i]);
}

static void survey_stmt(splitting *s, ir_stmt at) {
  const ir_stmt_rec *r = ir_st(s->p, at);
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    s->var[r->var] |= OWN;
    survey_expr(s, r->lo);
    if (!ir_is_thread_loop(r))
      survey_expr(s, r->extent); /* else the launch's */
    break;
  case IR_STORE:
    s->buf[r->buf] |= USED | WRITTEN;
    for (uint32_t i = 0; i < r->idx.n; i++)
      survey_expr(s, s->p->arg.v[r->idx.at + i]);
    survey_expr(s, r->value);
    survey_expr(s, r->mask);
    break;
  case IR_IF: survey_expr(s, r->cond); break;
  case IR_LET:
    s->var[r->let_var] |= OWN;
    survey_expr(s, r->let_value);
    break;
  case IR_EVALUATE: survey_expr(s, r->eval); break;
  case IR_ALLOCATE:
    if (!s->d->is_workspace[r->alloc]) s->buf[r->alloc] |= OWN;
    break;
  case IR_DEAD:
  case IR_BLOCK:
  case IR_BARRIER: break;
  }
}

/* ---- kernels -------------------------------------------------------- */

static bool constant_size(const ir_program *p, ir_buf b, int64_t *bytes) {
  *bytes = p->buf.v[b].dtype.bits / 8;
  for (uint32_t i = 0; i < ir_ndim(p, b); i++) {
    int64_t n;
    if (!ir_const_int(p, ir_dim(p, b, i), &n) || n < 0 ||
        __builtin_mul_overflow(*bytes, n, bytes))
      return false;
  }
  return true;
}

static void read_threads(const ir_program *p, device_kernel *k) {
  for (ir_stmt s = k->first; s; s = ir_next(p, s, k->first)) {
    const ir_stmt_rec *r = ir_st(p, s);
    int64_t n = 0;
    if (!ir_is_thread_loop(r) || r->thread > IR_THREADIDX_Z) continue;
    ir_const_int(p, r->extent, &n);
    if (r->thread >= IR_THREADIDX_X)
      k->block[r->thread - IR_THREADIDX_X] = n;
    else if ((k->grid[r->thread] = n) == 0)
      k->open[r->thread] = r->extent;
  }
}

static void count_shared(splitting *s, const device_kernel *k) {
  uint64_t all = 0;
  for (ir_stmt t = k->first; t; t = ir_next(s->p, t, k->first)) {
    const ir_stmt_rec *r = ir_st(s->p, t);
    int64_t bytes;
    if (r->kind != IR_ALLOCATE) continue;
    uint8_t scope = s->p->buf.v[r->alloc].scope;
    if (ir_scope_is_shared(scope) && constant_size(s->p, r->alloc, &bytes))
      all += (uint64_t)bytes;
  }
  if (all > s->d->shared) s->d->shared = all;
}

/* Its arguments, in the order of the tables. */
static void find_arguments(splitting *s, device_kernel *k) {
  const ir_program *p = s->p;
  memset(s->seen, 0, p->node.n);
  memset(s->buf, 0, p->buf.n);
  memset(s->var, 0, p->var.n);
  for (ir_stmt top = k->first;; top = ir_st(p, top)->next) {
    for (ir_stmt t = top; t; t = ir_next(p, t, top)) survey_stmt(s, t);
    if (top == k->last) break;
  }
  for (ir_buf b = 1; b < p->buf.n; b++) k->nbuf += s->buf[b] && s->buf[b] < OWN;
  for (ir_var v = 1; v < p->var.n; v++) k->nvar += s->var[v] == USED;
  k->buf = arena_array(s->d->scratch, ir_buf, k->nbuf + 1);
  k->written = arena_array(s->d->scratch, bool, k->nbuf + 1);
  k->var = arena_array(s->d->scratch, ir_var, k->nvar + 1);
  k->nbuf = k->nvar = 0;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    if (!s->buf[b] || s->buf[b] >= OWN) continue;
    k->written[k->nbuf] = s->buf[b] & WRITTEN;
    k->buf[k->nbuf++] = b;
  }
  for (ir_var v = 1; v < p->var.n; v++)
    if (s->var[v] == USED) k->var[k->nvar++] = v;
}

static void put_grid(splitting *s, const device_kernel *k) {
  for (int a = 0; a < 3; a++) {
    if (k->open[a])
      put_expr(s, k->open[a]);
    else
      put(s, IR_INT), put(s, k->grid[a]);
  }
}

static void put_launch(splitting *s, device_kernel *k) {
  find_arguments(s, k);
  put(s, CODE_LAUNCH);
  put(s, s->d->kernel.n);
  put_grid(s, k);
  for (uint32_t i = 0; i < k->nbuf; i++) put(s, buffer_slot(s, k->buf[i]));
  for (uint32_t i = 0; i < k->nvar; i++) {
    if (!ir_is_int(s->p->var.v[k->var[i]].dtype)) refuse_host(s, integers_only);
    put(s, variable_place(s, k->var[i]));
  }
  vec_push(s->p->heap, &s->d->kernel, *k);
}

static void put_kernel(splitting *s, ir_stmt at) {
  device_kernel k = {
      .first = at, .last = at, .grid = {1, 1, 1}, .block = {1, 1, 1}};
  read_threads(s->p, &k);
  count_shared(s, &k);
  put_launch(s, &k);
}

/* ---- kernels of a single thread ------------------------------------- */

static uint32_t open_alloc(splitting *s, ir_buf b) {
  s->d->is_workspace[b] = true;
  put(s, CODE_ALLOC);
  put(s, buffer_slot(s, b));
  put(s, s->p->buf.v[b].dtype.bits / 8);
  put_buffer_elements(s, b);
  return put(s, 0);
}

static void close_words(splitting *s, uint32_t at) {
  s->d->code.v[at] = s->d->code.n - at - 1;
}

/* Siblings first .. last: workspace for its large buffers around it. */
static void put_single(splitting *s, ir_stmt first, ir_stmt last) {
  const ir_program *p = s->p;
  device_kernel k = {.first = first,
                     .last = last,
                     .is_single = true,
                     .grid = {1, 1, 1},
                     .block = {1, 1, 1}};
  uint32_t n = 0, *open = arena_array(s->d->scratch, uint32_t, p->buf.n);
  for (ir_stmt top = first;; top = ir_st(p, top)->next) {
    for (ir_stmt t = top; t; t = ir_next(p, t, top)) {
      int64_t bytes;
      const ir_stmt_rec *r = ir_st(p, t);
      if (r->kind == IR_ALLOCATE &&
          (!constant_size(p, r->alloc, &bytes) || bytes > SINGLE_BYTES))
        open[n++] = open_alloc(s, r->alloc);
    }
    if (top == last) break;
  }
  put_launch(s, &k);
  while (n) close_words(s, open[--n]);
}

/* ---- the host program ----------------------------------------------- */

static void put_list(splitting *s, ir_stmt first);

static void put_loop(splitting *s, const ir_stmt_rec *r) {
  put(s, CODE_LOOP);
  put(s, variable_place(s, r->var));
  put_expr(s, r->lo);
  put_expr(s, r->extent);
  uint32_t at = put(s, 0);
  put_list(s, r->body);
  close_words(s, at);
}

static void put_if(splitting *s, const ir_stmt_rec *r) {
  put(s, CODE_IF);
  put_expr(s, r->cond);
  uint32_t at = put(s, 0);
  put_list(s, r->body);
  close_words(s, at);
  at = put(s, 0);
  put_list(s, r->alt);
  close_words(s, at);
}

/* The allocations of shared memory around the threads of a kernel that is one
 * block: lowering puts them outside of the loops over threads. */
static bool is_single_block(const ir_program *p, ir_stmt at) {
  const ir_stmt_rec *r = ir_st(p, at);
  for (; r->kind == IR_ALLOCATE; r = ir_st(p, r->body)) {
    uint8_t scope = p->buf.v[r->alloc].scope;
    if (!ir_scope_is_shared(scope) || !r->body || ir_st(p, r->body)->next)
      return false;
  }
  return ir_is_thread_loop(r);
}

static void put_stmt(splitting *s, ir_stmt at) {
  const ir_stmt_rec r = *ir_st(s->p, at);
  uint32_t open;
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    if (ir_is_thread_loop(&r))
      put_kernel(s, at);
    else
      put_loop(s, &r);
    break;
  case IR_IF: put_if(s, &r); break;
  case IR_LET:
    put(s, CODE_LET);
    put(s, variable_place(s, r.let_var));
    put_expr(s, r.let_value);
    put_list(s, r.body);
    break;
  case IR_ALLOCATE:
    if (is_single_block(s->p, at)) {
      put_kernel(s, at);
      break;
    }
    open = open_alloc(s, r.alloc);
    put_list(s, r.body);
    close_words(s, open);
    break;
  case IR_BLOCK: put_list(s, r.body); break;
  default: break;
  }
}

static bool is_of_host(const splitting *s, ir_stmt at) {
  uint8_t kind = ir_st(s->p, at)->kind;
  return s->has_threads[at] || kind == IR_ALLOCATE || kind == IR_BARRIER;
}

static void put_list(splitting *s, ir_stmt first) {
  for (ir_stmt t = first, next; t && !s->refused; t = next) {
    ir_stmt last = t;
    next = ir_st(s->p, t)->next;
    if (is_of_host(s, t)) {
      put_stmt(s, t);
      continue;
    }
    for (; next && !is_of_host(s, next); next = ir_st(s->p, next)->next)
      last = next;
    put_single(s, t, last);
  }
}

static void find_threads(splitting *s, ir_stmt root) {
  for (ir_stmt t = root; t; t = ir_next(s->p, t, root))
    if (ir_is_thread_loop(ir_st(s->p, t)))
      for (ir_stmt up = t; up && !s->has_threads[up];
           up = ir_st(s->p, up)->parent)
        s->has_threads[up] = true;
}

tess_status device_split_program(device_split *d, const ir_program *p,
                                 arena *scratch, err_state *e) {
  splitting s = {.d = d, .p = p, .e = e};
  const ir_func f = *ir_entry(p);
  *d = (device_split){.p = p, .scratch = scratch};
  d->is_workspace = arena_zalloc(scratch, p->buf.n);
  d->slot = arena_zalloc(scratch, p->buf.n * sizeof *d->slot);
  d->place = arena_zalloc(scratch, p->var.n * sizeof *d->place);
  s.has_threads = arena_zalloc(scratch, p->stmt.n);
  s.seen = arena_zalloc(scratch, p->node.n);
  s.buf = arena_zalloc(scratch, p->buf.n);
  s.var = arena_zalloc(scratch, p->var.n);
  for (uint32_t i = 0; i < f.params.n; i++)
    buffer_slot(&s, p->arg.v[f.params.at + i]);
  for (uint32_t i = 0; i < p->constant.n; i++)
    buffer_slot(&s, p->constant.v[i].buf);
  for (uint32_t i = 0; i < f.sizes.n; i++)
    variable_place(&s, p->arg.v[f.sizes.at + i]);
  for (uint32_t i = 0; i < f.params.n; i++) /* before the code: their sizes */
    put_buffer_elements(&s, p->arg.v[f.params.at + i]);
  find_threads(&s, f.root);
  put_list(&s, ir_st(p, f.root)->body);
  return s.refused ? e->code : TESS_OK;
}

void device_split_free(device_split *d) {
  if (!d->p) return;
  vec_free(d->p->heap, &d->kernel);
  vec_free(d->p->heap, &d->code);
}

/* ---- as bytes ------------------------------------------------------- */

static void write_word(strbuf *out, int64_t v) {
  str_write(out, (const char *)&v, sizeof v);
}

static bool is_stored_to(const device_split *d, ir_buf b) {
  for (uint32_t k = 0; k < d->kernel.n; k++)
    for (uint32_t i = 0; i < d->kernel.v[k].nbuf; i++)
      if (d->kernel.v[k].buf[i] == b && d->kernel.v[k].written[i]) return true;
  return false;
}

void device_write(const device_split *d, strbuf *out) {
  const ir_program *p = d->p;
  const ir_func *f = ir_entry(p);
  const int64_t head[] = {CODE_MAGIC, f->params.n, p->constant.n, d->kernel.n,
                          d->nslot,   d->nplace,   d->code.n,     f->sizes.n};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++)
    write_word(out, head[i]);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    write_word(out, p->buf.v[b].dtype.bits / 8);
    write_word(out, is_stored_to(d, b));
  }
  for (uint32_t i = 0; i < p->constant.n; i++)
    write_word(out, (int64_t)p->constant.v[i].bytes);
  for (uint32_t i = 0; i < d->kernel.n; i++) {
    const device_kernel *k = &d->kernel.v[i];
    for (int a = 0; a < 3; a++) write_word(out, k->block[a]);
    write_word(out, k->nbuf);
    write_word(out, k->nvar);
  }
  str_write(out, (const char *)d->code.v, d->code.n * sizeof *d->code.v);
  for (uint32_t i = 0; i < p->constant.n; i++)
    str_write(out, p->constant.v[i].data, p->constant.v[i].bytes);
}
