/* SPDX-License-Identifier: Apache-2.0
 * Loads and stores: vloadn and vstoren where indices are consecutive, else
 * lane by lane. */
#include "backends/opencl/emit.h"
#include "ir/analysis/analysis.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include <string.h>

/* ---- shapes of an access -------------------------------------------- */

typedef struct reach {
  ir_buf buf;
  bool wide, row, same; /* vector; consecutive; all lanes one element */
  ocl_text base;        /* one element, a row: the (first) index */
  ocl_text lanes;       /* else: those of all lanes, bound */
  int64_t first;        /* of a row in an array of vectors: its element */
  ir_expr step;         /* of a ramp: base + (first + k) * step */
  ocl_text mask;
} reach;

static ocl_text shifted(ocl *m, ocl_text base, uint32_t by) {
  if (!by) return base;
  return ocl_infix(m, base, "+", ocl_text_of(m, OCL_PRIMARY, "%u", by),
                   OCL_ADD);
}

static reach reach_of(ocl *m, ir_buf b, ir_expr index, ir_expr mask) {
  const ir_node n = *ir_at(m->p, index);
  reach x = {.buf = b, .wide = ocl_is_wide(m, n.dtype)};
  if (mask) {
    x.mask = ocl_expr(m, mask);
    if (ir_at(m->p, mask)->dtype.lanes == 1 && x.wide)
      x.mask =
          ocl_splat(m, (tess_dtype){TESS_DTYPE_BOOL, 8, n.dtype.lanes}, x.mask);
  }
  bool fits = x.wide || m->width == 1 || !m->mask.s;
  if (fits) x.mask = ocl_both_masks(m, m->mask, x.mask);
  if (!fits) /* one element for all lanes: if any is active */
    x.mask = ocl_text_of(m, OCL_PRIMARY, "any(%s)", m->mask.s);
  if (x.wide && x.mask.s)
    x.mask = ocl_bind(m, ocl_wide_type(m, "char", m->width), x.mask);
  if (!x.wide) {
    x.base = ocl_expr(m, index);
  } else if (n.op == IR_RAMP) {
    x.row = ir_is_const(m->p, n.b, 1);
    if (ir_const_int(m->p, n.a, &x.first)) x.first += m->first;
    x.base = shifted(m, ocl_expr(m, n.a), x.row ? m->first : 0);
    x.step = n.b;
  } else if (n.op == IR_BROADCAST) {
    x.same = true;
    x.base = ocl_expr(m, n.a);
  } else {
    x.lanes = ocl_bind(m, ocl_type(m, n.dtype), ocl_expr(m, index));
  }
  return x;
}

/* The element that lane k of the slice accesses. */
static const char *element_of(ocl *m, const reach *x, uint32_t k) {
  const char *name = ocl_buf(m, x->buf);
  if (!x->wide || x->same)
    return arena_printf(m->scratch, "%s[%s]", name, x->base.s);
  if (x->row)
    return arena_printf(m->scratch, "%s[%s]", name, shifted(m, x->base, k).s);
  if (x->lanes.s)
    return arena_printf(m->scratch, "%s[%s]", name, ocl_lane(m, x->lanes, k));
  ocl_text by = ocl_text_of(m, OCL_PRIMARY, "%u", m->first + k);
  ocl_text at = ocl_infix(m, ocl_expr(m, x->step), "*", by, OCL_MUL);
  return arena_printf(m->scratch, "%s[%s]", name,
                      ocl_infix(m, x->base, "+", at, OCL_ADD).s);
}

/* The vector of an array of vectors. */
static const char *vector_of(ocl *m, const reach *x) {
  return arena_printf(m->scratch, "%s[%lld]", ocl_buf(m, x->buf),
                      (long long)(x->first / m->vectors[x->buf]));
}

