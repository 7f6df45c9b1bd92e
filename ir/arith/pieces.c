/* SPDX-License-Identifier: Apache-2.0
 * Classifying an affine iteration map whose bindings are sums of digits: it is
 * injective if the digits determine the variables, surjective if each sum
 * covers its extent. */
#include "ir/arith/arith.h"
#include "ir/arith/imap.h"
#include "ir/edit.h"

/* ---- extracting pieces -------------------------------------------------- */

static int64_t size_of(int64_t k) { return k < 0 ? -k : k; }

static bool as_piece(const imap *m, lin_term t, imap_piece *out) {
  lin_digit g;
  uint32_t v = 0;
  if (!lin_as_digit(m->p, t.atom, &g)) return false;
  while (v < m->nvar && m->var[v].var != g.var) v++;
  if (v == m->nvar) return false;
  int64_t extent = m->var[v].extent, end;
  *out = (imap_piece){.var = v, .d = g.d, .k = t.k, .top = g.m == 0};
  if (extent == 0) return g.d == 1 && g.m == 0;
  if (g.m && !__builtin_mul_overflow(g.d, g.m, &end) && end < extent) {
    out->ext = g.m;
    return true;
  }
  out->top = true;
  out->ext = arith_cdiv(extent, g.d);
  return true;
}

/* A piece of symbolic extent comes last. */
static bool piece_is_before(const imap_piece *a, const imap_piece *b) {
  if (!a->ext != !b->ext) return a->ext != 0;
  return size_of(a->k) < size_of(b->k);
}

int imap_pieces(const imap *m, imap_piece *piece, int64_t *offset) {
  uint32_t n = 0;
  for (uint32_t o = 0; o < m->nout; o++) {
    lin x;
    uint32_t first = n;
    lin_of(m->p, m->expr[o], &x);
    offset[o] = x.c;
    for (uint32_t i = 0; i < x.n; i++) {
      imap_piece t;
      if (n == IMAP_PIECES || !as_piece(m, x.t[i], &t)) return -1;
      t.out = o;
      uint32_t at = n++;
      for (; at > first && piece_is_before(&t, &piece[at - 1]); at--)
        piece[at] = piece[at - 1];
      piece[at] = t;
    }
  }
  return (int)n;
}

/* ---- variables ---------------------------------------------------------- */

/* Do the pieces of variable v determine its value (whole), and do they take all
 * combinations of their values (free)? false: some overlap. */
static bool classify_var(const imap *m, const imap_piece *piece, int n,
                         uint32_t v, bool *whole, bool *free) {
  const imap_piece *last = NULL;
  int64_t extent = m->var[v].extent, from = 0;
  bool gap = false;
  for (;;) {
    const imap_piece *next = NULL;
    for (int i = 0; i < n; i++)
      if (piece[i].var == v && piece[i].d > from &&
          (!next || piece[i].d < next->d))
        next = &piece[i];
    for (int i = 0; next && i < n; i++)
      if (&piece[i] != next && piece[i].var == v && piece[i].d == next->d)
        return false;
    if (!next) break;
    int64_t end = last ? last->d * last->ext : 1;
    if (last && (last->top || next->d % end)) return false;
    gap |= next->d != end;
    if (next->top && last && extent % next->d) *free = false;
    last = next;
    from = next->d;
  }
  if (extent != 1 && (!last || !last->top || gap)) *whole = false;
  return true;
}

/* ---- bindings ----------------------------------------------------------- */

/* One binding's pieces, p[0 .. n-1], shifted to begin at 0: the length of the
 * contiguous range that they cover, and whether distinct values of the pieces
 * give distinct sums. */
typedef struct sum {
  bool injective, dense;
  int64_t count, low;
} sum;

