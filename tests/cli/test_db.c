/* SPDX-License-Identifier: Apache-2.0
 * The sub-commands of `tessera db`: what they list, select and refuse, and the
 * files that they leave alone. */
#include "support/records.h"

/* Programs of one name are told apart, and lists say what they leave out. */
static void lists_of_several_programs(void **state) {
  (void)state;
  remove_database();
  console_write(&c, "e.lua",
                "local ops = require 'tessera.ops'\n"
                "return { program = ops.matmul { m = 8, n = 16, k = 16 },\n"
                "  target = 'llvm', seed = 1, min_time = 0.001,\n"
                "  threads = 1, kernel_threads = 1 }\n");
  records_run("tune d.lua --trials 3 --db a.db");
  records_run("tune e.lua --trials 2 --db a.db");
  says("db a.db", ": A: float32[16, 16], B: float32[16, 16], C: out float32");
  says("db a.db", ": A: float32[8, 16], B: float32[16, 16], C: out float32");
  assert_null(strstr(c.out, "lists all"));
  says("db a.db --limit 1",
       "\n-- 1 of 5 records; `tessera db a.db --limit 5` lists all\n");
  says("db a.db --program e.lua --limit 1", "\n-- 1 of 2 records; ");
  assert_null(strstr(c.out, "float32[16, 16], B"));
  says("db a.db --workload matmul --target llvm --limit 1", "-- 1 of 5 ");
  says("db a.db --workload nobody --target llvm",
       "a.db: none of its 5 records is of that workload and target\n");
  says("show a.db:1", "\n-- workload matmul ");
}

/* What a filter selects is removed, except for the best so many; --dry-run
 * counts only. */
static void pruned_by_filter(void **state) {
  (void)state;
  console_run(&c, "cp a.db p.db");
  says("db prune p.db --failed", "p.db: 0 records removed\n");
  says("db prune p.db --older-than 1d", "p.db: 0 records removed\n");
  says("db list p.db --older-than 1d", "of its 5 records is of that age\n");
  says("db prune p.db --program e.lua --outside-space",
       "p.db: 0 records removed\n");
  console_write(&c, "narrow.lua",
                "local d = dofile 'e.lua'\n"
                "return { program = d.program or d,\n"
                "         space = function(sch) end }\n");
  says("db prune p.db --program narrow.lua --outside-space --dry-run",
       "p.db: 2 records would be removed\n");
  says("db prune p.db --program e.lua --keep 1 --dry-run",
       "p.db: 1 record would be removed\n");
  says("db best p.db", "        2        0  matmul ");
  says("db prune p.db --program e.lua --keep 1", "p.db: 1 record removed\n");
  says("db best p.db", "        1        0  matmul ");
  says("db best p.db", "        3        0  matmul ");
  says("db prune p.db --program e.lua", "p.db: 1 record removed\n");
  says("db best p.db", "        3        0  matmul ");
  assert_null(strstr(c.out, "        1        0  matmul "));
  says("db verify p.db", "p.db: 3 records, 0 bad\n");
}

static void refuses(const char *args, const char *text) {
  int status = console_run(&c, "%s %s", CONSOLE_TESSERA, args);
  if (status != 2 || !strstr(c.err, text))
    fail_msg("%s: status %d: %s", args, status, c.err);
}

/* An option of `tessera db` selects, also in the hint how to list all, or is
 * refused: nothing that is given is passed over. */
static void options_of_databases(void **state) {
  static const char *const words[] = {"best",   "diff",  "merge", "export",
                                      "import", "prune", "verify"};
  static const char *const options[] = {
      "--program e.lua", "--workload matmul", "--target llvm", "--limit 3",
      "--keep 1",        "-o x.jsonl",        "--tvm x"};
  /* Which of the options each word takes; of the others it refuses a third is
   * tried. */
  static const unsigned takes[] = {7, 0, 0, 0x61, 0x41, 0x17, 0};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
      char args[80], text[80];
      if (takes[i] >> k & 1 || (i + k) % 3) continue;
      snprintf(args, sizeof args, "db %s a.db %s", words[i], options[k]);
      snprintf(text, sizeof text, "unknown option %.*s",
               (int)strcspn(options[k], " "), options[k]);
      refuses(args, text);
    }
  }
  refuses("db prune a.db --keep 1 --limit 3",
          "unknown option --limit of db prune, which has --dry-run");
  refuses("db prune a.db", "needs --keep N, or options that say what");
  refuses("db prune a.db --older-than 30", "'30' is no age, as 30d or 12h");
  refuses("db prune a.db --outside-space", "needs --program FILE.lua");
  refuses("db verify a.db --keep 1", " of db verify, which has none");
  refuses("db export a.db -o x.jsonl --program e.lua", "only with --tvm");
  refuses("db import a.db x.jsonl --program e.lua", "only with --tvm");
  refuses("db export a.db -o x.jsonl --tvm x", "-o or --tvm DIR, not both");
  says("db a.db", "\n     5  "); /* all are there */
  says("db best a.db", "        3        0  matmul ");
  says("db best a.db", "        2        0  matmul ");
  says("db best a.db --program e.lua", "        2        0  matmul ");
  assert_null(strstr(c.out, "        3        0  matmul "));
  says("db best a.db --workload nobody",
       "a.db: none of its 5 records is of that workload\n");
  says("show a.db --program e.lua", ": A: float32[8, 16], B: ");
  assert_null(strstr(c.out, "A: float32[16, 16]"));
  says("db a.db --limit 1 --workload matmul",
       "`tessera db a.db --workload matmul --limit 5` lists all\n");
  says("db a.db --program ./e.lua --target 'llvm ' --limit 1",
       "`tessera db a.db --program ./e.lua --target 'llvm ' --limit 2` lists");
}

