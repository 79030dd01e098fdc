#include "core/lab/training/member.h"

#include <cmath>
#include <cstring>

#include "core/formats/torchscript/run/peak_memory.h"
#include "core/lab/training/evaluation.h"
#include "core/run/measure/statistics.h"

namespace normlens::lab {
namespace {

std::unique_ptr<Network> networkOf(const RunSettings& settings, const RunMember& which, const Batches& batches) {
  return makeNetwork(settings,
                     {which.network, which.layers, which.seed, which.precision, batches.inputs(), batches.classes()});
}

KeptTensor kept(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().cpu().contiguous();
  KeptTensor made{name, dense.scalar_type() == at::kDouble ? "float64" : "float32", dense.sizes().vec(), {}};
  made.bytes.resize(dense.nbytes());
  if (!made.bytes.empty()) std::memcpy(made.bytes.data(), dense.data_ptr(), made.bytes.size());
  return made;
}

// False: it has another type or shape.
bool restoreInto(const KeptTensor& from, at::Tensor& to) {
  if (scalarTypeOf(from.dtype) != to.scalar_type() || at::IntArrayRef(from.shape) != to.sizes() ||
      from.bytes.size() != to.nbytes()) {
    return false;
  }
  to.copy_(at::from_blob(const_cast<std::byte*>(from.bytes.data()), from.shape, to.scalar_type()));
  return true;
}

}  // namespace

Member::Member(const RunSettings& settings, const RunMember& which, const Batches& batches)
    : which_(which),
      batches_(batches),
      network_(networkOf(settings, which, batches)),
      optimizer_(settings.optimizers[static_cast<size_t>(which.optimizer)], *network_),
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
  const at::Tensor loss = at::cross_entropy_loss(network_->forward(batch.input, nullptr), batch.target);
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

void Member::tell(const Member* reference, RunRecord& record) const {
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
    parameter.value.copy_(center ? centered(from->value, from->outputAxis) : from->value);
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
