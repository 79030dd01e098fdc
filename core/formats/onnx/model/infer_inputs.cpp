// Inputs without being given any: types and fixed sizes from the file, open sizes as in input_sizes.h, and for integers
// what reads them: an index stays below the number of rows that it looks up.
#include <algorithm>
#include <set>
#include <span>

#include "core/base/printable.h"
#include "core/base/run_watch.h"
#include "core/formats/onnx/model/onnx_model.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/types/input_sizes.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;
using graph::ValueId;

// Limits the bytes of all inputs together: a file that wants more is not believed.
constexpr uint64_t kMostInputBytes = uint64_t{256} << 20;

constexpr int kMostSizes = 8;  // which are tried as 1, one by one

struct IndexLimit {
  int64_t rows = 0;
  std::string table;
};

bool keepsElements(OpKind kind) {
  return kind == OpKind::Identity || kind == OpKind::Cast || kind == OpKind::Reshape || kind == OpKind::Permute ||
         kind == OpKind::Expand || kind == OpKind::Slice || kind == OpKind::Select || kind == OpKind::Split ||
         kind == OpKind::Concat;
}

void takeRows(const graph::Graph& graph, const graph::Node& gather, std::optional<IndexLimit>& limit) {
  const auto& table = graph.value(gather.operands[0]);
  const auto axis = graph::intAttribute(gather, "axis");
  if (!axis || !table.shape || static_cast<size_t>(*axis) >= table.shape->size()) return;
  const int64_t rows = (*table.shape)[static_cast<size_t>(*axis)];
  if (!limit || rows < limit->rows) limit = {rows, table.name};
}

// The smallest axis that this value indexes, through operators that keep its elements. However long their chain is.
std::optional<IndexLimit> findLimit(const graph::Graph& graph, ValueId start) {
  std::optional<IndexLimit> limit;
  std::set<ValueId> seen;
  std::vector<ValueId> left{start};
  while (!left.empty()) {
    const ValueId value = left.back();
    left.pop_back();
    if (!seen.insert(value).second) continue;
    for (const graph::Use& use : graph.value(value).uses) {
      if (use.node == graph::kNone) continue;
      const graph::Node& node = graph.node(use.node);
      if (node.kind == OpKind::Gather && use.operand == 1)
        takeRows(graph, node, limit);
      else if (keepsElements(node.kind) && use.operand == 0)
        left.insert(left.end(), node.outputs.begin(), node.outputs.end());
    }
  }
  return limit;
}

std::string shapeText(const SizedInput& input) {
  std::string text;
  for (size_t i = 0; i < input.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ");
    if (!input.names[i].empty()) text += (input.names[i] == "?" ? "axis " + std::to_string(i) : input.names[i]) + "=";
    text += std::to_string(input.shape[i]);
  }
  return "[" + text + "]";
}

void setRange(const graph::Graph& graph, ValueId value, InputSpec& spec) {
  if (graph::isFloat(spec.dtype) || spec.dtype == graph::DType::Bool) return;
  const auto limit = findLimit(graph, value);
  if (limit && limit->rows > 0) {
    spec.high = static_cast<double>(limit->rows - 1);
    spec.assumed += ", values below the " + std::to_string(limit->rows) + " rows of " + limit->table;
  } else if (mentions(spec.name, {"mask"})) {
    spec.low = spec.high = 1;
    spec.assumed += ", all ones (a mask)";
  } else {
    spec.assumed += ", values 0 and 1";
  }
}

Status expectAffordable(const std::vector<InputSpec>& specs) {
  uint64_t total = 0;
  for (const InputSpec& spec : specs) {
    const auto count = graph::elementCount(spec.shape);
    const auto room = (kMostInputBytes - total) / graph::dtypeBytes(spec.dtype);
    if (!count || static_cast<uint64_t>(*count) > room)
      return fail(ErrorCode::BadInput,
                  "the model asks for inputs of more than 256 MB, as " + quotedName(spec.name) + " is one",
                  {"give smaller ones", HintKey::Inputs});
    total += static_cast<uint64_t>(*count) * graph::dtypeBytes(spec.dtype);
  }
  return {};
}

