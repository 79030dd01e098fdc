// Times on a device that is played here: a queue of work on a clock of its own, for the kernels of which nothing is
// computed. It shows what is timed, not how long it takes anywhere.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <vector>

#include "core/formats/torchscript/run/captured_pass.h"
#include "core/formats/torchscript/run/device_copy.h"
#include "core/formats/torchscript/run/node_times.h"
#include "core/formats/torchscript/run/pass_timer.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr c10::DeviceType kPlayed = c10::DeviceType::PrivateUse1;
constexpr double kMakingAnEventMs = 3;

// Of the host and of the queue, in milliseconds since the start.
struct Clocks {
  double host = 0;
  double queueIsDone = 0;
  int events = 0;  // that were made

  void launch(double ms) { queueIsDone = std::max(queueIsDone, host) + ms; }
};

Clocks& clocks() {
  static Clocks now;
  return now;
}

class PlayedDevice final : public c10::impl::DeviceGuardImplInterface {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return kPlayed; }
  [[nodiscard]] c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  [[nodiscard]] c10::Device getDevice() const override { return {kPlayed, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  [[nodiscard]] c10::Stream getStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, getDevice());
  }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream) const override { return getStream(getDevice()); }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) {
      clocks().host += kMakingAnEventMs;
      ++clocks().events;
      *event = new double(0);
    }
    *static_cast<double*>(*event) = std::max(clocks().host, clocks().queueIsDone);
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<double*>(event); }
  bool queryEvent(void* event) const override { return *static_cast<double*>(event) <= clocks().host; }
  void synchronizeEvent(void* event) const override {
    clocks().host = std::max(clocks().host, *static_cast<double*>(event));
  }
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    return *static_cast<double*>(to) - *static_cast<double*>(from);
  }
};

c10::Device playedDevice() {
  static const PlayedDevice device;
  static const c10::impl::DeviceGuardImplRegistrar registered(kPlayed, &device);
  clocks() = {};
  return {kPlayed, 0};
}

TEST(DeviceTimes, EventsAreThereBeforeAPassIsTimed) {
  PassTimer timer(playedDevice());
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_DOUBLE_EQ(timer.time([] { clocks().launch(2); }), 2) << pass;
    EXPECT_DOUBLE_EQ(clocks().host, 2 * kMakingAnEventMs + 2 * (pass + 1)) << "two events for all passes";
  }
}

ModelPtr chain() {
  torch::jit::Module module("chain");
  module.define(R"(
    def forward(self, x):
        return torch.relu(torch.tanh(torch.sigmoid(torch.neg(x))))
  )");
  return makeModel(std::move(module), {draw({4}, 1)});
}

struct Costs {
  double hostMs = 0;    // of each node
  double kernelMs = 0;  // of each node
  bool synchronizes = false;
};

// Medians of the nodes that took any time; `passes` counts all that were run, `late` the nodes that are marked so.
std::vector<double> timesOf(const TorchScriptModel& model, const Costs& costs, const QueueWait& wait, int& passes,
                            int* late = nullptr) {
  constexpr int kPasses = 3;
  NodeTimes times(model.program(), kPasses, playedDevice(), wait);
  Interpreter interpreter(model.program());
  passes = 0;
  for (int pass = NodeTimes::kWarmUp; pass < kPasses; ++passes) {
    const ValueHook inner = times.hook(pass);
    const auto done = interpreter.run({draw({4}, 1)},
                                      [&](int value, const c10::IValue& is) {
                                        clocks().host += costs.hostMs;
                                        clocks().launch(costs.kernelMs);
                                        if (costs.synchronizes)
                                          clocks().host = std::max(clocks().host, clocks().queueIsDone);
                                        inner(value, is);
                                      },
                                      {});
    EXPECT_TRUE(done);
    if (times.endPass(pass)) ++pass;
  }
  std::vector<double> medians = times.medians();
  for (size_t i = 0; late != nullptr && i < medians.size(); ++i) *late += times.isLate(static_cast<int>(i)) ? 1 : 0;
  std::erase_if(medians, [](double ms) { return ms < 1e-9; });
  return medians;
}

