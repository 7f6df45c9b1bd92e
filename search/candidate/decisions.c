/* SPDX-License-Identifier: Apache-2.0
 * A candidate's decisions as one row of numbers, for models that measure
 * distances in the space of decisions.
 *
 * Columns: one a sketch, 1 for the candidate's own, then for each sampling
 * instruction of each sketch a slot, zeros in those of other sketches: tiles as
 * logarithms of their factors; a categorical as its value on a logarithmic
 * scale that keeps the sign, and one-hot; a compute location as "inlined", "at
 * the root" and the number of the loop.  How wide a slot is, draws tell. Behind
 * the slots of a sketch come the operands that are computed from several of its
 * sampled integers: a product of two decisions is a direction of its own. */
#include "search/candidate/rows.h"

#include <math.h>
#include <stdio.h>

enum { MAX_SLOT = 24, ONE_HOT = 8, PROBES = 64, MAX_DERIVED = 16 };

/* The slot's numbers of the decision at hand. */
static uint32_t embed(vm_machine *m, const vm_inst *in, double *out) {
  const sch_sampler *s = in->prim->sampler;
  const int64_t *d = m->dec.v;
  if (!strcmp(in->prim->name, "sample_compute_location")) {
    out[0] = d[0] == -2;
    out[1] = d[0] == -1;
    out[2] = d[0] >= 0 ? log2(2 + (double)d[0]) : 0;
    return 3;
  }
  uint32_t n = s->embed(&m->state, m->args, d, out);
  if (strcmp(in->prim->name, "sample_categorical")) return n;
  uint64_t count = s->count(&m->state, m->args);
  if (count > ONE_HOT) return n;
  for (uint64_t i = 0; i < count; i++) out[n++] = (int64_t)i == d[0];
  return n;
}

/* ---- how wide slots are ------------------------------------------------- */

typedef struct probe {
  tess_session *s;
  uint32_t sketch;
  const vm_trace *t;
  uint8_t *width; /* by instruction */
} probe;

static void see_width(void *ud, vm_machine *m, const vm_inst *in) {
  probe *x = ud;
  double slot[MAX_SLOT];
  uint32_t n = embed(m, in, slot);
  uint8_t *width = &x->width[in - x->t->inst.v];
  if (n > *width) *width = (uint8_t)n;
}

static tess_status draw_one(void *ud) {
  probe *x = ((void **)ud)[0];
  vm_replay_opts o = {.source = VM_FRESH,
                      .seed = *(uint64_t *)((void **)ud)[1],
                      .visit = see_width,
                      .ud = x};
  return vm_replay(&x->s->worker[0].m, x->s->base, x->t, &o, NULL);
}

static bool all_seen(const probe *x) {
  for (uint32_t k = 0; k < x->t->inst.n; k++)
    if (vm_samples(&x->t->inst.v[k]) && !x->width[k]) return false;
  return true;
}

/* Draws of a sketch until each of its instructions was come to. */
static void look(probe *x) {
  for (uint64_t seed = 0; seed < PROBES && !all_seen(x); seed++) {
    void *ud[2] = {x, &seed};
    mem_protect(&x->s->worker[0].heap, draw_one, ud);
  }
}

/* ---- what is computed from decisions ------------------------------------ */

/* The variables of a value: the first, and whether there is another. */
typedef struct variables {
  vm_rv first;
  bool several;
} variables;

static void count_variable(void *ud, vm_rv rv) {
  variables *x = ud;
  if (x->first && x->first != rv) x->several = true;
  if (!x->first) x->first = rv;
}

static bool is_derived(const vm_trace *t, vm_value v) {
  variables x = {0};
  if (v.tag == VM_OP) vm_value_each_rv(t, v, count_variable, &x);
  return x.several;
}

static search_derived find_derived(tess_session *s, const vm_trace *t) {
  vm_value *v = arena_array(&s->keep, vm_value, MAX_DERIVED);
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->val.n && n < MAX_DERIVED; i++) {
    bool known = !is_derived(t, t->val.v[i]);
    for (uint32_t k = 0; k < n && !known; k++)
      known = vm_value_equal(t, t->val.v[i], t, v[k]);
    if (!known) v[n++] = t->val.v[i];
  }
  return (search_derived){n, v};
}

/* On the scale of a categorical's values. */
static void fill_derived(const tess_session *s, const vm_machine *m,
                         uint32_t sketch, float *row) {
  const vm_trace *t = s->sketch[sketch];
  const search_derived *x = &s->features.derived[sketch];
  for (uint32_t i = 0; i < x->n; i++) {
    int64_t value;
    if (vm_evaluate(m->cell.v, t, x->v[i], &value) != VM_W_NONE) continue;
    double d = (double)value;
    row[s->features.slot[sketch][t->inst.n] + i] =
        (float)(d < 0 ? -log2(1 - d) : log2(1 + d));
  }
}

