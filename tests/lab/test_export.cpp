// The files of a network compute what the network does.
#include <gtest/gtest.h>

#include <sstream>

#include "core/formats/pt2/open.h"
#include "core/lab/export/program_export.h"
#include "core/lab/export/torchscript_export.h"
#include "tests/lab/small_run.h"
#include "tests/support/temporary_folder.h"

namespace normlens::lab {
namespace {

std::unique_ptr<formats::Model> asProgram(const Network& network, const RunSettings& settings, int layers) {
  const TemporaryFolder folder;
  const auto path = folder / "trained.pt2";
  const Status written = writeProgram(network, settings, layers, path);
  auto model = written.and_then(
      [&] { return formats::pt2::openPt2(path, {}, {.strict = true, .model = {}, .isBeside = false}); });
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

Result<std::vector<double>> ran(const formats::Model& model, const at::Tensor& input) {
  graph::TensorView view;
  view.data = static_cast<const std::byte*>(input.const_data_ptr());
  view.dtype = input.scalar_type() == at::kLong ? graph::DType::Int64 : graph::DType::Float64;
  view.shape = input.sizes().vec();
  view.strides = input.strides().vec();
  return model.run({{"x", view}}, {}).map([](const formats::Tensors& outputs) {
    return *toDoubles(outputs.front().view);
  });
}

void expectSameScores(const RunSettings& settings, const NetworkShape& shape, const std::vector<at::Tensor>& inputs) {
  const auto network = makeNetwork(settings, shape);
  std::istringstream file(toTorchScript(*network, settings, shape.layers));
  torch::jit::Module module = torch::jit::load(file);
  const auto program = asProgram(*network, settings, shape.layers);
  for (const at::Tensor& input : inputs) {
    const at::Tensor expected = network->forward(input, nullptr);
    const at::Tensor scores = module.forward({input}).toTensor();
    EXPECT_LT((scores.reshape(expected.sizes()) - expected).abs().max().item<double>(), 1e-12) << shape.network;
    const auto told = ran(*program, input);
    ASSERT_TRUE(told) << told.error().message;
    const at::Tensor again = at::tensor(*told, at::kDouble).reshape(expected.sizes());
    EXPECT_LT((again - expected).abs().max().item<double>(), 1e-12) << shape.network;
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

TEST(Export, AProgramTakesNoMoreThanItsContext) {
  const RunSettings settings = smallRun("transformer");
  const auto network = makeNetwork(settings, {"rms_norm", 1, 1, "float64", 11, 11});
  const auto refused = ran(*asProgram(*network, settings, 1), at::zeros({2, settings.context + 1}, at::kLong));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
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
