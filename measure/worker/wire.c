/* SPDX-License-Identifier: Apache-2.0
 * Serializes requests and results, and parses them without trusting them. */
#include "measure/worker/wire.h"
#include <math.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------ */

static void put_u64(strbuf *out, uint64_t v) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(v >> 8 * i);
  str_write(out, (const char *)bytes, sizeof bytes);
}

static void put_f64(strbuf *out, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_u64(out, bits);
}

static void put_bytes(strbuf *out, const void *v, size_t n) {
  put_u64(out, n);
  str_write(out, v, n);
}

/* With its terminating NUL. */
static void put_text(strbuf *out, const char *s) {
  put_bytes(out, s, strlen(s) + 1);
}

static void put_str(strbuf *out, const strbuf *s) {
  put_bytes(out, s->n ? s->v : "", s->n);
}

void wire_write_put(strbuf *out, const wire_put *p) {
  put_u64(out, p->what);
  put_u64(out, p->key);
  put_bytes(out, p->bytes.v, p->bytes.n);
}

void wire_write_build(strbuf *out, const job_build *r) {
  put_u64(out, r->base);
  put_text(out, r->target);
  put_u64(out, r->kind);
  put_u64(out, r->form);
  put_u64(out, r->trace);
  put_u64(out, r->given);
  put_u64(out, r->ndecisions);
  for (uint32_t i = 0; i < r->ndecisions; i++)
    put_u64(out, (uint64_t)r->decisions[i]);
  put_bytes(out, r->program.v, r->program.n);
}

void wire_write_bench(strbuf *out, const job_bench *r) {
  put_u64(out, r->base);
  put_u64(out, r->seed);
  put_u64(out, r->inputs);
  put_u64(out, r->threads);
  put_text(out, r->target);
}

void wire_write_run(strbuf *out, const job_run *r) {
  wire_write_bench(out, &r->bench);
  put_u64(out, r->check);
  put_u64(out, r->only_check);
  put_u64(out, r->has_reference);
  put_bytes(out, r->reference.v, r->reference.n);
  put_f64(out, r->min_time);
  put_f64(out, r->timeout);
  put_f64(out, r->cutoff);
  for (int k = 0; k < TIMING_STEPS; k++) put_f64(out, r->margin.v[k]);
  put_f64(out, r->best);
  put_u64(out, r->repeats);
  put_u64(out, r->warm_cache);
  put_u64(out, r->n);
  for (uint32_t i = 0; i < r->n; i++)
    put_bytes(out, r->code[i].v, r->code[i].n);
}

void wire_write_call(strbuf *out, const job_call *r) {
  put_text(out, r->target);
  put_bytes(out, r->code.v, r->code.n);
  put_u64(out, r->n);
  for (uint32_t i = 0; i < r->n; i++) {
    put_u64(out, r->written[i]);
    put_u64(out, r->resident[i]);
    put_bytes(out, r->arg[i].v, r->arg[i].n);
  }
  put_u64(out, r->nsizes);
  for (uint32_t i = 0; i < r->nsizes; i++) put_u64(out, (uint64_t)r->sizes[i]);
  put_f64(out, r->min_time);
  put_u64(out, r->repeats);
  put_u64(out, r->threads);
}

void wire_write_memory(strbuf *out, const job_memory *r) {
  put_u64(out, r->op);
  put_u64(out, r->is_new);
  put_u64(out, r->id);
  put_text(out, r->device);
  put_bytes(out, r->contents.v, r->contents.n);
}

void wire_write_hello(strbuf *out, const wire_hello *h) {
  put_u64(out, h->status);
  put_text(out, h->message);
  put_text(out, h->version);
}

void wire_write_phase(strbuf *out, job_phase phase) { put_u64(out, phase); }

void wire_write_refused(strbuf *out, const wire_refusal *r) {
  put_u64(out, r->status);
  put_text(out, r->why);
}

