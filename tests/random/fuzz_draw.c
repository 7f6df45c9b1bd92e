/* SPDX-License-Identifier: Apache-2.0
 * The random tester: which primitive, and with which operands.  They are
 * drawn by the kind of each operand; where a random one would almost always
 * be refused, rather one that may fit. */
#include "ir/query.h"
#include "random/fuzz.h"

#include <stdio.h>
#include <string.h>

/* ---- what there is ------------------------------------------------------ */

static void see(fuzz *f, vm_rv first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t room = sizeof f->seen / sizeof *f->seen;
    uint32_t at = f->nseen < room ? f->nseen++ : fuzz_below(f, room);
    f->seen[at] = first + i;
  }
}

vm_rv fuzz_get(fuzz *f, const char *prim, vm_value operand, uint32_t *n) {
  vm_value v[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  vm_call c = {.prim = sch_find_prim(prim), .pool = &f->pool, .operand = v};
  vm_rv first = 0;
  v[0] = operand;
  *n = 0;
  if (vm_sched_call(&f->s, &c, &first, n)) return 0;
  see(f, first, *n);
  return *n ? first : 0;
}

ir_stmt fuzz_stmt(const fuzz *f, vm_rv rv) {
  ir_stmt s = vm_sched_stmt(&f->s, rv);
  return s < f->s.m.prog.stmt.n && !ir_is_dead(&f->s.m.prog, s) ? s : 0;
}

void fuzz_focus_on(fuzz *f, ir_stmt s) {
  const ir_program *p = &f->s.m.prog;
  uint32_t n;
  const char *name = ir_text(p, ir_blk(p, s)->name);
  vm_rv block =
      fuzz_get(f, "get_block", vm_str(&f->pool, name, strlen(name)), &n);
  if (!block) return;
  f->block = block;
  f->nloops = 0;
  vm_rv first = fuzz_get(f, "get_loops", vm_var(block), &n);
  for (uint32_t i = 0; first && i < n && i < 32; i++)
    f->loop[f->nloops++] = first + i;
}

/* Mostly a block that suits the primitive; false: there is none. */
static bool focus(fuzz *f, const fuzz_hint *h) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt root = ir_entry(p)->root, found = 0;
  uint32_t n = 0;
  bool any = !h->suits || fuzz_below(f, 16) == 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s) && (any || h->suits(p, s)) &&
        (s != root || fuzz_below(f, 8) == 0) && fuzz_below(f, ++n) == 0)
      found = s;
  if (!found) return false;
  fuzz_focus_on(f, found);
  return true;
}

/* Of any kind, or dead: most likely a mistake. */
static vm_rv any(fuzz *f) {
  return f->nseen ? f->seen[fuzz_below(f, f->nseen)] : f->block;
}

vm_rv fuzz_any_loop(fuzz *f) {
  return f->nloops && fuzz_below(f, 24) ? f->loop[fuzz_below(f, f->nloops)]
                                        : any(f);
}

vm_rv fuzz_any_int(fuzz *f) {
  for (int tries = 0; tries < 4 && f->nseen; tries++) {
    vm_rv v = any(f);
    if (f->s.trace.rv.v[v] == VM_RV_INT) return v;
  }
  return 0;
}

int64_t fuzz_extent(const fuzz *f, vm_rv loop) {
  ir_stmt s = vm_sched_stmt(&f->s, loop);
  const ir_program *p = &f->s.m.prog;
  int64_t v = 1;
  if (s && s < p->stmt.n && ir_is_loop(p, s))
    ir_const_int(p, ir_st(p, s)->extent, &v);
  return v;
}

/* ---- operands by kind --------------------------------------------------- */

/* Some of the loops in focus in any order. */
vm_value fuzz_loops(fuzz *f) {
  vm_value v[FUZZ_MAX_LIST];
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->nloops && n < FUZZ_MAX_LIST; i++)
    if (fuzz_below(f, 3)) v[n++] = vm_var(f->loop[i]);
  for (uint32_t i = n; i > 1; i--) {
    uint32_t k = fuzz_below(f, i);
    vm_value t = v[i - 1];
    v[i - 1] = v[k], v[k] = t;
  }
  if (fuzz_below(f, 24) == 0 && n < FUZZ_MAX_LIST) v[n++] = vm_var(any(f));
  return vm_list(&f->pool, n, v);
}

