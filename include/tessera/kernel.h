/* SPDX-License-Identifier: Apache-2.0
 * Targets, tensors and compiled kernels.  Included by tessera.h, whose first
 * page holds for this part, too. */
#ifndef TESSERA_KERNEL_H
#define TESSERA_KERNEL_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is compiled for: "llvm -mcpu=znver3 -num-cores=2"; "llvm" alone: this
 * machine.  NOT_FOUND for a backend or an option that there is not, INVALID for
 * an option's value, each named in the message. */
TESS_API tess_status tess_target_new(tess_context *c, const char *text,
                                     TESS_GIVE tess_target **out);
/* One more owner, who drops it by tess_target_free; NULL of NULL. */
TESS_API tess_target *tess_target_hold(tess_target *t);
TESS_API void tess_target_free(TESS_TAKE tess_target *t);
TESS_API const char *tess_target_text(tess_target *t);  /* completed */
/* A field ("num-cores" "vector-bytes" "l1" "l2" ...) or -1. */
TESS_API int64_t tess_target_int(tess_target *t, const char *field);
/* Has its processor a feature, by LLVM's name ("avx512vnni"; of CUDA "sm_80",
 * that or later), as -mcpu and -mattr imply it?  Features that only system code
 * uses ("clwb") are known of this machine's processor alone. */
TESS_API int tess_target_has(tess_target *t, const char *feature);
/* Whether a name is that of a field (of any kind of target), or of a feature
 * that processors have, so that tess_target_int and tess_target_has say
 * something about it.  NOT_FOUND, with the name that was probably meant;
 * INVALID for a field that is a text, as "mcpu". */
TESS_API tess_status tess_target_check_field(tess_target *t, const char *field);
TESS_API tess_status tess_target_check_feature(tess_target *t,
                                               const char *feature);

/* A tensor in this process's memory.  fill: "zeros" "random" (uniform in [0,1);
 * integers over a small range) "integers" (small integers that sums of
 * represent exactly) "empty".  INVALID for another and NULL; NOMEM. */
TESS_API tess_status tess_tensor_new(tess_context *c, tess_dtype t,
    uint32_t ndim, const int64_t *shape, const char *fill, uint64_t seed,
    TESS_GIVE tess_tensor **out);
TESS_API void tess_tensor_free(TESS_TAKE tess_tensor *t);
/* A copy in the memory of a device, "cuda:0" or "opencl:0" (a number: of those
 * here, from 0), for kernels that run there, or of the processor, "cpu".  A
 * worker process holds what is on devices; INFRA: it ended (a kernel failed, or
 * was stopped), and the contents are lost.  INVALID: no name of a device;
 * UNSUPPORTED: there is none here, or the context is in_process; NOMEM;
 * LIMIT for more than 2 GiB, as for copies back. */
TESS_API tess_status tess_tensor_to(tess_tensor *t, const char *device,
                                    TESS_GIVE tess_tensor **out);
/* Where it is: "cpu", "opencl:0". */
TESS_API const char *tess_tensor_device(tess_tensor *t);
/* Its elements, row-major; the shape has ndim extents.  NULL for a tensor on a
 * device, of which no element can be got, set, compared or saved
 * (UNSUPPORTED). */
TESS_API void *tess_tensor_data(tess_tensor *t);
TESS_API tess_dtype tess_tensor_dtype(tess_tensor *t);
TESS_API uint32_t tess_tensor_ndim(tess_tensor *t);
TESS_API const int64_t *tess_tensor_shape(tess_tensor *t);
TESS_API int64_t tess_tensor_size(tess_tensor *t);    /* elements */
/* One element, by an index a dimension; BOUNDS outside of the shape.  As a
 * double, which may round those of 64-bit integers; what is set is rounded to
 * a float, to an integer it is cut off and saturates. */
TESS_API tess_status tess_tensor_get(tess_tensor *t, const int64_t *idx,
                                     double *out);
TESS_API tess_status tess_tensor_set(tess_tensor *t, const int64_t *idx,
                                     double v);
/* The same of integers, exactly: get takes no tensors of floats (TYPE), and
 * an element of uint64 is its 64 bits, so those from 2^63 on are negative. */
TESS_API tess_status tess_tensor_get_int(tess_tensor *t, const int64_t *idx,
                                         int64_t *out);
