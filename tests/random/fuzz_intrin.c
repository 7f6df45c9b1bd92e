/* SPDX-License-Identifier: Apache-2.0
 * The random tester: tensor intrinsics.  Programs of every third case know
 * some, for tiles of drawn sizes; their implementations run the loops in
 * another order, the last one as vectors, or backwards. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "random/fuzz.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 3, KINDS = FUZZ_INTRINS };

typedef enum what { COPY, COPY_2D, FILL, ADD, SUM, PRODUCT, STEP } what;

/* Loops of the tile and parameters: by which loops each is indexed, one a
 * bit; the last parameter is written. */
static const struct kind {
  const char *name;
  uint32_t nloops, nparams;
  const char *iters; /* Spatial, Reduce or Opaque */
  uint8_t at[MOST];
  const char *value; /* in Lua */
} kinds[KINDS] = {
    [COPY] = {"copy", 1, 2, "S", {1, 1}, "P0(i)"},
    [COPY_2D] = {"copy_2d", 2, 2, "SS", {3, 3}, "P0(i, j)"},
    [FILL] = {"fill", 1, 1, "S", {1}, "zero"},
    [ADD] = {"add", 1, 3, "S", {1, 1, 1}, "P0(i) + P1(i)"},
    [SUM] = {"sum", 2, 2, "SR", {3, 1}, "P1(i) + P0(i, j)"},
    [PRODUCT] =
        {"product", 3, 3, "SSR", {5, 6, 3}, "P2(i, j) + P0(i, k) * P1(j, k)"},
    [STEP] = {"step", 1, 3, "O", {1, 1, 1}, "P0(i) + P1(i)"}};

bool fuzz_has_intrins(const fuzz *f) { return f->number % 3 == 0; }

/* bool has no sums. */
static bool is_there(const fuzz_tile *x, uint32_t k) {
  return x->t.code != TESS_DTYPE_BOOL || k < ADD;
}

/* ---- what a block may be ------------------------------------------------ */

bool fuzz_may_be_intrin(const ir_program *p, ir_stmt block) {
  ir_stmt st = ir_is_block(p, block) ? ir_st(p, block)->body : 0;
  if (!st || ir_st(p, st)->kind != IR_STORE) return false;
  ir_op op = (ir_op)ir_at(p, ir_st(p, st)->value)->op;
  return op == IR_LOAD || op == IR_INT || op == IR_REAL || op == IR_ADD;
}

static bool is_ordered(const ir_program *p, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  return it.n && p->iter.v[it.at + it.n - 1].kind == IR_OPAQUE;
}

/* The one that may be what the block does; KINDS: none. */
static uint32_t guess(const ir_program *p, ir_stmt block, rng *r) {
  if (!block || !fuzz_may_be_intrin(p, block)) return KINDS;
  const ir_node v = *ir_at(p, ir_st(p, ir_st(p, block)->body)->value);
  if (v.op == IR_LOAD) return rng_below(r, 3) ? COPY_2D : COPY;
  if (v.op == IR_INT || v.op == IR_REAL) return FILL;
  if (ir_at(p, v.a)->op == IR_MUL || ir_at(p, v.b)->op == IR_MUL)
    return PRODUCT;
  if (is_ordered(p, block)) return STEP;
  return rng_below(r, 3) ? SUM : ADD;
}

/* A tile that divides the last n loops around the block, of what it
 * writes. */
static void intrin_fit(fuzz_tile *x, const ir_program *p, ir_stmt block,
                       uint32_t n, rng *r) {
  ir_stmt l = ir_st(p, block)->parent;
  x->t = p->buf.v[ir_st(p, ir_st(p, block)->body)->buf].dtype;
  for (uint32_t i = n; i-- > 0 && l && ir_is_loop(p, l);
       l = ir_st(p, l)->parent) {
    int64_t extent = 1, found = 0;
    ir_const_int(p, ir_st(p, l)->extent, &extent);
    x->size[i] = 1;
    for (int64_t d = 2; d <= 16 && d <= extent; d++)
      if (extent % d == 0 && rng_below(r, (uint64_t)++found) == 0)
        x->size[i] = d;
  }
}

