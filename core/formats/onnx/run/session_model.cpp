#include "core/formats/onnx/run/session_model.h"

#include <onnx/defs/attr_proto_util.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/onnx/float64/element_types.h"
#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/retype.h"

namespace normlens::formats::onnx {
namespace {

// Going by its operator, a value of this node may be something else than a tensor.
bool mayMakeOthers(const std::string& op) {
  static constexpr std::array kOps = {
      "SequenceConstruct", "SequenceEmpty",      "SequenceInsert", "SequenceErase", "SequenceMap",   "SplitToSequence",
      "Optional",          "OptionalGetElement", "ZipMap",         "CastMap",       "DictVectorizer"};
  return std::ranges::any_of(kOps,
                             [&](const char* name) { return op == name || op.starts_with(std::string(name) + " "); });
}

// Custom operators take no packed types.
bool canBeTapped(int32_t type, const std::string& op, bool knownOnly) {
  if (type == kUnknownType) return !knownOnly && !mayMakeOthers(op);
  return type != kNotATensor && fromOnnxType(type) != graph::DType::Quantized;
}

int64_t tapIndex(const NodeProto& tap) {
  const auto* index = findAttribute(tap, kTapIndex);
  return index == nullptr ? -1 : index->i();
}

// Calls visit(node, types) for each node, bodies included; those for which it is false are removed.
template <class Visit>
void filterNodes(GraphProto& graph, const ElementTypes* outer, const Visit& visit) {
  const ElementTypes types(graph, outer);
  keepOnly(*graph.mutable_node(), [&](const NodeProto& node) { return visit(node, types); });
  for (auto& node : *graph.mutable_node()) {
    eachBody(node, [&](GraphProto& body) { filterNodes(body, &types, visit); });
  }
}

void dropTaps(SessionModel& made, bool knownOnly) {
  filterNodes(*made.proto.mutable_graph(), nullptr, [&](const NodeProto& node, const ElementTypes& types) {
    if (node.domain() != kTapDomain) return true;
    return canBeTapped(types.of(node.input(0)), made.sites.at(static_cast<size_t>(tapIndex(node))).op, knownOnly);
  });
}

// While the types are still the file's own.
void noteBfloat16(SessionModel& made) {
  filterNodes(*made.proto.mutable_graph(), nullptr, [&](const NodeProto& node, const ElementTypes& types) {
    if (node.domain() != kTapDomain) return true;
    const int32_t type = types.of(node.input(0));
    made.sites.at(static_cast<size_t>(tapIndex(node))).bfloat16 = type == TensorProto::BFLOAT16 || type == kUnknownType;
    return true;
  });
}

// Makes a model that draws at random draw the same in every session: else no run could be compared with another.
void drawTheSame(::google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
  constexpr std::array<std::string_view, 6> kDraw = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                     "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  eachNode(nodes, [&](NodeProto& node) {
    const bool draws = isStandardDomain(node.domain()) && std::ranges::find(kDraw, node.op_type()) != kDraw.end();
    if (draws && findAttribute(node, "seed") == nullptr) {
      *node.add_attribute() = ::ONNX_NAMESPACE::MakeAttribute("seed", 1.0F);
    }
  });
}

// Each tap reads the one before it in its graph. A tap that nobody reads is a leaf, and ONNX Runtime's sorting takes
// quadratic time over leaves; in a chain there is one, and values come in the file's order.
void chainTaps(GraphProto& graph) {
  std::string before;
  for (NodeProto& node : *graph.mutable_node()) {
    eachBody(node, chainTaps);
    if (node.domain() != kTapDomain) continue;
    if (!before.empty()) node.add_input(before);
    before = node.output(0);
  }
}

void importTaps(ModelProto& model) {
  auto& import = *model.add_opset_import();
  import.set_domain(kTapDomain);
  import.set_version(1);
}

