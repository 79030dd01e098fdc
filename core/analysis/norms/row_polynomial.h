// Expresses what the parts of a norm compute as polynomials: x, its mean and mean square over a row, the row's scale 1
// / sqrt(... + eps), which may have negative powers, and the constants gamma and beta, which have one number for each
// place in a row. However a norm is written out, its parts have one such form. Private to core/analysis.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace normlens::analysis {

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
  [[nodiscard]] std::optional<RowPolynomial> inverse() const;      // of a single term
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

}  // namespace normlens::analysis
