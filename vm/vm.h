/* SPDX-License-Identifier: Apache-2.0
 * The trace machine: values, traces, replay, and the recording schedule.
 *
 * A trace is data: instructions with operands, decisions and outputs, stored in
 * a few tables, as a program is.  The machine executes instructions over a
 * program: it resolves operands (random variables to statements and integers),
 * takes or draws the decision, and calls the primitive.  There is one entry to
 * primitives (call.c) for recording schedules, traces from files and replay in
 * a search.
 *
 * Memory: functions that return a tess_status catch exhaustion themselves; the
 * others unwind through mem_protect, as those of ir/ do. */
#ifndef VM_VM_H
#define VM_VM_H

#include "base/rng.h"
#include "ir/checkpoint.h"
#include "schedule/sig.h"

/* ---- values ------------------------------------------------------------- */

typedef uint32_t vm_rv;    /* random variable: 1, 2, ... in order of creation */

typedef enum vm_tag {
  VM_NIL, VM_BOOL, VM_INT, VM_REAL, VM_STR, VM_RV, VM_AUTO,
  VM_LIST,                 /* n elements at `at` in val */
  VM_DICT,                 /* n elements: alternating VM_STR keys (sorted,
                            * each once) and values; never empty */
  VM_OP                    /* arithmetic over integer variables: op (IR_ADD
                            * to IR_MAX), 2 elements at `at` */
} vm_tag;

typedef struct vm_value {
  uint8_t tag, op;         /* op: an ir_op (VM_OP) */
  uint16_t depth;          /* of nesting: 0 for a scalar */
  uint32_t n;              /* VM_LIST, VM_DICT: elements; VM_STR: bytes */
  union {
    int64_t i;             /* VM_INT, VM_BOOL */
    double f;              /* VM_REAL */
    uint32_t rv;           /* VM_RV */
    uint32_t at;           /* VM_LIST, VM_DICT, VM_OP */
    uint32_t str;          /* VM_STR: offset in text, NUL-terminated */
  };
} vm_value;

#define VM_MAX_DEPTH 63    /* of a value in a trace: lists around a scalar */
#define VM_MAX_SIZE (1 << 20)  /* elements of a value, in all */
#define VM_MAX_SPECS 32    /* of a primitive */

/* ---- traces ------------------------------------------------------------- */

typedef struct vm_inst {
  const sch_prim *prim;
  uint32_t operand;        /* first of its IN and ATTR values in val, in the
                            * order of the declaration; VM_NIL: default */
  vm_rv out;               /* its outputs are out .. out + nout - 1 */
  uint32_t nout;
  ir_span decision;        /* in dec */
  uint32_t file, line;     /* who made it: offset in text (0: unknown) */
  uint8_t open;            /* a sampling instruction without a decision */
} vm_inst;

typedef enum vm_rv_kind { VM_RV_BLOCK, VM_RV_LOOP, VM_RV_INT } vm_rv_kind;

/* Every instruction in it was checked against its declaration (vm_append):
 * operands are of their kinds and variables come from earlier instructions,
 * so that replay need not ask again. */
typedef struct vm_trace {
  mem_heap *heap;
  VEC(vm_inst) inst;
  VEC(vm_value) val;
  VEC(int64_t) dec;        /* all decisions */
  VEC(uint8_t) rv;         /* vm_rv_kind of each variable; [0] unused */
  VEC(uint32_t) rv_inst;   /* the instruction that made it, from 0 */
  VEC(char) text;          /* strings; offset 0 is "" */
} vm_trace;

/* Decisions of a whole trace: for each sampling instruction in turn its
 * length and its numbers.  This vector is a candidate's genotype. */
typedef VEC(int64_t) vm_decisions;
/* A walk over such a vector. */
typedef struct vm_cursor {
  const int64_t *d;
  uint32_t n, at;
} vm_cursor;
/* The next entry; false at the end or where the vector is malformed. */
bool vm_cursor_next(vm_cursor *c, uint32_t *n, const int64_t **d);

/* Why something failed; vm_failure_text formats the message on demand. */
typedef enum vm_why {
  VM_W_NONE,
#define FAILURE(name, status, text) VM_W_##name,
#include "vm/failures.def"
#undef FAILURE
  VM_W_COUNT
} vm_why;

typedef struct vm_failure {
  uint16_t why;            /* vm_why */
  uint16_t operand;        /* which spec of prim */
  uint32_t inst;           /* which instruction, from 1; 0: none */
  const sch_prim *prim;
  vm_rv rv;
  uint8_t tag;             /* of the value given (vm_tag) */
  int64_t n[2];
} vm_failure;

