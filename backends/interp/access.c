/* SPDX-License-Identifier: Apache-2.0
 * Compiles buffer accesses: resolution through match buffers, bounds checks,
 * and checks against the read and write regions that blocks declare. */
#include "backends/interp/comp.h"
#include "ir/query.h"

/* ---- buffers ------------------------------------------------------------ */

/* The racing level at which the buffer is allocated. */
static uint16_t level_of_life(const comp *c, ir_buf b) {
  const plan_buf *x = &c->plan.buf[b];
  if (!x->lifetime) return 0;
  uint16_t level = c->plan.stmt[x->lifetime].level;
  if (x->kernel && ir_scope_is_shared(c->p->buf.v[b].scope)) {
    ir_stmt outside = ir_st(c->p, x->kernel)->parent;
    return outside ? (uint16_t)(c->plan.stmt[outside].level + 1) : 1;
  }
  if (x->kernel && plan_is_of_warp((ir_scope)c->p->buf.v[b].scope))
    return (uint16_t)(c->plan.stmt[x->kernel].level - 1);
  return level;
}

static bool is_input(const comp *c, ir_buf b) {
  ir_role role = (ir_role)c->p->buf.v[b].role;
  return role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT;
}

static code_guard guard_of(const comp *c, ir_buf b) {
  const plan_buf *x = &c->plan.buf[b];
  if (!x->stored && is_input(c, b)) return CODE_INPUT;
  return x->stored && x->level > level_of_life(c, b) ? CODE_RACING : CODE_PLAIN;
}

/* Buffers private to a thread or block of a kernel must have extents that are
 * known outside of it. */
static void check_constant_shape(comp *c, ir_buf b) {
  int64_t v;
  for (uint32_t i = 0; i < ir_ndim(c->p, b); i++)
    if (!ir_const_int(c->p, ir_dim(c->p, b, i), &v))
      plan_fail(c->e, TESS_UNSUPPORTED, c->plan.buf[b].decl, b,
                "a buffer of a kernel whose extents are not constant");
}

uint32_t comp_buf(comp *c, ir_buf b) {
  if (c->buf_index[b]) return c->buf_index[b];
  const plan_buf *x = &c->plan.buf[b];
  const ir_buf_rec *r = &c->p->buf.v[b];
  uint32_t n = ir_ndim(c->p, b);
  bool shared = ir_scope_is_shared(r->scope);
  code_buf k = {.buf = b,
                .guard = (uint8_t)guard_of(c, b),
                .ndim = n,
                .is_input = is_input(c, b)};
  if (r->dtype.lanes != 1)
    plan_fail(c->e, TESS_UNSUPPORTED, x->decl, b, "a buffer of vectors");
  if (x->kernel) {
    k.kernel = c->kernel;
    k.is_shared = shared;
    k.is_warp = plan_is_of_warp((ir_scope)r->scope);
    k.is_private = !shared && !k.is_warp;
    check_constant_shape(c, b);
  }
  uint32_t at = vec_extend(c->k->heap, &c->k->regs, n);
  k.extent = at;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t e = comp_index(c, ir_dim(c->p, b, i));
    c->k->regs.v[at + i] = e;
  }
  c->buf_index[b] = c->k->bufs.n;
  vec_push(c->k->heap, &c->k->bufs, k);
  return c->buf_index[b];
}

/* ---- regions ------------------------------------------------------------ */

static void add_region(comp *c, ir_region r, ir_stmt block) {
  uint32_t n = ir_ndim(c->p, r.buf);
  uint32_t at = vec_extend(c->k->heap, &c->k->regs, 2 * n);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t min = comp_index(c, ir_region_min(c->p, r, i));
    uint32_t extent = comp_index(c, ir_region_extent(c->p, r, i));
    c->k->regs.v[at + i] = min;
    c->k->regs.v[at + n + i] = extent;
  }
  code_region x = {.at = at, .block = block};
  vec_push(c->k->heap, &c->k->regions, x);
}

