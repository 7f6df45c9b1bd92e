/* SPDX-License-Identifier: Apache-2.0
 * Whole files.  Messages quote the system's reason by %m. */
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

/* Reads on from fd until its end or one byte over the limit. */
static tess_status read_all(int fd, const char *path, size_t limit, strbuf *out,
                            err_state *err) {
  char chunk[CHUNK];
  size_t total = 0;
  ssize_t got;
  while ((got = read_some(fd, chunk, sizeof chunk)) > 0) {
    total += (size_t)got;
    if (total > limit)
      return err_set(err, TESS_LIMIT, "'%s' has more than %zu bytes", path,
                     limit);
    str_write(out, chunk, (size_t)got);
    if (out->bad)
      return err_set(err, TESS_NOMEM, "out of memory reading '%s'", path);
  }
  if (got < 0) return err_set(err, TESS_IO, "cannot read '%s': %m", path);
  return TESS_OK;
}

tess_status file_read(const char *path, size_t limit, strbuf *out,
                      err_state *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return err_set(err, errno == ENOENT ? TESS_NOT_FOUND : TESS_IO,
                   "cannot open '%s': %m", path);
  size_t before = out->n;
  tess_status status = read_all(fd, path, limit, out, err);
  close(fd);
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

/* Closes fd whatever happens; errno tells of the first failure. */
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
