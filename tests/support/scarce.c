/* SPDX-License-Identifier: Apache-2.0
 * Steps whose memory is lacking. */
#include "support/scarce.h"
#include "base/context.h"
#include "support/test.h"

#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

void scarce_ok(const scarce *f, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(f->c)->message);
}

/* C[i, j] = sum over k of A[i, k] A[k, j]. */
static void describe(scarce *f) {
  tess_builder *b;
  tess_expr n, zero, i, j, k, x, y, sum;
  tess_buffer a, c;
  tess_var v[2], axis;
  scarce_ok(f, tess_builder_new(f->c, &b));
  scarce_ok(f, tess_int(b, I64, SCARCE_N, &n));
  scarce_ok(f, tess_int(b, I64, 0, &zero));
  const tess_expr shape[] = {n, n};
  scarce_ok(f, tess_placeholder(b, "A", F32, 2, shape, TESS_ROLE_INPUT, &a));
  scarce_ok(f, tess_reduce_axis(b, "k", zero, n, &axis));
  scarce_ok(f, tess_compute_begin(b, "C", 2, shape, NULL, v));
  scarce_ok(f, tess_var_ref(b, v[0], &i));
  scarce_ok(f, tess_var_ref(b, v[1], &j));
  scarce_ok(f, tess_var_ref(b, axis, &k));
  scarce_ok(f, tess_load(b, a, 2, (tess_expr[]){i, k}, &x));
  scarce_ok(f, tess_load(b, a, 2, (tess_expr[]){k, j}, &y));
  scarce_ok(f, tess_binary(b, "*", x, y, &x));
  scarce_ok(f, tess_reduce(b, "sum", 1, &x, 1, &axis, &sum));
  scarce_ok(f, tess_compute_end(b, 1, &sum, &c));
  scarce_ok(f, tess_program_new(b, "square", 1, &a, 1, &c, &f->p));
  tess_builder_free(b);
}

/* B[i] = nowhere(A[i]). */
void scarce_describe_unlinked(scarce *f) {
  tess_builder *b;
  tess_expr n, i, x;
  tess_buffer a, out;
  tess_var v;
  scarce_ok(f, tess_builder_new(f->c, &b));
  scarce_ok(f, tess_int(b, I64, SCARCE_N, &n));
  scarce_ok(f, tess_placeholder(b, "A", F32, 1, &n, TESS_ROLE_INPUT, &a));
  scarce_ok(f, tess_compute_begin(b, "B", 1, &n, NULL, &v));
  scarce_ok(f, tess_var_ref(b, v, &i));
  scarce_ok(f, tess_load(b, a, 1, &i, &x));
  scarce_ok(f, tess_call_extern(b, "test_memory_nowhere", F32, 1, &x, &x));
  scarce_ok(f, tess_compute_end(b, 1, &x, &out));
  scarce_ok(f, tess_program_new(b, "unlinked", 1, &a, 1, &out, &f->unlinked));
  tess_builder_free(b);
}

static tess_status one_call(tess_schedule *s, const char *prim, uint32_t n,
                            const tess_arg *args, tess_rv *out) {
  uint32_t nout;
  return tess_schedule_call(s, prim, n, args, 8, out, &nout, NULL);
}

/* A module that splits the first loop of C by a sampled tile. */
static tess_status split_sampled(tess_schedule *s) {
  tess_rv block, loop[8], size[8], made[8];
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "C"}};
  tess_status r = one_call(s, "get_block", 1, &name, &block);
  tess_arg of = {"block", {.kind = TESS_V_RV, .rv = block}};
  if (r == TESS_OK) r = one_call(s, "get_loops", 1, &of, loop);
  if (r != TESS_OK) return r;
  tess_arg sample[] = {{"loop", {.kind = TESS_V_RV, .rv = loop[0]}},
                       {"n", {.kind = TESS_V_INT, .i = 2}}};
  r = one_call(s, "sample_perfect_tile", 2, sample, size);
  if (r != TESS_OK) return r;
  tess_value list[] = {{.kind = TESS_V_RV, .rv = size[0]},
                       {.kind = TESS_V_RV, .rv = size[1]}};
  tess_arg split[] = {{"loop", {.kind = TESS_V_RV, .rv = loop[0]}},
                      {"factors", {.kind = TESS_V_LIST, .n = 2, .list = list}}};
  return one_call(s, "split", 2, split, made);
}

