/* SPDX-License-Identifier: Apache-2.0
 * Loads and stores: a vector access where indices are consecutive, a scalar one
 * with broadcast where they are equal, else gather and scatter; with alignment
 * and alias metadata. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include <stdio.h>

/* ---- which buffers do not alias ----------------------------------------- */

/* Beyond this many buffers alias metadata, whose size is quadratic, is left
 * out; LLVM still distinguishes its own allocas. */
enum { MAX_SCOPES = 256 };

static LLVMMetadataRef scope_node(emit *m, LLVMMetadataRef domain, ir_buf b) {
  const char *name = ir_text(m->p, m->p->buf.v[b].name);
  char text[96];
  int n = snprintf(text, sizeof text, "%s.%u", name, b);
  size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(m->ctx, text, len),
                              domain};
  return LLVMMDNodeInContext2(m->ctx, parts, 2);
}

void emit_alias_facts(emit *m, const uint8_t *used) {
  LLVMMetadataRef scopes[MAX_SCOPES], others[MAX_SCOPES];
  ir_buf bufs[MAX_SCOPES];
  uint32_t n = 0;
  LLVMMetadataRef name = LLVMMDStringInContext2(m->ctx, "buffers", 7);
  LLVMMetadataRef domain = LLVMMDNodeInContext2(m->ctx, &name, 1);
  for (ir_buf b = 1; b < m->p->buf.n; b++) {
    if (!used[b]) continue;
    if (n == MAX_SCOPES) return;
    scopes[n] = scope_node(m, domain, b);
    bufs[n++] = b;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = 0;
    for (uint32_t j = 0; j < n; j++)
      if (j != i) others[k++] = scopes[j];
    LLVMMetadataRef mine = LLVMMDNodeInContext2(m->ctx, &scopes[i], 1);
    LLVMMetadataRef rest = LLVMMDNodeInContext2(m->ctx, others, k);
    m->alias[bufs[i]].scope = LLVMMetadataAsValue(m->ctx, mine);
    m->alias[bufs[i]].others = LLVMMetadataAsValue(m->ctx, rest);
  }
}

static LLVMValueRef with_alias(emit *m, ir_buf b, LLVMValueRef access) {
  if (m->alias[b].scope) {
    LLVMSetMetadata(access, m->kind_scope, m->alias[b].scope);
    LLVMSetMetadata(access, m->kind_noalias, m->alias[b].others);
  }
  return access;
}

/* ---- alignment ---------------------------------------------------------- */

/* The greatest power of two, up to 64, that must divide e. */
static uint32_t factor_of(const ir_program *p, ir_expr e) {
  enum { MAX = 64 };
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT)
    return n->i % MAX ? 1u << __builtin_ctzll((uint64_t)n->i) : MAX;
  if (n->op != IR_ADD && n->op != IR_SUB && n->op != IR_MUL) return 1;
  uint32_t a = factor_of(p, n->a), b = factor_of(p, n->b);
  if (n->op == IR_MUL) return a * b < MAX ? a * b : MAX;
  return a < b ? a : b;
}

static uint32_t element_bytes(const emit *m, ir_buf b) {
  return m->p->buf.v[b].dtype.bits / 8u;
}

/* Local buffers and constants are aligned to a cache line; parameters as
 * declared, else to their element, or as a device allocates memory. */
static uint32_t buffer_align(const emit *m, ir_buf b) {
  const ir_buf_rec *r = &m->p->buf.v[b];
  if (r->role == IR_ROLE_LOCAL || r->role == IR_ROLE_CONSTANT) return 64;
  uint32_t least = m->device ? m->device->align : element_bytes(m, b);
  return r->align > least && !(r->align & (r->align - 1)) ? r->align : least;
}

static uint32_t access_align(const emit *m, ir_buf b, ir_expr index) {
  uint32_t bytes = factor_of(m->p, index) * element_bytes(m, b);
  uint32_t base = buffer_align(m, b);
  return bytes < base ? bytes : base;
}

/* ---- addresses ---------------------------------------------------------- */

static LLVMTypeRef element(emit *m, ir_buf b) {
  return emit_memory_type(m, m->p->buf.v[b].dtype);
}

static LLVMValueRef base_of(emit *m, ir_buf b) {
  if (m->buf[b]) return m->buf[b];
  emit_refuse(m, TESS_INTERNAL, "buffer '%s' is used outside of its scope",
              ir_text(m->p, m->p->buf.v[b].name));
  return LLVMGetPoison(m->ptr);
}

/* A constant addend of the index becomes a GEP of its own, so that neighbouring
 * accesses share the rest of their addresses. */
