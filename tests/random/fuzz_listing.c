/* SPDX-License-Identifier: Apache-2.0
 * The random tester: programs printed and read back. */
#include "ir/query.h"
#include "ir/read/read.h"
#include "random/fuzz.h"
#include <string.h>

typedef struct trip {
  fuzz *f;
  const ir_program *p;
  ir_builder b;
  arena scratch;
  err_state err;
  strbuf text;
  tess_status read;
  uint64_t hash;
} trip;

static tess_status print_and_read(void *ud) {
  trip *t = ud;
  describe_init(&t->b, &t->f->heap, &t->err);
  ir_print(t->p, NULL, &t->text);
  if (t->text.bad) mem_unwind_refused(&t->f->heap);
  t->read = read_program(&t->b, &t->scratch, str_get(&t->text), t->text.n);
  if (!t->read) t->hash = ir_hash(&t->b.p, &t->scratch);
  return TESS_OK;
}

/* Deep expressions are cut off when they are printed. */
static bool is_cut_off(const trip *t) {
  return t->read &&
         (strstr(str_get(&t->text), "...") || strstr(t->err.message, "nest") ||
          strstr(t->err.message, "too long"));
}

static void report_trip(trip *t) {
  fuzz_wrong(t->f, "the listing reads as another program: %s (%s)\n%s",
             t->read ? t->err.message : "it has another hash",
             t->read ? t->err.place : "", str_get(&t->text));
  if (!t->read) ir_print(&t->b.p, NULL, &t->f->report);
}

static bool check_trip(fuzz *f, const ir_program *p, bool again) {
  trip t = {.f = f, .p = p};
  uint64_t hash = ir_hash(p, &f->scratch);
  arena_reset(&f->scratch);
  arena_init(&t.scratch, &f->heap);
  str_init(&t.text, &f->heap);
  bool ran = !mem_protect(&f->heap, print_and_read, &t);
  bool ok = !ran || (!t.read && t.hash == hash) || is_cut_off(&t);
  if (!ok && !t.read && !again)
    ok = fuzz_same_result(f, &t.b.p) && check_trip(f, &t.b.p, true);
  else if (!ok)
    report_trip(&t);
  if (t.b.heap) describe_free(&t.b);
  arena_free(&t.scratch);
  str_free(&t.text);
  return ok;
}

bool fuzz_check_listing(fuzz *f) { return check_trip(f, &f->s.m.prog, false); }
