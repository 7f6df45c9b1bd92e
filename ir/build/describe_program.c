/* SPDX-License-Identifier: Apache-2.0
 * Program builder: assembling a program from the stages that its parameters
 * depend on (dead stages are dropped); joining programs. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/import.h"
#include "ir/query.h"

/* Facts about the builder's buffers for one program. */
typedef struct plan {
  ir_builder *b;
  uint8_t *needed;   /* by buffer: its contents are needed */
  uint8_t *written;  /* by buffer: an included stage writes it */
  uint8_t *param;    /* by buffer: it is a parameter */
  uint8_t *included; /* by stage */
  uint32_t nparam;
  ir_buf *params;
} plan;

static const char *buf_name(const ir_builder *b, ir_buf buf) {
  return ir_text(&b->p, b->p.buf.v[buf].name);
}

/* ---- parameters --------------------------------------------------------- */

static tess_status check_param(plan *x, ir_buf buf, bool output) {
  ir_builder *b = x->b;
  if (!describe_buf_ok(b, buf))
    return err_set(b->err, TESS_INVALID, "there is no buffer %u", buf);
  ir_role role = (ir_role)b->p.buf.v[buf].role;
  if (role == IR_ROLE_CONSTANT)
    return err_set(b->err, TESS_INVALID,
                   "'%s' is a constant and cannot be a "
                   "parameter",
                   buf_name(b, buf));
  if (!output && role == IR_ROLE_LOCAL)
    return err_set(b->err, TESS_INVALID,
                   "input '%s' is computed; only a "
                   "placeholder can be an input",
                   buf_name(b, buf));
  if (x->param[buf] && !(output && x->param[buf] == 1))
    return err_set(b->err, TESS_INVALID, "'%s' is given twice as a parameter",
                   buf_name(b, buf));
  return TESS_OK;
}

/* A buffer that is an input and an output is one parameter, updated in
 * place. */
static tess_status add_params(plan *x, uint32_t n, const ir_buf *bufs,
                              bool output) {
  for (uint32_t i = 0; i < n; i++) {
    tess_status s = check_param(x, bufs[i], output);
    if (s) return s;
    if (!x->param[bufs[i]]) x->params[x->nparam++] = bufs[i];
    x->param[bufs[i]] |= output ? 2 : 1;
    x->needed[bufs[i]] = 1;
  }
  return TESS_OK;
}

/* ---- stages ------------------------------------------------------------- */

/* Does the stage write what is needed, or have side effects and belong to the
 * section in which the program is made? */
static bool is_needed(const plan *x, describe_stage stage) {
  const ir_program *p = &x->b->p;
  bool own = stage.section == x->b->section;
  for (ir_stmt s = stage.s; s; s = ir_next(p, s, stage.s)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if ((r->kind == IR_EVALUATE && own) ||
        (r->kind == IR_STORE && x->needed[r->buf]))
      return true;
  }
  return false;
}

/* Every buffer that the stage accesses is needed by the stages before it. */
static void include(plan *x, uint32_t i) {
  const ir_program *p = &x->b->p;
  ir_stmt stage = x->b->stage.v[i].s;
  ir_program none = {.heap = p->heap};
  arena_mark mark = arena_get_mark(&x->b->scratch);
  ir_import m;
  ir_import_init(&m, &none, p, &x->b->scratch);
  ir_import_need(&m, stage);
  ir_import_close(&m);
  x->included[i] = 1;
  for (ir_buf b = 1; b < p->buf.n; b++) x->needed[b] |= m.buf[b] != 0;
  arena_reset_to(&x->b->scratch, mark);
  for (ir_stmt s = stage; s; s = ir_next(p, s, stage))
    if (ir_st(p, s)->kind == IR_STORE) x->written[ir_st(p, s)->buf] = 1;
}

static void choose_stages(plan *x) {
  ir_builder *b = x->b;
  b->unneeded = 0;
  for (uint32_t i = b->stage.n; i-- > 0;) {
    describe_stage stage = b->stage.v[i];
    if (is_needed(x, stage))
      include(x, i);
    else if (stage.statement && stage.section && stage.section == b->section)
      b->unneeded = stage.s;
  }
}

