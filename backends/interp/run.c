/* SPDX-License-Identifier: Apache-2.0
 * Entry point of the interpreter: binds arguments, runs the compiled program,
 * copies results back. */
#include "backends/interp/machine.h"

#include "backends/interp/residue.h"
#include "ir/scalar.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_BYTES (UINT64_C(1) << 30)

void interp_init(interp *in, mem_heap *heap) {
  *in = (interp){.heap = heap};
  arena_init(&in->memory, heap);
  ir_program_init(&in->prog, heap);
}

void interp_free(interp *in) {
  if (in->code) {
    code_free(in->code);
    mem_delete(in->heap, in->code);
  }
  ir_program_free(&in->prog);
  arena_free(&in->memory);
}

/* ---- arguments ---------------------------------------------------------- */

/* One run, as an argument of mem_protect. */
typedef struct job {
  interp *in;
  const ir_program *p;
  uint32_t nargs;
  const interp_arg *args;
  const interp_options *o;
  interp_error *e;
  machine m;
} job;

static interp_word read_element(tess_dtype t, bool residue, const char *at) {
  interp_word w;
  if (!ir_is_float(t))
    w.i = ir_get_int(t, at);
  else if (residue)
    w.u = residue_of_real(ir_get_real(t, at));
  else
    w.f = ir_get_real(t, at);
  return w;
}

static void write_element(tess_dtype t, interp_word w, char *at) {
  if (ir_is_float(t))
    ir_put_real(t, w.f, at);
  else
    ir_put_int(t, w.i, at);
}

/* Bytes of one element of an argument. */
static size_t width(const job *j, ir_buf b) {
  return j->o->domain == INTERP_RESIDUE ? sizeof(uint64_t)
                                        : ir_dtype_bytes(j->p->buf.v[b].dtype);
}

/* Allocates buffer i; false unless its size matches `bytes` bytes of `each`. */
static bool bring_in(job *j, uint32_t i, const interp_word *R, size_t bytes,
                     size_t each) {
  machine *m = &j->m;
  const code_buf *k = &m->k->bufs.v[i];
  if (!machine_alloc(m, i, R, 0)) return false;
  if (m->buf[i].size * each == bytes) return true;
  interp_error e = {.code = TESS_INVALID,
                    .fault = INTERP_INVALID,
                    .buf = k->buf,
                    .element = -1};
  snprintf(e.what, sizeof e.what, "%llu bytes were given for it, it has %llu",
           (unsigned long long)bytes,
           (unsigned long long)(m->buf[i].size * each));
  machine_fault(m, e);
  return false;
}

static void fill_elements(machine_buf *b, tess_dtype t, bool residue,
                          const char *data) {
  size_t each = ir_dtype_bytes(t);
  for (uint64_t i = 0; i < b->size; i++)
    b->val[i] = read_element(t, residue, data + i * each);
}

static void mark_written(machine_buf *b) {
  for (uint64_t i = 0; b->wrote && i < b->size; i++) b->wrote[i] = b->birth;
  for (uint64_t i = 0; b->cell && i < b->size; i++)
    b->cell[i] = (machine_cell){.writer = b->birth};
}

static bool check_contents(job *j, const code_buf *k, const machine_buf *b) {
  const ir_buf_rec *r = &j->p->buf.v[k->buf];
  arena_mark mark = arena_get_mark(j->m.memory);
  int64_t at = interp_find_undeclared(j->m.memory, r, b->size, b->val);
  arena_reset_to(j->m.memory, mark);
  if (at < 0) return true;
  interp_error e = {.code = TESS_INVALID,
                    .fault = INTERP_INVALID,
                    .buf = k->buf,
                    .element = at};
  snprintf(e.what, sizeof e.what,
           "element %lld, which is %lld, is not what the buffer is declared "
           "to hold",
           (long long)at, (long long)b->val[at].i);
  machine_fault(&j->m, e);
  return false;
}

/* Inputs are initialized from the arguments; outputs are unwritten. */
static bool take_args(job *j, const interp_word *R) {
  machine *m = &j->m;
  for (uint32_t i = 0; i < j->nargs; i++) {
    const code_buf *k = &m->k->bufs.v[i + 1];
    machine_buf *b = &m->buf[i + 1];
    size_t each = width(j, k->buf);
    if (!bring_in(j, i + 1, R, j->args[i].bytes, each)) return false;
    if (!k->is_input) continue;
    if (j->o->domain == INTERP_RESIDUE)
      memcpy(b->val, j->args[i].data, b->size * each);
    else
      fill_elements(b, j->p->buf.v[k->buf].dtype, false, j->args[i].data);
    if (!check_contents(j, k, b)) return false;
    mark_written(b);
  }
  return true;
}

