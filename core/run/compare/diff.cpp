#include "core/run/compare/diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWorthAScale = 1e-12;  // below it a least scale would decide nothing

// Views a complex tensor as its real and imaginary parts along one more axis.
graph::TensorView partsOfComplex(graph::TensorView view) {
  const DType part = view.dtype == DType::Complex64    ? DType::Float32
                     : view.dtype == DType::Complex128 ? DType::Float64
                                                       : DType::Unknown;
  if (part == DType::Unknown) return view;
  view.dtype = part;
  for (int64_t& stride : view.strides) stride *= 2;
  view.shape.push_back(2);
  view.strides.push_back(1);
  return view;
}

bool sameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b); }
bool equal(double a, double b) { return a == b || sameSpecial(a, b); }

// The same elements of two tensors.
struct Numbers {
  std::vector<double> a, b;
  size_t rowWidth = 1;
  bool floating = false;
};

// A Span is over elements that differ: the largest distance, and the largest |a|.
struct Span {
  double apart = 0, scale = 0;

  void include(double a, double b) {
    if (equal(a, b)) return;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    apart = finite ? std::max(apart, std::abs(a - b)) : kInfinity;
    if (finite) scale = std::max(scale, std::abs(a));
  }
  [[nodiscard]] double relative() const { return apart == 0 ? 0 : apart / scale; }
};

// A row that is nothing but rounding, as a norm makes of equal channels, has no scale of its own: a tenth of what three
// quarters of the elements are above.
double leastScale(const Numbers& numbers) {
  std::vector<double> magnitudes;
  for (const double number : numbers.a) {
    if (std::isfinite(number) && number != 0) magnitudes.push_back(std::abs(number));
  }
  if (magnitudes.empty()) return 0;
  const auto quarter = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 4);
  std::nth_element(magnitudes.begin(), quarter, magnitudes.end());
  return *quarter / 10;
}

// Calls f with each row's span, first element and end.
template <class F>
void forEachRow(const Numbers& numbers, double least, const F& f) {
  for (size_t start = 0, end = 0; start < numbers.a.size(); start = end) {
    end = std::min(start + numbers.rowWidth, numbers.a.size());
    Span span;
    for (size_t i = start; i < end; ++i) span.include(numbers.a[i], numbers.b[i]);
    span.scale = std::max(span.scale, least);
    f(span, start, end);
  }
}

TensorDiff measure(std::string name, const Numbers& numbers) {
  const auto& [a, b, rowWidth, floating] = numbers;
  TensorDiff diff{.name = std::move(name)};
  double sum = 0, dot = 0, squaresA = 0, squaresB = 0;
  size_t counted = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (sameSpecial(a[i], b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      return {.name = std::move(diff.name),
              .maxAbs = kInfinity,
              .maxRel = kInfinity,
              .rowRel = kInfinity,
              .meanAbs = kInfinity,
              .cosine = std::numeric_limits<double>::quiet_NaN(),
              .worst = static_cast<int64_t>(i),
              .worstA = a[i],
              .worstB = b[i]};
    }
    const double apart = std::abs(a[i] - b[i]);
    if (apart > diff.maxAbs) {
      diff.maxAbs = apart;
      diff.worst = static_cast<int64_t>(i);
    }
    if (apart > 0) diff.scale = std::max(diff.scale, std::abs(a[i]));
    sum += apart;
    dot += a[i] * b[i];
    squaresA += a[i] * a[i];
    squaresB += b[i] * b[i];
    ++counted;
  }
  if (diff.worst >= 0) {
    diff.worstA = a[static_cast<size_t>(diff.worst)];
    diff.worstB = b[static_cast<size_t>(diff.worst)];
  }
  const auto largestOfRows = [&](double least) {
    double largest = 0;
    forEachRow(numbers, least, [&](const Span& row, size_t, size_t) { largest = std::max(largest, row.relative()); });
    return largest;
  };
  diff.rowRel = largestOfRows(0);
  if (diff.rowRel > kWorthAScale) {
    const double least = leastScale(numbers);
    diff.rowRel = largestOfRows(least);
    diff.scale = std::max(diff.scale, least);
  }
  diff.maxRel = diff.maxAbs == 0 ? 0 : diff.maxAbs / diff.scale;
  diff.vacuous = counted == 0 && !a.empty();
  diff.meanAbs = counted ? sum / static_cast<double>(counted) : 0;
  if (squaresA > 0 && squaresB > 0) {
    diff.cosine = std::clamp(dot / (std::sqrt(squaresA) * std::sqrt(squaresB)), -1.0, 1.0);
  } else {
    diff.cosine = squaresA == squaresB ? 1 : 0;
  }
  return diff;
}

size_t rowWidthOf(const graph::Shape& shape) {
  const auto last = std::find_if(shape.rbegin(), shape.rend(), [](int64_t size) { return size > 1; });
  return last == shape.rend() ? 1 : static_cast<size_t>(*last);
}

