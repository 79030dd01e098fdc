#include "tests/support/rule_property.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/ops/rules.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"

namespace normlens::testing {

using graph::Attributes;
using graph::kNoValue;
using graph::Node;
using graph::Shape;
using graph::ValueId;
using ops::Demand;
using ops::Factor;
using ops::Pattern;

namespace {

constexpr double kTolerance = 1e-11;  // of what is left where sums cancel

}  // namespace

Operand Operand::of(Tensor values) {
  Operand out(values.shape);
  out.constant = std::move(values);
  return out;
}
Operand Operand::number(double value) {
  Operand out(Shape{});
  out.literal = value;
  return out;
}
Operand Operand::declaring(Shape shape) {
  Operand out(std::move(shape));
  out.declared = true;
  return out;
}
Operand Operand::none() {
  Operand out(Shape{});
  out.absent = true;
  return out;
}

OneNode oneNode(graph::OpKind kind, const std::vector<Operand>& operands, Attributes attributes,
                const std::vector<Shape>& outputs) {
  OneNode one;
  Node node;
  node.kind = kind;
  node.attributes = std::move(attributes);
  for (const Operand& operand : operands) {
    const std::string name = "v" + std::to_string(node.operands.size());
    if (operand.absent) {
      node.operands.push_back(kNoValue);
    } else if (operand.literal) {
      node.operands.push_back(one.graph.addLiteral(*operand.literal));
    } else if (operand.constant) {
      graph::Constant constant;
      constant.name = name;
      constant.view = graph::tensorFromDoubles(operand.shape, operand.constant->at, graph::DType::Float64);
      node.operands.push_back(one.graph.addConstant(std::move(constant)));
    } else {
      graph::Value input;
      input.name = name;
      input.dtype = graph::DType::Float64;
      input.shape = operand.shape;
      if (operand.declared) input.declared = operand.shape;
      node.operands.push_back(one.graph.addParam(0, std::move(input)));
    }
  }
  std::vector<graph::Value> made;
  for (const Shape& shape : outputs) {
    graph::Value value;
    value.name = "y" + std::to_string(made.size());
    value.dtype = graph::DType::Float64;
    value.shape = shape;
    made.push_back(std::move(value));
  }
  one.node = one.graph.addNode(std::move(node), std::move(made));
  for (const ValueId output : one.graph.node(one.node).outputs) one.graph.addReturn(0, output);
  return one;
}

Pattern randomPattern(const Shape& shape, std::mt19937& random) {
  ops::Factors factors;
  const auto add = [&](int64_t size) {
    Factor factor{size, 0, size, random() % 2 == 0};
    if (random() % 6 == 0) {
      factor.begin = static_cast<int64_t>(random() % static_cast<uint64_t>(size));
      factor.end = factor.begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(size - factor.begin));
    }
    factors.push_back(factor);
  };
  for (const int64_t size : shape) {
    const int64_t part = random() % 3 == 0 ? (size % 2 == 0 ? 2 : 1) : 1;
    if (part > 1) add(part);
    add(size / part);
  }
  return Pattern::fromFactors(factors);
}

namespace {

class Checker {
 public:
  Checker(const OneNode& one, std::mt19937& random)
      : graph_(one.graph), node_(one.graph.node(one.node)), random_(random) {}

  bool zeroMean(int output, const Pattern& pattern) {
    const auto answer = ops::opRow(node_.kind).zeroMean(graph_, node_, output, pattern);
    if (answer.verdict == ops::ZeroMean::Verdict::Refused) return false;
    auto operands = draw();
    if (!satisfy(answer, operands)) return true;  // demands that exclude each other: nothing to see
    const auto made = evaluateNode(graph_, node_, operands);
    EXPECT_LT(groupSumError(made.at(static_cast<size_t>(output)), pattern), kTolerance)
        << describe() << " claims output " << output << " zero-mean over " << pattern.text();
    return true;
  }

  bool shift(int operand, const Pattern& pattern) {
    const auto answer = ops::opRow(node_.kind).shift(graph_, node_, operand, pattern);
    if (answer.verdict == ops::Shift::Verdict::Refused) return false;
    auto operands = draw();
    const auto before = evaluateNode(graph_, node_, operands);
    Tensor& shifted = operands.at(static_cast<size_t>(operand));
    const Tensor by = randomShift(shifted.shape, pattern, random_);
    for (size_t i = 0; i < by.at.size(); ++i) shifted.at[i] += by.at[i];
    const auto after = evaluateNode(graph_, node_, operands);
    for (size_t o = 0; o < node_.outputs.size(); ++o) {
      Tensor difference = after[o];
      for (size_t i = 0; i < difference.at.size(); ++i) difference.at[i] -= before[o].at[i];
      const Pattern claimed = patternOf(answer, node_.outputs[o], after[o].shape);
      EXPECT_LT(shiftError(difference, claimed, std::max(1.0, maxAbs(after[o]))), kTolerance)
          << describe() << " claims that a shift " << pattern.text() << " of operand " << operand << " becomes "
          << claimed.text();
    }
    return true;
  }

