/* SPDX-License-Identifier: Apache-2.0
 * CUDA targets: limits of architectures and cards, and the card that is here.
 */
#include "backends/cuda/cuda.h"
#include "backends/cuda/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arch {
  const char *name;
  int64_t shared;
} arch;

typedef struct card {
  const char *model, *arch;
  int64_t l2, multiprocessors;
} card;

static const arch archs[] = {
#define ARCH(name, shared) {name, shared},
#define CARD(model, arch, l2, multiprocessors)
#include "backends/cuda/cards.def"
#undef ARCH
#undef CARD
};

static const card cards[] = {
#define ARCH(name, shared)
#define CARD(model, arch, l2, multiprocessors) \
  {model, arch, l2, multiprocessors},
#include "backends/cuda/cards.def"
#undef ARCH
#undef CARD
};

enum {
  NARCHS = sizeof archs / sizeof *archs,
  NCARDS = sizeof cards / sizeof *cards
};

int cuda_capability(const target *t) { return atoi(t->cpu + 3); }

static const arch *find_arch(const char *name) {
  for (size_t i = 0; i < NARCHS; i++)
    if (!strcmp(archs[i].name, name)) return &archs[i];
  return NULL;
}

static void set_if_open(int64_t *field, int64_t value) {
  if (!*field) *field = value;
}

/* ---- the card that is here ---------------------------------------------- */

static int attribute(const cuda_driver *d, cuda_device at, int which) {
  int value = 0;
  return d->device_attribute(&value, which, at) ? 0 : value;
}

/* sm_90a is sm_90 with instructions that later architectures lack. */
static void name_arch(target *t, int major, int minor) {
  int n = 10 * major + minor;
  snprintf(t->cpu, sizeof t->cpu, "sm_%d%s", n, n == 90 ? "a" : "");
  if (!find_arch(t->cpu) && n > 90) snprintf(t->cpu, sizeof t->cpu, "sm_90");
}

static void take_limits(target *t, const cuda_driver *d, cuda_device at) {
  name_arch(t, attribute(d, at, CUDA_CAPABILITY_MAJOR),
            attribute(d, at, CUDA_CAPABILITY_MINOR));
  set_if_open(&t->max_threads, attribute(d, at, CUDA_MAX_THREADS_PER_BLOCK));
  set_if_open(&t->shared_bytes, attribute(d, at, CUDA_SHARED_PER_BLOCK));
  set_if_open(&t->shared_optin_bytes, attribute(d, at, CUDA_SHARED_OPTIN));
  set_if_open(&t->registers, attribute(d, at, CUDA_REGISTERS_PER_BLOCK));
  set_if_open(&t->multiprocessors, attribute(d, at, CUDA_MULTIPROCESSORS));
  set_if_open(&t->l2, attribute(d, at, CUDA_L2_BYTES));
  t->is_host = true;
}

static tess_status find_card(target *t, err_state *e) {
  const cuda_driver *d;
  cuda_device at;
  tess_status s = cuda_driver_get(&d, e);
  if (!s && d->device_get(&at, (int)t->device))
    s = t->device
            ? err_set(e, TESS_UNSUPPORTED, "there is no device 'cuda:%d' here",
                      (int)t->device)
            : err_set(e, TESS_UNSUPPORTED, "there is no NVIDIA card here");
  if (!s) take_limits(t, d, at);
  return s;
}

int cuda_count_devices(void) {
  const cuda_driver *d;
  err_state e;
  int n = 0;
  err_clear(&e);
  if (!cuda_driver_get(&d, &e) && d->device_count(&n)) n = 0;
  return n;
}

bool cuda_is_card_here(const target *t) {
  target own = {.kind = "cuda", .device = t->device};
  err_state e;
  err_clear(&e);
  return !find_card(&own, &e) && !strcmp(own.cpu, t->cpu);
}

/* ---- completing --------------------------------------------------------- */

/* sm_90 is code for cards of sm_90a, too. */
static bool is_arch_of(const target *t, const card *c) {
  return !strcmp(t->cpu, c->arch) ||
         (strlen(c->arch) == strlen(t->cpu) + 1 &&
          !strncmp(t->cpu, c->arch, strlen(t->cpu)));
}

static tess_status refuse_contradiction(const target *t, const card *c,
                                        err_state *e) {
  return err_set(e, TESS_INVALID,
                 "target: -model=%s is a card of %s, which -arch=%s "
                 "contradicts: leave out one of them",
                 c->model, c->arch, t->cpu);
}

static tess_status take_model(target *t, err_state *e) {
  char known[256] = "";
  size_t n = 0;
  for (size_t i = 0; i < NCARDS; i++) {
    const card *c = &cards[i];
    if (!strcmp(c->model, t->model)) {
      if (!t->cpu[0]) snprintf(t->cpu, sizeof t->cpu, "%s", c->arch);
      if (!is_arch_of(t, c)) return refuse_contradiction(t, c, e);
      set_if_open(&t->l2, c->l2);
      set_if_open(&t->multiprocessors, c->multiprocessors);
      return TESS_OK;
    }
    n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                          c->model);
  }
  return err_set(e, TESS_INVALID,
                 "target: no card is called '%s'; known are %s", t->model,
                 known);
}

static tess_status refuse_arch(const target *t, err_state *e) {
  char known[128] = "";
  size_t n = 0;
  for (size_t i = 0; i < NARCHS; i++)
    n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                          archs[i].name);
  return err_set(e, TESS_INVALID, "target: -arch is one of %s, not '%s'", known,
                 t->cpu);
}

