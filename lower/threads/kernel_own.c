/* SPDX-License-Identifier: Apache-2.0
 * Proves that threads access disjoint elements: in some dimension the index is
 * c times the thread index plus a rest whose value range spans less than c.
 * Thread indices known to be equal are left out of the rest. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "lower/threads/kernel.h"

#define MAX_TERMS 16

typedef struct index_form {
  int n;
  ir_expr atom[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant;
} index_form;

static int64_t coef_of(const index_form *f, ir_expr atom) {
  for (int i = 0; i < f->n; i++)
    if (f->atom[i] == atom) return f->coef[i];
  return 0;
}

static ir_expr thread_index(const kernel *k, unsigned axis) {
  ir_var v = k->index[IR_THREADIDX_X + axis];
  return v ? ir_ref(k->p, v) : 0;
}

/* The greatest place in an axis that does something in s. */
static int64_t last_place(const kernel *k, ir_stmt s, unsigned axis) {
  int64_t last = k->extent[IR_THREADIDX_X + axis] - 1;
  for (s = s < k->nwithin ? k->within[s] : 0; s; s = k->within[s])
    if (k->axis[s] >> axis & 1)
      return k->count[s] <= last ? k->count[s] - 1 : last;
  return last;
}

/* The bounds of the index without the places of the axes `without`; false:
 * not known. */
static bool rest_bounds(const kernel *k, ir_stmt at, const index_form *f,
                        kernel_axes without, int64_t *lo, int64_t *hi) {
  *lo = *hi = f->constant;
  for (int i = 0; i < f->n; i++) {
    bool skip = false;
    const ir_node *n = ir_at(k->p, f->atom[i]);
    int64_t c = f->coef[i], least, most, end = n->hi;
    for (unsigned a = 0; a < 3; a++) {
      if (f->atom[i] != thread_index(k, a)) continue;
      skip |= without >> a & 1;
      end = last_place(k, at, a);
    }
    if (skip) continue;
    if (n->lo == INT64_MIN || end == INT64_MAX ||
        __builtin_mul_overflow(c, c < 0 ? end : n->lo, &least) ||
        __builtin_mul_overflow(c, c < 0 ? n->lo : end, &most) ||
        __builtin_add_overflow(*lo, least, lo) ||
        __builtin_add_overflow(*hi, most, hi))
      return false;
  }
  return true;
}

/* Dimension d of all accesses determines the thread index of an axis. */
static bool determines_thread(const kernel *k, uint32_t n,
                              const lower_access *const *v, uint32_t d,
                              unsigned axis, kernel_axes known) {
  const ir_program *p = k->p;
  int64_t c = 0, least = 0, most = 0, other[3] = {0};
  for (uint32_t i = 0; i < n; i++) {
    index_form f;
    int64_t lo, hi;
    f.n = arith_terms(p, p->arg.v[v[i]->idx.at + d], MAX_TERMS, f.atom, f.coef,
                      &f.constant);
    if (f.n < 0) return false;
    if (!i) c = coef_of(&f, thread_index(k, axis));
    if (c < 1 || coef_of(&f, thread_index(k, axis)) != c) return false;
    for (unsigned a = 0; a < 3; a++) {
      if (!(known >> a & 1) || !thread_index(k, a)) continue;
      if (!i) other[a] = coef_of(&f, thread_index(k, a));
      if (coef_of(&f, thread_index(k, a)) != other[a]) return false;
    }
    if (!rest_bounds(k, v[i]->at, &f, (kernel_axes)(known | 1u << axis), &lo,
                     &hi))
      return false;
    least = i && least < lo ? least : lo;
    most = i && most > hi ? most : hi;
  }
  return most - least < c;
}

kernel_axes kernel_owned(const kernel *k, uint32_t n,
                         const lower_access *const *v, kernel_axes known) {
  for (unsigned a = 0; a < 3; a++)
    if (k->extent[IR_THREADIDX_X + a] <= 1) known |= (kernel_axes)(1u << a);
  for (uint32_t i = 1; i < n; i++)
    if (v[i]->idx.n != v[0]->idx.n) return known;
  for (bool more = n > 0; more;) {
    more = false;
    for (unsigned a = 0; a < 3; a++)
      for (uint32_t d = 0; d < v[0]->idx.n && !(known >> a & 1); d++)
        if (determines_thread(k, n, v, d, a, known)) {
          known |= (kernel_axes)(1u << a);
          more = true;
        }
  }
  return known;
}
