/* SPDX-License-Identifier: Apache-2.0
 * Random calls of every primitive, with operands generated from their kinds: a
 * refusal changes nothing, a recorded call replays, prints, parses and survives
 * each allocation failing; every sampler is consistent with itself. */
#include "base/rng.h"
#include "ir/query.h"
#include "support/program.h"
#include "support/test.h"
#include "support/trace.h"
#include "vm/exec.h"
#include "vm/text/text.h"

#include <math.h>
#include <stdio.h>

enum { RUNS = 600, STEPS = 40, MAX_PRIMS = 128 };

typedef struct play {
  test_heap mem;
  ir_program base;
  vm_sched s;
  rng r;
  vm_value operand[VM_MAX_SPECS];
  vm_call call;
  uint32_t accepted[MAX_PRIMS], refused[MAX_PRIMS];
} play;

static tess_status random_build(void *ud) {
  play *p = ud;
  static const int64_t sizes[] = {1, 7, 12, 16, 32, 64};
  int64_t s[3];
  for (int i = 0; i < 3; i++) s[i] = sizes[rng_below(&p->r, 6)];
  ir_program_init(&p->base, &p->mem.heap);
  uint64_t k = rng_below(&p->r, 9);
  if (k < 3)
    test_matmul_relu(&p->base, s[0], s[1], s[2]);
  else if (k == 3)
    test_matmul_add(&p->base, s[0], s[1], s[2]);
  else if (k < 7)
    test_windows(&p->base, s[0]);
  else
    test_shift_relu(&p->base, s[0], s[1]);
  return TESS_OK;
}

/* ---- random operands ---------------------------------------------------- */

static uint32_t random_pick(play *p, uint32_t n) {
  return (uint32_t)rng_below(&p->r, n);
}

/* A variable of that kind, likely a recent one; 0: there is none. */
static vm_rv some_rv(play *p, unsigned kinds) {
  vm_rv found = 0;
  uint32_t seen = 0;
  const vm_trace *t = &p->s.trace;
  for (vm_rv v = t->rv.n; v-- > 1 && seen < 12;) {
    if (!(kinds >> t->rv.v[v] & 1)) continue;
    if (t->rv.v[v] != VM_RV_INT && !vm_sched_stmt(&p->s, v) &&
        random_pick(p, 8))
      continue;
    if (random_pick(p, ++seen) == 0) found = v;
  }
  return found;
}

static vm_value some_int(play *p) {
  static const int64_t ints[] = {-2, -1, 0, 1, 1, 2, 2, 3, 4, 8, 16, 64};
  vm_rv v = random_pick(p, 2) ? some_rv(p, 1u << VM_RV_INT) : 0;
  return v ? vm_var(v) : vm_int(ints[random_pick(p, 12)]);
}

static vm_value some_text(play *p) {
  static const char *const texts[] = {
      "C",           "D",          "root",    "global", "local",
      "threadIdx.x", "blockIdx.y", "vthread", "pragma", "tiling_structure",
      "float32",     "float16",    "read",    "write"};
  const char *s = texts[random_pick(p, 3) ? random_pick(p, 14) : 8];
  return vm_str(&p->s.draft, s, strlen(s));
}

static vm_value some_value(play *p) {
  switch (random_pick(p, 6)) {
  case 0: return vm_bool(random_pick(p, 2));
  case 1: return vm_real(0.5 * random_pick(p, 9));
  case 2: return some_text(p);
  case 3: {
    vm_value e[2] = {some_int(p), some_text(p)};
    return vm_list(&p->s.draft, 2, e);
  }
  default: return some_int(p);
  }
}

static vm_value some_factor(play *p, uint32_t i) {
  if (i == 0 && random_pick(p, 2)) return vm_auto();
  vm_value a = some_int(p);
  return random_pick(p, 8) ? a : vm_op(&p->s.draft, IR_MUL, a, vm_int(1));
}

static vm_value some_buffer(play *p) {
  vm_trace *pool = &p->s.draft;
  if (!random_pick(p, 4)) return vm_int((int64_t)random_pick(p, 4) - 1);
  if (!random_pick(p, 4)) return vm_str(pool, "C", 1);
  vm_value v[2] = {random_pick(p, 2) ? vm_str(pool, "read", 4)
                                     : vm_str(pool, "write", 5),
                   vm_int(random_pick(p, 2))};
  return vm_list(pool, 2, v);
}

