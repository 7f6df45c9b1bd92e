/* SPDX-License-Identifier: Apache-2.0
 * Sentences for the interpreter's faults. */
#include "backends/interp/interp.h"
#include "ir/query.h"

/* "C[3, 0]"; the plain element where the shape is not constant. */
static void put_element(const ir_program *p, const interp_error *e,
                        strbuf *out) {
  uint32_t n = ir_ndim(p, e->buf);
  int64_t left = e->element, extent[16];
  str_puts(out, ir_text(p, p->buf.v[e->buf].name));
  if (e->element < 0) return;
  bool known = n && n <= 16;
  for (uint32_t i = 0; known && i < n; i++)
    known = ir_const_int(p, ir_dim(p, e->buf, i), &extent[i]) && extent[i] > 0;
  if (!known) {
    str_printf(out, " at element %lld", (long long)e->element);
    return;
  }
  int64_t idx[16];
  for (uint32_t i = n; i-- > 0; left /= extent[i])
    idx[i] = i ? left % extent[i] : left;
  for (uint32_t i = 0; i < n; i++)
    str_printf(out, "%s%lld", i ? ", " : "[", (long long)idx[i]);
  str_puts(out, "]");
}

static void put_block(const ir_program *p, ir_stmt s, strbuf *out) {
  while (s && !ir_is_block(p, s)) s = ir_st(p, s)->parent;
  if (s) str_printf(out, " (in block %s)", ir_text(p, ir_blk(p, s)->name));
}

static void put_loop(const ir_program *p, ir_stmt s, strbuf *out) {
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind != IR_LOOP)
    str_puts(out, "the lanes of one store");
  else if (r->loop_kind == IR_THREAD)
    str_printf(out, "the threads of %s", ir_thread_text((ir_thread)r->thread));
  else
    str_puts(out, "loop "), ir_var_name(p, r->var, out);
}

/* The extents of the kernel's axes; 0: no loop is bound to it, -1: it is known
 * only to a run. */
static void find_axes(const ir_program *p, ir_stmt kernel,
                      int64_t extent[IR_THREAD_COUNT]) {
  for (ir_stmt s = kernel; s; s = ir_next(p, s, kernel)) {
    const ir_stmt_rec *r = ir_st(p, s);
    int64_t n = -1;
    if (!ir_is_thread_loop(r)) continue;
    ir_const_int(p, r->extent, &n);
    if (n < 0 || (extent[r->thread] >= 0 && n > extent[r->thread]))
      extent[r->thread] = n;
  }
}

/* The places of thread or block number k in the axes of the kernel; of an axis
 * of open extent nothing is known where another one follows. */
static void put_place(const ir_program *p, const interp_error *e, int64_t k,
                      strbuf *out) {
  unsigned from = e->group == INTERP_BLOCKS ? IR_BLOCKIDX_X : IR_THREADIDX_X;
  unsigned last = from;
  if (e->group == INTERP_WARPS) {
    str_printf(out, "warp %lld", (long long)k);
    return;
  }
  int64_t extent[IR_THREAD_COUNT] = {0};
  find_axes(p, e->loop, extent);
  for (unsigned t = from; t <= from + 2; t++)
    if (extent[t]) last = t;
  for (unsigned t = from; t < last; t++)
    if (extent[t] < 0) {
      str_printf(out, "block %lld of threads", (long long)k);
      return;
    }
  const char *sep = "";
  for (unsigned t = from; t <= last; t++) {
    if (!extent[t]) continue;
    str_printf(out, "%s%s %lld", sep, ir_thread_text((ir_thread)t),
               (long long)(t == last ? k : k % extent[t]));
    if (t < last) k /= extent[t];
    sep = ", ";
  }
}

