# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of a tree that is built, by pip and offline, and installs it
# into a new, empty environment.
#   cmake -DPYTHON=.. -DSOURCE=.. -DBUILD=.. -DREADELF=..
#         -DENVIRONMENT=.. -P wheel.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${ENVIRONMENT})
execute_process(COMMAND ${PYTHON} -m venv --without-pip ${ENVIRONMENT}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env TESSERA_BUILD=${BUILD} PYTHONPATH=
          ${PYTHON} -m pip --python ${ENVIRONMENT}/bin/python install
          --no-index --no-build-isolation --no-cache-dir --disable-pip-version-check
          ${SOURCE}
  COMMAND_ERROR_IS_FATAL ANY)

# The wheel brings the command, which finds what it needs.
execute_process(COMMAND ${ENVIRONMENT}/bin/tessera doc libexec
                OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "docs/measuring.md")
  message(FATAL_ERROR "the command of the wheel said '${said}'")
endif()

# No library of the wheel's is found outside of it, but for those of LLVM, of
# the C library and of the compiler.
file(GLOB_RECURSE libraries
     ${ENVIRONMENT}/lib/*.so*)
list(LENGTH libraries count)
if(count LESS 8)
  message(FATAL_ERROR "the wheel has ${count} libraries: ${libraries}")
endif()
foreach(library ${libraries})
  execute_process(COMMAND ${READELF} -d ${library} OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\\[[^]]*\\.so[^]]*\\]" names "${said}")
  foreach(name ${names})
    string(REGEX REPLACE "[][]" "" name "${name}")
    if(NOT name MATCHES "^(ld-linux|lib(c|m|gcc_s|stdc.+|LLVM|gsl|gslcblas)\\.)")
      set(inside ${libraries})
      list(FILTER inside INCLUDE REGEX "/${name}$")
      if(NOT inside)
        message(FATAL_ERROR "${library} needs ${name}, which the wheel lacks")
      endif()
    endif()
  endforeach()
endforeach()
