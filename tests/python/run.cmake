# SPDX-License-Identifier: Apache-2.0
# Runs one file of tests with the Python of the environment that
# tests/python/wheel.cmake made, and nothing else of this machine's than
# NumPy, for those that say in their opening comment that they need it.
#   cmake -DPYTHON=.. -DENVIRONMENT=.. -DFILE=.. -DCFLAGS=.. -DARGUMENT=..
#         -P run.cmake
cmake_minimum_required(VERSION 3.25)
set(path)
file(STRINGS ${FILE} needs LIMIT_INPUT 800 REGEX "Needs: numpy")
if(needs)
  execute_process(COMMAND ${PYTHON} -c
    "import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))"
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endif()
set(argument)
if(FILE MATCHES "docs[.]py$")
  set(argument ${ARGUMENT})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH
  --unset=TESSERA_WORKER --unset=TESSERA_SPACES PYTHONPATH=${path}
  PYTHONDONTWRITEBYTECODE=1 CFLAGS=${CFLAGS}
  ${ENVIRONMENT}/bin/python -W error ${FILE} ${argument}
  COMMAND_ERROR_IS_FATAL ANY)
