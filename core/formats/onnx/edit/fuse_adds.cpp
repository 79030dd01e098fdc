#include "core/formats/onnx/edit/fuse_adds.h"

#include <algorithm>
#include <optional>

#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/input_sizes.h"
#include "core/formats/onnx/types/known_types.h"
#include "core/graph/queries.h"

namespace normlens::formats::onnx {
namespace {

using graph::NodeId;
using graph::ValueId;

// Infers shapes with onnx where axes that the file leaves open and the probe had at 1 are 2: an operand that was not
// repeated for want of something to repeat it along then has another shape than the sum.
class OtherSizes {
 public:
  OtherSizes(const OnnxSource& source, const Lowered& lowered) : source_(source), lowered_(lowered) {}

  // Returns whether the value has the same shape as the sum then too.
  [[nodiscard]] bool agree(ValueId operand, ValueId sum) {
    infer();
    if (!varies_) return true;  // no input has such an axis
    const auto shape = shapeOf(sum);
    return shape && shapeOf(operand) == shape;
  }

 private:
  void infer() {
    if (inferred_) return;
    inferred_ = true;
    ProbeShapes inputs;
    for (const SizedInput& sized : sizedInputs(*source_.skeleton)) {
      const auto probed = probedShape(sized.name);
      if (!probed || (sized.ranked && probed->size() != sized.shape.size())) {
        varies_ = true;
        continue;
      }
      graph::Shape shape = *probed;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const bool open = !sized.ranked || std::ranges::count(sized.freeAxes, static_cast<int>(axis)) != 0;
        if (!open || shape[axis] != 1) continue;
        shape[axis] = 2;
        varies_ = true;
      }
      inputs[sized.name] = {sized.dtype, std::move(shape)};
    }
    if (varies_) types_ = inferredTypes(source_, inputs);
  }

