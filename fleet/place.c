/* SPDX-License-Identifier: Apache-2.0
 * Where an agent measures.  A core is held by a socket in Linux's abstract
 * namespace, which no file outlives and no killed agent keeps. */
#include "fleet/place.h"

#include "base/json.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tessera/tessera.h>
#include <unistd.h>

/* ---- holding ------------------------------------------------------------ */

static tess_status hold(fleet_place *p, const char *what, err_state *e) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "tessera-agent/%s",
                   what);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return err_set(e, TESS_IO, "a socket: %s", strerror(errno));
  socklen_t size =
      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  if (bind(fd, (struct sockaddr *)&at, size)) {
    close(fd);
    return err_set(e, TESS_INFRA,
                   "%s is another agent's; --share-cores shares it", what);
  }
  p->held[p->n++] = fd;
  return TESS_OK;
}

static tess_status read_cores(const char *text, cpu_set_t *out, err_state *e) {
  const char *at = text;
  CPU_ZERO(out);
  for (;;) {
    char *end;
    long core = strtol(at, &end, 10);
    if (end == at || core < 0 || core >= CPU_SETSIZE || (*end && *end != ','))
      return err_set(e, TESS_INVALID, "'%.60s' is no list of cores, as 0,1",
                     text);
    CPU_SET((size_t)core, out);
    if (!*end) return TESS_OK;
    at = end + 1;
  }
}

static tess_status bind_to(const char *text, err_state *e) {
  cpu_set_t cores;
  tess_status s = read_cores(text, &cores, e);
  if (s != TESS_OK || !sched_setaffinity(0, sizeof cores, &cores)) return s;
  return err_set(e, TESS_INVALID, "cores '%.60s': %s", text, strerror(errno));
}

static tess_status hold_cores(fleet_place *p, err_state *e) {
  cpu_set_t cores;
  char what[32];
  tess_status s = TESS_OK;
  if (sched_getaffinity(0, sizeof cores, &cores)) return TESS_OK;
  for (int i = 0; i < CPU_SETSIZE && s == TESS_OK; i++) {
    if (!CPU_ISSET((size_t)i, &cores) || p->n == PLACE_MOST) continue;
    snprintf(what, sizeof what, "core %d", i);
    s = hold(p, what, e);
  }
  return s;
}

tess_status fleet_place_take(const char *cores, const char *device, bool share,
                             fleet_place *p, err_state *e) {
  char what[64];
  p->n = 0;
  tess_status s = cores ? bind_to(cores, e) : TESS_OK;
  if (s != TESS_OK || share) return s;
  snprintf(what, sizeof what, "device %.50s", device ? device : "");
  s = device ? hold(p, what, e) : hold_cores(p, e);
  if (s != TESS_OK) fleet_place_leave(p);
  return s;
}

void fleet_place_leave(fleet_place *p) {
  while (p->n) close(p->held[--p->n]);
}

/* ---- names -------------------------------------------------------------- */

void fleet_place_name(const char *device, char *out, size_t n) {
  char host[128] = "";
  cpu_set_t cores;
  gethostname(host, sizeof host - 1);
  int at = snprintf(out, n, "%s/%s", host, device ? device : "");
  if (device || sched_getaffinity(0, sizeof cores, &cores)) return;
  const char *between = "";
  for (int i = 0; i < CPU_SETSIZE && at > 0 && (size_t)at + 8 < n; i++) {
    if (!CPU_ISSET((size_t)i, &cores)) continue;
    at += snprintf(out + at, n - (size_t)at, "%s%d", between, i);
    between = ",";
  }
}

/* ---- environment -------------------------------------------------------- */

json_t *fleet_place_env(const strbuf *facts) {
  json_t *v = facts->bad ? NULL : json_pack("{ss}", "engine", tess_version());
  for (const char *at = str_get(facts); at && *at;) {
    size_t n = strcspn(at, "\n"), name = strcspn(at, "\t\n");
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)name, at);
    if (name < n && str_utf8(key, strlen(key)) == strlen(key))
      js_set(
          &v, key,
          json_stringn(at + name + 1, str_utf8(at + name + 1, n - name - 1)));
    at += n + (at[n] != '\0');
  }
  return v;
}