static void put_who(const ir_program *p, const interp_error *e, int i,
                    strbuf *out) {
  str_puts(out, e->write[i] ? "written" : "read");
  if (e->iter[i] < 0) {
    str_puts(out, e->group ? " by another thread" : " in an earlier iteration");
  } else if (e->group) {
    str_puts(out, " by ");
    put_place(p, e, e->iter[i], out);
  } else {
    str_printf(out, " in iteration %lld", (long long)e->iter[i]);
  }
}

static void put_stmt(const ir_program *p, ir_stmt s, strbuf *out) {
  str_puts(out, ", in `");
  ir_print_stmt_head(p, s, out);
  str_puts(out, "`");
}

static void put_race(const ir_program *p, const interp_error *e, strbuf *out) {
  str_puts(out, "race: ");
  put_element(p, e, out);
  str_puts(out, " is ");
  put_who(p, e, 0, out);
  str_puts(out, " and ");
  put_who(p, e, 1, out);
  if (!e->group) {
    str_puts(out, " of ");
    put_loop(p, e->loop, out);
    return;
  }
  if (e->group == INTERP_THREADS || e->group == INTERP_WARPS)
    str_puts(out, ", with no barrier between");
  put_stmt(p, e->stmt, out);
}

static void put_fault(const ir_program *p, const interp_error *e, strbuf *out) {
  long long at = e->at, lo = e->lo, extent = e->extent;
  switch (e->fault) {
  case INTERP_FINE: str_puts(out, "nothing went wrong"); return;
  case INTERP_RACE: put_race(p, e, out); return;
  case INTERP_DIVERGENCE:
    str_printf(out,
               "thread %lld does not reach what thread %lld waits at, "
               "or the other way round",
               (long long)e->iter[1], (long long)e->iter[0]);
    put_stmt(p, e->stmt, out);
    return;
  case INTERP_IN_FLIGHT:
    put_element(p, e, out);
    str_printf(out,
               " is %s while thread %lld copies %s and has not waited "
               "for that",
               e->write[1] ? "written" : "read", (long long)e->iter[0],
               e->write[0] ? "from it" : "it");
    put_stmt(p, e->stmt, out);
    return;
  case INTERP_LANES:
    str_printf(out, "thread %lld %s", (long long)e->iter[0], e->what);
    if (e->iter[1] != e->iter[0])
      str_printf(out, " (thread %lld)", (long long)e->iter[1]);
    put_stmt(p, e->stmt, out);
    return;
  case INTERP_OUTSIDE:
    str_puts(out, "out of bounds: index ");
    str_printf(out, "%u of ", (unsigned)e->dim);
    put_element(p, e, out);
    str_printf(out, " is %lld, its extent is %lld", at, extent);
    return;
  case INTERP_UNWRITTEN:
    put_element(p, e, out);
    str_puts(out, " is read before it is written");
    return;
  case INTERP_REGION:
    put_element(p, e, out);
    str_printf(out, " is not in what block %s declares",
               ir_text(p, ir_blk(p, e->loop)->name));
    return;
  case INTERP_DOMAIN:
    str_printf(out, "binding %u is %lld, its domain is %lld to %lld",
               (unsigned)e->dim, at, lo, lo + extent - 1);
    return;
  case INTERP_LIMIT:
    str_printf(out, "the limit was reached: %s", e->what);
    break;
  case INTERP_STOPPED: str_puts(out, "cancelled"); return;
  case INTERP_UNSUPPORTED: str_printf(out, "not supported: %s", e->what); break;
  case INTERP_INVALID: str_puts(out, e->what); break;
  case INTERP_DIFFERS:
    put_element(p, e, out);
    str_printf(out, " differs: %s", e->what);
    return;
  case INTERP_EFFECTS:
    str_puts(out, "external functions are called another number of times, or "
                  "with other arguments, for what they do");
    return;
  }
  if (e->buf)
    str_printf(out, " (buffer %s)", ir_text(p, p->buf.v[e->buf].name));
}

void interp_error_text(const ir_program *p, const interp_error *e,
                       strbuf *out) {
  put_fault(p, e, out);
  if (e->stmt) put_block(p, e->stmt, out);
}
