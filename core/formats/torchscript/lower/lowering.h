// The state of a lowering in progress: what each program value has become. Private to lower*.cpp and op_*.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/torchscript/lower/lower.h"
#include "core/formats/torchscript/program/memory_sharing.h"
#include "core/ops/size_question.h"

namespace normlens::formats::torchscript {

struct ListState;

// Holds what a program value is in the graph: a value or a list. Neither: None, strings, modules.
struct Item {
  graph::ValueId value = graph::kNoValue;
  std::shared_ptr<ListState> list;  // a list, tuple or dict whose elements are known one by one
};

struct ListState {
  struct Element {
    Item item;
    OperandSite site = {};  // where it was put in
    std::string key = {};   // in a dict; empty: no known string
  };
  std::vector<Element> elements;
  bool isDict = false;
  int block = 0;       // program block it was made in: only there may it grow
  int madeBy = kNone;  // program node
  // All of it as one value, from where it is changed in a way that is not followed.
  graph::ValueId whole = graph::kNoValue;
};

// One value of a tuple that an If or Loop passes on, or the value itself.
struct Leaf {
  int programValue = kNone;
  std::vector<int> path;
  const ValueRecord* record = nullptr;
};

struct Operand {
  graph::ValueId value;
  OperandSite site;
};

// One of several graph nodes that stand for one op.
struct OpPart {
  graph::OpKind kind = graph::OpKind::Opaque;
  std::string op;
  graph::Attributes attributes;
  bool firstOutput = false;  // it makes the op's first output; else a value that exists only inside
};

class Lowering {
 public:
  Lowering(const Program& program, const ProbeRecords* records);
  Lowered run();

  // For the rules of op_*.cpp. `node` is a program node, `input` one of its inputs.
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const graph::Graph& graph() const { return out_.graph; }
  [[nodiscard]] ops::SizeQuestion& sizes() { return sizes_; }
  [[nodiscard]] const ProgramNode& node(int id) const { return program_.node(id); }
  // The tensors and numbers read through this input, lists flattened; None yields one kNoValue.
  std::vector<Operand> operandsOf(int id, size_t input);
  Operand addPart(int id, graph::BlockId into, OpPart part, const std::vector<Operand>& operands);
  // Path of the module whose parameter or buffer this program value is; empty: it is none.
  [[nodiscard]] std::string moduleHolding(int value) const;
  // A number, string, list of numbers known before the run.
  [[nodiscard]] std::optional<c10::IValue> literalOf(int value) const;
  [[nodiscard]] const ValueRecord* recordOf(int value) const;
  // A list built of single values: how many, if that is known.
  [[nodiscard]] std::optional<size_t> listSize(int value) const;
  // A list that was followed and holds, or may hold, something else than when it was recorded.
  [[nodiscard]] const ListState* changedList(int value) const;
  [[nodiscard]] graph::Value described(const Item& item) const;

 private:
  using GraphNode = graph::Node;

  void addResults();
  static void addNames(const Item& container, const std::string& path, bool hasKey, std::vector<std::string>& into);
  void lowerBlock(int block, graph::BlockId into);
  void lowerNode(int id, graph::BlockId into);
  void lowerOp(int id, graph::BlockId into);
  void lowerIf(int id, graph::BlockId into);
  void lowerLoop(int id, graph::BlockId into);
  bool lowerContainer(int id, graph::BlockId into);
  bool takeElements(int id);
  bool growList(int id);
  bool joinLists(int id);
  bool setElement(int id, ListState& list);
  static std::optional<size_t> placeOf(const ListState& list, const c10::IValue& index);
  void freezeGrowingLists(int id, graph::BlockId into);
  void freezeBehind(int written, int forNode, graph::BlockId into);
  void freeze(const std::shared_ptr<ListState>& list, int programValue, int forNode, graph::BlockId into);
  void freezeInside(const ListState& list, int forNode, graph::BlockId into);
  void applyRename(int id);

  graph::ScopeId scopeOf(int frame);
  graph::ScopeId scopeAt(const std::string& path);
  graph::Value describe(int programValue, const ValueRecord* record);
  graph::Value describe(int programValue, const ValueRecord* record, const std::string& name);
  std::string uniqueName(const std::string& wanted, int frame);
  graph::ValueId constantValue(int programValue);
  graph::ValueId literalValue(const c10::IValue& number);
  Item itemOf(int programValue);
  // A list that has become one value is that.
  static Item asItIs(const Item& item);
  Item itemOfKnown(int programValue);
  void flatten(const Item& container, const OperandSite& site, std::vector<Operand>& into);
  // One value for an item: itself, or for a container a node that gathers its elements.
  Operand single(const Item& given, int programValue, const OperandSite& site, int forNode, graph::BlockId into);
  // Control flow passes tuples on element by element, as their type has them.
  static void addLeaves(const c10::TypePtr& type, Leaf leaf, std::vector<Leaf>& into);
  using Types = std::vector<c10::TypePtr>;
  [[nodiscard]] Types typesOf(const std::vector<int>& programValues) const;
  [[nodiscard]] std::vector<Leaf> leavesOf(const std::vector<int>& programValues, const Types& types) const;
  void addLeafOperands(const c10::TypePtr& type, const Item& given, int programValue, const OperandSite& site,
                       int forNode, graph::BlockId into, std::vector<Operand>& operands);
  Item takeApart(const Item& item, size_t count, int forNode, graph::BlockId into);
  Item assemble(const c10::TypePtr& type, std::span<const graph::ValueId> values, size_t& next, int block);
  // `leaves`: of these program values, which are `values` in the graph.
  void bindLeaves(const std::vector<int>& programValues, const Types& types, const std::vector<Leaf>& leaves,
                  std::span<const graph::ValueId> values, int block);
  void addReturns(const ProgramBlock& from, const Types& types, int forNode, graph::BlockId block);
  graph::NodeId addNode(GraphNode made, int programNode, const std::vector<Operand>& operands,
                        std::vector<graph::Value> outputs, const std::vector<int>& outputValues);
  graph::NodeId addNode(GraphNode made, int programNode, const std::vector<Operand>& operands,
                        const std::vector<Leaf>& leaves);
  GraphNode startNode(int programNode, graph::BlockId into);
  void addReturn(graph::BlockId block, const Operand& operand);
  [[nodiscard]] std::optional<size_t> elementsTakenFrom(int listValue) const;
  // counts: of the outputs from `first` on.
  void bindOutputs(int id, graph::NodeId made, size_t first, const std::vector<size_t>& counts);
  [[nodiscard]] bool readsBookkeepingOnly(const std::vector<Operand>& operands) const;

  const Program& program_;
  const ProbeRecords* records_;
  Lowered out_;
  ops::SizeQuestion sizes_{out_.graph};
  std::vector<std::optional<Item>> items_;  // by program value
  std::vector<graph::ValueId> constants_;   // by program constant
  std::vector<std::vector<int>> readers_;   // by program value: nodes that read it
  std::unordered_map<std::string, int> names_;
  std::unordered_map<std::string, graph::ScopeId> scopes_;
  std::vector<graph::ScopeId> scopeOfFrame_;
  std::optional<MemorySharing> sharing_;  // where it was needed
  std::vector<int> rewrittenAs_;          // by program value: the one that it is after an in-place op; kNone: itself
};

}  // namespace normlens::formats::torchscript
