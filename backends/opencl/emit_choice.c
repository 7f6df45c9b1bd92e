/* SPDX-License-Identifier: Apache-2.0
 * Choices: conditional expressions whose sides are evaluated only when chosen
 * where they load, and the logical operators. */
#include "backends/opencl/emit.h"
#include <string.h>

enum { MAX_BRANCHES = 1 << 14 };

/* A side, and the lines that it needs, which are cut from the output. */
typedef struct side {
  ocl_text value;
  const char *lines;
} side;

static side cut_side(ocl *m, ir_expr e) {
  uint32_t mark = ocl_mark(m);
  size_t start = m->body.n;
  m->indent++;
  side s = {.value = ocl_expr(m, e), .lines = ""};
  m->indent--;
  ocl_release(m, mark);
  if (!m->body.bad && m->body.n > start) {
    s.lines = arena_printf(m->scratch, "%s", m->body.v + start);
    m->body.n = start;
    m->body.v[start] = '\0';
  }
  return s;
}

static void put_side(ocl *m, const char *name, side s) {
  str_puts(&m->body, s.lines);
  m->indent++;
  ocl_line(m, "%s = %s;", name, s.value.s);
  m->indent--;
}

/* cond ? yes : no, as a statement if a side needs lines of its own. */
static ocl_text ocl_branch(ocl *m, const char *type, ocl_text cond, side yes,
                           side no) {
  if (++m->branches > MAX_BRANCHES)
    ocl_refuse(m, TESS_LIMIT, "more than %d branches around loads",
               MAX_BRANCHES);
  if (!*yes.lines && !*no.lines) {
    ocl_text t = ocl_text_of(
        m, OCL_COND, "%s ? %s : %s", ocl_in(m, cond, OCL_LAND),
        ocl_in(m, yes.value, OCL_LOR), ocl_in(m, no.value, OCL_LOR));
    uint16_t d =
        yes.value.depth > no.value.depth ? yes.value.depth : no.value.depth;
    t.depth = (uint16_t)((d > cond.depth ? d : cond.depth) + 1);
    return t;
  }
  ocl_text t = ocl_text_of(m, OCL_PRIMARY, "t%u", ++m->temps);
  ocl_line(m, "%s %s;", type, t.s);
  ocl_line(m, "if (%s) {", cond.s);
  put_side(m, t.s, yes);
  ocl_line(m, "} else {");
  put_side(m, t.s, no);
  ocl_line(m, "}");
  return t;
}

/* ---- select --------------------------------------------------------- */

ocl_text ocl_both_masks(ocl *m, ocl_text a, ocl_text b) {
  if (!a.s || !b.s) return a.s ? a : b;
  return m->width > 1 ? ocl_infix(m, a, "&", b, OCL_AND)
                      : ocl_infix(m, a, "&&", b, OCL_LAND);
}

/* A side whose loads are predicated by `lanes`. */
static ocl_text masked_side(ocl *m, ir_expr e, ocl_text lanes) {
  if (!ir_at(m->p, e)->has_load) return ocl_expr(m, e);
  uint32_t mark = ocl_mark(m);
  ocl_text outer = m->mask;
  m->mask = ocl_bind(m, ocl_type(m, (tess_dtype){TESS_DTYPE_BOOL, 8, 2}),
                     ocl_both_masks(m, outer, lanes));
  ocl_text v = ocl_expr(m, e);
  m->mask = outer;
  ocl_release(m, mark);
  return v;
}

/* The lanes of a mask as wide as the elements that it selects. */
static const char *mask_for(ocl *m, tess_dtype t, ocl_text c) {
  if (t.bits == 8) return c.s;
  return arena_printf(m->scratch, "convert_%s%u(%s)", ocl_mask_type(t),
                      m->width, c.s);
}

static ocl_text select_lanes(ocl *m, const ir_node *n) {
  ocl_text c = ocl_expr(m, n->a);
  ocl_text other = ocl_text_of(m, OCL_UNARY, "~%s", ocl_in(m, c, OCL_UNARY));
  ocl_text yes = masked_side(m, n->b, c), no = masked_side(m, n->c, other);
  ocl_text t = ocl_text_of(m, OCL_PRIMARY, "select(%s, %s, %s)", no.s, yes.s,
                           mask_for(m, n->dtype, c));
  t.depth = (uint16_t)((yes.depth > no.depth ? yes.depth : no.depth) + 1);
  return t;
}

/* Operands that both sides evaluate unconditionally are printed before. */
ocl_text ocl_choice(ocl *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  uint32_t both;
  const ir_expr *early = ir_unconditional_in_both(&m->must, e, &both);
  for (uint32_t i = 0; i < both; i++) ocl_expr(m, early[i]);
  if (ocl_is_wide(m, ir_at(m->p, n.a)->dtype)) return select_lanes(m, &n);
  ocl_text c = ocl_expr(m, n.a);
  bool lazy = ir_at(m->p, n.b)->has_load || ir_at(m->p, n.c)->has_load;
  side yes, no;
  if (lazy) {
    yes = cut_side(m, n.b);
    no = cut_side(m, n.c);
  } else {
    yes = (side){ocl_expr(m, n.b), ""};
    no = (side){ocl_expr(m, n.c), ""};
  }
  return ocl_branch(m, ocl_type(m, n.dtype), c, yes, no);
}

/* ---- logic ---------------------------------------------------------- */

/* && and || evaluate the second operand only when needed. */
ocl_text ocl_logic(ocl *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  bool is_and = n.op == IR_AND;
  if (ocl_is_wide(m, n.dtype)) {
    ocl_text a = ocl_expr(m, n.a);
    ocl_text lanes =
        is_and ? a : ocl_text_of(m, OCL_UNARY, "~%s", ocl_in(m, a, OCL_UNARY));
    ocl_text b = masked_side(m, n.b, lanes);
    return ocl_infix(m, a, is_and ? "&" : "|", b, is_and ? OCL_AND : OCL_OR);
  }
  ocl_text a = ocl_expr(m, n.a);
  if (!ir_at(m->p, n.b)->has_load)
    return ocl_infix(m, a, is_and ? "&&" : "||", ocl_expr(m, n.b),
                     is_and ? OCL_LAND : OCL_LOR);
  side b = cut_side(m, n.b);
  if (!*b.lines)
    return ocl_infix(m, a, is_and ? "&&" : "||", b.value,
                     is_and ? OCL_LAND : OCL_LOR);
  side fixed = {ocl_text_of(m, OCL_PRIMARY, is_and ? "false" : "true"), ""};
  return is_and ? ocl_branch(m, "bool", a, b, fixed)
                : ocl_branch(m, "bool", a, fixed, b);
}
