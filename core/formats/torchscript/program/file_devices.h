// The devices that a file names: a model that was traced or saved on a GPU wants "cuda:0" in its code and beside its
// tensors. Here it runs where the caller chooses, and what is saved names what the file named.
// Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/archive/archive_reader.h"

namespace normlens::formats::torchscript {

// Puts the CPU in the place of every other device that the code of these units names; copies of their graphs remember
// what it was, too.
void runOnCpu(const torch::jit::CompilationUnit& unit);

// While this lives the code names the file's devices again: for printing it. Nothing runs meanwhile.
class FileDevicesInCode {
 public:
  explicit FileDevicesInCode(std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> units);
  ~FileDevicesInCode();
  FileDevicesInCode(const FileDevicesInCode&) = delete;
  FileDevicesInCode& operator=(const FileDevicesInCode&) = delete;

 private:
  std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> units_;
};

// Returns the device of all tensors of one of the file's pickles ("data.pkl", "constants.pkl"); "cpu": they differ.
[[nodiscard]] std::string deviceOfTensors(const Archive& archive, const std::string& pickle);

}  // namespace normlens::formats::torchscript
