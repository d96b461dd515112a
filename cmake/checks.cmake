# Tests of the tree and of the objects rather than of what they compute. Included by tests/ when
# the library is known.
find_program(RIDGE_PYTHON NAMES python3 REQUIRED)

add_test(NAME layers COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tools/check_layers.py)
add_test(NAME docs COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tests/docs/docs_test.py)
add_test(NAME board_claims COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tests/boards/claims_test.py)

# Plain release builds only: without inlining, or with a sanitizer's calls, the objects say nothing
# about what ships.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RIDGE_SANITIZE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_test(NAME isa_isolation
             COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tools/check_isa.py $<TARGET_OBJECTS:ridge>
             COMMAND_EXPAND_LISTS)
    # GCC builds what ships; clang keeps some sums of the tiles in memory.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_test(NAME spills
               COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tools/check_spills.py $<TARGET_OBJECTS:ridge>
               COMMAND_EXPAND_LISTS)
    endif()
  endif()
  # The package, unpacked and built against; one at a time, because it writes into the build tree.
  add_test(NAME install COMMAND ${CMAKE_SOURCE_DIR}/tools/check_install.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  set_tests_properties(install PROPERTIES TIMEOUT 300)
  add_test(NAME freestanding COMMAND ${CMAKE_SOURCE_DIR}/tools/check_freestanding.sh)
  add_test(NAME check_tools COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tests/lint/check_tools_test.py)
  add_test(NAME scripts COMMAND ${RIDGE_PYTHON} ${CMAKE_SOURCE_DIR}/tests/lint/scripts_test.py)
endif()
