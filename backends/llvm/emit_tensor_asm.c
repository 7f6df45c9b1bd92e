/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are inline assembly: elements in registers, addresses
 * as integers.
 *
 * The call is convergent, so that no pass makes it depend on another condition:
 * threads of a warp may have to execute it together. */
#include "backends/llvm/emit_tensor.h"
#include <string.h>

typedef struct assembling {
  tensor_calling *k;
  uint32_t n;
  LLVMValueRef arg[IR_TENSOR_REGISTERS];
  LLVMTypeRef type[IR_TENSOR_REGISTERS];
} assembling;

/* ---- registers ---------------------------------------------------------- */

/* A register of a parameter, and the elements that it holds. */
typedef struct asm_register {
  LLVMTypeRef type, pieces; /* pieces: a vector of elements, or one */
  uint32_t elements, n;     /* of each; how many of them */
} asm_register;

/* as: the type of the registers; no bits: the elements'. */
static asm_register register_of(emit *m, tess_dtype as, const tensor_param *p) {
  tess_dtype t = p->dtype;
  t.lanes = 1;
  LLVMTypeRef element = emit_memory_type(m, t);
  asm_register r = {.type = element, .pieces = element, .elements = 1};
  if (as.bits) {
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

static LLVMValueRef load_element(emit *m, const tensor_param *p, uint32_t i) {
  LLVMValueRef at = emit_tensor_element(m, p, i);
  LLVMValueRef v = LLVMBuildLoad2(m->b, emit_memory_type(m, p->dtype), at, "");
  LLVMSetAlignment(v, p->dtype.bits / 8u);
  return v;
}

/* Do the registers hold consecutive elements each, so that they are accessed at
 * once? */
static bool is_at_once(const tensor_param *p, const asm_register *r) {
  return p->run % r->elements == 0;
}

static LLVMValueRef load_register(emit *m, const tensor_param *p,
                                  const asm_register *r, uint32_t i) {
  if (is_at_once(p, r)) {
    uint32_t first = i * r->elements;
    LLVMValueRef x =
        LLVMBuildLoad2(m->b, r->type, emit_tensor_element(m, p, first), "");
    LLVMSetAlignment(x, emit_tensor_align(p, first));
    return x;
  }
  LLVMValueRef v = LLVMGetPoison(r->pieces);
  for (uint32_t j = 0; j < r->elements; j++)
    v = LLVMBuildInsertElement(m->b, v, load_element(m, p, i * r->elements + j),
                               LLVMConstInt(m->i32, j, false), "");
  return LLVMBuildBitCast(m->b, v, r->type, "");
}

static void store_register(emit *m, const tensor_param *p,
                           const asm_register *r, uint32_t i, LLVMValueRef v) {
  if (is_at_once(p, r)) {
    uint32_t first = i * r->elements;
    LLVMValueRef s = LLVMBuildStore(m->b, v, emit_tensor_element(m, p, first));
    LLVMSetAlignment(s, emit_tensor_align(p, first));
    return;
  }
  v = LLVMBuildBitCast(m->b, v, r->pieces, "");
  for (uint32_t j = 0; j < r->elements; j++) {
    LLVMValueRef e =
        LLVMBuildExtractElement(m->b, v, LLVMConstInt(m->i32, j, false), "");
    LLVMValueRef s =
        LLVMBuildStore(m->b, e, emit_tensor_element(m, p, i * r->elements + j));
    LLVMSetAlignment(s, p->dtype.bits / 8u);
  }
}

/* ---- operands ----------------------------------------------------------- */

static void push_operand(assembling *a, LLVMValueRef v) {
  if (a->n == IR_TENSOR_REGISTERS) {
    emit_refuse(a->k->m, TESS_LIMIT, "inline assembly has too many operands");
    return;
  }
  a->type[a->n] = LLVMTypeOf(v);
  a->arg[a->n++] = v;
}

static void push_param(assembling *a, tess_dtype as, uint32_t param) {
  emit *m = a->k->m;
  const tensor_param *p = &a->k->param[param];
  asm_register r = register_of(m, as, p);
  for (uint32_t i = 0; i < r.n; i++)
    push_operand(a, load_register(m, p, &r, i));
}

/* An address, an integer or a stride, `as` bits long unless that has none. */
static LLVMValueRef integer_operand(assembling *a, const ir_tensor_node *o,
                                    tess_dtype as) {
  emit *m = a->k->m;
  const tensor_param *p = &a->k->param[o->param];
  LLVMTypeRef type = as.bits ? emit_memory_type(m, as) : m->i64;
  switch ((ir_tensor_kind)o->kind) {
  case IR_TENSOR_ADDRESS:
    return LLVMBuildTruncOrBitCast(
        m->b, LLVMBuildPtrToInt(m->b, p->first, m->i64, ""), type, "");
  case IR_TENSOR_BYTES:
    return LLVMBuildMul(m->b, p->stride[o->value],
                        emit_i64(m, p->dtype.bits / 8), "");
  case IR_TENSOR_BOOL: return LLVMConstInt(m->i1, o->value != 0, false);
  case IR_TENSOR_INT:
    if (ir_is_float(as)) return LLVMConstReal(type, (double)o->value);
    return LLVMConstInt(as.bits ? type : m->i32, (unsigned long long)o->value,
                        true);
  default: return NULL;
  }
}

static void push_asm_operand(assembling *a, const ir_tensor_node *o) {
  const tess_dtype none = {.bits = 0};
  const ir_tensor_node *in = &a->k->call.node[o->first];
  bool is_view = o->kind == IR_TENSOR_VIEW;
  if (o->kind == IR_TENSOR_PARAM) {
    push_param(a, none, o->param);
  } else if (is_view && in->kind == IR_TENSOR_PARAM) {
    push_param(a, o->as, in->param);
  } else {
    LLVMValueRef v =
        integer_operand(a, is_view ? in : o, is_view ? o->as : none);
    if (v)
      push_operand(a, v);
    else
      emit_refuse(a->k->m, TESS_INVALID,
                  "inline assembly gets parameters, addresses, strides and "
                  "integers");
  }
}

/* ---- the call ----------------------------------------------------------- */

/* One value for each output; none: void. */
static LLVMTypeRef type_of_outputs(assembling *a, asm_register *r) {
  emit *m = a->k->m;
  const ir_tensor_call *c = &a->k->call;
  *r = (asm_register){.n = 0};
  if (c->result == IR_TENSOR_NO_RESULT) return LLVMVoidTypeInContext(m->ctx);
  *r = register_of(m, c->result_as, &a->k->param[c->result]);
  if (r->n == 1) return r->type;
  LLVMTypeRef *each = arena_array(m->scratch, LLVMTypeRef, r->n);
  for (uint32_t i = 0; i < r->n; i++) each[i] = r->type;
  return LLVMStructTypeInContext(m->ctx, each, r->n, false);
}

static void mark_convergent(emit *m, LLVMValueRef call) {
  unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

void emit_tensor_asm(tensor_calling *k) {
  emit *m = k->m;
  const ir_tensor_call *c = &k->call;
  const ir_tensor_node *root = &c->node[c->root];
  char *code = k->call.text + root->symbol;
  char *constraints = k->call.text + root->constraints;
  assembling *a = arena_zalloc(m->scratch, sizeof *a);
  asm_register out;
  a->k = k;
  for (uint32_t i = root->first; i; i = c->node[i].next)
    push_asm_operand(a, &c->node[i]);
  LLVMTypeRef gives = type_of_outputs(a, &out);
  if (m->refused) return;
  const char *why;
  if (!ir_tensor_constraints_fit(c, out.n, a->n, &why)) {
    emit_refuse(m, TESS_INVALID, "inline assembly: %s", why);
    return;
  }
  bool effects = !out.n || strstr(constraints, "~{memory}");
  LLVMTypeRef type = LLVMFunctionType(gives, a->type, a->n, false);
  LLVMValueRef fn = LLVMGetInlineAsm(type, code, strlen(code), constraints,
                                     strlen(constraints), effects, false,
                                     LLVMInlineAsmDialectATT, false);
  LLVMValueRef v = LLVMBuildCall2(m->b, type, fn, a->arg, a->n, "");
  mark_convergent(m, v);
  const tensor_param *p = out.n ? &k->param[c->result] : NULL;
  for (uint32_t i = 0; i < out.n; i++)
    store_register(m, p, &out, i,
                   out.n == 1 ? v : LLVMBuildExtractValue(m->b, v, i, ""));
}