/* A block of the same scope, wherever it stands there; 0: none was seen. */
static vm_rv another_block(fuzz *f) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt this = fuzz_stmt(f, f->block);
  vm_rv found = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; this && i < f->nseen; i++) {
    ir_stmt s = fuzz_stmt(f, f->seen[i]);
    if (s && s != this && ir_is_block(p, s) &&
        ir_scope_of(p, s) == ir_scope_of(p, this) && fuzz_below(f, ++n) == 0)
      found = f->seen[i];
  }
  return found;
}

/* A loop, a block, or a block and one that follows it, or any other. */
static vm_value draw_nodes(fuzz *f) {
  vm_value v[2] = {vm_var(f->block)};
  uint32_t n = 1, k;
  if (fuzz_below(f, 4)) {
    v[0] = vm_var(fuzz_any_loop(f));
  } else if (fuzz_below(f, 4) == 0) {
    vm_rv b = another_block(f);
    if (b) v[n++] = vm_var(b);
  } else if (fuzz_below(f, 2)) {
    vm_rv b = fuzz_get(f, "get_consumers", v[0], &k);
    if (b) v[n++] = vm_var(b + fuzz_below(f, k));
  }
  return vm_list(&f->pool, n, v);
}

/* A loop whose extent is no constant. */
static bool is_open(const fuzz *f, vm_value loop) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt s = loop.tag == VM_RV ? fuzz_stmt(f, loop.rv) : 0;
  int64_t unused;
  return s && ir_is_loop(p, s) &&
         !ir_const_int(p, ir_st(p, s)->extent, &unused);
}

/* Factors of a loop's extent: divisors and the rest, one left open, a
 * product that is larger, or nonsense.  Of one that is not known anything is
 * left to the first. */
static vm_value draw_factors(fuzz *f, vm_value loop) {
  enum { ALL_DIVIDE = 840 };
  int64_t left = loop.tag == VM_RV ? fuzz_extent(f, loop.rv) : 8;
  uint32_t n = 2 + fuzz_below(f, 3), open = fuzz_below(f, 2 * n);
  if (is_open(f, loop) && fuzz_below(f, 8)) open = 0, left = ALL_DIVIDE;
  bool even = fuzz_below(f, 3) != 0;
  vm_value v[FUZZ_MAX_LIST];
  for (uint32_t i = 0; i < n; i++) {
    int64_t x = fuzz_below(f, 4) ? 1 + fuzz_below(f, 8) : 1;
    for (int64_t d = x; even && d > 0; d--)
      if (left % d == 0) {
        x = d;
        break;
      }
    left = (left + x - 1) / x;
    v[i] = i == open ? vm_auto() : vm_int(x);
  }
  if (open >= n && left > 1) v[n++] = vm_int(left);
  if (fuzz_below(f, 24) == 0)
    v[fuzz_below(f, n)] = vm_int((int64_t)fuzz_below(f, 5) - 2);
  return vm_list(&f->pool, n, v);
}

static vm_value draw_ints(fuzz *f) {
  vm_value v[FUZZ_MAX_LIST];
  uint32_t n = 1 + fuzz_below(f, 4);
  for (uint32_t i = 0; i < n; i++) v[i] = vm_int(fuzz_below(f, 4));
  if (fuzz_below(f, 2))
    for (uint32_t i = 0; i < n; i++) v[i] = vm_int(i);
  return vm_list(&f->pool, n, v);
}

static vm_value draw_reals(fuzz *f) {
  vm_value v[FUZZ_MAX_LIST];
  uint32_t n = 1 + fuzz_below(f, 4);
  for (uint32_t i = 0; i < n; i++) v[i] = vm_real(0.25 * fuzz_below(f, 5));
  return vm_list(&f->pool, n, v);
}

static vm_value draw_str(fuzz *f, const char *name) {
  static const char *const axes[] = {"threadIdx.x", "threadIdx.y", "blockIdx.x",
                                     "vthread.x"};
  static const char *const scopes[] = {"global", "global", "local",
                                       "shared", "shared", "global.vtcm"};
  static const char *const keys[] = {"pragma_auto_unroll_max_step",
                                     "pragma_vectorize", "note"};
  const char *s = keys[fuzz_below(f, 3)];
  if (fuzz_below(f, 40) == 0)
    s = "nowhere";
  else if (!strcmp(name, "thread_axis"))
    s = axes[fuzz_below(f, 4)];
  else if (!strcmp(name, "storage_scope"))
    s = scopes[fuzz_below(f, 6)];
  return vm_str(&f->pool, s, strlen(s));
}

