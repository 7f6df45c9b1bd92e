/* SPDX-License-Identifier: Apache-2.0
 * Parsing, completing and printing the text of a target. */
#include "backends/target.h"
#include "backends/backend.h"
#include "base/nearest.h"
#include "base/thread.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ------------------------------------------------------------ */

/* Every option is -name=value, of a text field (`size`) or a number.  Numbers
 * are from `least` to `most`, small enough to be multiplied.  In names '_' is
 * the same as '-'. */
typedef struct option {
  const char *name;
  uint32_t kinds;  /* of targets that have it */
  size_t at, size; /* of the field; size 0: a number */
  int64_t least, most;
} option;

/* Processors, devices by CUDA and by OpenCL, access-execute machines. */
enum {
  CPU = 1,
  CUDA = 2,
  OPENCL = 4,
  DAE = 8,
  DEVICE = CUDA | OPENCL,
  EVERY = CPU | DEVICE
};

#define TEXT(name, kinds, field) \
  { name, kinds, offsetof(target, field), sizeof((target *)0)->field, 0, 0 }
#define NUMBER(name, kinds, field, least, most) \
  { name, kinds, offsetof(target, field), 0, least, most }
#define MOST_BYTES ((int64_t)1 << 40)

static const option options[] = {
    TEXT("mtriple", CPU, triple),
    TEXT("mcpu", CPU, cpu),
    TEXT("arch", CUDA, cpu),
    TEXT("model", DEVICE | DAE, model),
    TEXT("machine", DAE, machine),
    NUMBER("device", DEVICE, device, 0, 15),
    TEXT("mattr", CPU | CUDA, attr),
    TEXT("fp-contract", EVERY, contract),
    TEXT("tensor-cores", CUDA, tensor_cores),
    NUMBER("num-cores", CPU | OPENCL, num_cores, 1, INT32_MAX),
    NUMBER("vector-bytes", CPU | OPENCL, vector_bytes, 1, INT32_MAX),
    NUMBER("l1", CPU | CUDA, l1, 0, MOST_BYTES),
    NUMBER("l2", EVERY, l2, 0, MOST_BYTES),
    NUMBER("l3", CPU, l3, 0, MOST_BYTES),
    NUMBER("max-threads-per-block", CUDA, max_threads, 1, 1024),
    NUMBER("max-threads-per-block", OPENCL, max_threads, 1, 1 << 16),
    NUMBER("shared-memory-per-block", DEVICE, shared_bytes, 1, INT32_MAX),
    NUMBER("max-shared-memory-per-block", CUDA, shared_optin_bytes, 1,
           INT32_MAX),
    NUMBER("registers-per-block", CUDA, registers, 1, INT32_MAX),
    NUMBER("max-registers", CUDA, max_registers, 16, 255),
    NUMBER("thread-warp-size", CUDA, warp_size, 32, 32),
    NUMBER("thread-warp-size", OPENCL, warp_size, 1, 256),
    NUMBER("multiprocessors", DEVICE, multiprocessors, 1, INT32_MAX),
};
enum { NOPTIONS = sizeof options / sizeof *options };

static uint32_t kind_of(const target *t) {
  return !strcmp(t->kind, "cuda")     ? CUDA
         : !strcmp(t->kind, "opencl") ? OPENCL
         : !strcmp(t->kind, "dae")    ? DAE
                                      : CPU;
}

static bool is_called(const option *o, const char *name, size_t n) {
  if (strlen(o->name) != n) return false;
  for (size_t i = 0; i < n; i++)
    if (o->name[i] != (name[i] == '_' ? '-' : name[i])) return false;
  return true;
}

/* -mcpu is also what -arch is called. */
static const option *find_option(uint32_t kinds, const char *name, size_t n) {
  if (kinds == CUDA && n == 4 && !memcmp(name, "mcpu", 4)) name = "arch";
  for (size_t i = 0; i < NOPTIONS; i++)
    if ((options[i].kinds & kinds) && is_called(&options[i], name, n))
      return &options[i];
  return NULL;
}