static sum classify_sum(const imap_piece *p, uint32_t n, int64_t offset) {
  sum s = {.injective = true, .dense = true, .count = 1, .low = offset};
  for (uint32_t i = 0; i < n && p[i].ext; i++) {
    int64_t k = size_of(p[i].k), width;
    if (k < s.count) s.injective = p[i].ext == 1 && s.injective;
    if (k > s.count) s.dense = p[i].ext == 1 && s.dense;
    if (__builtin_mul_overflow(k, p[i].ext - 1, &width) ||
        __builtin_add_overflow(s.count, width, &s.count) ||
        (p[i].k < 0 && __builtin_sub_overflow(s.low, width, &s.low)))
      return (sum){.injective = false, .dense = false};
  }
  return s;
}

/* If the last of n pieces has a symbolic extent: is its coefficient at least
 * the number of values of the others?  Of two such pieces nothing is known. */
static bool last_is_separate(const imap_piece *last, uint32_t n, const sum *s) {
  if (!n || last->ext) return true;
  return size_of(last->k) >= s->count && (n == 1 || last[-1].ext);
}

/* Does the sum cover [0, extent), and exactly that (exact)?  A piece of
 * symbolic extent is the last; its coefficient must be the range of the
 * others. */
static bool sum_covers(const imap *m, const imap_piece *p, uint32_t n,
                       const sum *s, ir_expr extent, bool *exact) {
  int64_t want;
  if (!s->dense || s->low != 0) return false;
  if (n > 1 && !p[n - 2].ext) return false;
  if (n > 0 && !p[n - 1].ext) {
    ir_expr size = m->var[p[n - 1].var].size;
    return p[n - 1].k == s->count &&
           arith_prove_eq(m->p, ir_mul(m->p, size, ir_index(m->p, s->count)),
                          extent);
  }
  if (!ir_const_int(m->p, extent, &want) || s->count < want) return false;
  *exact = *exact && s->count == want;
  return true;
}

/* Properties of a map, accumulated over its pieces. */
typedef struct map_facts {
  bool apart; /* pieces of one variable do not overlap */
  bool injective;
  bool free;          /* pieces take all combinations of their values */
  bool covers, exact; /* the bindings cover their extents, no more */
} map_facts;

/* May the domain be empty because of a variable of which no piece is in a
 * binding?  (A binding with a piece of it covers no more values than it
 * has; see sum_covers().) */
static bool may_be_empty(const imap *m, const imap_piece *piece, int n) {
  for (uint32_t v = 0; v < m->nvar; v++) {
    int i = 0;
    if (m->var[v].extent ||
        (m->var[v].size && ir_at(m->p, m->var[v].size)->lo >= 1))
      continue;
    while (i < n && piece[i].var != v) i++;
    if (i == n) return true;
  }
  return false;
}

/* Most variables are one piece, whole: checks the others. */
static void classify_vars(const imap *m, const imap_piece *piece, int n,
                          map_facts *v) {
  uint8_t whole[IMAP_VARS] = {0}, others[IMAP_VARS] = {0};
  for (int i = 0; i < n; i++) {
    bool all = piece[i].d == 1 && piece[i].top;
    whole[piece[i].var] += all;
    others[piece[i].var] += !all;
  }
  for (uint32_t i = 0; i < m->nvar && v->apart; i++)
    if (whole[i] != 1 || others[i])
      v->apart = classify_var(m, piece, n, i, &v->injective, &v->free);
}

static map_facts classify_map(const imap *m, const imap_piece *piece, int n,
                              const int64_t *offset, const ir_expr *extent) {
  map_facts v = {true, true, true, true, true};
  classify_vars(m, piece, n, &v);
  for (uint32_t o = 0, at = 0; v.apart && o < m->nout; o++) {
    uint32_t k = 0;
    while (at + k < (uint32_t)n && piece[at + k].out == o) k++;
    sum s = classify_sum(piece + at, k, offset[o]);
    const imap_piece *last = k ? &piece[at + k - 1] : NULL;
    v.injective = v.injective && s.injective && last_is_separate(last, k, &s);
    v.covers =
        v.covers && sum_covers(m, piece + at, k, &s, extent[o], &v.exact);
    at += k;
  }
  v.covers = v.covers && !may_be_empty(m, piece, n);
  return v;
}

