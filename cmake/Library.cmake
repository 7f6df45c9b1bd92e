# SPDX-License-Identifier: Apache-2.0
# libtessera: the shared library exports tess_* only; the static one is one
# relocatable object whose hidden symbols are made local, so that it leaks no
# internal name into a host.

set(layer_objects)
foreach(layer ${TESS_LAYERS})
  list(APPEND layer_objects $<TARGET_OBJECTS:${layer}>)
endforeach()

add_library(tessera SHARED ${layer_objects})
set_target_properties(tessera PROPERTIES
  LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${TESS_SOVERSION}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/tessera.map)
target_link_options(tessera PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/tessera.map)
if(TESS_NO_UNDEFINED AND NOT TESS_SANITIZE)
  target_link_options(tessera PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(tessera PRIVATE deps_all)
target_include_directories(tessera PUBLIC
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(static_library ${CMAKE_BINARY_DIR}/lib/libtessera.a)
set(one_object ${CMAKE_BINARY_DIR}/tessera.o)
add_custom_command(
  OUTPUT ${static_library}
  COMMAND ${CMAKE_LINKER} -r -o ${one_object} ${layer_objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${one_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_library}
  COMMAND ${CMAKE_AR} qcs ${static_library} ${one_object}
  DEPENDS ${layer_objects} COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "Linking libtessera.a as one object")
add_custom_target(tessera_static ALL DEPENDS ${static_library})

# Everything with its internal names, for tests, benches and the worker.
add_library(tess_internal STATIC EXCLUDE_FROM_ALL ${layer_objects})
set_target_properties(tess_internal PROPERTIES
  LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/internal)
target_link_libraries(tess_internal PUBLIC deps_all)
target_include_directories(tess_internal PUBLIC
  ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)

# The public header that is made from the primitives' declarations.
set(primitives_header ${CMAKE_BINARY_DIR}/include/tessera/primitives.h)
add_executable(tess_header vm/doc/header_main.c)
set_target_properties(tess_header PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/internal)
target_link_libraries(tess_header PRIVATE tess_internal)
add_custom_command(
  OUTPUT ${primitives_header}
  COMMAND tess_header ${primitives_header}
  DEPENDS tess_header VERBATIM COMMENT "Writing tessera/primitives.h")
add_custom_target(primitives ALL DEPENDS ${primitives_header})

# The measuring worker: a program of its own, without Lua.
if(EXISTS ${CMAKE_SOURCE_DIR}/measure/worker/worker_main.c)
  add_executable(tessera_worker measure/worker/worker_main.c
                 measure/worker/serve_main.c)
  set_target_properties(tessera_worker PROPERTIES
    OUTPUT_NAME tessera-worker
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec)
  target_link_libraries(tessera_worker PRIVATE tess_internal)
  # For external functions that its candidates call.
  target_link_options(tessera_worker PRIVATE
    -Wl,--export-dynamic-symbol=tess_in_parallel)
endif()
