/* SPDX-License-Identifier: Apache-2.0
 * The random tester: index maps, and what is given with them.  Most are such
 * as fit; some cannot be solved, are not seen to be one-to-one, or have
 * holes. */
#include "ir/query.h"
#include "schedule/sch.h"
#include "random/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8, MANY_PLACES = 1 << 20 };

/* The text of a map as it is written. */
typedef struct writer {
  char text[512];
  size_t n;
  bool first; /* nothing stands behind the last bracket */
  uint32_t ngiven;
  vm_value given[MOST]; /* $1, $2, .. */
} writer;

static void maps_put(writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void maps_put(writer *w, const char *fmt, ...) {
  va_list ap;
  size_t left = sizeof w->text - w->n;
  va_start(ap, fmt);
  int n = vsnprintf(w->text + w->n, left, fmt, ap);
  va_end(ap);
  w->n += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

/* Begins the next of a list. */
static void next(writer *w) {
  if (!w->first) maps_put(w, ", ");
  w->first = false;
}

/* n parameters, of which each is a letter; and the bracket of the results. */
static void maps_begin(writer *w, uint32_t n) {
  *w = (writer){.first = true};
  maps_put(w, "(");
  for (uint32_t k = 0; k < n; k++) {
    next(w);
    maps_put(w, "%c", 'i' + (int)k);
  }
  maps_put(w, ") -> (");
  w->first = true;
}

static vm_value maps_end(fuzz *f, writer *w) {
  vm_value v[MOST + 1];
  maps_put(w, ")");
  v[0] = vm_str(&f->pool, w->text, w->n);
  memcpy(v + 1, w->given, w->ngiven * sizeof *v);
  return w->ngiven ? vm_list(&f->pool, w->ngiven + 1, v) : v[0];
}

/* A small number, or one that a sampled integer gives, perhaps by arithmetic:
 * its place in the text. */
typedef struct amount {
  char text[16];
} amount;

static amount draw_amount(fuzz *f, writer *w) {
  static const ir_op ops[] = {IR_ADD, IR_SUB, IR_MUL, IR_DIV,
                              IR_MOD, IR_MIN, IR_MAX};
  amount a;
  vm_rv rv = fuzz_below(f, 3) ? 0 : fuzz_any_int(f);
  vm_value v = vm_var(rv);
  snprintf(a.text, sizeof a.text, "%u", 1 + fuzz_below(f, 5));
  if (!rv || w->ngiven == MOST) return a;
  for (uint32_t n = fuzz_below(f, 3); n; n--) {
    vm_rv by = fuzz_any_int(f);
    vm_value with = by ? vm_var(by) : vm_int((int64_t)fuzz_below(f, 5) - 1);
    v = vm_op(&f->pool, ops[fuzz_below(f, 7)], v, with);
  }
  w->given[w->ngiven++] = v;
  snprintf(a.text, sizeof a.text, "$%u", w->ngiven);
  return a;
}

/* ---- what is mapped ----------------------------------------------------- */

/* The number of values of each index; 0: not known. */
typedef struct domain {
  uint32_t n;
  int64_t size[MOST];
} domain;

static const ir_block_rec *block_of(const fuzz *f) {
  ir_stmt b = fuzz_stmt(f, f->block);
  return b && ir_is_block(&f->s.m.prog, b) ? ir_blk(&f->s.m.prog, b) : NULL;
}

static void of_iters(const fuzz *f, domain *d) {
  const ir_program *p = &f->s.m.prog;
  const ir_block_rec *b = block_of(f);
  d->n = b ? b->iters.n < MOST ? b->iters.n : MOST : 1;
  for (uint32_t i = 0; b && i < d->n; i++)
    if (!ir_const_int(p, p->iter.v[b->iters.at + i].extent, &d->size[i]))
      d->size[i] = 0;
}

/* The buffer that an operand means; 0: none. */
static ir_buf buffer_of(const fuzz *f, vm_value v) {
  const ir_program *p = &f->s.m.prog;
  const ir_block_rec *b = block_of(f);
  vm_value side = v.tag == VM_LIST && v.n ? f->pool.val.v[v.at] : vm_nil();
  vm_value at = v.tag == VM_LIST && v.n > 1 ? f->pool.val.v[v.at + 1] : v;
  if (!b || at.tag != VM_INT || at.i < 0) return 0;
  ir_span r = side.tag == VM_STR && f->pool.text.v[side.str] == 'w' ? b->writes
                                                                    : b->reads;
  return at.i < r.n ? p->region.v[r.at + (uint32_t)at.i].buf : 0;
}

static void of_buffer(const fuzz *f, ir_buf buf, domain *d) {
  const ir_program *p = &f->s.m.prog;
  d->n = buf ? ir_ndim(p, buf) < MOST ? ir_ndim(p, buf) : MOST : 1;
  for (uint32_t i = 0; buf && i < d->n; i++)
    if (!ir_const_int(p, ir_dim(p, buf, i), &d->size[i])) d->size[i] = 0;
}

/* ---- layouts ------------------------------------------------------------ */

/* A prime that does not divide n: its multiples reach all remainders. */
static int64_t coprime(int64_t n) {
  static const int8_t prime[] = {3, 5, 7, 11, 13, 17, 19, 23};
  uint32_t i = 0;
  while (i < sizeof prime - 1 && n % prime[i] == 0) i++;
  return prime[i];
}

/* One to one, but not as a sum of digits: turned round, in another order, with
 * holes that grow, or so wide that nobody tries all points. */
static void put_odd(fuzz *f, writer *w, char c, int64_t n) {
  int64_t far = n > 1 ? MANY_PLACES / ((n - 1) * (n - 1)) + 1 : 1;
  uint32_t way = fuzz_below(f, 5);
  next(w);
  if (n < 1 || way == 0)
    maps_put(w, "%c * %c", c, c);
  else if (way == 1)
    maps_put(w, "%lld - %c", (long long)(n - 1), c);
  else if (way == 2)
    maps_put(w, "(%c + %u) %% %lld", c, fuzz_below(f, 4), (long long)n);
  else if (way == 3)
    maps_put(w, "(%c * %lld + 1) %% %lld", c, (long long)coprime(n),
             (long long)n);
  else
    maps_put(w, "%c * %c * %lld", c, c, (long long)far);
}

/* Indices in another order, some cut in two, some joined with the next. */
static vm_value draw_map(fuzz *f, const domain *dom) {
  uint32_t n = dom->n, order[MOST];
  uint32_t odd = n && fuzz_below(f, 6) == 0 ? fuzz_below(f, n) : MOST;
  writer w;
  maps_begin(&w, n);
  for (uint32_t k = 0; k < n; k++) order[k] = k;
  for (uint32_t k = n; fuzz_below(f, 2) && k > 1; k--) {
    uint32_t with = fuzz_below(f, k), was = order[k - 1];
    order[k - 1] = order[with], order[with] = was;
  }
  for (uint32_t k = 0; k < n; k++) {
    char c = (char)('i' + order[k]);
    char d = k + 1 < n ? (char)('i' + order[k + 1]) : c;
    uint32_t way = fuzz_below(f, 5);
    if (k == odd) {
      put_odd(f, &w, c, dom->size[order[k]]);
      continue;
    }
    next(&w);
    amount by = draw_amount(f, &w);
    if (way == 0)
      maps_put(&w, "%c // %s, %c %% %s", c, by.text, c, by.text);
    else if (way == 1 && d != c)
      maps_put(&w, "%c * %s + %c", c, by.text, d), k++;
    else if (way == 2)
      maps_put(&w, "%c + %s", c, by.text);
    else
      maps_put(&w, "%c", c);
  }
  return maps_end(f, &w);
}

vm_value fuzz_layout(fuzz *f, const vm_value *v) {
  domain d = {.n = 0};
  of_buffer(f, buffer_of(f, v[1]), &d);
  return draw_map(f, &d);
}

vm_value fuzz_iter_layout(fuzz *f, const vm_value *v) {
  domain d = {.n = 0};
  (void)v;
  of_iters(f, &d);
  return draw_map(f, &d);
}

/* How many results a map has, as its text tells. */
static uint32_t count_results(const char *text) {
  const char *s = strstr(text, "-> (");
  uint32_t n = 1, depth = 0;
  if (!s || s[4] == ')') return 0;
  for (s += 4; *s; s++) {
    depth += *s == '(';
    depth -= *s == ')' && depth;
    n += *s == ',' && !depth;
  }
  return n;
}

/* What stands at new places: nothing, a number, or a map of their indices,
 * which may have one too many. */
vm_value fuzz_pad_value(fuzz *f, const vm_value *v) {
  vm_value to = v[2].tag == VM_LIST ? f->pool.val.v[v[2].at] : v[2];
  const char *map = to.tag == VM_STR ? f->pool.text.v + to.str : "";
  uint32_t n = count_results(map), way = fuzz_below(f, 6);
  writer w;
  if (way < 2) return vm_nil();
  if (way < 5 || n < 1 || n > MOST) return vm_int((int64_t)way - 3);
  maps_begin(&w, n + (fuzz_below(f, 8) == 0));
  maps_put(&w, "i %% 3");
  return maps_end(f, &w);
}

/* ---- maps of iters ------------------------------------------------------ */

/* The iters that tell where the block in focus accesses a buffer, in some
 * order, one of them perhaps in two parts, or in one from which it cannot be
 * told. */
static vm_value iter_map(fuzz *f, bool write, vm_value index) {
  const ir_program *p = &f->s.m.prog;
  const ir_block_rec *b = block_of(f);
  ir_span none = {0, 0}, it = b ? b->iters : none;
  ir_span r = !b ? none : write ? b->writes : b->reads;
  uint32_t at = index.tag == VM_INT && index.i > 0 ? (uint32_t)index.i : 0;
  uint32_t used[MOST], n = 0, cut = fuzz_below(f, 6);
  bool whole = fuzz_below(f, 5) != 0;
  writer w;
  for (uint32_t k = 0; k < it.n && n < MOST; k++)
    for (uint32_t d = 0; at < r.n; d++) {
      if (d == ir_ndim(p, p->region.v[r.at + at].buf)) break;
      if (!ir_uses_var(p, ir_region_min(p, p->region.v[r.at + at], d),
                       p->iter.v[it.at + k].var))
        continue;
      uint32_t i = fuzz_below(f, n + 1);
      used[n++] = used[i];
      used[i] = k;
      break;
    }
  maps_begin(&w, it.n < 12 ? it.n : 12);
  for (uint32_t k = 0; k < n; k++) {
    char c = (char)('i' + used[k]);
    next(&w);
    if (k != cut)
      maps_put(&w, "%c", c);
    else if (whole)
      maps_put(&w, "%c // 3, %c %% 3", c, c);
    else
      maps_put(&w, "%c // 2", c);
  }
  if (!n) maps_put(&w, "0");
  return maps_end(f, &w);
}

vm_value fuzz_read_map(fuzz *f, const vm_value *v) {
  return iter_map(f, false, v[1]);
}

vm_value fuzz_write_map(fuzz *f, const vm_value *v) {
  return iter_map(f, true, v[1]);
}

/* ---- points of a loop --------------------------------------------------- */

/* Where the loop v[0] is cut, by the loops v[3] around it; nothing where
 * factors were given.  Some of the parts may be empty, or must be. */
vm_value fuzz_points(fuzz *f, const vm_value *v) {
  uint32_t n = v[3].tag == VM_LIST ? v[3].n : 0, parts = 1 + fuzz_below(f, 2);
  uint32_t extent = (uint32_t)fuzz_extent(f, v[0].rv);
  bool late = fuzz_below(f, 12) == 0;
  writer w;
  if (v[1].tag != VM_NIL) return vm_nil();
  maps_begin(&w, n < MOST ? n : MOST);
  for (uint32_t k = 0; k < parts; k++) {
    uint32_t at = fuzz_below(f, extent < 64 ? extent + 1 : 64);
    next(&w);
    if (late)
      maps_put(&w, "%u", extent + k);
    else if (n && fuzz_below(f, 2))
      maps_put(&w, "%c * %u + %u",
               'i' + (int)fuzz_below(f, n < MOST ? n : MOST),
               1 + fuzz_below(f, 2), at);
    else
      maps_put(&w, "%u", at);
  }
  return maps_end(f, &w);
}

/* ---- regions ------------------------------------------------------------ */

/* The block in focus reads it by indices that are seen to lie in it. */
static bool reads_inside(const fuzz *f, ir_buf buf, const domain *d) {
  const ir_program *p = &f->s.m.prog;
  const ir_block_rec *b = block_of(f);
  for (uint32_t i = b->reads.at; i < b->reads.at + b->reads.n; i++) {
    ir_region r = p->region.v[i];
    for (uint32_t k = 0; r.buf == buf && k < d->n; k++) {
      const ir_node *min = ir_at(p, ir_region_min(p, r, k));
      if (!ir_is_const(p, ir_region_extent(p, r, k), 1) || min->lo < 0 ||
          min->hi >= d->size[k])
        return false;
    }
  }
  return true;
}

static bool is_written(const fuzz *f, ir_buf buf) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s) && sch_writes_buf(p, s, buf)) return true;
  return p->buf.v[buf].role != IR_ROLE_INPUT;
}

/* All of an input, which is more than enough and nobody waits for; or nothing
 * of it, what is not even read, or bounds of too few dimensions. */
vm_value fuzz_ranges(fuzz *f, const vm_value *v) {
  enum { WHOLE = 3, NOTHING = 2, OUTSIDE = 1, FEW = 0 };
  domain iters = {.n = 0}, d = {.n = 0};
  ir_buf buf = buffer_of(f, v[1]);
  uint32_t way = fuzz_below(f, 12);
  writer w;
  of_iters(f, &iters);
  of_buffer(f, buf, &d);
  if (v[0].rv != f->block) way = FEW;
  if (buf && d.n && is_written(f, buf)) way = NOTHING;
  if (way == OUTSIDE && !(buf && d.n && reads_inside(f, buf, &d))) way = FEW;
  maps_begin(&w, iters.n);
  for (uint32_t k = 0; k < d.n; k++) {
    int64_t lo = way == OUTSIDE ? d.size[k] : way == NOTHING ? 1 : 0;
    next(&w);
    maps_put(&w, "%lld, %lld", (long long)lo,
             (long long)(way == NOTHING ? lo : lo + d.size[k]));
  }
  if (way == FEW) next(&w), maps_put(&w, "0");
  return maps_end(f, &w);
}