Result<std::vector<InputSpec>> specsFor(const std::vector<SizedInput>& inputs, const graph::Graph& graph) {
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SizedInput& input = inputs[i];
    if (input.dtype == graph::DType::Unknown || input.dtype == graph::DType::Quantized)
      return fail(
          ErrorCode::BadInput,
          "the model's input " + quotedName(input.name) + " is of a type for which NormLens cannot make up values",
          {"give inputs", HintKey::Inputs});
    if (!input.ranked)
      return fail(ErrorCode::BadInput, "the file does not say what shape the input " + quotedName(input.name) + " has",
                  {"describe it as '" + printable(input.name) + "=float32[...]'", HintKey::Inputs});
    InputSpec spec;
    spec.name = input.name;
    spec.dtype = input.dtype;
    spec.shape = input.shape;
    spec.freeAxes = input.freeAxes;
    spec.axisNames = input.names;
    spec.assumed = std::string(graph::dtypeName(spec.dtype)) + shapeText(input) +
                   (input.one                ? " (1 where the file leaves it open: larger sizes do not run)"
                    : input.freeAxes.empty() ? " as the file says"
                                             : " with dynamic sizes set by NormLens");
    setRange(graph, graph.inputs().at(i), spec);
    specs.push_back(std::move(spec));
  }
  RETURN_IF_ERROR(expectAffordable(specs));
  return specs;
}

// One value throughout is enough to see whether the sizes go together.
NamedTensor filled(const InputSpec& spec) {
  const FreshTensor fresh = freshTensor(spec.dtype, spec.shape);
  const std::span bytes(fresh.bytes, static_cast<size_t>(graph::byteCount(fresh.view)));
  std::ranges::fill(bytes, std::byte{0});
  const bool ones = spec.low == 1 || spec.dtype == graph::DType::Bool;
  const size_t width = graph::dtypeBytes(spec.dtype);
  for (size_t i = 0; ones && !graph::isFloat(spec.dtype) && i < bytes.size(); i += width) bytes[i] = std::byte{1};
  return {spec.name, fresh.view};
}

std::vector<graph::Shape> shapesOf(const std::vector<SizedInput>& inputs) {
  std::vector<graph::Shape> shapes;
  for (const SizedInput& input : inputs) shapes.push_back(input.shape);
  return shapes;
}

bool runs(const OnnxModel& model, const std::vector<InputSpec>& specs) {
  Tensors tensors;
  for (const InputSpec& spec : specs) tensors.push_back(filled(spec));
  const RunWatch watch(RunWatch::Kind::Trial);
  return model.run(tensors, Task{}).has_value();
}

}  // namespace

Result<std::vector<InputSpec>> OnnxModel::inferInputs(InputsFor) const {
  auto first = specsFor(sizedInputs(*source_.skeleton), lowered_.graph);
  if (!first) return first;
  std::vector<std::vector<SizedInput>> choices;
  for (const auto sharing : {SizeSharing::AsNamed, SizeSharing::Batch, SizeSharing::SameRank, SizeSharing::SameAxis}) {
    auto inputs = sizedInputs(*source_.skeleton, sharing);
    const bool known =
        std::ranges::any_of(choices, [&](const auto& other) { return shapesOf(other) == shapesOf(inputs); });
    if (!known) choices.push_back(std::move(inputs));
  }
  if (choices.size() == 1) return first;
  // Different names may still have to agree: the first choice that runs is taken.
  for (const auto& inputs : choices) {
    auto specs = specsFor(inputs, lowered_.graph);
    if (!specs || runs(*this, *specs)) return specs;
  }
  return first;
}

std::vector<InputSpec> OnnxModel::inferSizesOfOne() const {
  std::vector<std::vector<graph::Shape>> tried;
  const auto works = [&](int one) -> std::optional<std::vector<InputSpec>> {
    for (const auto sharing : {SizeSharing::AsNamed, SizeSharing::Batch, SizeSharing::SameAxis}) {
      const auto inputs = sizedInputs(*source_.skeleton, sharing, one);
      auto shapes = shapesOf(inputs);
      if (std::ranges::none_of(inputs, &SizedInput::one) || std::ranges::count(tried, shapes) > 0) continue;
      tried.push_back(std::move(shapes));
      auto specs = specsFor(inputs, lowered_.graph);
      if (specs && runs(*this, *specs)) return std::move(*specs);
    }
    return std::nullopt;
  };
  for (int one = 0; one < kMostSizes; ++one) {
    if (auto specs = works(one)) return std::move(*specs);
  }
  return works(kAllSizes).value_or(std::vector<InputSpec>{});
}

}  // namespace normlens::formats::onnx
