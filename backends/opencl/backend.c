/* SPDX-License-Identifier: Apache-2.0
 * Compiles programs for OpenCL: the host program, then the entry's name and
 * the source, as the driver takes them. */
#include "backends/opencl/opencl.h"
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct compiling {
  ir_program *p;
  arena *scratch;
  const target *t;
  backend_form form;
  strbuf *out;
  err_state *e;
  device_split split;
} compiling;

static tess_status write_kernels(compiling *c) {
  const char *name = ir_text(c->p, ir_entry(c->p)->name);
  if (c->form == BACKEND_CODE) {
    uint32_t number = (uint32_t)c->t->device;
    str_write(c->out, (const char *)&number, sizeof number);
    device_write(&c->split, c->out);
    str_write(c->out, name, strlen(name) + 1);
  }
  return opencl_print(&c->split, c->p, c->scratch, c->t, c->out, c->e);
}

static tess_status compile_all(void *ud) {
  compiling *c = ud;
  tess_status s = device_split_program(&c->split, c->p, c->scratch, c->e);
  return s ? s : write_kernels(c);
}

static tess_status opencl_compile(ir_program *p, arena *scratch,
                                  const target *t, backend_form form,
                                  strbuf *out, err_state *e) {
  compiling c = {p, scratch, t, form, out, e, {.p = NULL}};
  arena_mark mark = arena_get_mark(scratch);
  tess_status s = backend_generate(p, "opencl", compile_all, &c, out, e);
  device_split_free(&c.split);
  arena_reset_to(scratch, mark);
  return s;
}

/* Drivers are opened by workers only, so all that is looked at is whether
 * there may be any: the loader finds them in these places. */
tess_status opencl_runs_here(const target *t, err_state *e) {
  const char *given = getenv("OCL_ICD_VENDORS");
  (void)t;
  if (given || getenv("OCL_ICD_FILENAMES") ||
      access("/etc/OpenCL/vendors", R_OK) == 0)
    return TESS_OK;
  return err_set(e, TESS_UNSUPPORTED,
                 "no OpenCL driver is installed on this machine (there is no "
                 "/etc/OpenCL/vendors)");
}

static const backend_device opencl_device = {
    .time = opencl_time,
    .why = opencl_why,
    .memory = opencl_memory,
};

const backend opencl_backend = {
    .name = "opencl",
    .forms = 1u << BACKEND_CODE | 1u << BACKEND_OPENCL,
    .own_process = true,
    .reference = "llvm",
    .complete = opencl_complete_target,
    .runs_here = opencl_runs_here,
    .compile = opencl_compile,
    .load = opencl_load,
    .device = &opencl_device,
    .facts = opencl_facts,
    .unload = opencl_unload,
    .on_fatal = opencl_on_fatal,
};
