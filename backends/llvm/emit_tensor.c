/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are one call (ir/tensor_call.h): of a C function, on
 * addresses and strides, or of an LLVM intrinsic, on vectors; of inline
 * assembly in emit_asm.c. */
#include "backends/llvm/emit_tensor.h"
#include "ir/edit.h"

/* ---- the parameters ----------------------------------------------------- */

static ir_expr emit_tensor_index_of(const emit *m, ir_expr load) {
  return m->p->arg.v[ir_at(m->p, load)->b];
}

/* Splits e into rest + *at; rest 0: it is constant. */
static ir_expr split_index(const ir_program *p, ir_expr e, int64_t *at) {
  const ir_node *n = ir_at(p, e);
  *at = 0;
  if (ir_const_int(p, e, at)) return 0;
  return n->op == IR_ADD && ir_const_int(p, n->b, at) ? n->a : e;
}

/* The constant distance of the second access from the first one. */
static LLVMValueRef distance(emit *m, ir_expr from, ir_expr to) {
  int64_t a, b;
  ir_expr x = emit_tensor_index_of(m, from), y = emit_tensor_index_of(m, to);
  if (split_index(m->p, x, &a) == split_index(m->p, y, &b))
    return emit_i64(m, b - a);
  LLVMValueRef first = emit_expr(m, x);
  return LLVMBuildSub(m->b, emit_expr(m, y), first, "");
}

static bool is_const_int(LLVMValueRef v, int64_t n) {
  return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == n;
}

/* The remaining operands. */
typedef struct reader {
  const ir_program *p;
  const ir_expr *at, *end;
} reader;

/* A constant operand of 1 .. most (0 .. for the number of dimensions). */
static bool take_count(reader *r, int64_t least, int64_t most, int64_t *out) {
  return r->at < r->end && ir_const_int(r->p, *r->at++, out) && *out >= least &&
         *out <= most;
}

/* The address of an element, of the given buffer unless that is 0. */
static bool take_place(reader *r, ir_buf buf, ir_expr *out) {
  if (r->at == r->end) return false;
  const ir_node *n = ir_at(r->p, *out = *r->at++);
  return n->op == IR_LOAD && n->n == 1 && !n->c && n->dtype.lanes == 1 &&
         (!buf || n->a == buf);
}

enum { MOST_LANES = 1 << 16 };

static bool read_shape(reader *r, emit_param *out) {
  int64_t n, lanes = 1;
  if (!take_count(r, 0, IR_TENSOR_CALL_PARAMS, &n)) return false;
  out->ndim = (uint32_t)n;
  for (uint32_t d = 0; d < out->ndim; d++) {
    if (!take_count(r, 1, INT32_MAX, &out->extent[d])) return false;
    lanes *= out->extent[d];
    if (lanes > MOST_LANES) lanes = MOST_LANES + 1; /* no vector */
  }
  out->lanes = (uint32_t)lanes;
  return true;
}

static bool read_param(emit *m, reader *r, emit_param *out) {
  ir_expr first, next;
  if (!read_shape(r, out) || !take_place(r, 0, &first)) return false;
  out->run = 1;
  out->buf = ir_at(m->p, first)->a;
  out->dtype = m->p->buf.v[out->buf].dtype;
  out->first = emit_address(m, first);
  for (uint32_t d = 0; d < out->ndim; d++) {
    if (!take_place(r, out->buf, &next)) return false;
    out->stride[d] = distance(m, first, next);
  }
  for (uint32_t d = out->ndim; d-- > 0;) {
    if (out->extent[d] != 1 && !is_const_int(out->stride[d], out->run)) break;
    out->run *= (uint32_t)out->extent[d];
  }
  return true;
}

/* ---- C functions -------------------------------------------------------- */

enum { MAX_C_ARGS = IR_TENSOR_CALL_OPERANDS * (1 + IR_TENSOR_CALL_PARAMS) };

