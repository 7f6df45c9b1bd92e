/* SPDX-License-Identifier: Apache-2.0
 * Opens libcuda and binds its entries, once for the process: the driver keeps
 * state of its own, and making a context takes tenths of a second. */
#include "backends/cuda/driver.h"
#include <dlfcn.h>
#include <pthread.h>
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

static tess_status open_library(cuda_driver *d, err_state *e) {
  *d = (cuda_driver){.library = dlopen("libcuda.so.1", RTLD_NOW)};
  if (!d->library)
    return err_set(e, TESS_UNSUPPORTED,
                   "there is no NVIDIA driver (libcuda.so.1) here");
  const char *missing = bind_all(d);
  if (missing)
    return err_set(e, TESS_UNSUPPORTED, "the NVIDIA driver here has no '%s'",
                   missing);
  if (!d->init(0)) return TESS_OK;
  return err_set(e, TESS_UNSUPPORTED, "the NVIDIA driver here finds no device");
}

/* Where it fails it is tried again at the next call: it costs little then, and
 * a message is made again. */
tess_status cuda_driver_get(const cuda_driver **out, err_state *e) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static cuda_driver driver;
  static bool is_open;
  tess_status s = TESS_OK;
  pthread_mutex_lock(&lock);
  if (!is_open) {
    s = open_library(&driver, e);
    if (s && driver.library) dlclose(driver.library);
    is_open = s == TESS_OK;
  }
  pthread_mutex_unlock(&lock);
  *out = &driver;
  return s;
}

tess_status cuda_check(const cuda_driver *d, int code, const char *doing,
                       err_state *e) {
  const char *name = NULL;
  if (!code) return TESS_OK;
  if (d->error_name(code, &name) || !name) name = "an unknown error";
  return err_set(e, TESS_LAUNCH_ERROR, "CUDA: %s: %s", doing, name);
}