static void add_regions(comp *c, ir_span span, ir_buf b, ir_stmt block) {
  for (uint32_t i = 0; i < span.n; i++) {
    ir_region r = c->p->region.v[span.at + i];
    if (r.buf == b) add_region(c, r, block);
  }
}

/* The regions of one enclosing block.  A reduction reads what it writes without
 * declaring that read. */
static void add_block(comp *c, ir_buf b, ir_stmt block, bool store,
                      bool reduces) {
  uint32_t before = c->k->regions.n;
  const ir_block_rec r = *ir_blk(c->p, block);
  if (!store) add_regions(c, r.reads, b, block);
  if (store || reduces) add_regions(c, r.writes, b, block);
  if (c->k->regions.n == before) {
    code_region none = {.block = block, .none = true};
    vec_push(c->k->heap, &c->k->regions, none);
  }
  c->k->regions.v[c->k->regions.n - 1].last = true;
}

/* Is some block around the access annotated as not declaring it? */
static bool is_hidden(const comp *c, ir_buf b, bool store) {
  for (uint32_t i = 0; i < c->k->blocks.n; i++)
    if (ir_anno_lists_buffer(c->p, c->k->blocks.v[i],
                             store ? IR_HIDDEN_WRITES : IR_HIDDEN_READS, b))
      return true;
  return false;
}

/* Every block around the access that does not declare the buffer itself must
 * have it in its regions; blocks nested in `match` (0: none), which matched a
 * part of it, declare that part. */
static void add_all_regions(comp *c, ir_buf b, ir_stmt match, bool store,
                            code_access *a) {
  ir_stmt decl = c->plan.buf[b].decl;
  uint32_t depth = decl ? c->plan.stmt[decl].depth : 0;
  bool reduces = false;
  a->region = c->k->regions.n;
  for (uint32_t i = c->k->blocks.n; i-- > 0;) {
    ir_stmt block = c->k->blocks.v[i];
    if (c->plan.stmt[block].depth <= depth) break;
    reduces |= ir_st(c->p, block)->alt != 0;
    if (match && c->plan.stmt[block].depth > c->plan.stmt[match].depth)
      continue;
    add_block(c, b, block, store, reduces);
  }
  a->nregion = c->k->regions.n - a->region;
}

/* ---- accesses ----------------------------------------------------------- */

static uint32_t add_access(comp *c, uint32_t buf, ir_buf b, ir_stmt match,
                           uint32_t n, const uint32_t *idx,
                           const uint32_t *extent, bool store) {
  code_access a = {.buf = buf, .id = b, .n = n, .stmt = c->stmt};
  if (c->checks && !is_hidden(c, b, store))
    add_all_regions(c, b, match, store, &a);
  a.at = vec_extend(c->k->heap, &c->k->regs, 2 * n);
  for (uint32_t i = 0; i < n; i++) {
    c->k->regs.v[a.at + i] = idx[i];
    c->k->regs.v[a.at + n + i] = extent[i];
  }
  vec_push(c->k->heap, &c->k->accesses, a);
  return c->k->accesses.n - 1;
}

/* Flattens an index of a multi-dimensional buffer, as lowered programs have
 * them: the extent is the product of all. */
static uint32_t flat_extent(comp *c, ir_buf b) {
  uint32_t r = comp_const(c, 1);
  for (uint32_t i = 0; i < ir_ndim(c->p, b); i++) {
    uint32_t e = comp_index(c, ir_dim(c->p, b, i)), next = comp_regs(c, 1);
    comp_op(c, OP_MUL, next, r, e);
    r = next;
  }
  return r;
}