Result<Numbers> numbersOf(const std::string& name, const graph::TensorView& a, const graph::TensorView& b) {
  if (a.shape != b.shape) {
    return fail(ErrorCode::BadInput, "'" + name + "' is " + describe(a.dtype, a.shape) + " in one model and " +
                                         describe(b.dtype, b.shape) + " in the other");
  }
  const graph::TensorView parts = partsOfComplex(a);
  auto valuesA = graph::toDoubles(parts), valuesB = graph::toDoubles(partsOfComplex(b));
  if (!valuesA || !valuesB) {
    return fail(ErrorCode::Unsupported, "'" + name + "' holds " + std::string(graph::dtypeName(a.dtype)) +
                                            " elements, which cannot be compared");
  }
  const size_t numbersEach = parts.shape.size() > a.shape.size() ? 2 : 1;
  return Numbers{std::move(*valuesA), std::move(*valuesB), rowWidthOf(a.shape) * numbersEach,
                 graph::isFloat(parts.dtype)};
}

}  // namespace

Result<TensorDiff> compareTensors(std::string name, const graph::TensorView& a, const graph::TensorView& b) {
  ASSIGN_OR_RETURN(const auto numbers, numbersOf(name, a, b));
  TensorDiff diff = measure(std::move(name), numbers);
  diff.telling = numbers.floating && !diff.vacuous && !numbers.a.empty();
  return diff;
}

Result<std::vector<RowErrors>> rowErrors(const graph::TensorView& a, const graph::TensorView& b,
                                         const graph::TensorView* exact) {
  ASSIGN_OR_RETURN(const auto pair, numbersOf({}, a, b));
  std::optional<std::vector<double>> third;
  if (exact != nullptr) {
    third = exact->shape == a.shape ? graph::toDoubles(partsOfComplex(*exact)) : std::nullopt;
    if (!third || third->size() != pair.a.size()) {
      return fail(ErrorCode::BadInput, "the exact tensor is not like the first two");
    }
  }
  // A mask of -1e4 beside logits is off by more than they are; the 1 of a softmax lies beside what is nearly 0.
  constexpr double kAlike = 32, kFar = 4e-6;
  std::vector<RowErrors> rows;
  forEachRow(pair, leastScale(pair), [&](const Span& span, size_t start, size_t end) {
    if (span.apart == 0 && !third) return;
    Span ofA, ofB, far;
    double largest = 0;
    for (size_t i = start; third && i < end; ++i) {
      const bool differs = !equal(pair.a[i], pair.b[i]);
      const bool isAlike = differs || span.apart == 0 || std::abs(pair.a[i]) <= kAlike * span.scale;
      (isAlike ? ofA : far).include(pair.a[i], (*third)[i]);
      if (!differs) continue;
      if (std::isfinite((*third)[i])) largest = std::max(largest, std::abs((*third)[i]));
      ofB.include((*third)[i], pair.b[i]);
    }
    const double own = std::max(ofA.apart, std::min(far.apart, kFar * span.scale));
    rows.push_back({span.apart, span.scale, own, ofB.apart, std::max(span.scale, ofA.scale), largest});
  });
  return rows;
}

Result<std::vector<FarRow>> rowsApart(const graph::TensorView& a, const graph::TensorView& b, double limit) {
  ASSIGN_OR_RETURN(const auto numbers, numbersOf({}, a, b));
  std::vector<FarRow> rows;
  forEachRow(numbers, leastScale(numbers), [&](const Span& span, size_t start, size_t end) {
    if (span.relative() <= limit) return;
    FarRow row{{}, span.apart, span.scale};
    for (size_t i = start; i < end; ++i) {
      if (!equal(numbers.a[i], numbers.b[i])) row.elements.push_back(i);
    }
    rows.push_back(std::move(row));
  });
  return rows;
}

void includeNoise(const graph::TensorView& a, const graph::TensorView& other, std::vector<FarRow>& rows) {
  const auto numbers = numbersOf({}, a, other);
  if (!numbers) return;
  for (FarRow& row : rows) {
    Span moved;
    for (const size_t i : row.elements) moved.include(numbers->a[i], numbers->b[i]);
    if (std::isfinite(moved.apart)) row.noise = std::max(row.noise, moved.apart);
  }
}

Result<std::vector<TensorDiff>> compareOutputs(const formats::Tensors& a, const formats::Tensors& b) {
  if (a.size() != b.size()) {
    return fail(ErrorCode::BadInput,
                "one model has " + std::to_string(a.size()) + " outputs and the other " + std::to_string(b.size()));
  }
  std::vector<TensorDiff> diffs;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSIGN_OR_RETURN(auto diff, compareTensors(a[i].name, a[i].view, b[i].view));
    diffs.push_back(std::move(diff));
  }
  return diffs;
}

void Worst::include(const TensorDiff& diff) {
  maxAbs = std::max(maxAbs, diff.maxAbs);
  maxRel = std::max(maxRel, diff.maxRel);
}

}  // namespace normlens::run