static void call_c(emit_calling *k) {
  emit *m = k->m;
  LLVMTypeRef types[MAX_C_ARGS];
  LLVMValueRef args[MAX_C_ARGS];
  unsigned n = 0;
  for (uint32_t i = 0; i < k->call.n; i++) {
    const ir_tensor_operand *o = &k->call.operand[i];
    if (o->kind != IR_TENSOR_PARAM) {
      args[n++] = emit_i64(m, o->value);
      continue;
    }
    const emit_param *p = &k->param[o->param];
    args[n++] = p->first;
    for (uint32_t d = 0; d < p->ndim; d++) args[n++] = p->stride[d];
  }
  for (unsigned i = 0; i < n; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type =
      LLVMFunctionType(LLVMVoidTypeInContext(m->ctx), types, n, false);
  LLVMValueRef fn = LLVMGetNamedFunction(m->module, k->call.symbol);
  if (!fn) fn = LLVMAddFunction(m->module, k->call.symbol, type);
  if (LLVMGlobalGetValueType(fn) != type)
    emit_refuse(m, TESS_TYPE,
                "external function '%s' is called with different types",
                k->call.symbol);
  else
    LLVMBuildCall2(m->b, type, fn, args, n, "");
}

/* ---- vectors ------------------------------------------------------------ */

static LLVMTypeRef vector_type(emit *m, tess_dtype t, uint32_t lanes) {
  t.lanes = 1;
  return emit_vector_type(emit_memory_type(m, t), lanes);
}

LLVMValueRef emit_element_address(emit *m, const emit_param *p, uint32_t i) {
  LLVMValueRef at = p->first;
  LLVMTypeRef type = emit_memory_type(m, p->dtype);
  for (uint32_t d = p->ndim; d-- > 0;) {
    uint32_t k = i % (uint32_t)p->extent[d];
    i /= (uint32_t)p->extent[d];
    if (!k) continue;
    LLVMValueRef by = LLVMBuildMul(m->b, p->stride[d], emit_i64(m, k), "");
    at = LLVMBuildInBoundsGEP2(m->b, type, at, &by, 1, "");
  }
  return at;
}

/* The address of run number i of a parameter. */
static LLVMValueRef run_address(emit *m, const emit_param *p, uint32_t i) {
  return emit_element_address(m, p, i * p->run);
}

/* Inserts `piece` at lanes at .. of the vector. */
static LLVMValueRef put_piece(emit *m, LLVMValueRef v, LLVMValueRef piece,
                              uint32_t at) {
  LLVMTypeRef types[2] = {LLVMTypeOf(v), LLVMTypeOf(piece)};
  if (LLVMGetTypeKind(types[1]) != LLVMVectorTypeKind)
    return LLVMBuildInsertElement(m->b, v, piece,
                                  LLVMConstInt(m->i32, at, false), "");
  LLVMValueRef args[3] = {v, piece, emit_i64(m, at)};
  return emit_intrinsic(m, "llvm.vector.insert", 2, types, 3, args);
}

static LLVMValueRef get_piece(emit *m, LLVMValueRef v, LLVMTypeRef type,
                              uint32_t at) {
  LLVMTypeRef types[2] = {type, LLVMTypeOf(v)};
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
    return LLVMBuildExtractElement(m->b, v, LLVMConstInt(m->i32, at, false),
                                   "");
  LLVMValueRef args[2] = {v, emit_i64(m, at)};
  return emit_intrinsic(m, "llvm.vector.extract", 2, types, 2, args);
}

/* Loads a parameter as one vector. */
static LLVMValueRef load_param(emit *m, const emit_param *p) {
  LLVMTypeRef piece = vector_type(m, p->dtype, p->run);
  LLVMValueRef v = LLVMGetPoison(vector_type(m, p->dtype, p->lanes));
  for (uint32_t i = 0; i < p->lanes / p->run; i++) {
    LLVMValueRef at = run_address(m, p, i);
    LLVMValueRef x = LLVMBuildLoad2(m->b, piece, at, "");
    LLVMSetAlignment(x, p->dtype.bits / 8u);
    if (p->run == p->lanes) return x;
    v = put_piece(m, v, x, i * p->run);
  }
  return v;
}

static void store_param(emit *m, const emit_param *p, LLVMValueRef v) {
  LLVMTypeRef piece = vector_type(m, p->dtype, p->run);
  for (uint32_t i = 0; i < p->lanes / p->run; i++) {
    LLVMValueRef x =
        p->run == p->lanes ? v : get_piece(m, v, piece, i * p->run);
    LLVMValueRef s = LLVMBuildStore(m->b, x, run_address(m, p, i));
    LLVMSetAlignment(s, p->dtype.bits / 8u);
  }
}

static LLVMValueRef operand_value(emit_calling *k, const ir_tensor_operand *o) {
  emit *m = k->m;
  if (o->kind == IR_TENSOR_INT)
    return LLVMConstInt(m->i32, (unsigned long long)o->value, true);
  if (o->kind == IR_TENSOR_BOOL) return LLVMConstInt(m->i1, o->value != 0, 0);
  const emit_param *p = &k->param[o->param];
  LLVMValueRef v = load_param(m, p);
  if (!o->is_view) return v;
  uint64_t bits = (uint64_t)p->dtype.bits * p->lanes;
  uint32_t lanes = ir_tensor_view_lanes(o->as, bits);
  bool one = bits == o->as.bits;
  v = LLVMBuildBitCast(m->b, v, vector_type(m, o->as, one ? 1 : lanes), "");
  return one && lanes > 1 ? emit_splat(m, v, lanes) : v;
}

/* ---- LLVM's intrinsics -------------------------------------------------- */

static uint64_t type_bits(LLVMTypeRef t) {
  switch (LLVMGetTypeKind(t)) {
  case LLVMVectorTypeKind:
    return LLVMGetVectorSize(t) * type_bits(LLVMGetElementType(t));
  case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
  case LLVMHalfTypeKind: return 16;
  case LLVMFloatTypeKind: return 32;
  case LLVMDoubleTypeKind: return 64;
  default: return 0;
  }
}

/* The intrinsic's function type, where its name does not determine it. */
static LLVMTypeRef type_of_intrinsic(emit_calling *k, unsigned n,
                                     LLVMTypeRef *types) {
  emit *m = k->m;
  const emit_param *r = &k->param[k->call.result.param];
  const char *name = k->call.symbol;
  LLVMTypeRef mine =
      LLVMFunctionType(vector_type(m, r->dtype, r->lanes), types, n, false);
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) {
    emit_refuse(m, TESS_UNSUPPORTED, "LLVM has no intrinsic '%s'", name);
    return NULL;
  }
  if (LLVMIntrinsicIsOverloaded(id)) return mine;
  LLVMTypeRef t = LLVMIntrinsicGetType(m->ctx, id, NULL, 0);
  LLVMTypeRef wants[IR_TENSOR_CALL_OPERANDS + 1];
  bool fits =
      LLVMCountParamTypes(t) == n &&
      type_bits(LLVMGetReturnType(t)) == (uint64_t)r->dtype.bits * r->lanes;
  if (fits) LLVMGetParamTypes(t, wants);
  for (unsigned i = 0; fits && i < n; i++) fits = wants[i] == types[i];
  if (fits) return t;
  emit_refuse(m, TESS_TYPE, "the intrinsic '%s' has operands of other types",
              name);
  return NULL;
}

