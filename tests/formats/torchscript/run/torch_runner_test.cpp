// Running a TorchScript model for a measurement: types, threads, memory, times of ops, devices.
#include <ATen/Parallel.h>

#include <algorithm>

#include "core/formats/torchscript/run/cuda/cuda_graph.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"
#include "core/formats/torchscript/run/device_copy.h"
#include "core/run/tensors.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

// LayerNorm over the last axis after a product, both in the model's own type; a literal type (6: float32) stands in the
// code.
ModelPtr sample() {
  torch::jit::Module module("sample");
  module.register_parameter("weight", draw({8, 8}, 1, at::kFloat), false);
  module.register_parameter("gamma", draw({8}, 2, at::kFloat), false);
  module.define(R"(
    def forward(self, x):
        h = torch.matmul(x, self.weight).to(6)
        return torch.layer_norm(h, [8], self.gamma)
  )");
  return makeModel(std::move(module), {draw({4, 8}, 3, at::kFloat)});
}

Tensors inputs() {
  const std::vector<double> values(32, 0.25);
  return {{"in_0", run::fromDoubles(graph::DType::Float32, {4, 8}, values)}};
}

Result<std::unique_ptr<Runner>> runnerOf(const Model& model, const RunSettings& settings) {
  return model.runner(inputs(), settings);
}

TEST(TorchRunner, RunsInEveryFloatingType) {
  const ModelPtr model = sample();
  for (const auto type : {graph::DType::Unknown, graph::DType::Float16, graph::DType::BFloat16, graph::DType::Float32,
                          graph::DType::Float64}) {
    const auto runner = must(runnerOf(*model, {.dtype = type}));
    const auto ms = runner->runOnceMs();
    ASSERT_TRUE(ms) << graph::dtypeName(type) << ": " << ms.error().message;
    EXPECT_GT(*ms, 0);
  }
}

TEST(TorchRunner, TheOutputsAndTheValuesInsideAreThoseOfTheModel) {
  const ModelPtr model = sample();
  const auto runner = must(runnerOf(*model, {}));
  const std::vector<graph::ValueId> values{model->graph().node(nodeOf(model->graph(), "aten::layer_norm")).operands[0]};
  const auto expected = model->runSeeing(inputs(), values, {});
  const auto outputs = runner->outputs(), inside = runner->runCapturing(values, {});
  ASSERT_TRUE(expected && outputs && inside);
  ASSERT_EQ(outputs->size(), 1U);
  EXPECT_EQ(outputs->front().name, expected->outputs.front().name);
  EXPECT_EQ(graph::toDoubles(outputs->front().view), graph::toDoubles(expected->outputs.front().view));
  EXPECT_EQ(graph::toDoubles(inside->at(0).view), graph::toDoubles(expected->values.at(0).view));
}

TEST(TorchRunner, ANarrowerTypeTakesLessMemory) {
  const ModelPtr model = sample();
  const auto single = runnerOf(*model, {});
  const auto half = runnerOf(*model, {.dtype = graph::DType::Float16});
  const auto wide = (*single)->peakBytes(), narrow = (*half)->peakBytes();
  ASSERT_TRUE(wide && narrow);
  constexpr int64_t kOneResult = int64_t{4} * 8 * 4;  // float32[4, 8]
  EXPECT_GE(*wide, 2 * kOneResult);                   // the norm reads one and writes another
  EXPECT_GT(*narrow, 0);
  EXPECT_LT(*narrow, *wide);
}

