/* SPDX-License-Identifier: Apache-2.0
 * The random tester: operands that must never be accepted, whatever the
 * program.  Once in a while one operand of a call becomes such a one; a call
 * that applies all the same is a mistake. */
#include "random/fuzz.h"

#include <stdio.h>
#include <string.h>

/* Spoils v[i]; false: not this time. */
typedef bool spoil_fn(fuzz *f, vm_value *v, uint32_t i);

static vm_value spoil_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

static bool set(vm_value *v, uint32_t i, vm_value to) {
  v[i] = to;
  return true;
}

/* 0: it is no loop, or how long is not known. */
static int64_t constant_extent(fuzz *f, vm_value loop) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt l = loop.tag == VM_RV ? fuzz_stmt(f, loop.rv) : 0;
  int64_t n = 0;
  if (l && ir_is_loop(p, l)) ir_const_int(p, ir_st(p, l)->extent, &n);
  return n;
}

static bool unknown_name(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, spoil_text(f, "nowhere"));
}

/* A key that nobody annotates by: draw_str may give "nowhere" to annotate. */
static bool unknown_key(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, spoil_text(f, "never_annotated"));
}

/* Not with the marks that stand for no loop: there it counts for nothing. */
static bool no_place(fuzz *f, vm_value *v, uint32_t i) {
  if (v[1].tag != VM_RV || !fuzz_stmt(f, v[1].rv)) return false;
  return set(v, i, vm_int(fuzz_below(f, 2) ? -3 : 1000));
}

static bool no_axis(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_int(fuzz_below(f, 2) ? -40 : 40));
}

static bool no_count(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_int(fuzz_below(f, 2) ? 0 : 1000));
}

static bool no_limit(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_int(fuzz_below(f, 2) ? 0 : -2));
}

static bool no_choice(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_int(fuzz_below(f, 2) ? -9 : 100000));
}

static bool no_list(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_list(&f->pool, 0, NULL));
}

static bool repeated(fuzz *f, vm_value *v, uint32_t i) {
  vm_value l[2] = {vm_var(fuzz_any_loop(f))};
  l[1] = l[0];
  return set(v, i, vm_list(&f->pool, 2, l));
}

static bool no_factors(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[40];
  uint32_t n = 2;
  for (uint32_t k = 0; k < 40; k++) x[k] = vm_int(1);
  switch (fuzz_below(f, 5)) {
  case 0: x[fuzz_below(f, 2)] = vm_int(fuzz_below(f, 3) ? -2 : 0); break;
  case 1: x[0] = x[1] = vm_auto(); break;
  case 2: n = 40, x[0] = vm_auto(); break;
  case 3: x[0] = x[1] = vm_int((int64_t)1 << 31); break;
  default: n = 0;
  }
  return set(v, i, vm_list(&f->pool, n, x));
}

static bool no_buffer(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[2] = {spoil_text(f, "nowhere"), vm_int(0)};
  switch (fuzz_below(f, 4)) {
  case 0: return set(v, i, vm_int(-1));
  case 1: return set(v, i, vm_int(99));
  case 2: return set(v, i, x[0]);
  default: return set(v, i, vm_list(&f->pool, 2, x));
  }
}

static bool written(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[2] = {spoil_text(f, "write"), vm_int(0)};
  return set(v, i, vm_list(&f->pool, 2, x));
}

static bool read(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[2] = {spoil_text(f, "read"), vm_int(0)};
  return set(v, i, vm_list(&f->pool, 2, x));
}

static bool no_order(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[8];
  for (uint32_t k = 0; k < 8; k++) x[k] = vm_int(fuzz_below(f, 2) ? 0 : 7);
  return set(v, i, vm_list(&f->pool, 8, x));
}

