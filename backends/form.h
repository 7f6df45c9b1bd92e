/* SPDX-License-Identifier: Apache-2.0
 * The output forms of a compilation: loadable code, or a source text. */
#ifndef BACKENDS_FORM_H
#define BACKENDS_FORM_H

typedef enum backend_form {
#define FORM(id, name) BACKEND_##id,
#include "backends/form.def"
#undef FORM
  BACKEND_NFORMS
} backend_form;

#endif
