/* SPDX-License-Identifier: Apache-2.0
 * The random tester: copies of copies, for tiles of which a split makes more
 * than there are.  Those too many make nothing that could be copied again. */
#include "random/fuzz.h"

#include <string.h>

static vm_value copies_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

/* The block reads copy `made`, of buffer v[2], made in each iteration of the
 * inner loop: one of the three copies that. */
static void copy_again(fuzz *f, const vm_value *v, vm_rv inner, vm_rv made) {
  vm_value to[VM_MAX_SPECS] = {v[1], v[2], copies_text(f, "local")};
  const char *prim = "cache_read";
  switch (fuzz_below(f, 3)) {
  case 0: break;
  case 1:
    prim = "cache_write";
    to[0] = vm_var(made);
    to[1] = vm_int(0);
    break;
  default:
    prim = "read_at";
    to[3] = to[2], to[2] = to[1], to[1] = to[0];
    to[0] = vm_var(inner);
  }
  (void)fuzz_call(f, sch_find_prim(prim), to);
}

void fuzz_copy_twice(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  if (n == 1 && v[0].tag == VM_RV && fuzz_below(f, 3) == 0) {
    vm_rv inner = fuzz_tiled(f, v[0].rv);
    if (inner != v[0].rv) copy_again(f, v, inner, first);
  }
  fuzz_tell_how(f, v, first, n);
}