static bool take_constants(job *j, const interp_word *R) {
  machine *m = &j->m;
  for (uint32_t i = 0; i < j->p->constant.n; i++) {
    const ir_const *c = &j->p->constant.v[i];
    uint32_t at = j->nargs + 1 + i;
    tess_dtype t = j->p->buf.v[c->buf].dtype;
    if (!bring_in(j, at, R, c->bytes, ir_dtype_bytes(t))) return false;
    fill_elements(&m->buf[at], t, j->o->domain == INTERP_RESIDUE, c->data);
  }
  return true;
}

/* The time of an element's last write, 0: never. */
static uint32_t written_at(const machine_buf *b, uint64_t at) {
  return b->cell ? b->cell[at].writer : b->wrote[at];
}

static void give_args(job *j) {
  machine *m = &j->m;
  for (uint32_t i = 0; i < j->nargs; i++) {
    const code_buf *k = &m->k->bufs.v[i + 1];
    const machine_buf *b = &m->buf[i + 1];
    tess_dtype t = j->p->buf.v[k->buf].dtype;
    size_t each = width(j, k->buf);
    char *data = j->args[i].data;
    for (uint64_t at = 0; k->guard != CODE_INPUT && at < b->size; at++) {
      if (!written_at(b, at)) continue;
      if (j->o->domain == INTERP_RESIDUE)
        memcpy(data + at * each, &b->val[at].u, each);
      else
        write_element(t, b->val[at], data + at * each);
    }
  }
}

/* ---- the run ------------------------------------------------------------ */

static bool check_args(job *j) {
  uint32_t n = ir_entry(j->p)->params.n;
  if (n == j->nargs) return true;
  interp_error e = {
      .code = TESS_INVALID, .fault = INTERP_INVALID, .element = -1};
  snprintf(e.what, sizeof e.what, "%u arguments for %u parameters",
           (unsigned)j->nargs, (unsigned)n);
  machine_fault(&j->m, e);
  return false;
}

static tess_status prepare_buffers(job *j) {
  interp *in = j->in;
  if (!in->code) {
    in->code = mem_new(in->heap, code_unit);
    *in->code = (code_unit){.heap = in->heap};
  }
  ir_program_copy(&in->prog, j->p);
  return code_compile(in->code, &in->prog, &in->memory, j->o, j->e);
}

static tess_status run_program(void *ud) {
  job *j = ud;
  machine *m = &j->m;
  arena_reset(&j->in->memory);
  if (!check_args(j) || prepare_buffers(j)) return j->e->code;
  m->k = j->in->code;
  m->buf = arena_zalloc(m->memory, m->k->bufs.n * sizeof *m->buf);
  m->times = &j->in->code->times;
  vec_clear(m->times);
  uint32_t pc = 0;
  size_t nregs = m->k->init.n * sizeof(interp_word);
  interp_word *R = arena_alloc(m->memory, nregs);
  memcpy(R, m->k->init.v, nregs);
  if (machine_exec(m, R, &pc) == MACHINE_FAULT || !take_args(j, R) ||
      !take_constants(j, R) || machine_exec(m, R, &pc) != MACHINE_END)
    return j->e->code;
  give_args(j);
  j->in->effects = m->effects;
  return TESS_OK;
}

tess_status interp_run(interp *in, const ir_program *p, uint32_t nargs,
                       const interp_arg *args, const interp_options *o,
                       interp_error *e) {
  static const interp_options none;
  o = o ? o : &none;
  *e = (interp_error){.element = -1};
  job j = {.in = in, .p = p, .nargs = nargs, .args = args, .o = o, .e = e};
  j.m = (machine){.o = o, .e = e, .heap = in->heap, .memory = &in->memory};
  uint64_t most = o->max_steps ? o->max_steps : UINT32_MAX;
  j.m.steps = most;
  j.m.bytes = o->max_bytes ? o->max_bytes : DEFAULT_BYTES;
  tess_status st = mem_protect(in->heap, run_program, &j);
  in->steps = most - j.m.steps;
  if (st && !e->code)
    *e = (interp_error){
        .code = st, .fault = INTERP_LIMIT, .element = -1, .what = "memory"};
  return st;
}
