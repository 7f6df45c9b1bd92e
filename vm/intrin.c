/* SPDX-License-Identifier: Apache-2.0
 * The registry of tensor intrinsics of a context. */
#include "vm/intrin.h"
#include "ir/edit.h"
#include "ir/import.h"
#include "ir/query.h"
#include "ir/tensor_call.h"

/* Two functions: description and implementation. */
typedef struct intrin {
  char *name;
  ir_program p;
} intrin;

typedef struct part {
  tess_context *c;
  VEC(intrin *) known;
} part;

static void drop_intrin(mem_heap *heap, intrin *x) {
  if (!x) return;
  if (x->name) mem_free(heap, x->name, strlen(x->name) + 1);
  ir_program_free(&x->p);
  mem_delete(heap, x);
}

static void free_part(void *object) {
  part *x = object;
  mem_heap *heap = &x->c->heap;
  for (uint32_t i = 0; i < x->known.n; i++) drop_intrin(heap, x->known.v[i]);
  vec_free(heap, &x->known);
  mem_delete(heap, x);
}

static part *find_part(tess_context *c) {
  ctx_part *at = &c->part[CTX_PART_INTRINS];
  if (!at->object) {
    part *x = mem_new(&c->heap, part);
    *x = (part){.c = c};
    *at = (ctx_part){x, free_part};
  }
  return at->object;
}

/* ---- entering one ------------------------------------------------------- */

static bool same_params(const ir_program *p, const ir_program *q) {
  ir_span a = ir_entry(p)->params, b = ir_entry(q)->params;
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    ir_buf x = p->arg.v[a.at + i], y = q->arg.v[b.at + i];
    const ir_buf_rec *f = &p->buf.v[x], *g = &q->buf.v[y];
    int64_t n, m;
    if (!ir_dtype_eq(f->dtype, g->dtype) || f->role != g->role ||
        f->scope != g->scope || f->shape.n != g->shape.n)
      return false;
    for (uint32_t d = 0; d < f->shape.n; d++)
      if (!ir_const_int(p, ir_dim(p, x, d), &n) ||
          !ir_const_int(q, ir_dim(q, y, d), &m) || n != m)
        return false;
  }
  return true;
}

static bool is_plain(const ir_program *p) {
  const ir_block_rec *root = ir_blk(p, ir_entry(p)->root);
  return p->func.n == 2 && !p->constant.n && !ir_entry(p)->sizes.n &&
         !root->matches.n && !ir_st(p, ir_entry(p)->root)->alt;
}

static void add_func(ir_program *to, const ir_program *from, arena *scratch,
                     const char *name, const char *suffix) {
  ir_import_funcs(to, from, scratch);
  ir_str text = ir_name(to, arena_printf(scratch, "%s%s", name, suffix));
  to->func.v[to->func.n - 1].name = text;
}

typedef struct adding {
  tess_context *c;
  const char *name;
  const ir_program *desc, *impl;
  const char *call; /* impl is desc, done by this call; or NULL */
  bool override;
  arena scratch;
  intrin *made; /* to be freed at the end */
} adding;

/* Resolves a conflict of names: equal, or overridden. */
static tess_status again(adding *k, intrin **known) {
  if (ir_equal(&(*known)->p, &k->made->p, &k->scratch)) return TESS_OK;
  if (!k->override)
    return ctx_fail(k->c, TESS_INVALID,
                    "tensor intrinsic '%s' is declared already, as another "
                    "one: only with override is it replaced",
                    k->name);
  intrin *old = *known;
  *known = k->made;
  k->made = old;
  return TESS_OK;
}

static tess_status add_intrin(void *ud) {
  adding *k = ud;
  mem_heap *heap = &k->c->heap;
  part *x = find_part(k->c);
  size_t n = strlen(k->name) + 1;
  vec_reserve(heap, &x->known, 1);
  intrin *made = k->made = mem_new(heap, intrin);
  *made = (intrin){.name = NULL};
  ir_program_init(&made->p, heap);
  made->name = mem_resize(heap, NULL, 0, n);
  memcpy(made->name, k->name, n);
  add_func(&made->p, k->desc, &k->scratch, k->name, ".desc");
  add_func(&made->p, k->impl, &k->scratch, k->name, ".impl");
  made->p.entry = made->p.func.n - 1; /* both are compared with others */
  if (k->call)
    ir_anno_set(&made->p, made->p.func.v[made->p.func.n - 1].root,
                ir_name(&made->p, IR_TENSOR_CALL),
                ir_value_str(&made->p, k->call));
  for (uint32_t i = 0; i < x->known.n; i++)
    if (!strcmp(x->known.v[i]->name, k->name)) return again(k, &x->known.v[i]);
  k->made = NULL;
  vec_push(heap, &x->known, made);
  return TESS_OK;
}

