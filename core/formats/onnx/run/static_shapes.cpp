#include "core/formats/onnx/run/static_shapes.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/input_sizes.h"
#include "core/formats/onnx/types/known_types.h"

namespace normlens::formats::onnx {
namespace {

ProbeShapes givenShapes(const ModelProto& model, const Tensors& inputs) {
  ProbeShapes given;
  const auto sized = sizedInputs(model);
  for (size_t i = 0; i < sized.size(); ++i) {
    if (const auto* view = inputFor(inputs, sized[i].name, i)) given[sized[i].name] = {sized[i].dtype, view->shape};
  }
  return given;
}

StaticShapes collected(const GraphProto& graph, const KnownTypes& types) {
  StaticShapes out;
  std::unordered_set<std::string> constants;
  for (const TensorProto& tensor : graph.initializer()) constants.insert(tensor.name());
  // Sizes may depend on what such an input holds: anything computed that is not known to be of a floating type.
  const auto isComputedNumber = [&](const std::string& name) {
    return !name.empty() && !constants.contains(name) && !isKnownFloat(types, name);
  };
  const auto take = [&](const std::string& name, bool compared) {
    const auto found = name.empty() ? types.end() : types.find(name);
    if (found == types.end() || found->second.dtype == graph::DType::Unknown) return;
    const auto shape = found->second.shape();
    if (!shape) return;
    out.shapes[name] = {found->second.dtype, *shape};
    if (compared) out.alsoTapped.insert(name);
  };
  for (const NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") {
      constants.insert(node.output().begin(), node.output().end());
      continue;
    }
    const bool compared = std::ranges::any_of(node.input(), isComputedNumber);
    for (const std::string& output : node.output()) take(output, compared);
  }
  for (const auto& input : graph.input()) take(input.name(), false);
  return out;
}

constexpr int64_t kManyBytes = int64_t{256} << 20;

using Names = std::unordered_set<std::string>;

class NumbersSearch {
 public:
  NumbersSearch(const OnnxSource& source, const StaticShapes& inferred)
      : source_(source), graph_(source.skeleton->graph()), inferred_(inferred) {
    for (const TensorProto& tensor : graph_.initializer()) constants_.insert(tensor.name());
  }

  std::optional<NumbersModel> search(const Tensors& inputs, NumbersAsked asked) {
    if (source_.skeleton->functions_size() > 0) return std::nullopt;
    for (const NodeProto& node : graph_.node()) {
      if (!take(node)) return std::nullopt;
    }
    if (asked == NumbersAsked::OfUnknownShapes) {
      keepOnlyBehind(asked_);
    } else {
      asked_.insert(inferred_.alsoTapped.begin(), inferred_.alsoTapped.end());
    }
    return model(inputs);
  }

 private:
  [[nodiscard]] const ProbedValue* known(const std::string& name) const {
    const auto found = inferred_.shapes.find(name);
    return found == inferred_.shapes.end() ? nullptr : &found->second;
  }

  // False: a run of the whole is needed.
  bool take(const NodeProto& node) {
    if (holdsBody(node)) return false;
    if (node.op_type() == "Constant") {
      constants_.insert(node.output().begin(), node.output().end());
      return keep(node);
    }
    bool number = false, compared = false;
    Names unknown;
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const auto* value = known(output);
      if (value == nullptr) unknown.insert(output);
      number = number || (value != nullptr && !graph::isFloat(value->dtype));
      compared = compared || inferred_.alsoTapped.contains(output);
    }
    if (!unknown.empty()) {
      complete_ = false;
      if (!std::ranges::all_of(node.input(), [&](const auto& input) { return isThere(input); })) return true;
      asked_.merge(unknown);
      compared = true;
    }
    if (!number && !compared) return true;
    const bool readsShapesOnly =
        node.op_type() == "Shape" || node.op_type() == "Size" || (!number && !sizeFollowsNumbers(node.op_type()));
    if (!readsShapesOnly && std::ranges::any_of(node.input(), [&](const auto& input) { return isFloatNumber(input); }))
      return false;
    return keep(node);
  }

  [[nodiscard]] bool isFloatNumber(const std::string& name) const {
    const auto* value = known(name);
    return !constants_.contains(name) && value != nullptr && graph::isFloat(value->dtype);
  }

