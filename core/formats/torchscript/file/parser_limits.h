// Decides whether LibTorch's parser survives the code of a TorchScript file: it calls itself for each operator, bracket
// and block, and takes an empty subscript for one that has something. No torch here.
#pragma once

#include <string_view>

namespace normlens::formats::torchscript {

// Returns in words what it would not survive ("nested too deep to be a model's"); null: it does.
//
// Measured with LibTorch 2.15 on a stack of 8 MiB: it ends at 2,600 brackets in one another, at 2,800 blocks and at
// 3,600 operators of one expression. What models write has 30 of either.
[[nodiscard]] const char* beyondLibTorchsParser(std::string_view code);

}  // namespace normlens::formats::torchscript
