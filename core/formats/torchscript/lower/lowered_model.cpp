#include "core/formats/torchscript/lower/lowered_model.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/forbidden_ops.h"
#include "core/formats/torchscript/program/module_index.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

using ElementsByType = std::map<graph::DType, int64_t>;

void takeMostCommon(const ElementsByType& elements, ModelFacts& facts) {
  const auto most = std::ranges::max_element(elements, {}, &ElementsByType::value_type::second);
  if (most != elements.end()) facts.dtype = most->first;
}

// Counts every parameter and buffer once, and finds the floating type most of them have.
void countParameters(const torch::jit::Module& module, ModelFacts& facts) {
  std::unordered_set<std::string> seen;
  ElementsByType elementsByType;
  const auto count = [&](const at::Tensor& tensor, bool isParameter) {
    if (!tensor.defined() || !seen.insert(memoryKey(tensor)).second) return;
    if (tensor.is_floating_point()) elementsByType[dtypeOf(tensor.scalar_type())] += tensor.numel();
    if (!isParameter) return;
    facts.parameters += tensor.numel();
    facts.parameterBytes += static_cast<int64_t>(tensor.nbytes());
  };
  for (const at::Tensor& tensor : module.parameters()) count(tensor, true);
  for (const at::Tensor& tensor : module.buffers()) count(tensor, false);
  takeMostCommon(elementsByType, facts);
}

// A frozen module holds its weights as graph constants.
void countConstants(const Program& program, ModelFacts& facts) {
  if (facts.parameters > 0) return;
  ElementsByType elementsByType;
  for (const ConstantTensor& constant : program.constants) {
    if (!constant.tensor.is_floating_point()) continue;
    facts.parameters += constant.tensor.numel();
    facts.parameterBytes += static_cast<int64_t>(constant.tensor.nbytes());
    elementsByType[dtypeOf(constant.tensor.scalar_type())] += constant.tensor.numel();
  }
  takeMostCommon(elementsByType, facts);
}

// Changes what a probe saw to what a model in another floating type would have shown.
void retype(ValueRecord& record, graph::DType to) {
  if (graph::isFloat(record.dtype)) record.dtype = to;
  for (auto& element : record.elements) retype(element, to);
}

}  // namespace

Result<LoweredModel> lowered(ModuleSource source, ModelFacts facts) {
  ASSIGN_OR_RETURN(auto program, buildProgram(source.module));
  for (size_t i = 0; i < std::min(source.declared.size(), program.inputs.size()); ++i)
    program.inputs[i].declared = source.declared[i];
  program.outputNames = source.outputNames;
  facts.format = "torchscript";
  facts.parameters = facts.parameterBytes = 0;
  countParameters(source.module, facts);
  countConstants(program, facts);
  try {
    LoweredModel made{.source = std::move(source), .program = std::move(program), .facts = std::move(facts)};
    made.lowered = lowerProgram(made.program, nullptr);
    made.neverRun = forbiddenCall(made.program);
    return made;
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "the model's graph cannot be read: " + shortText(error));
  }
}

void LoweredModel::adoptRecords(ProbeRecords made) {
  records = std::move(made);
  lowered = lowerProgram(program, &*records);
}

// Literals may be numbered differently where their types were rewritten; nodes and blocks correspond one to one.
void LoweredModel::adoptProbe(const LoweredModel& twin, graph::DType floats) {
  const Program& other = twin.program;
  if (!twin.records || other.nodes.size() != program.nodes.size() || other.blocks.size() != program.blocks.size())
    return;
  ProbeRecords made;
  made.values.resize(program.values.size());
  const auto adopt = [&](const std::vector<int>& mine, const std::vector<int>& theirs) {
    for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
      ValueRecord& record = made.values[static_cast<size_t>(mine[i])];
      record = twin.records->values[static_cast<size_t>(theirs[i])];
      if (floats != graph::DType::Unknown) retype(record, floats);
    }
  };
  for (size_t i = 0; i < program.nodes.size(); ++i) adopt(program.nodes[i].outputs, other.nodes[i].outputs);
  for (size_t i = 0; i < program.blocks.size(); ++i) adopt(program.blocks[i].params, other.blocks[i].params);
  adoptRecords(std::move(made));
}

}  // namespace normlens::formats::torchscript
