/* SPDX-License-Identifier: Apache-2.0
 * Loads device programs, and calls them with the caller's tensors: copies to
 * the device, runs, copies back. */
#include "backends/device/code.h"
#include "backends/device/device.h"
#include <string.h>

/* ---- a call --------------------------------------------------------- */

typedef struct arguments {
  void **host;
  void *const *resident; /* NULL: none is on the device */
  uint64_t bytes[DEVICE_MOST_ARGS];
  device_memory own[DEVICE_MOST_ARGS]; /* the program's, of residents */
} arguments;

static bool is_resident(const arguments *a, uint32_t i) {
  return a->resident && a->resident[i];
}

/* Residents take the places of the program's own buffers for the call. */
static void put_residents(device_program *d, arguments *a) {
  for (uint32_t i = 0; i < d->nparam; i++) {
    if (!is_resident(a, i)) continue;
    a->own[i] = d->slot[i];
    d->slot[i] = a->resident[i];
  }
}

static void take_residents(device_program *d, const arguments *a) {
  for (uint32_t i = 0; i < d->nparam; i++)
    if (is_resident(a, i)) d->slot[i] = a->own[i];
}

static int32_t copy_in(device_program *d, const arguments *a) {
  int32_t status = 0;
  for (uint32_t i = 0; i < d->nparam && !status; i++) {
    if (is_resident(a, i)) continue;
    status = device_provide(d, i, a->bytes[i]);
    if (!status && a->bytes[i])
      status = d->driver->to_device(d->ud, d->slot[i], a->host[i], a->bytes[i]);
  }
  return status;
}

/* Does it have the arguments of a call before? */
static int32_t check_stay(const device_program *d, const arguments *a) {
  for (uint32_t i = 0; i < d->nparam; i++)
    if (!is_resident(a, i) && (!d->slot[i] || d->bytes[i] < a->bytes[i]))
      return TESS_INVALID;
  return 0;
}

static int32_t copy_out(device_program *d, const arguments *a) {
  int32_t status = 0;
  for (uint32_t i = 0; i < d->nparam && !status; i++)
    if (d->word.v[d->params + 2 * i + 1] && a->bytes[i] && !is_resident(a, i))
      status = d->driver->to_host(d->ud, a->host[i], d->slot[i], a->bytes[i]);
  return status;
}

static int32_t run_times(device_program *d, uint64_t runs, double *seconds) {
  int32_t status = 0;
  for (uint64_t i = 0; i < runs && !status; i++) {
    double run = 0;
    status = d->driver->begin(d->ud);
    if (!status) status = device_run_host(d);
    int32_t ended = d->driver->end(d->ud, &run);
    if (!status) status = ended;
    *seconds += run;
  }
  return status;
}

int32_t device_call(device_program *d, void **args, void *const *resident,
                    const int64_t *sizes, uint64_t runs, double *seconds) {
  arguments a = {.host = args, .resident = resident};
  *seconds = 0;
  d->why[0] = '\0';
  if (d->nparam > DEVICE_MOST_ARGS) return TESS_LIMIT;
  int32_t status = device_measure_params(d, sizes, a.bytes);
  if (!status) status = args ? copy_in(d, &a) : check_stay(d, &a);
  put_residents(d, &a);
  if (!status) status = run_times(d, runs, seconds);
  if (!status && args) status = copy_out(d, &a);
  take_residents(d, &a);
  return status;
}

/* ---- loading -------------------------------------------------------- */

enum { HEAD = 8 };

static bool read_layout(device_program *d, uint64_t left) {
  const int64_t *w = d->word.v;
  for (int i = 1; i < HEAD; i++)
    if (w[i] < 0 || w[i] > INT32_MAX / 16) return false;
  d->nparam = (uint32_t)w[1];
  d->nconst = (uint32_t)w[2];
  d->nkernel = (uint32_t)w[3];
  d->nslot = (uint32_t)w[4];
  d->nplace = (uint32_t)w[5];
  d->nsizes = (uint32_t)w[7];
  d->params = HEAD;
  d->consts = d->params + 2 * d->nparam;
  d->kernels = d->consts + d->nconst;
  d->code = d->kernels + CODE_KERNEL_WORDS * d->nkernel;
  d->code_end = d->code + (uint32_t)w[6];
  return d->code_end <= left && d->nslot >= d->nparam + d->nconst &&
         d->nplace >= d->nsizes;
}

