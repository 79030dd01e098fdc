// Draws one bar a model, its time split into norms, the longest other ops and the rest.
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QCoreApplication>
#include <QHorizontalStackedBarSeries>
#include <algorithm>

#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_style.h"
#include "ui/session/words/bench_text.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

constexpr size_t kNamed = 4;  // ops other than norms that get a color of their own

QString shortOp(const std::string& op) {
  const size_t colon = op.rfind(':');
  return text(colon == std::string::npos ? op : op.substr(colon + 1));
}

struct Part {
  QString name;
  QColor color;
  double ms[2] = {0, 0};
};

// The longest ops of A name the parts of both bars.
std::vector<Part> partsOf(const std::vector<const protocol::BenchSide*>& sides, const Theme& theme) {
  const QColor colors[kNamed] = {theme.classes.residual, theme.classes.scalar, theme.classes.linear,
                                 theme.classes.centering};
  std::vector<Part> parts{{tr("norms"), theme.classes.chosen}};
  for (const protocol::OpShare& op : sides[0]->ops) {
    if (op.norm || parts.size() > kNamed) continue;
    parts.push_back({shortOp(op.op), colors[parts.size() - 1]});
  }
  Part rest{tr("other ops"), theme.control};
  for (size_t side = 0; side < sides.size(); ++side) {
    for (const protocol::OpShare& op : sides[side]->ops) {
      const auto named =
          std::find_if(parts.begin() + 1, parts.end(), [&](const Part& part) { return part.name == shortOp(op.op); });
      Part& part = op.norm ? parts.front() : named == parts.end() ? rest : *named;
      part.ms[side] += op.ms;
    }
  }
  parts.push_back(rest);
  return parts;
}

}  // namespace

void fillOpsChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const protocol::BenchPoint& point = *pointOf(picture);
  std::vector<const protocol::BenchSide*> sides{&point.a};
  const auto [nameA, nameB] = sideNames(point);
  QStringList names{nameA};
  if (point.b && !point.b->ops.empty()) {
    sides.push_back(&*point.b);
    names << nameB;
  }
  auto* bars = new QHorizontalStackedBarSeries(&chart);
  bars->setBarWidth(0.6);
  double longest[2] = {0, 0};
  for (const Part& part : partsOf(sides, theme)) {
    auto* set = new QBarSet(part.name, bars);
    // The first category is the lowest bar.
    for (size_t side = sides.size(); side-- > 0;) {
      *set << part.ms[side];
      longest[side] += part.ms[side];
    }
    set->setColor(part.color);
    set->setBorderColor(theme.panel);
    bars->append(set);
  }
  std::reverse(names.begin(), names.end());
  chart.addSeries(bars);
  auto* y = new QBarCategoryAxis(&chart);
  y->append(names);
  styleAxis(*y, theme, {});
  y->setGridLineVisible(false);
  chart.addAxis(y, Qt::AlignLeft);
  auto* x = addNumberAxis(chart, Qt::AlignBottom, 0, std::max(longest[0], longest[1]) * 1.02,
                          tr("ms, with instrumentation"), theme);
  bars->attachAxis(y);
  bars->attachAxis(x);
}

}  // namespace normlens::ui
