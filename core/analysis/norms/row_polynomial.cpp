#include "core/analysis/norms/row_polynomial.h"

#include <algorithm>
#include <cmath>

namespace normlens::analysis {
namespace {

constexpr size_t kMostTerms = 32;
constexpr int kHighestPower = 8;
constexpr size_t kElement = 0, kMean = 1, kMeanSquare = 2, kGamma = 4, kBeta = 5;

}  // namespace

RowPolynomial::RowPolynomial(double value) { add({}, value); }

RowPolynomial::RowPolynomial(Symbol symbol) {
  Powers powers{};
  powers.at(static_cast<size_t>(symbol)) = 1;
  add(powers, 1);
}

RowPolynomial RowPolynomial::centered() {
  RowPolynomial out(Symbol::Element);
  out.add({0, 1}, -1);
  return out;
}

RowPolynomial RowPolynomial::variance() {
  RowPolynomial out(Symbol::MeanSquare);
  out.add({0, 2}, -1);
  return out;
}

void RowPolynomial::add(const Powers& powers, double coefficient) {
  const double sum = terms_[powers] += coefficient;
  if (sum == 0) terms_.erase(powers);
}

std::optional<RowPolynomial> RowPolynomial::plus(const RowPolynomial& other, double factor) const {
  RowPolynomial out = *this;
  for (const auto& [powers, coefficient] : other.terms_) out.add(powers, factor * coefficient);
  return out.terms_.size() <= kMostTerms ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<RowPolynomial> RowPolynomial::times(const RowPolynomial& other) const {
  RowPolynomial out;
  for (const auto& [a, first] : terms_) {
    for (const auto& [b, second] : other.terms_) {
      Powers powers{};
      for (size_t i = 0; i < powers.size(); ++i) {
        const int power = a[i] + b[i];
        if (std::abs(power) > kHighestPower) return std::nullopt;
        powers[i] = static_cast<int8_t>(power);
      }
      out.add(powers, first * second);
    }
  }
  return out.terms_.size() <= kMostTerms ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<RowPolynomial> RowPolynomial::inverse() const {
  if (terms_.size() != 1) return std::nullopt;
  Powers powers = terms_.begin()->first;
  for (auto& power : powers) power = static_cast<int8_t>(-power);
  RowPolynomial out;
  out.add(powers, 1 / terms_.begin()->second);
  return out;
}

std::optional<RowPolynomial> RowPolynomial::meanOverRow() const {
  RowPolynomial out;
  for (const auto& [powers, coefficient] : terms_) {
    Powers mean = powers;
    mean[kElement] = 0;
    if (powers[kElement] < 0 || powers[kElement] > 2) return std::nullopt;
    if (powers[kGamma] != 0 || powers[kBeta] != 0) return std::nullopt;
    if (powers[kElement] > 0) ++mean[powers[kElement] == 1 ? kMean : kMeanSquare];
    out.add(mean, coefficient);
  }
  return out;
}

std::optional<double> RowPolynomial::asNumber() const {
  if (terms_.empty()) return 0;
  const bool plain = terms_.size() == 1 && terms_.begin()->first == Powers{};
  return plain ? std::optional(terms_.begin()->second) : std::nullopt;
}

double RowPolynomial::constantTerm() const {
  const auto found = terms_.find(Powers{});
  return found == terms_.end() ? 0 : found->second;
}

bool RowPolynomial::has(Symbol symbol) const {
  const auto at = static_cast<size_t>(symbol);
  return std::ranges::any_of(terms_, [at](const auto& term) { return term.first[at] != 0; });
}

bool RowPolynomial::vanishesWithoutMean() const {
  return std::ranges::all_of(terms_, [](const auto& term) { return term.first[kMean] > 0; });
}

double RowPolynomial::distanceTo(const RowPolynomial& other) const {
  const auto difference = plus(other, -1);
  if (!difference) return INFINITY;
  double largest = 0;
  for (const auto& term : difference->terms_) largest = std::max(largest, std::abs(term.second));
  return largest;
}

}  // namespace normlens::analysis
