/* SPDX-License-Identifier: Apache-2.0
 * A memo of candidates: which are known to be valid, with their features, and
 * which were refused. */
#ifndef SEARCH_CANDIDATE_MEMO_H
#define SEARCH_CANDIDATE_MEMO_H

#include "base/map.h"
#include "search/candidate/candidate.h"
#include "search/feature/feature.h"
#include "vm/object.h"

/* Why a candidate was refused after its last decision. */
typedef struct memo_refusal {
  vm_failure fail;
  sch_refusal refusal;
  uint32_t at;
} memo_refusal;

/* A thread's; of what a session wants (session_want) it has the features. */
typedef struct search_memo {
  mem_heap *heap;
  map at;                    /* hash -> index in rows */
  VEC(feature_rows) rows;    /* n is 0 where none are wanted */
  arena keep;                /* of them */
  size_t bytes;
  map bad_at;                /* hash -> index in bad */
  VEC(memo_refusal) bad;
  map trait_at;              /* hash -> index in trait */
  VEC(uint64_t) trait;       /* what `of` says of its program */
  search_trait of;
  bool wants;
  feature_kind want;
} search_memo;

void memo_init(search_memo *x, mem_heap *heap);
void memo_free(search_memo *x);
void memo_clear(search_memo *x);
/* From now on entries have such features. */
void memo_want(search_memo *x, bool wants, feature_kind k);
/* false: nothing more is to be entered until it is cleared.  Unwinds. */
bool memo_has_room(search_memo *x);
/* NULL: it is not known to be valid. */
const feature_rows *memo_find(const search_memo *x, uint64_t hash);
/* Whether it was refused; then the machine is as it was after that. */
bool memo_refuses(const search_memo *x, uint64_t hash, vm_machine *m);
/* Unwinds. */
void memo_enter_refusal(search_memo *x, uint64_t hash, const vm_machine *m);
/* A property of its program, found before; false: it was not. */
bool memo_find_trait(const search_memo *x, uint64_t hash, search_trait of,
                     uint64_t *out);
/* Unwinds. */
void memo_enter_trait(search_memo *x, uint64_t hash, search_trait of,
                      uint64_t value);
/* The rows lie in `keep`. */
void memo_enter(search_memo *x, uint64_t hash, const feature_rows *r);

#endif