static tess_status check_buffers(plan *x) {
  ir_builder *b = x->b;
  for (ir_buf i = 1; i < b->p.buf.n; i++) {
    ir_role role = (ir_role)b->p.buf.v[i].role;
    if ((x->param[i] & 2) && !x->written[i])
      return err_set(b->err, TESS_INVALID, "output '%s' is not computed",
                     buf_name(b, i));
    if (!x->needed[i] || x->param[i] || role == IR_ROLE_CONSTANT) continue;
    if (role != IR_ROLE_LOCAL)
      return err_set(b->err, TESS_INVALID,
                     "buffer '%s' is used but is not "
                     "among the parameters",
                     buf_name(b, i));
    if (!x->written[i])
      return err_set(b->err, TESS_INVALID,
                     "buffer '%s' is read but never "
                     "computed",
                     buf_name(b, i));
  }
  return TESS_OK;
}

static tess_status check_names(plan *x) {
  ir_builder *b = x->b;
  const ir_program *p = &b->p;
  for (uint32_t i = 0; i < b->stage.n; i++) {
    ir_stmt stage = b->stage.v[i].s;
    for (ir_stmt s = stage; s && x->included[i]; s = ir_next(p, s, stage))
      if (ir_is_block(p, s) && !strcmp(ir_text(p, ir_blk(p, s)->name), "root"))
        return err_set(b->err, TESS_INVALID,
                       "a block cannot be called 'root'; the outermost one is");
  }
  return TESS_OK;
}

static tess_status check_closed(ir_builder *b) {
  if (b->open.n)
    return err_set(b->err, TESS_INVALID, "%s is still open",
                   describe_spell_open(b));
  if (!b->compute.n) return TESS_OK;
  return err_set(b->err, TESS_INVALID, "compute '%s' is still open",
                 ir_text(&b->p, b->compute.v[b->compute.n - 1].name));
}

/* ---- names ------------------------------------------------------------- */

/* Blocks of one name are numbered in their order: C, C_1, C_2.  So a program's
 * names depend on what it contains, not on what else was described. */
typedef struct numbering {
  ir_program *p;
  arena *scratch;
  uint32_t n;     /* names before any was added */
  uint8_t *taken; /* by name: a block has it */
  uint32_t *last; /* by name: the last number behind it */
} numbering;

static ir_str next_name(numbering *m, ir_str name) {
  for (;;) {
    const char *text = ir_text(m->p, name);
    text = arena_printf(m->scratch, "%s_%u", text, ++m->last[name]);
    ir_str x = ir_name(m->p, text);
    if (x >= m->n || !m->taken[x]) return x;
  }
}

/* What a block writes is called after it: C, or C_v0, C_v1 of several. */
static void rename_written(numbering *m, ir_stmt block, ir_str old) {
  ir_program *p = m->p;
  size_t len = strlen(ir_text(p, old));
  for (ir_stmt s = block; s; s = ir_next(p, s, block)) {
    if (ir_st(p, s)->kind != IR_STORE) continue;
    ir_buf_rec *buf = &p->buf.v[ir_st(p, s)->buf];
    const char *name = ir_text(p, buf->name);
    bool made = buf->role == IR_ROLE_LOCAL || buf->role == IR_ROLE_OUTPUT;
    if (!made || strncmp(name, ir_text(p, old), len)) continue;
    if (name[len] && strncmp(name + len, "_v", 2)) continue;
    const char *to = ir_text(p, ir_blk(p, block)->name);
    buf->name = ir_name(p, arena_printf(m->scratch, "%s%s", to, name + len));
  }
}

static void number_blocks(ir_program *p, ir_stmt root, arena *scratch) {
  numbering m = {.p = p, .scratch = scratch, .n = p->text.n};
  m.taken = arena_zalloc(scratch, m.n);
  m.last = arena_array(scratch, uint32_t, m.n);
  memset(m.last, 0, m.n * sizeof *m.last);
  uint8_t *seen = arena_zalloc(scratch, m.n);
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s)) m.taken[ir_blk(p, s)->name] = 1;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!ir_is_block(p, s)) continue;
    ir_str name = ir_blk(p, s)->name;
    if (seen[name]) {
      ir_blk(p, s)->name = next_name(&m, name);
      rename_written(&m, s, name);
    }
    seen[name] = 1;
  }
}

/* ---- assembling --------------------------------------------------------- */

