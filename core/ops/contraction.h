// Linear, matmul, convolution and einsum as one thing: y[out] = sum over shared labels of a[...] * b[...] (+ bias).
//
// Every operand's row-major index is a list of labeled dims (a channel axis of a grouped convolution is two: group and
// channel in group). A label found in one operand and in y is "that operand's own"; found in both and in y it is a
// batch label; not in y it is contracted. One rule then serves all: y is zero-mean over an operand's own labels if that
// operand is, because the sum over them passes through the sum over the contracted ones.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/pattern.h"
#include "core/ops/rules.h"

namespace normlens::ops {

struct Label {
  int id = 0;
  int64_t size = 1;
};

struct Contraction {
  int a = 0;      // operand indices
  int b = 1;      // -1: none (einsum of one operand)
  int bias = -1;  // added with broadcasting
  std::vector<Label> labelsA, labelsB, labelsOut;
};

[[nodiscard]] bool has(const std::vector<Label>& labels, int id);
[[nodiscard]] std::vector<int64_t> sizesOf(const std::vector<Label>& labels);

// The contraction that a node computes; nullopt for other kinds, unknown shapes or forms not covered.
[[nodiscard]] std::optional<Contraction> contractionOf(const graph::Graph& graph, const graph::Node& node);

[[nodiscard]] ZeroMean contractionZeroMean(const graph::Graph&, const graph::Node&, int output, const Pattern&);
[[nodiscard]] Shift contractionShift(const graph::Graph&, const graph::Node&, int operand, const Pattern&);

}  // namespace normlens::ops