typedef struct loading {
  device_program *d;
  const char *code;
  size_t n;
  err_state *e;
} loading;

static tess_status copy_constants(loading *l) {
  device_program *d = l->d;
  const char *at = l->code + d->code_end * sizeof(int64_t),
             *end = l->code + l->n;
  for (uint32_t i = 0; i < d->nconst; i++) {
    uint64_t bytes = (uint64_t)d->word.v[d->consts + i];
    if (bytes > (uint64_t)(end - at))
      return err_set(l->e, TESS_PARSE, "the code is damaged");
    int32_t status = device_provide(d, d->nparam + i, bytes);
    if (!status && bytes)
      status = d->driver->to_device(d->ud, d->slot[d->nparam + i], at, bytes);
    if (status)
      return err_set(l->e, TESS_LAUNCH_ERROR,
                     "copying constants to the device: %s",
                     err_status_text((tess_status)status));
    at += bytes;
  }
  d->payload = at;
  d->npayload = (size_t)(end - at);
  return TESS_OK;
}

static tess_status load_program(void *ud) {
  loading *l = ud;
  device_program *d = l->d;
  size_t words = l->n / sizeof(int64_t);
  int64_t magic;
  if (words >= HEAD) {
    memcpy(&magic, l->code, sizeof magic);
    (void)vec_extend(d->heap, &d->word, HEAD);
    memcpy(d->word.v, l->code, HEAD * sizeof(int64_t));
  }
  if (words < HEAD || magic != CODE_MAGIC || !read_layout(d, words))
    return err_set(l->e, TESS_PARSE, "the code is damaged");
  vec_clear(&d->word);
  (void)vec_extend(d->heap, &d->word, d->code_end);
  memcpy(d->word.v, l->code, d->code_end * sizeof(int64_t));
  d->slot = mem_resize(d->heap, NULL, 0, d->nslot * sizeof *d->slot + 1);
  memset((void *)d->slot, 0, d->nslot * sizeof *d->slot);
  d->bytes = mem_resize(d->heap, NULL, 0, d->nslot * sizeof *d->bytes + 1);
  memset(d->bytes, 0, d->nslot * sizeof *d->bytes);
  d->value = mem_resize(d->heap, NULL, 0, d->nplace * sizeof *d->value + 1);
  memset(d->value, 0, d->nplace * sizeof *d->value);
  return copy_constants(l);
}

tess_status device_load(device_program *d, mem_heap *heap, const void *code,
                        size_t n, const device_driver *driver, void *ud,
                        err_state *e) {
  loading l = {d, code, n, e};
  *d = (device_program){.heap = heap, .driver = driver, .ud = ud};
  tess_status s = mem_protect(heap, load_program, &l);
  return s == TESS_NOMEM || s == TESS_LIMIT
             ? err_ran_out(e, heap, s, "loading a kernel")
             : s;
}

void device_unload(device_program *d) {
  for (uint32_t i = 0; d->slot && i < d->nslot; i++)
    if (d->slot[i]) d->driver->release(d->ud, d->slot[i]);
  if (d->slot)
    mem_free(d->heap, (void *)d->slot, d->nslot * sizeof *d->slot + 1);
  if (d->bytes) mem_free(d->heap, d->bytes, d->nslot * sizeof *d->bytes + 1);
  if (d->value) mem_free(d->heap, d->value, d->nplace * sizeof *d->value + 1);
  if (d->heap) vec_free(d->heap, &d->word);
  *d = (device_program){.nslot = 0};
}
