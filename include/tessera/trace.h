/* SPDX-License-Identifier: Apache-2.0
 * Traces and stepping through them.  Included by tessera.h, whose first page
 * holds for this part, too. */
#ifndef TESSERA_TRACE_H
#define TESSERA_TRACE_H

#include <tessera/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- traces ------------------------------------------------------------- */

TESS_API void tess_trace_free(TESS_TAKE tess_trace *t);
/* The program that replaying takes where none is given; NULL: none. */
TESS_API tess_status tess_trace_bind(tess_trace *t, tess_program *p);
TESS_API tess_program *tess_trace_program(tess_trace *t);  /* borrowed */
/* As a Lua script and as JSON, which the functions below read again
 * (tess_text_free); of a Lua script also calls as they are written by hand.
 * Reading: PARSE, with the place, where it is malformed or
 * no trace; what an instruction is called or given is refused, with its place,
 * as tess_schedule_call does. */
TESS_API tess_status tess_trace_lua(tess_trace *t, TESS_GIVE char **out);
TESS_API tess_status tess_trace_json(tess_trace *t, TESS_GIVE char **out);
/* Instruction i, counted from 1, as Lua. */
TESS_API tess_status tess_trace_inst_lua(tess_trace *t, uint32_t i,
                                         TESS_GIVE char **out);
/* program may be NULL (bind it later). */
TESS_API tess_status tess_trace_from_lua(tess_context *c, const char *text,
    tess_program *program, TESS_GIVE tess_trace **out);
TESS_API tess_status tess_trace_from_json(tess_context *c, const char *text,
    tess_program *program, TESS_GIVE tess_trace **out);
/* The same as TVM's tuning records have it (v0.18): [instructions,
 * decisions].  Writing is UNSUPPORTED, with the instruction named, for what
 * TVM cannot express; names of buffers and sampled integers in index maps are
 * such.  A record of a database (one line) is read, too. */
TESS_API tess_status tess_trace_tvm_json(tess_trace *t, TESS_GIVE char **out);
TESS_API tess_status tess_trace_from_tvm_json(tess_context *c,
    const char *text, tess_program *program, TESS_GIVE tess_trace **out);
/* Equal traces have the same instructions, operands and decisions, and the
 * same hash.  The size is the number of instructions. */
TESS_API int tess_trace_equal(tess_trace *a, tess_trace *b);
TESS_API uint64_t tess_trace_hash(tess_trace *t);
TESS_API uint32_t tess_trace_size(tess_trace *t);
/* Instruction i, counted from 1. */
typedef struct tess_inst_info {
  uint32_t struct_size;         /* sizeof(tess_inst_info) */
  uint32_t line;
  const char *name, *file;
  uint32_t nout, ninputs, nattrs;
  int32_t samples, has_decision;
  uint32_t ndecision;
  const int64_t *decision;
  const tess_rv *out;
} tess_inst_info;
TESS_API tess_status tess_trace_inst(tess_trace *t, uint32_t i,
                                     tess_inst_info *out);
/* Operands of instruction i as arguments (role "in" or "attr", any other is
 * INVALID); values live as long as the trace and until the next call on it. */
TESS_API tess_status tess_trace_operands(tess_trace *t, uint32_t i,
    const char *role, uint32_t max, tess_arg *out, uint32_t *n);

/* The values that the trace names (the primitive `knob`), as they were decided,
 * by name; those whose decisions are open are left out.  At most `max` of the
 * *n of them are written; they live as long as the trace and until the next
 * call on it. */
TESS_API tess_status tess_trace_params(tess_trace *t, uint32_t max,
                                       tess_arg *out, uint32_t *n);
/* A decision of a trace, and what it is about. */
typedef struct tess_decision {
  uint32_t inst;                /* the instruction, from 1 */
  uint32_t n;                   /* how many numbers it has */
  const char *knob;             /* the name that it was given; "": none */
  const char *what;             /* "tiles of i of C", "location of C" */
  const char *const *part;      /* n: what each number is, "i of C, tile 1" */
  const int64_t *decision;      /* n; NULL: it is open */
} tess_decision;
/* All decisions in their order.  Loops and blocks are called as they are in
 * the program (NULL: the one that the trace is bound to) when the decision is
 * made; what the trace no longer applies to, or where there is no program, is
 * told by its instruction.  max, *n and lives: as above. */
TESS_API tess_status tess_trace_decisions(tess_trace *t, tess_program *program,
                                          uint32_t max, tess_decision *out,
                                          uint32_t *n);

typedef struct tess_replay_options {
  uint32_t struct_size;         /* sizeof(tess_replay_options) */
  int32_t resample;             /* draw all decisions afresh */
  int32_t repair;               /* mend decisions that do not fit */
  int32_t no_postproc;          /* stop before enter_postproc */
  uint64_t seed;
} tess_replay_options;
/* program NULL: the one it is bound to; options NULL: same decisions. */
TESS_API tess_status tess_trace_replay(tess_trace *t, tess_program *program,
    const tess_replay_options *o, TESS_GIVE tess_schedule **out);
