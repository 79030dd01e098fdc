// ONNX Runtime's profiles as it writes them, for nodes on the CPU and for kernels on a GPU.
#include "core/formats/onnx/run/node_profile.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::onnx {
namespace {

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
