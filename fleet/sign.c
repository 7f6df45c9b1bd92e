/* SPDX-License-Identifier: Apache-2.0
 * Signatures of object code. */
#include "fleet/sign.h"
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PUBLIC = 32, PRIVATE = 64, SIGNED = 64 };

/* ---- libsodium ---------------------------------------------------------- */

typedef struct sodium {
  int (*init)(void);
  int (*keypair)(unsigned char *public, unsigned char *private);
} sodium;

static bool find_sodium(void *lib, const char *name, void *to) {
  void *symbol = dlsym(lib, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* It stays loaded, as it keeps a source of random numbers. */
static tess_status load_sodium(sodium *x, fleet_signer *s, err_state *e) {
  void *lib = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lib)
    return err_set(e, TESS_UNSUPPORTED, "signatures need libsodium: %s",
                   dlerror());
  bool whole =
      find_sodium(lib, "sodium_init", &x->init) &&
      find_sodium(lib, "crypto_sign_ed25519_keypair", &x->keypair) &&
      find_sodium(lib, "crypto_sign_ed25519_detached", &s->sign) &&
      find_sodium(lib, "crypto_sign_ed25519_verify_detached", &s->verify) &&
      x->init() >= 0;
  dlclose(lib);
  return whole ? TESS_OK
               : err_set(e, TESS_UNSUPPORTED, "libsodium lacks Ed25519");
}

/* ---- hexadecimal -------------------------------------------------------- */

static void write_hex(const unsigned char *bytes, int n, char *out) {
  for (int i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool read_hex(const char *text, int n, unsigned char *out) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 2 * n; i++) {
    const char *at = text[i] ? strchr(digits, text[i]) : NULL;
    if (!at) return false;
    int nibble = (int)(at - digits);
    out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] | nibble : nibble << 4);
  }
  return !text[2 * n] || text[2 * n] == '\n';
}

/* ---- keys --------------------------------------------------------------- */

static tess_status write_key(const char *dir, const char *name, mode_t mode,
                             const unsigned char *key, int n, err_state *e) {
  char path[4096], text[2 * PRIVATE + 2];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  write_hex(key, n, text);
  strcat(text, "\n");
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return err_set(e, errno == EEXIST ? TESS_INVALID : TESS_IO, "%s: %s", path,
                   errno == EEXIST ? "there is a key already"
                                   : strerror(errno));
  ssize_t size = (ssize_t)strlen(text);
  bool written = write(fd, text, (size_t)size) == size && fsync(fd) == 0;
  int why = errno;
  close(fd);
  if (written) return TESS_OK;
  unlink(path);
  return err_set(e, TESS_IO, "%s: %s", path, strerror(why));
}

tess_status fleet_make_keys(mem_heap *heap, const char *dir, err_state *e) {
  unsigned char public[PUBLIC], private[PRIVATE];
  sodium x;
  fleet_signer s;
  (void)heap;
  tess_status st = load_sodium(&x, &s, e);
  if (st != TESS_OK) return st;
  x.keypair(public, private);
  st = write_key(dir, "fleet.key", 0600, private, PRIVATE, e);
  return st == TESS_OK ? write_key(dir, "fleet.pub", 0644, public, PUBLIC, e)
                       : st;
}

tess_status fleet_signer_open(mem_heap *heap, const char *path, bool private,
                              fleet_signer *out, err_state *e) {
  enum { MOST = 4096 };
  sodium x;
  strbuf text;
  str_init(&text, heap);
  tess_status s = load_sodium(&x, out, e);
  if (s == TESS_OK) s = file_read(path, MOST, &text, e);
  if (s == TESS_OK &&
      !read_hex(str_get(&text), private ? PRIVATE : PUBLIC, out->key))
    s = err_set(e, TESS_INVALID, "%s is no %s key of a fleet", path,
                private ? "private" : "public");
  str_free(&text);
  return s;
}

/* ---- signing ------------------------------------------------------------ */

static tess_status write_message(const fleet_task *t, const fleet_job *j,
                                 const strbuf *code, strbuf *out,
                                 err_state *e) {
  str_printf(out, "tessera object 1\n%s\n%s\n%s\n%s\n", t->version, t->target,
             t->program, j->trace ? j->trace : "-");
  for (uint32_t i = 0; i < j->n; i++)
    str_printf(out, "%lld ", (long long)j->decisions[i]);
  str_puts(out, j->given ? "\n" : "-\n");
  str_write(out, code->v, code->n);
  return out->bad ? err_ran_out(e, out->heap, str_status(out), "a signature")
                  : TESS_OK;
}

tess_status fleet_sign(const fleet_signer *s, const fleet_task *t,
                       const fleet_job *j, const strbuf *code,
                       char signature[FLEET_SIGNATURE], err_state *e) {
  unsigned char sig[SIGNED];
  strbuf message;
  str_init(&message, code->heap);
  tess_status st = write_message(t, j, code, &message, e);
  if (st == TESS_OK) {
    s->sign(sig, NULL, (const unsigned char *)message.v, message.n, s->key);
    write_hex(sig, SIGNED, signature);
  }
  str_free(&message);
  return st;
}

tess_status fleet_verify(const fleet_signer *s, const fleet_task *t,
                         const fleet_job *j, const strbuf *code, err_state *e) {
  unsigned char sig[SIGNED];
  strbuf message;
  str_init(&message, code->heap);
  tess_status st = write_message(t, j, code, &message, e);
  if (st == TESS_OK &&
      (!j->signature || !read_hex(j->signature, SIGNED, sig) ||
       s->verify(sig, (const unsigned char *)message.v, message.n, s->key)))
    st = err_set(e, TESS_INVALID,
                 "the object of job %lld is not signed by a build agent of "
                 "this fleet",
                 (long long)j->id);
  str_free(&message);
  return st;
}
