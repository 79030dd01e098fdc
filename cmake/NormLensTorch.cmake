# normlens::torch: LibTorch's CPU half as an imported target of our own.
#
# find_package(Torch) of a CUDA build wants the CUDA toolkit and links libtorch_cuda, which costs every start 0.2 to
# 0.4 s even without a GPU. We link libtorch_cpu and libc10 only; libtorch_cuda is loaded with dlopen when a driver is
# present. Torch is linked PRIVATE everywhere: its include folder carries another protobuf and fmt.
#
# Found in this order: -DTorch_DIR (a user's own LibTorch), the deps folder's venv, python3's own torch.

set(NORMLENS_DEPS "$ENV{NORMLENS_DEPS}" CACHE PATH "Folder of downloaded dependencies")
if(NOT NORMLENS_DEPS)
  set(NORMLENS_DEPS "$ENV{HOME}/.cache/normlens")
endif()

set(torch_root "")
if(Torch_DIR)
  get_filename_component(torch_root "${Torch_DIR}/../../.." ABSOLUTE)
else()
  file(GLOB candidates ${NORMLENS_DEPS}/venv/lib/python3*/site-packages/torch)
  if(candidates)
    list(GET candidates 0 torch_root)
  else()
    execute_process(COMMAND python3 -c "import torch; print(torch.__path__[0])" OUTPUT_VARIABLE torch_root
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT EXISTS "${torch_root}/include/torch/script.h")
  message(FATAL_ERROR "LibTorch not found. Run packaging/run once, or give -DTorch_DIR=.../share/cmake/Torch, "
                      "or build the window alone with -DNORMLENS_TORCH=OFF.")
endif()
# "2.15": libraries of ours that are built for one version of LibTorch have it in their names.
file(STRINGS ${torch_root}/include/torch/headeronly/version.h torch_numbers REGEX "define TORCH_VERSION_(MAJOR|MINOR) [0-9]+")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" NORMLENS_TORCH_VERSION "${torch_numbers}")
message(STATUS "LibTorch: ${torch_root}, version ${NORMLENS_TORCH_VERSION}")

add_library(normlens_torch INTERFACE)
add_library(normlens::torch ALIAS normlens_torch)
target_include_directories(normlens_torch SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_link_libraries(normlens_torch INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
# The wheel's own libraries lie beside it; nothing needs LD_LIBRARY_PATH.
target_link_options(normlens_torch INTERFACE
  -Wl,-rpath,${torch_root}/lib -Wl,-rpath-link,${torch_root}/lib -Wl,--allow-shlib-undefined)
set(NORMLENS_TORCH_ROOT ${torch_root})

# normlens_precompile_torch(<target>): torch/script.h takes 10 s to read.
function(normlens_precompile_torch target)
  set(sums ${NORMLENS_TORCH_ROOT})
  foreach(header headeronly/version.h csrc/api/include/torch/version.h)
    if(EXISTS ${NORMLENS_TORCH_ROOT}/include/torch/${header})
      file(SHA256 ${NORMLENS_TORCH_ROOT}/include/torch/${header} sum)
      list(APPEND sums ${sum})
    endif()
  endforeach()
  normlens_precompile(${target} VERSION "${sums}" HEADERS <torch/script.h>)
endfunction()