/* As many as there are candidates, and one negative; or one too many. */
static bool no_probs(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[FUZZ_MAX_LIST + 1];
  uint32_t n = v[0].n, how = fuzz_below(f, 3);
  if (v[0].tag != VM_LIST || n < 1 || n > FUZZ_MAX_LIST) return false;
  for (uint32_t k = 0; k <= n; k++) x[k] = vm_real(how == 0 ? 0 : 0.5);
  if (how == 1) x[fuzz_below(f, n)] = vm_real(-0.25);
  return set(v, i, vm_list(&f->pool, how == 2 ? n + 1 : n, x));
}

/* An odd number that does not divide the extent, and another that makes it up
 * with that, but for multiples of 2^64. */
static bool wraps(int64_t extent, int64_t *first, int64_t *last) {
  for (*last = 3; *last < 16; *last += 2) {
    uint64_t x = (uint64_t)*last, inverse = x; /* of 3 bits, then of more */
    for (int k = 0; k < 5; k++) inverse *= 2 - x * inverse;
    *first = (int64_t)(inverse * (uint64_t)extent);
    if (extent % *last && *first > 0) return true;
  }
  return false;
}

/* Factors that are too many or too few, that are negative, or that multiply
 * wrongly, or too far; all else is right, so that one rule alone is broken. */
static bool no_tiles(fuzz *f, vm_value *v, uint32_t i) {
  enum { COUNT, NEGATIVE, ZERO, PRODUCT, LARGE, WAYS };
  vm_value x[FUZZ_MAX_LIST + 1];
  int64_t n = v[1].tag == VM_INT ? v[1].i : 0, a, b;
  int64_t extent = constant_extent(f, v[0]);
  if (n < 1 || n > FUZZ_MAX_LIST || extent < 1) return false;
  for (int64_t k = 0; k <= n; k++) x[k] = vm_int(k ? 1 : extent);
  switch (n == 1 ? COUNT : fuzz_below(f, WAYS)) {
  case COUNT: n += n == 1 || fuzz_below(f, 2) ? 1 : -1; break;
  case NEGATIVE:
    x[0] = vm_int(-extent);
    x[1 + fuzz_below(f, (uint32_t)n - 1)] = vm_int(-1);
    break;
  case ZERO: x[fuzz_below(f, (uint32_t)n)] = vm_int(0); break;
  case PRODUCT: x[0] = vm_int(extent + 1); break;
  default:
    if (!wraps(extent, &a, &b)) return false;
    x[0] = vm_int(a);
    x[n - 1] = vm_int(b);
  }
  return set(v, i, vm_list(&f->pool, (uint32_t)n, x));
}

/* One long factor behind: allowed only up to the limit. */
static bool long_tile(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[FUZZ_MAX_LIST];
  int64_t n = v[1].tag == VM_INT ? v[1].i : 0;
  int64_t extent = constant_extent(f, v[0]);
  if (n < 1 || n > FUZZ_MAX_LIST || extent < 3) return false;
  for (int64_t k = 0; k < n; k++) x[k] = vm_int(k + 1 < n ? 1 : extent);
  v[2] = vm_int(2);
  return set(v, i, vm_list(&f->pool, (uint32_t)n, x));
}

/* Places that no buffer has, or of more dimensions than one of a program. */
static bool no_layout(fuzz *f, vm_value *v, uint32_t i) {
  static const char *const maps[] = {
      "(i) -> (i - 5)",
      "(i) -> (3 * i - 2)",
      "(i, j, k, l, m, n, o, p) -> (i)",
      "(i, j, k, l, m, n, o, p) -> (i, j)",
      "(i, j, k, l, m, n, o, p) -> (i, j, k)",
      "(i, j) -> (i, j - 1)",
      "(i, j, k) -> (i - 1, j, k)",
      "(i) -> (i + 2305843009213693952)",
      "(i, j) -> (i + 2305843009213693952, j)",
      "(i, j, k) -> (i, j, k + 2305843009213693952)",
      "(i, j) -> ()",
      "(i, j, k, l, m, n, o, p) -> (i, j, k, l, m, n, o, p)"};
  return set(v, i,
             spoil_text(f, maps[fuzz_below(f, sizeof maps / sizeof *maps)]));
}

