// Copies with perturbed weights, runs that are measured, and ONNX Runtime's profiles as it writes them, for nodes on
// the CPU and for kernels on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "core/formats/onnx/open.h"
#include "core/formats/onnx/run/node_profile.h"
#include "tests/formats/onnx/run/session_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"
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

// Three runs of 100 us; the first one warms up. A node's call takes 10 us, its kernels on the GPU 30 us.
std::string profile(bool kernels) {
  std::string text = "[";
  for (int run = 0; run < 3; ++run) {
    const std::string start = std::to_string(run * 100), node = std::to_string(run * 100 + 5);
    text += R"({"cat":"Session","name":"model_run","ts":)" + start + R"(,"dur":90,"args":{}},)";
    text += R"({"cat":"Node","name":"norm_kernel_time","ts":)" + node +
            R"(,"dur":10,"args":{"op_name":"LayerNormalization"}},)";
    text += R"({"cat":"Node","name":"norm_fence_after","ts":)" + node + R"(,"dur":70,"args":{}},)";
    if (!kernels) continue;
    for (const char* kernel : {"cuApplyLayerNorm", "cuCopy"}) {
      text += R"({"cat":"Kernel","name":")" + std::string(kernel) + R"(","ts":)" + node +
              R"(,"dur":15,"args":{"op_name":"LayerNormalization","parent_name":"norm_kernel_time"}},)";
    }
  }
  text.back() = ']';
  return text;
}

class NodeProfile : public testing::Test {
 protected:
  Result<std::vector<OpTime>> read(const std::string& text, ProfileClock clock) {
    std::ofstream(folder_ / "profile") << text;
    return readProfile(folder_ / "profile", 2, clock,
                       [](const std::string& name) { return name == "norm" ? 7 : graph::kNone; });
  }

  const TemporaryFolder folder_;
};

TEST_F(NodeProfile, OfNodes) {
  for (const bool kernels : {false, true}) {
    const auto ops = must(read(profile(kernels), ProfileClock::Nodes));
    ASSERT_EQ(ops.size(), 1U);
    EXPECT_EQ(ops.front().op, "LayerNormalization");
    EXPECT_EQ(ops.front().node, 7);
    EXPECT_DOUBLE_EQ(ops.front().ms, 0.010);
  }
}

TEST_F(NodeProfile, OfKernelsIsTheirSum) {
  const auto ops = must(read(profile(true), ProfileClock::Kernels));
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops.front().op, "LayerNormalization");
  EXPECT_EQ(ops.front().node, 7);
  EXPECT_DOUBLE_EQ(ops.front().ms, 0.030);
}

TEST_F(NodeProfile, LaunchesAreNotTakenForKernels) {
  EXPECT_EQ(failureOf(read(profile(false), ProfileClock::Kernels)).code, ErrorCode::Unsupported);
}

TEST_F(NodeProfile, WhatIsNoneIsRefused) { EXPECT_FALSE(read("[{", ProfileClock::Nodes)); }

}  // namespace
}  // namespace normlens::formats::onnx