TESS_API tess_status tess_tensor_set_int(tess_tensor *t, const int64_t *idx,
                                         int64_t v);
/* Contents of src into dst, of the same dtype and shape, else TYPE; wherever
 * each is. */
TESS_API tess_status tess_tensor_copy(tess_tensor *dst, tess_tensor *src);
/* Greatest |a - b| and greatest relative difference; nan counts as inf. */
TESS_API tess_status tess_tensor_compare(tess_tensor *a, tess_tensor *b,
                                         double *abs, double *rel);
/* Files of NumPy (.npy), row-major: IO, PARSE, UNSUPPORTED for a dtype that
 * there is not here.  Only regular files are loaded.  The text is shortened,
 * for people. */
TESS_API tess_status tess_tensor_load(tess_context *c, const char *npy_path,
                                      TESS_GIVE tess_tensor **out);
TESS_API tess_status tess_tensor_save(tess_tensor *t, const char *npy_path);
TESS_API tess_status tess_tensor_text(tess_tensor *t, TESS_GIVE char **out);
/* DLPack 1.1: a DLManagedTensorVersioned * in and out (as void * so that
 * this header needs no other); compact row-major memory that the processor can
 * address (its own, or pinned or managed for CUDA or ROCm) only.  What comes
 * in is used where it lies; read-only memory is copied, and other memory at an
 * address that is no multiple of the element's size is TESS_UNSUPPORTED.  What
 * goes out holds the tensor, whose memory is its context's: its deleter uses
 * the context as any call does, and so must have been called before
 * tess_context_free, and never while another thread is in the context. */
TESS_API tess_status tess_tensor_from_dlpack(tess_context *c,
    TESS_TAKE void *managed, TESS_GIVE tess_tensor **out);
TESS_API tess_status tess_tensor_to_dlpack(tess_tensor *t,
                                           TESS_GIVE void **managed);

/* Compiles, in a worker unless in_process; target NULL: "llvm".  What this
 * machine cannot run (another triple of its architecture, as i686-linux-gnu of
 * x86-64, or features it has not) can be built and its source be read; running
 * it is UNSUPPORTED.  Triples of other architectures are refused.  BUILD_ERROR
 * with what the compiler said, UNSUPPORTED, TIMEOUT after five minutes, NOMEM,
 * INFRA when there is no worker, INVALID for a program not well-formed. */
TESS_API tess_status tess_build(tess_program *p, tess_target *target,
                                TESS_GIVE tess_kernel **out);
TESS_API void tess_kernel_free(TESS_TAKE tess_kernel *k);
TESS_API const char *tess_kernel_name(tess_kernel *k);   /* its program's */
/* The program that it was built of, whose parameters it takes, also of a
 * kernel that was loaded. */
TESS_API TESS_GIVE tess_program *tess_kernel_program(tess_kernel *k);
/* On how many threads tess_kernel_run and tess_kernel_time run it; 0, as of a
 * kernel that was built: the target's cores.  The kernel of a result has the
 * kernel_threads that it was tuned with. */
TESS_API void tess_kernel_set_threads(tess_kernel *k, uint32_t threads);
/* Arguments: one tensor a parameter, shapes and dtypes are checked.  Where
 * sizes are known only now, INVALID when one makes an extent less than 1, or
 * when an index of the program as described, behind no condition, leaves its
 * tensor.  LIMIT where a device's kernel takes more than 2 GiB of tensors that
 * are not on the device, or writes as much; the worker keeps those that are. */
TESS_API tess_status tess_kernel_run(tess_kernel *k, uint32_t n,
                                     tess_tensor *const *args);
typedef struct tess_timing {
  uint32_t struct_size;              /* sizeof(tess_timing) */
  uint32_t repeats;                  /* samples */
  uint64_t runs;                     /* in all */
  double median, min, mean, stddev;  /* seconds a run */
} tess_timing;
/* Runs it until all samples together took min_time seconds (0: the default,
 * 0.1), and there are several.  A sample is the time of one run, the mean of
 * many where they are short. */
TESS_API tess_status tess_kernel_time(tess_kernel *k, uint32_t n,
    tess_tensor *const *args, double min_time, tess_timing *out);
