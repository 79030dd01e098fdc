// Copies with perturbed weights, and runs that are measured.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/formats/onnx/open.h"
#include "tests/formats/onnx/run/session_fixture.h"
#include "tests/support/must.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

ModelProto weightModel() {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 8] x) => (float[n, 8] y) {
      two = Constant<value = float {2.0}>()
      bias = Constant<value = float[8] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}>()
      a = MatMul(x, w)
      b = Add(a, bias)
      y = Pow(b, two)
    })");
  addTensor(proto, "w", {8, 8}, 5);
  return proto;
}

std::vector<float> numbersOf(const graph::TensorView& view) {
  std::vector<float> numbers(static_cast<size_t>(graph::elementCount(view.shape).value()));
  std::memcpy(numbers.data(), view.data, numbers.size() * sizeof(float));
  return numbers;
}

TEST(Perturbed, MovesEachWeightByUpToHalfAUnitInItsLastPlace) {
  const auto model = modelOf(weightModel());
  const auto first = model->perturbed(1), again = model->perturbed(1), other = model->perturbed(2);
  ASSERT_TRUE(first && again && other);
  const auto weightOf = [](const Model& from) {
    return numbersOf(dynamic_cast<const OnnxModel&>(from).source().weights->at("w").view);
  };
  const auto before = weightOf(*model), after = weightOf(**first);
  EXPECT_EQ(after, weightOf(**again));
  EXPECT_NE(after, weightOf(**other));
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_LE(std::abs(after[i] - before[i]), std::abs(std::nextafter(before[i], INFINITY) - before[i]));
    moved += after[i] != before[i] ? 1 : 0;
  }
  EXPECT_GT(moved, before.size() / 8);
  EXPECT_LT(moved, before.size());
}

TEST(Perturbed, LeavesExponentsAlone) {
  const auto model = modelOf(weightModel());
  const Tensors inputs{floats("x", {1, 8}, {1, -2, 3, -4, 5, -6, 7, -8})};
  const auto plain = must(model->run(inputs, {}));
  for (uint64_t seed = 1; seed < 5; ++seed) {
    const auto moved = must(model->perturbed(seed));
    const auto outputs = must(moved->run(inputs, {}));
    const double noise = run::worstOf(run::compareOutputs(plain, outputs).value()).maxRel;
    EXPECT_GT(noise, 0);
    EXPECT_LT(noise, 1e-5);
  }
}

TEST(Runner, MeasuresOneRunAtATime) {
  const auto model = modelOf(weightModel());
  const auto runner = must(model->runner({floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})}, {}));
  for (int i = 0; i < 3; ++i) {
    const auto ms = must(runner->runOnceMs());
    EXPECT_GT(ms, 0);
  }
}

TEST(Runner, TheOutputsAreThoseOfTheModel) {
  const auto model = modelOf(weightModel());
  const Tensors inputs{floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})};
  const auto runner = must(model->runner(inputs, {}));
  const auto outputs = runner->outputs(), expected = model->run(inputs, {});
  ASSERT_TRUE(outputs && expected);
  EXPECT_LT(run::worstOf(run::compareOutputs(*expected, *outputs).value()).maxRel, 1e-5);
}

TEST(Runner, TellsMemoryAndTimesOfOps) {
  const auto model = modelOf(weightModel());
  const auto runner = must(model->runner({floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})}, {.threads = 1}));
  EXPECT_EQ(runner->threads(), 1);
  const auto peak = must(runner->peakBytes());
  EXPECT_GT(peak, 0);
  EXPECT_LT(peak, 1 << 16);  // of a few rows of eight numbers
  const auto ops = must(runner->opTimes({}));
  ASSERT_FALSE(ops.empty());
  for (const OpTime& op : ops) EXPECT_FALSE(op.op.empty());
}

// Nodes without names, and some inside a function.
TEST(Runner, TimesAreThoseOfTheGraphsNodes) {
  const auto model = modelOf(modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 18, "own" : 1]>
    g (float[4, 8] x) => (float[4, 8] y) {
      h = own.Twice(x)
      y = Tanh(h)
    }
    <domain: "own", opset_import: ["" : 18]>
    Twice (a) => (b) {
      s = Sinh(a)
      b = Add(s, s)
    })"));
  const auto runner = must(model->runner({floats("x", {4, 8}, std::vector<double>(32, 0.5))}, {}));
  const auto ops = must(runner->opTimes({}));
  ASSERT_EQ(ops.size(), 3U);
  for (const OpTime& op : ops) {
    ASSERT_NE(op.node, graph::kNone) << op.op;
    EXPECT_EQ(model->graph().node(op.node).op, op.op);
  }
}

TEST(Runner, RunsInOtherTypesOrSaysWhyNot) {
  const auto model = modelOf(weightModel());
  const Tensors inputs = {floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})};
  for (const auto type : {graph::DType::Float16, graph::DType::Float64}) {
    const auto runner = must(model->runner(inputs, {.dtype = type}));
    EXPECT_TRUE(runner->runOnceMs());
  }
  EXPECT_EQ(failureOf(model->runner(inputs, {.dtype = graph::DType::BFloat16})).code, ErrorCode::Unsupported);
  if (!runtimeHasCuda()) {
    EXPECT_EQ(failureOf(model->runner(inputs, {.device = Device::Cuda})).code, ErrorCode::Unsupported);
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