static void call_llvm(emit_calling *k) {
  emit *m = k->m;
  LLVMValueRef args[IR_TENSOR_CALL_OPERANDS];
  LLVMTypeRef types[IR_TENSOR_CALL_OPERANDS];
  for (uint32_t i = 0; i < k->call.n; i++) {
    args[i] = operand_value(k, &k->call.operand[i]);
    types[i] = LLVMTypeOf(args[i]);
  }
  LLVMTypeRef type = type_of_intrinsic(k, k->call.n, types);
  if (!type) return;
  LLVMValueRef fn = LLVMGetNamedFunction(m->module, k->call.symbol);
  if (!fn) fn = LLVMAddFunction(m->module, k->call.symbol, type);
  if (LLVMGlobalGetValueType(fn) != type) {
    emit_refuse(m, TESS_TYPE,
                "the intrinsic '%s' is called with different types",
                k->call.symbol);
    return;
  }
  const emit_param *r = &k->param[k->call.result.param];
  LLVMValueRef v = LLVMBuildCall2(m->b, type, fn, args, k->call.n, "");
  v = LLVMBuildBitCast(m->b, v, vector_type(m, r->dtype, r->lanes), "");
  if (k->call.adds) {
    LLVMValueRef was = load_param(m, r);
    v = r->dtype.code == TESS_DTYPE_FLOAT ? LLVMBuildFAdd(m->b, was, v, "")
                                          : LLVMBuildAdd(m->b, was, v, "");
  }
  store_param(m, r, v);
}

