#include "tests/bench/norms/norm_report.h"

#include <c10/core/ScalarType.h>
#include <torch/headeronly/version.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/base/machine.h"
#include "tests/bench/norms/gpu_memory.h"

namespace normlens::bench {
namespace {

constexpr const char* kOwn[] = {"rms_norm", "layer_norm", "center", "add_rms_norm", "add_layer_norm", "add_center"};
constexpr const char* kCpuCopy = "CPU: at most 1.25 times copying the same bytes";
constexpr const char* kGpuCopy = "GPU: 92% of copy bandwidth from 16 MB up";
constexpr const char* kGpuSmall = "GPU: at most 1.1 times a copy below 1 MB";
constexpr const char* kGpuHost = "GPU: the host takes no longer for a call than for torch's";
constexpr const char* kGpuTorch = "GPU: 0.97 times the speed of torch's norm";

std::string typeName(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    default:
      return "bfloat16";
  }
}

// A JSON object or array, part by part. Texts hold no control characters.
class Json {
 public:
  explicit Json(char open, char close) : close_(close) { text_ << open; }

  Json& raw(const std::string& key, const std::string& value) {
    if (!first_) text_ << ", ";
    first_ = false;
    if (!key.empty()) text_ << '"' << key << "\": ";
    text_ << value;
    return *this;
  }
  Json& text(const std::string& key, const std::string& value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return raw(key, quoted + '"');
  }
  Json& number(const std::string& key, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return std::isfinite(value) ? raw(key, digits) : text(key, digits);
  }
  Json& count(const std::string& key, int64_t value) { return raw(key, std::to_string(value)); }
  Json& truth(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  [[nodiscard]] std::string done() const { return text_.str() + close_; }

 private:
  std::ostringstream text_;
  char close_;
  bool first_ = true;
};

template <class Items, class Write>
std::string list(const Items& items, const Write& write) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "\n    " : ",\n    ") + write(item);
  return "[" + text + "]";
}

std::string clocksText(const ClockRates& rates, bool gpu) {
  const auto megahertz = [](double rate) { return std::to_string(std::lround(rate)) + " MHz"; };
  return gpu ? megahertz(rates.gpuMhz) + ", memory " + megahertz(rates.gpuMemoryMhz) : megahertz(rates.cpuMhz);
}

void addPoint(Json& json, const NormPoint& point) {
  json.text("dtype", typeName(point.type)).count("rows", point.rows).count("width", point.width);
}

std::string rowsOf(const std::vector<PointTimes>& points) {
  const MachineFacts machine = machineFacts();
  std::vector<std::string> rows;
  for (const PointTimes& times : points) {
    const bool gpu = times.point.device.is_cuda();
    for (const OpTime& op : times.ops) {
      Json json('{', '}');
      json.text("device", gpu ? machine.gpu : machine.cpu).text("driver", gpu ? machine.driver : machine.system);
      json.text("clocks_before", clocksText(times.before, gpu)).text("clocks_after", clocksText(times.after, gpu));
      addPoint(json, times.point);
      json.count("threads", times.threads).text("op", op.op).number("ms", op.ms).number("spread", op.spread);
      json.count("bytes", op.bytes).truth("unsteady", times.unsteady());
      if (op.bytes > 0) json.number("gb_per_s", op.gigabytesPerSecond());
      json.count("n", op.calls);
      if (gpu) json.number("host_ms", op.hostMs).truth("from_memory", comesFromMemory(bytesOf(times.point)));
      json.number("ratio_to_copy", times.ratio(op.op, kCopy));
      json.number("ratio_to_torch_layer_norm", times.ratio(op.op, kTorchLayerNorm));
      json.number("ratio_to_torch_rms_norm", times.ratio(op.op, kTorchRmsNorm));
      rows.push_back(json.done());
    }
  }
  return list(rows, [](const std::string& row) { return row; });
}

std::string describe(const PointTimes& times) {
  return typeName(times.point.type) + " " + std::to_string(times.point.rows) + " x " +
         std::to_string(times.point.width) +
         (times.threads ? " on " + std::to_string(times.threads) + " threads" : std::string());
}

std::string goalRow(const std::vector<PointTimes>& points, const GoalResult& result) {
  Json json('{', '}');
  json.text("goal", result.goal).text("op", result.op);
  addPoint(json, points[result.point].point);
  json.count("threads", points[result.point].threads).number("value", result.value).number("limit", result.limit);
  return json.truth("met", result.met()).truth("unsteady", points[result.point].unsteady()).done();
}

}  // namespace

