/* SPDX-License-Identifier: Apache-2.0
 * What a device says of itself, as options of a target: the kind of device
 * (whose other limits models.def has), threads, local memory, cores, vectors.
 */
#include "backends/opencl/driver.h"
#include "backends/opencl/opencl.h"
#include <string.h>

typedef struct asking {
  const ocl_driver *cl;
  ocl_handle id;
} asking;

static bool ask_device(const asking *a, unsigned what, size_t size, void *out) {
  memset(out, 0, size);
  return !a->cl->device_info(a->id, what, size, out, NULL);
}

/* By the first word of the vendor's name. */
static const char *model_of(const asking *a) {
  static const struct {
    const char *vendor, *model;
  } known[] = {{"NVIDIA", "nvidia"},  {"Advanced Micro", "amd"},
               {"AMD", "amd"},        {"Intel", "intel"},
               {"ARM", "mali"},       {"Arm", "mali"},
               {"QUALCOMM", "adreno"}};
  char vendor[128];
  uint64_t type;
  ask_device(a, OCL_DEVICE_TYPE, sizeof type, &type);
  if (type & OCL_DEVICE_CPU) return "cpu";
  if (!ask_device(a, OCL_DEVICE_VENDOR, sizeof vendor - 1, vendor))
    return "generic";
  vendor[sizeof vendor - 1] = '\0';
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strncmp(vendor, known[i].vendor, strlen(known[i].vendor)))
      return known[i].model;
  return "generic";
}

static void put_limit(strbuf *out, const char *option, uint64_t value,
                      uint64_t most) {
  if (value)
    str_printf(out, " -%s=%llu", option,
               (unsigned long long)(value < most ? value : most));
}

/* Work-items load 16 bytes at once at least, whatever the registers. */
static uint64_t vector_bytes(const asking *a) {
  enum { LEAST = 16 };
  unsigned lanes;
  ask_device(a, OCL_DEVICE_FLOAT_LANES, sizeof lanes, &lanes);
  return lanes * sizeof(float) > LEAST ? lanes * sizeof(float) : LEAST;
}

tess_status opencl_facts(uint32_t device, strbuf *out, err_state *e) {
  asking a;
  const ocl_device *on;
  size_t threads;
  uint64_t shared;
  unsigned units;
  tess_status s = ocl_device_find(device, &a.cl, &on, e);
  if (s) return s;
  a.id = on->id;
  const char *model = model_of(&a);
  ask_device(&a, OCL_DEVICE_THREADS, sizeof threads, &threads);
  ask_device(&a, OCL_DEVICE_SHARED, sizeof shared, &shared);
  ask_device(&a, OCL_DEVICE_UNITS, sizeof units, &units);
  str_printf(out, " -model=%s", model);
  put_limit(out, strcmp(model, "cpu") ? "multiprocessors" : "num-cores", units,
            INT32_MAX);
  put_limit(out, "vector-bytes", vector_bytes(&a), INT32_MAX);
  put_limit(out, "max-threads-per-block", threads, 1 << 16);
  put_limit(out, "shared-memory-per-block", shared, INT32_MAX);
  return str_status(out);
}
