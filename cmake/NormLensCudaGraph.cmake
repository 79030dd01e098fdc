# normlens_cuda_graph_obstacle(<variable> <source> <folder>...): why libnormlens_cuda_graph.so cannot be built from this
# source with the headers in these folders; empty if it can. Which of the CUDA toolkit's LibTorch's want depends on its
# version, and an image with nvcc alone may lack them: all else is built there.
function(normlens_cuda_graph_obstacle variable source)
  set(includes "")
  foreach(folder IN LISTS ARGN)
    list(APPEND includes -isystem ${folder})
  endforeach()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -M ${includes} ${source}
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  set(obstacle "")
  if(failed)
    string(REGEX MATCH "error: [^\n]*" obstacle "${said}")
    string(REPLACE "error: " "" obstacle "${obstacle}")
    if(NOT obstacle)
      set(obstacle "its headers cannot be read")
    endif()
  endif()
  set(${variable} "${obstacle}" PARENT_SCOPE)
endfunction()