/* A copy of the first n instructions; NOT_FOUND: there are not as many. */
TESS_API tess_status tess_trace_prefix(tess_trace *t, uint32_t n,
                                       TESS_GIVE tess_trace **out);
/* A copy in which instruction i, counted from 1, has this decision;
 * NOT_FOUND when there is no such instruction, REFUSED when the decision does
 * not fit it.  The trace must be bound to a program. */
TESS_API tess_status tess_trace_with_decision(tess_trace *t, uint32_t i,
    uint32_t n, const int64_t *decision, TESS_GIVE tess_trace **out);
/* A copy in which one decision, drawn from seed, has another valid value and
 * the rest is mended to fit; the trace must be bound to a program.  NOT_FOUND
 * when no decision has another value. */
TESS_API tess_status tess_trace_mutate(tess_trace *t, uint64_t seed,
                                       TESS_GIVE tess_trace **out);
/* Dead code elimination: a copy without the instructions that do not change
 * the program and whose outputs have no uses. */
TESS_API tess_status tess_trace_simplify(tess_trace *t,
                                         TESS_GIVE tess_trace **out);

/* ---- stepping ----------------------------------------------------------- */

/* Starts before instruction 1; position n: after instruction n. */
TESS_API tess_status tess_stepper_new(tess_trace *t, tess_program *program,
                                      TESS_GIVE tess_stepper **out);
TESS_API void tess_stepper_free(TESS_TAKE tess_stepper *s);
/* 0 .. size; the size is the trace's. */
TESS_API uint32_t tess_stepper_position(tess_stepper *s);
TESS_API uint32_t tess_stepper_size(tess_stepper *s);
/* TESS_NOT_FOUND at either end; TESS_REFUSED when the instruction is. */
TESS_API tess_status tess_stepper_next(tess_stepper *s);
TESS_API tess_status tess_stepper_back(tess_stepper *s);
TESS_API tess_status tess_stepper_goto(tess_stepper *s, uint32_t n);
/* The program at the position. */
TESS_API tess_status tess_stepper_program(tess_stepper *s,
                                          TESS_GIVE tess_program **out);
/* The program as text, lines that the last instruction changed marked. */
TESS_API tess_status tess_stepper_diff(tess_stepper *s, TESS_GIVE char **out);
/* What an instruction, counted from 1, did to the statement of a line of the
 * program at the position (tess_program_text's lines, counted from 1): made
 * it, changed it or what it is annotated with, or moved it to another loop. */
typedef enum tess_effect {
  TESS_EFFECT_MADE, TESS_EFFECT_CHANGED, TESS_EFFECT_MOVED
} tess_effect;
typedef struct tess_origin {
  uint32_t line, instruction;
  tess_effect effect;
} tess_origin;
typedef struct tess_origins {
  uint32_t struct_size;         /* sizeof(tess_origins) */
  uint32_t n;
  const tess_origin *origin;    /* n, by line, then by instruction */
} tess_origins;
/* Where the lines come from; a line without any was described, and left as it
 * was.  They live until the stepper's next call. */
TESS_API tess_status tess_stepper_origins(tess_stepper *s, tess_origins *out);
/* The last instruction, as one line of Lua. */
TESS_API tess_status tess_stepper_inst(tess_stepper *s, TESS_GIVE char **out);
/* The last instruction's decision; n 0 when it takes none. */
TESS_API tess_status tess_stepper_decision(tess_stepper *s, uint32_t max,
                                           int64_t *out, uint32_t *n);
typedef struct tess_alternatives {
  uint32_t struct_size;         /* sizeof(tess_alternatives) */
  uint32_t n;                   /* rows given here */
  uint64_t count;               /* of the whole space */
  const int64_t *decision;      /* n rows of `width` */
  const double *probability;
  uint32_t width, reserved;
} tess_alternatives;
/* What the last instruction could have drawn, at most `max` of them;
 * NOT_FOUND when it draws nothing.  They live until the stepper's next
 * call. */
TESS_API tess_status tess_stepper_alternatives(tess_stepper *s, uint32_t max,
                                               tess_alternatives *out);
/* Changes it and replays what follows.  TESS_REFUSED with *invalid set to the
 * first instruction that no longer applies (the change stands), or
 * TESS_INVALID when the decision does not fit or the instruction draws
 * nothing (nothing changed). */
TESS_API tess_status tess_stepper_decide(tess_stepper *s, uint32_t n,
                                         const int64_t *d, uint32_t *invalid);
/* The whole trace, with the decisions that were changed. */
TESS_API tess_status tess_stepper_trace(tess_stepper *s,
                                        TESS_GIVE tess_trace **out);

#ifdef __cplusplus
}
#endif

#endif
