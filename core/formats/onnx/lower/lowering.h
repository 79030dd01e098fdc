// The state of a lowering in progress. Private to this room.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/formats/onnx/lower/lower.h"
#include "core/formats/onnx/lower/scopes.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/types/known_types.h"
#include "core/ops/size_question.h"

namespace normlens::formats::onnx {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;

// A graph or function body being read: what its names stand for.
struct Frame {
  const Frame* outer = nullptr;                                 // lexically; a function body has none
  const Frame* caller = nullptr;                                // Calls a function's body; nullptr elsewhere.
  std::unordered_map<std::string_view, graph::ValueId> values;  // names are the model's own strings
  NodePath path;                                                // Leads to the node that owns this body.
  std::string prefix;                                           // Begins each valuePath.
  graph::ScopeId scope = 0;
  std::unordered_map<std::string, const AttributeProto*> bound;  // a function's attributes, as called
  Opsets opsets;
  bool main = false;
};

// A value and the input of the node that reads it; -1: it is inside a fused operator.
struct Operand {
  graph::ValueId value = graph::kNoValue;
  int input = -1;
};

// An output of a node that is made.
struct Output {
  graph::Value value;
  KnownType type;
  const std::string* name = nullptr;  // by which others read it from now on; null or empty: none
};

class Lowering {
 public:
  Lowering(const OnnxSource& source, KnownTypes types);
  Lowered run();

  // For OpContext.
  [[nodiscard]] const graph::Graph& graph() const { return out_.graph; }
  [[nodiscard]] ops::SizeQuestion& sizes() { return sizes_; }
  [[nodiscard]] static graph::ValueId find(const Frame& frame, const std::string& name);
  // The type of a value, as far as it is known: rank and some dims may be known where the shape is not.
  [[nodiscard]] const KnownType& typeOf(graph::ValueId value) const;
  // Elements of an integer constant that cannot change, or of what is computed from constants and sizes that cannot.
  [[nodiscard]] std::optional<std::vector<int64_t>> constantInts(graph::ValueId value) const;
  // The same with kNotStatic for those that differ between runs.
  static constexpr int64_t kNotStatic = std::numeric_limits<int64_t>::min();
  [[nodiscard]] std::optional<std::vector<int64_t>> knownInts(graph::ValueId value) const;
  // Sizes of a value, in the same way (sizes.cpp).
  [[nodiscard]] std::optional<std::vector<int64_t>> staticSizes(graph::ValueId value) const;
  graph::ValueId literal(double number);
  [[nodiscard]] const KnownType& namedType(const Frame& frame, const std::string& name) const;
  // Makes a value for an output of a node; a nameless one where the output is left out. Names have to be the model's
  // own strings or empty.
  graph::Value describeOutput(const Frame& frame, const std::string& name, const KnownType& type);
  graph::Node startNode(const NodeProto& node, Frame& frame, graph::BlockId into);
  // Outer values that a node's bodies read, each once.
  static void captured(const NodeProto& node, const Frame& frame, std::vector<Operand>& into);
  graph::NodeId add(graph::Node node, const std::vector<Operand>& operands, std::vector<Output> outputs, Frame& frame,
                    int index, std::string part);

 private:
  void reserve(const GraphProto& main, Frame& frame);
  void lowerNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Frame& frame, graph::BlockId into);
  void lowerNode(const NodeProto& node, int index, Frame& frame, graph::BlockId into);
  // Initializers that are inputs as well, with the sizes declared there.
  using Overridable = std::unordered_map<std::string, std::optional<graph::Shape>>;
  void lowerInitializers(const GraphProto& graph, Frame& frame, const Overridable& overridable);
  void lowerConstantNode(const NodeProto& node, Frame& frame);
  bool lowerIf(const NodeProto& node, int index, Frame& frame, graph::BlockId into);
  bool lowerLoop(const NodeProto& node, int index, Frame& frame, graph::BlockId into);
  bool lowerScan(const NodeProto& node, int index, Frame& frame, graph::BlockId into);
  // A body that runs several times: its block, the index of the node that owns it, and its outputs: those before the
  // first scanned one are handed to the next pass.
  struct Repeated {
    graph::BlockId block = graph::kNone;
    int index = 0;
    int firstScanned = 0;
    bool returnsCondition = false;  // the first output is whether there is another pass
  };
  void endRepeated(const NodeProto& node, const GraphProto& body, Repeated parts, Frame& inner, Frame& frame);
  void addParam(const std::string& name, KnownType type, Frame& inner, graph::BlockId block);
  void addSlice(const std::string& name, Operand whole, int64_t axis, graph::ValueId pass, Frame& inner, Frame& frame,
                graph::NodeId scan, graph::BlockId block, int index);
  graph::NodeId addOwner(const NodeProto& node, graph::Node made, const std::vector<Operand>& operands, Frame& frame,
                         int index);
  void bindOutputs(const NodeProto& node, graph::NodeId id, Frame& frame);
  void lowerBranch(const GraphProto& body, const char* name, int index, Frame& frame, graph::NodeId owner);
  bool lowerCall(const NodeProto& node, int index, Frame& frame, graph::BlockId into);

  graph::ValueId addConstant(graph::TensorView view, const std::string& name, const Frame& frame,
                             std::string volatileReason);
  graph::ValueId bind(Frame& frame, const std::string& name, graph::ValueId value, KnownType type);
  [[nodiscard]] static Frame bodyFrame(Frame& outer, int index, const std::string& attribute);
  std::string uniqueName(const std::string& name, const Frame& frame);
  void markHelpers();
  void noteValue(graph::ValueId value, std::string path, KnownType type);
  // sizes.cpp.
  [[nodiscard]] std::optional<std::vector<int64_t>> unknownInts(graph::ValueId value) const;
  [[nodiscard]] const std::optional<std::vector<int64_t>>& foldedInts(graph::ValueId value, int depth) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> computeInts(graph::ValueId value, int depth) const;

  const OnnxSource& source_;
  KnownTypes types_;
  Lowered out_;
  ops::SizeQuestion sizes_{out_.graph};
  ScopeReader scopes_;
  std::map<std::string, const FunctionProto*> functions_;  // by key
  mutable std::optional<KnownTypes> staticTypes_;          // made when they are needed
  mutable std::unordered_map<graph::ValueId, std::optional<std::vector<int64_t>>> folded_;
  std::vector<KnownType> valueTypes_;                // by graph value
  const Frame* main_ = nullptr;                      // its names are made once each
  std::unordered_set<std::string> names_;            // Other graph values have them.
  std::unordered_map<std::string, size_t> numbers_;  // by name: of values that are called so, the last number given
};

// The attribute, looked up through the call where the node is in a function body; null when absent.
[[nodiscard]] const AttributeProto* attributeOf(const NodeProto& node, std::string_view name, const Frame& frame);

}  // namespace normlens::formats::onnx
