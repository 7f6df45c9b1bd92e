# SPDX-License-Identifier: Apache-2.0
# The target `compiled`, what the preset `clang` builds: all objects, since it
# is there for the second compiler's warnings, but of the programs that link
# them only the libraries and the command.  The copies with faults of bench/fuzz,
# whose warnings are off, are left out.
add_custom_target(compiled)
foreach(folder . bench tests tests/fuzz)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(REMOVE_ITEM targets fuzz_faulty bench_fuzz_faults)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
      continue()
    endif()
    if(folder STREQUAL ".")
      add_dependencies(compiled ${target})
    else()
      list(APPEND compiled_objects $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
endforeach()
add_custom_target(compiled_objects DEPENDS ${compiled_objects})
add_dependencies(compiled compiled_objects)
