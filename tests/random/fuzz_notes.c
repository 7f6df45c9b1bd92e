/* SPDX-License-Identifier: Apache-2.0
 * The random tester: annotations. */
#include "random/fuzz.h"

#include <string.h>

static vm_value notes_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

/* The block, or a loop around it, bears one. */
bool fuzz_is_annotated(const ir_program *p, ir_stmt b) {
  for (ir_stmt s = b; s; s = ir_st(p, s)->parent)
    if (ir_st(p, s)->anno) return true;
  return false;
}

vm_value fuzz_annotated(fuzz *f, const vm_value *v) {
  const ir_program *p = &f->s.m.prog;
  vm_rv found = f->block;
  uint32_t n = 0;
  (void)v;
  for (uint32_t i = 0; i < f->nloops; i++) {
    ir_stmt s = fuzz_stmt(f, f->loop[i]);
    if (s && ir_st(p, s)->anno && fuzz_below(f, ++n) == 0) found = f->loop[i];
  }
  return vm_var(found);
}

vm_value fuzz_its_key(fuzz *f, const vm_value *v) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt s = fuzz_stmt(f, v[0].rv);
  return notes_text(f, s && ir_st(p, s)->anno
                           ? ir_text(p, p->anno.v[ir_st(p, s)->anno].key)
                           : "note");
}

/* What lowering understands, of blocks that copy and others. */
static const struct note {
  const char *key;
  int64_t value[2];
} notes[] = {{"local_stage", {1, 1}},
             {"double_buffer_scope", {0, 0}},
             {"vector_bytes", {16, 8}},
             {"vector_bytes", {4, 64}},
             {"pragma_auto_unroll_max_step", {4, 64}},
             {"pragma_vectorize", {1, 4}},
             {"skip_zeros", {1, 1}},
             {"note", {1, 2}},
             {"note", {3, 4}}};
enum { NOTES = sizeof notes / sizeof *notes, OF_COPIES = 4 };

/* Rarely what storage_align notes, otherwise than it does. */
vm_value fuzz_key(fuzz *f, const vm_value *v) {
  (void)v;
  if (fuzz_below(f, 24) == 0) return notes_text(f, "buffer_dim_align");
  return notes_text(f, notes[fuzz_below(f, NOTES)].key);
}

/* Lists and tables in one another, with the leaf in them. */
static vm_value nest(fuzz *f, vm_value leaf, uint32_t deep) {
  vm_value pair[2] = {notes_text(f, "v1"), leaf};
  uint32_t way = deep ? fuzz_below(f, 3) : 0;
  if (way) pair[1] = nest(f, leaf, deep - 1);
  return way == 0   ? leaf
         : way == 1 ? vm_list(&f->pool, 2, pair)
                    : vm_dict(&f->pool, 1, pair);
}

/* A value that the key v[1] has; sometimes an integer variable. */
vm_value fuzz_note_value(fuzz *f, const vm_value *v) {
  vm_rv any = fuzz_below(f, 4) ? 0 : fuzz_any_int(f);
  const char *of = f->pool.text.v + v[1].str;
  int64_t x = 1;
  for (uint32_t i = 0, n = 0; i < NOTES; i++)
    if (!strcmp(notes[i].key, of) && fuzz_below(f, ++n) == 0)
      x = notes[i].value[fuzz_below(f, 2)];
  vm_value value = any && *of != 'd' ? vm_var(any) : vm_int(x);
  return strcmp(of, "note") ? value : nest(f, value, 3);
}

/* How a block copies. */
void fuzz_tell_how(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_value to[VM_MAX_SPECS] = {vm_var(first)};
  (void)v;
  for (uint32_t k = 0; n == 1 && k < 2 && fuzz_below(f, 3) == 0; k++) {
    const struct note *a = &notes[fuzz_below(f, OF_COPIES)];
    to[1] = notes_text(f, a->key);
    to[2] = vm_int(a->value[fuzz_below(f, 2)]);
    (void)fuzz_call(f, sch_find_prim("annotate"), to);
  }
}
