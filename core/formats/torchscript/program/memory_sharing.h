// Finds which values of a program may share memory. Private to formats/torchscript: includes torch.
//
// Memory flows from where it is made along views, in-place ops, branches, loops and containers (what is put into one
// may come out of it). Two values may share when they have a common origin. The flow is found from the ops' schemas
// (alias annotations), plus a list of ops that may return their input undeclared; it errs on the side of
// sharing.
#pragma once

#include <vector>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// Returns whether the op writes into the memory of this input, by its schema.
[[nodiscard]] bool writesInto(const torch::jit::Node& node, size_t input);

class MemorySharing {
 public:
  explicit MemorySharing(const Program& program);

  // All values that may share memory with this one, itself included, ascending.
  [[nodiscard]] std::vector<int> sharingWith(int value) const;
  // Returns the containers that a list or dict may be, may be a part of or may hold; not by way of tensors in them.
  [[nodiscard]] std::vector<int> containersSharingWith(int value) const;

 private:
  void connect(int from, int to);
  void addNode(const ProgramNode& node);
  void addBlocks(const ProgramNode& node);
  void addBySchema(const ProgramNode& node, const c10::FunctionSchema& schema);
  void addUnknown(const ProgramNode& node);
  void addFlow(int input, const c10::TypePtr& inputType, int output, const c10::TypePtr& outputType);
  void addTiedConstants();
  [[nodiscard]] bool holdsMemory(int value, const c10::TypePtr& type) const;

  using Links = std::vector<std::vector<int>>;
  template <class MayPass>
  [[nodiscard]] std::vector<int> sharingWith(int value, const MayPass& mayPass) const;

  const Program& program_;
  Links onward_;   // by value: where its memory flows
  Links origins_;  // the same, backwards
};

}  // namespace normlens::formats::torchscript
