/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are expressions of LLVM's intrinsics, on vectors or on
 * addresses (ir/tensor_call.h). */
#include "backends/llvm/emit_tensor.h"

/* ---- vectors ------------------------------------------------------------ */

static LLVMTypeRef vector_type(emit *m, tess_dtype t, uint32_t lanes) {
  t.lanes = 1;
  return emit_vector_type(emit_memory_type(m, t), lanes);
}

LLVMValueRef emit_tensor_element(emit *m, const tensor_param *p, uint32_t i) {
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

uint32_t emit_tensor_align(const tensor_param *p, uint32_t i) {
  uint32_t bytes = p->dtype.bits / 8u, align = p->align;
  int64_t offset = 0;
  for (uint32_t d = p->ndim; d-- > 0;) {
    int64_t at = i % p->extent[d];
    i = (uint32_t)(i / p->extent[d]);
    if (!at) continue;
    if (!LLVMIsAConstantInt(p->stride[d])) return bytes;
    offset += at * LLVMConstIntGetSExtValue(p->stride[d]);
  }
  while (align > bytes && offset * bytes % align) align /= 2;
  return align;
}

/* The address of run number i of a parameter. */
static LLVMValueRef run_address(emit *m, const tensor_param *p, uint32_t i) {
  return emit_tensor_element(m, p, i * p->run);
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
static LLVMValueRef load_param(emit *m, const tensor_param *p) {
  LLVMTypeRef piece = vector_type(m, p->dtype, p->run);
  LLVMValueRef v = LLVMGetPoison(vector_type(m, p->dtype, p->lanes));
  for (uint32_t i = 0; i < p->lanes / p->run; i++) {
    LLVMValueRef at = run_address(m, p, i);
    LLVMValueRef x = LLVMBuildLoad2(m->b, piece, at, "");
    LLVMSetAlignment(x, emit_tensor_align(p, i * p->run));
    if (p->run == p->lanes) return x;
    v = put_piece(m, v, x, i * p->run);
  }
  return v;
}

static void store_param(emit *m, const tensor_param *p, LLVMValueRef v) {
  LLVMTypeRef piece = vector_type(m, p->dtype, p->run);
  for (uint32_t i = 0; i < p->lanes / p->run; i++) {
    LLVMValueRef x =
        p->run == p->lanes ? v : get_piece(m, v, piece, i * p->run);
    LLVMValueRef s = LLVMBuildStore(m->b, x, run_address(m, p, i));
    LLVMSetAlignment(s, emit_tensor_align(p, i * p->run));
  }
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

static LLVMValueRef refuse_tensor(tensor_calling *k, const char *name,
                                  const char *why) {
  emit_refuse(k->m, TESS_TYPE, "the intrinsic '%s' %s", name, why);
  return NULL;
}

/* Of what a sum or a view is of: an intrinsic's name, if it has one. */
static const char *tensor_name(const tensor_calling *k, uint32_t at) {
  const ir_tensor_node *o = &k->call.node[at];
  while (o->first && o->kind != IR_TENSOR_CALLED) o = &k->call.node[o->first];
  return o->kind == IR_TENSOR_CALLED ? k->call.text + o->symbol : "";
}

/* Its function type: by its name, or of what it gives and gets. */
static LLVMTypeRef type_of_intrinsic(tensor_calling *k, const char *name,
                                     unsigned n, LLVMTypeRef *types,
                                     LLVMTypeRef result) {
  LLVMTypeRef wants[IR_TENSOR_CALL_OPERANDS + 1], t;
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) {
    emit_refuse(k->m, TESS_UNSUPPORTED, "LLVM has no intrinsic '%s'", name);
    return NULL;
  }
  if (LLVMIntrinsicIsOverloaded(id)) {
    if (result) return LLVMFunctionType(result, types, n, false);
    t = emit_tiles_cast_type(k->m, name, n, types);
    if (t) return t;
    refuse_tensor(k, name, "has no type of its own; put it in int32x4(..)");
    return NULL;
  }
  t = LLVMIntrinsicGetType(k->m->ctx, id, NULL, 0);
  bool fits = LLVMCountParamTypes(t) == n;
  if (fits) LLVMGetParamTypes(t, wants);
  for (unsigned i = 0; fits && i < n; i++) fits = wants[i] == types[i];
  if (fits) return t;
  refuse_tensor(k, name, "has operands of other types");
  return NULL;
}

static LLVMValueRef tensor_value(tensor_calling *k, uint32_t at,
                                 LLVMTypeRef wanted);

/* `result`: its type where its name does not tell it; NULL: not known. */
static LLVMValueRef call_intrinsic(tensor_calling *k, const ir_tensor_node *o,
                                   LLVMTypeRef result) {
  emit *m = k->m;
  const char *name = k->call.text + o->symbol;
  LLVMValueRef args[IR_TENSOR_CALL_OPERANDS];
  LLVMTypeRef types[IR_TENSOR_CALL_OPERANDS];
  unsigned n = 0;
  for (uint32_t i = o->first; i; i = k->call.node[i].next, n++) {
    args[n] = tensor_value(k, i, NULL);
    if (!args[n]) return NULL;
    types[n] = LLVMTypeOf(args[n]);
  }
  LLVMTypeRef type = type_of_intrinsic(k, name, n, types, result);
  if (!type) return NULL;
  LLVMValueRef fn = LLVMGetNamedFunction(m->module, name);
  if (!fn) fn = LLVMAddFunction(m->module, name, type);
  if (LLVMGlobalGetValueType(fn) != type)
    return refuse_tensor(k, name, "is called with different types");
  LLVMValueRef call = LLVMBuildCall2(m->b, type, fn, args, n, "");
  emit_tiles_called(m, name, call);
  return call;
}

/* A value as vectors of `as`, broadcast if it is one of them. */
static LLVMValueRef view_value(tensor_calling *k, const ir_tensor_node *o) {
  emit *m = k->m;
  const ir_tensor_node *in = &k->call.node[o->first];
  LLVMTypeRef whole = vector_type(m, o->as, o->as.lanes);
  LLVMTypeRef scalar = vector_type(m, o->as, 1);
  LLVMValueRef v;
  if (in->kind == IR_TENSOR_INT) {
    bool is_float = o->as.code == TESS_DTYPE_FLOAT;
    v = is_float ? LLVMConstReal(scalar, (double)in->value)
                 : LLVMConstInt(scalar, (unsigned long long)in->value, true);
    return o->as.lanes > 1 ? emit_splat(m, v, o->as.lanes) : v;
  }
  v = tensor_value(k, o->first, whole);
  if (!v) return NULL;
  uint64_t bits = type_bits(LLVMTypeOf(v));
  uint32_t lanes = bits ? ir_tensor_view_lanes(o->as, bits) : 0;
  if (!lanes)
    return refuse_tensor(k, tensor_name(k, o->first),
                         "gives a vector of another number of bits");
  bool one = bits == o->as.bits;
  v = LLVMBuildBitCast(m->b, v, vector_type(m, o->as, one ? 1 : lanes), "");
  return one && lanes > 1 ? emit_splat(m, v, lanes) : v;
}

static LLVMValueRef add_values(tensor_calling *k, LLVMValueRef a,
                               LLVMValueRef b, bool minus) {
  LLVMBuilderRef to = k->m->b;
  LLVMTypeRef t = LLVMTypeOf(a);
  if (t != LLVMTypeOf(b) || !type_bits(t))
    return refuse_tensor(k, tensor_name(k, k->call.root),
                         "is added to another type");
  if (LLVMGetTypeKind(t) == LLVMVectorTypeKind) t = LLVMGetElementType(t);
  bool of_floats = LLVMGetTypeKind(t) != LLVMIntegerTypeKind;
  if (minus)
    return of_floats ? LLVMBuildFSub(to, a, b, "") : LLVMBuildSub(to, a, b, "");
  return of_floats ? LLVMBuildFAdd(to, a, b, "") : LLVMBuildAdd(to, a, b, "");
}

static LLVMValueRef sum_values(tensor_calling *k, const ir_tensor_node *o,
                               LLVMTypeRef wanted) {
  LLVMValueRef sum = NULL;
  for (uint32_t i = o->first; i; i = k->call.node[i].next) {
    LLVMValueRef v = tensor_value(k, i, wanted);
    sum = sum && v ? add_values(k, sum, v, k->call.node[i].minus) : v;
    if (!sum) return NULL;
  }
  return sum;
}

/* NULL: it is refused.  `wanted`: the type of an overloaded intrinsic. */
static LLVMValueRef tensor_value(tensor_calling *k, uint32_t at,
                                 LLVMTypeRef wanted) {
  emit *m = k->m;
  const ir_tensor_node *o = &k->call.node[at];
  const tensor_param *p = &k->param[o->param];
  switch ((ir_tensor_kind)o->kind) {
  case IR_TENSOR_INT:
    return LLVMConstInt(m->i32, (unsigned long long)o->value, true);
  case IR_TENSOR_BOOL: return LLVMConstInt(m->i1, o->value != 0, 0);
  case IR_TENSOR_PARAM: return load_param(m, p);
  case IR_TENSOR_ADDRESS: return p->first;
  case IR_TENSOR_BYTES:
    return LLVMBuildMul(m->b, p->stride[o->value],
                        emit_i64(m, p->dtype.bits / 8), "");
  case IR_TENSOR_VIEW: return view_value(k, o);
  case IR_TENSOR_CALLED: return call_intrinsic(k, o, wanted);
  case IR_TENSOR_SUM: return sum_values(k, o, wanted);
  case IR_TENSOR_ASM: break;
  }
  return NULL;
}

void emit_tensor_llvm(tensor_calling *k) {
  emit *m = k->m;
  const ir_tensor_node *root = &k->call.node[k->call.root];
  if (k->call.result == IR_TENSOR_NO_RESULT) {
    call_intrinsic(k, root, LLVMVoidTypeInContext(m->ctx));
    return;
  }
  const tensor_param *r = &k->param[k->call.result];
  LLVMTypeRef type = vector_type(m, r->dtype, r->lanes);
  LLVMValueRef v = tensor_value(k, k->call.root, type);
  if (!v) return;
  if (type_bits(LLVMTypeOf(v)) != (uint64_t)r->dtype.bits * r->lanes) {
    refuse_tensor(k, tensor_name(k, k->call.root),
                  "gives a vector of another number of bits");
    return;
  }
  v = LLVMBuildBitCast(m->b, v, type, "");
  if (k->call.adds) v = add_values(k, load_param(m, r), v, false);
  if (v) store_param(m, r, v);
}
