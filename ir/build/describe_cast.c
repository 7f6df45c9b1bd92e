/* SPDX-License-Identifier: Apache-2.0
 * Program builder: values of one type as another. */
#include "ir/build/describe.h"
#include "ir/edit.h"

/* The operand x as e, for a result of type t that is called `what`. */
static tess_status cast_operand(ir_builder *b, tess_dtype t, describe_expr x,
                                const char *what, ir_expr *e) {
  tess_status s = describe_number_ok(
      b, t, arena_printf(&b->scratch, "the result of a %s", what));
  if (s) return s;
  return describe_plain(
      b, x, arena_printf(&b->scratch, "the operand of %s", what), e);
}

static tess_status give_cast(ir_builder *b, tess_status s, ir_expr e,
                             describe_expr x, describe_expr *out) {
  arena_reset(&b->scratch);
  if (s) return s;
  return describe_give(b, e, b->value.v[x].depth + 1u, out);
}

tess_status describe_cast(ir_builder *b, tess_dtype t, describe_expr x,
                          describe_expr *out) {
  ir_expr e = 0;
  tess_status s = cast_operand(b, t, x, "cast", &e);
  if (!s) e = ir_cast(&b->p, t, e);
  return give_cast(b, s, e, x, out);
}

static tess_status bits_ok(ir_builder *b, tess_dtype to, tess_dtype from) {
  bool numbers = from.code != TESS_DTYPE_BOOL && to.code != TESS_DTYPE_BOOL;
  if (numbers && from.bits == to.bits && from.lanes == to.lanes) return TESS_OK;
  const char *of = describe_type_text(b, from);
  return err_set(b->err, TESS_TYPE,
                 "a bit cast of %s to %s: they are not numbers of as many "
                 "bits",
                 of, describe_type_text(b, to));
}

tess_status describe_bit_cast(ir_builder *b, tess_dtype t, describe_expr x,
                              describe_expr *out) {
  ir_expr e = 0;
  tess_status s = cast_operand(b, t, x, "bit cast", &e);
  if (!s) s = bits_ok(b, t, ir_at(&b->p, e)->dtype);
  if (!s) e = ir_call(&b->p, IR_FN_REINTERPRET, t, 1, &e);
  return give_cast(b, s, e, x, out);
}
