# SPDX-License-Identifier: Apache-2.0
# scripts/abi accepts the header, and headers that have grown; it refuses those
# that would break programs which were compiled against this one.
#   cmake -DROOT=<source tree> -DBUILD=.. -DCC=.. -P abi.cmake
cmake_minimum_required(VERSION 3.25)
set(ENV{CC} ${CC})
execute_process(COMMAND ${ROOT}/scripts/abi ${BUILD} COMMAND_ERROR_IS_FATAL ANY)

# refuses(YES or NO, what is done, file, what is replaced, by what)
function(refuses wanted what file from to)
  set(include ${BUILD}/abi_test)
  file(REMOVE_RECURSE ${include})
  file(COPY ${ROOT}/include/tessera DESTINATION ${include})
  file(READ ${include}/tessera/${file} text)
  string(FIND "${text}" "${from}" at)
  if(at LESS 0)
    message(FATAL_ERROR "${file} has no '${from}'")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(WRITE ${include}/tessera/${file} "${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env INCLUDE=${include}
                  ${ROOT}/scripts/abi ${BUILD}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE bad)
  if((wanted AND NOT said MATCHES "the ABI is another") OR
     (bad AND NOT wanted))
    message(FATAL_ERROR "scripts/abi, after ${what}, gives ${bad}:\n${said}")
  endif()
  file(REMOVE_RECURSE ${include})
endfunction()

set(last "double median, min, mean, stddev;")
set(size "uint32_t repeats;")
refuses(NO "a member at the end" kernel.h "${last}" "${last} double more;")
refuses(YES "a member inside" kernel.h "${last}" "double more; ${last}")
refuses(YES "another type of a member" kernel.h
        "${size}" "float repeats;")
refuses(YES "exchanged members" kernel.h
        "median, min" "min, median")
refuses(YES "a member at the end of a struct without a size" schedule.h
        "const struct tess_value *list;"
        "const struct tess_value *list, *more;")
refuses(YES "a parameter more" kernel.h
        "tess_kernel_set_threads(tess_kernel *k,"
        "tess_kernel_set_threads(tess_kernel *k, int more,")
set(free "TESS_API void tess_kernel_free(TESS_TAKE tess_kernel *k);")
refuses(NO "a function more" kernel.h
        "${free}" "${free} TESS_API int tess_more(void);")
refuses(YES "a function less" kernel.h "${free}" "")
refuses(YES "another value" status.def "5, \"types" "55, \"types")
