#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/support/reference_ops.h"

namespace normlens::testing {

using graph::OpKind;
using graph::Shape;

namespace {

std::string nameOf(const graph::Node& node) {
  if (node.function != graph::Function::Other && node.function != graph::Function::Step)
    return std::string(graph::functionName(node.function));
  std::string name = node.op.substr(node.op.rfind(':') == std::string::npos ? 0 : node.op.rfind(':') + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

using Function = double (*)(const std::vector<double>&);

double anyFunction(const std::vector<double>& x) {
  double sum = 0.1;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] / static_cast<double>(i + 1);
  return std::tanh(sum) + 0.3 * sum + 0.2;
}

Function functionOf(const std::string& name) {
  static const std::map<std::string, Function> kFunctions = {
      {"Relu", [](const std::vector<double>& x) { return std::max(x[0], 0.0); }},
      {"Maximum", [](const std::vector<double>& x) { return std::max(x[0], x[1]); }},
      {"exp", [](const std::vector<double>& x) { return std::exp(x[0]); }},
      {"SquareRoot", [](const std::vector<double>& x) { return std::sqrt(x[0]); }},
      {"InverseSquareRoot", [](const std::vector<double>& x) { return 1 / std::sqrt(x[0]); }},
      {"Reciprocal", [](const std::vector<double>& x) { return 1 / x[0]; }},
      {"Square", [](const std::vector<double>& x) { return x[0] * x[0]; }},
      {"Power", [](const std::vector<double>& x) { return std::pow(x[0], x[1]); }},
      {"tanh", [](const std::vector<double>& x) { return std::tanh(x[0]); }},
      {"sigmoid", [](const std::vector<double>& x) { return 1 / (1 + std::exp(-x[0])); }},
      {"greater", [](const std::vector<double>& x) { return x[0] > (x.size() > 1 ? x[1] : 0.0) ? 1.0 : 0.0; }}};
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? anyFunction : found->second;
}

// Applies a function of scalars with broadcasting over all operands.
Tensor broadcasted(const Call& call, const std::function<double(const std::vector<double>&)>& function) {
  Shape shape;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.has(i)) shape = broadcastShape(shape, call.operand(i).shape);
  }
  Tensor out(shape);
  std::vector<double> arguments(call.operands.size());
  forEachIndex(shape, [&](const Index& index) {
    for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = call.has(i) ? call.operand(i)(index) : 0.0;
    out[index] = function(arguments);
  });
  return out;
}

double alphaOf(const graph::Node& node) {
  if (const auto whole = graph::intAttribute(node, "alpha")) return static_cast<double>(*whole);
  return graph::floatAttribute(node, "alpha").value_or(1.0);
}

Tensor cast(const Call& call) {
  Tensor out = call.operand(0);
  const auto to = call.graph.value(call.node.outputs[0]).dtype;
  for (double& item : out.at) {
    if (to == graph::DType::Float32) item = static_cast<float>(item);
    if (to == graph::DType::Float16) item = graph::halfToFloat(graph::floatToHalf(static_cast<float>(item)));
  }
  return out;
}

// Every output element depends on every input element.
Tensor mixedUp(const Call& call, const Shape& shape) {
  Tensor out(shape);
  for (size_t i = 0; i < out.at.size(); ++i) {
    double sum = 0.5;
    for (size_t o = 0; o < call.operands.size(); ++o) {
      for (size_t j = 0; j < call.operand(o).at.size(); ++j) {
        sum += call.operand(o).at[j] * std::cos(static_cast<double>(7 * i + 3 * j + o));
      }
    }
    out.at[i] = std::tanh(0.3 * sum) + 0.1 * sum;
  }
  return out;
}

// Narrow streams: the coordinates of zero-mean channels but for the last, which is 0, and all channels of such.
Tensor narrowOp(const Call& call) {
  const Tensor& x = call.operand(0);
  const int64_t full = graph::intAttribute(call.node, "full").value();
  const double scale = graph::floatAttribute(call.node, "scale").value();
  const bool restores = call.node.op == "test::restore";
  const auto axis = static_cast<size_t>(graph::intAttribute(call.node, "axis").value());
  Tensor out(call.outShape());
  forEachIndex(out.shape, [&](const Index& index) {
    if (!restores && index[axis] >= full - 1) return;
    std::vector<double> row(static_cast<size_t>(full), 0.0);
    Index other = index;
    for (other[axis] = 0; other[axis] < (restores ? full - 1 : full); ++other[axis])
      row[static_cast<size_t>(other[axis])] = x(other) * (restores ? 1 / scale : scale);
    out[index] = reflected(row)[static_cast<size_t>(index[axis])];
  });
  return out;
}

std::vector<Tensor> opaque(const Call& call) {
  if (call.node.op == "test::narrow" || call.node.op == "test::restore") return {narrowOp(call)};
  if (call.node.op == "test::center") {
    Tensor out = call.operand(0);
    center(out, ops::Pattern::parse(graph::stringAttribute(call.node, "pattern").value()).value());
    return {out};
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) out.push_back(mixedUp(call, call.outShape(i)));
  return out;
}

}  // namespace

std::vector<Tensor> pointwiseOp(const Call& call) {
  const double alpha = alphaOf(call.node);
  switch (call.node.kind) {
    case OpKind::Opaque:
    case OpKind::Recurrent:
      return opaque(call);
    case OpKind::Identity:
      return {call.operand(0)};
    case OpKind::Cast:
      return {cast(call)};
    case OpKind::Neg:
      return {broadcasted(call, [](const auto& x) { return -x[0]; })};
    case OpKind::Add:
      return {broadcasted(call, [&](const auto& x) { return x[0] + alpha * x[1]; })};
    case OpKind::Sub:
      return {broadcasted(call, [&](const auto& x) { return x[0] - alpha * x[1]; })};
    case OpKind::Mul:
      return {broadcasted(call, [](const auto& x) { return x[0] * x[1]; })};
    case OpKind::Div:
      return {broadcasted(call, [](const auto& x) { return x[0] / x[1]; })};
    case OpKind::Elementwise:
      return {broadcasted(call, functionOf(nameOf(call.node)))};
    case OpKind::Where:
      return {broadcasted(call, [](const auto& x) { return x[0] != 0 ? x[1] : x[2]; })};
    case OpKind::MaskedFill:
      return {broadcasted(call, [](const auto& x) { return x[1] != 0 ? x[2] : x[0]; })};
    case OpKind::ShapeQuery: {
      Tensor out(call.outShape());
      const auto fill = graph::floatAttribute(call.node, "fill");
      for (double& item : out.at) item = fill ? *fill : static_cast<double>(call.operand(0).at.size());
      return {out};
    }
    default:
      throw std::logic_error("no reference for this kind");
  }
}

}  // namespace normlens::testing