/* Tiles for blocks of the program, if there are such, else any. */
static void choose_tiles(fuzz *f, const ir_program *p) {
  rng r;
  ir_stmt root = ir_entry(p)->root;
  uint32_t found[KINDS] = {0};
  rng_init(&r, ~f->seed, f->number);
  for (uint32_t k = 0; k < KINDS; k++)
    f->tile[k] = (fuzz_tile){{TESS_DTYPE_FLOAT, 32, 1}, {2, 2, 2}};
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    bool stores = ir_is_block(p, s) && ir_st(p, s)->body &&
                  ir_st(p, ir_st(p, s)->body)->kind == IR_STORE;
    uint32_t k = stores ? guess(p, s, &r) : KINDS;
    uint32_t copy = (uint32_t)rng_below(&r, ADD);
    if (k < KINDS && rng_below(&r, ++found[k]) == 0)
      intrin_fit(&f->tile[k], p, s, kinds[k].nloops, &r);
    if (stores && rng_below(&r, ++found[copy]) == 0)
      intrin_fit(&f->tile[copy], p, s, kinds[copy].nloops, &r);
  }
}

/* ---- declaring ---------------------------------------------------------- */

typedef struct maker {
  fuzz *f;
  ir_program *p;
  const struct kind *k;
  fuzz_tile x;
  ir_buf param[MOST];
  ir_expr it[MOST];
} maker;

static ir_expr access(maker *m, uint32_t i, bool store, ir_expr value,
                      ir_stmt block) {
  ir_expr idx[MOST];
  uint32_t n = 0;
  for (uint32_t d = 0; d < m->k->nloops; d++)
    if (m->k->at[i] >> d & 1) idx[n++] = m->it[d];
  if (!store) return ir_load(m->p, m->param[i], n, idx);
  ir_append(m->p, block, ir_store_new(m->p, m->param[i], n, idx, value));
  return 0;
}

static ir_expr intrin_load(maker *m, uint32_t i) {
  return access(m, i, false, 0, 0);
}

static ir_expr value_of(maker *m) {
  ir_program *p = m->p;
  switch ((what)(m->k - kinds)) {
  case COPY:
  case COPY_2D: return intrin_load(m, 0);
  case FILL: return ir_zero(p, m->x.t);
  case ADD:
  case STEP: return ir_binary(p, IR_ADD, intrin_load(m, 0), intrin_load(m, 1));
  case SUM: return ir_binary(p, IR_ADD, intrin_load(m, 1), intrin_load(m, 0));
  case PRODUCT: break;
  }
  ir_expr old = intrin_load(m, 2), a = intrin_load(m, 0);
  return ir_binary(p, IR_ADD, old, ir_binary(p, IR_MUL, a, intrin_load(m, 1)));
}

static void make_params(maker *m) {
  ir_program *p = m->p;
  for (uint32_t i = 0; i < m->k->nparams; i++) {
    ir_expr shape[MOST];
    uint32_t n = 0;
    bool sums = strchr(m->k->iters, 'R'), last = i + 1 == m->k->nparams;
    char name[] = {'P', (char)('0' + i), '\0'};
    for (uint32_t d = 0; d < m->k->nloops; d++)
      if (m->k->at[i] >> d & 1) shape[n++] = ir_index(p, m->x.size[d]);
    m->param[i] =
        ir_buf_new(p, ir_name(p, name), m->x.t, n, shape, IR_SCOPE_GLOBAL,
                   last && !sums ? IR_ROLE_OUTPUT : IR_ROLE_INPUT);
  }
}

/* The loops: in order, or with those of the sum outside and the last as
 * vectors; what has an order runs the other way round. */
