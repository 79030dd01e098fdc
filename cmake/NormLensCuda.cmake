# nvcc, for kernels/cuda. Needs the toolkit's compiler and its static runtime, not a GPU and not torch's own cmake files.
#
# NORMLENS_CUDA_ARCHITECTURES: "native" where a GPU is there, else 90 (H100, H200); "release" for a library
# that is given away: every generation from Turing on, and PTX for later ones.

set(release_architectures 75-real 80-real 86-real 89-real 90-real 100-real 120)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  if(NOT NORMLENS_NVCC)
    message(FATAL_ERROR "nvcc not found. Install the CUDA toolkit, or leave the CUDA kernels out with -DNORMLENS_CUDA=OFF.")
  endif()
  set(CMAKE_CUDA_COMPILER ${NORMLENS_NVCC})
endif()
if(NOT DEFINED NORMLENS_CUDA_ARCHITECTURES)
  if(NORMLENS_GPUS)
    set(architectures native)
  else()
    set(architectures 90)
  endif()
endif()
set(NORMLENS_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "native, or a list as in CMAKE_CUDA_ARCHITECTURES, or release")
set(CMAKE_CUDA_ARCHITECTURES ${NORMLENS_CUDA_ARCHITECTURES})
if(NORMLENS_CUDA_ARCHITECTURES STREQUAL "release")
  set(CMAKE_CUDA_ARCHITECTURES ${release_architectures})
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