static tess_status refuse_shared(const char *option, int64_t asked,
                                 const target *t, int64_t most, err_state *e) {
  return err_set(e, TESS_INVALID,
                 "target: -%s=%lld is more than a block of '%s' can have, %lld "
                 "bytes",
                 option, (long long)asked, t->cpu, (long long)most);
}

/* `asked`: of shared memory without asking; 0: the text does not say.  The card
 * that is here knows its own limits. */
static tess_status take_arch(target *t, int64_t asked, err_state *e) {
  const arch *a = find_arch(t->cpu);
  if (!a) return refuse_arch(t, e);
  if (!t->is_host && t->shared_optin_bytes > a->shared)
    return refuse_shared("max-shared-memory-per-block", t->shared_optin_bytes,
                         t, a->shared, e);
  int64_t most = t->shared_optin_bytes ? t->shared_optin_bytes : a->shared;
  if (asked > most)
    return refuse_shared("shared-memory-per-block", asked, t, most, e);
  set_if_open(&t->max_threads, 1024);
  set_if_open(&t->shared_bytes, 49152);
  set_if_open(&t->shared_optin_bytes, a->shared);
  set_if_open(&t->registers, 65536);
  set_if_open(&t->warp_size, 32);
  if (t->shared_optin_bytes < t->shared_bytes)
    t->shared_bytes = t->shared_optin_bytes;
  return TESS_OK;
}

/* The oldest PTX with the architecture and the instructions that are used;
 * drivers take older versions than their own. */
static int least_ptx(const target *t) {
  int n = cuda_capability(t);
  if (!strcmp(t->cpu, "sm_90a")) return 80;
  return n >= 89   ? 78
         : n >= 87 ? 74
         : n >= 86 ? 71
         : n >= 80 ? 70
         : n >= 75 ? 65
                   : 63;
}

static tess_status check_ptx(const target *t, err_state *e) {
  enum { LATEST = 85 };
  int n = 0, version, least = least_ptx(t);
  if (!t->attr[0]) return TESS_OK;
  if (sscanf(t->attr, "+ptx%d%n", &version, &n) != 1 || t->attr[n] ||
      version < 60 || version > LATEST)
    return err_set(e, TESS_INVALID,
                   "target: -mattr is a version of PTX, +ptx%d to +ptx%d for "
                   "'%s'",
                   least, LATEST, t->cpu);
  return version >= least
             ? TESS_OK
             : err_set(e, TESS_INVALID,
                       "target: -mattr=+ptx%d is too old for '%s', whose code "
                       "needs +ptx%d to +ptx%d",
                       version, t->cpu, least, LATEST);
}

static bool is_one_of(const char *s, const char *a, const char *b) {
  return !s[0] || !strcmp(s, a) || !strcmp(s, b);
}

static tess_status check_words(const target *t, err_state *e) {
  if (!is_one_of(t->contract, "fast", "off"))
    return err_set(e, TESS_INVALID, "target: -fp-contract is fast or off");
  if (!is_one_of(t->tensor_cores, "wmma", "mma"))
    return err_set(e, TESS_INVALID, "target: -tensor-cores is wmma or mma");
  if (!strcmp(t->tensor_cores, "mma") && cuda_capability(t) < 80)
    return err_set(e, TESS_INVALID,
                   "target: -tensor-cores=mma is of sm_80 and later, whose "
                   "mma.sync multiplies 16 x 8 x 16; '%s' has wmma",
                   t->cpu);
  return check_ptx(t, e);
}

tess_status cuda_complete_target(target *t, err_state *e) {
  tess_status s = TESS_OK;
  int64_t shared = t->shared_bytes;
  snprintf(t->triple, sizeof t->triple, "nvptx64-nvidia-cuda");
  t->vector_bytes = 16;
  if (t->model[0]) s = take_model(t, e);
  if (!s && !t->cpu[0]) {
    s = find_card(t, e);
    if (s == TESS_UNSUPPORTED && t->device)
      return err_set(e, TESS_INVALID,
                     "target: 'cuda' needs -arch=sm_80 or -model=a100, since "
                     "there is no NVIDIA card number %d here",
                     (int)t->device);
    if (s == TESS_UNSUPPORTED)
      return err_set(e, TESS_INVALID,
                     "target: 'cuda' needs -arch=sm_80 or -model=a100, since "
                     "no NVIDIA card is found here");
  }
  if (!s) s = take_arch(t, shared, e);
  if (!s) s = check_words(t, e);
  if (s) return s;
  if (t->attr[0])
    snprintf(t->features, sizeof t->features, "%s", t->attr);
  else
    snprintf(t->features, sizeof t->features, "+ptx%d", least_ptx(t));
  if (!t->num_cores) t->num_cores = 1; /* the host's part is one thread */
  return TESS_OK;
}

/* ---- this machine ------------------------------------------------------- */

tess_status cuda_runs_here(const target *t, err_state *e) {
  target own = {.kind = "cuda", .device = t->device};
  tess_status s = find_card(&own, e);
  if (s) return s;
  int need = cuda_capability(t), has = cuda_capability(&own);
  bool same = strlen(t->cpu) > 5 ? !strcmp(t->cpu, own.cpu) : need <= has;
  return same ? TESS_OK
              : err_set(e, TESS_UNSUPPORTED,
                        "a kernel for '%s' cannot run on the card here, which "
                        "is '%s'",
                        t->cpu, own.cpu);
}
