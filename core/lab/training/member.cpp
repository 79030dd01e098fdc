#include "core/lab/training/member.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/formats/torchscript/run/peak_memory.h"
#include "core/lab/nets/network.h"
#include "core/lab/training/batches.h"
#include "core/protocol/run_record.h"
#include "core/run/measure/statistics.h"

namespace normlens::lab {
namespace {

// Computes what a record holds of a network between two epochs.
double average(const at::Tensor& values) { return values.mean().item<double>(); }
double spread(const at::Tensor& values) { return values.std(/*unbiased=*/false).item<double>(); }

InputStatistics statisticsOf(const at::Tensor& input) {
  const at::Tensor wide = input.to(at::kDouble);
  const at::Tensor means = wide.mean(1), deviations = wide.std(1, /*unbiased=*/false);
  const at::Tensor lengths = wide.square().sum(1).sqrt();
  const double width = static_cast<double>(wide.size(1)), degrees = 180 / std::numbers::pi;
  const at::Tensor cosines = (means * std::sqrt(width) / lengths).nan_to_num().clamp(-1, 1);
  const at::Tensor angles = cosines.acos() * degrees;
  return {average(means),   spread(means),   average(deviations), spread(deviations),
          average(lengths), spread(lengths), average(angles),     spread(angles)};
}

std::vector<InputStatistics> statisticsOf(const std::vector<at::Tensor>& inputs) {
  std::vector<InputStatistics> all;
  for (const at::Tensor& input : inputs) all.push_back(statisticsOf(input));
  return all;
}

at::Tensor compared(const Parameter& parameter) {
  const at::Tensor wide = parameter.value.detach().to(at::kDouble);
  return parameter.beforeNorm ? centered(parameter, wide) : wide;
}

// Fills in test_loss, test_accuracy and the statistics of the layers.
void evaluate(const Network& network, const std::vector<Batch>& test, RunRecord& record) {
  const at::NoGradGuard noGradients;
  double loss = 0, right = 0, count = 0;
  for (const Batch& batch : test) {
    const bool first = count == 0;
    Pass pass{.traced = first};
    const at::Tensor scores = network.forward(batch.input, pass).to(at::kDouble);
    loss += at::cross_entropy_loss(scores, batch.target, {}, at::Reduction::Sum).item<double>();
    right += scores.argmax(1).eq(batch.target).sum().item<double>();
    count += static_cast<double>(batch.target.size(0));
    if (!first) continue;
    record.inputs = statisticsOf(pass.linears);
    record.norms = statisticsOf(pass.norms);
    record.activations = statisticsOf(pass.activations);
  }
  record.test_loss = loss / count;
  record.test_accuracy = right / count;
}

// Fills in weight_difference and different_weight. Parameters that one of them lacks are left out; infinite where one
// is not finite.
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

std::unique_ptr<Network> networkOf(const RunSettings& settings, const RunMember& which, const Batches& batches) {
  return makeNetwork(settings,
                     {which.network, which.layers, which.seed, which.precision, batches.inputs(), batches.classes()});
}

std::string dtypeOf(const at::Tensor& tensor) { return tensor.scalar_type() == at::kDouble ? "float64" : "float32"; }

KeptTensor kept(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().cpu().contiguous();
  KeptTensor made{name, dtypeOf(dense), dense.sizes().vec(), {}};
  made.bytes.resize(dense.nbytes());
  if (!made.bytes.empty()) std::memcpy(made.bytes.data(), dense.data_ptr(), made.bytes.size());
  return made;
}

// False: it has another type or shape.
bool restoreInto(const KeptTensor& from, at::Tensor& to) {
  if (from.dtype != dtypeOf(to) || at::IntArrayRef(from.shape) != to.sizes() || from.bytes.size() != to.nbytes()) {
    return false;
  }
  to.copy_(at::from_blob(const_cast<std::byte*>(from.bytes.data()), from.shape, to.scalar_type()));
  return true;
}

}  // namespace

Optimizer::Optimizer(OptimizerSettings settings, Network& network, int64_t allSteps)
    : settings_(std::move(settings)), network_(network), allSteps_(allSteps) {}

void Optimizer::goOnFrom(std::vector<at::Tensor> state, int64_t steps) {
  state_ = std::move(state);
  steps_ = steps;
}

void Optimizer::clearGradients() {
  for (Parameter& parameter : network_.parameters()) parameter.value.mutable_grad() = at::Tensor();
}

// Papers 001, C.4: of the proxy that is stored, or of the weight that is computed with.
at::Tensor Optimizer::decaying(const Parameter& parameter) const {
  const bool center = settings_.decay_of == DecayOf::Centered && parameter.beforeNorm && isCentered(network_.normUse());
  return center ? centered(parameter, parameter.value) : parameter.value;
}

double Optimizer::rate() const {
  const double done = static_cast<double>(steps_) / static_cast<double>(std::max<int64_t>(allSteps_, 1));
  if (done < settings_.warmup) return settings_.learning_rate * done / settings_.warmup;
  const double left = std::clamp((1 - done) / (1 - settings_.warmup), 0.0, 1.0);
  if (settings_.schedule == Schedule::Linear) return settings_.learning_rate * left;
  if (settings_.schedule == Schedule::Cosine)
    return settings_.learning_rate * (1 - std::cos(left * std::numbers::pi)) / 2;
  return settings_.learning_rate;
}

// The formula is that of torch.nn.utils.clip_grad_norm_.
void Optimizer::clip() {
  if (settings_.clip_norm == 0) return;
  double squares = 0;
  for (const Parameter& parameter : network_.parameters())
    squares += parameter.value.grad().to(at::kDouble).square().sum().item<double>();
  const double factor = settings_.clip_norm / (std::sqrt(squares) + 1e-6);
  if (!(factor < 1)) return;
  for (Parameter& parameter : network_.parameters()) parameter.value.mutable_grad().mul_(factor);
}

void Optimizer::step() {
  const at::NoGradGuard noGradients;
  const bool sgdStep = settings_.kind == OptimizerKind::Sgd;
  if (state_.empty() && (!sgdStep || settings_.momentum != 0)) {
    for (int moment = 0; moment < (sgdStep ? 1 : 2); ++moment) {
      for (const Parameter& parameter : network_.parameters()) state_.push_back(at::zeros_like(parameter.value));
    }
  }
  ++steps_;
  clip();
  for (size_t i = 0; i < network_.parameters().size(); ++i) {
    Parameter& parameter = network_.parameters()[i];
    at::Tensor gradient = parameter.value.grad();
    if (settings_.weight_decay != 0) {
      if (settings_.kind == OptimizerKind::AdamW) {
        parameter.value.sub_(decaying(parameter), rate() * settings_.weight_decay);
      } else {
        gradient = gradient.add(decaying(parameter), settings_.weight_decay);
      }
    }
    sgdStep ? sgd(i, gradient) : adam(i, gradient);
  }
}

void Optimizer::sgd(size_t index, const at::Tensor& gradient) {
  at::Tensor direction = gradient;
  if (settings_.momentum != 0) {
    state_[index].mul_(settings_.momentum).add_(gradient);
    direction = state_[index];
  }
  network_.parameters()[index].value.sub_(direction, rate());
}

void Optimizer::adam(size_t index, const at::Tensor& gradient) {
  at::Tensor& first = state_[index];
  at::Tensor& second = state_[network_.parameters().size() + index];
  first.mul_(settings_.beta1).add_(gradient, 1 - settings_.beta1);
  second.mul_(settings_.beta2).addcmul_(gradient, gradient, 1 - settings_.beta2);
  const double grown1 = 1 - std::pow(settings_.beta1, static_cast<double>(steps_));
  const double grown2 = 1 - std::pow(settings_.beta2, static_cast<double>(steps_));
  const at::Tensor size = second.sqrt().div_(std::sqrt(grown2)).add_(settings_.eps);
  network_.parameters()[index].value.addcdiv_(first, size, -rate() / grown1);
}

Member::Member(const RunSettings& settings, const RunMember& which, const Batches& batches)
    : which_(which),
      batches_(batches),
      network_(networkOf(settings, which, batches)),
      by_(settings.optimizers[static_cast<size_t>(which.optimizer)]),
      optimizer_(by_, *network_, settings.epochs * batches.stepsOfEpoch()),
      timer_(network_->device()) {}

void Member::begin(int epoch) {
  begun_ = true;
  epoch_ = epoch;
}

double Member::timedStep(const Batch& batch, double& loss) {
  return timer_.time([&] { loss = step(batch); });
}

double Member::step(const Batch& batch) {
  optimizer_.clearGradients();
  Pass pass;
  if (by_.dropout > 0) {
    const auto seed =
        static_cast<uint64_t>(which_.seed) * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(optimizer_.steps());
    pass.masks = at::make_generator<at::CPUGeneratorImpl>(seed);
    pass.dropout = by_.dropout;
  }
  const at::Tensor loss = at::cross_entropy_loss(network_->forward(batch.input, pass), batch.target);
  loss.backward();
  optimizer_.step();
  return loss.item<double>();
}

Member::Went Member::trainEpoch(const GoOn& goOn, RunRecord& record) {
  const Batches::Epoch epoch = batches_.epoch(which_.seed, epoch_ + 1);
  double sum = 0;
  std::vector<double> times;
  for (int64_t i = 0; i < epoch.steps(); ++i) {
    if (!goOn()) {
      (void)restore(kept_);
      return Went::Stopped;
    }
    const Batch batch = epoch[i];
    const auto peak = std::make_shared<formats::torchscript::PeakMemory>(network_->device().type());
    std::optional<c10::DebugInfoGuard> watched;
    if (bytes_ == 0) watched.emplace(c10::DebugInfoKind::PROFILER_STATE, peak);
    double loss = 0;
    times.push_back(timedStep(batch, loss));
    watched.reset();
    if (bytes_ == 0) bytes_ = weightBytes() + peak->most();
    sum += loss;
    const bool last = i + 1 == epoch.steps();
    if (!std::isfinite(loss) || (last && !allFinite(*network_))) {
      diverge(std::string(std::isfinite(loss) ? "a weight" : "the loss") + " was not finite after step " +
              std::to_string(i + 1) + " of epoch " + std::to_string(epoch_ + 1));
      return Went::Diverged;
    }
  }
  ++epoch_;
  record.train_loss = sum / static_cast<double>(epoch.steps());
  record.gradient_norms = gradientNorms(*network_);
  record.ms_per_step = run::median(times);
  return Went::Whole;
}

void Member::diverge(const std::string& why) {
  (void)restore(kept_);
  diverged_ = why + ": the weights of epoch " + std::to_string(epoch_) + " are kept";
}

void Member::fill(const Member* reference, RunRecord& record) const {
  record.member = which_;
  record.epoch = epoch_;
  record.bytes = bytes_;
  evaluate(*network_, batches_.test(), record);
  if (reference != nullptr && reference != this) compareWeights(*network_, *reference->network_, record);
}

int64_t Member::weightBytes() const {
  int64_t bytes = 0;
  for (const Parameter& parameter : network_->parameters()) bytes += static_cast<int64_t>(parameter.value.nbytes());
  return bytes;
}

void Member::keep() {
  kept_ = {which_, epoch_, optimizer_.steps(), bytes_, begun_, diverged_, {}};
  for (const Parameter& parameter : network_->parameters())
    kept_.tensors.push_back(lab::kept(parameter.name, parameter.value));
  for (size_t i = 0; i < optimizer_.state().size(); ++i) {
    const std::string& name = network_->parameters()[i % network_->parameters().size()].name;
    kept_.tensors.push_back(lab::kept("optimizer " + name, optimizer_.state()[i]));
  }
}

Status Member::restore(const KeptMember& from) {
  const at::NoGradGuard noGradients;
  std::vector<Parameter>& parameters = network_->parameters();
  bool good = from.member == which_ && from.tensors.size() >= parameters.size();
  for (size_t i = 0; good && i < parameters.size(); ++i)
    good = from.tensors[i].name == parameters[i].name && restoreInto(from.tensors[i], parameters[i].value);
  std::vector<at::Tensor> state;
  for (size_t i = parameters.size(); good && i < from.tensors.size(); ++i) {
    state.push_back(at::zeros_like(parameters[i % parameters.size()].value));
    good = restoreInto(from.tensors[i], state.back());
  }
  if (!good) return fail(ErrorCode::Unreadable, "the checkpoint is of another network");
  optimizer_.goOnFrom(std::move(state), from.step);
  epoch_ = from.epoch;
  bytes_ = from.bytes;
  begun_ = from.begun;
  diverged_ = from.diverged;
  return {};
}

void Member::takeOver(const Member& other, bool centeredOnce) {
  const at::NoGradGuard noGradients;
  for (Parameter& parameter : network_->parameters()) {
    const Parameter* from = other.network_->find(parameter.name);
    if (from == nullptr) continue;
    const bool center = centeredOnce && parameter.beforeNorm;
    parameter.value.copy_(center ? centered(*from, from->value) : from->value);
  }
  std::vector<at::Tensor> state;
  const size_t all = other.network_->parameters().size(), moments = other.optimizer_.state().size() / all;
  for (size_t moment = 0; moment < moments; ++moment) {
    for (const Parameter& parameter : network_->parameters()) {
      const auto from = static_cast<size_t>(other.network_->find(parameter.name) - other.network_->parameters().data());
      state.push_back(other.optimizer_.state()[moment * all + from].clone());
    }
  }
  optimizer_.goOnFrom(std::move(state), other.optimizer_.steps());
}

}  // namespace normlens::lab
