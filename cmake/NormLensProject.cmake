# Project-wide build rules: language level, warnings, sanitizers, and the function that makes one of our libraries.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Development builds: line tables and light optimisation, because LibTorch's headers make everything more slow to compile.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_definitions($<$<NOT:$<CONFIG:Release>>:NORMLENS_DEBUG_CHECKS>)  # core/graph/debug_check.h
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Every clone and worktree shares what one of them compiled, precompiled headers included.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

set(NORMLENS_SANITIZE "" CACHE STRING "address, thread, or empty")
if(NORMLENS_SANITIZE STREQUAL "address")
  # Not vptr: it asks for the type information of classes whose own LibTorch does not export.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NORMLENS_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(NORMLENS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "libFuzzer comes with clang: configure with -DCMAKE_CXX_COMPILER=clang++, or use the preset fuzz.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined)
endif()

# Warnings for our own code only: never put on an imported target.
option(NORMLENS_WERROR "Warnings of our own code are errors" ON)
add_library(normlens_warnings INTERFACE)
# GCC 12 reports the inactive side of std::optional and std::variant as uninitialised once it inlines (false positives).
target_compile_options(normlens_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${NORMLENS_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes std::variant and std::optional for uninitialised when it inlines; clang-tidy and ASan watch for the real thing.
  target_compile_options(normlens_warnings INTERFACE -Wno-maybe-uninitialized)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Rows of half-precision weights lie where the file has them: their types are declared with alignment 1 on purpose.
  target_compile_options(normlens_warnings INTERFACE -Wno-align-mismatch)
endif()

# normlens_library(<name> SOURCES ... PUBLIC <targets> PRIVATE <targets>)
# Headers are included by their path from the repository root ("core/graph/graph.h").
function(normlens_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE normlens_warnings ${ARG_PRIVATE})
endfunction()

# normlens_finds_runtimes(<target>): its RUNPATH names the folders of the runtimes that it links, installed or not. Made
# anew at installation, as CMake does it, the RUNPATH ends with an empty name until then: to the loader that is the
# current folder, where a stranger's library may lie.
function(normlens_finds_runtimes target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# normlens_rooms_as_one(<target> [EXCEPT <folders>]): with NORMLENS_UNITY each folder of the target is compiled as one source, as
# most of the time goes into other people's headers. EXCEPT: folders whose sources have local names in common.
function(normlens_rooms_as_one target)
  if(NOT NORMLENS_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(room ${source} DIRECTORY)
    if(source MATCHES "\\.cpp$" AND NOT "${room}" IN_LIST ARG_EXCEPT)
      string(MAKE_C_IDENTIFIER "room_${room}" room)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON)
endfunction()

# normlens_precompile(<target> VERSION <text> HEADERS ...): other people's headers, read once for the target.
# A precompiled header holds absolute paths, so ccache would find nothing of another clone's: it goes by VERSION instead,
# which changes when the headers do.
function(normlens_precompile target)
  cmake_parse_arguments(ARG "" "VERSION" "HEADERS" ${ARGN})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum
       CONTENT "${ARG_VERSION} ${ARG_HEADERS}" @ONLY)
endfunction()

if(NORMLENS_TORCH)
  include(NormLensTorch)
endif()
if(NORMLENS_ENGINE AND NORMLENS_TORCH AND NORMLENS_ONNX)
  include(NormLensOnnx)
endif()
