#include "core/protocol/figure_text.h"

#include <cmath>

#include "core/base/formatted.h"

namespace normlens::protocol {

std::string errorText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  return formatted(std::abs(value) < 0.01 ? "%.0e" : "%.2g", value);
}

std::string ratioText(double ratio) { return formatted("%.2f×", ratio); }

std::string intervalText(double low, double high) { return formatted("%.2f–%.2f", low, high); }

bool touchesOne(double low, double high) { return low < 1.005 && high >= 0.995; }

std::vector<std::string> cautions(const BenchPoint& point) {
  std::vector<std::string> found;
  if (point.outputs && point.outputs->beyond) {
    found.push_back("The outputs differ by " + errorText(point.outputs->max_rel) + ", the limit is " +
                    errorText(point.outputs->noise_floor) + ". The speed of a wrong result means nothing.");
  }
  if (!point.outputs_reason.empty())
    found.push_back("The outputs could not be compared: " + point.outputs_reason + ".");
  if (point.crowded) {
    found.push_back(formatted("Other programs used %.1f cores; treat these figures with caution.", point.other_cores));
  } else if (!point.warmed_up) {
    found.emplace_back("Clock speed kept changing; treat these figures with caution.");
  }
  if (point.a.ops_late || (point.b && point.b->ops_late)) {
    found.emplace_back(
        "The device waited for launches, so times of single operators are late; treat them with caution.");
  }
  return found;
}

}  // namespace normlens::protocol