TEST(TorchRunner, ThreadsAreSetForTheRunOnly) {
  const int before = at::get_num_threads();
  const ModelPtr model = sample();
  const auto runner = runnerOf(*model, {.threads = before + 1});
  ASSERT_TRUE(runner && (*runner)->runOnceMs());
  EXPECT_EQ((*runner)->threads(), before + 1);
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(TorchRunner, OpsAreTimedUnderTheirNodes) {
  const ModelPtr model = sample();
  for (const auto type : {graph::DType::Unknown, graph::DType::Float64}) {
    const auto runner = must(runnerOf(*model, {.dtype = type}));
    const auto ops = must(runner->opTimes({}));
    const auto norm = std::ranges::find(ops, "aten::layer_norm", &OpTime::op);
    ASSERT_NE(norm, ops.end());
    EXPECT_GT(norm->ms, 0);
    EXPECT_EQ(norm->node, nodeOf(model->graph(), "aten::layer_norm"));
  }
}

// Times of ops on a GPU are taken from the copy's program and put down to the model's nodes.
TEST(TorchRunner, ACopyForADeviceHasTheSameNodes) {
  const ModelPtr model = sample();
  const auto copy = must(buildProgram(copyOnDevice(model->source().module, c10::Device(c10::DeviceType::CPU))));
  const auto& nodes = model->program().nodes;
  ASSERT_EQ(copy.nodes.size(), nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(copy.nodes[i].node->kind(), nodes[i].node->kind());
  EXPECT_EQ(copy.values.size(), model->program().values.size());  // what is captured there is found by them
}

// A small window into a large memory is copied by itself.
TEST(TorchRunner, ACopyForADeviceHasTheSameNumbers) {
  torch::jit::Module m("Window");
  const auto memory = draw({4000}, 1);
  m.register_buffer("window", memory.slice(0, 2000, 2008));
  const auto copy = copyOnDevice(m, c10::Device(c10::DeviceType::CPU));
  EXPECT_TRUE(at::equal(copy.attr("window").toTensor(), m.attr("window").toTensor()));
}

TEST(TorchRunner, TiedWeightsReachADeviceOnce) {
  torch::jit::Module m("Tied"), inner("Inner");
  const at::Tensor table = draw({8, 4}, 1);
  m.register_parameter("table", table, false);
  inner.register_parameter("head", table.detach(), false);
  inner.register_buffer("turned", table.t());
  m.register_module("inner", inner);
  m.define("def forward(self, x):\n    return x\n");
  const auto copy = copyOnDevice(m, c10::Device(c10::DeviceType::CPU));
  const at::Tensor copied = copy.attr("table").toTensor();
  EXPECT_TRUE(at::equal(copied, table));
  EXPECT_NE(copied.data_ptr(), table.data_ptr());
  EXPECT_EQ(copy.attr("inner").toModule().attr("head").toTensor().data_ptr(), copied.data_ptr());
  EXPECT_TRUE(at::equal(copy.attr("inner").toModule().attr("turned").toTensor(), table.t()));
  EXPECT_EQ(copy.attr("inner").toModule().attr("turned").toTensor().data_ptr(), copied.data_ptr());
}

TEST(TorchRunner, WithoutAGpuItSaysWhatIsMissing) {
  const ModelPtr model = sample();
  const auto runner = runnerOf(*model, {.device = Device::Cuda});
  if (loadCuda()) {
    ASSERT_TRUE(runner) << runner.error().message;
    EXPECT_EQ((*runner)->clock(), "CUDA events");
    EXPECT_TRUE((*runner)->runOnceMs());
    const auto ops = (*runner)->opTimes({});
    EXPECT_EQ(static_cast<bool>(ops), static_cast<bool>(loadCudaGraphLibrary()));
    if (ops) {
      EXPECT_NE(std::ranges::find(*ops, "aten::layer_norm", &OpTime::op), ops->end());
    }
    return;
  }
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::Unsupported);
  EXPECT_FALSE(runner.error().message.empty());
}

TEST(TorchRunner, CudaIsLoadedAheadWhereItsDeviceMayBeOpened) {
  EXPECT_FALSE(loadCudaIfPermitted({"/dev/no-such-driver"}));
  EXPECT_TRUE(loadCudaIfPermitted({"/dev/no-such-driver", "/dev/null"}));
}

TEST(TorchRunner, ACudaGraphIsReplayedWhereThereIsAGpu) {
  if (!loadCuda()) GTEST_SKIP() << "no GPU";
  const ModelPtr model = sample();
  const auto runner = runnerOf(*model, {.device = Device::Cuda, .cudaGraph = true});
  if (!runner && runner.error().code == ErrorCode::Unsupported) GTEST_SKIP() << runner.error().message;
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ((*runner)->clock(), "CUDA events, CUDA graph");
  const auto ms = must((*runner)->runOnceMs());
  EXPECT_GT(ms, 0);
}

// What failed has left torch's allocator as it was: the next one is recorded, and memory comes and goes.
TEST(TorchRunner, AFailedCaptureIsNoHarmToTheNext) {
  if (!loadCuda()) GTEST_SKIP() << "no GPU";
  if (!loadCudaGraphLibrary()) GTEST_SKIP() << "no CUDA graphs";
  torch::jit::Module waiting("waiting");
  waiting.define("def forward(self, x):\n    return x * float(x.sum().item())\n");
  const ModelPtr cannot = makeModel(std::move(waiting), {draw({4, 8}, 3, at::kFloat)});
  const ModelPtr can = sample();
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(failureOf(runnerOf(*cannot, {.device = Device::Cuda, .cudaGraph = true})).code, ErrorCode::RunFailed);
    const auto runner = must(runnerOf(*can, {.device = Device::Cuda, .cudaGraph = true}));
    EXPECT_TRUE(runner->runOnceMs());
    EXPECT_NO_THROW(static_cast<void>(at::zeros({int64_t{1} << 28}, at::device(at::kCUDA)).sum().item<float>()));
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
