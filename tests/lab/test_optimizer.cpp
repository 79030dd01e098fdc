// The steps are those of torch.optim.
#include <gtest/gtest.h>

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim.h>

#include <cmath>
#include <sstream>

#include "core/lab/export/torchscript_export.h"
#include "core/lab/training/member.h"
#include "tests/lab/small_run.h"

namespace normlens::lab {
namespace {

constexpr double kRate = 0.01;

std::unique_ptr<Network> network() {
  RunSettings settings;
  settings.width = 4;
  return makeNetwork(settings, {NormUse::LayerNorm, 2, 1, Precision::Float64, 3, 2});
}

// Both step on the same gradients, which follow from the step's number alone.
double difference(const OptimizerSettings& settings,
                  const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>& make) {
  const auto ours = network();
  std::vector<at::Tensor> theirs;
  for (const Parameter& parameter : ours->parameters())
    theirs.push_back(parameter.value.detach().clone().requires_grad_(true));
  Optimizer optimizer(settings, *ours, 20);
  const auto other = make(theirs);
  for (int step = 1; step <= 20; ++step) {
    for (size_t i = 0; i < theirs.size(); ++i) {
      const at::Tensor gradient = (ours->parameters()[i].value.detach() * (step + static_cast<int>(i))).sin();
      ours->parameters()[i].value.mutable_grad() = gradient;
      theirs[i].mutable_grad() = gradient.clone();
    }
    optimizer.step();
    other->step();
  }
  double most = 0;
  for (size_t i = 0; i < theirs.size(); ++i)
    most = std::max(most, (ours->parameters()[i].value - theirs[i]).abs().max().item<double>());
  return most;
}

TEST(Optimizer, StepsAsTorchOptimDoes) {
  using namespace torch::optim;
  EXPECT_LT(difference({.kind = OptimizerKind::Sgd, .learning_rate = kRate},
                       [](const auto& all) { return std::make_unique<SGD>(all, SGDOptions(kRate)); }),
            1e-15);
  EXPECT_LT(difference({.kind = OptimizerKind::Sgd, .learning_rate = kRate, .momentum = 0.9, .weight_decay = 0.1},
                       [](const auto& all) {
                         return std::make_unique<SGD>(all, SGDOptions(kRate).momentum(0.9).weight_decay(0.1));
                       }),
            1e-15);
  EXPECT_LT(
      difference({.kind = OptimizerKind::Adam, .learning_rate = kRate, .weight_decay = 0.1},
                 [](const auto& all) { return std::make_unique<Adam>(all, AdamOptions(kRate).weight_decay(0.1)); }),
      1e-15);
  EXPECT_LT(
      difference({.kind = OptimizerKind::AdamW, .learning_rate = kRate, .weight_decay = 0.1},
                 [](const auto& all) { return std::make_unique<AdamW>(all, AdamWOptions(kRate).weight_decay(0.1)); }),
      1e-15);
}

// torch.optim's rate is set before each step, and its gradients are clipped by torch's own function.
TEST(Optimizer, ItsScheduleAndItsClippingAreTorchs) {
  constexpr double kClip = 0.5;
  const auto ours = network(), theirs = network();
  std::vector<at::Tensor> values;
  for (const Parameter& parameter : theirs->parameters()) values.push_back(parameter.value);
  Optimizer optimizer({.kind = OptimizerKind::Sgd,
                       .learning_rate = kRate,
                       .schedule = Schedule::Cosine,
                       .warmup = 0.25,
                       .clip_norm = kClip},
                      *ours, 20);
  torch::optim::SGD other(values, torch::optim::SGDOptions(kRate));
  for (int step = 1; step <= 20; ++step) {
    for (size_t i = 0; i < values.size(); ++i) {
      const at::Tensor gradient = (values[i].detach() * (step + static_cast<int>(i))).sin();
      ours->parameters()[i].value.mutable_grad() = gradient;
      values[i].mutable_grad() = gradient.clone();
    }
    const double share = step / 20.0;
    static_cast<torch::optim::SGDOptions&>(other.param_groups()[0].options())
        .lr(share < 0.25 ? kRate * share / 0.25 : kRate * (1 + std::cos((share - 0.25) / 0.75 * std::acos(-1.0))) / 2);
    torch::nn::utils::clip_grad_norm_(values, kClip);
    optimizer.step();
    other.step();
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_LT((ours->parameters()[i].value - values[i]).abs().max().item<double>(), 1e-15) << step;
  }
}

TEST(Optimizer, DecaysWhatItIsToldTo) {
  RunSettings settings;
  settings.width = 4;
  const auto decayed = [&](DecayOf of) {
    const auto net = makeNetwork(settings, {NormUse::CbwcRmsNorm, 2, 1, Precision::Float64, 3, 2});
    const at::Tensor before = net->find("linear_1.weight")->value.detach().clone();
    for (Parameter& parameter : net->parameters()) parameter.value.mutable_grad() = at::zeros_like(parameter.value);
    Optimizer({.kind = OptimizerKind::Sgd, .learning_rate = 1, .weight_decay = 0.5, .decay_of = of}, *net, 1).step();
    return std::pair(before, net->find("linear_1.weight")->value.detach());
  };
  const auto [stored, afterStored] = decayed(DecayOf::Weight);
  EXPECT_LT((afterStored - 0.5 * stored).abs().max().item<double>(), 1e-15);
  const auto [before, after] = decayed(DecayOf::Centered);
  EXPECT_LT((after - (before - 0.5 * centered(before, 0))).abs().max().item<double>(), 1e-15);
}

// The files of a network compute what the network does.

void expectSameScores(const RunSettings& settings, const NetworkShape& shape, const std::vector<at::Tensor>& inputs) {
  const auto network = makeNetwork(settings, shape);
  std::istringstream file(toTorchScript(*network, settings, shape.layers));
  torch::jit::Module module = torch::jit::load(file);
  for (const at::Tensor& input : inputs) {
    Pass pass;
    const at::Tensor expected = network->forward(input, pass);
    const at::Tensor scores = module.forward({input}).toTensor();
    EXPECT_LT((scores.reshape(expected.sizes()) - expected).abs().max().item<double>(), 1e-12) << nameOf(shape.network);
  }
}

TEST(Export, APerceptronsFileComputesTheSame) {
  RunSettings settings = smallRun();
  const std::vector<at::Tensor> inputs{at::randn({5, 3}, at::kDouble), at::randn({1, 3}, at::kDouble)};
  for (const auto activation : {Activation::Relu, Activation::Gelu, Activation::Tanh}) {
    settings.activation = activation;
    for (const auto architecture : {Architecture::Mlp, Architecture::ResidualMlp, Architecture::Convolutional}) {
      settings.architecture = architecture;
      for (const auto network : kNetworks) {
        if (network != NormUse::CrmsNorm) expectSameScores(settings, {network, 4, 1, Precision::Float64, 3, 2}, inputs);
      }
    }
  }
}

TEST(Export, ATransformersFileComputesTheSame) {
  RunSettings settings = smallTransformer();
  const std::vector<at::Tensor> inputs{at::randint(0, 11, {2, 9}, at::kLong), at::randint(0, 11, {1, 1}, at::kLong),
                                       at::randint(0, 11, {3, settings.context}, at::kLong)};
  for (const auto network : kNetworks) expectSameScores(settings, {network, 2, 1, Precision::Float64, 11, 11}, inputs);
  settings.architecture = Architecture::PostNormTransformer;
  for (const auto network : {NormUse::LayerNorm, NormUse::CbwcRmsNorm})
    expectSameScores(settings, {network, 2, 1, Precision::Float64, 11, 11}, inputs);
}

// CCWT: in the file there is nothing left to center.
TEST(Export, CenteredWeightsAreWrittenCentered) {
  const RunSettings settings = smallTransformer();
  const auto network = makeNetwork(settings, {NormUse::CbwcRmsNorm, 2, 1, Precision::Float64, 11, 11});
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
