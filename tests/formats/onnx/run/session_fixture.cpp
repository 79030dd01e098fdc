#include "tests/formats/onnx/run/session_fixture.h"

#include <stdexcept>

#include "core/run/tensors.h"

namespace normlens::formats::onnx {

std::unique_ptr<OnnxModel> modelOf(const ModelProto& proto, size_t largeBytes) {
  auto model = OnnxModel::fromSource(sourceOf(proto, largeBytes), {});
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

std::unique_ptr<OnnxModel> modelOf(const char* text) { return modelOf(modelFromText(text)); }

NamedTensor floats(const std::string& name, const graph::Shape& shape, const std::vector<double>& values) {
  return {name, run::fromDoubles(graph::DType::Float32, shape, values)};
}

std::vector<double> valuesOf(const Tensors& tensors, size_t index) {
  return graph::toDoubles(tensors.at(index).view).value();
}

const graph::Value& valueNamed(const OnnxModel& model, const std::string& path) {
  for (size_t id = 0; id < model.lowered().valuePath.size(); ++id) {
    if (model.lowered().valuePath[id] == path) return model.graph().values[id];
  }
  throw std::runtime_error("no value at " + path);
}

graph::ValueId idAt(const OnnxModel& model, const std::string& path) {
  return static_cast<graph::ValueId>(&valueNamed(model, path) - model.graph().values.data());
}

namespace {

constexpr const char* kIf = R"(<ir_version: 8, opset_import: ["" : 17]>
  agraph (float[n, 4] x, bool flag) => (float[n, 4] y) {
    two = Constant<value = float {2.0}>()
    y = If (flag) <
      then_branch = g1 () => (float[n, 4] a) { wide = Concat<axis = 1>(x, x)  some = Slice(wide, zero, four, one)  a = Mul(some, two) },
      else_branch = g2 () => (float[n, 4] b) { b = Neg(x) }
    >
  })";

}  // namespace

ModelProto ifModel() {
  std::string text(kIf);
  const auto at = text.find("two =");
  text.insert(at,
              "zero = Constant<value = int64[1] {0}>() four = Constant<value = int64[1] {4}>() one = Constant<value = "
              "int64[1] {1}>() ");
  return modelFromText(text);
}

Tensors ifInputs(bool flag) {
  return {floats("x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
          {"flag", run::fromDoubles(graph::DType::Bool, {}, std::vector<double>{flag ? 1.0 : 0.0})}};
}

}  // namespace normlens::formats::onnx
