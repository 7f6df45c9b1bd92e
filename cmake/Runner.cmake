# SPDX-License-Identifier: Apache-2.0
# tessera-run: a static program for devices that only run code (docs/fleet.md),
# of this machine's processor and of those that a cross compiler is installed
# for.  It is compiled with its own flags, whatever the preset says.
set(runner_sources
  base/api.c base/arena.c base/error.c base/hash.c base/mem.c base/nearest.c
  base/rng.c base/str.c base/thread.c base/vec.c
  backends/backends.c backends/runtime.c backends/target.c backends/team.c
  backends/llvm/code.c backends/interp/index_range.c
  measure/bench.c measure/bundle.c measure/compare.c measure/rounding_error.c
  measure/machine_facts.c measure/range.c measure/result.c measure/timing.c
  measure/tensor/fill.c measure/tensor/guard.c measure/tensor/room.c
  measure/worker/frame.c measure/worker/job.c measure/worker/job_call.c
  measure/worker/job_resident.c measure/worker/job_run.c
  measure/worker/run_main.c measure/worker/sandbox.c
  measure/worker/serve_main.c measure/worker/wire.c)
file(GLOB_RECURSE runner_more CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     backends/elf/*.c ir/*.c)
list(FILTER runner_more EXCLUDE REGEX "(^|/)api(_[a-z]+)?[.]c$")
list(APPEND runner_sources ${runner_more})

# tess_runner(ARCH CC): libexec/tessera-run-ARCH by the compiler CC.
function(tess_runner arch cc)
  set(flags -std=c17 -O2 -g1 -DNDEBUG -D_GNU_SOURCE -DTESS_CHECKED=0
    -DXXH_INLINE_ALL -fno-math-errno -ffp-contract=off
    -fno-omit-frame-pointer -ffunction-sections -fdata-sections
    -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/include
    -I${CMAKE_BINARY_DIR}/include)
  set(program ${CMAKE_BINARY_DIR}/libexec/tessera-run-${arch})
  set(objects)
  foreach(source ${runner_sources})
    set(object ${CMAKE_BINARY_DIR}/runner/${arch}/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${cc} ${flags} -MD -MF ${object}.d
              -c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_SOURCE_DIR}/${source} ${options_header} DEPFILE ${object}.d VERBATIM
      COMMENT "Compiling ${source} for tessera-run-${arch}")
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${program}
    COMMAND ${cc} -static -Wl,--gc-sections -s -o ${program} ${objects} -lm
    DEPENDS ${objects} VERBATIM COMMENT "Linking tessera-run-${arch}")
  add_custom_target(tessera_run_${arch} ALL DEPENDS ${program})
  set_property(GLOBAL APPEND PROPERTY TESS_RUNNERS ${program})
  set_property(GLOBAL APPEND PROPERTY TESS_RUNNER_TARGETS tessera_run_${arch})
endfunction()

tess_runner(${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_C_COMPILER})
find_program(TESS_ARM_CC aarch64-linux-gnu-gcc)
if(TESS_ARM_CC AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  tess_runner(aarch64 ${TESS_ARM_CC})
endif()
