// The parts of normlens-bench that measure the norm kernels.
#pragma once

#include <string>

namespace normlens::bench {

// A short table: 2048 rows of float32, weight and bias, on one thread and on all.
void benchNorms(const std::string& opsLibrary);

// Which rows and widths. All but the first are those that one choice of the GPU's kernels is about (LaunchTuning): few
// rows, few wide rows, many narrow rows.
enum class Sizes { All, FewRows, WideRows, NarrowRows };

// A grid of rows, widths and types, on the CPU, if that is wanted, and on the GPU where there is one. json: a file to
// write, or empty. Throws std::runtime_error.
void benchKernels(const std::string& opsLibrary, const std::string& json, Sizes sizes, bool onCpu);

}  // namespace normlens::bench
