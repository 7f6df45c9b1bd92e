/* SPDX-License-Identifier: Apache-2.0
 * Opens OpenCL's ICD loader once in a process, and lists the devices. */
#include "backends/opencl/driver.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Filled once and only read then, as LLVM's registry is: a driver cannot be
 * unloaded, and opening PoCL takes a tenth of a second. */
enum { MOST = 16 };
static ocl_driver the_driver;
static ocl_device the_device[MOST];
static const char *the_problem;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

/* A symbol as a function pointer; ISO C has no cast between the two. */
static bool bind_entry(void *library, const char *symbol, void *slot) {
  void *at = dlsym(library, symbol);
  memcpy(slot, &at, sizeof at);
  return at != NULL;
}

static bool bind_entries(ocl_driver *d) {
  bool all = true;
#define ENTRY(result, field, symbol, ...) \
  all = bind_entry(d->library, #symbol, &d->field) && all;
#include "backends/opencl/driver.def"
#undef ENTRY
  return all;
}

/* Lists the devices of a kind, of all platforms. */
static void list_devices(ocl_driver *d, uint64_t kind, unsigned n,
                         const ocl_handle *platform) {
  for (unsigned i = 0; i < n; i++) {
    ocl_handle found[MOST];
    unsigned count = 0;
    if (d->get_devices(platform[i], kind, MOST, found, &count)) continue;
    for (unsigned k = 0; k < count && k < MOST && d->ndevice < MOST; k++)
      the_device[d->ndevice++].id = found[k];
  }
}

static bool find_devices(ocl_driver *d) {
  static const uint64_t kinds[] = {OCL_DEVICE_GPU, OCL_DEVICE_ACCELERATOR,
                                   OCL_DEVICE_CPU};
  ocl_handle platform[MOST];
  unsigned n = 0;
  if (d->get_platforms(MOST, platform, &n)) return false;
  if (n > MOST) n = MOST;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    list_devices(d, kinds[k], n, platform);
  return d->ndevice > 0;
}

/* PoCL runs a work-group in one thread of its own, with the private memory of
 * all its work-items on that thread's stack. */
static void enlarge_stacks(void) {
#ifdef __GLIBC__
  const size_t bytes = (size_t)256 << 20;
  size_t now = 0;
  pthread_attr_t attr;
  if (sizeof(void *) < 8 || pthread_getattr_default_np(&attr)) return;
  if (!pthread_attr_getstacksize(&attr, &now) && now < bytes &&
      !pthread_attr_setstacksize(&attr, bytes))
    (void)pthread_setattr_default_np(&attr);
  pthread_attr_destroy(&attr);
#endif
}

static void open_driver(void) {
  ocl_driver *d = &the_driver;
  enlarge_stacks();
  d->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!d->library)
    the_problem = "there is no OpenCL loader (libOpenCL.so.1) here";
  else if (!bind_entries(d))
    the_problem = "the OpenCL loader here is older than OpenCL 1.2";
  else if (!find_devices(d))
    the_problem = "the OpenCL loader here finds no device";
}

tess_status ocl_driver_open(const ocl_driver **out, err_state *e) {
  pthread_once(&opened, open_driver);
  *out = &the_driver;
  return the_problem ? err_set(e, TESS_UNSUPPORTED, "%s", the_problem)
                     : TESS_OK;
}

tess_status ocl_device_find(uint32_t n, const ocl_driver **driver,
                            const ocl_device **out, err_state *e) {
  tess_status s = ocl_driver_open(driver, e);
  if (s) return s;
  if (n >= (*driver)->ndevice)
    return err_set(e, TESS_UNSUPPORTED,
                   "there is no 'opencl:%u': OpenCL devices here are 0 to %u",
                   n, (*driver)->ndevice - 1);
  *out = &the_device[n];
  return TESS_OK;
}

tess_status ocl_device_open(uint32_t n, const ocl_driver **driver,
                            const ocl_device **out, err_state *e) {
  tess_status s = ocl_device_find(n, driver, out, e);
  if (s) return s;
  const ocl_driver *cl = *driver;
  ocl_device *d = &the_device[n];
  int code = 0;
  if (!d->context)
    d->context = cl->context_new(NULL, 1, &d->id, NULL, NULL, &code);
  if (!code && !d->queue)
    d->queue = cl->queue_new(d->context, d->id, OCL_QUEUE_PROFILES, &code);
  return code ? err_set(e, TESS_LAUNCH_ERROR,
                        "OpenCL: opening the device: error %d", code)
              : TESS_OK;
}
