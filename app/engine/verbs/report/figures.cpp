#include "app/engine/verbs/report/figures.h"

#include <algorithm>
#include <cmath>

#include "core/base/formatted.h"

namespace normlens::engine::report {
namespace {

constexpr double kWidth = 520, kHeight = 240, kLeft = 52, kRight = 12, kTop = 12, kBottom = 28;

// A Scale goes from data to the drawing's units; linear, or of the logarithm.
struct Scale {
  double low = 0, high = 1, begin = 0, end = 1;
  [[nodiscard]] double at(double value) const {
    return high > low ? begin + (value - low) / (high - low) * (end - begin) : (begin + end) / 2;
  }
};

std::string line(const char* kind, double x1, double y1, double x2, double y2) {
  return std::string("<line class=\"") + kind + "\"" +
         formatted(R"( x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>)", x1, y1, x2, y2);
}

std::string text(double x, double y, const char* anchor, const std::string& words, const char* kind = "") {
  return formatted(R"(<text x="%.1f" y="%.1f")", x, y) + " text-anchor=\"" + anchor + "\" class=\"" + kind + "\">" +
         escaped(words) + "</text>";
}

std::string drawing(const std::string& says, const std::string& inside) {
  return formatted(R"(<svg viewBox="0 0 %.0f %.0f" role="img")", kWidth, kHeight) + "><title>" + escaped(says) +
         "</title>" + inside + "</svg>";
}

// A sign whose name is shown where the pointer rests.
std::string sign(const std::string& shape, const std::string& name) {
  return "<g><title>" + escaped(name) + "</title>" + shape + "</g>";
}

std::string square(double x, double y) {
  return formatted(R"(<rect class="file" x="%.1f" y="%.1f" width="6" height="6"/>)", x - 3, y - 3);
}

std::string diamond(double x, double y) {
  return formatted(R"(<path class="exact" d="M%.1f %.1fl4 4-4 4-4-4z"/>)", x, y - 4);
}

using Figures = std::vector<std::optional<double>>;

// A figure of 0, for equal outputs, is drawn at the bottom of the scale.
std::pair<double, double> decades(const ProofChart& chart) {
  std::pair<double, double> range{-16, -6};
  const auto include = [&](const std::optional<double>& value) {
    if (!value || !std::isfinite(*value) || *value <= 0) return;
    range.first = std::min(range.first, std::floor(std::log10(*value)));
    range.second = std::max(range.second, std::ceil(std::log10(*value)));
  };
  for (const auto* figures : {&chart.exact, &chart.file}) std::ranges::for_each(*figures, include);
  include(chart.exactLimit);
  include(chart.fileLimit);
  return range;
}

class ProofDrawing {
 public:
  explicit ProofDrawing(const ProofChart& chart)
      : chart_(chart),
        y_{decades(chart).first, decades(chart).second, kHeight - kBottom, kTop},
        x_{0, std::max(1.0, static_cast<double>(chart.norms.size()) - 1), kLeft + 12, kWidth - kRight - 12} {}

  [[nodiscard]] std::string draw() const {
    std::string out = axes();
    out += limit(chart_.exactLimit, "float64");
    out += limit(chart_.fileLimit, chart_.fileType);
    for (size_t i = 0; i < chart_.norms.size(); ++i) {
      if (const auto value = chart_.file[i]) out += sign(square(x(i), y(*value)), chart_.norms[i]);
      if (const auto value = chart_.exact[i]) out += sign(diamond(x(i), y(*value)), chart_.norms[i]);
    }
    return out;
  }

 private:
  [[nodiscard]] double x(size_t norm) const {
    return chart_.norms.size() > 1 ? x_.at(static_cast<double>(norm)) : x_.at(0.5);
  }
  [[nodiscard]] double y(double value) const {
    const double decade = value > 0 ? std::log10(value) : y_.low;
    return y_.at(std::clamp(decade, y_.low, y_.high));
  }

  [[nodiscard]] std::string axes() const {
    std::string out;
    constexpr int kStep = 4;
    for (int decade = static_cast<int>(y_.high); decade >= static_cast<int>(y_.low); --decade) {
      if (decade % kStep != 0) continue;
      out += line("axis", kLeft, y_.at(decade), kWidth - kRight, y_.at(decade));
      out += text(kLeft - 6, y_.at(decade) + 4, "end", decade == 0 ? "1" : formatted("1e%d", decade));
    }
    if (chart_.norms.empty()) return out;
    out += text(kLeft, kHeight - 8, "start", "norm 1");
    if (chart_.norms.size() > 1) out += text(kWidth - kRight, kHeight - 8, "end", std::to_string(chart_.norms.size()));
    return out;
  }

