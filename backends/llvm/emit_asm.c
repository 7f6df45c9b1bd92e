/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are inline assembly: elements in registers, addresses
 * as integers.
 *
 * The call is convergent, so that no pass makes it depend on another condition:
 * threads of a warp may have to execute it together. */
#include "backends/llvm/emit_tensor.h"

typedef struct assembling {
  emit_calling *k;
  uint32_t n;
  LLVMValueRef arg[IR_TENSOR_ASM_REGISTERS];
  LLVMTypeRef type[IR_TENSOR_ASM_REGISTERS];
} assembling;

/* ---- registers ---------------------------------------------------------- */

/* A register of a parameter, and the elements that it holds. */
typedef struct asm_register {
  LLVMTypeRef type, pieces; /* pieces: a vector of elements, or one */
  uint32_t elements, n;     /* of each; how many of them */
} asm_register;

static asm_register register_of(emit *m, const ir_tensor_operand *o,
                                const emit_param *p) {
  tess_dtype t = p->dtype;
  t.lanes = 1;
  LLVMTypeRef element = emit_memory_type(m, t);
  asm_register r = {.type = element, .pieces = element, .elements = 1};
  if (o->is_view) {
    tess_dtype as = o->as;
    uint32_t lanes = as.lanes;
    as.lanes = 1;
    r.elements = as.bits * lanes / t.bits;
    r.type = emit_memory_type(m, as);
    if (lanes > 1) r.type = emit_vector_type(r.type, lanes);
    if (r.elements > 1) r.pieces = emit_vector_type(element, r.elements);
  }
  r.n = p->lanes / r.elements;
  return r;
}

static LLVMValueRef load_element(emit *m, const emit_param *p, uint32_t i) {
  LLVMValueRef at = emit_element_address(m, p, i);
  LLVMValueRef v = LLVMBuildLoad2(m->b, emit_memory_type(m, p->dtype), at, "");
  LLVMSetAlignment(v, p->dtype.bits / 8u);
  return v;
}

static LLVMValueRef load_register(emit *m, const emit_param *p,
                                  const asm_register *r, uint32_t i) {
  if (r->elements == 1)
    return LLVMBuildBitCast(m->b, load_element(m, p, i), r->type, "");
  LLVMValueRef v = LLVMGetPoison(r->pieces);
  for (uint32_t j = 0; j < r->elements; j++)
    v = LLVMBuildInsertElement(m->b, v, load_element(m, p, i * r->elements + j),
                               LLVMConstInt(m->i32, j, false), "");
  return LLVMBuildBitCast(m->b, v, r->type, "");
}

static void store_register(emit *m, const emit_param *p, const asm_register *r,
                           uint32_t i, LLVMValueRef v) {
  v = LLVMBuildBitCast(m->b, v, r->pieces, "");
  for (uint32_t j = 0; j < r->elements; j++) {
    LLVMValueRef e = v;
    if (r->elements > 1)
      e = LLVMBuildExtractElement(m->b, v, LLVMConstInt(m->i32, j, false), "");
    LLVMValueRef s = LLVMBuildStore(
        m->b, e, emit_element_address(m, p, i * r->elements + j));
    LLVMSetAlignment(s, p->dtype.bits / 8u);
  }
}

/* ---- operands ----------------------------------------------------------- */

static void push_operand(assembling *a, LLVMValueRef v) {
  if (a->n == IR_TENSOR_ASM_REGISTERS) {
    emit_refuse(a->k->m, TESS_LIMIT, "inline assembly has too many operands");
    return;
  }
  a->type[a->n] = LLVMTypeOf(v);
  a->arg[a->n++] = v;
}

static void push_asm_operand(assembling *a, const ir_tensor_operand *o) {
  emit *m = a->k->m;
  const emit_param *p = &a->k->param[o->param];
  switch ((ir_tensor_operand_kind)o->kind) {
  case IR_TENSOR_INT:
    push_operand(a, LLVMConstInt(m->i32, (unsigned long long)o->value, true));
    return;
  case IR_TENSOR_BOOL:
    push_operand(a, LLVMConstInt(m->i1, o->value != 0, false));
    return;
  case IR_TENSOR_ADDRESS: {
    LLVMValueRef v = LLVMBuildPtrToInt(m->b, p->first, m->i64, "");
    if (o->is_view && o->as.bits < 64) v = LLVMBuildTrunc(m->b, v, m->i32, "");
    push_operand(a, v);
    return;
  }
  case IR_TENSOR_PARAM: break;
  }
  asm_register r = register_of(m, o, p);
  for (uint32_t i = 0; i < r.n; i++)
    push_operand(a, load_register(m, p, &r, i));
}

/* ---- the call ----------------------------------------------------------- */

/* One value for each output; none: void. */
static LLVMTypeRef type_of_outputs(assembling *a, asm_register *r) {
  emit *m = a->k->m;
  const ir_tensor_operand *o = &a->k->call.result;
  *r = (asm_register){.n = 0};
  if (!a->k->call.has_result) return LLVMVoidTypeInContext(m->ctx);
  *r = register_of(m, o, &a->k->param[o->param]);
  if (r->n == 1) return r->type;
  LLVMTypeRef *each = arena_array(m->scratch, LLVMTypeRef, r->n);
  for (uint32_t i = 0; i < r->n; i++) each[i] = r->type;
  return LLVMStructTypeInContext(m->ctx, each, r->n, false);
}

static bool clobbers_memory(const ir_tensor_call *c) {
  static const char word[] = "~{memory}";
  size_t n = sizeof word - 1;
  for (size_t i = 0; i + n <= c->constraints.n; i++)
    if (!memcmp(c->constraints.at + i, word, n)) return true;
  return false;
}

static void mark_convergent(emit *m, LLVMValueRef call) {
  unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

void emit_call_asm(emit_calling *k) {
  emit *m = k->m;
  const ir_tensor_call *c = &k->call;
  assembling *a = arena_zalloc(m->scratch, sizeof *a);
  asm_register out;
  a->k = k;
  for (uint32_t i = 0; i < c->n; i++) push_asm_operand(a, &c->operand[i]);
  LLVMTypeRef gives = type_of_outputs(a, &out);
  if (m->refused) return;
  const char *why;
  if (!ir_tensor_constraints_fit(c, out.n, a->n, &why)) {
    emit_refuse(m, TESS_INVALID, "inline assembly: %s", why);
    return;
  }
  LLVMTypeRef type = LLVMFunctionType(gives, a->type, a->n, false);
  bool effects = !c->has_result || clobbers_memory(c);
  LLVMValueRef code = LLVMGetInlineAsm(
      type, c->code.at, c->code.n, c->constraints.at, c->constraints.n, effects,
      false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef v = LLVMBuildCall2(m->b, type, code, a->arg, a->n, "");
  mark_convergent(m, v);
  const emit_param *p = c->has_result ? &k->param[c->result.param] : NULL;
  for (uint32_t i = 0; i < out.n; i++)
    store_register(m, p, &out, i,
                   out.n == 1 ? v : LLVMBuildExtractValue(m->b, v, i, ""));
}