static tess_status enter_intrin(adding k) {
  tess_context *c = k.c;
  const char *name = k.name;
  const ir_program *desc = k.desc, *impl = k.impl;
  if (!*name || strlen(name) > 200)
    return ctx_fail(c, TESS_INVALID, "a tensor intrinsic needs a name");
  if (name[str_utf8(name, strlen(name))])
    return ctx_fail(c, TESS_INVALID,
                    "the name of a tensor intrinsic is not UTF-8");
  if (!is_plain(desc) || !is_plain(impl) ||
      ir_blk(desc, ir_entry(desc)->root)->allocs.n)
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "tensor intrinsic '%s': description and implementation "
                    "are one function each, without constants, and the "
                    "description without buffers of its own",
                    name);
  if (!same_params(desc, impl))
    return ctx_fail(c, TESS_INVALID,
                    "tensor intrinsic '%s': description and implementation "
                    "have other parameters",
                    name);
  arena_init(&k.scratch, &c->heap);
  tess_status st = mem_protect(&c->heap, add_intrin, &k);
  arena_free(&k.scratch);
  drop_intrin(&c->heap, k.made);
  return st;
}

tess_status vm_intrin_add(tess_context *c, const char *name,
                          const ir_program *desc, const ir_program *impl,
                          bool override) {
  return enter_intrin((adding){
      .c = c, .name = name, .desc = desc, .impl = impl, .override = override});
}

static bool stores_to(const ir_program *p, ir_buf buf) {
  for (ir_stmt s = ir_entry(p)->root; s; s = ir_next(p, s, ir_entry(p)->root))
    if (ir_st(p, s)->kind == IR_STORE && ir_st(p, s)->buf == buf) return true;
  return false;
}

/* The call with parameter numbers for names; false: *why says why not. */
static bool read_call(const ir_program *p, const char *text, strbuf *out,
                      const char **why) {
  const char *name[IR_TENSOR_CALL_PARAMS];
  ir_buf param[IR_TENSOR_CALL_PARAMS];
  ir_span span = ir_entry(p)->params;
  ir_tensor_call c;
  *why = "it has too many parameters";
  if (span.n > IR_TENSOR_CALL_PARAMS) return false;
  for (uint32_t i = 0; i < span.n; i++) {
    param[i] = p->arg.v[span.at + i];
    name[i] = ir_text(p, p->buf.v[param[i]].name);
  }
  if (!ir_tensor_call_parse(text, span.n, name, &c, why) ||
      !ir_tensor_call_fits(p, &c, span.n, param, why))
    return false;
  *why = "the description sets another parameter";
  bool sets_result = c.is_llvm || (ir_tensor_call_is_asm(&c) &&
                                   c.result != IR_TENSOR_NO_RESULT);
  for (uint32_t i = 0; i < span.n && sets_result; i++) {
    bool may = c.result == IR_TENSOR_NO_RESULT ? ir_tensor_call_addresses(&c, i)
                                               : i == c.result;
    bool must = i == c.result, sets = stores_to(p, param[i]);
    if (sets && !may && c.result == IR_TENSOR_NO_RESULT)
      *why = "LLVM's intrinsics, whose names start with \"llvm.\", give a "
             "parameter its value or get the address of what they set";
    if ((sets && !may) || (must && !sets)) return false;
  }
  ir_tensor_call_print(&c, out);
  return true;
}

tess_status vm_intrin_add_call(tess_context *c, const char *name,
                               const ir_program *desc, const char *call,
                               bool override) {
  const char *why;
  strbuf text;
  str_init(&text, &c->heap);
  tess_status st =
      !read_call(desc, call, &text, &why)
          ? ctx_fail(c, TESS_INVALID,
                     "tensor intrinsic '%s': the call "
                     "'%.200s%s': %s",
                     name, call, strlen(call) > 200 ? ".." : "", why)
      : text.bad
          ? ctx_ran_out(c, mem_refusal(&c->heap), "tensor intrinsic '%s'", name)
          : enter_intrin((adding){.c = c,
                                  .name = name,
                                  .desc = desc,
                                  .impl = desc,
                                  .call = text.v,
                                  .override = override});
  str_free(&text);
  return st;
}

/* ---- using it ----------------------------------------------------------- */

static bool has(const ir_program *p, const char *func) {
  for (uint32_t i = 1; i < p->func.n; i++)
    if (!strcmp(ir_text(p, p->func.v[i].name), func)) return true;
  return false;
}

/* Functions at, at + 1 of `from`: description and implementation. */
typedef struct giving {
  ir_program *to;
  const ir_program *from;
  uint32_t at;
  arena scratch;
} giving;

static tess_status give(void *ud) {
  giving *k = ud;
  ir_import_some_funcs(k->to, k->from, &k->scratch, k->at, k->at + 2);
  return TESS_OK;
}