void vm_trace_init(vm_trace *t, mem_heap *heap);
void vm_trace_free(vm_trace *t);
void vm_trace_reset(vm_trace *t);
void vm_trace_copy(vm_trace *dst, const vm_trace *src);
/* The instruction after `in` that is no remark, the first after NULL; NULL:
 * there is none. */
const vm_inst *vm_next_act(const vm_trace *t, const vm_inst *in);
/* The same instructions, operands, decisions and outputs; their places, and
 * remarks, are neither compared nor hashed. */
bool vm_trace_equal(const vm_trace *a, const vm_trace *b);
/* Are the operands of two instructions of one primitive equal? */
bool vm_operands_equal(const vm_trace *a, const vm_inst *x, const vm_trace *b,
                       const vm_inst *y);
/* The same instructions up to enter_postproc, whatever their decisions; with
 * `exact` their operands, too. */
bool vm_is_same_schedule(const vm_trace *a, const vm_trace *b, bool exact);
uint64_t vm_trace_hash(const vm_trace *t);
/* The same of the trace with all decisions open. */
uint64_t vm_sketch_hash(const vm_trace *t);

/* Values are stored in a trace's tables (any trace: a pool). */
static inline vm_value vm_nil(void) { return (vm_value){.tag = VM_NIL}; }
static inline vm_value vm_auto(void) { return (vm_value){.tag = VM_AUTO}; }
static inline vm_value vm_bool(bool b) {
  return (vm_value){.tag = VM_BOOL, .i = b};
}
static inline vm_value vm_int(int64_t i) {
  return (vm_value){.tag = VM_INT, .i = i};
}
static inline vm_value vm_real(double f) {
  return (vm_value){.tag = VM_REAL, .f = f};
}
static inline vm_value vm_var(vm_rv rv) {
  return (vm_value){.tag = VM_RV, .rv = rv};
}
vm_value vm_str(vm_trace *pool, const char *s, size_t n);
vm_value vm_list(vm_trace *pool, uint32_t n, const vm_value *elems);
/* The list of the n values that are at `at` in the pool already. */
vm_value vm_list_of(const vm_trace *pool, uint32_t at, uint32_t n);
/* Sorts the keys; 2 * n elements; an empty one is an empty list. */
vm_value vm_dict(vm_trace *pool, uint32_t n, const vm_value *pairs);
/* The same of n pairs that are at `at` in the pool already. */
vm_value vm_dict_of(vm_trace *pool, uint32_t at, uint32_t n);
/* "+" "-" "*" "//" "%" "min" "max" and back; IR_NONE: no such. */
const char *vm_op_text(ir_op op);
ir_op vm_parse_op(const char *text);
vm_value vm_op(vm_trace *pool, ir_op op, vm_value a, vm_value b);
/* The same of two values that are at `at` in the pool already. */
vm_value vm_op_of(const vm_trace *pool, uint32_t at, ir_op op);
/* A deep copy between pools; map (may be NULL) renames variables. */
vm_value vm_value_copy(vm_trace *dst, const vm_trace *src, vm_value v,
                       const vm_rv *map);
bool vm_value_equal(const vm_trace *a, vm_value x, const vm_trace *b,
                    vm_value y);
uint64_t vm_value_hash(const vm_trace *t, vm_value v);
/* Calls f for every variable inside. */
void vm_value_each_rv(const vm_trace *t, vm_value v,
                      void (*f)(void *ud, vm_rv rv), void *ud);

/* An instruction to append, or a call to make.  operand has one value for
 * each spec of prim in order, in the tables of `pool` (OUT: not looked at;
 * DECISION: nil, an integer or a list of them). */
typedef struct vm_call {
  const sch_prim *prim;
  const vm_trace *pool;
  const vm_value *operand;
  const char *file;        /* NULL: unknown */
  uint32_t line;
} vm_call;

/* Checks the call against the declaration and appends it with `nout` new
 * variables.  Operands equal to their default are stored as nil.  false:
 * *why says why, nothing changed.  A sampling call without a decision is
 * open. */
bool vm_append(vm_trace *t, const vm_call *c, uint32_t nout, vm_failure *why);
/* How many outputs: at least, and whether more may be (a list is among
 * them). */
uint32_t vm_fixed_outputs(const sch_prim *p, bool *list);
/* How many outputs a call gives; false: at least, more depends on the
 * program. */
