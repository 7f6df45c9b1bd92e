/* SPDX-License-Identifier: Apache-2.0
 * Whole files: what was written is read back, and failures leave the old file
 * and report what failed and why. */
#include "support/test.h"
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file_case {
  test_heap t;
  strbuf text;
  err_state err;
  char dir[64], path[128];
} file_case;

static void case_start(file_case *c) {
  test_heap_start(&c->t, 0);
  str_init(&c->text, &c->t.heap);
  err_clear(&c->err);
  strcpy(c->dir, "/tmp/tessera_file_XXXXXX");
  assert_non_null(mkdtemp(c->dir));
  snprintf(c->path, sizeof c->path, "%s/a.txt", c->dir);
}

/* The folder holds the given number of files, none of them temporary. */
static void case_end(file_case *c, int files) {
  DIR *d = opendir(c->dir);
  char path[512];
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", c->dir, e->d_name);
    assert_null(strstr(e->d_name, ".tmp"));
    unlink(path);
    files--;
  }
  closedir(d);
  assert_int_equal(files, 0);
  assert_int_equal(rmdir(c->dir), 0);
  str_free(&c->text);
  test_heap_end(&c->t);
}

static void file_write_text(file_case *c, const char *text) {
  assert_int_equal(file_write(c->path, text, strlen(text), &c->err), TESS_OK);
}

static void holds(file_case *c, const char *path, const char *text) {
  str_clear(&c->text);
  assert_int_equal(file_read(path, 1 << 20, &c->text, &c->err), TESS_OK);
  assert_string_equal(str_get(&c->text), text);
}

static void test_round_trip(void **state) {
  (void)state;
  file_case c;
  case_start(&c);
  file_write_text(&c, "one\n");
  holds(&c, c.path, "one\n");
  file_write_text(&c, "");
  holds(&c, c.path, "");
  char *big = malloc(300001);
  memset(big, 'z', 300000);
  big[300000] = '\0';
  file_write_text(&c, big);
  holds(&c, c.path, big);
  free(big);
  case_end(&c, 1);
}

static void test_reading_fails_clearly(void **state) {
  (void)state;
  file_case c;
  char want[256];
  case_start(&c);
  assert_int_equal(file_read(c.path, 10, &c.text, &c.err), TESS_NOT_FOUND);
  snprintf(want, sizeof want, "cannot open '%s': No such file or directory",
           c.path);
  assert_string_equal(c.err.message, want);
  assert_int_equal(file_read(c.dir, 10, &c.text, &c.err), TESS_IO);
  file_write_text(&c, "0123456789");
  str_puts(&c.text, "before");
  assert_int_equal(file_read(c.path, 9, &c.text, &c.err), TESS_LIMIT);
  assert_string_equal(str_get(&c.text), "before");
  assert_int_equal(file_read(c.path, 10, &c.text, &c.err), TESS_OK);
  assert_string_equal(str_get(&c.text), "before0123456789");
  str_free(&c.text);
  fault_arm(&c.t.fault, 1);
  assert_int_equal(file_read(c.path, 10, &c.text, &c.err), TESS_NOMEM);
  case_end(&c, 1);
}

static void test_writing_fails_clearly(void **state) {
  (void)state;
  file_case c;
  char path[200];
  case_start(&c);
  snprintf(path, sizeof path, "%s/none/a", c.dir);
  assert_int_equal(file_write(path, "x", 1, &c.err), TESS_IO);
  assert_non_null(strstr(c.err.message, path));
  assert_int_equal(file_write(c.dir, "x", 1, &c.err), TESS_IO);
  assert_int_equal(file_write("/dev/full", "x", 1, &c.err), TESS_IO);
  assert_non_null(strstr(c.err.message, "No space left"));
  assert_int_equal(file_write("/dev/null", "x", 1, &c.err), TESS_OK);
  case_end(&c, 0);
}

static void test_mode_and_links_stay(void **state) {
  (void)state;
  file_case c;
  char link[128];
  struct stat s;
  case_start(&c);
  snprintf(link, sizeof link, "%s/link", c.dir);
  file_write_text(&c, "old");
  assert_int_equal(chmod(c.path, 0600), 0);
  assert_int_equal(symlink("a.txt", link), 0);
  assert_int_equal(file_write(link, "new", 3, &c.err), TESS_OK);
  holds(&c, c.path, "new");
  assert_int_equal(lstat(link, &s), 0);
  assert_true(S_ISLNK(s.st_mode));
  assert_int_equal(stat(c.path, &s), 0);
  assert_int_equal(s.st_mode & 0777, 0600);
  case_end(&c, 2);
}

/* Until the end the old file is there, and after a failure it stays. */
static void test_written_beside(void **state) {
  (void)state;
  file_case c;
  file_writer w;
  case_start(&c);
  file_write_text(&c, "old");
  assert_int_equal(file_create(&w, c.path, &c.err), TESS_OK);
  assert_int_equal(file_append(&w, "half", 4, &c.err), TESS_OK);
  holds(&c, c.path, "old");
  assert_int_equal(file_commit(&w, TESS_NOMEM, &c.err), TESS_NOMEM);
  holds(&c, c.path, "old");
  assert_int_equal(file_create(&w, c.path, &c.err), TESS_OK);
  assert_int_equal(file_append(&w, "one ", 4, &c.err), TESS_OK);
  assert_int_equal(file_append(&w, "two", 3, &c.err), TESS_OK);
  assert_int_equal(file_commit(&w, TESS_OK, &c.err), TESS_OK);
  holds(&c, c.path, "one two");
  case_end(&c, 1);
}

/* A database is never replaced by something else. */
static void test_databases_stay(void **state) {
  (void)state;
  static const char head[] = "SQLite format 3";
  file_case c;
  case_start(&c);
  assert_int_equal(file_write(c.path, head, sizeof head, &c.err), TESS_OK);
  assert_int_equal(file_write(c.path, "x", 1, &c.err), TESS_INVALID);
  assert_non_null(strstr(c.err.message, "it is a database"));
  holds(&c, c.path, head);
  case_end(&c, 1);
}

static void test_same_file(void **state) {
  (void)state;
  file_case c;
  char link[128];
  case_start(&c);
  snprintf(link, sizeof link, "%s/link", c.dir);
  assert_false(file_is_same(c.path, c.path));
  file_write_text(&c, "x");
  assert_int_equal(symlink("a.txt", link), 0);
  assert_true(file_is_same(c.path, link));
  assert_false(file_is_same(c.path, c.dir));
  case_end(&c, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_reading_fails_clearly),
      cmocka_unit_test(test_writing_fails_clearly),
      cmocka_unit_test(test_mode_and_links_stay),
      cmocka_unit_test(test_written_beside),
      cmocka_unit_test(test_databases_stay),
      cmocka_unit_test(test_same_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
