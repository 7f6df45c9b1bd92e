/* SPDX-License-Identifier: Apache-2.0
 * The random tester: traces written, read back and replayed. */
#include "ir/query.h"
#include "random/fuzz.h"

#include "vm/text/text.h"
#include "vm/text/tvm.h"

#include <stdio.h>
#include <string.h>

typedef enum form { LUA, JSON, TVM } form;
static const char *const names[] = {"Lua", "JSON", "TVM's JSON"};

static tess_status write(form as, const vm_trace *t, strbuf *to,
                         err_state *err) {
  switch (as) {
  case LUA: vm_write_lua(t, to); break;
  case JSON: vm_write_json(t, NULL, to); break;
  case TVM: return vm_write_tvm(t, to, err);
  }
  return TESS_OK;
}

static tess_status read(form as, vm_trace *t, const strbuf *text,
                        err_state *err) {
  switch (as) {
  case LUA: return vm_read_lua(t, str_get(text), text->n, err);
  case JSON: return vm_read_json(t, str_get(text), text->n, NULL, err);
  case TVM: break;
  }
  return vm_read_tvm(t, str_get(text), text->n, err);
}

/* The trace written so says the same when it is read (TVM's has no defaults,
 * and other names), and is written the same again.  What was read stays in
 * f->shown. */
static bool reads_back(fuzz *f, form as, const vm_trace *t) {
  err_state err = {.code = TESS_OK};
  strbuf text, again;
  str_init(&text, &f->heap);
  str_init(&again, &f->heap);
  bool same = !write(as, t, &text, &err) && !read(as, &f->shown, &text, &err) &&
              !write(as, &f->shown, &again, &err) &&
              (as == TVM || vm_trace_equal(t, &f->shown)) &&
              !strcmp(str_get(&text), str_get(&again));
  f->counts.round_trips++;
  if (!same)
    fuzz_wrong(f, "the trace does not survive being written as %s: %s\n%s",
               names[as], err.code ? err.message : "it reads otherwise",
               str_get(&text));
  str_free(&text);
  str_free(&again);
  return same;
}

static bool replay(fuzz *f, const vm_trace *t, uint64_t *hash) {
  vm_replay_opts o = {.source = VM_SAME};
  if (vm_replay(&f->replay, &f->base, t, &o, NULL)) {
    fuzz_wrong(f, "its own trace does not replay:");
    vm_failure_text(&f->replay, t, &f->report);
    return false;
  }
  *hash = ir_hash(&f->replay.prog, &f->scratch);
  arena_reset(&f->scratch);
  return true;
}

/* What was read back gives the program with that hash. */
static bool replays_to(fuzz *f, form as, uint64_t hash) {
  uint64_t made;
  if (!replay(f, &f->shown, &made)) return false;
  if (made != hash)
    fuzz_wrong(f, "the trace written as %s replays to another program",
               names[as]);
  return made == hash;
}

/* ---- TVM ---------------------------------------------------------------- */

const char *const fuzz_tvm_reasons[FUZZ_TVM_REASONS] = {
    "no such instruction",
    "what is given",
    "a variable in a table",
    "a boolean",
    "an infinity",
    "loops in a list",
    "a control character",
    "a map with sampled integers",
    "arithmetic over variables",
    "a buffer's name",
    "an index without its side"};

/* Which instruction TVM cannot express, counted from 0; false: the refusal
 * does not say it, or not why. */
static bool find_refused(fuzz *f, const err_state *err, uint32_t *at) {
  uint32_t k = 0;
  while (k < FUZZ_TVM_REASONS && !strstr(err->message, fuzz_tvm_reasons[k]))
    k++;
  if (err->code != TESS_UNSUPPORTED || k == FUZZ_TVM_REASONS ||
      sscanf(err->place, "instruction %u", at) != 1) {
    fuzz_wrong(f,
               "the trace is refused as TVM's JSON without a known reason: "
               "%s (%s)",
               err->message, err->place);
    return false;
  }
  f->counts.not_tvm[k]++;
  --*at;
  return true;
}

/* As much of the trace as TVM can express. */
static bool survives_tvm(fuzz *f, uint64_t hash) {
  err_state err;
  strbuf text;
  uint32_t n = 0;
  str_init(&text, &f->heap);
  tess_status st = vm_write_tvm(&f->s.trace, &text, &err);
  str_free(&text);
  if (!st) {
    f->counts.through_tvm++;
    return reads_back(f, TVM, &f->s.trace) && replays_to(f, TVM, hash);
  }
  if (!find_refused(f, &err, &n)) return false;
  vm_trace_copy(&f->pool, &f->s.trace);
  f->pool.inst.n = n;
  return replay(f, &f->pool, &hash) && reads_back(f, TVM, &f->pool) &&
         replays_to(f, TVM, hash);
}

bool fuzz_check_trips(fuzz *f) {
  form last = f->number % 2 ? LUA : JSON, other = last == LUA ? JSON : LUA;
  uint64_t hash = ir_hash(&f->s.m.prog, &f->scratch);
  arena_reset(&f->scratch);
  return reads_back(f, other, &f->s.trace) &&
         reads_back(f, last, &f->s.trace) && replays_to(f, last, hash) &&
         survives_tvm(f, hash);
}

/* ---- stale decisions ---------------------------------------------------- */

/* A sampling instruction that has a decision, drawn among all; n: none. */
static uint32_t some_sample(fuzz *f, const vm_trace *t) {
  uint32_t found = t->inst.n, n = 0;
  for (uint32_t k = 0; k < t->inst.n; k++)
    if (vm_samples(&t->inst.v[k]) && !t->inst.v[k].open &&
        fuzz_below(f, ++n) == 0)
      found = k;
  return found;
}

/* As it may be in a trace for another program: one number too few, with what
 * the last one stood for in the first, or another number. */
static void make_stale(fuzz *f, vm_trace *t, vm_inst *in) {
  int64_t *d = t->dec.v + in->decision.at;
  uint32_t n = in->decision.n;
  if (n > 1 && fuzz_below(f, 2)) {
    (void)__builtin_mul_overflow(d[0], d[n - 1], &d[0]);
    in->decision.n--;
  } else if (n) {
    d[fuzz_below(f, n)] = (int64_t)fuzz_below(f, 12) - 2;
  }
}

/* A decision that has become stale is mended: where the trace applies with
 * what took effect in its place, that is a decision that fits exactly. */
bool fuzz_check_mended(fuzz *f) {
  vm_replay_opts o = {.source = VM_REPAIR};
  vm_decisions made = {.n = 0};
  uint64_t hash, again;
  uint32_t k = some_sample(f, &f->s.trace);
  bool ok = true;
  if (k == f->s.trace.inst.n) return true;
  vm_trace_copy(&f->pool, &f->s.trace);
  make_stale(f, &f->pool, &f->pool.inst.v[k]);
  if (!vm_replay(&f->replay, &f->base, &f->pool, &o, &made)) {
    hash = ir_hash(&f->replay.prog, &f->scratch);
    arena_reset(&f->scratch);
    ok = vm_set_decisions(&f->pool, made.n, made.v) &&
         replay(f, &f->pool, &again) && hash == again;
    if (!ok) fuzz_wrong(f, "it was mended, and is not what it was mended to");
  }
  vec_free(&f->heap, &made);
  return ok;
}