static LLVMValueRef address(emit *m, ir_buf b, ir_expr index, bool inside) {
  const ir_node n = *ir_at(m->p, index);
  LLVMTypeRef type = element(m, b);
  LLVMValueRef at = base_of(m, b);
  ir_expr rest = index;
  int64_t last;
  bool split = n.op == IR_ADD && ir_const_int(m->p, n.b, &last);
  if (split) rest = n.a;
  LLVMValueRef first = emit_expr(m, rest);
  LLVMValueRef step = split ? emit_i64(m, last) : NULL;
  if (!inside) {
    at = LLVMBuildGEP2(m->b, type, at, &first, 1, "");
    return split ? LLVMBuildGEP2(m->b, type, at, &step, 1, "") : at;
  }
  at = LLVMBuildInBoundsGEP2(m->b, type, at, &first, 1, "");
  return split ? LLVMBuildInBoundsGEP2(m->b, type, at, &step, 1, "") : at;
}

static LLVMValueRef addresses(emit *m, ir_buf b, ir_expr index) {
  LLVMValueRef at = emit_expr(m, index);
  return LLVMBuildGEP2(m->b, element(m, b), base_of(m, b), &at, 1, "");
}

uint32_t emit_row_align(emit *m, ir_buf b, ir_expr index) {
  const ir_node *n = ir_at(m->p, index);
  return access_align(m, b, n->op == IR_RAMP ? n->a : index);
}

LLVMValueRef emit_row_address(emit *m, ir_buf b, ir_expr index,
                              uint32_t *lanes) {
  const ir_node *n = ir_at(m->p, index);
  bool is_row = n->op == IR_RAMP && ir_is_const(m->p, n->b, 1);
  *lanes = n->dtype.lanes == 1 || is_row ? n->dtype.lanes : 0;
  if (!*lanes) return NULL;
  return address(m, b, is_row ? n->a : index, true);
}

LLVMValueRef emit_address(emit *m, ir_expr load) {
  const ir_node n = *ir_at(m->p, load);
  return address(m, n.a, m->p->arg.v[n.b], true);
}

static LLVMValueRef skipped(emit *m, ir_buf b, ir_expr first,
                            LLVMValueRef skip) {
  LLVMValueRef at = address(m, b, first, true);
  return LLVMBuildInBoundsGEP2(m->b, element(m, b), at, &skip, 1, "");
}

LLVMValueRef emit_load_row(emit *m, ir_buf b, ir_expr first, LLVMValueRef skip,
                           uint32_t lanes) {
  LLVMTypeRef type = emit_vector_type(element(m, b), lanes);
  LLVMValueRef v = LLVMBuildLoad2(m->b, type, skipped(m, b, first, skip), "");
  LLVMSetAlignment(v, element_bytes(m, b));
  return with_alias(m, b, v);
}

void emit_store_row(emit *m, ir_buf b, ir_expr first, uint32_t skip,
                    LLVMValueRef v) {
  LLVMValueRef at = skipped(m, b, first, emit_i64(m, skip));
  LLVMValueRef s = LLVMBuildStore(m->b, v, at);
  uint32_t align = access_align(m, b, first), bytes = element_bytes(m, b);
  while (align > bytes && skip * bytes % align) align /= 2;
  LLVMSetAlignment(s, align);
  with_alias(m, b, s);
}

/* ---- shapes of an access ------------------------------------------------ */

typedef enum shape {
  ONE,  /* one element */
  ROW,  /* consecutive elements from `first` */
  SAME, /* all lanes the element at `first` */
  ANY
} shape;

typedef struct access {
  shape shape;
  ir_buf buf;
  ir_expr index, first;
  uint32_t lanes;
  LLVMValueRef mask; /* NULL: all lanes */
} access;

static access access_of(emit *m, ir_buf b, ir_expr index, ir_expr mask) {
  const ir_node *n = ir_at(m->p, index);
  access x = {.shape = ANY,
              .buf = b,
              .index = index,
              .first = index,
              .lanes = n->dtype.lanes};
  if (x.lanes == 1) {
    x.shape = ONE;
  } else if (n->op == IR_RAMP && ir_is_const(m->p, n->b, 1)) {
    x.shape = ROW;
    x.first = n->a;
  } else if (n->op == IR_BROADCAST) {
    x.shape = SAME;
    x.first = n->a;
  }
  if (mask) x.mask = emit_expr(m, mask);
  if (m->mask && x.mask && LLVMTypeOf(m->mask) == LLVMTypeOf(x.mask))
    x.mask = LLVMBuildAnd(m->b, m->mask, x.mask, "");
  else if (m->mask && !x.mask)
    x.mask = m->mask;
  return x;
}

