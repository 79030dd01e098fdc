#include "ui/window/bottom/forced_errors_page.h"

#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <numeric>

#include "ui/models/forced_error_table.h"
#include "ui/session/forced_errors.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kErrorHeight = 23, kNameWidth = 190, kVerdictWidth = 130, kErrorWidth = 84, kLimitWidth = 136;

}  // namespace

ForcedErrorsPage::ForcedErrorsPage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), errors_(session->forcedErrors()), rows_(new ForcedErrorTable(this)) {
  bar_ = new QWidget(this);
  auto* row = makeRow(bar_, 12, {16, 5, 12, 5});
  words_ = describe(new ElidedLabel({}, Qt::ElideRight, bar_), "forcedState");
  row->addWidget(words_, 1);
  go_ = addButton(row, "secondary", {}, "forcedGo", {});
  table_ = makeTable("forcedErrorTable", tr("Errors if folded anyway"), kErrorHeight, rows_, this);
  table_->setItemDelegate(new FigureDelegate(ForcedErrorTable::Name, table_, ForcedErrorTable::ToneRole));
  table_->horizontalHeader()->setDefaultSectionSize(kErrorWidth);
  setColumnWidths(table_, {{ForcedErrorTable::Name, kNameWidth}, {ForcedErrorTable::Verdict, kVerdictWidth}});
  followText(table_, [this] {
    const int types = static_cast<int>(ForcedErrors::types().size());
    for (int type = 0; type < types; ++type)
      table_->horizontalHeader()->resizeSection(ForcedErrorTable::FirstType + 2 * type + 1, grown(kLimitWidth));
  });
  table_->horizontalHeader()->setStretchLastSection(true);
  makeColumn(this)->addWidget(table_);
  connect(go_, &QPushButton::clicked, this, &ForcedErrorsPage::go);
  connect(errors_, &ForcedErrors::changed, this, &ForcedErrorsPage::showFigures);
  for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::jobChanged})
    connect(session_, signal, this, &ForcedErrorsPage::showFigures);
  connect(session_->selection(), &GraphSelection::changed, this, &ForcedErrorsPage::followSelection);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
    if (following_ || !at.isValid()) return;
    following_ = true;
    session_->selection()->selectNorm(at.data(ForcedErrorTable::NormRole).toInt());
    following_ = false;
  });
  showFigures();
}

void ForcedErrorsPage::go() {
  if (errors_->running()) return errors_->cancel();
  std::vector<int> all(session_->analysis()->norms.size());
  std::iota(all.begin(), all.end(), 0);
  errors_->start(all);
}

void ForcedErrorsPage::showFigures() {
  following_ = true;
  rows_->show(*session_);
  following_ = false;
  const bool running = errors_->running();
  const QString obstacle = errors_->obstacle();
  bool all = rows_->rowCount() > 0;
  for (const ForcedErrorRow& row : rows_->rows()) all = all && errors_->has(row.norm);
  go_->setText(running ? tr("Stop") : tr("Measure all"));
  go_->setToolTip(running
                      ? tr("What is measured so far stays.")
                      : tr("Fold one LayerNorm at a time, whatever its verdict, and run it in four floating types."));
  go_->setVisible(running || !all);
  go_->setEnabled(running || (obstacle.isEmpty() && rows_->rowCount() > 0));
  const QString problem = errors_->problem();
  setKind(words_, problem.isEmpty() ? "soft" : "error");
  words_->setFullText(
      running              ? errors_->stage()
      : !problem.isEmpty() ? problem
      : !obstacle.isEmpty()
          ? obstacle
          : tr("Error at the model's outputs, one LayerNorm folded at a time, the others as they are; ✓ is "
               "within the noise of rounding."));
}

void ForcedErrorsPage::followSelection() {
  if (following_) return;
  following_ = true;
  showRow(table_, rows_->index(rows_->rowOf(session_->selection()->current().norm), 0));
  following_ = false;
}

}  // namespace normlens::ui
