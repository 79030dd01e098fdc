#include "tests/support/dense_tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

namespace normlens::testing {

using graph::Shape;
using ops::Pattern;

Tensor::Tensor(Shape wanted, double fill) : shape(std::move(wanted)), at(static_cast<size_t>(sizeOf(shape)), fill) {}

namespace {

size_t flatIndex(const Shape& shape, const Index& index) {
  if (index.size() < shape.size()) throw std::logic_error("index of too low rank");
  const size_t missing = index.size() - shape.size();
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[i + missing]);
  return static_cast<size_t>(flat);
}

}  // namespace

double Tensor::operator()(const Index& index) const { return at.at(flatIndex(shape, index)); }
double& Tensor::operator[](const Index& index) { return at.at(flatIndex(shape, index)); }

int64_t sizeOf(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

void forEachIndex(const Shape& shape, const std::function<void(const Index&)>& body) {
  Index index(shape.size(), 0);
  for (int64_t i = sizeOf(shape); i > 0; --i) {
    body(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

Shape broadcastShape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) throw std::logic_error("shapes do not broadcast");
    out[out.size() - 1 - i] = std::max(left, right);
  }
  return out;
}

Tensor randomTensor(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<double> normal(0.3, 1.0);  // not centered by itself
  Tensor out(shape);
  for (double& item : out.at) item = normal(random);
  return out;
}

Tensor fromView(const graph::TensorView& view) {
  Tensor out;
  out.shape = view.shape;
  out.at = graph::toDoubles(view).value();
  return out;
}

std::vector<int64_t> groupOf(const Pattern& pattern, int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count), -1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t id = 0;
    int64_t stride = 1;
    bool inside = true;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const auto& factor = pattern.factors[f];
      const int64_t digit = rest % factor.size;
      rest /= factor.size;
      inside = inside && digit >= factor.begin && digit < factor.end;
      if (factor.summed) continue;
      id += (digit - factor.begin) * stride;
      stride *= factor.end - factor.begin;
    }
    if (rest != 0) throw std::logic_error("the pattern " + pattern.text() + " is too small for the tensor");
    if (inside) out[static_cast<size_t>(i)] = id;
  }
  return out;
}

void centerJointly(const std::vector<Tensor*>& tensors, const std::vector<Pattern>& patterns) {
  std::map<int64_t, std::pair<double, int64_t>> sums;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const auto groups = groupOf(patterns[t], sizeOf(tensors[t]->shape));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] < 0) continue;
      auto& [sum, count] = sums[groups[i]];
      sum += tensors[t]->at[i];
      ++count;
    }
  }
  for (size_t t = 0; t < tensors.size(); ++t) {
    const auto groups = groupOf(patterns[t], sizeOf(tensors[t]->shape));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] < 0) continue;
      const auto& [sum, count] = sums[groups[i]];
      tensors[t]->at[i] -= sum / static_cast<double>(count);
    }
  }
}

void center(Tensor& tensor, const Pattern& pattern) { centerJointly({&tensor}, {pattern}); }

double groupSumError(const Tensor& tensor, const Pattern& pattern) {
  const auto groups = groupOf(pattern, sizeOf(tensor.shape));
  std::map<int64_t, std::pair<double, double>> sums;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] < 0) continue;
    sums[groups[i]].first += tensor.at[i];
    sums[groups[i]].second += std::fabs(tensor.at[i]);
  }
  double worst = 0;
  double scale = 1e-300;
  for (const auto& [group, sum] : sums) {
    worst = std::max(worst, std::fabs(sum.first));
    scale = std::max(scale, sum.second);
  }
  return std::max(scale, maxAbs(tensor)) < 1e-13 ? 0 : worst / std::max(scale, maxAbs(tensor));
}

Tensor randomShift(const Shape& shape, const Pattern& pattern, std::mt19937& random) {
  std::normal_distribution<double> normal(0.2, 1.0);
  Tensor out(shape);
  const auto groups = groupOf(pattern, sizeOf(shape));
  std::map<int64_t, double> values;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] < 0) continue;
    const auto [at, added] = values.try_emplace(groups[i], 0.0);
    if (added) at->second = normal(random);
    out.at[i] = at->second;
  }
  return out;
}

double shiftError(const Tensor& difference, const Pattern& pattern, double scale) {
  const auto groups = groupOf(pattern, sizeOf(difference.shape));
  std::map<int64_t, double> first;
  double worst = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const double expected = groups[i] < 0 ? 0.0 : first.try_emplace(groups[i], difference.at[i]).first->second;
    worst = std::max(worst, std::fabs(difference.at[i] - expected));
  }
  return worst / std::max(scale, 1e-300);
}

double maxAbs(const Tensor& tensor) {
  double worst = 0;
  for (const double item : tensor.at) worst = std::max(worst, std::fabs(item));
  return worst;
}

std::vector<double> reflected(const std::vector<double>& numbers) {
  std::vector<double> u(numbers.size(), 1 / std::sqrt(static_cast<double>(numbers.size())));
  u.back() -= 1;
  const double along = std::inner_product(u.begin(), u.end(), numbers.begin(), 0.0) /
                       std::inner_product(u.begin(), u.end(), u.begin(), 0.0);
  std::vector<double> out = numbers;
  for (size_t i = 0; i < u.size(); ++i) out[i] -= 2 * along * u[i];
  return out;
}

}  // namespace normlens::testing
