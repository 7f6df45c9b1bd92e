/* SPDX-License-Identifier: Apache-2.0
 * The sandbox of workers: a filter of system calls (seccomp), and limits.
 * What is refused fails with EPERM, so that a library that tries goes on. */
#include "measure/worker/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#else
#define SANDBOX_ARCH 0
#endif

static const uint32_t refused[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_execve,
    SYS_execveat,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_unshare,
    SYS_setns,
    SYS_init_module,
    SYS_finit_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_truncate,
    SYS_keyctl,
    SYS_add_key,
    SYS_io_uring_setup,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
#ifdef SYS_unlink /* those that only older architectures have */
    SYS_unlink,
    SYS_rename,
    SYS_rmdir,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_chown,
    SYS_renameat,
#endif
#ifndef __SANITIZE_ADDRESS__ /* LeakSanitizer looks at its own process */
    SYS_ptrace,
#endif
};
enum { NREFUSED = sizeof refused / sizeof *refused };

#define LOAD(member) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
/* Whether the next one is skipped. */
#define SKIP_IF(test, x) BPF_JUMP(BPF_JMP | (test) | BPF_K, (x), 1, 0)
#define SKIP_UNLESS(test, x) BPF_JUMP(BPF_JMP | (test) | BPF_K, (x), 0, 1)

/* Calls of another architecture, or of x32, have other numbers. */
static bool filter_calls(void) {
  enum { X32 = 0x40000000, HEAD = 6 };
  struct sock_filter f[HEAD + 2 * NREFUSED + 1] = {
      LOAD(arch),
      SKIP_IF(BPF_JEQ, SANDBOX_ARCH),
      ANSWER(SECCOMP_RET_KILL_PROCESS),
      LOAD(nr),
      SKIP_UNLESS(BPF_JGE, X32),
      ANSWER(SECCOMP_RET_KILL_PROCESS)};
  size_t n = HEAD;
  for (int i = 0; i < NREFUSED; i++) {
    f[n++] = (struct sock_filter)SKIP_UNLESS(BPF_JEQ, refused[i]);
    f[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
  }
  f[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, f};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
         !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  SECCOMP_FILTER_FLAG_TSYNC, &program);
}

/* Sanitizers map far more than they use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITS_DATA = false };
#else
enum { LIMITS_DATA = true };
#endif

static void limit(int what, rlim_t most) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)what, &now)) return;
  if (now.rlim_max < most) most = now.rlim_max;
  setrlimit((__rlimit_resource_t)what, &(struct rlimit){most, most});
}

/* Memory that is not reserved but had: what the machine has. */
static void set_limits(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  limit(RLIMIT_CORE, 0);
  if (LIMITS_DATA && pages > 0 && size > 0)
    limit(RLIMIT_DATA, (rlim_t)pages * (rlim_t)size);
}

bool sandbox_enter(const char **why) {
  *why = "this system has no filter of system calls (seccomp)";
  if (!SANDBOX_ARCH) return false;
  set_limits();
  return filter_calls();
}