TEST(DeviceTimes, OpsAreTimedBehindAWaitInWhichTheHostGetsAhead) {
  const ModelPtr model = chain();
  int passes = 0, late = 0;
  const auto wait = [](double ms) { clocks().launch(ms); };
  // With the longer dispatch the first wait does not suffice.
  for (const double hostMs : {0.02, 40.0}) {
    const auto medians = timesOf(*model, {.hostMs = hostMs, .kernelMs = 0.005}, wait, passes, &late);
    EXPECT_GE(medians.size(), 4U);
    for (const double ms : medians) EXPECT_NEAR(ms, 0.005, 1e-9) << hostMs;
    EXPECT_GE(passes, 4);
  }
  EXPECT_GT(passes, 4) << "none was done again";
  EXPECT_EQ(late, 0);
  for (const double ms : timesOf(*model, {.hostMs = 0.02, .kernelMs = 0.005}, {}, passes)) {
    EXPECT_NEAR(ms, 0.025, 0.0051) << "without a wait it is the dispatch that is timed: the stand-in shows it";
  }
}

// One for the start, one for the input and one for each result; none for the weight, numbers and lists of sizes.
TEST(DeviceTimes, OnlyTensorsThatWereMadeTakeAPlaceInTheQueue) {
  torch::jit::Module module("sizes");
  module.register_buffer("weight", draw({4}, 2));
  module.define("def forward(self, x):\n    return torch.reshape(torch.neg(x), [2, 2]) * torch.relu(self.weight)[0]\n");
  const ModelPtr model = makeModel(std::move(module), {draw({4}, 1)});
  int passes = 0;
  timesOf(
      *model, {.hostMs = 0.02, .kernelMs = 0.005}, [](double ms) { clocks().launch(ms); }, passes);
  int tensors = 0;
  for (const ProgramNode& node : model->program().nodes) {
    tensors +=
        node.node->outputs().size() == 1 && node.node->output()->type()->isSubtypeOf(*c10::TensorType::get()) ? 1 : 0;
  }
  EXPECT_EQ(clocks().events, 2 + tensors);
  EXPECT_LT(tensors, static_cast<int>(model->program().nodes.size()));
}

// A queue that takes no more than the wait: the host gets no further ahead, however long that is.
TEST(DeviceTimes, WhatTheDeviceWaitedForIsMarkedAsLate) {
  const ModelPtr model = chain();
  int passes = 0, late = 0;
  const auto fullQueue = [](double ms) {
    clocks().launch(ms);
    clocks().host = std::max(clocks().host, clocks().queueIsDone);
  };
  EXPECT_GE(timesOf(*model, {.hostMs = 0.02, .kernelMs = 0.005}, fullQueue, passes, &late).size(), 4U);
  EXPECT_GE(late, 4);
}

TEST(DeviceTimes, AModelThatWaitsForTheDeviceIsTimedAllTheSame) {
  const ModelPtr model = chain();
  int passes = 0;
  const auto wait = [](double ms) { clocks().launch(ms); };
  EXPECT_GE(timesOf(*model, {.hostMs = 1, .kernelMs = 1, .synchronizes = true}, wait, passes).size(), 4U);
  EXPECT_LT(passes, 20);
}

// Where the pass is called while it is recorded, and what became of the recording.
class PlayedGraph final : public CudaGraph {
 public:
  PlayedGraph(bool beginFails, bool endFails) : beginFails_(beginFails), endFails_(endFails) {}
  void begin() override {
    recording = true;  // as torch's allocator: before what fails
    if (beginFails_) throw std::runtime_error("begin");
  }
  void end() override {
    if (endFails_) throw std::runtime_error("end");
    recording = false;
  }
  void replay() override {}
  void abandon() noexcept override { recording = false; }
  bool recording = false;

