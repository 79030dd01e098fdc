// What a model made in memory needs beyond its module. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <memory>
#include <vector>

namespace normlens::formats::torchscript {

struct SaveEdits {
  // Owners of classes and functions that the module still uses but does not own.
  std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> keptAlive;
};

// Those of `source` (may be null) and the unit of the module that the new one was made from.
[[nodiscard]] inline std::shared_ptr<const SaveEdits> keepAlive(const std::shared_ptr<const SaveEdits>& source,
                                                                const torch::jit::Module& original) {
  auto edits = source ? std::make_shared<SaveEdits>(*source) : std::make_shared<SaveEdits>();
  edits->keptAlive.push_back(original._ivalue()->compilation_unit());
  return edits;
}

}  // namespace normlens::formats::torchscript
