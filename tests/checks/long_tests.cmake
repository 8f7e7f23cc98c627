# Every name of LIST (tests/long_tests.cmake) is a test of the build folder BINARY.
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} -N -L long OUTPUT_VARIABLE tests
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${LIST} lines REGEX "^  .==.")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^  .==.(.*).==.$" "\\1" name "${line}")
  string(FIND "${tests}\n" ": ${name}\n" at)
  if(at EQUAL -1)
    message(SEND_ERROR "${LIST}: no test is named \"${name}\"")
  endif()
endforeach()