/* ---- columns ------------------------------------------------------------ */

/* In the frame of the session's heap. */
static tess_status find_slots(void *ud) {
  tess_session *s = ud;
  uint32_t at = s->nsketch;
  uint32_t **slot = arena_array(&s->keep, uint32_t *, s->nsketch);
  s->features.derived = arena_array(&s->keep, search_derived, s->nsketch);
  for (uint32_t k = 0; k < s->nsketch; k++) {
    const vm_trace *t = s->sketch[k];
    probe x = {s, k, t, arena_zalloc(&s->keep, t->inst.n + 1)};
    look(&x);
    slot[k] = arena_array(&s->keep, uint32_t, t->inst.n + 1);
    for (uint32_t i = 0; i < t->inst.n; i++) {
      slot[k][i] = at;
      at += x.width[i];
    }
    slot[k][t->inst.n] = at;
    s->features.derived[k] = find_derived(s, t);
    at += s->features.derived[k].n;
  }
  s->features.slot = slot;
  s->features.nsketch = s->nsketch;
  s->features.nslot = at;
  return TESS_OK;
}

tess_status decisions_begin(tess_session *s) {
  return s->features.slot ? TESS_OK : mem_protect(&s->c->heap, find_slots, s);
}

/* ---- a row -------------------------------------------------------------- */

void decisions_clear(const tess_session *s, search_worker *w) {
  vec_reserve(&w->heap, &w->row, s->features.nslot + 1);
  memset(w->row.v, 0, (s->features.nslot + 1) * sizeof *w->row.v);
}

/* A sketch that was added later. */
static bool has_no_columns(const tess_session *s, uint32_t sketch) {
  return sketch >= s->features.nsketch;
}

/* What a try before this one left in the slot goes. */
void decisions_note(const tess_session *s, search_worker *w, uint32_t sketch,
                    const vm_inst *in) {
  double number[MAX_SLOT];
  if (has_no_columns(s, sketch)) return;
  const uint32_t *slot =
      s->features.slot[sketch] + (in - s->sketch[sketch]->inst.v);
  uint32_t n = embed(&w->m, in, number), room = slot[1] - slot[0];
  for (uint32_t i = 0; i < room; i++)
    w->row.v[slot[0] + i] = i < n ? (float)number[i] : 0;
}

void decisions_complete(const tess_session *s, search_worker *w,
                        uint32_t sketch) {
  if (has_no_columns(s, sketch)) return;
  w->row.v[sketch] = 1;
  fill_derived(s, &w->m, sketch, w->row.v);
}

typedef struct filling {
  const tess_session *s;
  search_worker *w;
  uint32_t sketch;
} filling;

static void fill(void *ud, vm_machine *m, const vm_inst *in) {
  const filling *f = ud;
  (void)m;
  decisions_note(f->s, f->w, f->sketch, in);
}

tess_status decisions_make(const tess_session *s, search_worker *w,
                           const search_cand *c, feature_rows *out) {
  const vm_trace *t = s->sketch[c->sketch];
  feature_begin(out, 1, s->features.nslot, &w->rows);
  if (has_no_columns(s, c->sketch)) return TESS_OK;
  filling f = {s, w, c->sketch};
  decisions_clear(s, w);
  vm_replay_opts o = {.source = VM_GIVEN,
                      .given = c->d,
                      .ngiven = c->n,
                      .visit = fill,
                      .ud = &f,
                      .stop = vm_decided_at(t)};
  tess_status st = vm_replay(&w->m, s->base, t, &o, NULL);
  if (st != TESS_OK) return st;
  decisions_complete(s, w, c->sketch);
  memcpy(out->v, w->row.v, s->features.nslot * sizeof *out->v);
  return TESS_OK;
}

/* ---- names -------------------------------------------------------------- */

void decisions_name(const tess_session *s, uint32_t column,
                    char out[FEATURE_NAME]) {
  if (column < s->features.nsketch) {
    snprintf(out, FEATURE_NAME, "sketch%u", column + 1);
    return;
  }
  for (uint32_t k = 0; k < s->features.nsketch; k++) {
    const vm_trace *t = s->sketch[k];
    for (uint32_t i = 0; i < t->inst.n; i++)
      if (column < s->features.slot[k][i + 1] &&
          column >= s->features.slot[k][i]) {
        snprintf(out, FEATURE_NAME, "sketch%u.%u.%s.%u", k + 1, i + 1,
                 t->inst.v[i].prim->name, column - s->features.slot[k][i]);
        return;
      }
    uint32_t first = s->features.slot[k][t->inst.n];
    if (column >= first && column < first + s->features.derived[k].n) {
      snprintf(out, FEATURE_NAME, "sketch%u.computed.%u", k + 1,
               column - first);
      return;
    }
  }
  out[0] = '\0';
}
