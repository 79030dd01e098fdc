// Checks what the rules of core/ops claim of one node against the reference interpreter, on random tensors.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/pattern.h"
#include "tests/support/dense_tensor.h"

namespace normlens::testing {

// An operand of the node under test: a model input, a constant, a scalar literal or nothing.
struct Operand {
  graph::Shape shape;
  std::optional<Tensor> constant;
  std::optional<double> literal;
  bool absent = false;
  bool declared = false;  // the file fixes the input's sizes

  Operand(graph::Shape of) : shape(std::move(of)) {}  // NOLINT: a shape is an input
  static Operand of(Tensor values);
  static Operand number(double value);
  static Operand none();
  static Operand declaring(graph::Shape shape);
};

struct OneNode {
  graph::Graph graph;
  graph::NodeId node = 0;
};
[[nodiscard]] OneNode oneNode(graph::OpKind kind, const std::vector<Operand>& operands, graph::Attributes attributes,
                              const std::vector<graph::Shape>& outputs);

// Summed, kept, split and cut factors at random.
[[nodiscard]] ops::Pattern randomPattern(const graph::Shape& shape, std::mt19937& random);

struct ClaimCount {
  int zeroMean = 0;  // answers Proven or Needs whose pattern sums something
  int shift = 0;     // answers Absorbed or Carried
};
// Asks both rules with `rounds` random patterns for each output and operand and checks every claim.
ClaimCount checkRules(const OneNode& one, std::mt19937& random, int rounds);

// Both answers to one question each; the claim, where one is made, is checked as well.
[[nodiscard]] bool claimsZeroMean(const OneNode& one, const ops::Pattern& pattern, int output = 0);
[[nodiscard]] bool toleratesShift(const OneNode& one, int operand, const ops::Pattern& pattern);

}  // namespace normlens::testing
