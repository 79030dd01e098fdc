// Norms written as other operators, with nothing folded, and a model that is nothing but one.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>

#include "core/analysis/norms/whole_norm.h"
#include "core/formats/edit/edit_refused.h"
#include "core/formats/onnx/edit/edits.h"
#include "core/formats/onnx/edit/fuse_adds.h"
#include "core/formats/onnx/edit/lift_opset.h"
#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/edit/norms/apply_norm.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/tensors/tensor_store.h"
#include "core/graph/numbers.h"

namespace normlens::formats::onnx {
namespace {

using analysis::WholeNorm;
using graph::kNoValue;
using graph::NodeId;
using graph::ValueId;

constexpr int kLayerNormOpset = 17;  // the first with LayerNormalization
constexpr int kOwnInitializers = 4;  // the version of the format from which initializers need not be inputs

bool inOneBody(const NodePath& a, const NodePath& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

NodeProto operatorNode(const char* op, const WholeNorm& norm, const NodeProto& like) {
  NodeProto made;
  made.set_op_type(op);
  made.set_name(like.name());
  if (like.has_doc_string()) made.set_doc_string(like.doc_string());
  *made.mutable_metadata_props() = like.metadata_props();
  setInt(made, "axis", -static_cast<int64_t>(norm.axes.size()));
  setFloat(made, "epsilon", static_cast<float>(norm.eps));
  return made;
}

class NormJoiner {
 public:
  // opset: of the main graph in the result; bodies of functions keep theirs.
  NormJoiner(const OnnxSource& source, const Lowered& lowered, EditableModel& model, int opset)
      : source_(source), lowered_(lowered), model_(model), opset_(opset) {}

  // Puts LayerNormalization, RMSNormalization where the version has it, or ONNX Runtime's SimplifiedLayerNormalization,
  // which it does not take in functions, in the place of the norm's last node, under the name of the norm and with the
  // output as it was called. False, and nothing is changed, unless all of the norm is in one body, it has a gamma,
  // and is of a type that these operators take.
  bool join(const WholeNorm& norm) {
    const auto& graph = lowered_.graph;
    const NodeId end = graph.value(norm.output).producer;
    const bool expressible = static_cast<double>(static_cast<float>(norm.eps)) == norm.eps;
    if (norm.gamma == kNoValue || !expressible || !isOfOperatorsType(source_, graph.value(norm.input).dtype))
      return false;
    if (!standsTogether(norm, end) || !isWholeNode(end)) return false;
    const ReadSite place = model_.at(lowered_.nodePath[static_cast<size_t>(end)], 0);
    const char* op = operatorFor(norm.centers, *place.body);
    std::vector<std::string> inputs;
    for (const ValueId value : {norm.input, norm.gamma, norm.beta}) {
      if (value != kNoValue) inputs.push_back(nameOf(norm, value, end));
    }
    if (op == nullptr || std::ranges::find(inputs, "") != inputs.end()) return false;
    for (size_t i = 1; i < inputs.size(); ++i) {
      const auto& shape = graph.value(i == 1 ? norm.gamma : norm.beta).shape;
      if (shape->size() > norm.axes.size()) inputs[i] = flattened(inputs[i], *place.body, norm.axes.size());
      if (inputs[i].empty()) return false;
    }
    const NodeProto* named = model_.at(lowered_.nodePath[static_cast<size_t>(norm.node)], 0).node;
    NodeProto made = operatorNode(op, norm, *named);
    for (const auto& input : inputs) made.add_input(input);
    made.add_output(place.node->output(0));
    model_.replace(*place.body, *place.node, std::move(made));
    return true;
  }

 private:
  [[nodiscard]] const char* operatorFor(bool centers, const Body& body) const {
    const bool inside = EditableModel::insideFunction(body);
    const int opset = inside ? model_.opset(body) : opset_;
    if (centers) return opset >= kLayerNormOpset ? "LayerNormalization" : nullptr;
    if (opset >= kRmsOpset) return "RMSNormalization";
    return inside ? nullptr : "SimplifiedLayerNormalization";
  }

  [[nodiscard]] bool standsTogether(const WholeNorm& norm, NodeId end) const {
    const NodePath& place = lowered_.nodePath[static_cast<size_t>(end)];
    return std::ranges::all_of(
        norm.members, [&](NodeId node) { return inOneBody(lowered_.nodePath[static_cast<size_t>(node)], place); });
  }

  // Not a part of an operator that does more.
  [[nodiscard]] bool isWholeNode(NodeId node) {
    const auto& sites = lowered_.operandSites[static_cast<size_t>(node)];
    const NodeProto* proto = model_.at(lowered_.nodePath[static_cast<size_t>(node)], 0).node;
    return isStandardDomain(proto->domain()) && proto->output_size() == 1 &&
           std::ranges::all_of(sites, [](const OperandSite& site) { return site.input >= 0; });
  }

  // Returns the name by which a node of the norm reads the value; empty where it has none of its own there.
  [[nodiscard]] std::string nameOf(const WholeNorm& norm, ValueId value, NodeId end) {
    const auto use = analysis::readOf(lowered_.graph, norm, value);
    if (!use) return {};
    const NodePath& path = lowered_.nodePath[static_cast<size_t>(use->node)];
    const int input = lowered_.operandSites[static_cast<size_t>(use->node)][static_cast<size_t>(use->operand)].input;
    if (input < 0 || !inOneBody(path, lowered_.nodePath[static_cast<size_t>(end)])) return {};
    return EditableModel::nameAt(model_.at(path, input));
  }

  // The tensor of a gamma or beta with as many axes as are normalized: a new one where it has 1s in front. Empty where
  // it is not held in the main graph.
  std::string flattened(const std::string& name, Body& place, size_t axes) {
    const Origin origin = EditableModel::originOf(place, name);
    if (EditableModel::insideFunction(place) || origin.kind != Origin::Kind::Initializer ||
        origin.body != &model_.main() || model_.proto().ir_version() < kOwnInitializers)
      return {};
    std::string& made = flattened_[name];
    if (!made.empty()) return made;
    made = EditableModel::freshName(model_.main(), name + "_vector");
    auto& initializers = *model_.main().graph->mutable_initializer();
    TensorProto tensor = initializers.Get(model_.main().initializer.at(name));
    tensor.set_name(made);
    const auto ones = tensor.dims_size() - static_cast<int>(axes);
    tensor.mutable_dims()->erase(tensor.dims().begin(), tensor.dims().begin() + ones);
    if (const auto held = model_.weights().find(name); held != model_.weights().end()) {
      Weight weight = held->second;
      weight.view.shape.erase(weight.view.shape.begin(), weight.view.shape.begin() + ones);
      weight.view.strides.erase(weight.view.strides.begin(), weight.view.strides.begin() + ones);
      weight.asOpened = false;
      tensor.clear_external_data();
      model_.weights()[made] = std::move(weight);
    }
    *initializers.Add() = std::move(tensor);
    return made;
  }

  const OnnxSource& source_;
  const Lowered& lowered_;
  EditableModel& model_;
  int opset_;
  std::map<std::string, std::string> flattened_;
};

// To the first version with LayerNormalization, where a norm needs it and it can be done.
std::optional<OpsetLift> liftFor(const std::vector<analysis::JoinableNorm>& norms, const Lowered& lowered,
                                 EditableModel& model) {
  const bool wanted = std::ranges::any_of(norms, [](const auto& named) { return named.norm.centers; });
  if (!wanted || model.opset(model.main()) >= kLayerNormOpset) return std::nullopt;
  auto lift = OpsetLift::plan(model, lowered, kLayerNormOpset);
  return lift ? std::optional(std::move(*lift)) : std::nullopt;
}

struct NormNode {
  std::string name;
  const NodeProto* node = nullptr;
};

// Bodies of functions are left as they are.
std::vector<NormNode> normsOf(const analysis::Norms& norms, const Lowered& lowered, EditableModel& model) {
  std::vector<NormNode> nodes;
  for (const auto& norm : analysis::normsOfOneOp(norms)) {
    const NodePath& path = lowered.nodePath[static_cast<size_t>(norm.node)];
    if (!insideFunction(path)) nodes.push_back({norm.name, model.at(path, 0).node});
  }
  return nodes;
}

// `edit` returns the names of the norms that it edits; `failed` is what cannot be done where it throws.
Result<EditedNorms> withEditedNorms(const OnnxSource& source, const std::string& failed,
                                    const std::function<std::vector<std::string>(EditableModel&)>& edit) {
  try {
    EditableModel edited(source);
    EditedNorms result{source, edit(edited)};
    result.source.skeleton = edited.finish();
    result.source.weights = edited.takeWeights();
    return result;
  } catch (...) {
    return tl::unexpected(editError(failed));
  }
}

}  // namespace

Result<EditedNorms> joinNorms(const OpenedModel& model, const analysis::Norms& norms, const Task& task) {
  const auto joinable =
      analysis::joinableNorms(model.lowered.graph, norms, /*rmsWithBeta=*/false, /*leadingOnes=*/true);
  if (joinable.empty()) return EditedNorms{};
  task.report("joining norms that are written out");
  return withEditedNorms(model.source, "the norms cannot be joined", [&](EditableModel& edited) {
    const auto lift = liftFor(joinable, model.lowered, edited);
    NormJoiner joiner(model.source, model.lowered, edited, lift ? kLayerNormOpset : edited.opset(edited.main()));
    std::vector<std::string> joined;
    for (const auto& [name, norm] : joinable) {
      if (joiner.join(norm)) joined.push_back(name);
    }
    edited.finishNodes();
    if (lift && !joined.empty()) lift->apply(edited);
    return joined;
  });
}

Result<EditedNorms> fuseNorms(const OpenedModel& model, const analysis::Norms& norms, const Task& task) {
  task.report("fusing adds and norms");
  return withEditedNorms(model.source, "the norms cannot be fused", [&](EditableModel& edited) {
    const PlainAdds adds = findPlainAdds(model.source, model.lowered, edited);
    const auto candidates = normsOf(norms, model.lowered, edited);
    std::unordered_set<const NodeProto*> wanted;
    for (const NormNode& norm : candidates) wanted.insert(norm.node);
    const auto fusedNodes = fuseAdds(edited, adds, [&](const NodeProto& node) { return wanted.contains(&node); });
    std::vector<std::string> fused;
    for (const NormNode& norm : candidates) {
      if (fusedNodes.contains(norm.node)) fused.push_back(norm.name);
    }
    return fused;
  });
}

OnnxSource singleNorm(int64_t rows, int64_t width, graph::DType dtype) {
  constexpr int kOpset = 23;  // the first in which every flavour of the norm that replaces it can be written
  constexpr int kIrVersion = 11;
  auto model = std::make_shared<ModelProto>();
  model->set_ir_version(kIrVersion);
  model->add_opset_import()->set_version(kOpset);
  GraphProto& graph = *model->mutable_graph();
  graph.set_name("single_norm");
  for (auto* value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    auto& type = *value->mutable_type()->mutable_tensor_type();
    type.set_elem_type(toOnnxType(dtype));
    for (const int64_t size : {rows, width}) type.mutable_shape()->add_dim()->set_dim_value(size);
  }
  const auto ones = graph::tensorFromDoubles({width}, std::vector<double>(static_cast<size_t>(width), 1.0), dtype);
  *graph.add_initializer() =
      rawTensor("gamma", dtype, {width}, {ones.data, static_cast<size_t>(graph::byteCount(ones))});
  NodeProto& norm = *graph.add_node();
  norm.set_op_type("LayerNormalization");
  norm.add_input("x");
  norm.add_input("gamma");
  norm.add_output("y");
  setInt(norm, "axis", -1);
  OnnxSource source;
  source.skeleton = std::move(model);
  source.weights = std::make_shared<Weights>();
  return source;
}

}  // namespace normlens::formats::onnx
