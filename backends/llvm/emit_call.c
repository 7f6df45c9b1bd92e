/* SPDX-License-Identifier: Apache-2.0
 * Calls: the intrinsics that lowering leaves, each an instruction or two, and
 * external functions by name. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"

static ir_expr argument(const emit *m, const ir_node *n, uint32_t i) {
  return m->p->arg.v[n->b + i];
}

/* ---- functions that are instructions ------------------------------------ */

/* The LLVM intrinsic of a function on floats. */
static const char *const float_intrinsic[IR_FN_COUNT] = {
    [IR_FN_SQRT] = "llvm.sqrt",       [IR_FN_ABS] = "llvm.fabs",
    [IR_FN_FLOOR] = "llvm.floor",     [IR_FN_CEIL] = "llvm.ceil",
    [IR_FN_ROUND] = "llvm.roundeven", [IR_FN_FMA] = "llvm.fma",
};

/* On integers all but abs are the identity. */
static LLVMValueRef int_function(emit *m, ir_fn fn, tess_dtype t,
                                 LLVMValueRef v) {
  if (fn != IR_FN_ABS || t.code != TESS_DTYPE_INT) return v;
  LLVMTypeRef type = LLVMTypeOf(v);
  LLVMValueRef args[2] = {v, LLVMConstNull(m->i1)};
  return emit_intrinsic(m, "llvm.abs", 1, &type, 2, args);
}

/* Is e, an amount to shift by, known to be within 0 .. bits - 1? */
static bool is_within_width(const emit *m, ir_expr e, uint32_t bits) {
  const ir_node *n = ir_at(m->p, e);
  if (n->op == IR_BROADCAST) return is_within_width(m, n->a, bits);
  if (n->op == IR_INT) return n->i >= 0 && n->i < (int64_t)bits;
  if (n->op != IR_CALL) return false;
  bool a = is_within_width(m, argument(m, n, 0), bits);
  bool b = n->n > 1 && is_within_width(m, argument(m, n, 1), bits);
  return (n->a == IR_FN_BITAND && (a || b)) ||
         (n->a == IR_FN_BITXOR && a && b); /* a width is a power of two */
}

/* LLVM's shifts by other amounts than 0 .. bits - 1 give anything. */
static LLVMValueRef shift(emit *m, const ir_node *n, LLVMValueRef a,
                          LLVMValueRef by) {
  LLVMTypeRef type = LLVMTypeOf(a);
  tess_dtype t = n->dtype;
  bool left = n->a == IR_FN_SHL, is_signed = t.code == TESS_DTYPE_INT && !left;
  LLVMValueRef most = emit_int(m, t, t.bits - 1), far = NULL;
  if (!is_within_width(m, argument(m, n, 1), t.bits)) {
    far = LLVMBuildICmp(m->b, LLVMIntUGT, by, most, "");
    by = LLVMBuildSelect(m->b, far, is_signed ? most : LLVMConstNull(type), by,
                         "");
  }
  LLVMValueRef r = left        ? LLVMBuildShl(m->b, a, by, "")
                   : is_signed ? LLVMBuildAShr(m->b, a, by, "")
                               : LLVMBuildLShr(m->b, a, by, "");
  if (!far || is_signed) return r;
  return LLVMBuildSelect(m->b, far, LLVMConstNull(type), r, "");
}

static LLVMValueRef bitwise(emit *m, const ir_node *n, LLVMValueRef a,
                            LLVMValueRef b) {
  switch ((ir_fn)n->a) {
  case IR_FN_SHL:
  case IR_FN_SHR: return shift(m, n, a, b);
  case IR_FN_BITAND: return LLVMBuildAnd(m->b, a, b, "");
  case IR_FN_BITXOR: return LLVMBuildXor(m->b, a, b, "");
  default: return LLVMBuildOr(m->b, a, b, "");
  }
}

static LLVMValueRef refuse_function(emit *m, const ir_node *n) {
  emit_refuse(m, TESS_UNSUPPORTED, "the %s backend has no function '%s'",
              m->target->kind, ir_fn_text(n->a));
  return LLVMGetPoison(emit_type(m, n->dtype));
}