bool vm_known_outputs(const vm_call *c, uint32_t *n);
/* The kind of output number `i` of `nout`. */
vm_rv_kind vm_output_kind(const sch_prim *p, uint32_t i, uint32_t nout);

/* The operand values of instruction k (from 0), by spec; nil where not
 * given.  A DECISION or OUT spec gives nil. */
vm_value vm_operand(const vm_trace *t, uint32_t k, uint32_t spec);
/* The spec that declares the decision; NULL: the primitive takes none. */
const sch_spec *vm_decision_spec(const sch_prim *p);
/* Is a decision one number (SCH_KIND_INT) rather than a list of them? */
bool vm_decides_one(const sch_prim *p);
static inline bool vm_samples(const vm_inst *in) {
  return in->prim->flags & SCH_SAMPLES;
}
/* All decisions; open ones have length 0. */
void vm_get_decisions(const vm_trace *t, mem_heap *heap, vm_decisions *out);
/* Replaces them; false where the number of entries does not fit. */
bool vm_set_decisions(vm_trace *t, uint32_t n, const int64_t *d);
/* All decisions open. */
void vm_open_decisions(vm_trace *t);
/* The index of enter_postproc, from 0; inst.n: there is none. */
uint32_t vm_postproc_at(const vm_trace *t);
/* Only the first n instructions. */
void vm_truncate(vm_trace *t, uint32_t n);
/* Dead instruction elimination: dst := src without pure instructions whose
 * outputs are unused. */
void vm_simplify(vm_trace *dst, const vm_trace *src, arena *scratch);
/* The same of what follows the first `from` instructions, which all stay. */
void vm_simplify_from(vm_trace *dst, const vm_trace *src, uint32_t from,
                      arena *scratch);
/* "b0", "l3", "v5": the letter is the kind, the number counts from 0. */
void vm_rv_name(const vm_trace *t, vm_rv rv, char out[16]);
/* That instruction number k (from 1) removed the referent of the variable. */
void vm_gone_text(const vm_trace *t, vm_rv rv, uint32_t k, strbuf *out);

/* ---- the machine: one program under replay ------------------------------ */

/* What a random variable refers to now. */
typedef union vm_cell { ir_stmt stmt; int64_t i; } vm_cell;

/* Everything a worker needs to replay candidates; reused for the next one,
 * so that a warm machine allocates nothing.  heap is the program's, the
 * scratch's and that of the decisions made. */
typedef struct vm_machine {
  mem_heap *heap;
  ir_program prog;
  arena scratch;
  VEC(vm_cell) cell;       /* rv -> its referent; [0] unused */
  sch_state state;         /* .refusal: of the primitive (VM_W_REFUSED) */
  VEC(int64_t) dec;        /* the decision of the instruction at work */
  vm_failure fail;
  uint32_t at;             /* the instruction at work or last run, from 1 */
  _Alignas(16) unsigned char args[SCH_MAX_ARGS];  /* its argument struct */
} vm_machine;

/* May unwind. */
void vm_machine_init(vm_machine *m, mem_heap *heap);
void vm_machine_free(vm_machine *m);

/* Where the decision of a sampling instruction comes from. */
typedef enum vm_source {
  VM_SAME,                 /* the one in the trace, which must fit exactly;
                            * where it is open, drawn */
  VM_FRESH,                /* drawn */
  VM_GIVEN,                /* from the vector, which must fit exactly */
  VM_REPAIR                /* from the vector (from the trace where `given`
                            * is NULL), mended where it must be; drawn where
                            * it is open */
} vm_source;

/* What the host remembers of vectors that were replayed before, so that the
 * instructions after the last decision need not be run again. */
typedef enum vm_known { VM_UNKNOWN, VM_VALID, VM_REFUSED } vm_known;
typedef struct vm_memory {
  /* Called when the last decision is applied.  VM_VALID: the replay ends there
   * as if it had succeeded, without its program.  VM_REFUSED: it fails, as
   * m->fail and m->state.refusal say, which were restored. */
  vm_known (*known)(void *ud, vm_machine *m, const vm_decisions *made);
  /* Called when an instruction after it was refused. */
  void (*refused)(void *ud, const vm_machine *m, const vm_decisions *made);
  void *ud;
} vm_memory;

