#include "ui/window/inspector/weight_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPair>
#include <QPushButton>
#include <QVector>
#include <cmath>

#include "ui/session/session.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/plots/column_plot.h"
#include "ui/widgets/plots/heat_map.h"
#include "ui/widgets/plots/histogram_plot.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/room_steps.h"
#include "ui/widgets/segmented.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using TensorFact = QPair<QString, QString>;  // name, value

QString linesOf(const QVector<TensorFact>& facts) {
  QString lines;
  for (const auto& [name, value] : facts) lines += QStringLiteral("  %1: %2\n").arg(name, value);
  return lines;
}

// A tensor's figures in words and numbers, for the rows here and for the clipboard.
QVector<TensorFact> tensorFacts(const protocol::TensorStats& stats, const protocol::TensorFigures& figures,
                                int digits) {
  QVector<TensorFact> facts{{WeightView::tr("type"), text(stats.dtype)}};
  if (!figures.histogram.empty()) {
    facts.push_back({WeightView::tr("range"), QStringLiteral("%1 … %2").arg(formatNumber(figures.min, digits),
                                                                            formatNumber(figures.max, digits))});
    facts.push_back({WeightView::tr("mean"), formatNumber(figures.mean, digits)});
    facts.push_back({WeightView::tr("deviation"), formatNumber(figures.deviation, digits)});
  }
  if (stats.after) facts.push_back({WeightView::tr("largest mean"), formatNumber(figures.largest_column_mean, digits)});
  if (stats.not_finite > 0) facts.push_back({WeightView::tr("NaN or infinite"), formatCount(stats.not_finite)});
  return facts;
}

QString tensorText(const protocol::TensorStats& stats, int digits) {
  QString all = QStringLiteral("%1  %2\n").arg(text(stats.name), formatShape(stats.shape));
  all += linesOf(tensorFacts(stats, stats.before, digits));
  if (stats.after) all += WeightView::tr("after the plan") + u'\n' + linesOf(tensorFacts(stats, *stats.after, digits));
  return all;
}

// The absolute value that takes the full color in a heat map: of the cells of the original, so that what the plan
// leaves can be compared with it.
double heatReach(const protocol::TensorStats& stats) {
  // Not the largest cell: one stray number would leave the rest without color.
  double squares = 0;
  for (const double cell : stats.before.heat) squares += cell * cell;
  return stats.before.heat.empty() ? 0 : 2 * std::sqrt(squares / static_cast<double>(stats.before.heat.size()));
}

}  // namespace

WeightView::WeightView(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), question_(session->engine(), this) {
  linkLesson(this, "centering");
  build();
  connect(session_, &Session::digitsChanged, this, &WeightView::showFigures);
  connect(session_->choices(), &PlanChoices::changed, this, [this] {
    if (value_ >= 0) showConstant(value_);
  });
  hide();
}

void WeightView::build() {
  auto* layout = makeColumn(this, 4, {0, 4, 0, 0});
  layout->addWidget(makeLine(Qt::Horizontal, this));
  auto* head = makeRow(nullptr, -1, {0, 4, 0, 0});
  title_ = describe(new ElidedLabel({}, Qt::ElideLeft, this), "weightTitle");
  title_->setProperty("kind", "section");
  shape_ = makeLabel({}, "soft", this);
  head->addWidget(title_, 1);
  head->addWidget(shape_);
  layout->addLayout(head);
  state_ = describe(makeWords("faint", this), "weightState");
  layout->addWidget(state_);
  body_ = new QWidget(this);
  auto* column = makeColumn(body_, 6);
  columnsTitle_ = makeWords("soft", body_, tr("What centering subtracts: one mean per input"));
  columns_ = new ColumnPlot(body_);
  when_ = new Segmented({{tr("In the file"), tr("The tensor in the file.")},
                         {tr("After the plan"), tr("The tensor after centering, rounded to its type.")}},
                        body_);
  describe(when_, "weightWhen", {}, tr("The tensor before or after the plan"));
  auto* choices = new QWidget(body_);
  makeRow(choices)->addWidget(when_, 0, Qt::AlignLeft);
  (new RoomSteps(choices))->add([this](bool taken) { when_->setFolded(taken); });
  heat_ = new HeatMap(body_);
  histogram_ = new HistogramPlot(body_);
  facts_ = new PropertyList(body_);
  for (QWidget* part :
       std::initializer_list<QWidget*>{columnsTitle_, columns_, choices, heat_, histogram_, facts_, makeButtons()}) {
    column->addWidget(part);
  }
  layout->addWidget(body_);
  connect(when_, &Segmented::chosen, this, &WeightView::showFigures);
}

