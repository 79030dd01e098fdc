#include "ui/session/measurements.h"

#include <algorithm>
#include <utility>

namespace normlens::ui {

namespace {

bool timesOriginal(const protocol::BenchResult& result) {
  const protocol::BenchPoint* point = protocol::firstMeasured(result);
  return point != nullptr && point->a.model == "original" && !point->a.node_ms.empty();
}

}  // namespace

bool Measurements::wantsFold() const {
  return protocol::flavourOfFold(params_.a) || protocol::flavourOfFold(params_.b);
}

const protocol::BenchResult* Measurements::timed() const {
  return last_ && timesOriginal(*last_) ? &*last_ : original_ ? &*original_ : nullptr;
}

const protocol::BenchPoint* Measurements::timedNodes() const {
  return timed() != nullptr ? protocol::firstMeasured(*timed()) : nullptr;
}

void Measurements::setParams(const protocol::BenchParams& params) {
  params_ = params;
  Q_EMIT paramsChanged();
}

void Measurements::setDevice(const QString& device) {
  if (device == device_) return;
  device_ = device;
  protocol::BenchParams params = params_;
  params.device = device.toStdString();
  setParams(params);
}

void Measurements::restore(const Project& project) {
  earlier_ = project.benchRuns;
  if (project.bench || !earlier_.empty()) {
    last_ = project.bench;
    Q_EMIT changed();
  }
  setParams(project.benchParams);
}

void Measurements::add(const protocol::BenchUpdate& update) {
  live_.put(update);
  Q_EMIT progressed();
}

void Measurements::end(std::optional<protocol::BenchResult> result) {
  if (!result) result = live_.result();
  live_.clear();
  if (!result) return Q_EMIT progressed();
  keepLast();
  last_ = std::move(result);
  Q_EMIT changed();
}

bool Measurements::retire(bool underWay) {
  if (underWay && live_.result()) {
    keepLast();
    last_ = live_.result();
    live_.clear();
  }
  const bool had = last_.has_value();
  keepLast();
  return had;
}

void Measurements::dropOfOtherInputs(const protocol::InputsParams& inputs) {
  if ((!last_ && !original_) || protocol::toJson(measuredWith_) == protocol::toJson(inputs)) return;
  keepLast();
  original_.reset();
  Q_EMIT changed();
}

void Measurements::bringBack(const protocol::BenchResult& result) {
  keepLast();
  const auto roundsOf = [](const protocol::BenchResult& of) {
    const protocol::BenchPoint* point = protocol::firstMeasured(of);
    return point != nullptr ? point->rounds : std::vector<std::pair<double, double>>();
  };
  const auto same = std::ranges::find(earlier_, roundsOf(result), roundsOf);
  if (same != earlier_.end()) earlier_.erase(same);
  last_ = result;
  Q_EMIT changed();
}

void Measurements::clear() {
  last_.reset();
  original_.reset();
  live_.clear();
  earlier_.clear();
  params_ = {};
  params_.device = device_.toStdString();
}

void Measurements::keepLast() {
  if (!last_) return;
  if (timesOriginal(*last_)) {
    original_ = *last_;
    original_->points = {*protocol::firstMeasured(*last_)};
    original_->points.front().b.reset();
  }
  earlier_.insert(earlier_.begin(), *std::exchange(last_, std::nullopt));
  if (earlier_.size() > kMostRuns) earlier_.resize(kMostRuns);
}

void BenchCollector::put(const protocol::BenchUpdate& update) {
  if (!result_) result_.emplace().cancelled = true;
  wanted_ = update.points;
  auto& points = result_->points;
  const auto index = static_cast<size_t>(std::max(0, update.index));
  if (index > points.size()) return;  // one was never reported: an engine that counts otherwise
  if (index == points.size()) points.emplace_back();
  points[index] = update.now;
}

}  // namespace normlens::ui
