/* SPDX-License-Identifier: Apache-2.0
 * Makes the process's context on an NVIDIA card, with the events and the memory
 * that timing uses, and keeps it: a context takes tenths of a second. */
#include "backends/cuda/context.h"
#include <pthread.h>

enum { EVICT_THREADS = 256, EVICT_VECTOR = 16 };

/* Each thread loads 16 bytes, zeros; the store keeps the load alive.  The other
 * kernel takes some 20 us and touches no memory. */
static const char evict_ptx[] =
    ".version 6.3\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry tessera_evict(.param .u64 from) {\n"
    "  .reg .pred %p;\n"
    "  .reg .b32 %r<9>;\n"
    "  .reg .b64 %a<4>;\n"
    "  ld.param.u64 %a1, [from];\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  mul.wide.u32 %a2, %r4, 16;\n"
    "  add.s64 %a3, %a1, %a2;\n"
    "  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%a3];\n"
    "  setp.ne.u32 %p, %r5, 0;\n"
    "  @%p st.global.u32 [%a3], %r6;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry tessera_delay() {\n"
    "  .reg .pred %p;\n"
    "  .reg .b64 %t<4>;\n"
    "  mov.u64 %t1, %clock64;\n"
    "again:\n"
    "  mov.u64 %t2, %clock64;\n"
    "  sub.s64 %t3, %t2, %t1;\n"
    "  setp.lt.u64 %p, %t3, 40000;\n"
    "  @%p bra again;\n"
    "  ret;\n"
    "}\n";

/* Twice the cache, whose two halves may each hold a copy of a line. */
static int prepare_evicting(cuda_process *c) {
  const cuda_driver *d = c->d;
  const int per_block = EVICT_THREADS * EVICT_VECTOR;
  int l2 = 0, code = d->device_attribute(&l2, CUDA_L2_BYTES, c->device);
  if (code || l2 <= 0) return code;
  c->evict_blocks = 2 * (unsigned)(l2 / per_block + 1);
  size_t bytes = (size_t)c->evict_blocks * (size_t)per_block;
  code = d->alloc(&c->evicted, bytes);
  if (!code) code = d->fill(c->evicted, 0, bytes / 4);
  if (!code) code = d->module_load(&c->module, evict_ptx, 0, NULL, NULL);
  if (!code) code = d->module_function(&c->evict, c->module, "tessera_evict");
  return code ? code
              : d->module_function(&c->delay, c->module, "tessera_delay");
}

int cuda_evict_l2(const cuda_process *c) {
  cuda_address from = c->evicted;
  void *args[] = {&from};
  if (!c->evict) return 0;
  return c->d->launch(c->evict, c->evict_blocks, 1, 1, EVICT_THREADS, 1, 1, 0,
                      NULL, args, NULL);
}

int cuda_delay(const cuda_process *c) {
  return c->delay
             ? c->d->launch(c->delay, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)
             : 0;
}

static tess_status find_device(cuda_process *c, uint32_t device, err_state *e) {
  const cuda_driver *d = c->d;
  int n = 0;
  tess_status s = cuda_check(d, d->device_count(&n), "counting devices", e);
  if (!s && device >= (uint32_t)n)
    s = err_set(e, TESS_UNSUPPORTED,
                "there is no device 'cuda:%u' here, but %d of them", device, n);
  return s ? s
           : cuda_check(d, d->device_get(&c->device, (int)device), "the device",
                        e);
}

static tess_status make_context(cuda_process *c, uint32_t device,
                                err_state *e) {
  *c = (cuda_process){.d = NULL};
  tess_status s = cuda_driver_get(&c->d, e);
  const cuda_driver *d = c->d;
  if (!s) s = find_device(c, device, e);
  if (!s)
    s = cuda_check(d, d->context_retain(&c->context, c->device),
                   "making a context", e);
  if (!s) s = cuda_check(d, d->context_use(c->context), "using it", e);
  if (!s) s = cuda_check(d, d->event_new(&c->from, 0), "making an event", e);
  if (!s) s = cuda_check(d, d->event_new(&c->to, 0), "making an event", e);
  return s ? s : cuda_check(d, prepare_evicting(c), "timing", e);
}

tess_status cuda_process_get(uint32_t device, cuda_process **out,
                             err_state *e) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static cuda_process process[CUDA_MOST_DEVICES];
  cuda_process *c = &process[device % CUDA_MOST_DEVICES];
  if (device >= CUDA_MOST_DEVICES)
    return err_set(e, TESS_UNSUPPORTED, "there is no device 'cuda:%u' here",
                   device);
  pthread_mutex_lock(&lock);
  tess_status s = c->is_made ? TESS_OK : make_context(c, device, e);
  if (!s && c->is_made)
    s = cuda_check(c->d, c->d->context_use(c->context), "using the context", e);
  c->is_made |= s == TESS_OK;
  pthread_mutex_unlock(&lock);
  *out = c;
  return s;
}