/* Is any lane of the mask active? */
static LLVMValueRef any_lane(emit *m, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return mask;
  return emit_intrinsic(m, "llvm.vector.reduce.or", 1, &type, 1, &mask);
}

static LLVMValueRef lanes_mask(emit *m, const access *x) {
  if (!x->mask)
    return emit_int(m, (tess_dtype){TESS_DTYPE_BOOL, 8, (uint16_t)x->lanes}, 1);
  bool scalar = LLVMGetTypeKind(LLVMTypeOf(x->mask)) != LLVMVectorTypeKind;
  return scalar ? emit_splat(m, x->mask, x->lanes) : x->mask;
}

/* ---- loads -------------------------------------------------------------- */

static LLVMValueRef plain_load(emit *m, const access *x, uint32_t lanes) {
  LLVMTypeRef type = emit_vector_type(element(m, x->buf), lanes);
  LLVMValueRef at = address(m, x->buf, x->first, true);
  LLVMValueRef v = LLVMBuildLoad2(m->b, type, at, "");
  LLVMSetAlignment(v, access_align(m, x->buf, x->first));
  return with_alias(m, x->buf, v);
}

/* A scalar load predicated on any active lane; else 0. */
static LLVMValueRef load_if_any(emit *m, const access *x) {
  LLVMValueRef runs = any_lane(m, x->mask);
  LLVMBasicBlockRef load = emit_new_block(m, "load");
  LLVMBasicBlockRef merge = emit_new_block(m, "merge");
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(m->b), NULL};
  LLVMBuildCondBr(m->b, runs, load, merge);
  LLVMPositionBuilderAtEnd(m->b, load);
  emit_mark mark = emit_get_mark(m);
  LLVMValueRef outer = m->mask;
  m->mask = NULL;
  LLVMValueRef v = plain_load(m, x, 1);
  m->mask = outer;
  emit_release(m, mark);
  from[1] = LLVMGetInsertBlock(m->b);
  LLVMBuildBr(m->b, merge);
  LLVMPositionBuilderAtEnd(m->b, merge);
  LLVMValueRef phi = LLVMBuildPhi(m->b, LLVMTypeOf(v), "");
  LLVMValueRef values[2] = {LLVMConstNull(LLVMTypeOf(v)), v};
  LLVMAddIncoming(phi, values, from, 2);
  return phi;
}

/* v with `lanes` lanes: truncated, or padded from `more`. */
static LLVMValueRef with_lanes(emit *m, LLVMValueRef v, LLVMValueRef more,
                               uint32_t lanes) {
  uint32_t n = LLVMGetVectorSize(LLVMTypeOf(v));
  LLVMValueRef *from = arena_array(m->scratch, LLVMValueRef, lanes);
  for (uint32_t i = 0; i < lanes; i++)
    from[i] = LLVMConstInt(m->i32, i < n || more == v ? i % n : n, false);
  return LLVMBuildShuffleVector(m->b, v, more, LLVMConstVector(from, lanes),
                                "");
}

/* By powers of two of lanes: LLVM 19 widens other gathers with undefined
 * indices, for which it reuses the destination register, and with AVX-512 that
 * instruction is illegal even for inactive lanes. */
static LLVMValueRef gather_lanes(emit *m, const access *x) {
  LLVMTypeRef elem = element(m, x->buf);
  LLVMValueRef at = addresses(m, x->buf, x->index), mask = lanes_mask(m, x);
  uint32_t lanes = 1;
  while (lanes < x->lanes) lanes *= 2;
  if (lanes != x->lanes) {
    at = with_lanes(m, at, at, lanes);
    mask = with_lanes(m, mask, LLVMConstNull(LLVMTypeOf(mask)), lanes);
  }
  LLVMTypeRef type = emit_vector_type(elem, lanes);
  LLVMTypeRef types[2] = {type, LLVMTypeOf(at)};
  LLVMValueRef args[4] = {at,
                          LLVMConstInt(m->i32, element_bytes(m, x->buf), false),
                          mask, LLVMConstNull(type)};
  LLVMValueRef v = emit_intrinsic(m, "llvm.masked.gather", 2, types, 4, args);
  with_alias(m, x->buf, v);
  return lanes == x->lanes ? v
                           : with_lanes(m, v, LLVMGetPoison(type), x->lanes);
}