  [[nodiscard]] std::optional<graph::Shape> probedShape(const std::string& input) const {
    for (const ValueId id : lowered_.graph.inputs()) {
      if (lowered_.valuePath[static_cast<size_t>(id)] == input) return lowered_.graph.value(id).shape;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<graph::Shape> shapeOf(ValueId id) const {
    const auto& value = lowered_.graph.value(id);
    if (value.constant != graph::kNone) return value.shape;
    const auto found = types_.find(lowered_.valuePath[static_cast<size_t>(id)]);
    return found == types_.end() ? std::nullopt : found->second.shape();
  }

  const OnnxSource& source_;
  const Lowered& lowered_;
  bool inferred_ = false, varies_ = false;
  KnownTypes types_;
};

// Decides by the sizes of the probe alone.
std::optional<PlainAdd> plainAdd(const graph::Graph& graph, const graph::Node& add) {
  if (add.operands.size() != 2 || add.outputs.size() != 1) return std::nullopt;
  const auto& sum = graph.value(add.outputs[0]);
  if (!sum.shape || (sum.shape->size() != 2 && sum.shape->size() != 3)) return std::nullopt;
  PlainAdd plain{sum.dtype, *sum.shape, -1};
  for (int i = 0; i < 2; ++i) {
    const ValueId operand = add.operands[static_cast<size_t>(i)];
    if (operand == graph::kNoValue || graph.value(operand).dtype != sum.dtype) return std::nullopt;
    if (graph::sameTypeAndShape(graph, operand, add.outputs[0])) continue;
    const auto& value = graph.value(operand);
    const bool isBias = value.constant != graph::kNone && value.shape == graph::Shape{sum.shape->back()};
    if (!isBias || plain.bias >= 0) return std::nullopt;
    plain.bias = i;
  }
  return plain;
}

bool hidesBroadcast(const graph::Shape& shape) { return std::count(shape.begin(), shape.end() - 1, 1) != 0; }

constexpr const char* kDomain = "com.microsoft";
constexpr float kUsualEps = 1e-5F;  // of all norms that can be fused, where the file names none
constexpr size_t kSumOutput = 3;

bool isLayerNorm(const NodeProto& node) {
  return node.op_type() == "LayerNormalization" && isStandardDomain(node.domain());
}

bool isRmsNorm(const NodeProto& node) {
  return (node.op_type() == "RMSNormalization" && isStandardDomain(node.domain())) ||
         node.op_type() == "SimplifiedLayerNormalization";
}

int64_t intOf(const NodeProto& node, const char* name, int64_t otherwise) {
  const auto* attribute = findAttribute(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

// The statistics in float32, which is what the fused operator takes them in, or in a copy in double that stands for
// such a model; nothing but the norm is needed.
bool canBeFused(const NodeProto& norm, const PlainAdd& add) {
  const auto rank = static_cast<int64_t>(add.shape.size());
  const auto stash = add.dtype == graph::DType::Float64 ? TensorProto::DOUBLE : TensorProto::FLOAT;
  const int64_t axis = intOf(norm, "axis", -1);
  const bool onlyNorm = std::ranges::count(norm.output(), "") == norm.output_size() - 1;
  return onlyNorm && (axis == -1 || axis == rank - 1) && intOf(norm, "stash_type", stash) == stash;
}

struct ConstantForm {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
};

// One graph of the model, as it is after the edits.
class BodyFuser {
 public:
  BodyFuser(EditableModel& model, Body& body, const PlainAdds& adds) : model_(model), body_(body), adds_(adds) {
    for (int i = 0; i < body.graph->node_size(); ++i) {
      for (const auto& output : node(i).output()) {
        if (!output.empty()) madeAt_.emplace(output, i);
      }
      eachRead(node(i), [&](const std::string& name) { readAt_[name].push_back(i); });
    }
    for (const auto& output : body.graph->output()) readAt_[output.name()].push_back(body.graph->node_size());
  }

  void fuse(const std::function<bool(const NodeProto&)>& wanted, std::unordered_set<const NodeProto*>& fused) {
    for (int i = 0; i < body_.graph->node_size(); ++i) {
      const NodeProto& norm = node(i);
      if (!(isLayerNorm(norm) || isRmsNorm(norm)) || !wanted(norm)) continue;
      if (fuseAt(i)) fused.insert(&norm);
    }
    if (removed_.empty()) return;
    model_.importDomain(kDomain, 1);
    eraseRemoved();
  }

 private:
  [[nodiscard]] NodeProto& node(int i) const { return *body_.graph->mutable_node(i); }

  bool fuseAt(int normAt) {
    NodeProto& norm = node(normAt);
    const auto made = madeAt_.find(inputOf(norm, 0));
    if (made == madeAt_.end()) return false;
    const NodeProto* add = &node(made->second);
    const auto plain = adds_.find(add);
    const bool stillAdd = plain != adds_.end() && plain->second.bias < 0 && add->op_type() == "Add";
    if (!stillAdd || !canBeFused(norm, plain->second) || !hasConstants(norm, plain->second)) return false;
    const auto place = placeFor(made->second, normAt);
    if (!place) return false;
    write(made->second, normAt, *place, biasBefore(*add, plain->second));
    return true;
  }

  [[nodiscard]] bool hasConstants(const NodeProto& norm, const PlainAdd& add) {
    for (int i = 1; i < norm.input_size(); ++i) {
      if (!norm.input(i).empty() && !isPerFeature(norm.input(i), add)) return false;
    }
    return !inputOf(norm, 1).empty();
  }

  [[nodiscard]] bool isPerFeature(const std::string& constant, const PlainAdd& add) {
    const auto form = constantForm(constant);
    return form && form->dtype == add.dtype && form->shape == graph::Shape{add.shape.back()};
  }

  // An addition of a bias to one of the operands of a sum.
  struct Bias {
    int at = -1;          // index of its node
    int operand = 0;      // of the sum: which one it makes
    std::string x, bias;  // what is added
  };

  [[nodiscard]] std::optional<Bias> biasBefore(const NodeProto& sum, const PlainAdd& plainSum) {
    for (int operand = 0; operand < 2; ++operand) {
      const auto made = madeAt_.find(sum.input(operand));
      if (made == madeAt_.end() || readAt_.at(sum.input(operand)).size() != 1) continue;
      const NodeProto& add = node(made->second);
      const auto plain = adds_.find(&add);
      if (plain == adds_.end() || plain->second.bias < 0 || add.op_type() != "Add") continue;
      const std::string& bias = add.input(plain->second.bias);
      if (plain->second.shape != plainSum.shape || !isPerFeature(bias, plainSum)) continue;
      return Bias{made->second, operand, add.input(1 - plain->second.bias), bias};
    }
    return std::nullopt;
  }

  // Type and shape of an initializer or a Constant node, in this body or around it; exporters put an Identity between
  // where several norms share one.
  [[nodiscard]] std::optional<ConstantForm> constantForm(std::string name) {
    for (const Body* body = &body_; body != nullptr; body = body->outer) {
      const Makers& makers = makersOf(*body->graph);
      for (auto maker = makers.nodes.find(name); maker != makers.nodes.end(); maker = makers.nodes.find(name)) {
        const NodeProto& node = *maker->second;
        if (node.op_type() == "Constant") {
          const auto* value = findAttribute(node, "value");
          return value == nullptr ? std::nullopt : std::optional(formOf(value->t()));
        }
        if (node.op_type() != "Identity") return std::nullopt;
        name = node.input(0);
      }
      if (const auto held = makers.initializers.find(name); held != makers.initializers.end())
        return formOf(*held->second);
    }
    return std::nullopt;
  }

  // Holds the makers of the constants of one graph, by name.
  struct Makers {
    std::unordered_map<std::string, const NodeProto*> nodes;  // Constant and what may pass one on
    std::unordered_map<std::string, const TensorProto*> initializers;
  };

  const Makers& makersOf(const GraphProto& graph) {
    const auto [at, added] = makers_.try_emplace(&graph);
    if (!added) return at->second;
    for (const auto& made : graph.node()) {
      for (const auto& output : made.output()) at->second.nodes.emplace(output, &made);
    }
    for (const auto& tensor : graph.initializer()) at->second.initializers.emplace(tensor.name(), &tensor);
    return at->second;
  }

  static ConstantForm formOf(const TensorProto& tensor) { return {fromOnnxType(tensor.data_type()), dimsOf(tensor)}; }

  // Returns a place that is early enough for the sum's other readers: the norm's, else the Add's, if all that the norm
  // reads is there by then.
  [[nodiscard]] std::optional<int> placeFor(int addAt, int normAt) {
    const auto& readers = readAt_.at(node(addAt).output(0));
    if (std::ranges::none_of(readers, [&](int at) { return at < normAt; })) return normAt;
    const auto& inputs = node(normAt).input();
    const bool early = std::all_of(inputs.begin() + 1, inputs.end(), [&](const std::string& input) {
      const auto made = madeAt_.find(input);
      return made == madeAt_.end() || made->second < addAt;
    });
    return early ? std::optional(addAt) : std::nullopt;
  }

  void write(int addAt, int normAt, int place, const std::optional<Bias>& bias) {
    NodeProto& norm = node(normAt);
    NodeProto& add = node(addAt);
    const std::string sum = add.output(0);
    NodeProto made = fusedNode(add, norm);
    if (bias) takeIn(made, *bias);
    if (readAt_.at(sum).size() > 1) {
      while (made.output_size() < static_cast<int>(kSumOutput)) made.add_output("");
      made.add_output(sum);
      madeAt_[sum] = place;
    } else {
      vanished_.insert(sum);
    }
    madeAt_[norm.output(0)] = place;
    // The norm's node stays the one that is known as the norm.
    norm = std::move(made);
    if (place != normAt) body_.graph->mutable_node()->SwapElements(addAt, normAt);
    removed_.insert(&add);
  }

  // (input + skip) + bias: the same sum but for its rounding.
  void takeIn(NodeProto& fused, const Bias& bias) {
    const int place = fused.op_type() == "SkipLayerNormalization" ? 4 : 3;
    fused.set_input(bias.operand, bias.x);
    while (fused.input_size() < place) fused.add_input("");
    fused.add_input(bias.bias);
    vanished_.insert(node(bias.at).output(0));
    removed_.insert(&node(bias.at));
  }

  static NodeProto fusedNode(const NodeProto& add, const NodeProto& norm) {
    NodeProto made = norm;  // its name, doc string and metadata
    made.set_op_type(isLayerNorm(norm) ? "SkipLayerNormalization" : "SkipSimplifiedLayerNormalization");
    made.set_domain(kDomain);
    made.clear_input();
    for (const auto& input : {add.input(0), add.input(1), inputOf(norm, 1), inputOf(norm, 2)}) made.add_input(input);
    if (made.input(3).empty()) made.mutable_input()->RemoveLast();
    made.clear_output();
    made.add_output(norm.output(0));
    const auto* eps = findAttribute(norm, "epsilon");
    const float epsilon = eps == nullptr ? kUsualEps : eps->f();
    made.clear_attribute();
    setFloat(made, "epsilon", epsilon);
    return made;
  }

  void eraseRemoved() {
    keepOnly(*body_.graph->mutable_node(), [&](const NodeProto& kept) { return !removed_.contains(&kept); });
    keepOnly(*body_.graph->mutable_value_info(), [&](const auto& info) { return !vanished_.contains(info.name()); });
  }

  EditableModel& model_;
  Body& body_;
  const PlainAdds& adds_;
  std::unordered_map<std::string, int> madeAt_;               // by output: index of the node
  std::unordered_map<std::string, std::vector<int>> readAt_;  // by name: indices before any fusing; the end: an output
  std::unordered_map<const GraphProto*, Makers> makers_;      // as before any fusing: no constant is fused
  std::unordered_set<const NodeProto*> removed_;
  std::unordered_set<std::string> vanished_;  // sums that nothing reads any more
};

}  // namespace

bool isOfOperatorsType(const OnnxSource& source, graph::DType dtype) {
  using enum graph::DType;
  return source.everyFloat != Unknown || dtype == Float32 || dtype == Float16 || dtype == BFloat16;
}

bool insideFunction(const NodePath& path) {
  return std::any_of(path.begin(), path.end() - 1, [](const NodeStep& step) { return step.body.empty(); });
}

PlainAdds findPlainAdds(const OnnxSource& source, const Lowered& lowered, EditableModel& model) {
  PlainAdds adds;
  OtherSizes others(source, lowered);
  const auto& graph = lowered.graph;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    const auto& sites = lowered.operandSites[i];
    if (node.kind != graph::OpKind::Add || insideFunction(lowered.nodePath[i])) continue;
    const auto plain = plainAdd(graph, node);
    if (!plain || !isOfOperatorsType(source, plain->dtype)) continue;
    if (std::ranges::any_of(sites, [](const OperandSite& site) { return site.input < 0; })) continue;
    const NodeProto* proto = model.at(lowered.nodePath[i], 0).node;
    if (proto->op_type() != "Add" || !isStandardDomain(proto->domain())) continue;
    const bool sure =
        plain->bias >= 0 || !hidesBroadcast(plain->shape) ||
        std::ranges::all_of(node.operands, [&](ValueId operand) { return others.agree(operand, node.outputs[0]); });
    if (sure) adds.emplace(proto, *plain);
  }
  return adds;
}

std::unordered_set<const NodeProto*> fuseAdds(EditableModel& model, const PlainAdds& adds,
                                              const std::function<bool(const NodeProto&)>& wanted) {
  std::unordered_set<const NodeProto*> fused;
  for (const auto& body : model.bodies()) {
    if (!EditableModel::insideFunction(*body)) BodyFuser(model, *body, adds).fuse(wanted, fused);
  }
  return fused;
}

}  // namespace normlens::formats::onnx