  [[nodiscard]] bool isThere(const std::string& name) const {
    return name.empty() || constants_.contains(name) || known(name) != nullptr || made_.contains(name);
  }

  bool keep(const NodeProto& node) {
    kept_.push_back(&node);
    made_.insert(node.output().begin(), node.output().end());
    read_.insert(node.input().begin(), node.input().end());
    return true;
  }

  void keepOnlyBehind(Names needed) {
    std::vector<const NodeProto*> kept;
    made_.clear();
    read_.clear();
    for (const NodeProto* node : std::ranges::reverse_view(kept_)) {
      if (std::ranges::none_of(node->output(), [&](const auto& output) { return needed.contains(output); })) continue;
      needed.insert(node->input().begin(), node->input().end());
      kept.push_back(node);
    }
    kept_.clear();
    for (const NodeProto* node : std::ranges::reverse_view(kept)) keep(*node);
  }

  [[nodiscard]] NumbersModel model(const Tensors& inputs) const {
    NumbersModel out{source_, {}, complete_};
    auto skeleton = std::make_shared<ModelProto>();
    skeleton->set_ir_version(source_.skeleton->ir_version());
    *skeleton->mutable_opset_import() = source_.skeleton->opset_import();
    GraphProto& graph = *skeleton->mutable_graph();
    graph.set_name(graph_.name());
    for (const NodeProto* node : kept_) *graph.add_node() = *node;
    for (const TensorProto& tensor : graph_.initializer()) {
      if (read_.contains(tensor.name())) *graph.add_initializer() = tensor;
    }
    for (const auto& tensor : graph_.sparse_initializer()) {
      if (read_.contains(tensor.values().name())) *graph.add_sparse_initializer() = tensor;
    }
    int position = 0;
    for (const auto& input : graph_.input()) {
      if (constants_.contains(input.name())) continue;
      const auto* view = inputFor(inputs, input.name(), static_cast<size_t>(position++));
      if (view == nullptr || !read_.contains(input.name())) continue;
      *graph.add_input() = input;
      out.inputs.push_back({input.name(), *view});
    }
    for (const auto& [name, value] : inferred_.shapes) {
      const bool isInput = std::ranges::any_of(graph_.input(), [&](const auto& input) { return input.name() == name; });
      if (!read_.contains(name) || made_.contains(name) || constants_.contains(name) || isInput) continue;
      add(*graph.add_input(), name, value);
      const auto elements = static_cast<size_t>(graph::elementCount(value.shape).value_or(0));
      out.inputs.push_back({name, standIn(value.dtype, value.shape, zeros(elements * graph::dtypeBytes(value.dtype)))});
    }
    for (const std::string& name : asked_) graph.add_output()->set_name(name);
    out.source.skeleton = std::move(skeleton);
    return out;
  }

  static void add(::ONNX_NAMESPACE::ValueInfoProto& info, const std::string& name, const ProbedValue& value) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(toOnnxType(value.dtype));
    for (const int64_t size : value.shape) type.mutable_shape()->add_dim()->set_dim_value(size);
  }

  const OnnxSource& source_;
  const GraphProto& graph_;
  const StaticShapes& inferred_;
  Names constants_, made_, read_, asked_;
  bool complete_ = true;
  std::vector<const NodeProto*> kept_;
};

}  // namespace

StaticShapes staticShapes(const OnnxSource& source, const Tensors& inputs, const ProbeShapes& seen) {
  if (source.everyFloat != graph::DType::Unknown) return {};  // its nodes get their types when the session is made
  const KnownTypes types = inferredTypes(source, givenShapes(*source.skeleton, inputs), seen);
  StaticShapes found = collected(source.skeleton->graph(), types);
  found.onlyForShape = weightsOnlyForShape(source, types);
  return found;
}

bool takesLongToRun(const OnnxSource& source) {
  int64_t bytes = 0;
  for (const auto& [name, weight] : *source.weights) bytes += graph::byteCount(weight.view);
  return bytes > kManyBytes;
}

std::optional<NumbersModel> numbersOf(const OnnxSource& source, const StaticShapes& inferred, const Tensors& inputs,
                                      NumbersAsked asked) {
  return NumbersSearch(source, inferred).search(inputs, asked);
}

}  // namespace normlens::formats::onnx
