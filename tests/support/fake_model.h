// A model of a few lines for tests of what works on formats::Model: y = LayerNorm(W x), x [N, 4], W [4, 4], written out
// in plain loops. Its fold can be right or wrong in ways that a proof must notice.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <string>

#include "core/analysis/norms/norms.h"
#include "core/base/plain_error.h"
#include "core/formats/model.h"
#include "core/run/tensors.h"

namespace normlens::test {

// What is wrong with the fold, or with the model.
enum class Fault {
  None,
  NotCentered,    // the norm is replaced, the weight is left as it is
  SlightlyOff,    // the centered weight is wrong by 1e-7
  FoldedFails,    // the folded model raises an error
  FoldedShape,    // the folded model's output has another shape
  Narrow,         // the float64 copy computes something in float32
  NoFloat64,      // there is no float64 copy
  NoCopy,         // nor one in any other type
  FlippingIndex,  // nor here, a second output is an index that any change of a weight moves, and nothing is centered
  OnlyFlags,      // nothing but flags comes out, and nothing is centered
  OriginalFails,  // the model does not run at all
  FixedSize,      // the model runs at the sample's size only
  NotANumber,     // a weight is NaN, and with it every output
  Cancelling,     // nor here: sums lose digits that no change of a weight shows
  OtherDraws,     // the same, and the float64 copies give other numbers, as those that draw some would
  HugeNumbers,    // two outputs of a row are huge, the same in the fold: one exactly; and nothing is centered
  HugeRow,        // the first row is huge, and only the others are wrong
  Noisy,          // nor here: the original's own noise is 1e-9 in float64, the fold is off by as much
  NoisyAndOff,    // it is off by a thousand times that
  BarelyOff,      // by 1e-13
  LargeMean,      // nor here: the mean that the fold takes out costs the original most of its digits in float16
  OnlySample,     // the model runs on the sample alone
  Overflows,      // nor here: the original is infinite in the file where exact numbers are not
  Overflown,      // the folded one is
  LuckyOnSample,  // nor here: a number is off by 1e-3 in the file, but for the original on the sample
};

class FakeModel final : public formats::Model {
 public:
  static constexpr int64_t kWidth = 4;

  explicit FakeModel(Fault fault = Fault::None, graph::DType dtype = graph::DType::Float32) : fault_(fault) {
    facts_.format = "fake";
    facts_.dtype = dtype;
    for (int i = 0; i < kWidth * kWidth; ++i) weight_.push_back(rounded(std::sin(1.0 + i) + 0.3));
    if (fault == Fault::NotANumber) std::ranges::fill(weight_, std::nan(""));
    buildGraph();
  }

  // Called at the start of every run; for tests of cancelling. Where it throws std::bad_alloc the run fails with it.
  std::function<void()> onRun;
  // In another type than float64: by how much an output of perturbed copies is off at most, and of the folded model.
  double fileNoise = 0, foldedOff = 0;
  // Runners take a GPU as well, and by how much the last number is off there, unless in float64.
  bool hasGpu = false;
  double offOnGpu = 0;

  static std::vector<analysis::LayerNorm> norms() {
    analysis::LayerNorm norm;
    norm.name = "ln";
    norm.node = 1;
    norm.input = 2;
    norm.output = 3;
    norm.axes = {1};
    return {norm};
  }
  static formats::Tensors sample(int64_t rows = 3) {
    std::vector<double> values;
    for (int64_t i = 0; i < rows * kWidth; ++i) values.push_back(std::cos(static_cast<double>(i) * 0.7));
    return {{"in_0", run::fromDoubles(graph::DType::Float32, {rows, kWidth}, values)}};
  }