void wire_write_built(strbuf *out, const measure_build *b) {
  put_u64(out, b->status);
  put_str(out, &b->message);
  put_str(out, &b->code);
  put_u64(out, b->program_hash);
  put_f64(out, b->replay);
  put_f64(out, b->lower);
  put_f64(out, b->compile);
}

void wire_write_reference(strbuf *out, const job_reference *r) {
  put_u64(out, r->status);
  put_str(out, &r->message);
  put_str(out, &r->note);
  put_str(out, &r->outputs);
  put_f64(out, r->seconds);
  put_f64(out, r->launch);
}

static void put_result(strbuf *out, const measure_result *r) {
  put_u64(out, r->status);
  put_str(out, &r->message);
  const double v[] = {r->median, r->min,   r->max,  r->mean,
                      r->stddev, r->error, r->bound};
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) put_f64(out, v[i]);
  put_f64(out, r->first);
  put_u64(out, r->runs);
  put_u64(out, r->cut_off);
  put_u64(out, r->checked);
  put_u64(out, r->sample.n);
  for (uint32_t i = 0; i < r->sample.n; i++) put_f64(out, r->sample.v[i]);
}

void wire_write_ran(strbuf *out, uint32_t n, const measure_result *r,
                    const job_times *t) {
  put_f64(out, t->prepare);
  put_f64(out, t->kernel);
  put_f64(out, t->check);
  put_u64(out, n);
  for (uint32_t i = 0; i < n; i++) put_result(out, &r[i]);
}

void wire_write_called(strbuf *out, const measure_result *r,
                       const strbuf *contents) {
  put_result(out, r);
  put_str(out, contents);
}

size_t wire_write_crash(unsigned char out[WIRE_CRASH], const wire_crash *c) {
  const uint64_t v[4] = {c->signal, c->hit, c->distance, c->address};
  for (int i = 0; i < 32; i++)
    out[i] = (unsigned char)(v[i / 8] >> 8 * (i % 8));
  memcpy(out + 32, c->name, sizeof c->name);
  return 32 + sizeof c->name;
}

/* ---- reading ------------------------------------------------------------ */

static wire_reader open_reader(const void *body, size_t n) {
  const unsigned char *at = body;
  return (wire_reader){at, at + n, false};
}

static const unsigned char *take_bytes(wire_reader *r, uint64_t n) {
  const unsigned char *at = r->at;
  if (r->bad || n > (uint64_t)(r->end - at)) {
    r->bad = true;
    return NULL;
  }
  r->at += n;
  return at;
}

static uint64_t get_u64(wire_reader *r) {
  uint64_t v = 0;
  const unsigned char *at = take_bytes(r, 8);
  for (int i = 0; at && i < 8; i++) v |= (uint64_t)at[i] << 8 * i;
  return v;
}

/* A number below `limit`. */
static uint32_t get_below(wire_reader *r, uint64_t limit) {
  uint64_t v = get_u64(r);
  if (v < limit) return (uint32_t)v;
  r->bad = true;
  return 0;
}

