/* SPDX-License-Identifier: Apache-2.0
 * Reading programs from the listings that ir/print writes: the state of the
 * reader and its parts.
 *
 *   program   ::= {constant} function {function}
 *   function  ::= ["entry"] name "(" [param {"," param}] ")" [annos] body
 *   param     ::= name ":" "size" | buffer
 *   buffer    ::= name ":" [role] dtype "[" exprs "]" {attribute}
 *   attribute ::= "offsets" "into" n | "range" "[" lo "," end ")" | "sorted"
 *               | "unique" | "in" scope | "strides" "[" exprs "]"
 *               | "offset" expr | "align" n
 *   constant  ::= "constant" buffer "=" "[" [number {"," number}] "]"
 *   statement ::= "for" name "in" domain [annos] body
 *               | "block" name "(" [iter {"," iter}] ")" [annos] block-body
 *               | ["atomic"] name "[" exprs "]" "=" expr ["if" expr]
 *               | "if" expr body ["else" body] | "let" name ":" dtype "=" expr
 *                 body | "allocate" buffer body | "barrier" scope | expr
 *   block-body::= ["where" expr] ["reads" regions "writes" regions]
 *                 ["reducer" reducer] {"alloc" buffer}
 *                 {"match" buffer "=" region} ["init" body] body
 *
 * A body is the lines that are indented further.  Names are declared before
 * they are used and are unique among those in scope. */
#ifndef IR_READ_READ_H
#define IR_READ_READ_H

#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/read/lex.h"

enum {
  READ_MAX_DEPTH = 200, /* nesting of an expression */
  READ_MAX_NESTING = 400 /* nesting of statements */
};

/* What a name stands for. */
typedef struct read_name {
  const char *s;
  bool is_buffer;
  uint32_t id; /* ir_var, or ir_buf */
} read_name;

typedef struct reader {
  ir_builder *b;
  ir_program *p; /* the builder's */
  arena *scratch;
  read_lexer lex;
  read_token t;    /* the current token */
  read_token last; /* the one before it */
  read_name *names; /* in scratch */
  uint32_t nnames, room;
  uint32_t depth; /* of the expression or value, */
  uint32_t nest;  /* and of the statement that is read */
} reader;

/* All functions that return bool report a failure with the place of a token in
 * the builder's err_state; they unwind where memory runs out. */

/* ---- tokens (tokens.c) -------------------------------------------------- */

/* Fails at the current token, or at another. */
bool read_fail(reader *r, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
bool read_fail_at(reader *r, const read_token *t, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
bool read_advance(reader *r);
/* Is the current token this word, or operator? */
bool read_is(const reader *r, const char *text);
/* If it is, goes on; *ok is false where the next token is malformed. */
bool read_accept(reader *r, const char *text, bool *ok);
bool read_expect(reader *r, const char *text);
/* A name, quoted or not, in scratch. */
bool read_word(reader *r, const char *what, const char **out);
bool read_int(reader *r, int64_t least, int64_t most, const char *what,
              int64_t *out);
bool read_line_end(reader *r);
/* The text of a token, for messages. */
const char *read_spell(reader *r, const read_token *t);

/* ---- names in scope ----------------------------------------------------- */

/* Declares it; a failure where the name is taken. */
bool read_bind(reader *r, const read_token *at, const char *name,
               bool is_buffer, uint32_t id);
const read_name *read_find(const reader *r, const char *name);

/* ---- expressions (tree.c, typed.c) -------------------------------------- */

/* An expression as it was written.  Its literals have the type of what they
 * are combined with, so types are found once it is whole. */
typedef enum read_kind {
  TREE_INT, TREE_REAL, TREE_BOOL,
  TREE_VAR,       /* id */
  TREE_LOAD,      /* id, args; mask: the last of them */
  TREE_BINARY,    /* op, args */
  TREE_NEGATE, TREE_NOT, TREE_SELECT,
  TREE_CAST,      /* dtype */
  TREE_VECTOR,    /* op: IR_RAMP or IR_BROADCAST; lanes in dtype */
  TREE_CALL       /* fn; dtype and name where they are written */
} read_kind;

typedef struct read_tree {
  read_kind kind;
  read_token at;
  ir_op op;
  ir_fn fn;
  tess_dtype dtype;
  uint32_t id, n;
  bool masked, negative;
  uint64_t i;
  double f;
  const char *name;
  struct read_tree **args;
} read_tree;

bool read_parse_tree(reader *r, read_tree **out);
/* As an expression of type `want`; NULL: of its own, a literal's default being
 * int64 or float32. */
bool read_type_tree(reader *r, const read_tree *t, const tess_dtype *want,
                    ir_expr *out);
bool read_expr(reader *r, const tess_dtype *want, ir_expr *out);
bool read_index(reader *r, ir_expr *out);
bool read_condition(reader *r, ir_expr *out);

/* ---- declarations (declare.c) ------------------------------------------- */

bool read_dtype(reader *r, tess_dtype *out);
/* "name: role dtype[..] ..", bound; the role is LOCAL where none is written. */
bool read_buffer(reader *r, ir_role role, ir_buf *out);
bool read_regions(reader *r, uint32_t *n, ir_region **out);
bool read_region(reader *r, ir_region *out);
/* {key = value, ..}, if there is one here. */
bool read_annos(reader *r, ir_stmt s);
bool read_constant(reader *r);

/* ---- statements (statement.c, block.c) ---------------------------------- */

/* The lines that are indented by more than `column`, appended to the body, or
 * to the alt list. */
bool read_body(reader *r, ir_stmt parent, bool alt, uint32_t column);
bool read_block(reader *r, ir_stmt parent, bool alt);
/* The lines of a block that are indented by more than `column`. */
bool read_block_body(reader *r, ir_stmt block, uint32_t column);
/* "4", "range(1, 5)", "range(i, extent=n)". */
bool read_domain(reader *r, ir_expr *lo, ir_expr *extent);
void read_append(reader *r, ir_stmt parent, bool alt, ir_stmt s);

/* ---- programs (program.c) ----------------------------------------------- */

/* Reads a program into the builder's, which is empty.  What comes out is
 * well-formed.  May unwind. */
tess_status read_program(ir_builder *b, arena *scratch, const char *text,
                         size_t n);

#endif
