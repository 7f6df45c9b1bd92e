# SPDX-License-Identifier: Apache-2.0
# One strict set for gcc 12 and clang 14 to 19; warnings are errors.  Not
# -Wpedantic: C17 would want an argument for every "..." of a macro.
add_compile_options(
  -Werror -Wall -Wextra -Wshadow -Wvla -Wundef -Wformat=2
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wmissing-declarations -Wwrite-strings -Wpointer-arith -Wcast-align
  -Wredundant-decls -Wimplicit-fallthrough -Wno-format-nonliteral)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-cond -Wlogical-op -Wno-format-truncation)
else()
  # Rows of X-macros are often left open at the end.
  add_compile_options(-Wno-missing-field-initializers)
endif()
