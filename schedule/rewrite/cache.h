/* SPDX-License-Identifier: Apache-2.0
 * Copy stages of a buffer: where they are inserted, what they copy, and which
 * accesses are redirected to the copy. */
#ifndef SCHEDULE_REWRITE_CACHE_H
#define SCHEDULE_REWRITE_CACHE_H

#include "ir/edit.h"
#include "schedule/analysis/move.h"

/* A copy between `buf` and a new buffer, as a child of `above` before its
 * child `before` (0: at the end).  In each dimension the new buffer holds
 * [shift, shift + shape) of the old one. */
typedef struct sch_stage {
  ir_stmt scope;           /* the block it is in, which owns the new buffer */
  ir_buf buf;
  ir_scope storage;
  ir_stmt above, before;
  uint32_t ndim;
  ir_expr *box;            /* min, max of what one run copies, then min, max
                            * of what all runs in the scope copy */
  bool started;            /* box holds something */
  bool loads;              /* bounds are data: all of the buffer is copied */
  bool filled;             /* all of the buffer has values that may be copied */
  int64_t *shift;
  ir_expr *shape;
  sch_span *span;          /* what one run copies, in indices of `buf` */
} sch_stage;

/* Checks the storage scope and that `block` is a child of a scope of loops
 * and blocks where `buf` is accessed plainly. */
bool sch_stage_init(sch_state *s, sch_stage *st, ir_stmt block, ir_buf buf,
                    const char *storage);
/* The same to let blocks read a copy: of an input also where bounds of loops
 * are data (`loads`). */
bool sch_stage_init_read(sch_state *s, sch_stage *st, ir_stmt block, ir_buf buf,
                         const char *storage);
/* Does the caller give the buffer its values? */
bool sch_stage_is_given(const ir_program *p, const sch_stage *st);
/* The only block of the scope that writes the buffer; 0: none.  false after
 * refusing: several; sch_stage_writer: or one that changes what the caller
 * gave. */
bool sch_stage_any_writer(sch_state *s, const sch_stage *st, ir_stmt *out);
bool sch_stage_writer(sch_state *s, const sch_stage *st, ir_stmt *out);
/* The other blocks of the scope that read the buffer and are in the list or,
 * where `listed` is false, are not.  An empty list holds all, or nothing
 * where `listed` is false. */
sch_list sch_stage_readers(sch_state *s, const sch_stage *st, ir_stmt writer,
                           sch_list list, bool listed);
/* Are all the readers before the writer, so that they find what was there when
 * the scope began? */
bool sch_stage_reads_given(const ir_program *p, const sch_stage *st,
                           ir_stmt writer, sch_list readers);
/* The stage, whose place is known, is between the writer and the readers, which
 * read nothing else than what that made.  false after refusing. */
bool sch_stage_reads_made(sch_state *s, const sch_stage *st, ir_stmt writer,
                          sch_list readers);
/* The listed blocks are children of the scope and read the buffer. */
bool sch_stage_check_list(sch_state *s, const sch_stage *st, sch_list list);
/* Reductions at and below the block find in the buffer what they have stored
 * themselves, as they begin with their init. */
bool sch_stage_finds_own(sch_state *s, ir_stmt block, ir_buf buf);
/* A reader that is to use the copy of what a block of the scope writes; or
 * that block itself.  false after refusing. */
bool sch_stage_check_reader(sch_state *s, const sch_stage *st, ir_stmt reader);
/* The stage is after the writer and before the first of the readers, in
 * the innermost loop around both; at the end of the scope without readers. */
void sch_stage_place(sch_state *s, sch_stage *st, ir_stmt writer,
                     sch_list readers);
/* The stage, whose place is known, copies what region r of `block` covers,
 * too.  whole: only there are values to copy, so all of the box must provably
 * be in r.  false after refusing. */
bool sch_stage_add(sch_state *s, sch_stage *st, ir_stmt block, ir_region r,
                   bool whole);
/* Does the block choose what it reads?  Then what it declares may be more
 * than what it reads, and than what somebody has written. */
bool sch_chooses(sch_state *s, ir_stmt block);
/* The same for all that the writer writes of the buffer. */
bool sch_stage_add_writes(sch_state *s, sch_stage *st, ir_stmt writer);
/* In a block inside another one, of a buffer that is not its own: the writer
 * makes all that the readers read, before them in the same iteration of
 * `above`; none of it was made outside.  false: refused. */
bool sch_stage_check_made(sch_state *s, const sch_stage *st, ir_stmt writer,
                          sch_list readers);
/* Block w, under the same `above`, must write all that one run copies. */
bool sch_stage_is_made_by(sch_state *s, const sch_stage *st, ir_stmt w);
/* The parts of what follows: the shape of the new buffer and what one run
 * copies (all there is of a dimension where no constant bounds what is
 * needed), false after refusing; that one run copies nothing that has no value
 * where it is copied from; the buffer and an empty block; its contents and
 * its place. */
bool sch_stage_size(sch_state *s, sch_stage *st);
bool sch_stage_check_box(sch_state *s, const sch_stage *st, bool back);
ir_stmt sch_stage_new(sch_state *s, const sch_stage *st, ir_buf *made);
void sch_stage_hang(sch_state *s, const sch_stage *st, bool back, ir_buf made,
                    ir_stmt copy);
/* Makes the new buffer and the block that copies: from buf to it, or back.
 * false after refusing, before any change. */
bool sch_stage_make(sch_state *s, sch_stage *st, bool back, ir_buf *made,
                    ir_stmt *copy);
/* The block and all below it access `made` instead of the stage's buffer. */
void sch_stage_redirect(sch_state *s, const sch_stage *st, ir_stmt block,
                        ir_buf made);

/* The body of a block that copies one element, and its regions. */
void sch_copy_body(sch_state *s, ir_stmt copy, ir_buf to, const ir_expr *ti,
                   ir_buf from, const ir_expr *fi);
/* A letter and a number. */
ir_str sch_nth_name(ir_program *p, char letter, uint32_t k);

#define SCH_STAGE_REASONS                                                   \
  SCH_R_BUFFER_LIVE_IN, SCH_R_STORAGE_INSIDE,                               \
  SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN, SCH_R_OTHER_STATEMENT,        \
    SCH_R_STORAGE_UNKNOWN, SCH_R_INIT_OF_SCOPE, SCH_R_OPAQUE_ACCESS,        \
    SCH_R_SEVERAL_WRITERS, SCH_R_COPY_NOT_STATIC,                           \
    SCH_R_INPUT_WRITTEN, SCH_R_REGION_NOT_WHOLE, SCH_R_SCOPES_DIFFER,       \
    SCH_R_NOT_READER, SCH_R_BUFFER_HIDDEN, SCH_BUFFER_REASONS

#endif