/* what: "ir", "asm", "ptx", "opencl", "stream", "tokens", .. as far as the
 * target has them; NOT_FOUND lists those that it has. */
TESS_API tess_status tess_kernel_source(tess_kernel *k, const char *what,
                                        TESS_GIVE char **out);
/* Saves the kernel.  A path that ends with .kernel gives a file for
 * tess_kernel_load, of any target: its text, the program and the code, of a
 * device the host program and the kernels' PTX or OpenCL C; `header` is NULL.
 * Else it is a file that needs neither Tessera nor LLVM, which devices'
 * kernels cannot be: .o, an object, or .so, a shared library, which the
 * system's `cc` links; and a C header, at `header` or, where that is NULL,
 * beside it with the same name.  They have the program's name as a C function
 * of its tensors' data, and NAME_kernel, which also takes a runtime of the
 * host's; a name that C has another use for begins with kernel_.  Of a
 * layout-free parameter they take the layout that was described, and convert
 * it in each call.  INVALID for another ending, NULL, a header of a .kernel,
 * and a program that calls a function of its own name; UNSUPPORTED for a .o or
 * .so of a device's kernel, and for a .so without `cc` or in a context with
 * in_process; BUILD_ERROR with what `cc` said; IO; as tess_build where
 * compiling fails. */
TESS_API tess_status tess_kernel_save(tess_kernel *k, const char *path,
                                      const char *header);
/* Loads what was saved as NAME.kernel; it is called, timed, printed and saved
 * like the one that was built.  Nothing is compiled here, but a device's driver
 * compiles its code at the first call.  NOT_FOUND, IO; PARSE: it is no such
 * file, is damaged, or is of another version's format; UNSUPPORTED: this
 * machine cannot run it, having no such device or processor; INFRA. */
TESS_API tess_status tess_kernel_load(tess_context *c, const char *path,
                                      TESS_GIVE tess_kernel **out);
/* The raw function, for hosts: int32 (*)(void **args, const int64_t *sizes,
 * const tess_runtime *rt); lives as long as the kernel.  NULL when this
 * machine cannot run it.  It returns 0, or a status: TESS_INVALID where a size
 * is less than 1, TESS_NOMEM, or what parallel_for gave.  Nothing else is
 * checked. */
#ifndef TESS_RUNTIME  /* the header of a saved kernel has it, too */
#define TESS_RUNTIME
typedef struct tess_runtime {
  uint32_t struct_size;         /* sizeof(tess_runtime) */
  void *ud;
  /* fn(closure, begin, end) over pieces of 0 .. n-1, on several threads; the
   * first status that is not 0. */
  int32_t (*parallel_for)(void *ud, int64_t n,
      int32_t (*fn)(void *closure, int64_t begin, int64_t end),
      void *closure);
  void *(*alloc)(void *ud, uint64_t bytes, uint64_t align);
  void (*free)(void *ud, void *ptr);
} tess_runtime;
#endif
typedef int32_t (*tess_kernel_fn)(void **args, const int64_t *sizes,
                                  const tess_runtime *rt);
TESS_API tess_kernel_fn tess_kernel_function(tess_kernel *k);
/* What that function wants for these tensors: their data, but for layout-free
 * parameters whose layout the schedule chose.  Those are converted here, into
 * memory of the kernel's, until it is called for again. */
TESS_API tess_status tess_kernel_prepare(tess_kernel *k, uint32_t n,
                                         tess_tensor *const *args, void **out);
/* What kernels run with here, with so many threads (0: as many as cores); the
 * context's.  NULL when memory ran out.  Its threads start with the first
 * parallel loop.  Between loops they spin for at most 30 microseconds, then
 * sleep; the environment's OMP_WAIT_POLICY, read when the runtime is made, says
 * otherwise: "passive": they sleep at once, "active": they spin for 100 ms.  A
 * thread that launches a kernel while another one runs a parallel loop of the
 * same runtime does the work alone. */
TESS_API const tess_runtime *tess_default_runtime(tess_context *c,
                                                  uint32_t threads);
/* Whether the calling thread runs a parallel loop of a default runtime: for
 * external functions that kernels call, which should then start no threads of
 * their own.  Parallel loops within it are serial. */
TESS_API int tess_in_parallel(void);

#ifdef __cplusplus
}
#endif

#endif
