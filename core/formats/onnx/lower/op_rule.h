// Describes one ONNX operator to the lowering: its kind, and how its inputs and attributes become operands and
// attributes of graph nodes. Private to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/onnx/lower/lowering.h"

namespace normlens::formats::onnx {

class OpContext;
using FillOp = void (*)(OpContext&);

enum class Domain : uint8_t { Standard, Runtime, Both };  // "" and ai.onnx; com.microsoft

struct OpRule {
  std::string_view name;
  graph::OpKind kind;
  FillOp fill;
  Domain domain = Domain::Standard;
  graph::Function function = graph::Function::Other;
};

// One node being lowered. A rule fills in the last graph node and may put parts in front of it.
class OpContext {
 public:
  // rule: nullptr where there is none.
  OpContext(Lowering& lowering, const NodeProto& node, int index, Frame& frame, graph::BlockId into,
            const OpRule* rule);

  graph::OpKind kind;
  graph::Function function;
  std::vector<Operand> operands;
  graph::Attributes attributes;
  // ONNX outputs of the last node, in order; empty: all of them.
  std::vector<int> outputs;
  // The type of the last node's first output, where only a rule determines it.
  KnownType outputType;

  [[nodiscard]] const NodeProto& node() const { return node_; }
  [[nodiscard]] int64_t version() const;  // The version of the operator's domain.

  // Inputs.
  [[nodiscard]] bool has(int input) const;  // given and not left out
  [[nodiscard]] bool hasOutput(int output) const;
  [[nodiscard]] Operand in(int input) const;  // kNoValue where absent
  void operand(int input) { operands.push_back(in(input)); }
  void allOperands();  // every input, absent ones too, and what bodies capture
  // The input, where it is computed at run time: bookkeeping such as shapes, which constants do not need to show.
  void computed(int input);
  [[nodiscard]] bool isConstant(int input) const;
  // By more than copies and views of a constant.
  [[nodiscard]] bool isComputed(int input) const;
  // m of Transpose(NonZero(m)); kNoValue: it is something else.
  [[nodiscard]] Operand maskOfPositions(int input) const;
  [[nodiscard]] Operand literal(double number) { return {lowering_.literal(number), -1}; }
  [[nodiscard]] std::optional<std::vector<int64_t>> constantInts(int input) const;
  // The same, where some are not known before a run; nullopt: not even how many.
  [[nodiscard]] std::optional<std::vector<std::optional<int64_t>>> knownInts(int input) const;
  // Elements of a constant that cannot change; one number of it.
  [[nodiscard]] std::optional<std::vector<double>> constantNumbers(int input) const;
  [[nodiscard]] std::optional<double> constantNumber(int input) const;

  // Attributes.
  [[nodiscard]] bool hasAttribute(std::string_view name) const;
  [[nodiscard]] int64_t intOf(std::string_view name, int64_t otherwise) const;
  [[nodiscard]] double floatOf(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string stringOf(std::string_view name, std::string_view otherwise) const;
  // The one element of a tensor.
  [[nodiscard]] std::optional<double> numberOf(std::string_view name) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> intsOf(std::string_view name) const;
  // From the attribute, or from the constant input that newer opsets have in its place; nullopt: not given or computed.
  [[nodiscard]] std::optional<std::vector<int64_t>> intsOf(std::string_view name, int input) const;
  void set(std::string name, graph::Attribute value) { attributes.emplace_back(std::move(name), std::move(value)); }
  void opaque() { kind = graph::OpKind::Opaque; }

  // Types.
  [[nodiscard]] const KnownType& type(const Operand& operand) const;
  [[nodiscard]] const KnownType& inputType(int input) const { return type(in(input)); }
  [[nodiscard]] KnownType outputTypeAt(int output) const;
  [[nodiscard]] std::optional<int64_t> rank(int input) const { return inputType(input).rank(); }
  [[nodiscard]] bool isSizeFixed(const Operand& operand, int64_t axis) const;
  [[nodiscard]] bool isRankFixed(const Operand& operand) const;  // the same in every run
  [[nodiscard]] static std::optional<int64_t> normalised(int64_t axis, std::optional<int64_t> rank);
  // Sets "axis" where it can be computed.
  void setAxis(int64_t axis, std::optional<int64_t> rank);
  void setAxes(const std::vector<int64_t>& axes, std::optional<int64_t> rank);

  // A graph node in front of the last one. output: which ONNX output its value is; -1: none.
  Operand part(std::string name, graph::OpKind partKind, std::string_view op, std::vector<Operand> of,
               graph::Attributes with, KnownType made, int output = -1);
  // y = a + b, broadcasting.
  Operand addPart(std::string name, const Operand& a, const Operand& b, int output = -1);

  // The size of an axis, where the file fixes it for every run.
  [[nodiscard]] std::optional<int64_t> fixedSize(const Operand& operand, int64_t axis) const;
  // Returns whether this element of the list and the size of an axis of input 0, equal in the probe, are so in every
  // run.
  [[nodiscard]] bool listsSize(int list, int64_t element, int64_t axis) const;
  // Sets "fixed" of an Expand or a new tensor to the axes that have the size that this input lists for every run.
  void markFixedAxes(int sizes);
  // Sets "computed" of a Flatten at this axis to the axes of the result whose size a run decides.
  void markFlattenedAxes(int64_t axis);
  // Sets "computed" of a Reshape to the sizes that this input lists.
  void markComputedAxes(int sizes);

  void finish();

 private:
  void markOnes();  // For norms and reductions.

  Lowering& lowering_;
  const NodeProto& node_;
  int index_;
  Frame& frame_;
  graph::BlockId into_;
  std::vector<bool> taken_;  // outputs that a part has made
};

// Rules of operators whose operands are their first inputs, or all of them.
template <int Count>
void firstInputs(OpContext& op) {
  for (int i = 0; i < Count; ++i) op.operand(i);
}
inline void allInputs(OpContext& op) { op.allOperands(); }

// nullptr: no row, the operator is opaque.
[[nodiscard]] const OpRule* findOpRule(const std::string& domain, const std::string& name);

// Rows by family; findOpRule joins them.
[[nodiscard]] const std::vector<OpRule>& arithmeticRules();  // op_arithmetic.cpp
[[nodiscard]] const std::vector<OpRule>& shapeRules();       // op_shape.cpp
[[nodiscard]] const std::vector<OpRule>& normRules();        // op_norm.cpp

// Shape of a broadcast of both; -1 where it is not known. nullopt: a rank is not known, or they do not fit.
[[nodiscard]] std::optional<graph::Shape> broadcast(const std::optional<graph::Shape>& a,
                                                    const std::optional<graph::Shape>& b);

}  // namespace normlens::formats::onnx
