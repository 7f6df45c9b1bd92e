/* SPDX-License-Identifier: Apache-2.0
 * The schema: making it, versions, rights, fencing by tokens. */
#include "fleet/content.h"
#include "fleet/schema.h"
#include "support/fleet.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static postgres pg;

static int start_server(void **state) {
  (void)state;
  postgres_start(&pg, 1);
  return 0;
}

static int end_server(void **state) {
  (void)state;
  postgres_end(&pg);
  return 0;
}

typedef struct fixture {
  test_heap heap;
  fleet_link *l;
  err_state e;
  char answer[4096], state[6];
} fixture;

static void begin_as(fixture *f, const char *user) {
  char url[256];
  test_heap_start(&f->heap, 0);
  snprintf(url, sizeof url, "host=%s port=%d user=%s dbname=postgres", pg.dir,
           pg.port, user);
  if (fleet_link_open(&f->heap.heap, url, false, &f->l, &f->e))
    fail_msg("%s", f->e.message);
}

static void finish_with(fixture *f) {
  fleet_link_close(f->l);
  test_heap_end(&f->heap);
}

/* What it gives, or else its refusal. */
static const char *call_sql(fixture *f, const char *sql) {
  fleet_answer a = {.is_null = true};
  str_init(&a.text, &f->heap.heap);
  tess_status s = fleet_call(f->l, &a, &f->e, sql);
  snprintf(f->answer, sizeof f->answer, "%s",
           s ? f->e.message : str_get(&a.text));
  memcpy(f->state, a.state, sizeof f->state);
  str_free(&a.text);
  return f->answer;
}

static void sql_says(fixture *f, const char *sql, const char *what) {
  const char *got = call_sql(f, sql);
  if (!strstr(got, what)) fail_msg("%s: '%s' is not in: %s", sql, what, got);
}

/* ---- versions ----------------------------------------------------------- */

static void opens(const char *url, tess_status wanted, const char *what) {
  test_heap heap;
  fleet_link *l;
  err_state e;
  test_heap_start(&heap, 0);
  tess_status s = fleet_link_open(&heap.heap, url, false, &l, &e);
  if (s != wanted || (s && !strstr(e.message, what)))
    fail_msg("%s: status %d: %s", url, s, s ? e.message : "");
  fleet_link_close(l);
  test_heap_end(&heap);
}

static void test_versions(void **state) {
  char url[256];
  (void)state;
  postgres_ask(&pg, "CREATE DATABASE bare");
  snprintf(url, sizeof url, "host=%s port=%d user=postgres dbname=bare", pg.dir,
           pg.port);
  opens(url, TESS_UNSUPPORTED, "`tessera fleet init` makes one");
  snprintf(url, sizeof url, "host=%s port=%d user=postgres dbname=none", pg.dir,
           pg.port);
  opens(url, TESS_INVALID, "does not exist");
  opens("host=/nowhere/at/all dbname=x", TESS_INFRA, "No such file");
  opens("zzz=1", TESS_INVALID, "invalid connection option");
  postgres_ask(&pg, "CREATE OR REPLACE FUNCTION fleet.schema_version() RETURNS "
                    "int LANGUAGE sql STABLE AS 'SELECT 99'");
  opens(pg.url, TESS_UNSUPPORTED, "newer than");
  postgres_ask(&pg, "CREATE OR REPLACE FUNCTION fleet.schema_version() RETURNS "
                    "int LANGUAGE sql STABLE AS 'SELECT 0'");
  opens(pg.url, TESS_UNSUPPORTED, "brings it up to date");
}

/* Again, it changes nothing but the functions; one of a newer program
 * stays. */
static void test_init_again(void **state) {
  fixture f;
  (void)state;
  test_heap_start(&f.heap, 0);
  assert_int_equal(fleet_link_open(&f.heap.heap, pg.url, true, &f.l, &f.e), 0);
  if (fleet_init(f.l, 2, &f.e)) fail_msg("%s", f.e.message);
  sql_says(&f, "SELECT fleet.setting_of('lease')", "2");
  assert_int_equal(fleet_init(f.l, 0, &f.e), TESS_OK);
  sql_says(&f, "SELECT fleet.setting_of('lease')", "2");
  sql_says(&f, "SELECT count(*) FROM fleet.migration", "1");
  postgres_ask(&pg, "INSERT INTO fleet.migration VALUES (99)");
  assert_int_equal(fleet_init(f.l, 1, &f.e), TESS_UNSUPPORTED);
  postgres_ask(&pg, "DELETE FROM fleet.migration WHERE version = 99");
  assert_int_equal(fleet_init(f.l, 1, &f.e), TESS_OK);
  finish_with(&f);
}

