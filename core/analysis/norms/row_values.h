// Follows what a graph computes from one value and the means over its rows: views, arithmetic, means, squares and the
// root of the variance plus eps. What it cannot follow it does not know. Private to core/analysis.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/analysis/norms/row_layout.h"
#include "core/analysis/norms/row_polynomial.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct RowValue {
  RowPolynomial is;
  RowLayout layout;
  [[nodiscard]] Spread spread() const;
};

class RowValues {
 public:
  // width: the elements of a row, at least 2; the base's last axes hold a row. root: the node that may take the root of
  // the variance plus eps.
  RowValues(const graph::Graph& graph, graph::ValueId base, int64_t width, graph::NodeId root);

  // Takes note of what the node makes; false: it is not known.
  bool follow(graph::NodeId node);
  // nullptr: not known. Of nodes that have been followed, and of constants.
  [[nodiscard]] const RowValue* find(graph::ValueId value) const;
  // What makes one number of all elements, of constants and sizes: nodes that belong to no row.
  [[nodiscard]] std::optional<RowValue> uniform(graph::ValueId value) const;
  // Of the root that has been followed; nullopt: none.
  [[nodiscard]] std::optional<double> eps() const { return eps_; }
  // A mean was taken with a rounded 1/n.
  [[nodiscard]] bool rounded() const { return rounded_; }

 private:
  [[nodiscard]] std::optional<RowValue> valueOf(graph::ValueId value) const;
  std::optional<RowValue> compute(const graph::Node& node);
  [[nodiscard]] std::optional<RowValue> view(const graph::Node& node, RowValue x) const;
  std::optional<RowValue> binary(const graph::Node& node);
  [[nodiscard]] std::optional<RowValue> sum(const graph::Node& node) const;
  std::optional<RowPolynomial> function(const graph::Node& node, const RowPolynomial& x);
  std::optional<RowPolynomial> inverseRoot(const RowPolynomial& radicand);
  [[nodiscard]] std::optional<double> count(graph::ValueId sizes) const;
  [[nodiscard]] std::optional<double> product(const graph::Node& query, const std::vector<double>& elements) const;
  bool isNear(const RowPolynomial& value, const RowPolynomial& wanted);

  const graph::Graph& graph_;
  int64_t width_;
  graph::NodeId root_;
  graph::DType dtype_;
  std::unordered_map<graph::ValueId, RowValue> known_;
  std::optional<double> eps_;
  bool rounded_ = false;
};

}  // namespace normlens::analysis
