/* SPDX-License-Identifier: Apache-2.0
 * Fleets of devices.  Included by tessera.h, whose first page holds for this
 * part, too. */
#ifndef TESSERA_FLEET_H
#define TESSERA_FLEET_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A fleet is a PostgreSQL database in which tuning runs leave what is to be
 * measured and agents, which may be anywhere, fetch it (docs/fleet.md).  It is
 * given by its address, as libpq takes it ("postgres://user@host/fleet"); libpq
 * is loaded when one is used, and UNSUPPORTED says that it is not there. */

typedef struct tess_agent_options {
  uint32_t struct_size;         /* sizeof(tess_agent_options) */
  int32_t share_cores;          /* 1: its cores, or device, may be others' */
  const char *fleet;
  const char *key;              /* of equal devices: "zen3-2c", "sm_90" */
  const char *name;             /* of the device, and of no other of the fleet;
                                 * NULL: of the host and the cores */
  const char *role;             /* "build", "run" or, NULL, "both" */
  const char *target;           /* NULL: "llvm" with its cores, or `device` */
  const char *cores;            /* "0,1"; NULL: all of the process */
  const char *device;           /* "cuda:0"; NULL: none */
  int32_t poll;                 /* 1: the server has no LISTEN, as behind a
                                 * pooler */
  int32_t reserved;
  void (*say)(void *ud, const char *line);   /* events; NULL: nobody is told */
  void *say_ud;
  const char *sign;             /* the file of the fleet's private key, which an
                                 * agent that only builds needs */
  const char *trust;            /* and of its public key, which one that only
                                 * runs needs: what it runs was signed, and
                                 * runs in a sandbox */
  const char *via;              /* a command of the shell that starts a program
                                 * on the device ("ssh board"), which then needs
                                 * nothing but tessera-run; NULL: the device is
                                 * of this machine */
  const char *runner;           /* the path of tessera-run there; NULL: that of
                                 * the target's beside tessera-worker, as
                                 * emulators find it */
} tess_agent_options;

/* Measures for the fleet until tess_stop(), or until it is told to drain; what
 * it is at then is finished.  A server that goes away later is waited for;
 * INFRA: it was not there at the beginning, a core is another agent's, or the
 * name is. */
TESS_API tess_status tess_agent_run(tess_context *c,
                                    const tess_agent_options *o);
/* Steers a fleet; arguments (NULL: none) and answer are JSON.  "init" {"lease":
 * seconds, "keys": folder} makes the schema or brings it up to date, and the
 * keys fleet.key and fleet.pub, if a folder is given; "status", "metrics" and
 * "check" tell; "target" {"key"} is that of a key's devices; "doctor" {"key"}
 * tries an empty job, hop by hop; "add" {"name", "role", "password"} makes a
 * user; "pause" {"name", "on"}, "drain" and "retry" {"name"} are of a device or
 * of a key; "gc" {"age": seconds} forgets.  NOT_FOUND: no such command;
 * INVALID: it was refused, and why; INFRA. */
TESS_API tess_status tess_fleet_call(tess_context *c, const char *fleet,
                                     const char *command, const char *json,
                                     TESS_GIVE char **out);

#ifdef __cplusplus
}
#endif

#endif