static ir_stmt make_nest(maker *m, ir_stmt root, bool impl, ir_iter *it) {
  ir_program *p = m->p;
  ir_stmt at = root;
  uint32_t n = m->k->nloops, sums = m->k->iters[n - 1] == 'R';
  for (uint32_t i = 0; i < n; i++) {
    uint32_t d = impl && sums ? (i + n - 1) % n : i;
    static const char *const names[] = {"i", "j", "k"};
    ir_expr extent = ir_index(p, m->x.size[d]), zero = ir_index(p, 0);
    bool ordered = m->k->iters[d] == 'O', vector = impl && i + 1 == n;
    ir_var l = ir_var_new(p, IR_VAR_LOOP, ir_name(p, names[d]), IR_INDEX, 0,
                          m->x.size[d] - 1);
    ir_var v =
        ir_var_new(p, IR_VAR_ITER, ir_name_cat(p, ir_name(p, "v"), names[d]),
                   IR_INDEX, 0, m->x.size[d] - 1);
    ir_stmt loop = ir_loop_new(p, l, zero, extent,
                               vector && !ordered ? IR_VECTORIZED : IR_SERIAL);
    ir_iter_kind kind = ordered                 ? IR_OPAQUE
                        : m->k->iters[d] == 'R' ? IR_REDUCE
                                                : IR_SPATIAL;
    ir_expr bind = ir_ref(p, l), last = ir_index(p, m->x.size[d] - 1);
    if (impl && ordered) bind = ir_sub(p, last, bind);
    it[d] = (ir_iter){v, kind, zero, extent, bind};
    m->it[d] = ir_ref(p, v);
    ir_append(p, at, loop);
    at = loop;
  }
  return at;
}

static void add_func(maker *m, bool impl) {
  ir_program *p = m->p;
  ir_iter it[MOST];
  char name[40];
  make_params(m);
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_stmt at = make_nest(m, root, impl, it);
  ir_stmt block = ir_block_new(p, ir_name(p, m->k->name));
  ir_append(p, at, block);
  ir_block_set_iters(p, block, m->k->nloops, it);
  (void)access(m, m->k->nparams - 1, true, value_of(m), block);
  ir_block_find_regions(p, &m->f->scratch, block);
  snprintf(name, sizeof name, "%s.%s", m->k->name, impl ? "impl" : "desc");
  (void)ir_func_new(p, ir_name(p, name), m->k->nparams, m->param, root);
}

void fuzz_add_intrins(fuzz *f, ir_program *p) {
  maker m = {.f = f, .p = p};
  if (!fuzz_has_intrins(f)) return;
  choose_tiles(f, p);
  for (uint32_t k = 0; k < KINDS; k++) {
    m.k = &kinds[k];
    m.x = f->tile[k];
    for (int impl = 0; is_there(&m.x, k) && impl < 2; impl++)
      add_func(&m, impl);
  }
  arena_reset(&f->scratch);
}

/* ---- the same in Lua ---------------------------------------------------- */

static void write_nest(const fuzz_tile *x, const struct kind *k,
                       const char *type, bool back, strbuf *to) {
  static const char vars[] = "ijk";
  for (uint32_t d = 0; d < k->nloops; d++)
    str_printf(to, "  b:loop(\"%c\", 0, %d, function(%c)\n", vars[d],
               (int)x->size[d], vars[d]);
  str_printf(to, "  b:block(\"%s\", {", k->name);
  for (uint32_t d = 0; d < k->nloops; d++)
    str_printf(to, "{\"v%c\", \"%s\", extent = %d, bind = %d %c %c}, ", vars[d],
               k->iters[d] == 'R'   ? "reduce"
               : k->iters[d] == 'O' ? "opaque"
                                    : "spatial",
               (int)x->size[d], back ? (int)x->size[d] - 1 : 0,
               back ? '-' : '+', vars[d]);
  str_printf(to, "}, function(%.*s",
             k->nloops > 2   ? 7
             : k->nloops > 1 ? 4
                             : 1,
             "i, j, k");
  str_printf(to, ")\n  local zero = ts.const(%s, \"%s\")\n  b:store(P%u, {",
             x->t.code == TESS_DTYPE_BOOL ? "false" : "0", type,
             (unsigned)k->nparams - 1);
  for (uint32_t d = 0, n = 0; d < k->nloops; d++)
    if (k->at[k->nparams - 1] >> d & 1)
      str_printf(to, "%s%c", n++ ? ", " : "", vars[d]);
  str_printf(to, "}, %s)\n  end)", k->value);
  for (uint32_t d = 0; d < k->nloops; d++) str_puts(to, " end)");
  str_puts(to, "\n");
}