// ONNX Runtime drops initializers that nobody reads, and then refuses to be given them.
void dropUnread(ModelProto& model, std::shared_ptr<const Weights>& weights) {
  std::set<std::string> read, dropped;
  eachRead(model.graph(), [&](const std::string& name) { read.insert(name); });
  auto used = std::make_shared<Weights>();
  for (const auto& tensor : model.graph().initializer()) {
    if (!read.contains(tensor.name())) dropped.insert(tensor.name());
    const auto weight = weights->find(tensor.name());
    if (weight != weights->end() && !dropped.contains(tensor.name())) used->insert(*weight);
  }
  const auto isKept = [&](const auto& named) { return !dropped.contains(named.name()); };
  keepOnly(*model.mutable_graph()->mutable_initializer(), isKept);
  // Without its initializer an input would have to be given.
  keepOnly(*model.mutable_graph()->mutable_input(), isKept);
  weights = std::move(used);
}

// A head that is tied to a table is exported as a product with the table's Transpose, which ONNX Runtime would copy in
// each run. Gemm reads the table as it stands: such products become Gemm, by the same names.
class TurnedTables {
 public:
  explicit TurnedTables(SessionModel& model) : model_(model), graph_(*model.proto.mutable_graph()) {}

  void readInPlace() {
    for (const auto& import : model_.proto.opset_import()) {
      if (isStandardDomain(import.domain()) && import.version() < kLeastOpset) return;
    }
    for (const NodeProto& node : graph_.node()) {
      if (turnsTable(node, *model_.weights)) tables_.emplace(node.output(0), node.input(0));
    }
    if (tables_.empty()) return;
    eachRead(graph_, [&](const std::string& name) { ++otherReads_[name]; });
    for (const NodeProto& node : graph_.node()) {
      if (multiplies(node)) --otherReads_[node.input(1)];
    }
    std::erase_if(tables_, [&](const auto& table) { return otherReads_[table.first] != 0; });
    ::google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (NodeProto& node : nodes) {
      if (multiplies(node)) {
        writeProduct(node);
      } else if (node.output_size() != 1 || !tables_.contains(node.output(0))) {
        graph_.mutable_node()->Add(std::move(node));
      }
    }
  }

 private:
  static constexpr int64_t kLeastOpset = 15;  // Shape takes `end`, Reshape `allowzero`.

  [[nodiscard]] bool multiplies(const NodeProto& node) const {
    return node.op_type() == "MatMul" && isStandardDomain(node.domain()) && node.input_size() == 2 &&
           node.output_size() == 1 && !node.output(0).empty() && tables_.contains(node.input(1));
  }

  NodeProto& add(const char* op, std::initializer_list<std::string> inputs, const std::string& output) {
    NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  // Gemm takes matrices alone: the rows of x, and the axes around them put back behind it.
  void writeProduct(const NodeProto& product) {
    using ::ONNX_NAMESPACE::MakeAttribute;
    const std::string &x = product.input(0), &table = tables_.at(product.input(1));
    const std::string own = "normlens.turned/" + product.output(0) + "/";
    *add("Flatten", {x}, own + "rows").add_attribute() = MakeAttribute("axis", int64_t{-1});
    *add("Gemm", {own + "rows", table}, own + "product").add_attribute() = MakeAttribute("transB", int64_t{1});
    *add("Shape", {x}, own + "outer").add_attribute() = MakeAttribute("end", int64_t{-1});
    *add("Constant", {}, own + "width").add_attribute() =
        MakeAttribute("value_ints", std::vector<int64_t>{model_.weights->at(table).view.shape[0]});
    *add("Concat", {own + "outer", own + "width"}, own + "shape").add_attribute() = MakeAttribute("axis", int64_t{0});
    *add("Reshape", {own + "product", own + "shape"}, product.output(0)).add_attribute() =
        MakeAttribute("allowzero", int64_t{1});
  }

  SessionModel& model_;
  GraphProto& graph_;
  std::map<std::string, std::string> tables_;  // the table that each Transpose reads, by what it makes
  std::map<std::string, int> otherReads_;      // of what they make, but by products
};

// A function with an operator that its version does not define makes ONNX Runtime 1.31 crash instead of refusing it.
bool functionsAreDefined(const ModelProto& model) {
  return std::ranges::all_of(model.functions(), [](const auto& function) {
    int version = 1;
    for (const auto& import : function.opset_import()) {
      if (isStandardDomain(import.domain())) version = static_cast<int>(import.version());
    }
    return std::ranges::all_of(function.node(), [&](const NodeProto& node) {
      const auto* schema = ::ONNX_NAMESPACE::OpSchemaRegistry::Schema(node.op_type(), version, "");
      return !isStandardDomain(node.domain()) || (schema != nullptr && !schema->Deprecated());
    });
  });
}

}  // namespace

