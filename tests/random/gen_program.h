/* SPDX-License-Identifier: Apache-2.0
 * Random programs: chains of element-wise stages, broadcasts, reductions
 * with many reducers, stencils, pooling, padding, products, convolutions,
 * reshapes, scans, sweeps in place and triangular nests, over odd, prime and
 * unit extents and mixed types.  A program is a function of the stream it is
 * drawn from. */
#ifndef RANDOM_GEN_PROGRAM_H
#define RANDOM_GEN_PROGRAM_H

#include "base/rng.h"
#include "ir/build/describe.h"

enum { GEN_MAX_SIZES = 2 };

typedef struct gen_options {
  uint32_t max_stages;   /* 0: 5 */
  uint32_t max_points;   /* iterations of one stage, about; 0: 1500 */
  bool no_16bit;         /* leave out float16 and bfloat16 */
  bool representable;    /* only sums, products of few factors, min, max,
                          * select and lossless casts: on small integers every
                          * result is exact in float32 */
  bool only_computes;    /* no imperative stages */
  bool lanes;            /* many extents are multiples of 16 and many types int8
                          * and int32, as accelerators take them */
  bool effects;          /* here and there an external call as a statement */
  /* Some programs have extents that are known only when they are called: what
   * those are then, in the order of ir_func.sizes, goes here, which has room
   * for GEN_MAX_SIZES.  NULL: there are none. */
  int64_t *sizes;
  /* Smaller ones of the same draw: */
  uint32_t stages;       /* no more than so many of them; 0: all */
  uint32_t max_extent;   /* no longer dimensions; 0: any */
  uint64_t without;      /* bits: outputs that are left out, if others stay */
  strbuf *lua;           /* gets the Lua that makes the program; NULL: none */
} gen_options;

/* Draws a program into *dst, which must be initialised.  What it is made of
 * is appended to *what (may be NULL), a word a stage.  Every program passes
 * ir_verify; TESS_OK unless memory is out, or the builder refuses what was
 * drawn: then *err says why, and it is a bug. */
tess_status gen_program(rng *r, const gen_options *o, mem_heap *heap,
                        ir_program *dst, strbuf *what, err_state *err);

/* ---- inside (gen_*.c) --------------------------------------------------- */

enum { GEN_MAX_DIM = 5, GEN_MAX_TENSORS = 48 };

/* An extent that has a name, as have all others that are as large. */
typedef struct gen_size {
  char name[24];
  int64_t value;
  ir_var var;
} gen_size;

typedef struct gen_tensor {
  ir_buf buf;
  tess_dtype t;
  uint32_t ndim;
  int64_t shape[GEN_MAX_DIM];
  uint64_t inputs;       /* bits: which inputs it is made of */
  bool used;             /* some stage reads it */
  bool is_index;         /* an input that says which elements to take */
  bool changed;          /* an input that a stage changes in place, */
  uint64_t by;           /*   and by which inputs */
  char name[24];
} gen_tensor;

typedef describe_expr gen_expr;

typedef struct gen {
  rng *r;
  gen_options o;
  ir_builder b;
  tess_status failed;    /* the first failure; later calls do nothing */
  gen_tensor tensor[GEN_MAX_TENSORS];
  uint32_t n, ninputs, nstages, nnames;
  uint32_t ncalls, often; /* external calls; one in how many stores has one */
  gen_expr iter[GEN_MAX_DIM]; /* of the block that was begun last */
  uint32_t niters;       /* 0 as soon as something in it is closed */
  uint64_t reads;        /* inputs read by the stage being made */
  strbuf *what;
  /* The Lua so far, what it calls expressions, and their texts. */
  strbuf inputs, script;
  VEC(const char *) said;
  arena texts;
  char compute[32];      /* the name of the compute that is open */
  char reducer[32];      /* the name of the last reducer made */
  char own[GEN_MAX_TENSORS][24]; /* the names of blocks' own buffers */
  uint32_t nown;
  gen_size size[GEN_MAX_SIZES];
  uint32_t nsizes;
} gen;

/* Any of 0 .. n - 1; true once in n. */
static inline uint32_t gen_below(gen *g, uint32_t n) {
  return (uint32_t)rng_below(g->r, n);
}
static inline bool gen_once_in(gen *g, uint32_t n) {
  return gen_below(g, n) == 0;
}

gen_expr gen_num(gen *g, int64_t v);
gen_expr gen_bin(gen *g, const char *op, gen_expr a, gen_expr b);
gen_expr gen_load(gen *g, uint32_t tensor, const gen_expr *idx);
/* Once in n what counts from `last` down as e, one of 0 .. last, counts up;
 * else e. */
gen_expr gen_turn(gen *g, uint32_t n, int64_t last, gen_expr e);
gen_expr gen_cast(gen *g, tess_dtype t, gen_expr a);
gen_expr gen_select(gen *g, gen_expr c, gen_expr a, gen_expr b);
gen_expr gen_compare(gen *g, gen_expr a, gen_expr b);
/* A small constant that every type has. */
gen_expr gen_const(gen *g, tess_dtype t);
/* Something of one or two values of type t, of the same type. */
gen_expr gen_tweak(gen *g, tess_dtype t, gen_expr a);
gen_expr gen_mix(gen *g, tess_dtype t, gen_expr a, gen_expr b);

int64_t gen_extent(gen *g, int64_t most);
tess_dtype gen_dtype(gen *g);
/* A tensor of the shape and type: mostly a new input. */
uint32_t gen_source(gen *g, tess_dtype t, uint32_t ndim, const int64_t *shape);
/* Any tensor, later ones rather. */
uint32_t gen_pick(gen *g);

/* Opens a compute; its variables as expressions in idx. */
void gen_begin(gen *g, const char *kind, uint32_t ndim, const int64_t *shape,
               gen_expr *idx);
