/* SPDX-License-Identifier: Apache-2.0
 * File input and output.  Messages quote the system's reason by %m. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Closes fd in any case; errno is that of the first failure. */
static bool write_and_close(int fd, const char *data, size_t n, bool sync) {
  bool good = write_all(fd, data, n) && (!sync || fsync(fd) == 0);
  int why = errno;
  bool closed = close(fd) == 0;
  if (!good) errno = why;
  return good && closed;
}

/* A new file beside `path`, its name in `temp`; -1 with errno set. */
static int open_beside(const char *path, mode_t mode, char *temp, size_t size) {
  for (int i = 0; i < TRIES; i++) {
    int n = snprintf(temp, size, "%s.%ld.%d.tmp", path, (long)getpid(), i);
    if (n < 0 || (size_t)n >= size) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static tess_status cannot_write(const char *path, err_state *err) {
  return err_set(err, TESS_IO, "cannot write '%s': %m", path);
}

static tess_status write_directly(const char *path, const void *data, size_t n,
                                  err_state *err) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || !write_and_close(fd, data, n, false))
    return cannot_write(path, err);
  return TESS_OK;
}

tess_status file_write(const char *path, const void *data, size_t n,
                       err_state *err) {
  struct stat was;
  bool exists = stat(path, &was) == 0;
  if (exists && !S_ISREG(was.st_mode))
    return write_directly(path, data, n, err);
  char real[PATH_MAX], temp[PATH_MAX];
  if (exists && realpath(path, real)) path = real;
  int fd =
      open_beside(path, exists ? was.st_mode & 0777 : 0666, temp, sizeof temp);
  if (fd < 0) return cannot_write(path, err);
  if (write_and_close(fd, data, n, true) && rename(temp, path) == 0)
    return TESS_OK;
  tess_status status = cannot_write(path, err);
  unlink(temp);
  return status;
}
