/* SPDX-License-Identifier: Apache-2.0
 * Private buffers that are arrays of vectors: those of which a kernel accesses
 * whole vectors of one width at constant indices only, as it does of
 * accumulators in registers.  Compilers split what vloadn and vstoren access
 * into smaller pieces, and would put them together and apart again. */
#include "backends/opencl/emit.h"
#include "ir/query.h"
#include "ir/edit.h"
#include <string.h>

enum { MIXED = 255 };

static void note_vector(ocl *m, ir_buf b, ir_expr index, ir_expr mask) {
  const ir_node n = *ir_at(m->p, index);
  uint32_t w = ocl_slice_width(n.dtype.lanes, 0);
  int64_t base;
  bool whole = !mask && w > 1 && n.dtype.lanes % w == 0 && n.op == IR_RAMP &&
               ir_is_const(m->p, n.b, 1) && ir_const_int(m->p, n.a, &base) &&
               base % w == 0;
  uint8_t *at = &m->vectors[b];
  *at = whole && (!*at || *at == w) ? (uint8_t)w : MIXED;
}

static void note_vector_load(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) note_vector(ud, n->a, p->arg.v[n->b], n->c);
}

static void note_vectors_of(ocl *m, ir_expr e) {
  if (e) ir_visit(m->p, m->scratch, e, note_vector_load, m);
}

static void note_statement(ocl *m, const ir_stmt_rec *r) {
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    note_vectors_of(m, r->lo);
    note_vectors_of(m, r->extent);
    break;
  case IR_STORE:
    note_vector(m, r->buf, m->p->arg.v[r->idx.at], r->mask);
    note_vectors_of(m, m->p->arg.v[r->idx.at]);
    note_vectors_of(m, r->value);
    note_vectors_of(m, r->mask);
    break;
  case IR_IF: note_vectors_of(m, r->cond); break;
  case IR_LET: note_vectors_of(m, r->let_value); break;
  case IR_EVALUATE: note_vectors_of(m, r->eval); break;
  case IR_ALLOCATE:
  case IR_BLOCK:
  case IR_BARRIER:
  case IR_DEAD: break;
  }
}

static bool is_vector_array(const ocl *m, ir_buf b) {
  const ir_buf_rec *r = &m->p->buf.v[b];
  int64_t n;
  return m->vectors[b] && m->vectors[b] != MIXED && r->shape.n == 1 &&
         r->role == IR_ROLE_LOCAL && r->dtype.code != TESS_DTYPE_BOOL &&
         !ir_scope_is_shared(r->scope) &&
         ir_const_int(m->p, ir_dim(m->p, b, 0), &n) && n % m->vectors[b] == 0;
}

void ocl_find_vectors(ocl *m, const device_kernel *k) {
  memset(m->vectors, 0, m->p->buf.n);
  for (ir_stmt top = k->first; top; top = ir_st(m->p, top)->next) {
    for (ir_stmt s = top; s; s = ir_next(m->p, s, top))
      note_statement(m, ir_st(m->p, s));
    if (top == k->last) break;
  }
  for (uint32_t i = 0; i < k->nbuf; i++) m->vectors[k->buf[i]] = 0;
  for (ir_buf b = 1; b < m->p->buf.n; b++)
    if (!is_vector_array(m, b)) m->vectors[b] = 0;
}
