/* SPDX-License-Identifier: Apache-2.0
 * The last error of a context, and the names of the status codes. */
#include "base/error.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

void err_clear(err_state *e) {
  e->code = TESS_OK;
  e->message[0] = '\0';
  e->place[0] = '\0';
}

void err_one_line(const char *text, char *line, size_t room) {
  size_t n = 0;
  while (*text) {
    size_t len = strcspn(text, "\r\n");
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t')) len--;
    int put = snprintf(line + n, room - n, "%s%.*s", n && len ? "; " : "",
                       (int)len, text);
    n += (size_t)put < room - n ? (size_t)put : room - n - 1;
    text += strcspn(text, "\r\n");
    text += strspn(text, "\r\n \t");
  }
  line[n] = '\0';
}

/* The arguments may point into the message that is being replaced: a caller may
 * prefix a message. */
tess_status err_set_to(err_state *e, tess_status code, const char *fmt,
                       va_list ap) {
  char message[sizeof e->message];
  vsnprintf(message, sizeof message, fmt, ap);
  err_clear(e);
  e->code = code;
  if (strpbrk(message, "\r\n"))
    err_one_line(message, e->message, sizeof e->message);
  else
    memcpy(e->message, message, sizeof message);
  str_defuse(e->message);
  return code;
}

tess_status err_set(err_state *e, tess_status code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  err_set_to(e, code, fmt, ap);
  va_end(ap);
  return code;
}

void err_place(err_state *e, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->place, sizeof e->place, fmt, ap);
  str_defuse(e->place);
  va_end(ap);
}

/* The limit that the heap reached. */
static void say_limit(const mem_heap *h, char *out, size_t n) {
  const size_t mib = (size_t)1 << 20;
  bool round = h->cap % mib == 0;
  if (h->limit || !h->cap) {
    bool named = h->limit && h->whose[0];
    snprintf(out, n, "%s%s%s%s",
             h->limit ? h->limit : err_status_text(TESS_LIMIT),
             named ? " (" : "", named ? h->whose : "", named ? ")" : "");
    return;
  }
  snprintf(out, n, "the memory cap of %zu %s%s%s%s was reached",
           round ? h->cap / mib : h->cap, round ? "MiB" : "bytes",
           h->owner ? " (" : "", h->owner ? h->owner : "", h->owner ? ")" : "");
}

tess_status err_unwound(err_state *e, mem_heap *h, tess_status s) {
  char limit[512];
  const char *kind = h->doing[0];
  bool known = e->code == s && e->message[0];
  if (s == TESS_LIMIT && !known) {
    say_limit(h, limit, sizeof limit);
    if (kind)
      err_set(e, s, "%s in %s '%s'", limit, kind, h->doing[1]);
    else
      err_set(e, s, "%s", limit);
  } else if (!known) {
    err_set(e, s, "%s", err_status_text(s));
  }
  h->limit = NULL;
  mem_note(h, NULL, NULL);
  return s;
}

tess_status err_ran_out(err_state *e, mem_heap *h, tess_status s,
                        const char *fmt, ...) {
  char what[1024];
  err_state why = {.code = TESS_OK};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  err_unwound(&why, h, s);
  return err_set(e, s, "%s: %s", what, why.message);
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
