// What the parts of a norm compute, as polynomials: x, its mean and mean square over a row, and the row's scale
// 1 / sqrt(variance + eps), which may have negative powers. However a norm is written out, its parts have one such
// form. Private to core/analysis.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace normlens::analysis {

class RowPolynomial {
 public:
  enum class Symbol : uint8_t { Element, Mean, MeanSquare, Scale };

  static RowPolynomial number(double value);
  static RowPolynomial symbol(Symbol symbol);
  static RowPolynomial variance();    // mean square - mean^2
  static RowPolynomial normalized();  // scale * (x - mean)

  // nullopt: it has grown beyond what norms are made of.
  [[nodiscard]] std::optional<RowPolynomial> plus(const RowPolynomial& other, double factor = 1) const;
  [[nodiscard]] std::optional<RowPolynomial> times(const RowPolynomial& other) const;
  [[nodiscard]] std::optional<RowPolynomial> inverse() const;      // of a single term
  [[nodiscard]] std::optional<RowPolynomial> meanOverRow() const;  // up to squares of x
  [[nodiscard]] std::optional<double> asNumber() const;
  [[nodiscard]] double constantTerm() const;
  [[nodiscard]] bool perElement() const;  // x is in it
  // Nothing is left of it where the mean is 0.
  [[nodiscard]] bool vanishesWithoutMean() const;
  // The largest difference of two coefficients.
  [[nodiscard]] double distanceTo(const RowPolynomial& other) const;

 private:
  using Powers = std::array<int8_t, 4>;  // by symbol
  void add(const Powers& powers, double coefficient);

  std::map<Powers, double> terms_;
};

}  // namespace normlens::analysis