std::vector<GoalResult> checkGoals(const std::vector<PointTimes>& points) {
  constexpr int64_t kLarge = int64_t{16} << 20, kSmall = int64_t{1} << 20;
  std::vector<GoalResult> results;
  for (size_t i = 0; i < points.size(); ++i) {
    const PointTimes& times = points[i];
    const bool gpu = times.point.device.is_cuda();
    const int64_t bytes = bytesOf(times.point);
    for (const char* op : kOwn) {
      const double perByte = static_cast<double>(times.of(op).bytes) / static_cast<double>(times.of(kCopy).bytes);
      const double value = times.ratio(op, kCopy) / perByte;
      if (!gpu) results.push_back({kCpuCopy, op, i, value, 1.25});
      if (gpu && bytes >= kLarge) results.push_back({kGpuCopy, op, i, value, 1.0 / 0.92});
      if (gpu && bytes < kSmall && perByte == 1) results.push_back({kGpuSmall, op, i, value, 1.1});
    }
    if (!gpu) continue;
    const std::pair<const char*, const char*> rivals[] = {
        {"layer_norm", kTorchLayerNorm}, {"rms_norm", kTorchLayerNorm}, {"rms_norm", kTorchRmsNorm}};
    for (const auto& [op, torch] : rivals) {
      results.push_back({kGpuTorch, op, i, times.ratio(op, torch), 1.0 / 0.97});
      if (bytes < kSmall) results.push_back({kGpuHost, op, i, times.of(op).hostMs / times.of(torch).hostMs, 1.0});
    }
  }
  return results;
}

void printTableHead() {
  std::printf("  time / time of a copy (clone) of the tensor; add: of x and a residual, in one op or torch's two\n");
  std::printf("                                  torch:                                ours:\n");
  std::printf(
      "  type       rows  width thr  copy ms   GB/s  layer   rms add,layer |   rms layer center add,rms "
      "add,layer add,center\n");
}

void printTableRow(const PointTimes& times) {
  const auto ratio = [&](const char* op) { return times.ratio(op, kCopy); };
  std::printf("  %-8s %6ld %6ld %3d %8.4f %6.1f %6.2f %5.2f %9.2f | %5.2f %5.2f %6.2f %7.2f %9.2f %10.2f%s\n",
              typeName(times.point.type).c_str(), static_cast<long>(times.point.rows),
              static_cast<long>(times.point.width), times.threads, times.of(kCopy).ms,
              times.of(kCopy).gigabytesPerSecond(), ratio(kTorchLayerNorm), ratio(kTorchRmsNorm),
              ratio(kTorchAddLayerNorm), ratio("rms_norm"), ratio("layer_norm"), ratio("center"), ratio("add_rms_norm"),
              ratio("add_layer_norm"), ratio("add_center"), times.unsteady() ? "  unsteady" : "");
}

void printGoals(const std::vector<PointTimes>& points, const std::vector<GoalResult>& goals) {
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> met;  // goal and op -> met, of
  for (const GoalResult& result : goals) {
    auto& [yes, all] = met[{result.goal, result.op}];
    yes += result.met() ? 1 : 0;
    ++all;
  }
  std::printf("  Goals\n");
  for (const auto& [key, counts] : met) {
    std::printf("  %-50s %-15s met at %d of %d points\n", key.first.c_str(), key.second.c_str(), counts.first,
                counts.second);
  }
  for (const GoalResult& result : goals) {
    if (result.met()) continue;
    std::printf("  missed: %s: %s, %s: %.2f, wanted %.2f%s\n", result.goal, result.op.c_str(),
                describe(points[result.point]).c_str(), result.value, result.limit,
                points[result.point].unsteady() ? " (unsteady)" : "");
  }
}

void writeJson(const std::string& file, const std::vector<PointTimes>& points, const std::vector<GoalResult>& goals,
               const std::vector<NormPoint>& leftOut) {
  const auto write = [&](const GoalResult& result) { return goalRow(points, result); };
  std::vector<GoalResult> missed;
  for (const GoalResult& result : goals) {
    if (!result.met()) missed.push_back(result);
  }
  Json json('{', '}');
  json.count("schema", 1);
  json.text("torch", std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR));
  json.raw("points", rowsOf(points)).raw("goals", list(goals, write)).raw("missed", list(missed, write));
  json.raw("left_out", list(leftOut, [](const NormPoint& point) {
             Json row('{', '}');
             addPoint(row, point);
             return row.text("why", "a tensor would be larger than is measured on this device").done();
           }));
  const std::string part = file + ".part";
  std::ofstream out(part);
  out << json.done() << '\n';
  out.close();
  if (!out || std::rename(part.c_str(), file.c_str()) != 0) throw std::runtime_error("cannot write " + file);
}

}  // namespace normlens::bench