/* Which of the buffers that the block in focus reads, or writes. */
static int64_t buffer_index(fuzz *f, const char *name) {
  ir_stmt b = fuzz_stmt(f, f->block);
  if (!b || fuzz_below(f, 16) == 0) return (int64_t)fuzz_below(f, 4) - 1;
  const ir_block_rec *k = ir_blk(&f->s.m.prog, b);
  uint32_t n = strstr(name, "write") ? k->writes.n : k->reads.n;
  return n ? fuzz_below(f, n) : 0;
}

static vm_value draw_int(fuzz *f, const char *name) {
  static const int8_t index[] = {-1, -1, -2, 0, 1, 2};
  if (!strcmp(name, "index")) return vm_int(index[fuzz_below(f, 6)]);
  if (strstr(name, "buffer_index")) return vm_int(buffer_index(f, name));
  return vm_int(1 + fuzz_below(f, 4));
}

static vm_value draw_expr(fuzz *f, const char *name) {
  vm_rv v = fuzz_below(f, 3) ? 0 : fuzz_any_int(f);
  return v ? vm_var(v) : draw_int(f, name);
}

/* A consumer, or sometimes a block in it. */
static vm_value draw_blocks(fuzz *f) {
  uint32_t n, k = 0;
  vm_rv b = fuzz_get(f, "get_consumers", vm_var(f->block), &n);
  vm_value v = vm_var(b ? b + fuzz_below(f, n) : any(f));
  if (b && fuzz_below(f, 3) == 0) {
    vm_rv in = fuzz_get(f, "get_child_blocks", v, &k);
    if (in) v = vm_var(in + fuzz_below(f, k));
  }
  return vm_list(&f->pool, 1, &v);
}

/* A buffer by its place among those read or written, with or without saying
 * which of the two, or by its name. */
static vm_value draw_buffer(fuzz *f, const char *operand) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt b = fuzz_stmt(f, f->block);
  bool write = strstr(operand, "write") ||
               (!strstr(operand, "read") && fuzz_below(f, 2));
  bool other = fuzz_below(f, 16) == 0;
  int64_t i = buffer_index(f, write ? "write" : "read");
  ir_span r = !b               ? (ir_span){0, 0}
              : write != other ? ir_blk(p, b)->writes
                               : ir_blk(p, b)->reads;
  uint32_t way = fuzz_below(f, 4);
  if (way == 0 && r.n && b && fuzz_below(f, 8) == 0) {
    ir_buf buf = p->region.v[r.at + fuzz_below(f, r.n)].buf;
    const char *name = ir_text(p, p->buf.v[buf].name);
    return vm_str(&f->pool, name, strlen(name));
  }
  bool plain = strstr(operand, "read") || strstr(operand, "write");
  if (way < 3 && (plain || fuzz_below(f, 12) == 0)) return vm_int(i);
  const char *side = write != other ? "write" : "read";
  vm_value v[2] = {vm_str(&f->pool, side, strlen(side)), vm_int(i)};
  return vm_list(&f->pool, 2, v);
}

/* One operand by its kind; `first` is the value of the first one. */
static vm_value draw(fuzz *f, const sch_spec *s, vm_value first) {
  switch ((sch_kind)s->kind) {
  case SCH_KIND_BLOCK: return vm_var(fuzz_below(f, 32) ? f->block : any(f));
  case SCH_KIND_LOOP: return vm_var(fuzz_any_loop(f));
  case SCH_KIND_NODE:
    return fuzz_below(f, 2) ? vm_var(f->block) : vm_var(fuzz_any_loop(f));
  case SCH_KIND_BLOCKS: return draw_blocks(f);
  case SCH_KIND_LOOPS: return fuzz_loops(f);
  case SCH_KIND_NODES: return draw_nodes(f);
  case SCH_KIND_FACTORS: return draw_factors(f, first);
  case SCH_KIND_INTS: return draw_ints(f);
  case SCH_KIND_REALS: return draw_reals(f);
  case SCH_KIND_BOOL: return vm_bool(fuzz_below(f, 2));
  case SCH_KIND_REAL: return vm_real(0.5);
  case SCH_KIND_STR: return draw_str(f, s->name);
  case SCH_KIND_INT: return draw_int(f, s->name);
  case SCH_KIND_EXPR:
  case SCH_KIND_VALUE: return draw_expr(f, s->name);
  case SCH_KIND_BUFFER: return draw_buffer(f, s->name);
  case SCH_KIND_INDEX_MAP: return fuzz_iter_layout(f, &first);
  case SCH_KIND_FILL: return vm_int((int64_t)fuzz_below(f, 3) - 1);
  case SCH_KIND_DTYPE: return vm_str(&f->pool, "float32", 7);
  case SCH_KIND_VAR:
  case SCH_KIND_VARS: break;
  }
  return vm_nil();
}