static LLVMValueRef float_function(emit *m, const ir_node *n,
                                   LLVMValueRef *args) {
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  bool is_wide = n->dtype.code == TESS_DTYPE_FLOAT && n->dtype.bits >= 32;
  if (!float_intrinsic[n->a] || !is_wide) return refuse_function(m, n);
  return emit_intrinsic(m, float_intrinsic[n->a], 1, &type, n->n, args);
}

static LLVMValueRef builtin(emit *m, const ir_node *n) {
  enum { MAX_ARGS = 3 };
  LLVMValueRef args[MAX_ARGS] = {NULL};
  if (n->n > MAX_ARGS || n->n == 0 || ir_fn_of_warp(n->a) ||
      ir_fn_of_copies(n->a))
    return refuse_function(m, n);
  for (uint32_t i = 0; i < n->n; i++) args[i] = emit_expr(m, argument(m, n, i));
  switch ((ir_fn)n->a) {
  case IR_FN_REINTERPRET:
    return LLVMBuildBitCast(m->b, args[0], emit_type(m, n->dtype), "");
  case IR_FN_SHL:
  case IR_FN_SHR:
  case IR_FN_BITAND:
  case IR_FN_BITOR:
  case IR_FN_BITXOR: return bitwise(m, n, args[0], args[1]);
  case IR_FN_SQRT:
  case IR_FN_ABS:
  case IR_FN_FLOOR:
  case IR_FN_CEIL:
  case IR_FN_ROUND:
  case IR_FN_FMA:
    return ir_is_float(n->dtype) ? float_function(m, n, args)
                                 : int_function(m, n->a, n->dtype, args[0]);
  default: return refuse_function(m, n);
  }
}

/* ---- functions of the host's -------------------------------------------- */

enum { MAX_EXTERN_ARGS = 16 };

