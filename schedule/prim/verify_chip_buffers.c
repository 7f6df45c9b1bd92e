/* SPDX-License-Identifier: Apache-2.0
 * verify_chip_buffers: refuses programs whose buffers exceed those on the chip
 * of an access-execute machine, or that take too many of its instructions. */
#include "ir/query.h"
#include "schedule/analysis/gpu.h"
#include "schedule/rewrite/compose.h"

#define VERIFY_CHIP_BUFFERS_SIG(F, S)                            \
  F(S, ATTR, INT, inp, DEF(32768), "bytes of local.inp_buffer")  \
  F(S, ATTR, INT, wgt, DEF(262144), "bytes of local.wgt_buffer") \
  F(S, ATTR, INT, acc, DEF(131072), "bytes of local.acc_buffer") \
  F(S, ATTR, INT, instructions, DEF(1048576), "instructions of a nest")

PRIM_DEFINE(
    verify_chip_buffers, VERIFY_CHIP_BUFFERS_SIG,
    .summary = "Refuse buffers that exceed those on an accelerator.",
    .rewrite = "",
    .details =
        "A postprocessor, as MetaSchedule's VerifyVTCMLimit: of each nest, "
        "what\n"
        "is in the buffers of a decoupled access-execute machine at a time is\n"
        "no larger than these; boxes of what is accessed, in as many versions\n"
        "as pipelines keep, one for each virtual thread that has its own. Nor\n"
        "does a nest take more instructions, of which each does what is in\n"
        "loops around one statement alone; the default is the compiler's\n"
        "limit. The program is analysed as it is scheduled, and stays as it\n"
        "is. The defaults of sizes are VTA's.\n",
    .refusals = SCH_REASONS(SCH_R_CHIP_BUFFER, SCH_R_CHIP_STREAM),
    .example = "sch:verify_chip_buffers({ wgt = 32768 })\n");

typedef struct verify_chip_buffers_args sizes;

static bool check_size(sch_state *s, ir_stmt nest, ir_scope scope, int64_t is,
                       int64_t most) {
  return is <= most || sch_refuse(s, SCH_R_CHIP_BUFFER, .s = {nest},
                                  .t = ir_scope_text(scope), .n = {is, most});
}

static bool verify_chip_buffers_apply(sch_state *s, sizes *a) {
  const ir_program *p = s->p;
  sch_chip_use u;
  ir_stmt nest = ir_st(p, ir_entry(p)->root)->body;
  for (; nest; nest = ir_st(p, nest)->next) {
    sch_measure_chip(s, nest, &u);
    if (!check_size(s, nest, IR_SCOPE_DAE_INP, u.inp, a->inp) ||
        !check_size(s, nest, IR_SCOPE_DAE_WGT, u.wgt, a->wgt) ||
        !check_size(s, nest, IR_SCOPE_DAE_ACC, u.acc, a->acc))
      return false;
    int64_t n = sch_least_instructions(p, nest);
    if (n > a->instructions)
      return sch_refuse(s, SCH_R_CHIP_STREAM, .s = {nest},
                        .n = {n, a->instructions});
  }
  return true;
}
