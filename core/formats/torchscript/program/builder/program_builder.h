// The walk that makes a Program. Private to program*.cpp.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/torchscript/program/module_index.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

using InstanceMethod = std::pair<ObjectPtr, std::string>;

class ProgramBuilder {
 public:
  // `written`: attributes whose value is not known before the run; from earlier walks.
  ProgramBuilder(const torch::jit::Module& module, const ModuleIndex& index, const Attributes& written)
      : module_(module), index_(index), written_(written) {}

  // Once, of one method. Throws std::runtime_error with a plain sentence.
  Program build(const ObjectPtr& self, const std::string& method);
  // Attributes that a SetAttr of what was walked writes; more than what was passed in: walk again.
  [[nodiscard]] const Attributes& written() const { return found_; }
  // Attributes that are read where forward()'s program does not show it.
  [[nodiscard]] const Attributes& hiddenReads() const { return hiddenReads_; }
  // Returns the methods that calls on modules that are chosen at run time may run.
  [[nodiscard]] const std::set<InstanceMethod>& chosen() const { return chosen_; }

 private:
  using Values = std::vector<int>;
  // torch value -> program value, per frame.
  using Environment = std::unordered_map<const torch::jit::Value*, int>;

  int addValue(torch::jit::Value* value, int frame);
  int addKnown(torch::jit::Value* value, int frame, c10::IValue known, const TensorSite& site);
  void bindConstant(ProgramValue& value, const TensorSite& site);
  int addBlock(torch::jit::Block* block, int owner, int frame);
  int addNode(torch::jit::Node* node, int frame, int block);

  [[nodiscard]] int lookUp(const torch::jit::Value* value, int frame) const;
  void bind(const torch::jit::Value* value, int frame, int id) {
    environments_[static_cast<size_t>(frame)][value] = id;
  }
  [[nodiscard]] Values lookUpAll(at::ArrayRef<torch::jit::Value*> values, int frame) const;
  [[nodiscard]] const std::optional<c10::IValue>& knownOf(int value) const { return program_.value(value).known; }

  [[nodiscard]] bool isForward(const c10::ivalue::Object& self, const std::string& method) const;
  // All instances that a value may be.
  [[nodiscard]] std::vector<ObjectPtr> instancesBehind(int value) const;
  Values enter(Frame frame, const Values& arguments, int block);
  void walkNodes(torch::jit::Block* torchBlock, int frame, int block);
  void walkNode(torch::jit::Node* node, int frame, int block);
  void walkConstant(torch::jit::Node* node, int frame);
  bool walkGetAttr(torch::jit::Node* node, int frame);
  void noteSetAttr(torch::jit::Node* node, int frame);
  bool walkCallMethod(torch::jit::Node* node, int frame, int block);
  bool walkCallFunction(torch::jit::Node* node, int frame, int block);
  bool walkFork(torch::jit::Node* node, int frame, int block);
  bool walkCast(torch::jit::Node* node, int frame);
  [[nodiscard]] TensorSite containerSite(torch::jit::Node* reader, int frame) const;
  bool walkElements(torch::jit::Node* node, int frame);
  bool walkNoneCheck(torch::jit::Node* node, int frame);
  bool walkKnown(torch::jit::Node* node, int frame);
  void walkIf(torch::jit::Node* node, int frame, int block);
  void walkLoop(torch::jit::Node* node, int frame, int block);
  void addOutputs(torch::jit::Node* node, int id, int frame);
  void inlineBranch(torch::jit::Node* node, torch::jit::Block* branch, int frame, int block);
  int nestedBlock(torch::jit::Block* torchBlock, int owner, int frame, bool walkIt);
  void bindOutputs(torch::jit::Node* node, int frame, const Values& results);

  const torch::jit::Module& module_;
  const ModuleIndex& index_;
  const Attributes& written_;
  Attributes found_, hiddenReads_;
  std::set<InstanceMethod> chosen_;
  bool ofForward_ = false;
  Program program_;
  std::vector<Environment> environments_;
  std::unordered_map<std::string, int> constantByMemory_;
  std::unordered_map<const torch::jit::Node*, std::string> constantNames_;
  int depth_ = 0;
};

}  // namespace normlens::formats::torchscript