/* ---- rights ------------------------------------------------------------- */

static void test_rights(void **state) {
  static const char *const tables[] = {
      "SELECT * FROM fleet.result", "SELECT * FROM fleet.object",
      "DELETE FROM fleet.batch", "UPDATE fleet.device SET paused = true",
      "INSERT INTO fleet.event (what) VALUES ('x')"};
  static const char *const others[] = {
      "SELECT fleet.put('x'::bytea)",
      "SELECT fleet.open_session('{}')",
      "SELECT fleet.pause('{\"name\": \"x\"}')",
      "SELECT fleet.sweep()",
      "SELECT fleet.gc('{\"age\": 0}')",
      "SELECT fleet.quarantine('x', 'y')",
      "SELECT fleet.add('{\"name\": \"x\", \"role\": \"admin\"}')"};
  fixture f;
  (void)state;
  postgres_ask(&pg, "SELECT fleet.add('{\"name\": \"runner\", \"role\": "
                    "\"run\"}')");
  begin_as(&f, "runner");
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    sql_says(&f, tables[i], "permission denied for");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    sql_says(&f, others[i], "permission denied for");
  sql_says(&f,
           "SELECT fleet.hello('{\"device\": \"d\", \"key\": \"k\", \"role\": "
           "\"build\"}')",
           "may not be an agent with the role 'build'");
  sql_says(&f, "SELECT current_setting('statement_timeout')", "10s");
  sql_says(&f, "SELECT current_setting('idle_in_transaction_session_timeout')",
           "10s");
  finish_with(&f);
}

/* ---- fencing ------------------------------------------------------------ */

/* A batch of two jobs, and agents a and b of two devices. */
static void prepare_queue(fixture *f) {
  begin_as(f, "postgres");
  postgres_ask(
      &pg,
      "CREATE TABLE public.mine (a uuid, b uuid, s bigint, x uuid);"
      "INSERT INTO public.mine SELECT "
      "(fleet.hello('{\"device\": \"a\", \"key\": \"k\", \"role\": \"both\", "
      "\"target\": \"llvm\", \"env\": {}, \"version\": \"1\", \"host\": \"h\", "
      "\"pid\": 1}')->>'agent')::uuid, "
      "(fleet.hello('{\"device\": \"b\", \"key\": \"k\", \"role\": \"both\", "
      "\"target\": \"llvm\", \"env\": {}, \"version\": \"1\", \"host\": \"h\", "
      "\"pid\": 2}')->>'agent')::uuid;"
      "UPDATE public.mine SET (s, x) = (SELECT (v->>'session')::bigint, "
      "(v->>'secret')::uuid FROM (SELECT fleet.open_session('{\"key\": \"k\", "
      "\"program\": \"p\", \"most\": 8}') v) y);"
      "SELECT fleet.submit(s, x, '{\"nonce\": 1, \"task\": {}, \"kind\": "
      "\"measure\", \"best\": 0, \"chunk\": 2, \"jobs\": [{\"decisions\": "
      "[1]}, "
      "{\"decisions\": [2]}], \"checked\": false}') FROM public.mine;"
      "CREATE TABLE public.held AS SELECT c->>'token' AS token, "
      "(c->>'batch')::bigint AS batch, (c->'jobs'->0->>'id')::bigint AS j1, "
      "(c->'jobs'->1->>'id')::bigint AS j2 "
      "FROM (SELECT fleet.claim(a) AS c FROM public.mine) x");
}

static const char finish_as[] =
    "SELECT fleet.finish(%s, batch, token::uuid, %s, '{\"status\": \"OK\", "
    "\"seconds\": %s}') FROM public.mine, public.held";

static void finishes(fixture *f, const char *agent, const char *job,
                     const char *seconds, const char *what) {
  char sql[512];
  snprintf(sql, sizeof sql, finish_as, agent, job, seconds);
  sql_says(f, sql, what);
}

/* A lease that ran out is another's; what the first says late is refused, and
 * nothing is counted twice. */