  [[nodiscard]] const formats::ModelFacts& facts() const override { return facts_; }
  std::string fileHash(formats::HashKind, const std::function<bool()>& /*goOn*/) const override { return hash_; }
  [[nodiscard]] const graph::Graph& graph() const override { return graph_; }
  [[nodiscard]] Result<std::vector<formats::InputSpec>> inferInputs(formats::InputsFor) const override {
    formats::InputSpec spec;
    spec.name = "in_0";
    spec.dtype = graph::DType::Float32;
    spec.shape = {3, kWidth};
    return std::vector{spec};
  }
  Status probe(const formats::Tensors&, const Task&) override { return {}; }
  void assume(std::vector<graph::SizeOfOne> sizes) override { graph_.assumed = std::move(sizes); }

  [[nodiscard]] Result<formats::Tensors> run(const formats::Tensors& inputs, const Task& task) const override {
    auto values = compute(inputs, task);
    if (!values) return tl::unexpected(values.error());
    graph::Shape shape = inputs[0].view.shape;
    if (fault_ == Fault::OnlySample && *graph::toDoubles(inputs[0].view) != *graph::toDoubles(sample()[0].view)) {
      return fail(ErrorCode::RunFailed, "this model does not run");
    }
    if (folded_ && fault_ == Fault::FoldedShape) shape = {shape[0] * shape[1]};
    if (fault_ == Fault::OnlyFlags) std::ranges::fill(*values, 1);
    const auto type = fault_ == Fault::OnlyFlags ? graph::DType::Bool : facts_.dtype;
    formats::Tensors outputs{{"out_0", run::fromDoubles(type, shape, *values)}};
    if (fault_ == Fault::FlippingIndex) {
      double digits = 0;
      for (const double weight : weight_) digits += weight * 1e12;
      const double index = 1 + std::fmod(std::floor(std::abs(digits)), 97);
      outputs.push_back({"out_1", run::fromDoubles(graph::DType::Int64, {}, {&index, 1})});
    }
    return outputs;
  }
  [[nodiscard]] Result<SeenRun> runSeeing(const formats::Tensors& inputs, const std::vector<graph::ValueId>& values,
                                          const Task& task) const override {
    auto outputs = run(inputs, task);
    if (!outputs) return tl::unexpected(outputs.error());
    formats::Tensors seen(values.size(), outputs->front());
    return SeenRun{std::move(*outputs), std::move(seen), narrow()};
  }
  // 2 ms a pass, 1 ms once folded; refuses CUDA unless it has a GPU, and bfloat16 while it runs. Half of its time goes
  // to the norm.
  [[nodiscard]] Result<std::unique_ptr<formats::Runner>> runner(const formats::Tensors& inputs,
                                                                const formats::RunSettings& settings) const override {
    struct Counter : formats::Runner {
      Result<double> runOnceMs() override {
        if (onRun) onRun();
        if (type == graph::DType::BFloat16) return fail(ErrorCode::RunFailed, "no kernel for bfloat16");
        return ms + 0.001 * (++runs % 3);
      }
      Result<formats::Tensors> outputs() override {
        const auto outputs = model->run(inputs, {});
        if (!outputs || !onGpu || !model->isFile()) return outputs;
        const auto& [name, view] = outputs->front();
        auto numbers = *graph::toDoubles(view);
        numbers.back() += model->offOnGpu;
        return formats::Tensors{{name, run::fromDoubles(view.dtype, view.shape, numbers)}};
      }
      Result<formats::Tensors> runCapturing(const std::vector<graph::ValueId>& values, const Task&) override {
        return outputs().map([&](const formats::Tensors& each) { return formats::Tensors(values.size(), each[0]); });
      }
      Result<int64_t> peakBytes() override { return 4096; }
      Result<std::vector<formats::OpTime>> opTimes(const Task&) override {
        return std::vector<formats::OpTime>{{"linear", 0, ms / 2}, {"norm", 1, ms / 2}};
      }
      [[nodiscard]] std::string clock() const override { return "wall clock"; }
      [[nodiscard]] std::string runtime() const override { return "Fake 1"; }
      [[nodiscard]] int threads() const override { return 1; }
      const FakeModel* model = nullptr;
      formats::Tensors inputs;
      bool onGpu = false;
      double ms = 0;
      graph::DType type = graph::DType::Unknown;
      std::function<void()> onRun;
      int runs = 0;
    };
    const bool onGpu = settings.device == formats::Device::Cuda;
    if (onGpu && !hasGpu) return fail(ErrorCode::Unsupported, "there is no GPU");
    auto counter = std::make_unique<Counter>();
    counter->model = this;
    counter->inputs = inputs;
    counter->onGpu = onGpu;
    counter->ms = folded_ ? 1.0 : 2.0;
    counter->type = settings.dtype;
    counter->onRun = onRun;
    return counter;
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> converted(graph::DType dtype) const override {
    if (fault_ == Fault::NoCopy || fault_ == Fault::FlippingIndex ||
        (fault_ == Fault::NoFloat64 && dtype == graph::DType::Float64))
      return fail(ErrorCode::Unsupported, "quantised weights have no float64 copy");
    auto twin = copy();
    twin->facts_.dtype = dtype;
    for (double& weight : twin->weight_) weight = twin->rounded(weight);
    return twin;
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> perturbed(uint64_t seed) const override {
    auto other = copy();
    const double half = run::machineEpsilon(facts_.dtype) / 2;
    for (size_t i = 0; i < other->weight_.size(); ++i) {
      other->weight_[i] = other->rounded(weight_[i] * (1 + half * std::sin(static_cast<double>(seed * 31 + i))));
    }
    if (isNoisy()) other->nudge_ = 1e-9 * std::sin(static_cast<double>(seed));
    if (isFile()) other->off_ = fileNoise * std::sin(static_cast<double>(seed));
    return other;
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> apply(const fold::FoldPlan&, const std::vector<analysis::LayerNorm>&,
                                                     formats::NormFlavour, const Task&) const override {
    auto folded = copy();
    folded->folded_ = true;
    const bool centers = fault_ != Fault::NotCentered && fault_ != Fault::FlippingIndex && fault_ != Fault::OnlyFlags &&
                         fault_ != Fault::HugeNumbers;
    if (isNoisy()) folded->nudge_ = fault_ == Fault::Noisy ? 1e-9 : 1e-6;
    if (fault_ == Fault::BarelyOff) folded->nudge_ = 1e-13;
    if (isFile()) folded->off_ = foldedOff;
    if (centers) folded->centerColumns();
    return folded;
  }
  [[nodiscard]] Status computeWeights(const Task&) const override { return {}; }
  [[nodiscard]] Result<std::unique_ptr<Model>> singleNorm(int64_t, int64_t, graph::DType) const override {
    return copy();
  }
  [[nodiscard]] Status save(const std::filesystem::path&, const Task&) const override { return {}; }

 private:
  [[nodiscard]] std::unique_ptr<FakeModel> copy() const {
    auto other = std::make_unique<FakeModel>(fault_, facts_.dtype);
    other->weight_ = weight_;
    other->folded_ = folded_;
    other->onRun = onRun;
    other->nudge_ = nudge_;
    other->fileNoise = fileNoise;
    other->foldedOff = foldedOff;
    other->hasGpu = hasGpu;
    other->offOnGpu = offOnGpu;
    return other;
  }
  [[nodiscard]] double rounded(double value) const {
    return graph::toDoubles(run::fromDoubles(facts_.dtype, {}, {&value, 1}))->front();
  }
  double& weight(int64_t row, int64_t column) { return weight_[static_cast<size_t>(row * kWidth + column)]; }

  void centerColumns() {
    for (int64_t column = 0; column < kWidth; ++column) {
      double mean = 0;
      for (int64_t row = 0; row < kWidth; ++row) mean += weight(row, column) / kWidth;
      for (int64_t row = 0; row < kWidth; ++row) weight(row, column) = rounded(weight(row, column) - mean);
    }
    if (fault_ == Fault::SlightlyOff) weight(0, 0) += 1e-7;
  }

  [[nodiscard]] bool isFile() const { return facts_.dtype != graph::DType::Float64; }
  [[nodiscard]] std::string narrow() const { return fault_ == Fault::Narrow ? "aten::to" : ""; }
  [[nodiscard]] bool isNoisy() const { return fault_ == Fault::Noisy || fault_ == Fault::NoisyAndOff; }
  [[nodiscard]] bool isCancelling() const { return fault_ == Fault::Cancelling || fault_ == Fault::OtherDraws; }

  [[nodiscard]] Result<std::vector<double>> compute(const formats::Tensors& inputs, const Task& task) const {
    try {
      if (onRun) onRun();
    } catch (const std::bad_alloc& error) {
      return fail(ErrorCode::RunFailed, "the fake model cannot be run: " + plainError(error));
    }
    if (const Status running = task.check(); !running) return tl::unexpected(running.error());
    const graph::Shape& shape = inputs.at(0).view.shape;
    if (fault_ == Fault::OriginalFails || shape.size() != 2 || shape[1] != kWidth ||
        (fault_ == Fault::FixedSize && shape[0] != 3)) {
      return fail(ErrorCode::RunFailed, "this model does not run");
    }
    if (folded_ && fault_ == Fault::FoldedFails) return fail(ErrorCode::RunFailed, "no such op");
    const std::vector<double> x = *graph::toDoubles(inputs[0].view);
    std::vector<double> y;
    for (int64_t n = 0; n < shape[0]; ++n) normRow(x.data() + n * kWidth, y);
    y[0] = rounded(y[0] + off_);
    if (fault_ == Fault::LuckyOnSample && isFile() && (folded_ || x != *graph::toDoubles(sample()[0].view)))
      y[0] = rounded(y[0] + 1e-3);
    if (isFile() && fault_ == (folded_ ? Fault::Overflown : Fault::Overflows)) y[0] = HUGE_VAL;
    if (fault_ == Fault::HugeNumbers) {
      y[0] = -3e38;
      y[1] *= 1e30;
    }
    for (size_t i = 0; fault_ == Fault::HugeRow && i < y.size(); ++i) {
      y[i] = rounded(i < kWidth ? y[i] * 1e30 : y[i] + (folded_ ? 1e-3 : 0));
    }
    if (fault_ == Fault::OtherDraws && facts_.dtype == graph::DType::Float64) std::ranges::reverse(y);
    return y;
  }

  void normRow(const double* x, std::vector<double>& y) const {
    double h[kWidth] = {}, mean = 0, squares = 0;
    const double lost = fault_ == Fault::OtherDraws && facts_.dtype == graph::DType::Float16 ? 100 : 1000;
    for (int64_t row = 0; row < kWidth; ++row) {
      for (int64_t i = 0; i < kWidth; ++i) h[row] += weight_[static_cast<size_t>(row * kWidth + i)] * x[i];
      h[row] = rounded(h[row]);
      if (row == 0) h[row] += nudge_;
      if (fault_ == Fault::LargeMean && !folded_) h[row] = rounded(h[row] + 1000);
      if (isCancelling()) h[row] = rounded(rounded(h[row] + lost) - lost);
      if (!folded_) mean += h[row] / kWidth;
    }
    for (const double value : h) squares += (value - mean) * (value - mean) / kWidth;
    for (const double value : h) y.push_back(rounded((value - mean) / std::sqrt(squares + 1e-5)));
  }

  void buildGraph() {
    graph::Value x, h, y;
    x.name = "x";
    h.name = "h";
    y.name = "y";
    const graph::ValueId input = graph_.addParam(0, x);
    graph::Constant constant;
    constant.name = "weight";
    const graph::ValueId weight = graph_.addConstant(constant);
    graph::Node linear, norm;
    linear.kind = graph::OpKind::Linear;
    linear.operands = {input, weight};
    graph_.addNode(linear, {h});
    norm.kind = graph::OpKind::LayerNorm;
    norm.operands = {2};
    graph_.addNode(norm, {y});
    graph_.addReturn(0, 3);
  }

  Fault fault_;
  bool folded_ = false;
  double nudge_ = 0, off_ = 0;
  formats::ModelFacts facts_;
  std::string hash_;
  graph::Graph graph_;
  std::vector<double> weight_;
};

}  // namespace normlens::test