static double get_f64(wire_reader *r) {
  uint64_t bits = get_u64(r);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Seconds and the like: not negative, not NaN. */
static double get_amount(wire_reader *r) {
  double v = get_f64(r);
  if (v >= 0) return v;
  r->bad = true;
  return 0;
}

static job_bytes get_bytes(wire_reader *r) {
  uint64_t n = get_u64(r);
  const unsigned char *at = take_bytes(r, n);
  return (job_bytes){at ? at : (const void *)"", at ? (size_t)n : 0};
}

static const char *get_text(wire_reader *r) {
  job_bytes b = get_bytes(r);
  const char *s = b.v;
  if (b.n && !s[b.n - 1] && strlen(s) == b.n - 1) return s;
  r->bad = true;
  return "";
}

static void get_str(wire_reader *r, strbuf *out) {
  job_bytes b = get_bytes(r);
  str_clear(out);
  str_write(out, b.v, b.n);
}

static tess_status get_status(wire_reader *r) {
  return (tess_status)get_below(r, TESS_UNWRITTEN + 1);
}

static bool finished(const wire_reader *r) {
  return !r->bad && r->at == r->end;
}

bool wire_read_put(const void *body, size_t n, wire_put *out) {
  wire_reader r = open_reader(body, n);
  out->what = get_below(&r, JOB_THINGS);
  out->key = get_u64(&r);
  out->bytes = get_bytes(&r);
  return finished(&r);
}

bool wire_read_build(const void *body, size_t n, arena *a, job_build *out) {
  wire_reader r = open_reader(body, n);
  out->base = get_u64(&r);
  out->target = get_text(&r);
  out->kind = get_below(&r, JOB_OF_PROGRAM + 1);
  out->form = get_below(&r, BACKEND_NFORMS);
  out->trace = get_u64(&r);
  out->given = get_below(&r, 2) != 0;
  uint32_t count = get_below(&r, UINT32_MAX);
  if (r.bad || count > (size_t)(r.end - r.at) / 8) return false;
  int64_t *d = arena_array(a, int64_t, count);
  for (uint32_t i = 0; i < count; i++) d[i] = (int64_t)get_u64(&r);
  out->decisions = d;
  out->ndecisions = count;
  out->program = get_bytes(&r);
  return finished(&r);
}

static void get_bench(wire_reader *r, job_bench *out) {
  out->base = get_u64(r);
  out->seed = get_u64(r);
  out->inputs = get_u64(r);
  out->threads = get_below(r, 4096);
  out->target = get_text(r);
}

bool wire_read_bench(const void *body, size_t n, job_bench *out) {
  wire_reader r = open_reader(body, n);
  get_bench(&r, out);
  return finished(&r);
}

bool wire_read_run(const void *body, size_t n, job_run *out) {
  wire_reader r = open_reader(body, n);
  get_bench(&r, &out->bench);
  out->check = get_below(&r, MEASURE_CHECK_ALWAYS + 1);
  out->only_check = get_below(&r, 2) != 0;
  out->has_reference = get_below(&r, 2) != 0;
  out->reference = get_bytes(&r);
  out->min_time = get_amount(&r);
  out->timeout = get_amount(&r);
  out->cutoff = get_amount(&r);
  for (int k = 0; k < TIMING_STEPS; k++) out->margin.v[k] = get_amount(&r);
  out->best = get_amount(&r);
  out->repeats = get_below(&r, UINT32_MAX);
  out->warm_cache = get_below(&r, 2) != 0;
  out->n = get_below(&r, JOB_MAX_KERNELS + 1);
  for (uint32_t i = 0; i < out->n; i++) out->code[i] = get_bytes(&r);
  return finished(&r) && out->n > 0;
}

bool wire_read_call(const void *body, size_t n, job_call *out) {
  wire_reader r = open_reader(body, n);
  enum { SIZES = sizeof out->sizes / sizeof *out->sizes };
  out->target = get_text(&r);
  out->code = get_bytes(&r);
  out->n = get_below(&r, JOB_MAX_ARGS + 1);
  for (uint32_t i = 0; i < out->n; i++) {
    out->written[i] = get_below(&r, 2) != 0;
    out->resident[i] = get_u64(&r);
    out->arg[i] = get_bytes(&r);
  }
  out->nsizes = get_below(&r, SIZES + 1);
  for (uint32_t i = 0; i < out->nsizes; i++)
    out->sizes[i] = (int64_t)get_u64(&r);
  out->min_time = get_amount(&r);
  out->repeats = get_below(&r, UINT32_MAX);
  out->threads = get_below(&r, 4096);
  return finished(&r);
}

bool wire_read_memory(const void *body, size_t n, job_memory *out) {
  wire_reader r = open_reader(body, n);
  out->op = get_below(&r, JOB_MEMORY_OPS);
  out->is_new = get_below(&r, 2) != 0;
  out->id = get_u64(&r);
  out->device = get_text(&r);
  out->contents = get_bytes(&r);
  return finished(&r);
}

bool wire_read_hello(const void *body, size_t n, wire_hello *out) {
  wire_reader r = open_reader(body, n);
  out->status = get_status(&r);
  out->message = get_text(&r);
  out->version = get_text(&r);
  return finished(&r);
}

bool wire_read_phase(const void *body, size_t n, job_phase *out) {
  wire_reader r = open_reader(body, n);
  *out = (job_phase)get_below(&r, JOB_CHECKING + 1);
  return finished(&r);
}

bool wire_read_refused(const void *body, size_t n, wire_refusal *out) {
  wire_reader r = open_reader(body, n);
  out->status = get_status(&r);
  out->why = get_text(&r);
  bool is_memory = out->status == TESS_NOMEM || out->status == TESS_LIMIT;
  return finished(&r) && is_memory;
}

bool wire_read_crash(const void *body, size_t n, wire_crash *out) {
  wire_reader r = open_reader(body, n);
  out->signal = get_below(&r, 128);
  out->hit = get_below(&r, GUARD_INSIDE + 1);
  out->distance = get_u64(&r);
  out->address = get_u64(&r);
  const unsigned char *name = take_bytes(&r, sizeof out->name);
  if (name) memcpy(out->name, name, sizeof out->name);
  out->name[sizeof out->name - 1] = '\0';
  return finished(&r);
}

bool wire_read_built(const void *body, size_t n, measure_build *out) {
  wire_reader r = open_reader(body, n);
  out->status = get_status(&r);
  get_str(&r, &out->message);
  get_str(&r, &out->code);
  out->program_hash = get_u64(&r);
  out->replay = get_amount(&r);
  out->lower = get_amount(&r);
  out->compile = get_amount(&r);
  return finished(&r);
}

bool wire_read_reference(const void *body, size_t n, job_reference *out) {
  wire_reader r = open_reader(body, n);
  out->status = get_status(&r);
  get_str(&r, &out->message);
  get_str(&r, &out->note);
  get_str(&r, &out->outputs);
  out->seconds = get_amount(&r);
  out->launch = get_amount(&r);
  return finished(&r);
}

static void get_result(wire_reader *r, mem_heap *heap, measure_result *out) {
  double *const v[] = {&out->median, &out->min,   &out->max,  &out->mean,
                       &out->stddev, &out->error, &out->bound};
  out->status = get_status(r);
  get_str(r, &out->message);
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) *v[i] = get_amount(r);
  out->first = get_amount(r);
  out->runs = get_u64(r);
  out->cut_off = get_below(r, 2) != 0;
  out->checked = get_below(r, 2) != 0;
  uint32_t n = get_below(r, UINT32_MAX);
  if (n > (size_t)(r->end - r->at) / 8) r->bad = true;
  vec_clear(&out->sample);
  for (uint32_t i = 0; !r->bad && i < n; i++)
    vec_push(heap, &out->sample, get_amount(r));
}

bool wire_read_called(const void *body, size_t n, mem_heap *heap,
                      measure_result *out, job_bytes *contents) {
  wire_reader r = open_reader(body, n);
  get_result(&r, heap, out);
  *contents = get_bytes(&r);
  return finished(&r);
}

bool wire_read_ran(const void *body, size_t n, mem_heap *heap, uint32_t k,
                   measure_result *out, job_times *times) {
  wire_reader r = open_reader(body, n);
  times->prepare = get_amount(&r);
  times->kernel = get_amount(&r);
  times->check = get_amount(&r);
  if (get_u64(&r) != k) return false;
  for (uint32_t i = 0; i < k; i++) get_result(&r, heap, &out[i]);
  return finished(&r);
}