static vm_value some_map(play *p) {
  static const char *const texts[] = {"(i, j) -> (j, i)",
                                      "(i, j) -> (i // 4, j, i % 4)",
                                      "(i, j) -> (i * 16 + j)",
                                      "(i, j, k) -> (j, i, k)",
                                      "(i) -> (i // 2)",
                                      "(i, j) -> (i, i + 1, j, j + 1)",
                                      "(i, j, k) -> (i, i + 1, k, k + 1)",
                                      "(i, j) -> (i // $1, j, i % $1)"};
  uint32_t k = random_pick(p, 8);
  vm_value v[2] = {vm_str(&p->s.draft, texts[k], strlen(texts[k]))};
  if (k < 7) return v[0];
  v[1] = some_int(p);
  return vm_list(&p->s.draft, 2, v);
}

static vm_value some_list(play *p, const sch_spec *sp);

static vm_value some_operand(play *p, const sch_spec *sp) {
  enum { BLOCK = 1 << VM_RV_BLOCK, LOOP = 1 << VM_RV_LOOP };
  if (sp->role == SCH_ROLE_OUT || sp->role == SCH_ROLE_DECISION)
    return vm_nil();
  if (!sp->dflt.required && random_pick(p, 2)) return vm_nil();
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_BLOCK: return vm_var(some_rv(p, BLOCK));
  case SCH_KIND_LOOP: return vm_var(some_rv(p, LOOP));
  case SCH_KIND_NODE:
    return vm_var(some_rv(p, random_pick(p, 2) ? BLOCK : LOOP));
  case SCH_KIND_INT: return vm_int((int64_t)random_pick(p, 5) - 1);
  case SCH_KIND_BOOL: return vm_bool(random_pick(p, 2));
  case SCH_KIND_REAL: return vm_real(random_pick(p, 3));
  case SCH_KIND_STR:
    if (!strcmp(sp->name, "storage_scope") && random_pick(p, 4))
      return vm_str(&p->s.draft, "local", 5);
    if (!strcmp(sp->name, "buf_type") && random_pick(p, 4))
      return random_pick(p, 4) ? vm_str(&p->s.draft, "read", 4)
                               : vm_str(&p->s.draft, "write", 5);
    return some_text(p);
  case SCH_KIND_DTYPE: return some_text(p);
  case SCH_KIND_BUFFER: return some_buffer(p);
  case SCH_KIND_INDEX_MAP: return some_map(p);
  case SCH_KIND_FILL: return random_pick(p, 4) ? some_int(p) : some_map(p);
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: return some_int(p);
  case SCH_KIND_VALUE: return some_value(p);
  default: return some_list(p, sp);
  }
}

/* 0 .. n-1 in some order. */
static vm_value some_order(play *p) {
  vm_value e[3] = {vm_int(0), vm_int(1), vm_int(2)};
  uint32_t n = 2 + random_pick(p, 2);
  for (uint32_t i = n; i-- > 1;) {
    uint32_t k = random_pick(p, i + 1);
    vm_value was = e[i];
    e[i] = e[k];
    e[k] = was;
  }
  return vm_list(&p->s.draft, n, e);
}

static vm_value some_list(play *p, const sch_spec *sp) {
  vm_value e[4];
  if (sp->kind == SCH_KIND_INTS && random_pick(p, 2)) return some_order(p);
  uint32_t n = 1 + random_pick(p, 4);
  if (sp->kind == SCH_KIND_LOOPS && !random_pick(p, 3)) {
    e[0] = vm_var(some_rv(p, 1u << VM_RV_LOOP));
    e[1] = vm_var(some_rv(p, 1u << VM_RV_LOOP));
    return vm_list(&p->s.draft, 2, e);
  }
  bool nodes = sp->kind == SCH_KIND_NODES;
  bool loops = sp->kind == SCH_KIND_LOOPS || (nodes && random_pick(p, 2));
  vm_rv from = some_rv(p, 1u << (loops ? VM_RV_LOOP : VM_RV_BLOCK));
  if (nodes && random_pick(p, 2)) n = 1;
  for (uint32_t i = 0; i < n; i++) {
    if (nodes || loops || sp->kind == SCH_KIND_BLOCKS) {
      /* Neighbours in the trace are often neighbours in the program. */
      vm_rv rv = random_pick(p, 2) ? from + i : from + n - 1 - i;
      bool fits =
          rv < p->s.trace.rv.n && p->s.trace.rv.v[rv] == p->s.trace.rv.v[from];
      e[i] = vm_var(fits ? rv : from);
    } else if (sp->kind == SCH_KIND_FACTORS) {
      e[i] = some_factor(p, i);
    } else if (sp->kind == SCH_KIND_REALS) {
      e[i] = vm_real(1.0 / n);
    } else {
      e[i] = vm_int((int64_t)random_pick(p, 4) * 2);
    }
  }
  return vm_list(&p->s.draft, n, e);
}