QWidget* WeightView::makeButtons() {
  auto* row = new QWidget(body_);
  auto* layout = makeRow(row, -1, {0, 2, 0, 2});
  auto* copy = addButton(layout, "secondary", tr("Copy as text"), "copyTensor",
                         tr("Copy name, type, shape and all figures of this tensor to the clipboard."));
  auto* save =
      addButton(layout, "secondary", tr("Save as .npy"), "saveTensor", tr("Write the file's tensor to a NumPy file."));
  layout->addStretch(1);
  (new RoomSteps(row))->add([layout](bool taken) {
    layout->setDirection(taken ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  });
  connect(copy, &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(tensorText(*stats_, session_->digits())); });
  connect(save, &QPushButton::clicked, this, &WeightView::save);
  return row;
}

void WeightView::showConstant(int value) {
  // A large table takes seconds to count: what is no longer looked at need not be.
  question_.drop();
  value_ = value;
  stats_.reset();
  setVisible(value >= 0);
  if (value < 0) return;
  showReading();
  session_->requestTensorStats(value, question_, [this](const Reply<protocol::TensorStats>& reply) {
    if (!reply) {
      state_->setText(reply.error().cancelled() ? tr("Stopped.") : asSentence(reply.error().message));
      return;
    }
    stats_ = *reply;
    showStats();
  });
}

void WeightView::showReading() {
  const protocol::GraphValue* value = session_->index().value(value_);
  title_->setFullText(value != nullptr ? shortName(text(value->name)) : QString());
  shape_->setText(value != nullptr && value->has_shape ? formatShape(value->shape) : QString());
  state_->setText(tr("The engine is reading the tensor."));
  state_->show();
  body_->hide();
}

void WeightView::showStats() {
  const bool centered = !stats_->column_means.empty();
  title_->setFullText(shortName(text(stats_->name)));
  shape_->setText(formatShape(stats_->shape));
  state_->setVisible(!centered);
  state_->setText(tr("The plan does not center this tensor."));
  columnsTitle_->setVisible(centered);
  columns_->setVisible(centered);
  columns_->setMeans(stats_->column_means);
  when_->setVisible(stats_->after.has_value());
  if (!stats_->after) when_->setCurrent(0);
  body_->show();
  showFigures();
}

void WeightView::showFigures() {
  if (!stats_) return;
  const bool after = when_->current() == 1 && stats_->after;
  const protocol::TensorFigures& figures = after ? *stats_->after : stats_->before;
  const bool some = !figures.histogram.empty();
  histogram_->setVisible(some);
  heat_->setVisible(some);
  histogram_->setBins(figures.histogram, stats_->low, stats_->high);
  heat_->setCells(figures.heat, stats_->heat_rows, stats_->heat_columns, heatReach(*stats_));
  QVector<Property> rows;
  for (const auto& [name, value] : tensorFacts(*stats_, figures, session_->digits())) rows.push_back({name, value});
  facts_->setProperties(rows);
}

void WeightView::save() {
  const FileQuestion question{QStringLiteral("saveTensorDialog"),
                              tr("Save the tensor"),
                              {tr("NumPy arrays (*.npy)")},
                              folderOf(session_->path()),
                              text(stats_->name).replace(u'/', u'.')};
  askForFile(this, question, [this, value = value_](const QString& path) { session_->saveTensor(value, path); });
}

}  // namespace normlens::ui
