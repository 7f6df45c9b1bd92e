# SPDX-License-Identifier: Apache-2.0
# A build step in front of every layer: refuses an include that
# check_layers.cmake's table does not allow.
set(layer_globs)
foreach(folder base ir lower schedule backends vm measure fleet search lua include)
  foreach(ext c h def)
    list(APPEND layer_globs ${CMAKE_SOURCE_DIR}/${folder}/*.${ext})
  endforeach()
endforeach()
foreach(folder stdlib modules)
  list(APPEND layer_globs ${CMAKE_SOURCE_DIR}/${folder}/*.lua)
endforeach()
file(GLOB_RECURSE layer_files CONFIGURE_DEPENDS ${layer_globs})
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/layers.stamp
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_SOURCE_DIR}/cmake/check_layers.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/layers.stamp
  DEPENDS ${layer_files} ${CMAKE_SOURCE_DIR}/cmake/check_layers.cmake
  COMMENT "Checking the edges between the layers" VERBATIM)
add_custom_target(layers ALL DEPENDS ${CMAKE_BINARY_DIR}/layers.stamp)