static tess_status apply(void *ud, tess_schedule *s, tess_rv block,
                         void (*emit)(void *sink, tess_schedule *s), void *sink,
                         const char **why) {
  tess_schedule *copy;
  (void)ud, (void)block, (void)why;
  tess_status r = tess_schedule_copy(s, &copy);
  if (r != TESS_OK) return r;
  r = split_sampled(copy);
  if (r == TESS_OK)
    emit(sink, copy);
  else
    tess_schedule_free(copy);
  return r;
}

static tess_status leave_as_is(void *ud, tess_schedule *s, tess_rv block,
                               void (*emit)(void *sink, tess_schedule *s),
                               void *sink, const char **why) {
  tess_schedule *copy;
  (void)ud, (void)block, (void)why;
  tess_status r = tess_schedule_copy(s, &copy);
  if (r == TESS_OK) emit(sink, copy);
  return r;
}

void scarce_start(scarce *f) {
  *f = (scarce){.p = NULL};
  fault_init(&f->fault);
  f->memory = fault_allocator(&f->fault);
  const tess_options o = {
      .struct_size = sizeof o, .allocator = &f->memory, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
  describe(f);
  scarce_ok(f, tess_target_new(f->c, "llvm", &f->target));
}

void scarce_stop(scarce *f) {
  tess_database_free(f->db);
  for (int i = 0; i < 2; i++) tess_tensor_free(f->tensor[i]);
  tess_kernel_free(f->kernel);
  tess_result_free(f->result);
  tess_trace_free(f->trace);
  tess_space_free(f->space);
  tess_target_free(f->target);
  tess_program_free(f->unlinked);
  tess_program_free(f->p);
  tess_context_free(f->c);
  assert_int_equal(f->fault.live_blocks, 0);
  assert_int_equal(f->fault.broken, 0);
  if (f->path[0]) unlink(f->path);
}

/* `n` says where memory was lacking, if it was. */
static void check_step(scarce *f, const char *what, uint64_t n, bool lacking,
                       tess_status s) {
  const tess_error_info *e = tess_error(f->c);
  if (s != TESS_OK && (!lacking || s != f->lack))
    fail_msg("%s, %llu: %s: %s", what, (unsigned long long)n,
             tess_status_name(s), e->message);
  if (s != TESS_OK && (e->code != s || !e->message[0]))
    fail_msg("%s, %llu: no message", what, (unsigned long long)n);
  if (s == TESS_LIMIT && !strstr(e->message, "memory"))
    fail_msg("%s, %llu: %s", what, (unsigned long long)n, e->message);
  tess_text_free(f->c, f->text);
  f->text = NULL;
}

/* Fails every `stride`-th allocation of the step, one a run. */
void scarce_failures(scarce *f, const char *what, uint64_t stride,
                     tess_status (*step)(scarce *f)) {
  uint64_t failed = 1;
  f->lack = TESS_NOMEM;
  for (uint64_t n = 1; failed; n += stride) {
    fault_arm(&f->fault, n);
    tess_status s = step(f);
    failed = f->fault.failed;
    f->fault.fail_at = 0;
    check_step(f, what, n, failed, s);
  }
}

/* Caps that leave_as_is the step more and more room, until it has enough. */
void scarce_caps(scarce *f, const char *what, tess_status (*step)(scarce *f)) {
  mem_heap *h = &f->c->heap;
  uint64_t refused = 1;
  f->lack = TESS_LIMIT;
  for (size_t room = 1; refused; room += room / 8 + 8) {
    h->cap = h->used + room;
    uint64_t before = h->capped;
    tess_status s = step(f);
    refused = h->capped - before;
    h->cap = 0;
    if (s == TESS_LIMIT && !strstr(tess_error(f->c)->message, "memory cap"))
      fail_msg("%s: %s", what, tess_error(f->c)->message);
    check_step(f, what, room, refused, s);
  }
}

void scarce_each(scarce *f, const char *what, tess_status (*step)(scarce *)) {
  scarce_failures(f, what, 1, step);
  scarce_caps(f, what, step);
}

const tess_module scarce_modules[SCARCE_MODULES] = {
    {.struct_size = sizeof(tess_module), .name = "one", .apply = apply},
    {.struct_size = sizeof(tess_module), .name = "two", .apply = apply},
    {.struct_size = sizeof(tess_module), .name = "none", .apply = leave_as_is}};