static int64_t *number_at(const target *t, const option *o) {
  return (int64_t *)(void *)((char *)t + o->at);
}

static tess_status unknown_target_option(uint32_t kinds, const char *name,
                                         size_t n, err_state *e) {
  char known[384] = "", word[64];
  size_t at = 0;
  snprintf(word, sizeof word, "%.*s", (int)n, name);
  nearest near = {.word = word + strspn(word, "-")};
  for (size_t i = 0; i < NOPTIONS && at < sizeof known; i++) {
    if (!(options[i].kinds & kinds)) continue;
    at += (size_t)snprintf(known + at, sizeof known - at, "%s-%s",
                           at ? ", " : "", options[i].name);
    nearest_try(&near, options[i].name);
  }
  return err_set(e, TESS_NOT_FOUND,
                 "target: there is no option '%.*s'; there are %s%s%s%s",
                 (int)n, name, known, near.best ? "; did you mean -" : "",
                 near.best ? near.best : "", near.best ? "?" : "");
}

static tess_status set_option(target *t, const char *text, size_t n,
                              err_state *e) {
  const char *eq = memchr(text, '=', n);
  size_t name = eq ? (size_t)(eq - text) : n;
  uint32_t kinds = kind_of(t);
  const option *o =
      text[0] == '-' ? find_option(kinds, text + 1, name - 1) : NULL;
  if (!o) return unknown_target_option(kinds, text, name, e);
  const char *value = eq ? eq + 1 : text + n;
  size_t len = (size_t)(text + n - value);
  if (len == 0 || (o->size && len >= o->size))
    return err_set(e, TESS_INVALID, "target: option '%.*s' needs a value%s",
                   (int)name, text, len ? " that is shorter" : "");
  t->given |= 1u << (o - options);
  if (o->size) {
    memset((char *)t + o->at, 0, o->size);
    memcpy((char *)t + o->at, value, len);
    return TESS_OK;
  }
  char digits[24] = "", *end;
  memcpy(digits, value, len < sizeof digits ? len : sizeof digits - 1);
  errno = 0;
  long long v = strtoll(digits, &end, 10);
  if (*end || errno || len >= sizeof digits || v < o->least || v > o->most)
    return err_set(e, TESS_INVALID,
                   "target: '%.*s' is not a number from %lld to %lld", (int)n,
                   text, (long long)o->least, (long long)o->most);
  *number_at(t, o) = v;
  return TESS_OK;
}

/* ---- the whole text ----------------------------------------------------- */

/* The next word of *at, its length in *n; NULL at the end. */
static const char *next_word(const char **at, size_t *n) {
  const char *s = *at;
  while (isspace((unsigned char)*s)) s++;
  *n = 0;
  while (s[*n] && !isspace((unsigned char)s[*n])) ++*n;
  *at = s + *n;
  return *n ? s : NULL;
}

static tess_status parse_words(target *t, const char *text, err_state *e) {
  size_t n;
  const char *word = next_word(&text, &n);
  if (!word) return err_set(e, TESS_PARSE, "target: the text is empty");
  if (n < sizeof t->kind) memcpy(t->kind, word, n);
  char known[128];
  if (!t->kind[0] || !backend_find(t->kind))
    return err_set(e, TESS_NOT_FOUND,
                   "target: there is no backend '%.*s'; there is %s", (int)n,
                   word, backend_names(known, sizeof known));
  tess_status s = TESS_OK;
  while (!s && (word = next_word(&text, &n))) s = set_option(t, word, n, e);
  return s;
}

/* The cache size that the system reports; 0 where it reports none. */
static void complete_cache(int64_t *bytes, int name) {
  long found = sysconf(name);
  if (!*bytes && found > 0) *bytes = found;
}

tess_status target_parse(target *t, const char *text, err_state *e) {
  *t = (target){.num_cores = 0};
  tess_status s = parse_words(t, text, e);
  if (!s) s = backend_find(t->kind)->complete(t, e);
  if (s) return s;
  if (!t->num_cores) t->num_cores = thread_cpus();
  if (t->is_host && kind_of(t) == CPU) {
    complete_cache(&t->l1, _SC_LEVEL1_DCACHE_SIZE);
    complete_cache(&t->l2, _SC_LEVEL2_CACHE_SIZE);
    complete_cache(&t->l3, _SC_LEVEL3_CACHE_SIZE);
  }
  return TESS_OK;
}

