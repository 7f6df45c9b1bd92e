/* SPDX-License-Identifier: Apache-2.0
 * Loading libpq.  It stays loaded until the process ends, as what it brings
 * with it (TLS) has state of its own. */
#include "fleet/pq_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find_symbol(void *lib, const char *name, void *to, char why[256]) {
  void *symbol = dlsym(lib, name);
  if (!symbol) {
    snprintf(why, 256, "libpq has no %s", name);
    return false;
  }
  memcpy(to, &symbol, sizeof symbol);
  return true;
}

bool pq_load(pq_library *x, char why[256]) {
  void *lib = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lib) {
    const char *said = dlerror();
    snprintf(why, 256, "%s", said ? said : "libpq.so.5 does not load");
    return false;
  }
  const struct {
    const char *name;
    void *to;
  } all[] = {{"PQconnectStartParams", &x->connect_start},
             {"PQconnectPoll", &x->connect_poll},
             {"PQstatus", &x->status},
             {"PQerrorMessage", &x->error_message},
             {"PQsocket", &x->socket},
             {"PQfinish", &x->finish},
             {"PQsetNoticeProcessor", &x->set_notices},
             {"PQsetnonblocking", &x->set_nonblocking},
             {"PQsendQueryParams", &x->send},
             {"PQflush", &x->flush},
             {"PQconsumeInput", &x->consume},
             {"PQisBusy", &x->is_busy},
             {"PQgetResult", &x->get_result},
             {"PQnotifies", &x->notifies},
             {"PQfreemem", &x->freemem},
             {"PQresultStatus", &x->result_status},
             {"PQresultErrorField", &x->error_field},
             {"PQntuples", &x->ntuples},
             {"PQgetvalue", &x->value},
             {"PQgetisnull", &x->is_null},
             {"PQgetlength", &x->length},
             {"PQclear", &x->clear},
             {"PQexec", &x->exec}};
  bool found = true;
  for (size_t i = 0; found && i < sizeof all / sizeof *all; i++)
    found = find_symbol(lib, all[i].name, all[i].to, why);
  dlclose(lib);
  return found;
}
