// Describes one aten op to the lowering: its kind and how its arguments become operands and attributes. Private to
// lower*.cpp and op_*.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/torchscript/lower/lowering.h"

namespace normlens::formats::torchscript {

class OpContext;
using FillOp = void (*)(OpContext&);

struct OpRule {
  std::string_view name;  // "aten::linear"
  graph::OpKind kind;
  FillOp fill;
  graph::Function function = graph::Function::Other;
};

// One op being lowered. A rule reads arguments by their schema names and fills in what the graph node will be.
class OpContext {
 public:
  // rule: nullptr where there is none. into: the graph's block that the node goes into.
  OpContext(Lowering& lowering, int node, const OpRule* rule, graph::BlockId into);

  graph::OpKind kind;
  graph::Function function;
  std::vector<Operand> operands;
  graph::Attributes attributes;
  // A list output may be one value for each element that is read of it.
  bool mayTakeListApart = false;

  // Adds the tensor (or number) of an argument; an absent or None argument is kNoValue.
  void operand(std::string_view argument);
  // The same of the first of these arguments that the op has; false: it has none.
  bool operandOf(std::initializer_list<std::string_view> arguments);
  // All tensors of a list argument.
  void operandList(std::string_view argument);
  // Everything that the op reads at run time; `numbers`: sizes and the like, too.
  void allOperands(bool numbers = true);
  // One that is to be an operand of a part.
  [[nodiscard]] Operand take(std::string_view argument);
  // A node in front of the op's own, for what the op does first; it makes the op's first output or a value that exists
  // only inside. Its shape is that of x, broadcast with the others,
  // "axes" of an attribute reduced to 1.
  static constexpr bool kFirstOutput = true, kInside = false;
  [[nodiscard]] Operand part(graph::OpKind partKind, std::string op, const std::vector<Operand>& partOperands,
                             graph::Attributes partAttributes, bool firstOutput);
  // Counts those of the op's outputs, from the first, that are made by parts.
  [[nodiscard]] size_t outputsInParts() const { return outputsInParts_; }
  // Shown where the module that holds this constant is, and under its name; no constant of a module: where it is run.
  void standsInModuleOf(std::string_view argument);
  [[nodiscard]] const std::string& module() const { return module_; }
  void set(std::string name, graph::Attribute value) { attributes.emplace_back(std::move(name), std::move(value)); }
  // The same where the value is known; returns whether it is.
  template <class T>
  bool setKnown(std::string name, std::optional<T> value) {
    if (value) set(std::move(name), std::move(*value));
    return value.has_value();
  }

  // "index_add", of the op in place too.
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] bool has(std::string_view argument) const { return find(argument) >= 0; }
  [[nodiscard]] bool isNone(std::string_view argument) const;  // absent counts
  [[nodiscard]] bool isLiteral(std::string_view argument) const { return literalOf(argument).has_value(); }
  [[nodiscard]] std::optional<int64_t> intOf(std::string_view argument) const;
  [[nodiscard]] std::optional<double> numberOf(std::string_view argument) const;
  [[nodiscard]] std::optional<bool> boolOf(std::string_view argument) const;
  [[nodiscard]] std::optional<std::string> stringOf(std::string_view argument) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> intsOf(std::string_view argument) const;  // a single int counts

  // The numbers of a list that is written out; those computed at run time are nullopt.
  [[nodiscard]] std::optional<std::vector<std::optional<int64_t>>> knownIntsOf(std::string_view argument) const;
  // The same in every run: written, or computed from sizes that weights or the file fix.
  [[nodiscard]] std::optional<int64_t> fixedIntOf(std::string_view argument) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> fixedIntsOf(std::string_view argument) const;
  [[nodiscard]] bool isSizeFixed(size_t operand, int64_t axis) const;  // the same in every run
  // The number that is given is the size of this axis, in every run.
  [[nodiscard]] bool isSizeOf(std::string_view argument, size_t operand, size_t axis) const;
  // Returns how many numbers a list has in every run, those computed at run time counted in.
  [[nodiscard]] std::optional<int64_t> fixedLengthOf(std::string_view argument) const;

  [[nodiscard]] std::optional<graph::Shape> shapeOf(std::string_view argument) const;
  [[nodiscard]] graph::DType dtypeOfInput(std::string_view argument) const;
  [[nodiscard]] std::optional<graph::Shape> outputShape(size_t output = 0) const;
  [[nodiscard]] graph::DType outputDtype(size_t output = 0) const;
  [[nodiscard]] std::optional<int64_t> rankOf(std::string_view argument) const;
  // The axis in [0, rank); nullopt when it is computed at run time, or negative and the rank unknown.
  [[nodiscard]] std::optional<int64_t> axisOf(std::string_view argument, std::optional<int64_t> rank) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> axesOf(std::string_view argument,
                                                           std::optional<int64_t> rank) const;
  // Types and sizes of the tensors of a list argument, as far as known.
  [[nodiscard]] std::vector<graph::Value> elementsOf(std::string_view argument) const;
  [[nodiscard]] std::vector<std::optional<graph::Shape>> shapesOfList(std::string_view argument) const;
  // Sets "axis" where it is known.
  void setAxis(std::string_view argument, std::optional<int64_t> rank);

  // Sets "computed" of a Reshape that joins axes [first, end) of x to the axis they become, if a run decides its size.
  void markJoinedAxis(size_t first, size_t end);
  // Sets "computed" of a Reshape to the sizes that this argument lists, or has as a tensor.
  void markComputedAxes(std::string_view sizes);
  // Sets "fixed" of an Expand or a new tensor to the axes that have the size that this argument lists for every run.
  void markFixedAxes(std::string_view sizes);

  // Literal arguments that are neither operands nor set yet, under their schema names.
  void addRemainingLiterals();

 private:
  [[nodiscard]] int find(std::string_view argument) const;  // input index, -1 when the schema has no such argument
  [[nodiscard]] int valueOf(std::string_view argument) const;
  [[nodiscard]] std::optional<c10::IValue> literalOf(std::string_view argument) const;
  [[nodiscard]] const ValueRecord* recordOf(std::string_view argument) const;

  Lowering& lowering_;
  int node_;
  const ProgramNode& at_;
  const c10::FunctionSchema* schema_;
  std::string_view name_;
  graph::BlockId into_;
  size_t outputsInParts_ = 0;
  std::string module_;
  std::vector<bool> used_;  // by input: became an operand
};

// nullptr: no row, the op is opaque. In-place variants ("aten::add_") find the row of the plain op.
[[nodiscard]] const OpRule* findOpRule(std::string_view name);

// Rows by family; op_map.cpp joins them.
[[nodiscard]] const std::vector<OpRule>& linearRules();     // op_linear.cpp
[[nodiscard]] const std::vector<OpRule>& indexRules();      // op_index.cpp
[[nodiscard]] const std::vector<OpRule>& shapeRules();      // op_shape.cpp
[[nodiscard]] const std::vector<OpRule>& cutRules();        // op_cut.cpp
[[nodiscard]] const std::vector<OpRule>& pointwiseRules();  // op_pointwise.cpp
[[nodiscard]] const std::vector<OpRule>& normRules();       // op_norm.cpp

}  // namespace normlens::formats::torchscript
