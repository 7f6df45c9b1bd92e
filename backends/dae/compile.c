/* SPDX-License-Identifier: Apache-2.0
 * Executes a lowered program's control flow at compile time, emitting
 * instructions for its nests. */
#include "backends/dae/compile.h"
#include "ir/query.h"
#include "lower/lower.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  PAGE = 4096, /* alignment of buffers in memory */
  MOST_INSTRUCTIONS = 1 << 20,
  MOST_CALLS = 1 << 14 /* of the host */
};

void dae_refuse(dae_compile *c, ir_stmt at, const char *fmt, ...) {
  char why[512];
  strbuf head;
  va_list ap;
  if (c->failed) return;
  c->failed = true;
  va_start(ap, fmt);
  vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  str_init(&head, c->heap);
  if (at) ir_print_stmt_head(c->p, at, &head);
  err_set(c->e, TESS_UNSUPPORTED, "%s: %s%s%s",
          ir_text(c->p, ir_entry(c->p)->name), why, at ? ": " : "",
          at && !head.bad ? str_get(&head) : "");
  str_free(&head);
}

/* ---- what the machine does ---------------------------------------------- */

static ir_walk find_on_chip(const ir_program *p, ir_expr e, void *unused) {
  (void)unused;
  const ir_node *n = ir_at(p, e);
  bool is = n->op == IR_LOAD && dae_of_scope(p->buf.v[n->a].scope) != DAE_NMEM;
  return is ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool loads_on_chip(const ir_program *p, ir_expr e, void *ud) {
  return ir_any(p, e, find_on_chip, ud);
}

static bool is_on_machine(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return (r->kind == IR_STORE &&
          dae_of_scope(p->buf.v[r->buf].scope) != DAE_NMEM) ||
         ir_stmt_any_expr(p, s, loads_on_chip, NULL);
}

static void find_on_machine(dae_compile *c, ir_stmt root) {
  for (ir_stmt s = root; s; s = ir_next(c->p, s, root))
    if (is_on_machine(c->p, s))
      for (ir_stmt up = s; up && !c->on_machine[up];
           up = ir_st(c->p, up)->parent)
        c->on_machine[up] = true;
}

/* ---- memory ------------------------------------------------------------ */

static bool buffer_bytes(dae_compile *c, ir_buf b, uint64_t *bytes) {
  int64_t n = c->p->buf.v[b].dtype.bits / 8, extent;
  for (uint32_t d = 0; d < ir_ndim(c->p, b); d++)
    if (!dae_evaluate(c, ir_dim(c->p, b, d), &extent) || extent < 0 ||
        __builtin_mul_overflow(n, extent, &n))
      return false;
  *bytes = (uint64_t)n;
  return n < INT64_C(1) << 36;
}

/* Sizes are not known before a call, and addresses are needed now. */
static void place_in_memory(dae_compile *c, ir_buf b) {
  uint64_t bytes;
  if (c->dram[b]) return;
  if (!buffer_bytes(c, b, &bytes)) {
    dae_refuse(c, 0, "the extents of '%s' are not constant",
               ir_text(c->p, c->p->buf.v[b].name));
    return;
  }
  c->dram[b] = c->dram_bytes + 1;
  c->dram_bytes += (bytes + PAGE - 1) / PAGE * PAGE;
}

static void place_parameters(dae_compile *c) {
  const ir_func f = *ir_entry(c->p);
  for (uint32_t i = 0; i < f.params.n && !c->failed; i++)
    place_in_memory(c, c->p->arg.v[f.params.at + i]);
  for (uint32_t i = 0; i < c->p->constant.n && !c->failed; i++)
    place_in_memory(c, c->p->constant.v[i].buf);
}

/* Bytes are loaded to accumulators, too. */
static bool holds_type(const dae_compile *c, ir_buf b, uint32_t mem) {
  tess_dtype t = c->p->buf.v[b].dtype;
  return t.code == TESS_DTYPE_INT &&
         (t.bits == 8 || (mem == DAE_ACC && t.bits == 32));
}

/* Entries from c->top on; false: there are not as many. */
static bool place_on_chip(dae_compile *c, ir_buf b, uint32_t mem,
                          uint32_t *entries) {
  uint64_t bytes, entry = (uint64_t)dae_entry(c->m, mem);
  int64_t left = dae_depth(c->m, mem) - c->top[mem];
  if (!holds_type(c, b, mem)) {
    dae_refuse(c, 0, "'%s' in %s holds int8%s only",
               ir_text(c->p, c->p->buf.v[b].name),
               ir_scope_text((ir_scope)c->p->buf.v[b].scope),
               mem == DAE_ACC ? " and int32" : "");
    return false;
  }
  bool known = buffer_bytes(c, b, &bytes);
  if (known && mem == DAE_ACC && c->p->buf.v[b].dtype.bits == 8) bytes *= 4;
  if (!known || (bytes + entry - 1) / entry > (uint64_t)left) {
    dae_refuse(c, 0, "'%s' exceeds %s, which has room for %lld bytes%s",
               ir_text(c->p, c->p->buf.v[b].name),
               ir_scope_text((ir_scope)c->p->buf.v[b].scope),
               (long long)c->m->bytes[mem],
               c->top[mem] ? ", with what is there already" : "");
    return false;
  }
  *entries = (uint32_t)((bytes + entry - 1) / entry);
  c->sram[b] = c->top[mem];
  return true;
}

/* ---- control flow ------------------------------------------------------- */

static void walk_list(dae_compile *c, ir_stmt first);
static void walk_stmt(dae_compile *c, ir_stmt s);

static void walk_loop(dae_compile *c, const ir_stmt_rec *r, ir_stmt s) {
  int64_t lo, extent;
  ir_var v = r->var;
  ir_stmt body = r->body;
  if (!dae_evaluate(c, r->lo, &lo) || !dae_evaluate(c, r->extent, &extent)) {
    dae_refuse(c, s, "a loop's bounds are not known when it is compiled");
    return;
  }
  c->bound[v] = true;
  for (int64_t i = 0; i < extent && !c->failed; i++) {
    c->value[v] = lo + i;
    walk_list(c, body);
  }
  c->bound[v] = false;
}

static void walk_if(dae_compile *c, const ir_stmt_rec *r, ir_stmt s) {
  int64_t holds;
  if (dae_evaluate(c, r->cond, &holds))
    walk_list(c, holds ? r->body : r->alt);
  else
    dae_refuse(c, s, "a condition is not known when it is compiled");
}

static void walk_let(dae_compile *c, const ir_stmt_rec *r, ir_stmt s) {
  ir_var v = r->let_var;
  if (!dae_evaluate(c, r->let_value, &c->value[v])) {
    dae_refuse(c, s, "a value is not known when it is compiled");
    return;
  }
  c->bound[v] = true;
  walk_list(c, r->body);
  c->bound[v] = false;
}

static void walk_allocate(dae_compile *c, const ir_stmt_rec *r) {
  uint32_t mem = dae_memory_of(c, r->alloc), entries;
  if (mem == DAE_NMEM) {
    place_in_memory(c, r->alloc);
    if (!c->failed) walk_list(c, r->body);
  } else if (place_on_chip(c, r->alloc, mem, &entries)) {
    c->top[mem] += entries;
    walk_list(c, r->body);
    c->top[mem] -= entries;
  }
}

/* ---- nests ------------------------------------------------------------- */

static dae_tried emit_leaf(dae_compile *c, const dae_nest *n) {
  const ir_stmt_rec r = *ir_st(c->p, n->leaf);
  if (n->is_call) return dae_emit_product(c, n);
  bool to_chip = dae_memory_of(c, r.buf) != DAE_NMEM;
  bool from_chip = loads_on_chip(c->p, r.value, NULL);
  if (!to_chip) return dae_emit_store(c, n);
  /* A constant, but 0, is made by the vector unit. */
  bool is_made =
      ir_at(c->p, r.value)->op == IR_INT && !ir_is_const(c->p, r.value, 0);
  return from_chip || is_made ? dae_emit_vector(c, n) : dae_emit_copy(c, n);
}

/* What was emitted of a nest that is tried again goes, and with it the
 * knowledge of what it loaded. */
static dae_tried try_nest(dae_compile *c, const dae_nest *n) {
  dae_stream *s = &c->item.v[c->item.n - 1].s;
  uint32_t before = s->insn.n;
  arena_mark mark = arena_get_mark(c->scratch);
  dae_tried t = n->is_empty ? DAE_DONE : emit_leaf(c, n);
  arena_reset_to(c->scratch, mark);
  s = &c->item.v[c->item.n - 1].s;
  if (t == DAE_RETRY && s->insn.n > before) {
    s->insn.n = before;
    c->uop_era++;
    c->uop_top = 0;
  }
  if (s->insn.n > MOST_INSTRUCTIONS)
    dae_refuse(c, n->leaf, "it takes more than %d instructions",
               MOST_INSTRUCTIONS);
  return t;
}

static bool is_leaf(const dae_compile *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  return r->kind == IR_STORE ||
         (r->kind == IR_IF && ir_is_instead(c->p, r->cond));
}

static void walk_stmt(dae_compile *c, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(c->p, s);
  dae_nest n;
  if (dae_find_nest(c, s, &n) && try_nest(c, &n) != DAE_RETRY) return;
  if (is_leaf(c, s)) {
    dae_refuse(c, s,
               "it moves or computes parts of what the machine's "
               "instructions take whole");
    return;
  }
  switch ((ir_kind)r.kind) {
  case IR_LOOP: walk_loop(c, &r, s); break;
  case IR_IF: walk_if(c, &r, s); break;
  case IR_LET: walk_let(c, &r, s); break;
  case IR_ALLOCATE: walk_allocate(c, &r); break;
  default: walk_list(c, r.body); break;
  }
}

/* ---- the host ---------------------------------------------------------- */

static void start_item(dae_compile *c) {
  vec_push(c->heap, &c->item, ((dae_item){.host = 0}));
  c->uop_era++;
  c->uop_top = 0;
}

static void call_host(dae_compile *c, ir_stmt first, ir_stmt last) {
  uint32_t k = dae_host_of(c, first, last);
  if (c->item.n > MOST_CALLS)
    dae_refuse(c, first, "the host would be called more than %d times",
               MOST_CALLS);
  if (c->failed) return;
  const dae_host *h = &c->host.v[k];
  dae_item *item = &c->item.v[c->item.n - 1];
  item->host = k + 1;
  item->value = arena_array(c->scratch, int64_t, h->nvar + 1);
  for (uint32_t i = 0; i < h->nvar; i++) item->value[i] = c->value[h->var[i]];
  for (uint32_t i = 0; i < h->nbuf; i++) place_in_memory(c, h->buf[i]);
  start_item(c);
}

static void walk_list(dae_compile *c, ir_stmt first) {
  for (ir_stmt s = first, next; s && !c->failed; s = next) {
    ir_stmt last = s;
    next = ir_st(c->p, s)->next;
    if (c->on_machine[s]) {
      walk_stmt(c, s);
      continue;
    }
    for (; next && !c->on_machine[next]; next = ir_st(c->p, next)->next)
      last = next;
    call_host(c, s, last);
  }
}

/* ---- the whole --------------------------------------------------------- */

static uint64_t place_uop_memory(dae_compile *c) {
  uint64_t at = c->dram_bytes / 4;
  c->dram_bytes += ((uint64_t)c->uop.n * 4 + PAGE - 1) / PAGE * PAGE;
  return at;
}

static void set_uops(dae_compile *c, dae_stream *s, uint64_t at) {
  s->uop_dram = (uint32_t)at;
  vec_copy(c->heap, &s->uop, &c->uop);
  for (uint32_t i = 0; i < s->insn.n; i++)
    if (s->insn.v[i].op == DAE_LOAD && s->insn.v[i].mem == DAE_UOP)
      s->insn.v[i].dram += (uint32_t)at;
}

static tess_status finish_stream(dae_compile *c, dae_stream *s) {
  dae_needs *needs;
  uint64_t word[2];
  arena_mark mark = arena_get_mark(c->scratch);
  if (!s->insn.n) return TESS_OK;
  vec_push(c->heap, &s->insn, ((dae_insn){.op = DAE_FINISH}));
  tess_status st =
      dae_find_needs(c->m, s, c->dram_bytes, c->scratch, &needs, c->e);
  if (!st) dae_insert_tokens(c->m, s, c->heap, needs, c->scratch);
  for (uint32_t i = 0; !st && i < s->insn.n; i++)
    if (!dae_encode(c->m, &s->insn.v[i], word)) {
      dae_refuse(c, 0, "instruction %u does not fit 128 bits", i);
      st = c->e->code;
    }
  arena_reset_to(c->scratch, mark);
  return st;
}

static void start_compile(dae_compile *c) {
  const ir_program *p = c->p;
  ir_program_init(&c->apart, c->heap);
  map_init(&c->host_at, c->heap);
  map_init(&c->uop_known, c->heap);
  c->on_machine = arena_zalloc(c->scratch, p->stmt.n);
  c->value = arena_zalloc(c->scratch, p->var.n * sizeof *c->value);
  c->bound = arena_zalloc(c->scratch, p->var.n * sizeof *c->bound);
  c->dram = arena_zalloc(c->scratch, p->buf.n * sizeof *c->dram);
  c->sram = arena_zalloc(c->scratch, p->buf.n * sizeof *c->sram);
  c->clobbered = arena_zalloc(c->scratch, (size_t)dae_depth(c->m, DAE_ACC));
  start_item(c);
}

tess_status dae_compile_program(dae_compile *c, ir_program *p, arena *scratch,
                                const dae_machine *m, err_state *e) {
  *c = (dae_compile){
      .p = p, .scratch = scratch, .heap = p->heap, .m = m, .e = e};
  start_compile(c);
  find_on_machine(c, ir_entry(p)->root);
  place_parameters(c);
  if (!c->failed) walk_list(c, ir_st(p, ir_entry(p)->root)->body);
  if (c->failed) return e->code;
  tess_status s = TESS_OK;
  uint64_t at = place_uop_memory(c);
  for (uint32_t i = 0; !s && i < c->item.n; i++) {
    set_uops(c, &c->item.v[i].s, at);
    s = finish_stream(c, &c->item.v[i].s);
  }
  return s;
}

void dae_compile_free(dae_compile *c) {
  if (!c->p) return;
  for (uint32_t i = 0; i < c->item.n; i++)
    dae_stream_free(c->heap, &c->item.v[i].s);
  for (uint32_t i = 0; i < c->host.n; i++) str_free(&c->host.v[i].code);
  vec_free(c->heap, &c->item);
  vec_free(c->heap, &c->host);
  ir_program_free(&c->apart);
  vec_free(c->heap, &c->uop_run);
  vec_free(c->heap, &c->uop);
  map_free(&c->host_at);
  map_free(&c->uop_known);
}