static void extents_of(comp *c, ir_buf b, uint32_t n, uint32_t *out) {
  if (n == ir_ndim(c->p, b))
    for (uint32_t i = 0; i < n; i++) out[i] = comp_index(c, ir_dim(c->p, b, i));
  else if (n == 1)
    out[0] = flat_extent(c, b);
  else
    plan_fail(c->e, TESS_INVALID, c->stmt, b,
              "%u indices into a buffer of %u dimensions", (unsigned)n,
              (unsigned)ir_ndim(c->p, b));
}

/* Bounds-checks an access to a match buffer and rewrites idx into an access to
 * its source, which may have further leading dimensions. */
static const uint32_t *through_match(comp *c, ir_buf b, ir_stmt match,
                                     uint32_t n, const uint32_t *idx,
                                     bool store) {
  ir_region r = c->p->match.v[c->plan.buf[b].match].source;
  uint32_t m = ir_ndim(c->p, r.buf);
  uint32_t *out = arena_array(c->memory, uint32_t, m + n + 1);
  if (n > m || n != ir_ndim(c->p, b)) {
    plan_fail(c->e, TESS_INVALID, c->stmt, b, "indices of a match buffer");
    return out;
  }
  uint32_t *extent = out + m;
  for (uint32_t i = 0; i < n; i++)
    extent[i] = comp_index(c, ir_region_extent(c->p, r, m - n + i));
  comp_op(c, OP_CHECK, 0, add_access(c, 0, b, match, n, idx, extent, store), 0);
  for (uint32_t i = 0; i < m; i++) {
    uint32_t min = comp_index(c, ir_region_min(c->p, r, i));
    out[i] = min;
    if (i + n >= m) {
      out[i] = comp_regs(c, 1);
      comp_op(c, OP_ADD, out[i], min, idx[i + n - m]);
    }
  }
  return out;
}

/* The storage scope (of a thread, a warp, a block) decides which threads may
 * access the buffer. */
static void check_owner(comp *c, ir_buf b) {
  const plan_buf *x = &c->plan.buf[b];
  ir_scope scope = (ir_scope)c->p->buf.v[b].scope;
  if (c->kernel && !x->kernel && ir_scope_is_fragment(scope))
    plan_fail(c->e, TESS_INVALID, c->stmt, b,
              "a fragment is allocated outside of the kernel");
  if (!x->kernel) return;
  if (!c->warp && ir_scope_is_fragment(scope))
    plan_fail(c->e, TESS_INVALID, c->stmt, b,
              "a fragment is accessed by a single lane");
  if (c->warp && !ir_scope_is_shared(scope) && !plan_is_of_warp(scope) &&
      !ir_is_ancestor(c->p, c->warp, x->lifetime))
    plan_fail(c->e, TESS_INVALID, c->stmt, b,
              "memory private to each lane is accessed by all together");
}

/* A buffer is live inside of its lifetime scope; parameters and constants are
 * numbered before any access. */
uint32_t comp_access(comp *c, ir_buf buf, uint32_t n, const uint32_t *idx,
                     bool store) {
  ir_stmt match = 0;
  while (c->plan.buf[buf].is_match && !c->e->code) {
    idx = through_match(c, buf, match, n, idx, store);
    match = c->plan.buf[buf].decl;
    buf = c->p->match.v[c->plan.buf[buf].match].source.buf;
    n = ir_ndim(c->p, buf);
  }
  ir_stmt lifetime = c->plan.buf[buf].lifetime;
  if (lifetime ? lifetime == c->stmt || !ir_is_ancestor(c->p, lifetime, c->stmt)
               : !c->buf_index[buf])
    plan_fail(c->e, TESS_INVALID, c->stmt, buf,
              "it is accessed outside of its lifetime scope");
  check_owner(c, buf);
  uint32_t *extent = arena_array(c->memory, uint32_t, n + 1);
  memset(extent, 0, (n + 1) * sizeof *extent);
  extents_of(c, buf, n, extent);
  return add_access(c, comp_buf(c, buf), buf, match, n, idx, extent, store);
}
