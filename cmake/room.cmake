# room(NAME SOURCES a.c … [TESTS a_test.c …] [USES room …] [LIBS target …] [TEST_KIT x.c …] [TEST_LIBS target …])
# A room is a static library that may use the rooms it names; its tests are one program, linked with those alone,
# and with the files of tests/kit and the libraries that only tests need.
function(room name)
  cmake_parse_arguments(R "" "" "SOURCES;TESTS;USES;LIBS;TEST_KIT;TEST_LIBS" ${ARGN})
  add_library(${name} STATIC ${R_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${R_USES} ${R_LIBS})
  if(SKYLARK_TESTS AND R_TESTS)
    list(TRANSFORM R_TEST_KIT PREPEND ${PROJECT_SOURCE_DIR}/tests/kit/)
    room_test(${name}_test SOURCES ${R_TESTS} ${R_TEST_KIT} USES ${name} LIBS ${R_TEST_LIBS})
  endif()
endfunction()

# room_test(NAME SOURCES x_test.c … USES room … [LIBS target …]): one test program, run by ctest.
function(room_test name)
  cmake_parse_arguments(T "" "" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES} ${PROJECT_SOURCE_DIR}/tests/kit/test.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
  target_link_libraries(${name} PRIVATE ${T_USES} ${T_LIBS} PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()
