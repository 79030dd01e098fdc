// The parts of normlens-bench that measure the norm kernels.
#pragma once

#include <string>

namespace normlens::bench {

// A short table: 2048 rows of float32, weight and bias, on one thread and on all.
void benchNorms(const std::string& opsLibrary);

// The whole grid of rows, widths and types, on the CPU, unless that is not wanted, and on the GPU where there is one.
// json: a file to write, or empty. Throws std::runtime_error.
void benchKernels(const std::string& opsLibrary, const std::string& json, bool onCpu);

}  // namespace normlens::bench
