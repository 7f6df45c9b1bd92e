/* SPDX-License-Identifier: Apache-2.0
 * Features of many candidates of a session. */
#ifndef SEARCH_CANDIDATE_ROWS_H
#define SEARCH_CANDIDATE_ROWS_H

#include "search/feature/feature.h"
#include "search/candidate/session.h"

/* Rows of n candidates, one after the other: those of candidate i are
 * first[i] .. first[i + 1] - 1; none where it does not replay.  Session's,
 * until the next question. */
typedef struct search_rows {
  feature_kind kind;
  uint32_t n, width;
  const uint32_t *first;
  const float *v;
} search_rows;

/* Candidates are replayed on the session's threads, those of which features
 * were made with them (tess_session.want) are not. */
tess_status session_rows(tess_session *s, feature_kind k, uint32_t n,
                         const search_cand *c, search_rows *out);
/* From now on candidates get features of this kind when they are made. */
void session_want(tess_session *s, feature_kind k);
/* From now on they get their decisions instead, or no longer. */
tess_status session_want_decisions(tess_session *s, bool wanted);
/* In the worker's frame, right after a replay: keeps what is wanted. */
void session_keep_rows(const tess_session *s, search_worker *w,
                       const search_cand *c);
/* The same of a program of the context's, instead of what was kept of the
 * candidate before. */
void session_keep_rows_of(tess_session *s, const ir_program *p,
                          const search_cand *c);
uint32_t session_columns(tess_session *s, feature_kind k);
uint32_t session_version(feature_kind k);
void session_column(tess_session *s, feature_kind k, uint32_t column,
                    char out[FEATURE_NAME]);

/* ---- decisions (decisions.c) -------------------------------------------- */

enum { DECISIONS_VERSION = 2 };

/* The operands of a sketch that are computed from several sampled integers, as
 * the size of a block of so many smaller ones is: each has a column, behind
 * the sketch's slots. */
typedef struct search_derived {
  uint32_t n;
  const vm_value *v;
} search_derived;

/* Finds the columns, once. */
tess_status decisions_begin(tess_session *s);
/* A row that fills as a sketch is replayed in the worker: at first, at each
 * sampling instruction (vm_replay_opts.visit), and behind the last. */
void decisions_clear(const tess_session *s, search_worker *w);
void decisions_note(const tess_session *s, search_worker *w, uint32_t sketch,
                    const vm_inst *in);
void decisions_complete(const tess_session *s, search_worker *w,
                        uint32_t sketch);
/* In the frame of the worker's heap; the row is the worker's. */
tess_status decisions_make(const tess_session *s, search_worker *w,
                           const search_cand *c, feature_rows *out);
void decisions_name(const tess_session *s, uint32_t column,
                    char out[FEATURE_NAME]);

#endif
