# normlens::onnx: the onnx C++ library, built by packaging/setup_onnx against the system's protobuf.
# normlens::onnxruntime: ONNX Runtime's headers, where they and its library were found (NORMLENS_HAVE_ONNXRUNTIME says so);
# without it the ONNX engine opens, analyses and folds, and says that it cannot run a model. The library is loaded when
# the engine runs.
#
# Found in this order: -DONNXRUNTIME_ROOT or the variable of the environment (an unpacked release); headers of the
# system, then of the deps folder, with the library of the deps folder's venv, then of the system.

set(NORMLENS_DEPS "$ENV{NORMLENS_DEPS}" CACHE PATH "Folder of downloaded dependencies")
if(NOT NORMLENS_DEPS)
  set(NORMLENS_DEPS "$ENV{HOME}/.cache/normlens")
endif()

find_package(Protobuf QUIET)
if(NOT Protobuf_FOUND)
  message(FATAL_ERROR "Protobuf not found. Run packaging/setup once, or leave the ONNX engine out with -DNORMLENS_ONNX=OFF.")
endif()
set(onnx_root ${NORMLENS_DEPS}/onnx)
if(NOT EXISTS ${onnx_root}/lib/libonnx.a)
  message(FATAL_ERROR "The onnx library is not in ${onnx_root}. Run packaging/setup once, "
                      "or leave the ONNX engine out with -DNORMLENS_ONNX=OFF.")
endif()
message(STATUS "onnx: ${onnx_root}")

add_library(normlens_onnx_library INTERFACE)
add_library(normlens::onnx ALIAS normlens_onnx_library)
target_include_directories(normlens_onnx_library SYSTEM INTERFACE ${onnx_root}/include)
target_compile_definitions(normlens_onnx_library INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)
target_link_libraries(normlens_onnx_library INTERFACE
  ${onnx_root}/lib/libonnx.a ${onnx_root}/lib/libonnx_proto.a protobuf::libprotobuf)

set(ONNXRUNTIME_ROOT "" CACHE PATH "An unpacked release of ONNX Runtime")
if(NOT ONNXRUNTIME_ROOT)
  set_property(CACHE ONNXRUNTIME_ROOT PROPERTY VALUE "$ENV{ONNXRUNTIME_ROOT}")
endif()
# Looked for anew each time, as the library is: remembered headers would stay with another release's library.
find_path(onnxruntime_include onnxruntime_cxx_api.h NO_CACHE NO_DEFAULT_PATH
  PATHS ${ONNXRUNTIME_ROOT}/include ${ONNXRUNTIME_ROOT}/include/onnxruntime /usr/include/onnxruntime
        /usr/local/include/onnxruntime ${NORMLENS_DEPS}/onnxruntime/include)
set(onnxruntime_library "")
foreach(pattern ${ONNXRUNTIME_ROOT}/lib/libonnxruntime.so*
        ${NORMLENS_DEPS}/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*
        /usr/lib/*/libonnxruntime.so* /usr/local/lib/libonnxruntime.so*)
  file(GLOB candidates ${pattern})
  if(candidates AND NOT onnxruntime_library)
    list(GET candidates 0 onnxruntime_library)
  endif()
endforeach()

set(NORMLENS_HAVE_ONNXRUNTIME OFF)
if(NORMLENS_FUZZ)
  message(STATUS "ONNX Runtime: left out, fuzzing is of our own reading")
elseif(onnxruntime_include AND onnxruntime_library)
  set(NORMLENS_HAVE_ONNXRUNTIME ON)
  message(STATUS "ONNX Runtime: ${onnxruntime_library}, headers ${onnxruntime_include}")
  # The engine looks there (core/base/library/runtime_library.h), and the runtime for its providers beside itself.
  get_filename_component(onnxruntime_folder ${onnxruntime_library} DIRECTORY)
  set(onnxruntime_links ${CMAKE_BINARY_DIR}/lib/onnxruntime)
  file(REMOVE_RECURSE ${onnxruntime_links})
  file(MAKE_DIRECTORY ${onnxruntime_links})
  file(GLOB libraries ${onnxruntime_folder}/libonnxruntime_*.so)
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME)
    file(CREATE_LINK ${library} ${onnxruntime_links}/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${onnxruntime_library} ${onnxruntime_links}/libonnxruntime.so SYMBOLIC)
  install(DIRECTORY ${onnxruntime_links} DESTINATION lib)
  add_library(normlens_onnxruntime_library INTERFACE)
  add_library(normlens::onnxruntime ALIAS normlens_onnxruntime_library)
  target_include_directories(normlens_onnxruntime_library SYSTEM INTERFACE ${onnxruntime_include})
  target_compile_definitions(normlens_onnxruntime_library INTERFACE ORT_API_MANUAL_INIT)
else()
  message(STATUS "ONNX Runtime: not found; ONNX models will open and fold, but not run")
endif()
