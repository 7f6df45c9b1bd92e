/* SPDX-License-Identifier: Apache-2.0
 * Shared state of the trace parsers: variables by name, the current
 * instruction, errors. */
#include "vm/text/reader.h"

#include <inttypes.h>
#include <stdio.h>

void vm_reader_init(vm_reader *r, vm_trace *t, err_state *err) {
  memset(r, 0, sizeof *r);
  r->t = t;
  r->err = err;
  r->inst = 1;
  r->pool.heap = t->heap;
  str_init(&r->text, t->heap);
}

void vm_reader_free(vm_reader *r) {
  mem_heap *heap = r->t->heap;
  vm_trace_free(&r->pool);
  vec_free(heap, &r->names);
  str_free(&r->text);
}

bool vm_reader_fail(vm_reader *r, tess_status code, const char *fmt, ...) {
  char message[sizeof r->err->message];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  err_set(r->err, code, "%s", message);
  if (r->line)
    err_place(r->err, "line %" PRIu32 ", instruction %" PRIu32, r->line,
              r->inst);
  else
    err_place(r->err, "instruction %" PRIu32, r->inst);
  return false;
}

void vm_reader_next(vm_reader *r) { r->inst = r->t->inst.n + 1; }

const sch_prim *vm_reader_begin(vm_reader *r, const char *name) {
  const sch_prim *p = sch_find_prim(name);
  if (!p) {
    vm_reader_fail(r, TESS_NOT_FOUND, "there is no instruction '%.100s'", name);
    return NULL;
  }
  vm_trace_reset(&r->pool);
  for (uint32_t i = 0; i < p->nspecs; i++) r->operand[i] = vm_nil();
  return p;
}

void vm_operand_names(const sch_prim *p, char *out, size_t size) {
  size_t n = 0;
  for (uint32_t i = 0; i < p->nspecs && n < size; i++)
    if (p->specs[i].role != SCH_ROLE_OUT)
      n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
                            p->specs[i].name);
  if (!n) snprintf(out, size, "none");
}

bool vm_reader_operand(vm_reader *r, const sch_prim *p, const char *name,
                       uint32_t *spec) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    if (strcmp(p->specs[i].name, name) || p->specs[i].role == SCH_ROLE_OUT)
      continue;
    *spec = i;
    return r->operand[i].tag == VM_NIL ||
           vm_reader_fail(r, TESS_PARSE, "%s: operand '%s' is given twice",
                          p->name, name);
  }
  char known[512];
  vm_operand_names(p, known, sizeof known);
  return vm_reader_fail(r, TESS_NOT_FOUND,
                        "%s has no operand '%.100s'; it takes %s", p->name,
                        name, known);
}

bool vm_parse_rv_name(const char *name, size_t n, char *letter,
                      uint32_t *number) {
  uint32_t v = 0;
  if (n < 2 || n > 8 || !memchr("blv", name[0], 3)) return false;
  for (size_t i = 1; i < n; i++) {
    if (name[i] < '0' || name[i] > '9' || (name[1] == '0' && n > 2))
      return false;
    v = v * 10 + (uint32_t)(name[i] - '0');
  }
  *letter = name[0];
  *number = v;
  return v < VM_READER_NUMBERS;
}

static const char letters[] = "blv";

bool vm_reader_number(vm_reader *r, uint32_t number, vm_value *out) {
  if (number >= r->names.n || !r->names.v[number])
    return vm_reader_fail(r, TESS_PARSE,
                          "variable %" PRIu32 " is used before it is defined",
                          number);
  *out = vm_var(r->names.v[number]);
  return true;
}

bool vm_reader_variable(vm_reader *r, const char *name, size_t n,
                        vm_value *out) {
  char letter;
  uint32_t number;
  if (!vm_parse_rv_name(name, n, &letter, &number))
    return vm_reader_fail(r, TESS_PARSE,
                          "'%.*s' is no variable (b0, l1, v2, ...)",
                          (int)(n < 40 ? n : 40), name);
  if (number >= r->names.n || !r->names.v[number] ||
      letters[r->t->rv.v[r->names.v[number]]] != letter)
    return vm_reader_fail(r, TESS_PARSE,
                          "variable %.*s is used before it is defined", (int)n,
                          name);
  *out = vm_var(r->names.v[number]);
  return true;
}

bool vm_reader_end(vm_reader *r, const sch_prim *p, uint32_t nout,
                   const char *file, uint32_t line) {
  vm_failure why;
  vm_call c = {p, &r->pool, r->operand, file, line};
  if (vm_append(r->t, &c, nout, &why)) return true;
  str_clear(&r->text);
  vm_failure_sentence(NULL, r->t, &why, &r->text);
  const char *text = str_get(&r->text);
  return vm_reader_fail(r, vm_failure_status(&why), "%s",
                        text ? text : "out of memory");
}

bool vm_reader_define(vm_reader *r, uint32_t i, char letter, uint32_t number) {
  vm_trace *t = r->t;
  vm_rv rv = t->inst.v[t->inst.n - 1].out + i;
  if (number >= VM_READER_NUMBERS)
    return vm_reader_fail(r, TESS_LIMIT, "variables are numbered below %d",
                          VM_READER_NUMBERS);
  if (letter && letters[t->rv.v[rv]] != letter)
    return vm_reader_fail(r, TESS_PARSE,
                          "output %c%" PRIu32 " should be named %c%" PRIu32,
                          letter, number, letters[t->rv.v[rv]], number);
  while (r->names.n <= number) vec_push(t->heap, &r->names, 0);
  if (r->names.v[number] && letter)
    return vm_reader_fail(r, TESS_PARSE,
                          "variable %c%" PRIu32 " has the number of %c%" PRIu32
                          ", which is defined already",
                          letter, number, letters[t->rv.v[r->names.v[number]]],
                          number);
  if (r->names.v[number])
    return vm_reader_fail(r, TESS_PARSE, "rv[%" PRIu32 "] is defined twice",
                          number);
  r->names.v[number] = rv;
  return true;
}

tess_status vm_reader_finish(vm_trace *t, tess_status st, err_state *err) {
  if (st == TESS_OK) return st;
  if (err->code == TESS_OK) err_ran_out(err, t->heap, st, "reading the trace");
  vm_trace_reset(t);
  return st;
}
