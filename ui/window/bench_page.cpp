#include "ui/window/bench_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStackedLayout>

#include "ui/session/format.h"
#include "ui/session/session.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/latency_plot.h"
#include "ui/widgets/property_list.h"

namespace normlens::ui {

namespace {

QString pair(double a, double b) { return QStringLiteral("%1 %2").arg(a, 9, 'f', 3).arg(b, 9, 'f', 3); }

}  // namespace

BenchPage::BenchPage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  auto* stack = new QStackedLayout(this);
  empty_ = makeLabel({}, "faint", this);
  empty_->setAlignment(Qt::AlignCenter);
  filled_ = new QWidget(this);
  auto* row = new QHBoxLayout(filled_);
  row->setContentsMargins(16, 10, 16, 12);
  row->setSpacing(24);
  auto* left = new QVBoxLayout;
  left->addWidget(makeLabel(tr("Latency per round, ms"), "section", filled_));
  plot_ = new LatencyPlot(filled_);
  left->addWidget(plot_, 1);
  row->addLayout(left, 3);
  row->addWidget(makeLine(Qt::Vertical, filled_));
  auto* right = new QVBoxLayout;
  right->addWidget(makeLabel(tr("Original, folded"), "section", filled_));
  table_ = new PropertyList(filled_);
  right->addWidget(table_);
  note_ = makeLabel({}, "soft", filled_);
  note_->setWordWrap(true);
  right->addWidget(note_);
  right->addStretch(1);
  row->addLayout(right, 2);
  stack->addWidget(empty_);
  stack->addWidget(filled_);
  for (const auto signal : {&Session::benchChanged, &Session::foldChanged, &Session::jobChanged}) {
    connect(session_, signal, this, &BenchPage::showResult);
  }
  showResult();
}

void BenchPage::showResult() {
  const auto& bench = session_->bench();
  static_cast<QStackedLayout*>(layout())->setCurrentWidget(bench ? filled_ : static_cast<QWidget*>(empty_));
  plot_->setResult(bench);
  if (!bench) {
    empty_->setText(session_->job().kind == JobKind::Measuring ? tr("Measuring: rounds of the two models alternate.")
                    : session_->foldResult()                   ? tr("Not measured yet. Measure times both models.")
                                                               : tr("Fold first; then Measure times both models."));
    return;
  }
  table_->setProperties(
      {{tr("median, ms"), pair(bench->original.median_ms, bench->folded.median_ms), {}},
       {tr("mean, ms"), pair(bench->original.mean_ms, bench->folded.mean_ms), {}},
       {tr("p95, ms"), pair(bench->original.p95_ms, bench->folded.p95_ms), tr("95 of 100 rounds are faster.")},
       {tr("speed-up"),
        QStringLiteral("%1   [%2, %3]")
            .arg(formatRatio(bench->speedup), formatNumber(bench->ci_low, 3), formatNumber(bench->ci_high, 3)),
        tr("Ratio of the medians with its 95% confidence interval."), true}});
  const bool slower = !bench->noise && bench->speedup < 1;
  QString note;
  if (bench->noise) note = tr("The interval spans 1: this difference is noise.");
  if (slower && session_->flavour() == "portable") {
    note =
        tr("Slower here: the framework's own rms_norm is not one kernel on every device. The flavour Fast, in the menu "
           "beside Export, brings its own.");
  }
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

}  // namespace normlens::ui