 private:
  std::vector<Tensor> draw() {
    std::vector<Tensor> out;
    for (int operand : node_.operands) {
      if (operand == kNoValue) {
        out.emplace_back();
        continue;
      }
      const auto& value = graph_.value(operand);
      if (value.literal) {
        out.emplace_back(Shape{}, *value.literal);
      } else if (value.constant != graph::kNone) {
        out.push_back(fromView(graph_.constant(value.constant).view));
      } else {
        out.push_back(randomTensor(*value.shape, random_));
      }
    }
    useful(out);
    return out;
  }

  // Positions have to be positions, masks 0 or 1, divisors not 0.
  void useful(std::vector<Tensor>& operands) {
    using graph::OpKind;
    const auto positions = [&](Tensor& tensor, int64_t size) {
      for (double& item : tensor.at) item = static_cast<double>(random_() % static_cast<uint64_t>(size));
    };
    const Shape& x = operands.at(0).shape;
    const auto axis = static_cast<size_t>(graph::intAttribute(node_, "axis").value_or(0));
    for (size_t i = 1; node_.kind == OpKind::Gather && i < operands.size(); ++i) {
      positions(operands[i], x.at(axis + i - 1));
    }
    for (size_t i = 2; node_.kind == OpKind::Scatter && i < operands.size(); ++i) {
      if (graph_.value(node_.operands[i]).constant == graph::kNone) positions(operands[i], x.at(axis + i - 2));
    }
    if (node_.kind == OpKind::MaskedCopy && graph_.value(node_.operands[1]).constant == graph::kNone)
      positions(operands[1], 2);
    if (node_.kind == OpKind::Select && operands.size() > 1) positions(operands[1], x.at(axis));
    if (node_.kind == OpKind::Slice && operands.size() > 1) positions(operands[1], 2);
    if (node_.kind == OpKind::Where && graph_.value(node_.operands[0]).constant == graph::kNone)
      positions(operands[0], 2);
    if (node_.kind == OpKind::MaskedFill && graph_.value(node_.operands[1]).constant == graph::kNone)
      positions(operands[1], 2);
    if (node_.kind == OpKind::Div && !graph_.value(node_.operands[1]).literal) {
      for (double& item : operands[1].at) item += item < 0 ? -1 : 1;
    }
  }

  // Alternating projections until every demand holds.
  bool satisfy(const ops::ZeroMean& answer, std::vector<Tensor>& operands) const {
    constexpr int kRounds = 100;
    for (int round = 0; round < kRounds; ++round) {
      for (const Demand& need : answer.needs)
        forEachOperand(need.value, [&](size_t i) { center(operands[i], need.pattern); });
      for (const auto& members : answer.jointly) {
        std::vector<Tensor*> tensors;
        std::vector<Pattern> patterns;
        for (const Demand& member : members) {
          forEachOperand(member.value, [&](size_t i) {
            tensors.push_back(&operands[i]);
            patterns.push_back(member.pattern);
          });
        }
        centerJointly(tensors, patterns);
      }
      bool all = true;
      for (const Demand& need : answer.needs) {
        forEachOperand(need.value, [&](size_t i) { all = all && groupSumError(operands[i], need.pattern) < 1e-14; });
      }
      if (all) return true;
    }
    return false;
  }

  void forEachOperand(ValueId value, const std::function<void(size_t)>& body) const {
    bool found = false;
    for (size_t i = 0; i < node_.operands.size(); ++i) {
      if (node_.operands[i] != value) continue;
      found = true;
      body(i);
    }
    EXPECT_TRUE(found) << "a demand on something that is no operand";
  }

  // No demand on the output: the shift must not reach it.
  static Pattern patternOf(const ops::Shift& answer, ValueId output, const Shape& shape) {
    for (const Demand& demand : answer.outputs) {
      if (demand.value == output) return demand.pattern;
    }
    const int64_t count = sizeOf(shape);
    // A region of nothing, for a pattern: all elements are one group whose common difference is checked to be 0 below.
    return Pattern{{Factor{count, 0, 0, true}}};
  }

  [[nodiscard]] std::string describe() const { return graph::printGraph(graph_); }

  const graph::Graph& graph_;
  const Node& node_;
  std::mt19937& random_;
};

}  // namespace

ClaimCount checkRules(const OneNode& one, std::mt19937& random, int rounds) {
  ClaimCount count;
  const Node& node = one.graph.node(one.node);
  Checker checker(one, random);
  for (int round = 0; round < rounds; ++round) {
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const Pattern pattern = randomPattern(*one.graph.value(node.outputs[o]).shape, random);
      if (pattern.sumsAnything()) count.zeroMean += checker.zeroMean(static_cast<int>(o), pattern) ? 1 : 0;
    }
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] == kNoValue) continue;
      const Pattern pattern = randomPattern(*one.graph.value(node.operands[i]).shape, random);
      count.shift += checker.shift(static_cast<int>(i), pattern) ? 1 : 0;
    }
  }
  return count;
}

bool claimsZeroMean(const OneNode& one, const Pattern& pattern, int output) {
  std::mt19937 random(1);
  return Checker(one, random).zeroMean(output, pattern);
}
bool toleratesShift(const OneNode& one, int operand, const Pattern& pattern) {
  std::mt19937 random(2);
  return Checker(one, random).shift(operand, pattern);
}

}  // namespace normlens::testing