static void make_call(play *p, const sch_prim *prim) {
  vm_trace_reset(&p->s.draft);
  for (uint32_t i = 0; i < prim->nspecs; i++)
    p->operand[i] = some_operand(p, &prim->specs[i]);
  p->call = (vm_call){.prim = prim, .pool = &p->s.draft, .operand = p->operand};
}

/* ---- properties --------------------------------------------------------- */

typedef struct print {
  uint64_t trace;
  strbuf text;
} print;

static void take_print(const vm_sched *s, print *out) {
  ir_print_opts o = {.regions = true};
  out->trace = vm_trace_hash(&s->trace);
  str_clear(&out->text);
  ir_print(&s->m.prog, &o, &out->text);
}

static void assert_same_print(const vm_sched *s, const print *was,
                              const char *prim) {
  print now;
  str_init(&now.text, s->heap);
  take_print(s, &now);
  if (now.trace != was->trace ||
      strcmp(str_get(&now.text), str_get(&was->text)) != 0)
    fail_msg("%s was refused, and changed something", prim);
  str_free(&now.text);
}

/* The same call with the 1st, 2nd, ... allocation failing. */
static tess_status call_failing(play *p, print *was) {
  for (uint64_t n = 1;; n++) {
    vm_rv first;
    uint32_t nout;
    fault_arm(&p->mem.fault, n);
    tess_status st = vm_sched_call(&p->s, &p->call, &first, &nout);
    bool failed = p->mem.fault.failed != 0;
    p->mem.fault.fail_at = 0;
    if (!failed) return st;
    if (st != TESS_NOMEM)
      fail_msg("%s: status %d where memory ran out", p->call.prim->name,
               (int)st);
    assert_same_print(&p->s, was, p->call.prim->name);
  }
}

static void random_step(play *p, print *was) {
  uint32_t k = random_pick(p, sch_nprims);
  vm_rv first;
  uint32_t nout;
  char why[1024];
  make_call(p, sch_prims[k]);
  take_print(&p->s, was);
  tess_status asked = vm_sched_can(&p->s, &p->call);
  assert_same_print(&p->s, was, p->call.prim->name);
  /* Once in a while with every allocation of the call failing. */
  tess_status st = random_pick(p, 20)
                       ? vm_sched_call(&p->s, &p->call, &first, &nout)
                       : call_failing(p, was);
  assert_int_equal(asked, st);
  if (st == TESS_OK) {
    p->accepted[k]++;
    return;
  }
  p->refused[k]++;
  assert_same_print(&p->s, was, p->call.prim->name);
  test_why(&p->s, why, sizeof why);
  if (st != TESS_REFUSED && st != TESS_INVALID && st != TESS_TYPE &&
      st != TESS_DEAD && st != TESS_LIMIT)
    fail_msg("%s: %s", err_status_name(st), why);
  if (!why[0] || strchr(why, '{') > strchr(why, '}') || strchr(why, '\n'))
    fail_msg("%s: bad sentence: %s", p->call.prim->name, why);
}

static void read_back(const vm_trace *t, mem_heap *heap, bool lua) {
  vm_trace back = {.heap = heap};
  err_state err;
  strbuf text;
  str_init(&text, heap);
  if (lua)
    vm_write_lua(t, &text);
  else
    vm_write_json(t, NULL, &text);
  vm_trace_init(&back, heap);
  tess_status st =
      lua ? vm_read_lua(&back, str_get(&text), text.n, &err)
          : vm_read_json(&back, str_get(&text), text.n, NULL, &err);
  if (st != TESS_OK)
    fail_msg("%s (%s)\n%s", err.message, err.place, str_get(&text));
  assert_true(vm_trace_equal(t, &back));
  vm_trace_free(&back);
  str_free(&text);
}