/* Ends it with a body of type t. */
void gen_end(gen *g, uint32_t ndim, const int64_t *shape, tess_dtype t,
             gen_expr body);
/* Ends it with a reduction of `source` by a reducer that suits t. */
void gen_end_reduce(gen *g, uint32_t ndim, const int64_t *shape, tess_dtype t,
                    gen_expr source, uint32_t naxes, const ir_var *axes);
/* The same by this reducer, called so in Lua. */
void gen_end_by(gen *g, const char *name, const char *fn, uint32_t ndim,
                const int64_t *shape, tess_dtype t, gen_expr source,
                uint32_t naxes, const ir_var *axes);
/* A function of one value. */
gen_expr gen_call(gen *g, const char *fn, gen_expr a);
gen_expr gen_axis(gen *g, int64_t extent, ir_var *axis);
/* The Lua of n results of a compute: its end. */
void gen_write_results(gen *g, uint32_t n, uint32_t ndim,
                       const int64_t *shape, const char *body);
/* Enters a tensor that a stage has made. */
void gen_add(gen *g, ir_buf buf, tess_dtype t, uint32_t ndim,
             const int64_t *shape);
void gen_check(gen *g, tess_status s);
const char *gen_name(gen *g, const char *kind, char *text, size_t size);

/* Sizes (gen_sizes.c).  An extent: the size that is as large, or the number.
 * Extents of the first input may get a name; such programs consist of
 * computes, of which nothing has to be proven.  Tells what the sizes are. */
gen_expr gen_len(gen *g, int64_t extent);
void gen_name_sizes(gen *g, uint32_t ndim, const int64_t *shape);
void gen_tell_sizes(const gen *g, const ir_program *p);

/* The Lua of it (gen_lua.c); all do nothing where none is wanted.  Adds to
 * the script; says how an expression is written; how it and others are. */
void gen_write(gen *g, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
void gen_say(gen *g, gen_expr e, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
void gen_say_binary(gen *g, gen_expr e, const char *op, gen_expr a,
                    gen_expr b);
const char *gen_said(const gen *g, gen_expr e);
const char *gen_list(gen *g, uint32_t n, const gen_expr *e);
const char *gen_shape(gen *g, uint32_t n, const int64_t *shape);
const char *gen_axes(gen *g, uint32_t n, const ir_var *axes);
const char *gen_dtype_text(gen *g, tess_dtype t);

/* What a block's iters are: kinds, extents and bindings; and how many names
 * are taken by those of blocks around. */
typedef struct gen_iters {
  uint32_t n, named;
  ir_iter_kind kind[GEN_MAX_DIM];
  gen_expr extent[GEN_MAX_DIM], bind[GEN_MAX_DIM];
} gen_iters;

/* Loops and blocks (gen_blocks.c).  One more iter, of values from 0. */
void gen_iter(gen *g, gen_iters *it, ir_iter_kind kind, int64_t extent,
              gen_expr bind);
void gen_iter_to(gen_iters *it, ir_iter_kind kind, gen_expr extent,
                 gen_expr bind);
/* Opens a loop; its variable.  Opens a block; its variables in idx.  Opens the
 * init of a block; a condition, and what runs where that does not hold; a
 * name for a value.  Closes the last n of them. */
gen_expr gen_loop(gen *g, const char *name, gen_expr lo, gen_expr extent);
void gen_block(gen *g, const gen_iters *it, gen_expr predicate, gen_expr *idx);
void gen_init(gen *g);
void gen_when(gen *g, gen_expr condition);
void gen_else(gen *g);
gen_expr gen_let(gen *g, gen_expr value);
void gen_close(gen *g, uint32_t n);
/* A loop over all of each dimension, and a spatial iter bound to it. */
void gen_nest(gen *g, uint32_t ndim, const int64_t *shape, gen_iters *it);
/* A new buffer of that shape and type; one that belongs to the block around
 * all that use it, and is made again in each instance; one with the elements
 * of x, to be changed in place. */
ir_buf gen_local(gen *g, const gen_tensor *like);
ir_buf gen_own(gen *g, const gen_tensor *like);
/* Has such buffers where they belong, in the whole program. */
void gen_place_own(gen *g, ir_program *p);
ir_buf gen_copy(gen *g, uint32_t x);
gen_expr gen_read(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx);
void gen_store(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx, gen_expr v);
/* A function of the host's is told which call it is, and the place, if such
 * calls are wanted. */
void gen_effect(gen *g, uint32_t n, const gen_expr *idx);
gen_expr gen_plus(gen *g, gen_expr e, int64_t c);
gen_expr gen_zero(gen *g, tess_dtype t);
/* Imperative stages are wanted, and can be of this tensor. */
bool gen_suits(const gen *g, const gen_tensor *a, uint32_t ndim);

/* One stage of any kind; a reduction, product or convolution (gen_reduce.c);
 * loops and blocks, some with an order of their own (gen_imperative.c);
 * several blocks in one nest (gen_nests.c), as threads share it
 * (gen_tiles.c); reductions with odd inits (gen_sums.c); sums that depend on
 * extremes (gen_extremes.c); nests with bounds
 * that are data (gen_bounds.c); sums in parts (gen_spread.c); conditions on
 * data (gen_choices.c), and around blocks (gen_conditions.c). */
void gen_stage(gen *g);
void gen_reduction(gen *g);
void gen_imperative(gen *g);
void gen_several(gen *g);
void gen_tiles(gen *g);
void gen_sums(gen *g);
void gen_extremes(gen *g);
void gen_bounds(gen *g);
void gen_spread(gen *g);
void gen_choices(gen *g);
void gen_conditions(gen *g);

#endif
