/* SPDX-License-Identifier: Apache-2.0
 * Opens libcuda and binds its entries. */
#include "backends/cuda/driver.h"
#include <dlfcn.h>
#include <string.h>

/* A symbol as a function pointer; ISO C has no cast between the two. */
static bool bind_entry(void *library, const char *symbol, void *slot) {
  void *at = dlsym(library, symbol);
  memcpy(slot, &at, sizeof at);
  return at != NULL;
}

static const char *bind_all(cuda_driver *d) {
#define ENTRY(field, symbol, ...) \
  if (!bind_entry(d->library, #symbol, &d->field)) return #symbol;
#include "backends/cuda/driver.def"
#undef ENTRY
  return NULL;
}

tess_status cuda_driver_open(cuda_driver *d, err_state *e) {
  *d = (cuda_driver){.library = dlopen("libcuda.so.1", RTLD_NOW)};
  if (!d->library)
    return err_set(e, TESS_UNSUPPORTED,
                   "there is no NVIDIA driver (libcuda.so.1) here");
  const char *missing = bind_all(d);
  if (!missing && !d->init(0)) return TESS_OK;
  cuda_driver_close(d);
  if (missing)
    return err_set(e, TESS_UNSUPPORTED, "the NVIDIA driver here has no '%s'",
                   missing);
  return err_set(e, TESS_UNSUPPORTED, "the NVIDIA driver here finds no device");
}

void cuda_driver_close(cuda_driver *d) {
  if (d->library) dlclose(d->library);
  *d = (cuda_driver){.library = NULL};
}

tess_status cuda_check(const cuda_driver *d, int code, const char *doing,
                       err_state *e) {
  const char *name = NULL;
  if (!code) return TESS_OK;
  if (d->error_name(code, &name) || !name) name = "an unknown error";
  return err_set(e, TESS_LAUNCH_ERROR, "CUDA: %s: %s", doing, name);
}
