#include "ui/charts/bench_charts.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/charts/chart_style.h"
#include "ui/session/words/bench_text.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

struct Kind {
  const char* name;
  void (*fill)(QChart& chart, const BenchPicture& picture, const Theme& theme);
};

// Ordered as BenchChart.
constexpr Kind kKinds[] = {{"latency", fillLatencyChart},
                           {"distribution", fillDistributionChart},
                           {"speedup", fillSpeedupChart},
                           {"ops", fillOpsChart},
                           {"break_even", fillBreakEvenChart}};

bool measured(const protocol::BenchPoint& point) { return point.error.empty() && !point.rounds.empty(); }

bool anySpeedup(const protocol::BenchResult& result) {
  return std::any_of(result.points.begin(), result.points.end(),
                     [](const protocol::BenchPoint& point) { return measured(point) && point.b; });
}

}  // namespace

const protocol::BenchPoint* pointOf(const BenchPicture& picture) {
  const auto& points = picture.result.points;
  if (picture.point < 0 || static_cast<size_t>(picture.point) >= points.size()) return nullptr;
  const protocol::BenchPoint& point = points[static_cast<size_t>(picture.point)];
  return measured(point) ? &point : nullptr;
}

const protocol::BenchPoint* sameEarlier(const BenchPicture& picture) {
  const protocol::BenchPoint* now = pointOf(picture);
  if (now == nullptr || picture.earlier == nullptr) return nullptr;
  for (const protocol::BenchPoint& point : picture.earlier->points) {
    if (measured(point) && point.at == now->at) return &point;
  }
  return nullptr;
}

QString whyEmpty(BenchChart kind, const BenchPicture& picture) {
  const protocol::BenchPoint* point = pointOf(picture);
  if (kind == BenchChart::Speedup) {
    return anySpeedup(picture.result) ? QString() : tr("No two models have been measured side by side yet.");
  }
  if (point == nullptr) {
    const auto& points = picture.result.points;
    const bool there = picture.point >= 0 && static_cast<size_t>(picture.point) < points.size();
    const std::string error = there ? points[static_cast<size_t>(picture.point)].error : std::string();
    return error.empty() ? tr("Nothing has been measured here yet.") : asSentence(text(error));
  }
  if (kind == BenchChart::Ops && point->a.ops.empty()) {
    return point->a.ops_reason.empty() ? tr("The times of single ops come after the last round.")
                                       : asSentence(text(point->a.ops_reason));
  }
  if (kind == BenchChart::BreakEven && (!point->fold_ms || !point->b)) {
    return tr("How long the fold took is known where the folded model was made here.");
  }
  return {};
}

std::unique_ptr<QChart> makeBenchChart(BenchChart kind, const BenchPicture& picture, const Theme& theme) {
  auto chart = std::make_unique<QChart>();
  const Kind& row = kKinds[static_cast<size_t>(kind)];
  chart->setObjectName(QLatin1String(row.name));
  styleChart(*chart, theme);
  row.fill(*chart, picture, theme);
  return chart;
}

}  // namespace normlens::ui