/* What is misspelt is told with what there is, and leaves nothing behind. */
static void words_of_databases(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db");
  refuses("db foo a.db", "db has no sub-command 'foo'; it has best, diff, "
                         "export, import, list, merge, prune, verify");
  refuses("db verify", "db verify takes one FILE");
  console_write(&c, "bad.jsonl", "{}\nno line\n");
  static const char *const calls[] = {
      "db import new.db none.jsonl", "db import new.db bad.jsonl",
      "db merge new.db none.db", "db import new.db --tvm none --program d.lua"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    assert_int_equal(console_run(&c, CONSOLE_TESSERA " %s", calls[i]), 1);
    if (!console_run(&c, "ls new.db*")) fail_msg("%s: %s", calls[i], c.out);
  }
  assert_int_equal(console_run(&c, CONSOLE_TESSERA " db import a.db bad.jsonl"),
                   1);
  assert_int_equal(console_run(&c, CONSOLE_TESSERA
                               " report a.db -o no.html --workload nothing"),
                   1);
  assert_string_equal(c.out, "a.db: none of its 1 records is of that "
                             "workload\n");
  assert_int_not_equal(console_run(&c, "ls no.html"), 0);
  console_run(&c, "mkdir tvm; echo garbage > tvm/tuning_record.json");
  assert_int_equal(console_run(&c, CONSOLE_TESSERA
                               " db import a.db --tvm tvm --program d.lua"),
                   1);
  assert_non_null(strstr(c.err, "nothing was taken over, 1 left out; the "
                                "first: "));
  says("db verify a.db", "a.db: 1 record, 0 bad\n");
  assert_int_equal(console_run(&c,
                               "TESSERA_DATABASE_PATIENCE=abc " CONSOLE_TESSERA
                               " db a.db"),
                   1);
  assert_non_null(strstr(c.err, "TESSERA_DATABASE_PATIENCE is 'abc', not an "
                                "integer of milliseconds from 1 on"));
}

/* What is written replaces neither what is read nor a database. */
static void own_files_stay(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 2 --db a.db");
  console_run(&c, "ln -s a.db link.db");
  refuses("db export a.db -o a.db",
          "option -o: 'a.db' is read, and would be overwritten");
  refuses("db export link.db -o ./a.db", "would be overwritten");
  refuses("report a.db -o a.db", "would be overwritten");
  refuses("report a.db -o d.lua --program d.lua", "would be overwritten");
  refuses("build d.lua -o x.o --header d.lua",
          "option --header: 'd.lua' is read");
  refuses("build d.lua -o x.o --header x.o", "-o and --header name one file");
  refuses("build a.db:1 -o x.o --header a.db", "would be overwritten");
  console_says(&c, "build d.lua -o x.o --header a.db", 1,
               "cannot write 'a.db': it is a database");
  console_run(&c, "echo 'w a.db' | " CONSOLE_TESSERA " step d.lua");
  says("db verify a.db", "a.db: 2 records, 0 bad\n");
  assert_int_not_equal(console_run(&c, "ls *.tmp"), 0);
  records_run("db export a.db -o a.jsonl");
  assert_int_equal(console_run(&c, "test $(wc -l < a.jsonl) = 3"), 0);
}

#ifndef __SANITIZE_ADDRESS__
/* Where there is no memory for a line it is not taken for the end of the
 * file. */
static void lines_without_end(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 2 --db a.db");
  console_run(&c, CONSOLE_TESSERA " db export a.db -o long.jsonl;"
                                  "truncate -s 3G long.jsonl; rm -f new.db*");
  assert_int_equal(console_run(&c, "ulimit -v 3000000; " CONSOLE_TESSERA
                                   " db import new.db long.jsonl"),
                   1);
  assert_non_null(strstr(c.err, "long.jsonl, line 4: it has more than 64 MiB"));
  assert_int_not_equal(console_run(&c, "ls new.db"), 0);
}
#endif

/* All 64 bits are taken, and are those that -1 has in Lua. */
static void greatest_seed(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db --seed 18446744073709551615");
  change("INSERT INTO meta SELECT 'seed', seed FROM session;"
         "UPDATE workload SET name = 'seed ' || "
         "(SELECT value FROM meta WHERE key = 'seed')");
  says("db a.db", "seed -1 ");
  records_run("tune d.lua --trials 1 --db a.db --seed 0");
}

static void cannot_be_opened(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {".", "(Is a directory)"},
      {"/proc/x.db", "(no file can be made there)"},
      {"no/such.db", "(no such directory)"},
      {"d.lua/x.db", "(Not a directory)"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status = console_run(&c, "%s tune d.lua --trials 1 --db %s",
                             CONSOLE_TESSERA, cases[i][0]);
    assert_int_equal(status, 1);
    if (!strstr(c.err, cases[i][0]) || !strstr(c.err, cases[i][1]))
      fail_msg("%s is not in: %s", cases[i][1], c.err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_of_several_programs),
      cmocka_unit_test(pruned_by_filter),
      cmocka_unit_test(options_of_databases),
      cmocka_unit_test(words_of_databases),
      cmocka_unit_test(own_files_stay),
#ifndef __SANITIZE_ADDRESS__
      cmocka_unit_test(lines_without_end),
#endif
      cmocka_unit_test(greatest_seed),
      cmocka_unit_test(cannot_be_opened)};
  return cmocka_run_group_tests(tests, records_set_up, records_tear_down);
}