/* As the map that was drawn, with no result, or one that is negative or more
 * than any buffer has. */
static bool no_map(fuzz *f, vm_value *v, uint32_t i) {
  const char *old = v[i].tag == VM_STR ? f->pool.text.v + v[i].str : "";
  const char *end = strstr(old, ") -> (");
  char to[320];
  if (!end || end == old + 1) return false;
  int n = (int)(end - old);
  uint32_t way = fuzz_below(f, 3);
  if (way == 0)
    snprintf(to, sizeof to, "%.*s) -> ()", n, old);
  else
    snprintf(to, sizeof to, "%.*s) -> (%.1s %s, %s", n, old, old + 1,
             way == 1 ? "- 9000" : "+ 2305843009213693952",
             end + strlen(") -> ("));
  return set(v, i, spoil_text(f, to));
}

/* With places that hold nothing before the first, and what is to stand there
 * is of too many indices, or too much. */
static bool no_pad_map(fuzz *f, vm_value *v, uint32_t i) {
  const char *old = v[2].tag == VM_STR ? f->pool.text.v + v[2].str : "";
  const char *end = strstr(old, ") -> (");
  char layout[320], pad[320];
  if (!end || end == old + 1) return false;
  int n = (int)(end - old);
  snprintf(layout, sizeof layout, "%.*s) -> %.*s + 1)", n, old, n, old);
  bool many = fuzz_below(f, 2);
  snprintf(pad, sizeof pad, "%.*s%s) -> (%.1s %% 3%s)", n, old,
           many ? ", z" : "", old + 1, many ? "" : ", 0");
  v[2] = spoil_text(f, layout);
  return set(v, i, spoil_text(f, pad));
}

/* One bound, where there are two for each dimension. */
static bool no_ranges(fuzz *f, vm_value *v, uint32_t i) {
  const char *old = v[i].tag == VM_STR ? f->pool.text.v + v[i].str : "";
  const char *end = strstr(old, ") -> (");
  char to[320];
  if (!end) return false;
  snprintf(to, sizeof to, "%.*s) -> (0)", (int)(end - old), old);
  return set(v, i, spoil_text(f, to));
}

/* Of what is read, or of what is written? */
static bool no_side(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, vm_int(fuzz_below(f, 2)));
}

static bool no_threshold(fuzz *f, vm_value *v, uint32_t i) {
  (void)f;
  return set(v, i, vm_int(-1));
}

static bool no_padding(fuzz *f, vm_value *v, uint32_t i) {
  vm_value x[2] = {vm_int(-1), vm_int(0)};
  return set(v, i, vm_list(&f->pool, 1 + fuzz_below(f, 2), x));
}

static bool no_factor(fuzz *f, vm_value *v, uint32_t i) {
  static const int32_t few[] = {0, -3, (1 << 20) + 1};
  return set(v, i, vm_int(few[fuzz_below(f, 3)]));
}

static bool reserved_key(fuzz *f, vm_value *v, uint32_t i) {
  return set(v, i, spoil_text(f, fuzz_below(f, 2) ? "tensor_call" : ""));
}

/* Both forms, or points of other loops than there are, or one behind the
 * loop's end. */
static bool no_points(fuzz *f, vm_value *v, uint32_t i) {
  enum { BOTH, MANY, BEHIND };
  static const char *const maps[] = {[BOTH] = "() -> (1)",
                                     [MANY] = "(i, j, k, l) -> (1)",
                                     [BEHIND] = "() -> (1152921504606846976)"};
  uint32_t way = fuzz_below(f, 3);
  vm_value one = vm_int(1);
  if (way == BEHIND && !constant_extent(f, v[0])) return false;
  v[1] = way == BOTH ? vm_list(&f->pool, 1, &one) : vm_nil();
  v[3] = vm_nil();
  return set(v, i, spoil_text(f, maps[way]));
}