/* ---- the whole ---------------------------------------------------------- */

static bool is_vector(tess_dtype t) {
  return t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT ||
         t.code == TESS_DTYPE_FLOAT;
}

/* Can operand and result of the LLVM intrinsic be one vector each? */
static bool has_vectors(const emit_calling *k) {
  for (uint32_t i = 0; i <= k->call.n; i++) {
    const ir_tensor_operand *o = i < k->call.n ? &k->call.operand[i] : NULL;
    if (o && o->kind != IR_TENSOR_PARAM) continue;
    const emit_param *p = &k->param[o ? o->param : k->call.result.param];
    uint64_t bits = (uint64_t)p->dtype.bits * p->lanes;
    if (p->lanes > MOST_LANES || !is_vector(p->dtype)) return false;
    if (o && o->is_view &&
        (!is_vector(o->as) || !ir_tensor_view_lanes(o->as, bits)))
      return false;
  }
  return true;
}

/* Can what assembly gets and gives be registers? */
static bool has_registers(const emit_calling *k) {
  for (uint32_t i = 0; i <= k->call.n; i++) {
    const ir_tensor_operand *o =
        i < k->call.n ? &k->call.operand[i] : &k->call.result;
    if (i == k->call.n && !k->call.has_result) continue;
    if (o->kind != IR_TENSOR_PARAM) continue;
    const emit_param *p = &k->param[o->param];
    uint64_t bits = (uint64_t)p->dtype.bits * p->lanes;
    if (p->dtype.code == TESS_DTYPE_BOOL || (o->is_view && !is_vector(o->as)) ||
        !ir_tensor_registers(o, p->dtype, bits))
      return false;
  }
  return true;
}

static bool read_operands(emit_calling *k, const ir_node *n) {
  emit *m = k->m;
  reader r = {m->p, m->p->arg.v + n->b, m->p->arg.v + n->b + n->n};
  const char *why;
  int64_t count;
  if (!take_count(&r, 0, IR_TENSOR_CALL_PARAMS, &count)) return false;
  k->n = (uint32_t)count;
  if (!ir_tensor_call_parse(ir_text(m->p, n->c), k->n, NULL, &k->call, &why))
    return false;
  for (uint32_t i = 0; i < k->n; i++)
    if (!read_param(m, &r, &k->param[i])) return false;
  return r.at == r.end && (k->call.kind != IR_TENSOR_LLVM || has_vectors(k)) &&
         (k->call.kind != IR_TENSOR_ASM || has_registers(k));
}

/* Lowering made the operands, but a program may come from a file. */
void emit_tensor_call(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  arena_mark mark = arena_get_mark(m->scratch);
  emit_calling *k = arena_zalloc(m->scratch, sizeof *k);
  k->m = m;
  if (!read_operands(k, &n))
    emit_refuse(m, TESS_INVALID,
                "a tensor intrinsic's call has other "
                "operands than lowering gives it");
  else if (k->call.kind == IR_TENSOR_ASM)
    emit_call_asm(k);
  else if (k->call.kind == IR_TENSOR_LLVM)
    call_llvm(k);
  else if (m->device)
    emit_refuse(
        m, TESS_UNSUPPORTED,
        "a kernel cannot call the C function '%s' of a tensor intrinsic",
        k->call.symbol);
  else
    call_c(k);
  arena_reset_to(m->scratch, mark);
}