static void test_fencing(void **state) {
  fixture f;
  (void)state;
  prepare_queue(&f);
  sql_says(&f,
           "SELECT (fleet.claim(a)->>'token') = token FROM public.mine, "
           "public.held",
           "t");
  finishes(&f, "a", "j1", "0.5", "taken");
  finishes(&f, "a", "j1", "0.7", "again");
  sql_says(&f,
           "SELECT fleet.renew(a, batch, token::uuid) FROM public.mine, "
           "public.held",
           "t");
  postgres_ask(&pg, "UPDATE fleet.batch SET expires = now() - "
                    "interval '1 second'");
  finishes(&f, "b", "j2", "0.5", "taken"); /* still nobody else's */
  postgres_ask(&pg,
               "SELECT fleet.submit(s, x, '{\"nonce\": 2, \"task\": {}, "
               "\"kind\": \"measure\", \"best\": 0, \"chunk\": 2, \"jobs\": "
               "[{\"decisions\": [3]}, {\"decisions\": [4]}], \"checked\": "
               "false}') FROM public.mine;"
               "UPDATE public.held SET (token, batch, j1, j2) = (SELECT "
               "c->>'token', (c->>'batch')::bigint, "
               "(c->'jobs'->0->>'id')::bigint, (c->'jobs'->1->>'id')::bigint "
               "FROM (SELECT fleet.claim(a) AS c FROM public.mine) x);"
               "UPDATE fleet.batch SET expires = now() - interval '1 second' "
               "WHERE state = 'leased';"
               "SELECT setval('fleet.swept', 1)"); /* they are looked for now */
  sql_says(&f,
           "SELECT fleet.claim(b)->>'batch' = batch::text FROM public.mine, "
           "public.held",
           "t");
  finishes(&f, "a", "j1", "0.5", "stale");
  sql_says(&f,
           "SELECT fleet.renew(a, batch, token::uuid) FROM public.mine, "
           "public.held",
           "f");
  sql_says(&f,
           "SELECT string_agg(seconds::text, ' ' ORDER BY job) FROM "
           "fleet.result",
           "0.5 0.5");
  sql_says(&f,
           "SELECT lost FROM fleet.job WHERE id = (SELECT j1 FROM "
           "public.held)",
           "{a}");
  finish_with(&f);
  postgres_check(&pg);
}

/* A submission whose answer was lost is the same one. */
static void test_submitted_twice(void **state) {
  static const char again[] =
      "SELECT fleet.submit(s, x, '{\"nonce\": 1, \"task\": {}, \"kind\": "
      "\"measure\", \"best\": 0, \"chunk\": 2, \"jobs\": [{}, {}], "
      "\"checked\": false}')::text FROM public.mine";
  fixture f;
  (void)state;
  begin_as(&f, "postgres");
  sql_says(&f, again, "{1,2}");
  sql_says(&f, "SELECT count(*) FROM fleet.job", "4");
  sql_says(&f,
           "SELECT fleet.submit(s, x, '{\"nonce\": 3, \"task\": {}, \"kind\": "
           "\"measure\", \"best\": 0, \"chunk\": 2, \"jobs\": "
           "[1,2,3,4,5,6,7,8,9], \"checked\": false}') FROM public.mine",
           "the session has 2 jobs in flight, and may have 8");
  sql_says(&f,
           "SELECT fleet.submit(s, gen_random_uuid(), '{}') FROM public.mine",
           "there is no such session");
  finish_with(&f);
}

/* ---- contents ----------------------------------------------------------- */

static void test_contents(void **state) {
  static const char
      bytes[] = "\0\1\2\3 and more",
      missing[FLEET_HASH] =
          "0000000000000000000000000000000000000000000000000000000000000000";
  fixture f;
  char name[FLEET_HASH], second[FLEET_HASH];
  strbuf got;
  (void)state;
  begin_as(&f, "postgres");
  str_init(&got, &f.heap.heap);
  assert_int_equal(fleet_put(f.l, bytes, sizeof bytes, name, &f.e), TESS_OK);
  assert_int_equal(fleet_put(f.l, bytes, sizeof bytes, second, &f.e), TESS_OK);
  assert_string_equal(name, second);
  assert_int_equal(fleet_get(f.l, name, &got, &f.e), TESS_OK);
  assert_int_equal(got.n, sizeof bytes);
  assert_memory_equal(got.v, bytes, sizeof bytes);
  assert_int_equal(fleet_get(f.l, missing, &got, &f.e), TESS_NOT_FOUND);
  str_free(&got);
  finish_with(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),        cmocka_unit_test(test_init_again),
      cmocka_unit_test(test_rights),          cmocka_unit_test(test_fencing),
      cmocka_unit_test(test_submitted_twice), cmocka_unit_test(test_contents)};
  return cmocka_run_group_tests(tests, start_server, end_server);
}
