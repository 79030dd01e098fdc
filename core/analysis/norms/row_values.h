// Follows what a graph computes from one value and the means over its rows: views, arithmetic, means, squares and the
// root of the variance, or of the mean square, plus eps. What it cannot follow it does not know. Private to
// core/analysis.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/analysis/norms/row_layout.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

// Expresses what the parts of a norm compute as polynomials: x, its mean and mean square over a row, the row's scale 1
// / sqrt(... + eps), which may have negative powers, and the constants gamma and beta, which have one number for each
// place in a row. However a norm is written out, its parts have one such form.
class RowPolynomial {
 public:
  enum class Symbol : uint8_t { Element, Mean, MeanSquare, Scale, Gamma, Beta };

  RowPolynomial() = default;  // 0
  explicit RowPolynomial(double value);
  explicit RowPolynomial(Symbol symbol);
  static RowPolynomial centered();  // x - mean
  static RowPolynomial variance();  // mean square - mean^2

  // nullopt: it has grown beyond what norms are made of.
  [[nodiscard]] std::optional<RowPolynomial> plus(const RowPolynomial& other, double factor = 1) const;
  [[nodiscard]] std::optional<RowPolynomial> times(const RowPolynomial& other) const;
  [[nodiscard]] std::optional<RowPolynomial> inverse() const;      // Only a single term has one.
  [[nodiscard]] std::optional<RowPolynomial> meanOverRow() const;  // up to squares of x
  [[nodiscard]] std::optional<double> asNumber() const;
  [[nodiscard]] double constantTerm() const;
  [[nodiscard]] bool has(Symbol symbol) const;
  // Nothing is left of it where the mean is 0.
  [[nodiscard]] bool vanishesWithoutMean() const;
  // The largest difference of two coefficients.
  [[nodiscard]] double distanceTo(const RowPolynomial& other) const;

 private:
  using Powers = std::array<int8_t, 6>;  // by symbol
  void add(const Powers& powers, double coefficient);

  std::map<Powers, double> terms_;
};

struct RowValue {
  RowPolynomial is;
  RowLayout layout;
  [[nodiscard]] Spread spread() const;
};

// The value whose rows are followed.
struct RowBase {
  graph::ValueId value = graph::kNoValue;
  std::vector<int64_t> axes;  // that a row runs over, ascending: at least 2 elements
  bool throughCasts = false;  // casts that round no element of it are followed, too

  bool operator==(const RowBase&) const = default;
};

class RowValues {
 public:
  // root: the node that may take the root, or the RmsNorm.
  RowValues(const graph::Graph& graph, const RowBase& base, graph::NodeId root);

  // Takes note of what the node makes; false: it is not known.
  bool follow(graph::NodeId id);
  // nullptr: not known. Of nodes that have been followed.
  [[nodiscard]] const RowValue* find(graph::ValueId value) const;

  struct Root {
    double eps = 0;
    bool ofMeanSquare = false;  // not of the variance
  };
  [[nodiscard]] const std::optional<Root>& root() const { return rootFound_; }
  [[nodiscard]] int64_t width() const { return width_; }
  // The constant that a symbol stands for; kNoValue: none has been met.
  [[nodiscard]] graph::ValueId gamma() const { return gamma_; }
  [[nodiscard]] graph::ValueId beta() const { return beta_; }
  // A mean was taken with a rounded 1/n.
  [[nodiscard]] bool rounded() const { return rounded_; }

 private:
  [[nodiscard]] bool hasType(graph::DType dtype) const;
  [[nodiscard]] std::optional<RowValue> valueOf(graph::ValueId value) const;
  [[nodiscard]] std::optional<RowValue> uniform(graph::ValueId id) const;
  std::optional<RowValue> compute(const graph::Node& node);
  [[nodiscard]] std::optional<RowValue> view(const graph::Node& node, RowValue x) const;
  std::optional<RowValue> binary(const graph::Node& node);
  std::optional<RowPolynomial::Symbol> symbolBeside(const graph::Node& node, const RowValue& other);
  [[nodiscard]] std::optional<RowValue> perPlace(graph::ValueId id, RowPolynomial::Symbol symbol) const;
  [[nodiscard]] std::optional<RowValue> combined(const graph::Node& node, const RowValue& a, const RowValue& b) const;
  [[nodiscard]] std::optional<RowValue> sum(const graph::Node& node) const;
  std::optional<RowValue> rmsNorm(const graph::Node& node, const RowValue& x);
  std::optional<RowPolynomial> function(const graph::Node& node, const RowPolynomial& x);
  std::optional<RowPolynomial> inverseRoot(const RowPolynomial& radicand);
  [[nodiscard]] std::optional<double> count(graph::ValueId sizes) const;
  [[nodiscard]] std::optional<double> product(const graph::Node& query, const std::vector<double>& elements) const;
  bool isNear(const RowPolynomial& value, const RowPolynomial& wanted);

  const graph::Graph& graph_;
  RowBase base_;
  graph::NodeId root_;
  int64_t width_ = 1;
  graph::DType dtype_;
  std::unordered_map<graph::ValueId, RowValue> known_;
  graph::ValueId gamma_ = graph::kNoValue, beta_ = graph::kNoValue;
  std::optional<Root> rootFound_;
  bool rounded_ = false;
};

}  // namespace normlens::analysis
