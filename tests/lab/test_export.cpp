// The files of a network compute what the network does.
#include <gtest/gtest.h>

#include <sstream>

#include "core/lab/export/torchscript_export.h"
#include "tests/lab/small_run.h"

namespace normlens::lab {
namespace {

void expectSameScores(const RunSettings& settings, const NetworkShape& shape, const std::vector<at::Tensor>& inputs) {
  const auto network = makeNetwork(settings, shape);
  std::istringstream file(toTorchScript(*network, settings, shape.layers));
  torch::jit::Module module = torch::jit::load(file);
  for (const at::Tensor& input : inputs) {
    const at::Tensor expected = network->forward(input, nullptr);
    const at::Tensor scores = module.forward({input}).toTensor();
    EXPECT_LT((scores.reshape(expected.sizes()) - expected).abs().max().item<double>(), 1e-12) << shape.network;
  }
}

TEST(Export, APerceptronsFileComputesTheSame) {
  RunSettings settings = smallRun();
  const std::vector<at::Tensor> inputs{at::randn({5, 3}, at::kDouble), at::randn({1, 3}, at::kDouble)};
  for (const auto activation : activations()) {
    settings.activation = activation;
    for (const auto network : networks())
      expectSameScores(settings, {std::string(network), 4, 1, "float64", 3, 2}, inputs);
  }
}

TEST(Export, ATransformersFileComputesTheSame) {
  const RunSettings settings = smallRun("transformer");
  const std::vector<at::Tensor> inputs{at::randint(0, 11, {2, 9}, at::kLong), at::randint(0, 11, {1, 1}, at::kLong),
                                       at::randint(0, 11, {3, settings.context}, at::kLong)};
  for (const auto network : networks())
    expectSameScores(settings, {std::string(network), 2, 1, "float64", 11, 11}, inputs);
}

// CCWT: in the file there is nothing left to center.
TEST(Export, CenteredWeightsAreWrittenCentered) {
  const RunSettings settings = smallRun("transformer");
  const auto network = makeNetwork(settings, {"cbwc_rms_norm", 2, 1, "float64", 11, 11});
  std::istringstream file(toTorchScript(*network, settings, 2));
  const torch::jit::Module module = torch::jit::load(file);
  for (const auto& [name, value] : module.named_parameters()) {
    const bool table = name == "characters.weight" || name == "places.weight";
    const bool before =
        table || name.find("attention_out") != std::string::npos || name.find("mlp_out") != std::string::npos;
    const auto mean = value.mean(table ? 1 : 0).abs().max().item<double>();
    if (before) {
      EXPECT_LT(mean, 1e-15) << name;
    }
    if (name.find("mlp_in.weight") != std::string::npos) {
      EXPECT_GT(mean, 1e-3) << name;
    }
  }
}

}  // namespace
}  // namespace normlens::lab
