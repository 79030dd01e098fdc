// What norms have in common that are written out as arithmetic: means over the last axes, squares, the root of
// something plus eps. Private to core/analysis.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

// nullptr: no node makes it.
[[nodiscard]] const graph::Node* producerOf(const graph::Graph& graph, graph::ValueId value);
// A literal, or a constant of one element.
[[nodiscard]] std::optional<double> numberOf(const graph::Graph& graph, graph::ValueId value);
// Which operand of a Mul or Div, or of a view, is not the number that it is scaled by.
[[nodiscard]] size_t besideFactor(const graph::Graph& graph, const graph::Node& node);
// What a square is of; kNoValue: not a square.
[[nodiscard]] graph::ValueId squareBase(const graph::Graph& graph, const graph::Node& node);

// Reads the parts of one norm, and keeps which nodes they are made of.
class WrittenParts {
 public:
  explicit WrittenParts(const graph::Graph& graph) : graph_(graph) {}

  // The norm is over what `reduce` reduces: false unless those are the last axes of a known shape,
  // or the channels of an image.
  bool setGroups(const graph::Node& reduce);
  [[nodiscard]] const std::vector<int64_t>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<int64_t>& normalizedShape() const { return normalizedShape_; }
  [[nodiscard]] const graph::Shape& shape() const { return full_; }

  void addMember(graph::ValueId madeBy) { members_.insert(graph_.value(madeBy).producer); }
  void addMembers(std::initializer_list<graph::ValueId> madeBy) {
    for (const graph::ValueId value : madeBy) addMember(value);
  }
  [[nodiscard]] bool isMember(graph::NodeId node) const { return members_.contains(node); }
  [[nodiscard]] std::vector<graph::NodeId> members() const { return {members_.begin(), members_.end()}; }

  // One number per group may be written with or without the axes of 1, or repeated over the group.
  graph::ValueId behindViews(graph::ValueId value);
  // Whether it can meet the input element by element.
  [[nodiscard]] bool meetsInput(graph::ValueId value) const;
  // The mean of `of` over the groups, as a mean or as a sum by its count.
  bool isMeanOf(graph::ValueId value, graph::ValueId of);
  // The reduction `wanted` ("mean") of `of` over the groups.
  bool isReduction(graph::ValueId value, graph::ValueId of, std::string_view wanted);
  // What the reduction behind views and a factor reduces; kNoValue where there is none.
  graph::ValueId reducedBehind(graph::ValueId value);
  // gamma * scale -> scale, gamma made of constants; kNoValue: no such product.
  graph::ValueId withoutGamma(graph::ValueId scale);
  // sqrt(v + eps) or, `inverse`, rsqrt(v + eps), pow(v + eps, -0.5), 1 / sqrt(v + eps) -> v
  std::optional<graph::ValueId> radicand(graph::ValueId root, bool inverse);
  [[nodiscard]] double eps() const { return eps_; }
  // Not empty: a mean is a sum times a rounded 1/n.
  [[nodiscard]] const std::string& rounded() const { return rounded_; }

 private:
  const graph::Graph& graph_;
  std::set<graph::NodeId> members_;
  std::vector<int64_t> axes_, normalizedShape_;
  graph::Shape full_, kept_;  // of the input, and with its normalized axes as 1
  double eps_ = 0;
  std::string rounded_;
};

// A Reshape, Expand or Identity.
[[nodiscard]] bool isView(const graph::Node& node);

}  // namespace normlens::analysis
