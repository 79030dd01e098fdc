#include "core/lab/training/batches.h"

#include <numeric>

#include "core/base/geometry/random_numbers.h"
#include "core/lab/nets/network.h"

namespace normlens::lab {
namespace {

constexpr int64_t kTestBatch = 1024;       // examples of a pass; of a text fewer, which are longer
constexpr int64_t kMostTestWindows = 256;  // Limits a text.

at::Tensor indices(const std::vector<int64_t>& values) { return at::tensor(values, at::TensorOptions(at::kLong)); }

at::Tensor table(const Examples& examples, int features, at::ScalarType type) {
  return at::tensor(examples.inputs, at::TensorOptions(at::kDouble)).reshape({examples.count(), features}).to(type);
}

}  // namespace

Result<Batches> Batches::make(const Data& data, const RunSettings& settings, at::ScalarType type) {
  Batches batches;
  batches.batch_ = settings.batch;
  batches.context_ = settings.context;
  batches.stepsPerEpoch_ = settings.steps_per_epoch;
  if (const auto* rows = std::get_if<TableData>(&data)) {
    batches.takeTable(*rows, type);
  } else if (const Status good = batches.takeText(std::get<TextData>(data)); !good) {
    return tl::unexpected(good.error());
  }
  batches.moveTo(deviceOf(settings));
  return batches;
}

void Batches::moveTo(c10::Device device) {
  input_ = input_.to(device);
  if (target_.defined()) target_ = target_.to(device);
  for (Batch& batch : test_) batch = {batch.input.to(device), batch.target.to(device)};
}

void Batches::takeTable(const TableData& data, at::ScalarType type) {
  inputs_ = data.features;
  classes_ = data.classes;
  input_ = table(data.train, data.features, type);
  target_ = indices(data.train.classes);
  const at::Tensor input = table(data.test, data.features, type), target = indices(data.test.classes);
  for (int64_t from = 0; from < input.size(0); from += kTestBatch) {
    const int64_t to = std::min(from + kTestBatch, input.size(0));
    test_.push_back({input.slice(0, from, to), target.slice(0, from, to)});
  }
}

Status Batches::takeText(const TextData& data) {
  isText_ = true;
  inputs_ = classes_ = static_cast<int64_t>(data.symbols.size());
  input_ = indices(data.train);
  for (const auto* part : {&data.train, &data.test}) {
    if (static_cast<int64_t>(part->size()) > context_) continue;
    return fail(ErrorCode::BadInput, "context is " + std::to_string(context_) + ", and only " +
                                         std::to_string(part->size()) + " characters are there to " +
                                         (part == &data.train ? "train on" : "test with"));
  }
  const at::Tensor text = indices(data.test);
  const int64_t all = (text.size(0) - 1) / context_;
  const int64_t count = std::min(all, kMostTestWindows);
  const at::Tensor places = at::arange(count, at::kLong) * context_;
  for (int64_t from = 0; from < count; from += batch_)
    test_.push_back(windows(text, places.slice(0, from, std::min(from + batch_, count))));
  return {};
}

Batch Batches::windows(const at::Tensor& text, const at::Tensor& places) const {
  const at::Tensor at = places.unsqueeze(1) + at::arange(context_, places.options());
  return {text.index_select(0, at.reshape(-1)).reshape(at.sizes()), text.index_select(0, (at + 1).reshape(-1))};
}

Batches::Epoch Batches::epoch(int64_t seed, int epoch) const {
  RandomNumbers draw(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(epoch));
  Epoch made;
  made.of_ = this;
  if (isText_) {
    const auto last = static_cast<double>(input_.size(0) - context_ - 1);
    std::vector<int64_t> places(static_cast<size_t>(batch_ * stepsPerEpoch_));
    for (int64_t& place : places) place = static_cast<int64_t>(draw.whole(0, last));
    made.order_ = indices(places).to(input_.device());
    made.steps_ = stepsOfEpoch();
    return made;
  }
  std::vector<int64_t> order(static_cast<size_t>(input_.size(0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  draw.shuffle(order);
  made.order_ = indices(order).to(input_.device());
  made.steps_ = stepsOfEpoch();
  return made;
}

int64_t Batches::stepsOfEpoch() const { return isText_ ? stepsPerEpoch_ : (input_.size(0) + batch_ - 1) / batch_; }

Batch Batches::Epoch::operator[](int64_t step) const {
  const int64_t from = step * of_->batch_, to = std::min(from + of_->batch_, order_.size(0));
  const at::Tensor chosen = order_.slice(0, from, to);
  if (of_->isText_) return of_->windows(of_->input_, chosen);
  return {of_->input_.index_select(0, chosen), of_->target_.index_select(0, chosen)};
}

}  // namespace normlens::lab