static const char *address_of(ocl *m, const reach *x) {
  if (!strcmp(x->base.s, "0")) return ocl_buf(m, x->buf);
  return arena_printf(m->scratch, "%s + %s", ocl_buf(m, x->buf),
                      ocl_in(m, x->base, OCL_ADD));
}

/* ---- loads ---------------------------------------------------------- */

static ocl_text load_lanes(ocl *m, const reach *x, const char *type) {
  const char *list = "";
  for (uint32_t k = 0; k < m->width; k++) {
    const char *at = element_of(m, x, k);
    list = x->mask.s
               ? arena_printf(m->scratch, "%s%s%s ? %s : 0", list,
                              k ? ", " : "", ocl_lane(m, x->mask, k), at)
               : arena_printf(m->scratch, "%s%s%s", list, k ? ", " : "", at);
  }
  return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", type, list);
}

static ocl_text load_elements(ocl *m, const reach *x, tess_dtype t) {
  const char *memory = ocl_memory_type(t);
  if (m->vectors[x->buf])
    return ocl_text_of(m, OCL_PRIMARY, "%s", vector_of(m, x));
  if (!x->wide) {
    const char *at = element_of(m, x, 0);
    if (!x->mask.s) return ocl_text_of(m, OCL_PRIMARY, "%s", at);
    return ocl_text_of(m, OCL_COND, "%s ? %s : 0", ocl_in(m, x->mask, OCL_LAND),
                       at);
  }
  const char *type = ocl_wide_type(m, memory, m->width);
  if (x->same && !x->mask.s)
    return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", type, element_of(m, x, 0));
  if (x->row && !x->mask.s)
    return ocl_text_of(m, OCL_PRIMARY, "vload%u(0, %s)", m->width,
                       address_of(m, x));
  return load_lanes(m, x, type);
}

ocl_text ocl_load(ocl *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (m->given_buf && n.a == m->given_buf) return m->given;
  if (n.n - (n.c ? 1 : 0) != 1 && n.n != 1)
    ocl_refuse(m, TESS_INTERNAL, "buffer '%s' was not flattened",
               ir_text(m->p, m->p->buf.v[n.a].name));
  reach x = reach_of(m, n.a, m->p->arg.v[n.b], n.c);
  ocl_text v = load_elements(m, &x, n.dtype);
  uint16_t depth = (uint16_t)(x.base.s ? x.base.depth + 1 : 1);
  if (n.dtype.code == TESS_DTYPE_BOOL)
    v = x.wide ? ocl_text_of(m, OCL_EQ, "%s != (uchar%u)(0)",
                             ocl_in(m, v, OCL_ADD), m->width)
               : ocl_text_of(m, OCL_EQ, "%s != 0", ocl_in(m, v, OCL_ADD));
  v.depth = depth;
  return v;
}

/* ---- stores --------------------------------------------------------- */

/* One slice: where, and what, evaluated before anything is stored. */
typedef struct slice {
  uint32_t first, width;
  reach x;
  ocl_text value;
} slice;

static void store_slice(ocl *m, const slice *s) {
  const reach *x = &s->x;
  m->first = s->first;
  m->width = s->width;
  if (m->vectors[x->buf]) {
    ocl_line(m, "%s = %s;", vector_of(m, x), s->value.s);
  } else if (!x->wide) {
    const char *at = element_of(m, x, 0);
    if (x->mask.s)
      ocl_line(m, "if (%s) %s = %s;", x->mask.s, at, s->value.s);
    else
      ocl_line(m, "%s = %s;", at, s->value.s);
  } else if (x->row && !x->mask.s) {
    ocl_line(m, "vstore%u(%s, 0, %s);", m->width, s->value.s, address_of(m, x));
  } else {
    for (uint32_t k = 0; k < m->width; k++) {
      const char *at = element_of(m, x, k), *v = ocl_lane(m, s->value, k);
      if (x->mask.s)
        ocl_line(m, "if (%s) %s = %s;", ocl_lane(m, x->mask, k), at, v);
      else
        ocl_line(m, "%s = %s;", at, v);
    }
  }
}

