# How a test program becomes entries of CTest: one for each of its cases, asked of the program when CTest starts.

# normlens_test(<name> SOURCES ... LINK <targets> [AFTER fixture]): a GoogleTest program. Its label is what it starts:
# torch, onnx, or neither (quick). AFTER: a fixture of CTest that its cases need.
function(normlens_test name)
  cmake_parse_arguments(ARG "" "AFTER" "SOURCES;LINK" ${ARGN})
  set(label quick)
  if("${ARG_LINK}" MATCHES "normlens(::|_)onnx")
    set(label onnx)
  elseif("${ARG_LINK}" MATCHES "normlens::torch|normlens_torchscript(;|$)|normlens_pt2(;|$)|normlens_lab_training|normlens_(formats|service|cli)")
    set(label torch)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} normlens_warnings normlens_test_main)
  set(properties LABELS ${label})
  if(ARG_AFTER)
    list(APPEND properties FIXTURES_REQUIRED ${ARG_AFTER})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
endfunction()

# normlens_qt_test(<name> SOURCES ... LINK <targets> [LABELS ...] [TIMEOUT seconds]): a Qt Test program, offscreen.
# The longer it may take the sooner it starts.
function(normlens_qt_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES AUTOMOC ON)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} Qt6::Test normlens_warnings)
  target_compile_definitions(${name} PRIVATE QT_NO_KEYWORDS)
  set(cases ${CMAKE_CURRENT_BINARY_DIR}/${name}_cases.cmake)
  file(GENERATE OUTPUT ${cases} CONTENT "
if(NOT EXISTS \"$<TARGET_FILE:${name}>\")
  add_test(\"${name}_NOT_BUILT\" ${name})
  return()
endif()
set(ENV{QT_QPA_PLATFORM} offscreen)
execute_process(COMMAND \"$<TARGET_FILE:${name}>\" -functions OUTPUT_VARIABLE told)
string(REGEX MATCHALL \"[A-Za-z0-9_]+\" cases \"\${told}\")
foreach(case IN LISTS cases)
  add_test(\"${name}: \${case}\" \"$<TARGET_FILE:${name}>\" \${case})
  set_tests_properties(\"${name}: \${case}\" PROPERTIES LABELS \"window;${ARG_LABELS}\" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT}
                       ENVIRONMENT QT_QPA_PLATFORM=offscreen)
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${cases})
endfunction()