static void replay_again(play *p, print *was) {
  vm_sched again;
  vm_replay_opts o = {.source = VM_SAME};
  char why[1024];
  take_print(&p->s, was);
  if (vm_sched_replay(&again, &p->mem.heap, &p->base, &p->s.trace, &o) !=
      TESS_OK)
    fail_msg("%s", test_why(&again, why, sizeof why));
  assert_true(vm_trace_equal(&again.trace, &p->s.trace));
  assert_same_print(&again, was, "replay");
  vm_sched_free(&again);
}

/* Without dead instructions the trace makes the same program. */
static void simplify_and_replay(play *p, print *was) {
  vm_trace t;
  vm_sched again;
  arena scratch;
  vm_replay_opts o = {.source = VM_SAME};
  arena_init(&scratch, &p->mem.heap);
  vm_trace_init(&t, &p->mem.heap);
  vm_simplify(&t, &p->s.trace, &scratch);
  assert_true(t.inst.n <= p->s.trace.inst.n);
  assert_int_equal(vm_sched_replay(&again, &p->mem.heap, &p->base, &t, &o),
                   TESS_OK);
  print now;
  str_init(&now.text, &p->mem.heap);
  take_print(&again, &now);
  assert_string_equal(str_get(&now.text), str_get(&was->text));
  str_free(&now.text);
  vm_sched_free(&again);
  vm_trace_free(&t);
  arena_free(&scratch);
}

/* ---- samplers ----------------------------------------------------------- */

enum { MANY = 4000, FEW = 40, LONGEST = 64, NUMBERS = 16 };

static uint64_t random_position(vm_machine *m, const sch_sampler *s,
                                uint64_t count, uint32_t n, const int64_t *d) {
  int64_t at[LONGEST];
  for (uint64_t i = 0; i < count; i++) {
    s->at(&m->state, m->args, i, at);
    if (!memcmp(at, d, n * sizeof *d)) return i;
  }
  fail_msg("a decision that was drawn is not enumerated");
  return count;
}

/* Observed frequencies agree with logp: each within six deviations. */
static void check_frequencies(vm_machine *m, const sch_sampler *s,
                              uint64_t count, uint32_t n, rng *r) {
  uint32_t hits[FEW] = {0};
  int64_t d[LONGEST];
  for (int i = 0; i < MANY; i++) {
    s->draw(&m->state, m->args, r, d);
    hits[random_position(m, s, count, n, d)]++;
  }
  for (uint64_t i = 0; i < count; i++) {
    s->at(&m->state, m->args, i, d);
    double p = exp(s->logp(&m->state, m->args, d));
    double sigma = sqrt(MANY * p * (1 - p));
    assert_true(fabs(hits[i] - MANY * p) <= 6 * sigma + 1);
  }
}

static void check_space(vm_machine *m, const sch_sampler *s, uint64_t count,
                        uint32_t n) {
  double sum = 0;
  int64_t d[LONGEST];
  for (uint64_t i = 0; i < count; i++) {
    s->at(&m->state, m->args, i, d);
    assert_true(s->admit(&m->state, m->args, n, d));
    sum += exp(s->logp(&m->state, m->args, d));
  }
  assert_true(fabs(sum - 1) < 1e-6);
}

static void check_moves(vm_machine *m, const sch_sampler *s, uint64_t count,
                        uint32_t n, rng *r) {
  int64_t d[LONGEST], to[LONGEST];
  double numbers[NUMBERS];
  s->draw(&m->state, m->args, r, d);
  assert_true(s->admit(&m->state, m->args, n, d));
  uint32_t width = s->embed(&m->state, m->args, d, numbers);
  assert_true(width <= NUMBERS);
  for (int i = 0; i < 20; i++) {
    if (!s->neighbour(&m->state, m->args, d, r, to)) {
      assert_true(count == 1);
      break;
    }
    assert_true(memcmp(d, to, n * sizeof *d) != 0);
    assert_true(s->admit(&m->state, m->args, n, to));
    assert_int_equal(s->embed(&m->state, m->args, to, numbers), width);
    memcpy(d, to, n * sizeof *d);
  }
  for (int i = 0; i < 20; i++) {
    int64_t stale[8];
    uint32_t len = (uint32_t)rng_below(r, 8);
    for (uint32_t k = 0; k < len; k++) stale[k] = (int64_t)rng_below(r, 40) - 4;
    s->repair(&m->state, m->args, len, stale, to);
    assert_true(s->admit(&m->state, m->args, n, to));
    s->repair(&m->state, m->args, n, d, to);
    assert_memory_equal(to, d, n * sizeof *d);
  }
}

