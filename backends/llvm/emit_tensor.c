/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are one call (ir/tensor_call.h): of a C function, on
 * addresses and strides, or of LLVM intrinsics (emit_tensor_llvm.c), or inline
 * assembly (emit_tensor_asm.c). */
#include "backends/llvm/emit_tensor.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/tensor_call.h"

/* ---- the parameters ----------------------------------------------------- */

static ir_expr emit_tensor_index_of(const emit *m, ir_expr load) {
  return m->p->arg.v[ir_at(m->p, load)->b];
}

/* The constant distance of the second access from the first one. */
static LLVMValueRef distance(emit *m, ir_expr from, ir_expr to) {
  int64_t a, b;
  ir_expr x = emit_tensor_index_of(m, from), y = emit_tensor_index_of(m, to);
  if (ir_split_offset(m->p, x, &a) == ir_split_offset(m->p, y, &b))
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

static bool read_shape(reader *r, tensor_param *out) {
  int64_t n, lanes = 1;
  if (!take_count(r, 0, IR_TENSOR_CALL_PARAMS, &n)) return false;
  out->ndim = (uint32_t)n;
  for (uint32_t d = 0; d < out->ndim; d++) {
    if (!take_count(r, 1, INT32_MAX, &out->extent[d])) return false;
    lanes *= out->extent[d];
    if (lanes > EMIT_TENSOR_LANES)
      lanes = EMIT_TENSOR_LANES + 1; /* no vector */
  }
  out->lanes = (uint32_t)lanes;
  return true;
}

static bool read_param(emit *m, reader *r, tensor_param *out) {
  ir_expr first, next;
  if (!read_shape(r, out) || !take_place(r, 0, &first)) return false;
  out->run = 1;
  out->buf = ir_at(m->p, first)->a;
  out->dtype = m->p->buf.v[out->buf].dtype;
  out->first = emit_address(m, first);
  out->align = emit_row_align(m, out->buf, m->p->arg.v[ir_at(m->p, first)->b]);
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

static void call_c(tensor_calling *k) {
  emit *m = k->m;
  LLVMTypeRef types[MAX_C_ARGS];
  LLVMValueRef args[MAX_C_ARGS];
  unsigned n = 0;
  const ir_tensor_node *root = &k->call.node[k->call.root];
  for (uint32_t i = root->first; i; i = k->call.node[i].next) {
    const ir_tensor_node *o = &k->call.node[i];
    if (o->kind != IR_TENSOR_PARAM) {
      args[n++] = emit_i64(m, o->value);
      continue;
    }
    const tensor_param *p = &k->param[o->param];
    args[n++] = p->first;
    for (uint32_t d = 0; d < p->ndim; d++) args[n++] = p->stride[d];
  }
  for (unsigned i = 0; i < n; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type =
      LLVMFunctionType(LLVMVoidTypeInContext(m->ctx), types, n, false);
  const char *symbol = k->call.text + root->symbol;
  LLVMValueRef fn = LLVMGetNamedFunction(m->module, symbol);
  if (!fn) fn = LLVMAddFunction(m->module, symbol, type);
  if (LLVMGlobalGetValueType(fn) != type)
    emit_refuse(m, TESS_TYPE,
                "external function '%s' is called with different types",
                symbol);
  else
    LLVMBuildCall2(m->b, type, fn, args, n, "");
}

/* ---- the whole ---------------------------------------------------------- */

static bool is_vector(tess_dtype t) {
  return t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT ||
         t.code == TESS_DTYPE_FLOAT;
}

/* `as_bits`: also those of bfloats. */
static bool has_vector(const tensor_calling *k, uint32_t i, bool as_bits) {
  const tensor_param *p = &k->param[i];
  return p->lanes <= EMIT_TENSOR_LANES &&
         (is_vector(p->dtype) ||
          (as_bits && p->dtype.code == TESS_DTYPE_BFLOAT));
}

/* Are the parameters that LLVM's intrinsics get as values vectors, and those
 * whose strides they get of enough dimensions? */
static bool has_vectors(const tensor_calling *k) {
  const ir_tensor_call *c = &k->call;
  for (uint32_t i = 1; i <= c->n; i++) {
    const ir_tensor_node *o = &c->node[i];
    const tensor_param *p = &k->param[o->param];
    bool fits = o->kind == IR_TENSOR_PARAM
                    ? has_vector(k, o->param, ir_tensor_call_views(c, i))
                : o->kind == IR_TENSOR_VIEW ? is_vector(o->as)
                : o->kind == IR_TENSOR_BYTES
                    ? o->value >= 0 && o->value < p->ndim
                    : true;
    if (!fits) return false;
  }
  return c->result == IR_TENSOR_NO_RESULT || has_vector(k, c->result, !c->adds);
}

/* Can what assembly gets and gives be registers? */
static bool has_registers(const tensor_calling *k) {
  const ir_tensor_call *c = &k->call;
  for (uint32_t i = 1; i <= c->n + 1; i++) {
    const ir_tensor_node *o = i <= c->n ? &c->node[i] : NULL;
    const ir_tensor_node *in = o ? &c->node[o->first] : NULL;
    bool is_view =
        o && o->kind == IR_TENSOR_VIEW && in->kind == IR_TENSOR_PARAM;
    if (o && o->kind == IR_TENSOR_BYTES &&
        (o->value < 0 || o->value >= k->param[o->param].ndim))
      return false;
    if (o ? !is_view && o->kind != IR_TENSOR_PARAM
          : c->result == IR_TENSOR_NO_RESULT)
      continue;
    const tensor_param *p = &k->param[!o        ? c->result
                                      : is_view ? in->param
                                                : o->param];
    tess_dtype as = !o        ? c->result_as
                    : is_view ? o->as
                              : (tess_dtype){.bits = 0};
    if (!ir_tensor_registers(as, p->dtype, (uint64_t)p->dtype.bits * p->lanes))
      return false;
  }
  return true;
}

static bool read_operands(tensor_calling *k, const ir_node *n) {
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
  return r.at == r.end && (!k->call.is_llvm || has_vectors(k)) &&
         (!ir_tensor_call_is_asm(&k->call) || has_registers(k));
}

/* Lowering made the operands, but a program may come from a file. */
void emit_tensor_call(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  arena_mark mark = arena_get_mark(m->scratch);
  tensor_calling *k = arena_zalloc(m->scratch, sizeof *k);
  k->m = m;
  if (!read_operands(k, &n))
    emit_refuse(m, TESS_INVALID,
                "a tensor intrinsic's call has other "
                "operands than lowering gives it");
  else if (k->call.is_llvm)
    emit_tensor_llvm(k);
  else if (ir_tensor_call_is_asm(&k->call))
    emit_tensor_asm(k);
  else if (m->device)
    emit_refuse(
        m, TESS_UNSUPPORTED,
        "a kernel cannot call the C function '%s' of a tensor intrinsic",
        k->call.text + k->call.node[k->call.root].symbol);
  else
    call_c(k);
  arena_reset_to(m->scratch, mark);
}