  [[nodiscard]] std::string limit(const std::optional<double>& value, const std::string& type) const {
    if (!value || !std::isfinite(*value) || *value <= 0) return {};
    return line("limit", kLeft, y(*value), kWidth - kRight, y(*value)) +
           text(kWidth - kRight, y(*value) - 5, "end", "allowed in " + type);
  }

  const ProofChart& chart_;
  Scale y_, x_;
};

double largestOf(const Figures& figures) {
  double most = 0;
  for (const auto& figure : figures) most = std::max(most, figure.value_or(0));
  return most;
}

std::string polyline(const char* kind, const std::vector<std::pair<double, double>>& points) {
  std::string out = std::string("<polyline class=\"") + kind + "\" points=\"";
  for (const auto& [x, y] : points) out += formatted("%.1f,%.1f ", x, y);
  return out + "\"/>";
}

// Returns a round step of at most a fourth of the range.
double stepFor(double range) {
  const double step = std::pow(10, std::floor(std::log10(range / 2)));
  for (const double times : {5.0, 2.0}) {
    if (range / (step * times) >= 3) return step * times;
  }
  return step;
}

}  // namespace

Figure proofFigure(const ProofChart& chart) {
  std::string says = "Largest relative difference after each of " + std::to_string(chart.norms.size()) + " norms: ";
  std::string legend = "The largest relative difference after each norm: ";
  const char* between = "";
  const auto add = [&](const Figures& figures, const std::string& sign, const std::string& type) {
    if (std::ranges::none_of(figures, [](const auto& figure) { return figure.has_value(); })) return;
    says += between + formatted("at most %.2g in ", largestOf(figures)) + type;
    legend += between + sign + type;
    between = ", ";
  };
  add(chart.exact, "◆ ", "float64");
  add(chart.file, "□ ", chart.fileType);
  return {drawing(says, ProofDrawing(chart).draw()), says, legend + "."};
}

Figure latencyFigure(const std::vector<std::pair<double, double>>& rounds) {
  double low = rounds.front().first, high = low;
  for (const auto& [a, b] : rounds) {
    low = std::min({low, a, b});
    high = std::max({high, a, b});
  }
  const double margin = std::max((high - low) * 0.15, high * 0.01);
  const Scale y{std::max(0.0, low - margin), high + margin, kHeight - kBottom, kTop};
  constexpr double kNames = 60, kApart = 13;  // room for the names of the lines, to the right of them
  const Scale x{1, static_cast<double>(rounds.size()), kLeft, kWidth - kRight - kNames};
  std::string out;
  const double step = stepFor(y.high - y.low);
  for (double tick = std::ceil(y.low / step) * step; tick <= y.high; tick += step) {
    out += line("axis", kLeft, y.at(tick), kWidth - kRight, y.at(tick));
    out += text(kLeft - 6, y.at(tick) + 4, "end", formatted("%.4g", std::abs(tick)));
  }
  std::vector<std::pair<double, double>> a, b;
  for (size_t i = 0; i < rounds.size(); ++i) {
    a.emplace_back(x.at(static_cast<double>(i + 1)), y.at(rounds[i].first));
    b.emplace_back(x.at(static_cast<double>(i + 1)), y.at(rounds[i].second));
  }
  out += polyline("a", a) + polyline("b", b);
  const double middle = (a.back().second + b.back().second) / 2;
  const double away = std::max(std::abs(a.back().second - middle), kApart / 2) * (a.back().second < middle ? 1 : -1);
  out += text(x.end + 6, middle - away + 4, "start", "original", "a");
  out += text(x.end + 6, middle + away + 4, "start", "folded", "b");
  out += text(kLeft, kHeight - 8, "start", "round 1");
  out += text(x.end, kHeight - 8, "end", std::to_string(rounds.size()));
  const std::string says = "Milliseconds of each of " + std::to_string(rounds.size()) + " rounds, " +
                           formatted("from %.3g to %.3g", low, high);
  return {drawing(says, out), says};
}

}  // namespace normlens::engine::report