/* Prints the options that were given; processor and cores always, and a card
 * that was found. */
void target_print(const target *t, strbuf *out) {
  str_puts(out, t->kind);
  for (size_t i = 0; i < NOPTIONS; i++) {
    const option *o = &options[i];
    if (!(o->kinds & kind_of(t))) continue;
    bool always =
        o->at == offsetof(target, cpu) ||
        o->at == offsetof(target, num_cores) ||
        (t->is_host && (o->kinds & DEVICE) && kind_of(t) != CPU && !o->size &&
         *number_at(t, o) && o->at != offsetof(target, max_registers));
    if (!always && !(t->given & 1u << i)) continue;
    if (o->size)
      str_printf(out, " -%s=%s", o->name, (const char *)t + o->at);
    else
      str_printf(out, " -%s=%lld", o->name, (long long)*number_at(t, o));
  }
}

int64_t target_int(const target *t, const char *field) {
  const option *o = find_option(kind_of(t), field, strlen(field));
  return o && !o->size ? *number_at(t, o) : -1;
}

static tess_status unknown_target_name(const char *what, const nearest *near,
                                       err_state *e) {
  return err_set(e, TESS_NOT_FOUND, "target: there is no %s '%.60s'%s%s%s",
                 what, near->word, near->best ? "; did you mean '" : "",
                 near->best ? near->best : "", near->best ? "'?" : "");
}

tess_status target_check_field(const char *field, err_state *e) {
  nearest near = {.word = field};
  for (size_t i = 0; i < NOPTIONS; i++) {
    const option *o = &options[i];
    if (!o->size) nearest_try(&near, o->name);
    if (!is_called(o, field, strlen(field))) continue;
    if (!o->size) return TESS_OK;
    return err_set(e, TESS_INVALID,
                   "target: '%s' is a text, in the text of the target, and no "
                   "number of it",
                   o->name);
  }
  return unknown_target_name("field", &near, e);
}

/* "sm_80": the architecture of a CUDA target, or one before it; but "sm_90a"
 * has what later ones lack. */
static bool has_architecture(const target *t, const char *arch) {
  if (strncmp(t->cpu, "sm_", 3) || strncmp(arch, "sm_", 3)) return false;
  char *end;
  long n = strtol(arch + 3, &end, 10);
  return *end ? !strcmp(t->cpu, arch) : n <= strtol(t->cpu + 3, NULL, 10);
}

bool target_has(const target *t, const char *feature) {
  size_t n = strlen(feature);
  bool has = has_architecture(t, feature);
  if (t->implies) return backend_find(t->kind)->has(t, feature);
  for (const char *at = t->features; n && *at; at += strcspn(at, ",")) {
    at += *at == ',';
    if (!strncmp(at + 1, feature, n) && (!at[n + 1] || at[n + 1] == ','))
      has = *at == '+';
  }
  return has;
}

/* Of CUDA's targets: "sm_80", and LLVM's versions of PTX, "ptx78". */
static bool is_architecture(const char *feature) {
  bool named = !strncmp(feature, "sm_", 3) || !strncmp(feature, "ptx", 3);
  return named && isdigit((unsigned char)feature[3]);
}

tess_status target_check_feature(const target *t, const char *feature,
                                 err_state *e) {
  nearest near = {.word = feature};
  const backend *cpu = backend_find("llvm");
  if (target_has(t, feature) || is_architecture(feature)) return TESS_OK;
  if (!cpu || !cpu->knows || cpu->knows(t, feature, &near)) return TESS_OK;
  return unknown_target_name("feature", &near, e);
}

bool target_opens_fragments(const target *t) {
  return !strcmp(t->kind, "cuda") && !strcmp(t->tensor_cores, "mma");
}