static LLVMValueRef masked_load(emit *m, const access *x) {
  LLVMTypeRef type = emit_vector_type(element(m, x->buf), x->lanes);
  LLVMValueRef at = address(m, x->buf, x->first, false);
  uint32_t align = access_align(m, x->buf, x->first);
  LLVMTypeRef types[2] = {type, LLVMTypeOf(at)};
  LLVMValueRef args[4] = {at, LLVMConstInt(m->i32, align, false),
                          lanes_mask(m, x), LLVMConstNull(type)};
  LLVMValueRef v = emit_intrinsic(m, "llvm.masked.load", 2, types, 4, args);
  return with_alias(m, x->buf, v);
}

/* Inactive lanes load 0. */
static LLVMValueRef blank(emit *m, const access *x, LLVMValueRef v) {
  if (!x->mask) return v;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v));
  return LLVMBuildSelect(m->b, lanes_mask(m, x), v, zero, "");
}

static LLVMValueRef load_memory(emit *m, const access *x) {
  switch (x->shape) {
  case ONE: return x->mask ? load_if_any(m, x) : plain_load(m, x, 1);
  case SAME: {
    LLVMValueRef one = x->mask ? load_if_any(m, x) : plain_load(m, x, 1);
    return blank(m, x, emit_splat(m, one, x->lanes));
  }
  case ROW:
    if (!x->mask) return plain_load(m, x, x->lanes);
    return masked_load(m, x);
  default: return gather_lanes(m, x);
  }
}

LLVMValueRef emit_load(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (m->given_buf && n.a == m->given_buf) return m->given;
  if (n.n != 1) {
    emit_refuse(m, TESS_INTERNAL, "buffer '%s' was not flattened",
                ir_text(m->p, m->p->buf.v[n.a].name));
    return LLVMGetPoison(emit_type(m, n.dtype));
  }
  access x = access_of(m, n.a, m->p->arg.v[n.b], n.c);
  LLVMValueRef v = load_memory(m, &x);
  if (n.dtype.code != TESS_DTYPE_BOOL) return v;
  return LLVMBuildICmp(m->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

/* ---- stores ------------------------------------------------------------- */

static void plain_store(emit *m, const access *x, LLVMValueRef v) {
  LLVMValueRef at = address(m, x->buf, x->first, true);
  LLVMValueRef s = LLVMBuildStore(m->b, v, at);
  LLVMSetAlignment(s, access_align(m, x->buf, x->first));
  with_alias(m, x->buf, s);
}

static void masked_store(emit *m, const access *x, LLVMValueRef v) {
  bool row = x->shape == ROW;
  LLVMValueRef at = row ? address(m, x->buf, x->first, false)
                        : addresses(m, x->buf, x->index);
  uint32_t align =
      row ? access_align(m, x->buf, x->first) : element_bytes(m, x->buf);
  LLVMTypeRef types[2] = {LLVMTypeOf(v), LLVMTypeOf(at)};
  LLVMValueRef args[4] = {v, at, LLVMConstInt(m->i32, align, false),
                          lanes_mask(m, x)};
  LLVMValueRef s = emit_intrinsic(
      m, row ? "llvm.masked.store" : "llvm.masked.scatter", 2, types, 4, args);
  with_alias(m, x->buf, s);
}

static void store_if_any(emit *m, const access *x, LLVMValueRef v) {
  LLVMValueRef runs = any_lane(m, x->mask);
  LLVMBasicBlockRef store = emit_new_block(m, "store");
  LLVMBasicBlockRef merge = emit_new_block(m, "merge");
  LLVMBuildCondBr(m->b, runs, store, merge);
  LLVMPositionBuilderAtEnd(m->b, store);
  emit_mark mark = emit_get_mark(m);
  plain_store(m, x, v);
  emit_release(m, mark);
  LLVMBuildBr(m->b, merge);
  LLVMPositionBuilderAtEnd(m->b, merge);
}

/* A broadcast value is stored lane by lane like any other. */
void emit_store(emit *m, const ir_stmt_rec *s) {
  if (s->idx.n != 1) {
    emit_refuse(m, TESS_INTERNAL, "buffer '%s' was not flattened",
                ir_text(m->p, m->p->buf.v[s->buf].name));
    return;
  }
  LLVMValueRef v = emit_expr(m, s->value);
  access x = access_of(m, s->buf, m->p->arg.v[s->idx.at], s->mask);
  tess_dtype t = m->p->buf.v[s->buf].dtype;
  t.lanes = (uint16_t)x.lanes;
  if (t.code == TESS_DTYPE_BOOL)
    v = LLVMBuildZExt(m->b, v, emit_memory_type(m, t), "");
  if (x.shape == ONE && x.mask)
    store_if_any(m, &x, v);
  else if (x.shape == ONE || (x.shape == ROW && !x.mask))
    plain_store(m, &x, v);
  else
    masked_store(m, &x, v);
}
