/* SPDX-License-Identifier: Apache-2.0
 * File input and output.  Messages quote the system's reason by %m. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 65536, TRIES = 100 };

static ssize_t read_some(int fd, char *to, size_t n) {
  ssize_t got;
  do got = read(fd, to, n);
  while (got < 0 && errno == EINTR);
  return got;
}

static tess_status open_any(file_reader *f, const char *path, int flags,
                            err_state *err) {
  *f = (file_reader){path, open(path, O_RDONLY | O_CLOEXEC | flags), 0};
  if (f->fd >= 0) return TESS_OK;
  return err_set(err, errno == ENOENT ? TESS_NOT_FOUND : TESS_IO,
                 "cannot open '%s': %m", path);
}

tess_status file_open(file_reader *f, const char *path, err_state *err) {
  struct stat is;
  tess_status s = open_any(f, path, O_NONBLOCK | O_NOCTTY, err);
  if (s) return s;
  if (fstat(f->fd, &is) == 0 && S_ISREG(is.st_mode)) {
    f->size = (uint64_t)is.st_size;
    return TESS_OK;
  }
  file_close(f);
  return err_set(err, TESS_IO, "cannot read '%s': it is not a regular file",
                 path);
}

tess_status file_get(const file_reader *f, void *to, size_t n, size_t *got,
                     err_state *err) {
  ssize_t some = 1;
  for (*got = 0; *got < n && some > 0; *got += some > 0 ? (size_t)some : 0)
    some = read_some(f->fd, (char *)to + *got, n - *got);
  if (some < 0) return err_set(err, TESS_IO, "cannot read '%s': %m", f->path);
  return TESS_OK;
}

void file_close(file_reader *f) {
  close(f->fd);
  f->fd = -1;
}

/* Reads to the end, or one byte past the limit. */
static tess_status read_to_end(const file_reader *f, size_t limit, strbuf *out,
                               err_state *err) {
  char chunk[CHUNK];
  size_t total = 0, got = sizeof chunk;
  while (got == sizeof chunk) {
    tess_status s = file_get(f, chunk, sizeof chunk, &got, err);
    if (s) return s;
    total += got;
    if (total > limit)
      return err_set(err, TESS_LIMIT, "'%s' has more than %zu bytes", f->path,
                     limit);
    str_write(out, chunk, got);
    if (out->bad)
      return err_ran_out(err, out->heap, str_status(out), "reading '%s'",
                         f->path);
  }
  return TESS_OK;
}

tess_status file_read(const char *path, size_t limit, strbuf *out,
                      err_state *err) {
  file_reader f;
  tess_status status = open_any(&f, path, 0, err);
  if (status) return status;
  size_t before = out->n;
  status = read_to_end(&f, limit, out, err);
  file_close(&f);
  if (status != TESS_OK && !out->bad) {
    out->n = before;
    if (out->v) out->v[before] = '\0';
  }
  return status;
}

static bool write_all(int fd, const char *data, size_t n) {
  while (n > 0) {
    ssize_t put = write(fd, data, n);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    data += put;
    n -= (size_t)put;
  }
  return true;
}

/* ---- writing ------------------------------------------------------------ */

static tess_status cannot_write(const char *path, err_state *err) {
  return err_set(err, TESS_IO, "cannot write '%s': %m", path);
}

/* A new file beside w->real, its name in w->temp; -1 with errno set. */
static int open_beside(file_writer *w, mode_t mode) {
  for (int i = 0; i < TRIES; i++) {
    int n = snprintf(w->temp, sizeof w->temp, "%s.%ld.%d.tmp", w->real,
                     (long)getpid(), i);
    if (n < 0 || (size_t)n >= sizeof w->temp) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static bool is_database(const char *path) {
  static const char head[] = "SQLite format 3";
  char is[sizeof head];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  bool yes = fd >= 0 && read_some(fd, is, sizeof is) == sizeof is &&
             !memcmp(is, head, sizeof is);
  if (fd >= 0) close(fd);
  return yes;
}

bool file_is_same(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

tess_status file_create(file_writer *w, const char *path, err_state *err) {
  struct stat was;
  bool exists = stat(path, &was) == 0;
  *w = (file_writer){.path = path, .fd = -1};
  if (exists && !S_ISREG(was.st_mode)) {
    w->fd = open(path, O_WRONLY | O_CLOEXEC);
    return w->fd >= 0 ? TESS_OK : cannot_write(path, err);
  }
  if (exists && is_database(path))
    return err_set(err, TESS_INVALID,
                   "cannot write '%s': it is a database, whose records would "
                   "be lost",
                   path);
  if (!exists || !realpath(path, w->real)) {
    if (strlen(path) >= sizeof w->real) {
      errno = ENAMETOOLONG;
      return cannot_write(path, err);
    }
    strcpy(w->real, path);
  }
  w->fd = open_beside(w, exists ? was.st_mode & 0777 : 0666);
  return w->fd >= 0 ? TESS_OK : cannot_write(path, err);
}

tess_status file_append(file_writer *w, const void *data, size_t n,
                        err_state *err) {
  return write_all(w->fd, data, n) ? TESS_OK : cannot_write(w->path, err);
}

const char *file_place(const file_writer *w) {
  return *w->temp ? w->temp : w->path;
}

tess_status file_commit(file_writer *w, tess_status s, err_state *err) {
  bool beside = *w->temp != '\0';
  if (w->fd < 0) return s;
  if (s == TESS_OK && beside && fsync(w->fd)) s = cannot_write(w->path, err);
  if (close(w->fd) && s == TESS_OK) s = cannot_write(w->path, err);
  if (s == TESS_OK && beside && rename(w->temp, w->real))
    s = cannot_write(w->path, err);
  if (s != TESS_OK && beside) unlink(w->temp);
  w->fd = -1;
  return s;
}

tess_status file_write(const char *path, const void *data, size_t n,
                       err_state *err) {
  file_writer w;
  tess_status s = file_create(&w, path, err);
  if (s == TESS_OK) s = file_append(&w, data, n, err);
  return file_commit(&w, s, err);
}