static void give_one(tess_context *c, ir_program *p, const ir_program *from,
                     uint32_t at) {
  if (has(p, ir_text(from, from->func.v[at].name))) return;
  giving g = {.to = p, .from = from, .at = at};
  arena_init(&g.scratch, &c->heap);
  tess_status st = mem_protect(&c->heap, give, &g);
  arena_free(&g.scratch);
  if (st != TESS_OK) mem_unwind(&c->heap, st);
}

/* Is the text of n characters the name or, where a name may stand for all that
 * go on with '_' behind it, one of those? */
static bool is_meant(const char *name, bool family, const char *text,
                     size_t n) {
  size_t len = strlen(name);
  if (len > n || memcmp(name, text, len) != 0) return false;
  return len == n || (family && len && text[len] == '_');
}

static void need_named(tess_context *c, ir_program *p, const char *name,
                       bool family) {
  const part *x = c->part[CTX_PART_INTRINS].object;
  for (uint32_t i = 0; x && i < x->known.n; i++) {
    const char *known = x->known.v[i]->name;
    if (is_meant(name, family, known, strlen(known)))
      give_one(c, p, &x->known.v[i]->p, 1);
  }
}

void vm_intrin_adopt(tess_context *c, ir_program *p, const ir_program *from) {
  for (uint32_t i = ir_func_end(from); i + 1 < from->func.n; i += 2)
    give_one(c, p, from, i);
}

/* The intrinsic named by an operand of tensorize, or by the value, after its
 * key, of an annotation that rewrite_tensorize obeys; NULL: none is. */
static const char *named_intrin(const sch_prim *prim, const vm_trace *pool,
                                uint32_t i, vm_value before, vm_value v) {
  const char *operand = prim->specs[i].name;
  if (v.tag != VM_STR) return NULL;
  if (!strcmp(prim->name, "tensorize"))
    return strcmp(operand, "tensor_intrin") ? NULL : pool->text.v + v.str;
  if (strcmp(prim->name, "annotate") || strcmp(operand, "ann_val") ||
      before.tag != VM_STR)
    return NULL;
  const char *key = pool->text.v + before.str;
  return !strcmp(key, "auto_tensorize") || !strcmp(key, "auto_tensorize_init")
             ? pool->text.v + v.str
             : NULL;
}

static void give_named(tess_context *c, ir_program *p, const ir_program *from,
                       const char *name, bool family) {
  for (uint32_t i = ir_func_end(from); i + 1 < from->func.n; i += 2) {
    const char *f = ir_text(from, from->func.v[i].name);
    const char *dot = strrchr(f, '.');
    if (dot && !strcmp(dot, ".desc") &&
        is_meant(name, family, f, (size_t)(dot - f)))
      give_one(c, p, from, i);
  }
}

/* rewrite_tensorize takes the name of an annotation for that of a family, where
 * no intrinsic is called so. */
static bool obeys_families(const sch_prim *prim) {
  return !strcmp(prim->name, "rewrite_tensorize");
}

static void need_all(tess_context *c, ir_program *p, const vm_trace *t,
                     const ir_program *own, bool family) {
  for (uint32_t k = 0; k < t->inst.n; k++)
    for (uint32_t i = 0; i < t->inst.v[k].prim->nspecs; i++) {
      const char *name = named_intrin(t->inst.v[k].prim, t, i,
                                      i ? vm_operand(t, k, i - 1) : vm_nil(),
                                      vm_operand(t, k, i));
      if (name && own) give_named(c, p, own, name, family);
      if (name) need_named(c, p, name, family);
    }
}

/* The same of annotations that the program came with, as one that was taken
 * from a schedule. */
static void need_annotated(tess_context *c, ir_program *p) {
  static const char *const keys[] = {"auto_tensorize", "auto_tensorize_init"};
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    for (int k = 0; k < 2; k++) {
      const ir_anno *a = ir_anno_get(p, s, keys[k]);
      const ir_value *v = a ? &p->value.v[a->val] : NULL;
      if (v && v->tag == IR_VAL_STR) need_named(c, p, ir_text(p, v->s), true);
    }
}

void vm_intrin_need_call(tess_context *c, ir_program *p, const vm_call *call,
                         const vm_trace *before) {
  if (!c->part[CTX_PART_INTRINS].object) return;
  if (obeys_families(call->prim)) {
    need_all(c, p, before, NULL, true);
    need_annotated(c, p);
  }
  for (uint32_t i = 0; i < call->prim->nspecs; i++) {
    const char *name =
        named_intrin(call->prim, call->pool, i,
                     i ? call->operand[i - 1] : vm_nil(), call->operand[i]);
    if (name) need_named(c, p, name, false);
  }
}

void vm_intrin_need_trace(tess_context *c, ir_program *p, const vm_trace *t,
                          const ir_program *own) {
  bool family = false;
  if (!c->part[CTX_PART_INTRINS].object && !own) return;
  for (uint32_t k = 0; k < t->inst.n; k++)
    family |= obeys_families(t->inst.v[k].prim);
  need_all(c, p, t, own, family);
  if (family) need_annotated(c, p);
}
