/* SPDX-License-Identifier: Apache-2.0
 * Signatures of object code (Ed25519, by libsodium, which is loaded when they
 * are wanted): build agents hold the private key of their fleet, and run agents
 * take nothing that it did not sign. */
#ifndef FLEET_SIGN_H
#define FLEET_SIGN_H

#include "fleet/work.h"

enum { FLEET_SIGNATURE = 129, FLEET_KEY_BYTES = 64 };

typedef struct fleet_signer {
  unsigned char key[FLEET_KEY_BYTES]; /* private, or the public first half */
  int (*sign)(unsigned char *sig, unsigned long long *n,
              const unsigned char *m, unsigned long long nm,
              const unsigned char *key);
  int (*verify)(const unsigned char *sig, const unsigned char *m,
                unsigned long long nm, const unsigned char *key);
} fleet_signer;

/* Makes DIR/fleet.key, which only its owner may read, and DIR/fleet.pub.
 * INVALID: one is there. */
tess_status fleet_make_keys(mem_heap *heap, const char *dir, err_state *e);
/* From a file of either; UNSUPPORTED: there is no libsodium; NOT_FOUND, IO,
 * INVALID. */
tess_status fleet_signer_open(mem_heap *heap, const char *path, bool private,
                              fleet_signer *out, err_state *e);

/* What is signed is the code together with what it was built of: version,
 * target, program and candidate, so that no code passes for another's.
 * `signature`: in hexadecimal. */
tess_status fleet_sign(const fleet_signer *s, const fleet_task *t,
                       const fleet_job *j, const strbuf *code,
                       char signature[FLEET_SIGNATURE], err_state *e);
/* INVALID: it is not that signature. */
tess_status fleet_verify(const fleet_signer *s, const fleet_task *t,
                         const fleet_job *j, const strbuf *code, err_state *e);

#endif