typedef struct visit {
  rng *r;
  uint32_t *seen;
} visit;

/* Queries the sampler of the instruction about to be applied. */
static void check_sampler(void *ud, vm_machine *m, const vm_inst *in) {
  visit *v = ud;
  const sch_sampler *s = in->prim->sampler;
  uint32_t n;
  assert_true(s->size(&m->state, m->args, &n));
  assert_true(n <= LONGEST);
  uint64_t count = s->count(&m->state, m->args);
  assert_true(count >= 1);
  assert_true(s->admit(&m->state, m->args, m->dec.n, m->dec.v));
  check_moves(m, s, count, n, v->r);
  if (count <= MANY) check_space(m, s, count, n);
  if (count <= FEW) check_frequencies(m, s, count, n, v->r);
  v->seen[0]++;
}

static void check_samplers(play *p, uint32_t *seen) {
  vm_machine m;
  visit v = {&p->r, seen};
  vm_replay_opts o = {.source = VM_SAME, .visit = check_sampler, .ud = &v};
  vm_machine_init(&m, &p->mem.heap);
  assert_int_equal(vm_replay(&m, &p->base, &p->s.trace, &o, NULL), TESS_OK);
  vm_machine_free(&m);
}

/* ---- the test ----------------------------------------------------------- */

/* C is accumulated in place, where it is a sum. */
static void decompose(play *p, vm_rv block, vm_rv loop) {
  vm_value v[VM_MAX_SPECS] = {vm_var(block), vm_var(loop)};
  vm_call c = {.prim = sch_find_prim("decompose_reduction"),
               .pool = &p->s.draft,
               .operand = v};
  vm_rv out;
  uint32_t n;
  (void)vm_sched_call(&p->s, &c, &out, &n);
}

static void random_begin(play *p, uint64_t seed) {
  rng_init(&p->r, seed, 0);
  test_heap_start(&p->mem, 0);
  assert_int_equal(mem_protect(&p->mem.heap, random_build, p), TESS_OK);
  assert_int_equal(vm_sched_init(&p->s, &p->mem.heap, &p->base, seed), TESS_OK);
  uint32_t n;
  static const char *const names[] = {"C", "D"};
  for (int i = 0; i < 2; i++) {
    vm_rv b = test_block(&p->s, names[i]), l = test_loops(&p->s, b, &n);
    if (i == 0 && seed % 4 == 0) decompose(p, b, l);
  }
}

static void random_run(play *p, uint64_t seed, uint32_t *sampled) {
  print was;
  random_begin(p, seed);
  str_init(&was.text, &p->mem.heap);
  for (int i = 0; i < STEPS; i++) random_step(p, &was);
  replay_again(p, &was);
  simplify_and_replay(p, &was);
  read_back(&p->s.trace, &p->mem.heap, false);
  read_back(&p->s.trace, &p->mem.heap, true);
  if (seed % 10 == 0) check_samplers(p, sampled);
  str_free(&was.text);
  vm_sched_free(&p->s);
  ir_program_free(&p->base);
  test_heap_end(&p->mem);
}

/* Random operands do not suit these; they have tests of their own. */
static bool is_hard(const char *name) {
  static const char *const hard[] = {"annotate_buffer_access",
                                     "cache_inplace",
                                     "hoist_invariant_factor",
                                     "reindex_cache_write",
                                     "restrict_values",
                                     "rolling_update",
                                     "tensorize",
                                     "unsafe_hide_buffer_access"};
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
    if (!strcmp(hard[i], name)) return true;
  return false;
}

static void test_random_calls(void **state) {
  (void)state;
  static play p;
  uint32_t sampled = 0;
  assert_true(sch_nprims <= MAX_PRIMS);
  for (uint64_t seed = 1; seed <= RUNS; seed++) random_run(&p, seed, &sampled);
  assert_true(sampled > 20);
  for (uint32_t k = 0; k < sch_nprims; k++) {
    print_message("%-28s %6u applied %6u refused\n", sch_prims[k]->name,
                  p.accepted[k], p.refused[k]);
  }
  for (uint32_t k = 0; k < sch_nprims; k++)
    if (!p.accepted[k] && !is_hard(sch_prims[k]->name))
      fail_msg("%s never applied", sch_prims[k]->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
