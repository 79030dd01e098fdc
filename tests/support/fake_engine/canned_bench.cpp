#include "tests/support/fake_engine/canned_replies.h"

#include <algorithm>
#include <cmath>

namespace normlens::fake {
namespace {

using protocol::BenchPoint;
using protocol::BenchSide;

// The values of the first sweep, by name; one empty point without a sweep.
std::vector<std::vector<std::pair<std::string, std::string>>> points(const protocol::BenchParams& params) {
  if (params.sweep.empty()) return {{}};
  const std::string& sweep = params.sweep.front();
  const size_t equals = sweep.find('=');
  std::vector<std::vector<std::pair<std::string, std::string>>> all;
  for (size_t at = equals + 1; at < sweep.size();) {
    const size_t comma = std::min(sweep.find(',', at), sweep.size());
    all.push_back({{sweep.substr(0, equals), sweep.substr(at, comma - at)}});
    at = comma + 1;
  }
  return all;
}

// Wobbles like a clock does, the same each time.
double wobble(size_t i) { return 0.006 * std::sin(12.9898 * static_cast<double>(i)) + (i % 37 == 0 ? 0.02 : 0); }

void addSamples(BenchSide& side, double base, int count) {
  for (int i = 0; i < count; ++i) side.samples_ms.push_back(base * (1 + wobble(side.samples_ms.size())));
  std::vector<double> sorted = side.samples_ms;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double part) {
    return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
  };
  side.latency = {at(0.5), at(0.5) * 1.002, at(0.05), at(0.95), at(0.99), 1000 / at(0.5), 64'000 / at(0.5)};
}

BenchSide sideOf(const std::string& model) {
  BenchSide side;
  side.model = model;
  side.runtime = model.ends_with(".onnx") ? "ONNX Runtime 1.31.0" : "LibTorch 2.15.0";
  return side;
}

void addExtras(BenchSide& side, double norms, double ms) {
  side.peak_bytes = 38'500'000;
  side.norm_share = norms;
  const double rest = ms * (1 - norms);
  side.ops = {{"aten::linear", 25, rest * 0.6, false},
              {"aten::scaled_dot_product_attention", 6, rest * 0.2, false},
              {norms > 0.1 ? "aten::layer_norm" : "aten::rms_norm", 13, ms * norms, true},
              {"aten::gelu", 6, rest * 0.12, false},
              {"aten::add", 12, rest * 0.05, false},
              {"aten::embedding", 2, rest * 0.03, false}};
}

double scaleOf(const BenchPoint& point) {
  if (point.at.empty()) return 1;
  const double value = std::atof(point.at.front().second.c_str());
  return value > 0 ? std::max(1.0, value / 64) : 1;
}

}  // namespace

Result<protocol::BenchResult> measure(const protocol::BenchParams& params,
                                      const std::function<void(const protocol::BenchUpdate&)>& tell,
                                      const std::function<bool()>& pause) {
  protocol::BenchResult result;
  result.taken = "2026-11-21T20:15:00Z";
  result.versions = "NormLens 0.1.0 (fake)";
  const auto all = points(params);
  for (const auto& at : all) {
    BenchPoint point;
    point.at = at;
    point.device = params.device;
    point.dtype = params.dtype.empty() ? "float32" : params.dtype;
    point.clock = "wall clock";
    point.threads = 2;
    point.a = sideOf(params.a);
    if (!params.b.empty()) point.b = sideOf(params.b);
    if (params.a == "original" && protocol::flavourOfFold(params.b))
      point.fold_ms = 35 + 0.4 * static_cast<double>(result.points.size() % 3);
    const int index = static_cast<int>(result.points.size());
    const int count = static_cast<int>(all.size());
    const double scale = scaleOf(point), gain = 1.06 + 0.02 * std::log2(scale), base = 4.241 * scale;
    if (!at.empty() && at.front().second == "16384") {
      point.error = "the model raised an error: the memory does not suffice";
      tell({0, index, count, point});
      result.points.push_back(point);
      continue;
    }
    for (int round = 0; round < params.rounds; ++round) {
      if (pause()) return fail(ErrorCode::Cancelled, "stopped on request");
      addSamples(point.a, base, 2 * params.iterations);
      if (point.b) addSamples(*point.b, base / gain, 2 * params.iterations);
      const double shift = wobble(static_cast<size_t>(round));
      point.rounds.emplace_back(base * (1 + shift), point.b ? base / gain * (1 - shift / 2) : 0);
      point.speedup = gain;
      point.ci_low = gain - 0.01;
      point.ci_high = gain + 0.01;
      point.noise = false;
      tell({0, index, count, point});
    }
    addExtras(point.a, 0.14, base);
    if (point.b) addExtras(*point.b, 0.09, base / gain);
    if (point.fold_ms) point.expected_speedup = 1 / (1 - 0.14 * 0.66);
    if (point.fold_ms) point.break_even = *point.fold_ms / (base - base / gain);
    point.complete = true;
    tell({0, index, count, point});
    result.points.push_back(point);
  }
  return result;
}

}  // namespace normlens::fake