/* A builder b with parameters and nest. */
static void write_builder(const fuzz_tile *x, const struct kind *k, bool back,
                          strbuf *to) {
  static const char *const codes[] = {[TESS_DTYPE_INT] = "int",
                                      [TESS_DTYPE_UINT] = "uint",
                                      [TESS_DTYPE_FLOAT] = "float",
                                      [TESS_DTYPE_BFLOAT] = "bfloat"};
  char type[16] = "bool";
  if (x->t.code != TESS_DTYPE_BOOL)
    snprintf(type, sizeof type, "%s%u", codes[x->t.code], x->t.bits);
  str_puts(to, "  local b = ts.builder(\"tile\")\n");
  for (uint32_t i = 0; i < k->nparams; i++) {
    bool last = i + 1 == k->nparams, sums = strchr(k->iters, 'R');
    str_printf(to, "  local P%u = b:%s(\"P%u\", {", (unsigned)i,
               !last  ? "input"
               : sums ? "inout"
                      : "output",
               (unsigned)i);
    for (uint32_t d = 0, n = 0; d < k->nloops; d++)
      if (k->at[i] >> d & 1)
        str_printf(to, "%s%d", n++ ? ", " : "", (int)x->size[d]);
    str_printf(to, "}, \"%s\")\n", type);
  }
  write_nest(x, k, type, back, to);
}

static void write_kind(const fuzz_tile *x, const struct kind *k, strbuf *to) {
  str_puts(to, "do\n");
  write_builder(x, k, false, to);
  str_puts(to, "  local desc = b:program()\n");
  if (k->iters[0] == 'O') {
    write_builder(x, k, true, to);
    str_puts(to, "  local impl = b:program()\n");
  } else {
    str_printf(to,
               "  local s = ts.schedule(desc)\n"
               "  local l = {s:get_loops(s:get_block(\"%s\"))}\n",
               k->name);
    if (strchr(k->iters, 'R'))
      str_puts(to, "  table.insert(l, 1, table.remove(l)) "
                   "s:reorder(table.unpack(l))\n");
    str_puts(to, "  s:vectorize(l[#l])\n  local impl = s:program()\n");
  }
  str_printf(to,
             "  ts.tensor_intrin{name = \"%s\", desc = desc, impl = impl}\n"
             "end\n",
             k->name);
}

void fuzz_write_intrins(const fuzz *f, strbuf *to) {
  for (uint32_t k = 0; fuzz_has_intrins(f) && k < KINDS; k++)
    if (is_there(&f->tile[k], k)) write_kind(&f->tile[k], &kinds[k], to);
}

/* ---- using them --------------------------------------------------------- */

