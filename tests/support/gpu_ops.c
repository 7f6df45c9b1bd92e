/* SPDX-License-Identifier: Apache-2.0
 * What the intrinsics of NVIDIA devices do: indices, barriers, exchanges
 * between lanes, asynchronous copies; fragments are in gpu_matrix.c. */
#include "support/gpu_matrix.h"
#include <string.h>

static bool begins(const char *s, const char *with) {
  return !strncmp(s, with, strlen(with));
}

static uint32_t device_operand(void **args, uint32_t i) {
  uint32_t v;
  memcpy(&v, args[i], sizeof v);
  return v;
}

/* ---- asynchronous copies ------------------------------------------------ */

static void *pointer(void **args, uint32_t i) {
  void *at;
  memcpy(&at, args[i], sizeof at);
  return at;
}

/* What arrives overwrites a pattern, so that who reads too early sees it. */
static void begin_copy(gpu_module *m, const char *name, void **args) {
  gpu_thread *t = m->current;
  const char *digits = strrchr(name, '.') + 1;
  uint32_t bytes = digits[0] == '1' ? 16 : (uint32_t)(digits[0] - '0');
  void *to = pointer(args, 0);
  const void *from = pointer(args, 1);
  if (!gpu_check(m, to, bytes, true) || !gpu_check(m, from, bytes, false))
    gpu_wait(m, GPU_DONE);
  if ((uintptr_t)to % bytes || (uintptr_t)from % bytes)
    gpu_fault(m, "%s at an address that is not aligned", name);
  if (t->ncopies == GPU_COPIES) {
    gpu_fault(m, "too many copies in flight for the emulator");
    return;
  }
  memset(to, GPU_POISON, bytes);
  t->copy[t->ncopies++] = (gpu_copy){to, from, bytes, t->groups};
  m->counts->async_bytes += bytes;
  m->counts->global_read += bytes;
  m->counts->shared_written += bytes;
}

/* All but the last `left` groups arrive; what is not committed does not. */
static void finish_copies(gpu_thread *t, uint32_t left) {
  uint32_t kept = 0, until = t->groups > left ? t->groups - left : 0;
  for (uint32_t i = 0; i < t->ncopies; i++) {
    const gpu_copy c = t->copy[i];
    if (c.group < until)
      memcpy(c.to, c.from, c.bytes);
    else
      t->copy[kept++] = c;
  }
  t->ncopies = kept;
}

/* ---- at once ------------------------------------------------------------ */

static bool read_register(const gpu_module *m, const char *name,
                          uint32_t *out) {
  static const char prefix[] = "read.ptx.sreg.";
  if (!begins(name, prefix)) return false;
  name += sizeof prefix - 1;
  uint32_t axis = (uint32_t)(name[strlen(name) - 1] - 'x');
  *out = begins(name, "tid.") ? m->current->index[axis] : m->block[axis];
  return begins(name, "tid.") || begins(name, "ctaid.");
}

void gpu_call(const gpu_op *op, void *result, void **args) {
  gpu_module *m = gpu_running;
  gpu_thread *t = m->current;
  const char *name = op->name;
  if (read_register(m, name, result)) return;
  t->op = op;
  t->result = result;
  t->args = args;
  if (!strcmp(name, "barrier0"))
    gpu_wait(m, GPU_AT_BLOCK);
  else if (!strcmp(name, "cp.async.commit.group"))
    t->groups++;
  else if (!strcmp(name, "cp.async.wait.group"))
    finish_copies(t, device_operand(args, 0));
  else if (begins(name, "cp.async."))
    begin_copy(m, name, args);
  else
    gpu_wait(m, GPU_AT_WARP);
}

/* ---- between lanes ------------------------------------------------------ */

uint32_t gpu_mask(const gpu_thread *t) {
  const char *name = t->op->name;
  bool has_mask = begins(name, "shfl.sync") || begins(name, "vote.") ||
                  begins(name, "bar.warp");
  return has_mask ? device_operand(t->args, 0) : UINT32_MAX;
}

static uint32_t source_lane(const char *kind, uint32_t lane, uint32_t by) {
  if (begins(kind, "idx")) return by % GPU_LANES;
  if (begins(kind, "bfly")) return lane ^ by % GPU_LANES;
  if (begins(kind, "up")) return by <= lane ? lane - by : lane;
  return lane + by < GPU_LANES ? lane + by : lane;
}

static bool device_shuffle(gpu_module *m, gpu_thread *lane, uint32_t mask) {
  uint32_t out[GPU_LANES] = {0};
  for (uint32_t i = 0; i < GPU_LANES; i++) {
    if (!(mask >> i & 1)) continue;
    const char *kind = lane[i].op->name + strlen("shfl.sync.");
    uint32_t from = source_lane(kind, i, device_operand(lane[i].args, 2));
    if (!(mask >> from & 1)) {
      gpu_fault(m, "lane %u reads that of lane %u, which is idle", i, from);
      return false;
    }
    out[i] = device_operand(lane[from].args, 1);
  }
  for (uint32_t i = 0; i < GPU_LANES; i++)
    if (mask >> i & 1) memcpy(lane[i].result, &out[i], 4);
  return true;
}

static void device_vote(gpu_thread *lane, uint32_t mask) {
  uint32_t yes = 0;
  for (uint32_t i = 0; i < GPU_LANES; i++)
    if ((mask >> i & 1) && *(uint8_t *)lane[i].args[1] & 1)
      yes |= UINT32_C(1) << i;
  for (uint32_t i = 0; i < GPU_LANES; i++) {
    if (!(mask >> i & 1)) continue;
    const char *kind = lane[i].op->name + strlen("vote.");
    if (begins(kind, "ballot"))
      memcpy(lane[i].result, &yes, 4);
    else
      *(uint8_t *)lane[i].result = begins(kind, "any") ? yes != 0 : yes == mask;
  }
}

bool gpu_collective(gpu_module *m, gpu_thread *lane, uint32_t mask) {
  const char *name = m->current->op->name;
  uint32_t n = m->nthreads - (uint32_t)(lane - m->thread);
  if (begins(name, "shfl.sync.")) return device_shuffle(m, lane, mask);
  if (begins(name, "vote.")) return device_vote(lane, mask), true;
  if (begins(name, "bar.warp.sync")) return true;
  if (n < GPU_LANES) {
    gpu_fault(m, "%s in a warp of %u lanes", name, n);
    return false;
  }
  return gpu_matrix(m, lane, name);
}
