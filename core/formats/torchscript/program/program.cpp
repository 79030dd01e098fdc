#include "core/formats/torchscript/program/program.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>

#include "core/formats/torchscript/program/builder/program_builder.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/in_place.h"

namespace normlens::formats::torchscript {
namespace {

constexpr const char* kWrittenElsewhere = "another method of the model writes this tensor";

bool holdsTensor(const c10::IValue& value) {
  if (value.isTensor() || value.isTensorList()) return true;
  if (value.isTuple()) return std::ranges::any_of(value.toTupleRef().elements(), holdsTensor);
  return value.isList() && std::ranges::any_of(value.toListRef(), holdsTensor);
}

// One walk of all that can run: forward(), and what else writes the state that it reads.
class ModelWalk {
 public:
  // `written`: attributes that an earlier walk has seen written.
  ModelWalk(const torch::jit::Module& module, const ModuleIndex& index, const Attributes& written)
      : module_(module), index_(index), written_(written) {}

  Program run() {
    ProgramBuilder builder(module_, index_, written_);
    Program program = builder.build(module_._ivalue(), "forward");
    note(builder, program);
    noteWholeReads(program);
    for (const auto& entry : builder.chosen()) program.writesState |= enter(entry);
    for (const auto* method : module_.type()->methods()) {
      if (method->name() != "forward") enter({module_._ivalue(), method->name()});
    }
    for (ConstantTensor& constant : program.constants) {
      const bool isWritten = constant.volatileReason.empty() && holdsWritten(constant.tensor, writes_);
      if (isWritten) constant.volatileReason = kWrittenElsewhere;
      // Objects that are no modules are not edited.
      for (const TensorSite& site : constant.sites) {
        if (site.owner && !site.owner->type()->is_module())
          others_.attributes.insert({site.owner.get(), site.attribute});
      }
    }
    program.writtenMemory = writes_.memory;
    program.writtenLiterals = std::move(literals_);
    others_.attributes.insert(written_.begin(), written_.end());
    program.others = std::move(others_);
    return program;
  }

  [[nodiscard]] const Attributes& written() const { return writes_.attributes; }

 private:
  // Says whether the method writes state.
  bool enter(const InstanceMethod& entry) {
    const auto& [self, method] = entry;
    auto* function = self->type()->findMethod(method);
    if (function == nullptr || torch::jit::tryToGraphFunction(*function) == nullptr) return false;
    if (!entered_.insert(entry).second) return false;
    ProgramBuilder builder(module_, index_, written_);
    Program program = builder.build(self, method);
    note(builder, program);
    for (const Frame& frame : program.frames) {
      if (frame.self) others_.methods.insert({frame.self.get(), frame.method});
    }
    for (const auto& chosen : builder.chosen()) program.writesState |= enter(chosen);
    return program.writesState;
  }

  void note(const ProgramBuilder& builder, Program& program) {
    const StateWrites writes = analyseInPlace(program, index_);
    others_.attributes.insert(builder.hiddenReads().begin(), builder.hiddenReads().end());
    writes_.attributes.insert(builder.written().begin(), builder.written().end());
    writes_.attributes.insert(writes.attributes.begin(), writes.attributes.end());
    writes_.memory.insert(writes.memory.begin(), writes.memory.end());
    for (const ConstantTensor& constant : program.constants) {
      const bool inCode = std::ranges::any_of(constant.sites, [](const TensorSite& site) { return site.node; });
      if (inCode && !constant.volatileReason.empty()) literals_.push_back(constant.tensor);
    }
  }

  // A list of the file of which not one element is taken: its tensors are read, but are no operands.
  void noteWholeReads(const Program& program) {
    std::set<int> read;
    for (const ProgramNode& node : program.nodes) read.insert(node.inputs.begin(), node.inputs.end());
    for (const ProgramBlock& block : program.blocks) read.insert(block.returns.begin(), block.returns.end());
    for (const int value : read) {
      const auto& known = program.value(value).known;
      if (!known || known->isTensor() || !holdsTensor(*known)) continue;
      others_.attributes.merge(index_.attributesHolding(*known));
    }
  }

  const torch::jit::Module& module_;
  const ModuleIndex& index_;
  const Attributes& written_;
  StateWrites writes_;
  OtherEntries others_;
  std::vector<at::Tensor> literals_;
  std::set<InstanceMethod> entered_;
};

}  // namespace

Result<Program> buildProgram(const torch::jit::Module& module) {
  try {
    const ModuleIndex index(module);
    Attributes written;
    // A walk may meet a write after it has taken the attribute for known: then it is done again knowing better.
    for (int attempt = 0; attempt < 8; ++attempt) {
      ModelWalk walk(module, index, written);
      Program program = walk.run();
      if (std::ranges::includes(written, walk.written())) return program;
      written.insert(walk.written().begin(), walk.written().end());
    }
    return fail(ErrorCode::Unsupported, "the model's attributes are written in too many ways to follow");
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "the model's code cannot be followed: " + shortText(error));
  }
}

}  // namespace normlens::formats::torchscript