bool turnsTable(const NodeProto& node, const Weights& weights) {
  const bool transposes = node.op_type() == "Transpose" && isStandardDomain(node.domain());
  if (!transposes || node.input_size() != 1 || node.output_size() != 1) return false;
  const auto* perm = findAttribute(node, "perm");
  const auto weight = weights.find(node.input(0));
  const bool swaps = perm == nullptr || (perm->ints_size() == 2 && perm->ints(0) == 1 && perm->ints(1) == 0);
  if (weight == weights.end() || !swaps) return false;
  const graph::TensorView& table = weight->second.view;
  const bool hasGemm = table.dtype == graph::DType::Float32 || table.dtype == graph::DType::Float64;
  return hasGemm && table.shape.size() == 2 && isLargeFloat(table);
}

void nameNodesByOutputs(SessionModel& model) {
  for (NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    const auto named = std::ranges::find_if(node.output(), [](const std::string& output) { return !output.empty(); });
    if (named != node.output().end()) node.set_name(*named);
  }
}

std::string unknownOperator(const ModelProto& model) {
  std::set<std::string> own;
  for (const auto& function : model.functions()) {
    own.insert(functionKey(function));
  }
  std::string unknown;
  eachNode(model, [&](const NodeProto& node) {
    const bool known =
        isStandardDomain(node.domain()) || isRuntimeDomain(node.domain()) || own.contains(functionKey(node));
    if (!known && unknown.empty()) unknown = node.op_type() + " of '" + node.domain() + "'";
  });
  return unknown;
}

Result<SessionModel> makeSessionModel(const OnnxSource& source, const SessionWishes& wishes) {
  SessionModel made{*source.skeleton, source.weights, source.file, {}};
  dropUnread(made.proto, made.weights);
  const bool ownKernels = wishes.ownKernels || source.float64Twin;
  if (made.proto.functions_size() > 0 || wishes.taps) {
    ModelProto flat = made.proto;
    const auto done = flattenFunctions(flat, wishes.taps, made.sites);
    const bool asItIs = !wishes.taps && !ownKernels && functionsAreDefined(made.proto);
    if (!done && !asItIs) return tl::unexpected(done.error());
    if (done) made.proto = std::move(flat);
  }
  drawTheSame(*made.proto.mutable_graph()->mutable_node());
  for (auto& function : *made.proto.mutable_functions()) drawTheSame(*function.mutable_node());
  const bool fromBfloat16 = !source.float64Twin && mentionsType(made.proto, TensorProto::BFLOAT16);
  if (wishes.taps) importTaps(made.proto);  // shape inference needs all domains
  // Again, or for the first time: attributes of calls have found their places.
  if (source.everyFloat != graph::DType::Unknown) retypeModel(made.proto, allFloatsTo(source.everyFloat));
  if (wishes.taps || ownKernels) inferTypes(made.proto);
  if (fromBfloat16) {
    if (wishes.taps) noteBfloat16(made);
    retypeModel(made.proto, bfloat16ToFloat32());
    made.weights = std::make_shared<const Weights>(retypeWeights(*made.weights, bfloat16ToFloat32()));
  }
  if (ownKernels) useOwnKernels(made.proto, source.float64Twin);
  if (wishes.turnedInPlace) TurnedTables(made).readInPlace();
  if (wishes.taps) {
    dropTaps(made, wishes.tapKnownOnly);
    chainTaps(*made.proto.mutable_graph());
  }
  // The shapes that inference found are not needed any more, and ONNX Runtime need not agree with them.
  if (wishes.taps || ownKernels) made.proto.mutable_graph()->clear_value_info();
  return made;
}

}  // namespace normlens::formats::onnx
