// A module in memory with everything needed to write it again. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fold/pending_weights.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/torchscript/program/input_layout.h"

namespace normlens::formats::torchscript {

// A module made in memory (a twin, a folded module) has no file of its own but keeps the archive it came from, so that
// what did not change is written as it is there.
struct ModuleSource {
  torch::jit::Module module;               // on the CPU, eval mode; never changed after it got here
  torch::jit::ExtraFilesMap extraFiles;    // names without the "extra/" prefix
  std::shared_ptr<const Archive> archive;  // the opened file; kept by copies, may be null in tests
  // Owners of classes and functions that the module still uses but does not own.
  std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> keptAlive;
  std::shared_ptr<fold::PendingWeights> pending = nullptr;  // edited weights that are not computed yet; null: none
  at::ScalarType defaultType =
      at::kFloat;  // Torch makes it of an int that meets a float function; follows a conversion.
  std::vector<std::optional<DeclaredInput>> declared = {};  // by input, where the module came from a file that says it
  std::vector<std::string> outputNames = {};                // by result, where it came from a file that names them

  // The same with a module that was made from this one.
  [[nodiscard]] ModuleSource with(torch::jit::Module made) const {
    ModuleSource other = *this;
    other.keptAlive.push_back(module._ivalue()->compilation_unit());
    other.module = std::move(made);
    return other;
  }
  // See Model::computeWeights.
  [[nodiscard]] Status computeWeights(const Task& task) const { return pending ? pending->computeAll(task) : Status(); }
};

}  // namespace normlens::formats::torchscript
