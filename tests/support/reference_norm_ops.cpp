#include <cmath>
#include <stdexcept>

#include "tests/support/reference_ops.h"

namespace normlens::testing {

using graph::OpKind;
using graph::Shape;
using ops::Pattern;

namespace {

struct Normalized {
  Tensor y;
  Tensor mean;     // of each element's group, in x's shape
  Tensor inverse;  // 1 / sqrt(spread + eps) of each element's group
};

Normalized normalized(const Tensor& x, const std::vector<int64_t>& groups, double eps, bool removeMean) {
  const size_t count = x.at.size();
  std::vector<double> sums(count, 0);
  std::vector<double> squares(count, 0);
  std::vector<double> sizes(count, 0);
  for (size_t i = 0; i < count; ++i) {
    sums[static_cast<size_t>(groups[i])] += x.at[i];
    sizes[static_cast<size_t>(groups[i])] += 1;
  }
  Normalized out{x, Tensor(x.shape), Tensor(x.shape)};
  for (size_t i = 0; i < count; ++i) {
    const auto g = static_cast<size_t>(groups[i]);
    out.mean.at[i] = removeMean ? sums[g] / sizes[g] : 0;
    out.y.at[i] = x.at[i] - out.mean.at[i];
    squares[g] += out.y.at[i] * out.y.at[i];
  }
  for (size_t i = 0; i < count; ++i) {
    const auto g = static_cast<size_t>(groups[i]);
    out.inverse.at[i] = 1 / std::sqrt(squares[g] / sizes[g] + eps);
    out.y.at[i] *= out.inverse.at[i];
  }
  return out;
}

void affine(Tensor& y, const Call& call, const std::function<Index(const Index&)>& where) {
  forEachIndex(y.shape, [&](const Index& index) {
    if (call.has(1)) y[index] *= call.operand(1)(where(index));
    if (call.has(2)) y[index] += call.operand(2)(where(index));
  });
}

// The statistics keep the normalized axes, as size 1.
Tensor reducedTo(const Tensor& full, const std::vector<int64_t>& axes) {
  Shape shape = full.shape;
  for (const int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) { out[index] = full(index); });
  return out;
}

std::vector<Tensor> overAxes(const Call& call, bool removeMean) {
  const Tensor& x = call.operand(0);
  const double eps = graph::floatAttribute(call.node, "eps").value_or(1e-5);
  const auto groups = groupOf(Pattern::overAxes(x.shape, call.axes()), static_cast<int64_t>(x.at.size()));
  Normalized n = normalized(x, groups, eps, removeMean);
  affine(n.y, call, [](const Index& index) { return index; });
  return {n.y, reducedTo(n.mean, call.axes()), reducedTo(n.inverse, call.axes())};
}

std::vector<Tensor> overChannelGroups(const Call& call, int64_t groups) {
  const Tensor& x = call.operand(0);
  const int64_t each = static_cast<int64_t>(x.at.size()) / (x.shape[0] * groups);
  std::vector<int64_t> of;
  for (int64_t i = 0; i < static_cast<int64_t>(x.at.size()); ++i) of.push_back(i / each);
  Normalized n = normalized(x, of, graph::floatAttribute(call.node, "eps").value_or(1e-5),
                            !graph::boolAttribute(call.node, "keeps_mean"));  // of a plan that was carried out
  affine(n.y, call, [](const Index& index) { return Index{index[1]}; });
  return {n.y};
}

std::vector<Tensor> batchNorm(const Call& call) {
  Tensor y = call.operand(0);
  if (const auto shift = graph::intAttribute(call.node, "shift_operand")) {
    const Tensor& by = call.operand(static_cast<size_t>(*shift));
    forEachIndex(y.shape, [&](const Index& index) { y[index] += (*shift == 2 ? 1 : -1) * by({index[1]}); });
    return {y};
  }
  const double eps = graph::floatAttribute(call.node, "eps").value_or(1e-5);
  forEachIndex(y.shape, [&](const Index& index) {
    const Index channel{index[1]};
    y[index] = (y(index) - call.operand(3)(channel)) / std::sqrt(std::fabs(call.operand(4)(channel)) + eps);
  });
  affine(y, call, [](const Index& index) { return Index{index[1]}; });
  return {y};
}

Tensor softmax(const Call& call) {
  const Tensor& x = call.operand(0);
  Tensor out(x.shape);
  forEachIndex(x.shape, [&](const Index& index) {
    Index other = index;
    double total = 0;
    for (int64_t i = 0; i < x.shape[call.axis()]; ++i) {
      other[call.axis()] = i;
      total += std::exp(x(other) - x(index));
    }
    out[index] = 1 / total;
  });
  return out;
}

}  // namespace

std::vector<Tensor> normOp(const Call& call) {
  switch (call.node.kind) {
    case OpKind::LayerNorm:
      return overAxes(call, true);
    case OpKind::RmsNorm:
      return overAxes(call, false);
    case OpKind::GroupNorm:
      return overChannelGroups(call, graph::intAttribute(call.node, "groups").value());
    case OpKind::InstanceNorm:
      return overChannelGroups(call, call.operand(0).shape.at(1));
    case OpKind::BatchNorm:
      return batchNorm(call);
    case OpKind::Softmax:
      return {softmax(call)};
    default:
      throw std::logic_error("no norm");
  }
}

}  // namespace normlens::testing