typedef struct vm_replay_opts {
  vm_source source;
  uint64_t seed;           /* instruction k draws from the stream (seed, k) */
  const int64_t *given;    /* VM_GIVEN, VM_REPAIR: a vm_decisions' content; */
  uint32_t ngiven;         /*   an entry of length 0 is open: drawn */
  uint32_t stop;           /* run the first `stop` instructions; 0: all */
  uint32_t start;          /* continue after this many (machine as it was) */
  bool no_postproc;        /* stop before enter_postproc */
  /* Called at each sampling instruction when its decision is known and not
   * yet applied: m->args, m->dec, m->state are as its sampler wants them. */
  void (*visit)(void *ud, vm_machine *m, const vm_inst *in);
  void *ud;
  const vm_memory *memory; /* NULL: none */
} vm_replay_opts;

/* How many instructions there are up to the last that samples. */
uint32_t vm_decided_at(const vm_trace *t);

/* Replays `t` over a copy of `base`.  The decisions that took effect are
 * appended to *made (of the machine's heap; may be NULL).  Else than TESS_OK:
 * m->fail says why (its `why` is VM_W_NONE when memory ran out: TESS_NOMEM,
 * TESS_LIMIT); the program is then not to be used. */
tess_status vm_replay(vm_machine *m, const ir_program *base,
                      const vm_trace *t, const vm_replay_opts *o,
                      vm_decisions *made);

/* The value of an integer operand (VM_INT, VM_RV, VM_OP) of `t` once its
 * variables are bound, in `cell`; anything but VM_W_NONE: it has none, and
 * why. */
vm_why vm_evaluate(const vm_cell *cell, const vm_trace *t, vm_value v,
                   int64_t *out);

/* The status of a failure. */
tess_status vm_failure_status(const vm_failure *f);
/* "NOT_ONLY_CHILD", "UNFIT": a name for tables of reasons. */
const char *vm_failure_reason(const vm_machine *m);
/* The sentence, complete: "fuse: ..."; reads m->fail, m->state, m->prog. */
void vm_failure_text(const vm_machine *m, const vm_trace *t, strbuf *out);
/* The same for a failure that vm_append gave (m may be NULL). */
void vm_failure_sentence(const vm_machine *m, const vm_trace *t,
                         const vm_failure *f, strbuf *out);
/* "a list of loops" */
const char *vm_kind_text(uint32_t kind);

/* ---- the recording schedule --------------------------------------------- */

typedef struct vm_sched {
  mem_heap *heap;
  vm_machine m;            /* m.prog: the current program */
  vm_trace trace;
  vm_trace draft;          /* pool for the operands of the next call */
  ir_program base;         /* before the first instruction */
  ir_checkpoint undo;      /* the program before the call at work */
  VEC(uint64_t) undo_room; /* its memory */
  uint64_t seed;
  const char *file;        /* who records guards; NULL: unknown */
  uint32_t line;
  bool sketch;             /* what is read of sampled values is guarded */
} vm_sched;

tess_status vm_sched_init(vm_sched *s, mem_heap *heap, const ir_program *base,
                          uint64_t seed);
void vm_sched_free(vm_sched *s);
/* dst is not yet initialised. */
tess_status vm_sched_copy(vm_sched *dst, mem_heap *heap, const vm_sched *src);
/* Performs and records one primitive; *first gets the first of its `nout`
 * outputs.  Anything but TESS_OK rolls program and trace back;
 * s->m.fail says why, until the next call. */
tess_status vm_sched_call(vm_sched *s, const vm_call *c, vm_rv *first,
                          uint32_t *nout);
/* A dry run of vm_sched_call: always rolled back. */
tess_status vm_sched_can(vm_sched *s, const vm_call *c);
/* The value of an integer variable; in sketch mode a guard is recorded. */
tess_status vm_sched_get_int(vm_sched *s, vm_rv rv, int64_t *out);
/* Do two block or loop variables refer to the same statement?  In sketch mode
 * a guard is recorded where what was sampled may decide that.  Variables of
 * statements that are gone are the same only if they are one. */
tess_status vm_sched_same(vm_sched *s, vm_rv a, vm_rv b, bool *out);
/* The statement that a block or loop variable refers to (or SCH_INLINE_MARK,
 * SCH_ROOT_MARK); 0: it is dead or there is none. */
ir_stmt vm_sched_stmt(const vm_sched *s, vm_rv rv);
/* A schedule that replays `t` and records the decisions that took effect.
 * On a failure *dst is to be freed, too: dst->m says why. */
tess_status vm_sched_replay(vm_sched *dst, mem_heap *heap,
                            const ir_program *base, const vm_trace *t,
                            const vm_replay_opts *o);

#endif
