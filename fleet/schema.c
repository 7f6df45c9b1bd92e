/* SPDX-License-Identifier: Apache-2.0
 * Making a fleet's schema from schema.sql, which the build puts into the
 * program. */
#include "fleet/schema.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of schema.sql, NUL behind them. */
__asm__(".pushsection .rodata\n"
        ".globl fleet_schema_sql\n"
        ".hidden fleet_schema_sql\n"
        "fleet_schema_sql:\n"
        ".incbin \"" FLEET_SCHEMA_SQL "\"\n"
        ".byte 0\n"
        ".popsection");
extern const char fleet_schema_sql[] __attribute__((visibility("hidden")));

static const char bookkeeping[] =
    "BEGIN;\n"
    "SELECT pg_advisory_xact_lock(hashtext('tessera fleet'));\n"
    "CREATE SCHEMA IF NOT EXISTS fleet;\n"
    "REVOKE ALL ON SCHEMA fleet FROM PUBLIC;\n"
    "CREATE TABLE IF NOT EXISTS fleet.migration (version int PRIMARY KEY, "
    "at timestamptz NOT NULL DEFAULT now());\n";

/* The migrations after `done`, then the functions. */
static void write_parts(long done, strbuf *sql) {
  static const char mark[] = "\n-- migration ";
  const char *functions = strstr(fleet_schema_sql, "\n-- functions\n");
  const char *at = strstr(fleet_schema_sql, mark);
  while (at && at < functions) {
    long version = strtol(at + strlen(mark), NULL, 10);
    const char *next = strstr(at + 1, mark);
    const char *end = next && next < functions ? next : functions;
    if (version > done) {
      str_write(sql, at, (size_t)(end - at));
      str_printf(sql, "\nINSERT INTO fleet.migration VALUES (%ld);\n", version);
    }
    at = next;
  }
  str_puts(sql, functions);
}

static tess_status find_version(fleet_link *l, long *version, err_state *e) {
  fleet_answer a = {.is_null = true};
  str_init(&a.text, fleet_heap(l));
  tess_status s =
      fleet_call(l, &a, e, "SELECT max(version)::text FROM fleet.migration");
  *version =
      s == TESS_OK && !a.is_null ? strtol(str_get(&a.text), NULL, 10) : 0;
  str_free(&a.text);
  return s;
}

static tess_status migrate(fleet_link *l, double lease, strbuf *sql,
                           err_state *e) {
  long version;
  tess_status s = find_version(l, &version, e);
  if (s != TESS_OK) return s;
  if (version > FLEET_SCHEMA)
    return err_set(e, TESS_UNSUPPORTED,
                   "the fleet's schema is version %ld, newer than %d, which "
                   "this program knows",
                   version, FLEET_SCHEMA);
  write_parts(version, sql);
  if (lease > 0)
    str_printf(sql,
               "UPDATE fleet.setting SET value = %.17g "
               "WHERE name = 'lease';\n",
               lease);
  str_puts(sql, "COMMIT;\n");
  if (sql->bad) return str_status(sql);
  return fleet_execute(l, str_get(sql), e);
}

tess_status fleet_init(fleet_link *l, double lease, err_state *e) {
  err_state ignored;
  strbuf sql;
  str_init(&sql, fleet_heap(l));
  tess_status s = fleet_execute(l, bookkeeping, e);
  if (s == TESS_OK) s = migrate(l, lease, &sql, e);
  if (s != TESS_OK) fleet_execute(l, "ROLLBACK", &ignored);
  str_free(&sql);
  return s;
}