 private:
  bool beginFails_, endFails_;
};

TEST(CapturedPasses, AFailedRecordingIsAbandoned) {
  const auto record = [](bool beginFails, bool passFails, bool endFails) {
    PlayedGraph graph(beginFails, endFails);
    std::string why;
    bool recorded = false;
    try {
      recordInto(graph, [&] {
        recorded = graph.recording;
        if (passFails) throw std::runtime_error("pass");
      });
    } catch (const std::exception& error) {
      why = error.what();
    }
    EXPECT_EQ(recorded, !beginFails);
    EXPECT_FALSE(graph.recording);
    return why;
  };
  EXPECT_EQ(record(false, false, false), "");
  EXPECT_EQ(record(true, false, false), "begin");
  EXPECT_EQ(record(false, true, false), "pass");
  EXPECT_EQ(record(false, true, true), "pass");
  EXPECT_EQ(record(false, false, true), "end");
}

Status canReplayModel(const char* body) {
  torch::jit::Module module("model");
  module.register_buffer("count", at::zeros({4}, at::kDouble));
  module.define(std::string("def forward(self, x):\n    ") + body + "\n    return torch.relu(x) + self.count\n");
  return canReplay(makeModel(std::move(module), {draw({4}, 1)})->program());
}

TEST(CapturedPasses, AModelThatWritesWhatItReadsIsNotReplayed) {
  EXPECT_TRUE(canReplayModel("y = torch.relu(x).add_(1)"));
  EXPECT_PRED2(contains, failureOf(canReplayModel("x.add_(1)")).message, "its inputs");
  EXPECT_PRED2(contains, failureOf(canReplayModel("self.count.add_(1)")).message, "its own state");
}

TEST(DeviceMemory, TensorsThatOverlapAreMovedTogetherAndOthersByThemselves) {
  const at::Tensor memory = draw({4000}, 1);
  const at::Tensor first = memory.slice(0, 100, 200), second = memory.slice(0, 150, 300).slice(0, 0, 150, 3);
  const at::Tensor far = memory.slice(0, 3000, 3008), square = memory.slice(0, 0, 64).view({8, 8}).t();
  const at::Tensor none = at::empty({0}, at::kDouble), undefined;
  DeviceMemory moving(c10::DeviceType::CPU);
  for (const at::Tensor& each : {first, second, far, square, none, undefined}) moving.expect(each);
  for (const at::Tensor& each : {first, second, far, square, none}) {
    const at::Tensor moved = moving.of(each);
    EXPECT_TRUE(at::equal(moved, each));
    EXPECT_EQ(moved.strides(), each.strides());
    EXPECT_FALSE(moved.is_alias_of(each));
  }
  EXPECT_FALSE(moving.of(undefined).defined());
  EXPECT_TRUE(moving.of(first).is_alias_of(moving.of(second)));
  EXPECT_TRUE(moving.of(first).is_alias_of(moving.of(first.view({10, 10}))));
  EXPECT_FALSE(moving.of(first).is_alias_of(moving.of(far)));
  EXPECT_LE(moving.of(far).storage().nbytes(), 8 * 8 + 64U);
  moving.of(first).fill_(7);
  EXPECT_EQ(moving.of(second)[0].item<double>(), 7);
}

TEST(DeviceMemory, AStretchThatWasMovedIsLeftAlone) {
  const at::Tensor memory = draw({100}, 1);
  DeviceMemory moving(c10::DeviceType::CPU);
  const at::Tensor early = moving.of(memory.slice(0, 40, 60));
  EXPECT_TRUE(at::equal(moving.of(memory), memory)) << "announced too late: by itself";
  EXPECT_TRUE(early.is_alias_of(moving.of(memory.slice(0, 40, 60))));
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