/* Calls a primitive by two operands; the first output, 0: refused. */
static vm_rv intrin_call(fuzz *f, const char *prim, vm_value a, vm_value b,
                         uint32_t *n) {
  vm_value v[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  vm_rv at = f->s.trace.rv.n;
  v[0] = a, v[1] = b;
  *n = 0;
  if (fuzz_call(f, sch_find_prim(prim), v)) return 0;
  *n = f->s.trace.rv.n - at;
  return at;
}

/* Splits the last loops around the block in focus so that they make up a
 * tile, moves that inside, and has a reduction start outside of it; the
 * outermost loop of the tile, 0: not so. */
static vm_rv make_tile(fuzz *f, uint32_t kind) {
  const struct kind *k = &kinds[kind];
  fuzz_tile x = f->tile[kind];
  uint32_t n, first = f->nloops - k->nloops, outer = first;
  vm_value l[40] = {{.tag = VM_NIL}};
  vm_rv inner[MOST], starts = 0;
  if (f->nloops < k->nloops || f->nloops > 24) return 0;
  for (uint32_t i = 0; i < k->nloops && fuzz_below(f, 12); i++)
    if (fuzz_extent(f, f->loop[first + i]) % x.size[i]) return 0;
  for (uint32_t i = 0; i < first; i++) l[i] = vm_var(f->loop[i]);
  for (uint32_t i = 0; i < k->nloops; i++) {
    vm_value factor[2] = {vm_auto(), vm_int(x.size[i])};
    vm_rv two = intrin_call(f, "split", vm_var(f->loop[first + i]),
                            vm_list(&f->pool, 2, factor), &n);
    if (!two) return 0;
    l[outer++] = vm_var(two);
    inner[i] = two + 1;
    if (k->iters[i] == 'R') starts = two;
  }
  for (uint32_t i = 0; i < k->nloops; i++) l[outer + i] = vm_var(inner[i]);
  (void)intrin_call(f, "reorder", vm_list(&f->pool, outer + k->nloops, l),
                    vm_nil(), &n);
  if (starts)
    (void)intrin_call(f, "decompose_reduction", vm_var(f->block),
                      vm_var(starts), &n);
  return inner[0];
}

/* The tile divides the serial loops around the block, of that type. */
static bool divides(const ir_program *p, ir_stmt block, const fuzz_tile *x,
                    uint32_t n) {
  ir_stmt l = ir_st(p, block)->parent;
  ir_buf buf = ir_st(p, ir_st(p, block)->body)->buf;
  bool fits = ir_dtype_eq(p->buf.v[buf].dtype, x->t);
  for (uint32_t i = n; fits && i-- > 0; l = ir_st(p, l)->parent) {
    int64_t extent = 1;
    fits = l && ir_is_loop(p, l) && ir_st(p, l)->loop_kind == IR_SERIAL &&
           ir_const_int(p, ir_st(p, l)->extent, &extent) &&
           extent % x->size[i] == 0;
  }
  return fits;
}

/* Has some block that a tile fits in focus. */
static void look_for_tile(fuzz *f) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt root = ir_entry(p)->root, found = 0;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    uint32_t k = ir_is_block(p, s) ? guess(p, s, &f->r) : KINDS;
    if (k < KINDS && divides(p, s, &f->tile[k], kinds[k].nloops) &&
        fuzz_below(f, ++n) == 0) {
      found = s;
      f->intrin = k;
    }
  }
  if (found) fuzz_focus_on(f, found);
}

/* The operands are drawn in order: the loop, then what it is to be. */
vm_value fuzz_tile_loop(fuzz *f, const vm_value *v) {
  (void)v;
  f->intrin = guess(&f->s.m.prog, fuzz_stmt(f, f->block), &f->r);
  if (f->intrin == KINDS) f->intrin = fuzz_below(f, KINDS);
  if (fuzz_below(f, 6)) look_for_tile(f);
  vm_rv loop = fuzz_below(f, 6) ? make_tile(f, f->intrin) : 0;
  if (loop) return vm_var(loop);
  return vm_var(fuzz_below(f, 3) ? fuzz_any_loop(f) : f->block);
}

vm_value fuzz_intrin(fuzz *f, const vm_value *v) {
  (void)v;
  const char *name = kinds[f->intrin].name;
  return vm_str(&f->pool, name, strlen(name));
}