/* C's calling convention needs the extension kind of small integers. */
static void widen_attribute(emit *m, LLVMValueRef fn, unsigned at,
                            tess_dtype t) {
  if (!ir_is_int(t) || t.bits >= 32) return;
  const char *name = t.code == TESS_DTYPE_INT ? "signext" : "zeroext";
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

/* Scalars are passed as in C, bool as a byte, 16-bit floats as their bits. */
static LLVMTypeRef c_type(emit *m, tess_dtype t) {
  t.lanes = 1;
  if (ir_is_float(t) && t.bits == 16) return m->i16;
  return emit_memory_type(m, t);
}

static LLVMValueRef to_c(emit *m, tess_dtype t, LLVMValueRef v) {
  if (t.code == TESS_DTYPE_BOOL) return LLVMBuildZExt(m->b, v, m->i8, "");
  return LLVMBuildBitCast(m->b, v, c_type(m, t), "");
}

static LLVMValueRef from_c(emit *m, tess_dtype t, LLVMValueRef v) {
  t.lanes = 1;
  if (t.code == TESS_DTYPE_BOOL)
    return LLVMBuildICmp(m->b, LLVMIntNE, v, LLVMConstNull(m->i8), "");
  return LLVMBuildBitCast(m->b, v, emit_type(m, t), "");
}

typedef struct host_fn {
  LLVMTypeRef type;
  LLVMValueRef fn;
} host_fn;

static host_fn declare(emit *m, const ir_node *n) {
  LLVMTypeRef types[MAX_EXTERN_ARGS];
  for (uint32_t i = 0; i < n->n; i++)
    types[i] = c_type(m, ir_at(m->p, argument(m, n, i))->dtype);
  const char *name = ir_text(m->p, n->c);
  host_fn h = {.type = LLVMFunctionType(c_type(m, n->dtype), types, n->n, 0)};
  h.fn = LLVMGetNamedFunction(m->module, name);
  if (h.fn) {
    if (LLVMGlobalGetValueType(h.fn) != h.type)
      emit_refuse(m, TESS_TYPE,
                  "external function '%s' is called with "
                  "different types",
                  name);
    return h;
  }
  h.fn = LLVMAddFunction(m->module, name, h.type);
  widen_attribute(m, h.fn, LLVMAttributeReturnIndex, n->dtype);
  for (uint32_t i = 0; i < n->n; i++)
    widen_attribute(m, h.fn, i + 1, ir_at(m->p, argument(m, n, i))->dtype);
  return h;
}

static LLVMValueRef lane_of(emit *m, LLVMValueRef v, uint32_t lane) {
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
  LLVMValueRef at = LLVMConstInt(m->i32, lane, false);
  return is_vector ? LLVMBuildExtractElement(m->b, v, at, "") : v;
}

/* One lane's call, under that lane's mask. */
static LLVMValueRef call_lane(emit *m, const ir_node *n, host_fn h,
                              const LLVMValueRef *args, uint32_t lane) {
  LLVMValueRef scalars[MAX_EXTERN_ARGS];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b), merge = NULL;
  LLVMValueRef runs = m->mask ? lane_of(m, m->mask, lane) : NULL;
  if (runs) {
    LLVMBasicBlockRef call = emit_new_block(m, "call");
    merge = emit_new_block(m, "merge");
    LLVMBuildCondBr(m->b, runs, call, merge);
    LLVMPositionBuilderAtEnd(m->b, call);
  }
  for (uint32_t i = 0; i < n->n; i++) {
    tess_dtype t = ir_at(m->p, argument(m, n, i))->dtype;
    scalars[i] = to_c(m, t, lane_of(m, args[i], lane));
  }
  LLVMValueRef r = LLVMBuildCall2(m->b, h.type, h.fn, scalars, n->n, "");
  r = from_c(m, n->dtype, r);
  if (!runs) return r;
  LLVMValueRef from[2] = {r, LLVMConstNull(LLVMTypeOf(r))};
  LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(m->b), before};
  LLVMBuildBr(m->b, merge);
  LLVMPositionBuilderAtEnd(m->b, merge);
  LLVMValueRef phi = LLVMBuildPhi(m->b, LLVMTypeOf(r), "");
  LLVMAddIncoming(phi, from, blocks, 2);
  return phi;
}

static LLVMValueRef call_host(emit *m, const ir_node *n) {
  LLVMValueRef args[MAX_EXTERN_ARGS];
  LLVMTypeRef type = emit_type(m, n->dtype);
  if (n->n > MAX_EXTERN_ARGS) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "external function '%s' has more than %d arguments",
                ir_text(m->p, n->c), MAX_EXTERN_ARGS);
    return LLVMGetPoison(type);
  }
  for (uint32_t i = 0; i < n->n; i++) args[i] = emit_expr(m, argument(m, n, i));
  host_fn h = declare(m, n);
  if (m->refused) return LLVMGetPoison(type);
  if (n->dtype.lanes == 1) return call_lane(m, n, h, args, 0);
  LLVMValueRef v = LLVMGetPoison(type);
  for (uint32_t i = 0; i < n->dtype.lanes; i++) {
    LLVMValueRef at = LLVMConstInt(m->i32, i, false);
    LLVMValueRef r = call_lane(m, n, h, args, i);
    v = LLVMBuildInsertElement(m->b, v, r, at, "");
  }
  return v;
}

static LLVMValueRef refuse_host(emit *m, const ir_node *n) {
  emit_refuse(m, TESS_UNSUPPORTED,
              "a kernel of the target '%s' cannot call the host's function "
              "'%s'",
              m->target->kind, ir_text(m->p, n->c));
  return LLVMGetPoison(emit_type(m, n->dtype));
}

LLVMValueRef emit_call(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (m->device && (ir_fn_of_warp(n.a) || ir_fn_of_copies(n.a)))
    return m->device->call(m, e);
  if (m->device && n.a == IR_FN_EXTERN) return refuse_host(m, &n);
  return n.a == IR_FN_EXTERN ? call_host(m, &n) : builtin(m, &n);
}