/* The inner part has nothing of the factor that it is to have. */
static bool no_inner_part(fuzz *f, vm_value *v, uint32_t i) {
  int64_t extent = constant_extent(f, v[0]);
  if (extent < 2) return false;
  vm_value x[2] = {vm_int(extent), vm_int(1)};
  v[1] = vm_int(2);
  v[2] = vm_int(1);
  v[3] = vm_int(extent);
  return set(v, i, vm_list(&f->pool, 2, x));
}

static bool another_value(fuzz *f, vm_value *v, uint32_t i) {
  (void)f;
  return set(v, i, vm_int(v[i].i + 1));
}

/* By the name of the operand; of one primitive, or of any. */
static const struct spoil {
  const char *prim, *operand;
  spoil_fn *spoil;
} spoils[] = {
    {NULL, "thread_axis", unknown_name},
    {NULL, "storage_scope", unknown_name},
    {"get_block", "name", unknown_name},
    {"get_block", "func_name", unknown_name},
    {"unannotate", "ann_key", unknown_key},
    {"tensorize", "tensor_intrin", unknown_name},
    {"compute_at", "index", no_place},
    {"reverse_compute_at", "index", no_place},
    {NULL, "factor_axis", no_axis},
    {"storage_align", "axis", no_axis},
    {"storage_align", "factor", no_factor},
    {"annotate", "ann_key", reserved_key},
    {"loop_partition", "points", no_points},
    {"guard", "value", another_value},
    {"unsafe_hide_buffer_access", "buf_type", unknown_name},
    {"annotate_buffer_access", "gen_new_ranges", no_ranges},
    {"fission", "position", no_axis},
    {"reindex", "buffer", no_side},
    {"transform_layout", "buffer", no_side},
    {"transform_layout", "index_map", no_map},
    {"transform_layout", "pad_value", no_pad_map},
    {"transform_block_layout", "index_map", no_map},
    {"reindex_cache_read", "index_map", no_map},
    {"reindex_cache_write", "index_map", no_map},
    {"split", "factors", no_factors},
    {"fuse", "loops", no_list},
    {"fuse", "loops", repeated},
    {"reorder", "ordered_loops", repeated},
    {NULL, "read_buffer_index", no_buffer},
    {NULL, "read_buffer_index", written},
    {NULL, "write_buffer_index", no_buffer},
    {NULL, "write_buffer_index", read},
    {NULL, "new_order", no_order},
    {"sample_categorical", "candidates", no_list},
    {"sample_categorical", "probs", no_probs},
    {"sample_categorical", "decision", no_choice},
    {"sample_compute_location", "decision", no_choice},
    {"blockize", "target", no_list},
    {"merge", "loops", no_list},
    {"merge", "loops", repeated},
    {"cache_index", "cse_thresh", no_threshold},
    {"pad_einsum", "padding", no_padding},
    {"transform_layout", "index_map", no_layout},
    {"sample_partitioned_tile", "n", no_count},
    {"sample_partitioned_tile", "partition_pos", no_choice},
    {"sample_partitioned_tile", "innerpart_factor", no_threshold},
    {"sample_partitioned_tile", "decision", no_tiles},
    {"sample_partitioned_tile", "decision", no_inner_part},
    {"sample_perfect_tile", "n", no_count},
    {"sample_perfect_tile", "max_innermost_factor", no_limit},
    {"sample_perfect_tile", "decision", no_tiles},
    {"sample_perfect_tile", "decision", long_tile},
};

void fuzz_spoil(fuzz *f, const sch_prim *p, vm_value *v) {
  const struct spoil *found = NULL;
  uint32_t n = 0, at = 0;
  for (size_t k = 0; k < sizeof spoils / sizeof *spoils; k++)
    for (uint32_t i = 0; i < p->nspecs; i++)
      if ((!spoils[k].prim || !strcmp(spoils[k].prim, p->name)) &&
          !strcmp(spoils[k].operand, p->specs[i].name) &&
          fuzz_below(f, ++n) == 0)
        found = &spoils[k], at = i;
  if (found && found->spoil(f, v, at)) f->spoiled = p->specs[at].name;
}
