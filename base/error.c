/* SPDX-License-Identifier: Apache-2.0
 * The last error, and the texts of the status codes. */
#include "base/error.h"

#include <stdio.h>

void err_clear(err_state *e) {
  e->code = TESS_OK;
  e->message[0] = '\0';
  e->place[0] = '\0';
}

tess_status err_set(err_state *e, tess_status code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  err_clear(e);
  e->code = code;
  vsnprintf(e->message, sizeof e->message, fmt, ap);
  va_end(ap);
  return code;
}

void err_place(err_state *e, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->place, sizeof e->place, fmt, ap);
  va_end(ap);
}

const char *err_status_name(tess_status code) {
  switch (code) {
#define STATUS(name, value, text) \
  case TESS_##name:               \
    return #name;
#include <tessera/status.def>
#undef STATUS
  }
  return "UNKNOWN";
}

const char *err_status_text(tess_status code) {
  switch (code) {
#define STATUS(name, value, text) \
  case TESS_##name:               \
    return text;
#include <tessera/status.def>
#undef STATUS
  }
  return "unknown status";
}
