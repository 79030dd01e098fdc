// The computation graph that every format is read into and that analysis, planner and views work on.
//
// SSA over blocks: a value is made by one node output, one block parameter, one graph input, one constant or one
// literal. Nodes are stored in execution order; If and Loop hold blocks that may read values of the blocks around
// them. The graph is built once by a reader and then only read: edits live in a fold::FoldPlan.
//
// Thread: immutable after construction; concurrent reads are safe. Ids index the vectors below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/small_vector.h"
#include "core/graph/function.h"
#include "core/graph/op_kind.h"
#include "core/graph/types.h"

namespace normlens::graph {

using NodeId = int32_t;
using ValueId = int32_t;
using BlockId = int32_t;
using ScopeId = int32_t;
using ConstantId = int32_t;
inline constexpr int32_t kNone = -1;
inline constexpr ValueId kNoValue = -1;

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// A read of a value. node == kNone: it is returned by `block` (operand: which return).
struct Use {
  NodeId node = kNone;
  int operand = 0;
  BlockId block = kNone;
  bool operator==(const Use&) const = default;
};
using Uses = SmallVector<Use, 2>;
using Operands = SmallVector<ValueId, 4>;
using Outputs = SmallVector<ValueId, 2>;

// A tensor that the file holds. One Constant per distinct piece of memory: tied weights are one Constant with several
// names and several uses.
struct Constant {
  // States why its value may change after loading (state the model writes, an initializer that is also an input, an
  // in-place op on an alias); empty for a true constant. A constant with a reason is neither read nor edited.
  std::string volatileReason;
  TensorView view;
  std::string name;                  // attribute path or initializer name; unique in the graph
  std::vector<std::string> aliases;  // further names of the same memory
};

// The fields that an analysis of the whole graph reads come first, here and in Node: they are what fits a cache.
struct Value {
  DType dtype = DType::Unknown;
  NodeId producer = kNone;  // kNone: graph input, block parameter, constant or literal
  int output = 0;           // which output of the producer
  BlockId paramOf = kNone;  // block parameter (the graph's inputs are parameters of block 0)
  int param = 0;
  ConstantId constant = kNone;
  std::optional<double> literal;  // a scalar written in the graph
  std::optional<Shape> shape;     // of the probe run; nullopt: not a tensor, not reached, or not known yet
  Uses uses;
  // An input, or overridable initializer, has the sizes that every run has, because the file fixes them; -1 where it
  // leaves one open. nullopt: it does not even fix the number of axes.
  std::optional<Shape> declared;
  // Set where an in-place op on an alias makes the value unsafe to reason about: nothing is proved of it, and a shift
  // of it is never tolerated. Plain sentence.
  std::string opaqueReason;
  std::string name;  // unique; as the file's tools print it
};

struct Node {
  OpKind kind = OpKind::Opaque;
  Function function = Function::Other;
  bool helper = false;  // bookkeeping that views hide: sizes, constants, casts of ints
  ScopeId scope = 0;
  BlockId block = 0;
  Operands operands;  // see OpKind; kNoValue for an absent optional
  Outputs outputs;
  Attributes attributes;        // canonical ones first (see OpKind), then whatever else the file states
  std::vector<BlockId> blocks;  // of If and Loop
  std::string op;               // the file's own name, for who reads it: "aten::layer_norm", "LayerNormalization"
  std::string name;             // module path or node name; not necessarily unique
  std::string source;           // where it was written, if the file records it
};

struct Block {
  NodeId owner = kNone;  // kNone for block 0
  std::vector<ValueId> params;
  std::vector<NodeId> nodes;  // in execution order
  std::vector<ValueId> returns;
};

// "This input has size 1 there in every run": an axis counted from the last, which is 1, as broadcasting does; or it
// has no such axis. The file does not state it: whoever relies on it tests and reports it.
struct SizeOfOne {
  ValueId input = kNoValue;
  int fromLast = 1;
  bool operator==(const SizeOfOne&) const = default;
};

// A module, function or name scope; 0 is the model itself.
struct Scope {
  std::string name;  // last part: "ln_1"
  std::string path;  // "transformer.h.0.ln_1"; "" for the model
  std::string type;  // class name, where the file has it
  ScopeId parent = kNone;
};

class Graph {
 public:
  std::vector<Value> values;
  std::vector<Node> nodes;    // index order = execution order within each block
  std::vector<Block> blocks;  // 0: the model's forward
  std::vector<Scope> scopes;
  std::vector<Constant> constants;
  std::vector<SizeOfOne> assumed;  // what the rules may rely on though the file does not state it. No part of the text.
  // Names of outputs, 1:1 with outputs(), where the file names any; empty for those without one. No part of the text.
  std::vector<std::string> outputNames;

  Graph();

  // Construction. Each keeps uses and producers consistent.
  ValueId addValue(Value value);
  ValueId addConstant(Constant constant);  // makes the value that stands for it
  ValueId addLiteral(double number);
  ValueId addParam(BlockId block, Value value);
  BlockId addBlock(NodeId owner);
  ScopeId addScope(ScopeId parent, std::string name, std::string type);
  // Registers the operand uses, makes the outputs. A node without an operand that its kind requires becomes Opaque.
  NodeId addNode(Node node, std::vector<Value> outputs);
  void addReturn(BlockId block, ValueId value);

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  [[nodiscard]] const Block& block(BlockId id) const { return blocks[static_cast<size_t>(id)]; }
  [[nodiscard]] const Scope& scope(ScopeId id) const { return scopes[static_cast<size_t>(id)]; }
  [[nodiscard]] const Constant& constant(ConstantId id) const { return constants[static_cast<size_t>(id)]; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const { return blocks[0].params; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const { return blocks[0].returns; }
  // Nodes of a kind in execution order, nested blocks where they run.
  [[nodiscard]] std::vector<NodeId> executionOrder() const;
};

// kNoValue where the operand is absent.
[[nodiscard]] ValueId operandAt(const Node& node, size_t index);

// Attribute look-up; nullopt when absent or of another type.
[[nodiscard]] std::optional<int64_t> intAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<double> floatAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<std::vector<int64_t>> intsAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<std::string> stringAttribute(const Node& node, std::string_view name);
[[nodiscard]] bool boolAttribute(const Node& node, std::string_view name, bool otherwise = false);

// Structural invariants: ids in range, uses mirror operands, each value made once and before it is read, names unique.
// A reader's output is checked in debug builds and in every test.
[[nodiscard]] Status checkGraph(const Graph& graph);

}  // namespace normlens::graph