static void import_all(plan *x, const char *name, ir_program *dst) {
  ir_builder *b = x->b;
  ir_import m;
  ir_import_init(&m, dst, &b->p, &b->scratch);
  for (uint32_t i = 0; i < x->nparam; i++) ir_import_need_buf(&m, x->params[i]);
  for (uint32_t i = 0; i < b->stage.n; i++)
    if (x->included[i]) ir_import_need(&m, b->stage.v[i].s);
  ir_import_tables(&m);
  ir_stmt root = ir_block_new(dst, ir_name(dst, "root"));
  for (uint32_t i = 0; i < b->stage.n; i++)
    if (x->included[i])
      ir_append(dst, root, ir_import_stmt(&m, b->stage.v[i].s));
  number_blocks(dst, root, &b->scratch);
  for (ir_buf i = 1; i < b->p.buf.n; i++)
    if (m.buf[i] && !x->param[i] && b->p.buf.v[i].role == IR_ROLE_LOCAL)
      ir_block_add_alloc(dst, root, m.buf[i]);
  for (uint32_t i = 0; i < x->nparam; i++) {
    x->params[i] = m.buf[x->params[i]];
    if (dst->buf.v[x->params[i]].role == IR_ROLE_LOCAL)
      dst->buf.v[x->params[i]].role = IR_ROLE_OUTPUT;
  }
  ir_func_new(dst, ir_name(dst, name), x->nparam, x->params, root);
}

/* A symbolic extent is passed only through the parameters' shapes. */
static tess_status check_size_params(ir_builder *b, const ir_program *p) {
  ir_span sizes = ir_entry(p)->sizes;
  for (ir_var v = 1; v < p->var.n; v++) {
    bool found = p->var.v[v].kind != IR_VAR_SIZE;
    for (uint32_t i = 0; i < sizes.n; i++) found |= p->arg.v[sizes.at + i] == v;
    if (!found)
      return err_set(b->err, TESS_INVALID,
                     "size '%s' is not an extent of any "
                     "parameter",
                     ir_text(p, p->var.v[v].name));
  }
  return TESS_OK;
}

static tess_status describe_program_check_program(ir_builder *b,
                                                  const ir_program *p) {
  strbuf why;
  str_init(&why, b->heap);
  tess_status s = check_size_params(b, p);
  if (!s && (!ir_verify(p, &b->scratch, &why) ||
             !ir_verify_bounds(p, true, &b->scratch, &why)))
    s = why.bad ? str_status(&why)
                : err_set(b->err, TESS_INVALID, "%s", str_get(&why));
  str_free(&why);
  return s;
}

static tess_status assemble(plan *x, const char *name, uint32_t nin,
                            const ir_buf *in, uint32_t nout, const ir_buf *out,
                            ir_program *dst) {
  ir_builder *b = x->b;
  arena *a = &b->scratch;
  x->needed = arena_zalloc(a, b->p.buf.n);
  x->written = arena_zalloc(a, b->p.buf.n);
  x->param = arena_zalloc(a, b->p.buf.n);
  x->included = arena_zalloc(a, b->stage.n);
  x->params = arena_array(a, ir_buf, (size_t)nin + nout);
  tess_status s = add_params(x, nin, in, false);
  if (!s) s = add_params(x, nout, out, true);
  if (s) return s;
  choose_stages(x);
  s = check_buffers(x);
  if (!s) s = check_names(x);
  if (s) return s;
  ir_program_reset(dst);
  import_all(x, name, dst);
  return describe_program_check_program(b, dst);
}

tess_status describe_program(ir_builder *b, const char *name, uint32_t nin,
                             const ir_buf *in, uint32_t nout, const ir_buf *out,
                             ir_program *dst) {
  plan x = {.b = b};
  tess_status s = describe_name_ok(b, name, "a program");
  if (!s) s = check_closed(b);
  if (!s) s = assemble(&x, name, nin, in, nout, out, dst);
  arena_reset(&b->scratch);
  return s;
}

/* ---- joining ------------------------------------------------------------ */

static tess_status check_join(const ir_program *dst, const ir_program *further,
                              err_state *err) {
  for (uint32_t i = 1; i < dst->func.n; i++)
    for (uint32_t k = 1; k < further->func.n; k++) {
      const char *name = ir_text(dst, dst->func.v[i].name);
      if (!strcmp(name, ir_text(further, further->func.v[k].name)))
        return err_set(err, TESS_INVALID, "two functions are called '%s'",
                       name);
    }
  return TESS_OK;
}

tess_status describe_join(ir_program *dst, const ir_program *further,
                          arena *scratch, err_state *err) {
  tess_status s = check_join(dst, further, err);
  if (!s) ir_import_funcs(dst, further, scratch);
  return s;
}