static ocl_text elements_text(ocl *m, const ir_stmt_rec *r, const reach *x,
                              bool several) {
  tess_dtype t = ir_at(m->p, r->value)->dtype;
  ocl_text v = ocl_expr(m, r->value);
  const char *type = ocl_type(m, t);
  if (x->wide && !ocl_is_wide(m, t)) { /* a scalar in all lanes */
    t.lanes = 2;
    v = ocl_splat(m, t, v);
    type = ocl_type(m, t);
  }
  if (x->wide && t.code == TESS_DTYPE_BOOL) {
    type = ocl_wide_type(m, "uchar", m->width);
    v = ocl_text_of(m, OCL_PRIMARY, "as_%s(%s & (char%u)(1))", type,
                    ocl_in(m, v, OCL_ADD), m->width);
  }
  bool by_lane = x->wide && (!x->row || x->mask.s);
  return several || by_lane ? ocl_bind(m, type, v) : v;
}

/* What an atomic update combines with the element. */
static ocl_text operand_of(ocl *m, const ir_stmt_rec *r, tess_dtype t) {
  ir_expr e = ir_atomic_operand(m->p, r);
  int64_t v = r->loop_kind == IR_ADD   ? 0
              : r->loop_kind == IR_MIN ? ir_int_max(t)
                                       : ir_int_min(t);
  if (!e) { /* what it makes of the identity */
    m->given_buf = r->buf;
    m->given = ir_is_float(t) ? ocl_real(m, t, -0.0) : ocl_int(m, t, v);
  }
  ocl_count(m, e ? e : r->value);
  ocl_text text = ocl_expr(m, e ? e : r->value);
  m->given_buf = 0;
  return text;
}

static void ocl_atomic(ocl *m, const ir_stmt_rec *r) {
  tess_dtype t = m->p->buf.v[r->buf].dtype;
  ir_expr index = m->p->arg.v[r->idx.at];
  const char *name = ir_text(m->p, m->p->buf.v[r->buf].name);
  if (t.bits != 32)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "'%s' is updated atomically, which OpenCL 1.2 has for 32 bits",
               name);
  if (ir_at(m->p, index)->dtype.lanes != 1 || r->mask || m->mask.s)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "the atomic update of '%s' is of several elements", name);
  if (m->refused) return;
  ocl_slice(m, 0, 1);
  ocl_text v = operand_of(m, r, t);
  ocl_count(m, index);
  reach x = reach_of(m, r->buf, index, 0);
  ocl_line(m, "%s(%s, %s);", ocl_helper_atomic(m, t, (ir_op)r->loop_kind),
           address_of(m, &x), v.s);
}

void ocl_store(ocl *m, const ir_stmt_rec *r) {
  ir_expr index = m->p->arg.v[r->idx.at];
  if (r->idx.n != 1)
    ocl_refuse(m, TESS_INTERNAL, "buffer '%s' was not flattened",
               ir_text(m->p, m->p->buf.v[r->buf].name));
  if (r->loop_kind) {
    ocl_atomic(m, r);
    return;
  }
  ocl_count(m, r->value);
  ocl_count(m, index);
  ocl_count(m, r->mask);
  uint32_t lanes = ir_at(m->p, index)->dtype.lanes, n = 0;
  slice *s = arena_array(m->scratch, slice, lanes);
  for (uint32_t first = 0; first < lanes; n++) {
    uint32_t width = ocl_slice_width(lanes, first);
    ocl_slice(m, first, width);
    reach x = reach_of(m, r->buf, index, r->mask);
    bool several = width < lanes;
    s[n] = (slice){first, width, x, elements_text(m, r, &x, several)};
    first += width;
  }
  for (uint32_t i = 0; i < n; i++) store_slice(m, &s[i]);
}
