/* SPDX-License-Identifier: Apache-2.0
 * The random tester: calls that statements make for what they do.  The
 * generator numbers them, and their function is told the number and the
 * place.  Schedules keep which calls are made and how often; in a block the
 * order of those whose spatial iters are the same; and of two statements that
 * call, where the loops around them run one iteration after the other, that
 * they take turns as they are written. */
#include "base/hash.h"
#include "ir/analysis/analysis.h"
#include "schedule/sch.h"
#include "random/fuzz.h"

#include <string.h>

/* The calls of the run at work: compiled code knows no other place for it.
 * Its threads are told apart by nobody, so all that is kept of what they
 * call is a sum. */
static fuzz_calls at_work;

static uint64_t mix(uint64_t a, uint64_t b) {
  return hash_bytes((uint64_t[]){a, b}, 2 * sizeof a);
}

/* What calls with the same spatial iters came to, in their order; of a run.
 * It is as long as programs are small. */
enum { CHAINS = 1 << 14 };
static struct chain { uint64_t key, value; /* key 0: free */ } chains[CHAINS];

static void note_order(fuzz_calls *c, uint64_t key, uint64_t h) {
  uint64_t at = key % CHAINS, left = CHAINS / 2;
  while (chains[at].key && chains[at].key != key && --left)
    at = (at + 1) % CHAINS;
  if (!left) return;
  chains[at].key = key;
  uint64_t old = chains[at].value;
  chains[at].value = mix(old, h);
  c->order += mix(key, chains[at].value) - (old ? mix(key, old) : 0);
}

static void note_call(fuzz_calls *c, const int64_t args[FUZZ_CALL_ARGS]) {
  uint64_t h = hash_bytes(args, FUZZ_CALL_ARGS * sizeof *args);
  __atomic_fetch_add(&c->all, h, __ATOMIC_RELAXED);
  if (c->many) return;
  uint64_t turn = (uint64_t)args[0] + 1;
  uint32_t same = c->same[args[0] % FUZZ_CALLS];
  uint64_t key = turn;
  for (uint32_t i = 1; i < FUZZ_CALL_ARGS; i++)
    if (same >> i & 1) key = mix(key, (uint64_t)args[i]);
  if (same) note_order(c, key, h);
  if (!(c->always >> args[0] % FUZZ_CALLS & 1)) return;
  if (turn != c->last) c->turns = mix(c->turns, turn);
  c->last = turn;
}

/* The function that compiled code calls. */
__attribute__((visibility("default"))) int64_t
note(int64_t site, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e);
int64_t note(int64_t site, int64_t a, int64_t b, int64_t c, int64_t d,
             int64_t e) {
  note_call(&at_work, (int64_t[]){site, a, b, c, d, e});
  return 0;
}

static bool interpreted(void *ud, const char *name, tess_dtype t, uint32_t n,
                        const interp_word *args, interp_word *result) {
  int64_t x[FUZZ_CALL_ARGS];
  (void)t;
  if (strcmp(name, "note") || n != FUZZ_CALL_ARGS) return false;
  for (uint32_t i = 0; i < n; i++) x[i] = args[i].i;
  note_call(ud, x);
  result->i = 0;
  return true;
}

/* ---- what is promised --------------------------------------------------- */

static bool is_call(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind == IR_EVALUATE && ir_at(p, r->eval)->op == IR_CALL &&
         ir_at(p, r->eval)->a == IR_FN_EXTERN;
}

static uint32_t arg_of(const ir_program *p, ir_stmt call, uint32_t i) {
  return p->arg.v[ir_at(p, ir_st(p, call)->eval)->b + i];
}

/* The argument that is variable v; 0: none is. */
static uint32_t find_arg(const ir_program *p, ir_stmt call, ir_var v) {
  uint32_t i = FUZZ_CALL_ARGS - 1;
  while (i && arg_of(p, call, i) != p->var.v[v].ref) i--;
  return i;
}

/* Bits of the arguments that are spatial iters of the blocks around; 0: not
 * all of those are arguments, or there are no others, and so is no order. */
static uint32_t same_args(const ir_program *p, ir_stmt call) {
  uint32_t bits = 1, others = 0;
  for (ir_stmt a = call; a; a = ir_st(p, a)->parent) {
    ir_span it = ir_is_block(p, a) ? ir_blk(p, a)->iters : (ir_span){0, 0};
    for (uint32_t k = it.at; k < it.at + it.n; k++) {
      bool spatial = p->iter.v[k].kind == IR_SPATIAL;
      uint32_t i = spatial ? find_arg(p, call, p->iter.v[k].var) : 0;
      if (spatial && !i) return 0;
      bits |= 1u << i;
      others += !spatial;
    }
  }
  return others ? bits : 0;
}

/* s runs whenever what is around it does, and as often each time: a loop of
 * another length in each iteration of the loop around it gives others turns
 * where those iterations come in another order, which they may. */
static bool always_runs(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->in_alt) return false;
  if (r->kind == IR_LOOP) return ir_is_invariant(p, r->extent);
  return r->kind == IR_BLOCK ? !ir_blk(p, s)->pred : r->kind != IR_IF;
}

void fuzz_begin_calls(fuzz *f) {
  const ir_program *p = &f->base;
  ir_stmt root = ir_entry(p)->root;
  f->wanted = (fuzz_calls){.all = 0};
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!is_call(p, s)) continue;
    int64_t number = 0;
    bool always = true;
    ir_const_int(p, arg_of(p, s, 0), &number);
    for (ir_stmt a = s; a; a = ir_st(p, a)->parent) always &= always_runs(p, a);
    f->wanted.always |= (uint64_t)always << number % FUZZ_CALLS;
    f->wanted.same[number % FUZZ_CALLS] = same_args(p, s);
  }
}

/* A loop around a call is other than one iteration after the other. */
static bool runs_at_once(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    for (ir_stmt a = s; a && is_call(p, s); a = ir_st(p, a)->parent)
      if (ir_is_loop(p, a) && ir_st(p, a)->loop_kind != IR_SERIAL &&
          ir_st(p, a)->loop_kind != IR_UNROLLED)
        return true;
  return false;
}

/* ---- runs --------------------------------------------------------------- */

void fuzz_watch_calls(fuzz *f, interp_options *o) {
  f->calls = (fuzz_calls){.always = f->wanted.always};
  memcpy(f->calls.same, f->wanted.same, sizeof f->wanted.same);
  memset(chains, 0, sizeof chains);
  o->call = interpreted;
  o->ud = &f->calls;
}

const char *fuzz_compare_calls(const fuzz *f, const ir_program *p) {
  const fuzz_calls *x = &f->wanted, *y = &f->calls;
  if (x->all != y->all) return "other calls are made";
  if (runs_at_once(&f->base) || runs_at_once(p)) return NULL;
  if (x->order != y->order) return "a block's calls change their order";
  if (x->turns != y->turns) return "statements that call take other turns";
  return NULL;
}

void fuzz_watch_compiled(void) { at_work = (fuzz_calls){.many = true}; }

bool fuzz_compiled_calls(const fuzz *f) { return at_work.all == f->calls.all; }
