/* SPDX-License-Identifier: Apache-2.0
 * Reads a card's clocks and why they are held back, by NVIDIA's management
 * library (libnvidia-ml), which is opened at run time where there is one.
 *
 * Symbols and numbers are those of NVML's reference. */
#include "backends/cuda/context.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct nvml_device_s *nvml_device;

typedef struct nvml {
  int (*init)(void);
  int (*by_bus)(const char *, nvml_device *);
  int (*clock)(nvml_device, int, unsigned *);
  int (*reasons)(nvml_device, unsigned long long *);
} nvml;

enum { NVML_SM_CLOCK = 1, NVML_MEMORY_CLOCK = 2 };

static bool bind_nvml(void *library, const char *symbol, void *slot) {
  void *at = dlsym(library, symbol);
  memcpy(slot, &at, sizeof at);
  return at != NULL;
}

static bool open_nvml(nvml *out) {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  bool ok =
      library && bind_nvml(library, "nvmlInit_v2", &out->init) &&
      bind_nvml(library, "nvmlDeviceGetHandleByPciBusId_v2", &out->by_bus) &&
      bind_nvml(library, "nvmlDeviceGetClockInfo", &out->clock) &&
      bind_nvml(library, "nvmlDeviceGetCurrentClocksThrottleReasons",
                &out->reasons) &&
      !out->init();
  if (!ok && library) dlclose(library);
  return ok;
}

/* NULL: there is none; it stays open until the process ends. */
static const nvml *get_nvml(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static nvml library;
  static bool tried, is_open;
  pthread_mutex_lock(&lock);
  if (!tried) is_open = open_nvml(&library);
  tried = true;
  pthread_mutex_unlock(&lock);
  return is_open ? &library : NULL;
}

/* Idleness and clocks that somebody set are no throttling. */
static const struct reason {
  unsigned long long bit;
  const char *text;
} reasons[] = {
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "synchronization"},
    {0x20, "temperature"},
    {0x40, "heat"},
    {0x80, "power brake"},
};

static void add_reasons(unsigned long long bits, char *out, size_t n) {
  const char *before = ", held back by ";
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (!(bits & reasons[i].bit)) continue;
    size_t at = strlen(out);
    snprintf(out + at, n - at, "%s%s", before, reasons[i].text);
    before = " and ";
  }
}

void cuda_read_clocks(const cuda_process *c, char *out, size_t n) {
  const nvml *l = get_nvml();
  char bus[32] = "";
  nvml_device device;
  unsigned sm, memory;
  unsigned long long bits;
  out[0] = '\0';
  if (!l || c->d->device_bus(bus, sizeof bus, c->device) ||
      l->by_bus(bus, &device) || l->clock(device, NVML_SM_CLOCK, &sm))
    return;
  snprintf(out, n, "SM clock %u MHz", sm);
  size_t at = strlen(out);
  if (!l->clock(device, NVML_MEMORY_CLOCK, &memory))
    snprintf(out + at, n - at, ", memory %u MHz", memory);
  if (!l->reasons(device, &bits)) add_reasons(bits, out, n);
}