/* ---- a step ------------------------------------------------------------- */

bool fuzz_may_refuse(const sch_prim *p, uint32_t reason) {
  for (const uint16_t *r = p->refusals; r && *r; r++)
    if (*r == reason) return true;
  return false;
}

/* One of the words before the colon. */
static bool is_named(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *s = text; s && *s && *s != ':'; s++) {
    size_t word = strcspn(s, " ,:");
    if (word == n && !memcmp(s, name, n)) return true;
    s += word ? word - 1 : 0;
  }
  return false;
}

static bool is_wanted(const fuzz *f, const sch_prim *p) {
  return (f->o->reason && fuzz_may_refuse(p, f->o->reason)) ||
         is_named(f->o->about, p->name);
}

/* Getters are called anyway; programs for the compiler have no threads.  What
 * may change the computation, or is not for people to call, only where the
 * table says how. */
static const sch_prim *draw_choose(fuzz *f) {
  uint32_t w[FUZZ_MAX_PRIMS];
  uint32_t n = sch_nprims < FUZZ_MAX_PRIMS ? sch_nprims : FUZZ_MAX_PRIMS;
  for (uint32_t i = 0; i < n; i++) {
    const sch_prim *p = sch_prims[i];
    const fuzz_hint *h = fuzz_hint_of(p);
    w[i] = p->flags & (SCH_HIDDEN | SCH_UNSAFE) && !h->prim   ? 0
           : p->flags & SCH_PURE && !(p->flags & SCH_SAMPLES) ? 1
                                                              : h->weight;
    if (fuzz_is_exact(f) && !strcmp(p->name, "bind")) w[i] = 0;
    if (!fuzz_has_intrins(f) && !strcmp(p->name, "tensorize")) w[i] = 0;
    if (w[i] && is_wanted(f, p)) w[i] = 8 * w[i] + 4;
  }
  return sch_prims[rng_weighted(&f->r, w, n)];
}

static void draw_operands(fuzz *f, const sch_prim *p, const fuzz_hint *h,
                          vm_value *v) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *s = &p->specs[i];
    fuzz_draw *known = fuzz_hint_operand(h, s->name);
    bool wanted =
        (known && h->all) || s->dflt.required || fuzz_below(f, 3) == 0;
    v[i] = vm_nil();
    if (s->role != SCH_ROLE_OUT && s->role != SCH_ROLE_DECISION && wanted)
      v[i] = known ? known(f, v) : draw(f, s, v[0]);
  }
}

tess_status fuzz_call(fuzz *f, const sch_prim *p, const vm_value *v) {
  vm_call c = {.prim = p, .pool = &f->pool, .operand = v};
  const fuzz_hint *h = fuzz_hint_of(p);
  vm_rv first = 0;
  uint32_t n = 0;
  ir_program_copy(&f->before, &f->s.m.prog);
  vm_trace_copy(&f->trace_before, &f->s.trace);
  if (f->o->note) fuzz_note(f, &c);
  tess_status st = vm_sched_call(&f->s, &c, &first, &n);
  fuzz_count(f, p, st);
  if (st) return st;
  see(f, first, n);
  if (h->after) h->after(f, v, first, n);
  return st;
}

tess_status fuzz_step(fuzz *f, const sch_prim **prim) {
  const sch_prim *p;
  const fuzz_hint *h;
  vm_value v[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  vm_trace_reset(&f->pool);
  uint32_t tries = 4;
  do {
    p = draw_choose(f);
    h = fuzz_hint_of(p);
  } while (!focus(f, h) && --tries);
  *prim = p;
  draw_operands(f, p, h, v);
  f->spoiled = NULL;
  if (fuzz_below(f, 24) == 0) fuzz_spoil(f, p, v);
  return fuzz_call(f, p, v);
}
