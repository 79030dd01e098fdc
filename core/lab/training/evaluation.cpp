#include "core/lab/training/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::lab {
namespace {

double average(const at::Tensor& values) { return values.mean().item<double>(); }
double spread(const at::Tensor& values) { return values.std(/*unbiased=*/false).item<double>(); }

InputStatistics statisticsOf(const at::Tensor& input) {
  const at::Tensor wide = input.to(at::kDouble);
  const at::Tensor means = wide.mean(1), deviations = wide.std(1, /*unbiased=*/false);
  const at::Tensor lengths = wide.square().sum(1).sqrt();
  return {average(means), spread(means), average(deviations), spread(deviations), average(lengths), spread(lengths)};
}

at::Tensor compared(const Parameter& parameter) {
  const at::Tensor wide = parameter.value.detach().to(at::kDouble);
  return parameter.beforeNorm ? centered(wide, parameter.outputAxis) : wide;
}

}  // namespace

void evaluate(const Network& network, const std::vector<Batch>& test, RunRecord& record) {
  const at::NoGradGuard noGradients;
  double loss = 0, right = 0, count = 0;
  for (const Batch& batch : test) {
    Trace trace;
    const bool first = count == 0;
    const at::Tensor scores = network.forward(batch.input, first ? &trace : nullptr).to(at::kDouble);
    loss += at::cross_entropy_loss(scores, batch.target, {}, at::Reduction::Sum).item<double>();
    right += scores.argmax(1).eq(batch.target).sum().item<double>();
    count += static_cast<double>(batch.target.size(0));
    if (!first) continue;
    record.inputs.clear();
    for (const at::Tensor& input : trace.inputs) record.inputs.push_back(statisticsOf(input));
  }
  record.test_loss = loss / count;
  record.test_accuracy = right / count;
}

void compareWeights(const Network& network, const Network& reference, RunRecord& record) {
  const at::NoGradGuard noGradients;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  record.weight_difference = 0;
  record.different_weight.clear();
  for (const Parameter& parameter : network.parameters()) {
    const Parameter* other = reference.find(parameter.name);
    if (other == nullptr) continue;
    auto here = (compared(parameter) - compared(*other)).abs().max().item<double>();
    if (!std::isfinite(here)) here = kInfinite;
    if (here <= *record.weight_difference) continue;
    record.weight_difference = here;
    record.different_weight = parameter.name;
  }
}

std::vector<double> gradientNorms(const Network& network) {
  std::vector<double> norms;
  for (const std::string& linear : network.linears()) {
    const Parameter* weight = network.find(linear + ".weight");
    norms.push_back(weight->value.grad().to(at::kDouble).norm().item<double>());
  }
  return norms;
}

bool allFinite(const Network& network) {
  const at::NoGradGuard noGradients;
  return std::ranges::all_of(network.parameters(),
                             [](const Parameter& parameter) { return parameter.value.isfinite().all().item<bool>(); });
}

}  // namespace normlens::lab