/* ---- solving one binding after the other -------------------------------- */

/* Do the pieces solved so far determine variable v? */
static bool var_is_determined(const imap *m, const imap_piece *piece, int n,
                              const bool *fresh, uint32_t v) {
  int64_t from = 1, extent = m->var[v].extent;
  if (extent == 1) return true;
  for (;;) {
    int i = 0;
    while (i < n && !(fresh[i] && piece[i].var == v && piece[i].d == from)) i++;
    if (i == n) return false;
    if (piece[i].top) return true;
    from *= piece[i].ext;
  }
}

/* Does the binding whose pieces are p[0 .. n-1] determine those of unsolved
 * variables uniquely? */
static bool binding_determines(const imap_piece *p, uint32_t n,
                               const bool *known, imap_piece *open) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!known[p[i].var]) open[k++] = p[i];
  sum s = classify_sum(open, k, 0);
  return s.injective && last_is_separate(k ? &open[k - 1] : NULL, k, &s);
}

/* The pieces of binding `out`, starting at *at. */
static uint32_t pieces_of(const imap_piece *piece, int n, uint32_t out,
                          uint32_t *at) {
  uint32_t k = 0;
  while (*at < (uint32_t)n && piece[*at].out < out) ++*at;
  while (*at + k < (uint32_t)n && piece[*at + k].out == out) k++;
  return k;
}

bool imap_determines(const imap *m, const imap_piece *piece, int n, bool *fresh,
                     uint32_t *order, uint32_t *norder) {
  bool known[IMAP_VARS] = {false}, again = true;
  imap_piece *open = arena_array(m->scratch, imap_piece, IMAP_PIECES);
  bool *done = arena_zalloc(m->scratch, m->nout * sizeof *done);
  uint32_t left = 0;
  *norder = 0;
  for (int i = 0; i < n; i++) fresh[i] = false;
  for (uint32_t v = 0; v < m->nvar; v++)
    left += !(known[v] = var_is_determined(m, piece, n, fresh, v));
  while (left && again) {
    again = false;
    for (uint32_t o = 0, at = 0; left && o < m->nout; o++) {
      uint32_t k = pieces_of(piece, n, o, &at);
      if (done[o] || !binding_determines(piece + at, k, known, open)) continue;
      for (uint32_t i = at; i < at + k; i++) fresh[i] = !known[piece[i].var];
      again = done[o] = true;
      order[(*norder)++] = o;
      for (uint32_t v = 0; v < m->nvar; v++)
        if (!known[v] && var_is_determined(m, piece, n, fresh, v)) {
          known[v] = true;
          left--;
        }
    }
  }
  return !left;
}

arith_map_kind imap_decide(const imap *m, const ir_expr *extent) {
  imap_piece *piece = arena_array(m->scratch, imap_piece, IMAP_PIECES);
  int64_t *offset = arena_array(m->scratch, int64_t, m->nout);
  int n = imap_pieces(m, piece, offset);
  if (n < 0) return ARITH_MAP_NONE;
  map_facts v = classify_map(m, piece, n, offset, extent);
  bool onto = v.covers && v.free && !m->restricted && m->npred == 0;
  if (v.apart && v.injective)
    return onto && v.exact ? ARITH_MAP_BIJECTIVE : ARITH_MAP_INJECTIVE;
  if (v.apart && onto) return ARITH_MAP_SURJECTIVE;
  bool *fresh = arena_array(m->scratch, bool, IMAP_PIECES);
  uint32_t *order = arena_array(m->scratch, uint32_t, m->nout), norder;
  return imap_determines(m, piece, n, fresh, order, &norder)
             ? ARITH_MAP_INJECTIVE
             : ARITH_MAP_NONE;
}
