#include "ui/window/inspector/forced_error_card.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVector>
#include <utility>

#include "ui/models/forced_error_table.h"
#include "ui/session/forced_errors.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

// "bf16", where four columns have to fit beside a name.
QString shortType(const std::string& type) {
  QString name = text(type);
  return name.replace(QStringLiteral("bfloat"), QStringLiteral("bf"))
      .replace(QStringLiteral("float"), QStringLiteral("f"));
}

}  // namespace

ForcedErrorCard::ForcedErrorCard(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), errors_(session->forcedErrors()) {
  setObjectName(QStringLiteral("forcedErrors"));
  auto* lines = makeColumn(this, 4);
  auto* title = makeRow(nullptr);
  title->addWidget(makeLabel(tr("Error if folded anyway"), "section", this), 1);
  title->addWidget(makeLabel(tr("output, relative"), "soft", this));
  lines->addLayout(title);
  words_ = describe(makeWords("soft", this), "forcedWords");
  lines->addWidget(words_);
  buildTable();
  lines->addWidget(table_);
  missing_ = describe(makeWords("soft", this), "forcedMissing");
  lines->addWidget(missing_);
  auto* row = new QHBoxLayout;
  go_ = addButton(row, "secondary", {}, "showForced", {});
  row->addStretch(1);
  lines->addLayout(row);
  connect(go_, &QPushButton::clicked, this, &ForcedErrorCard::go);
  connect(errors_, &ForcedErrors::changed, this, &ForcedErrorCard::showFigures);
  connect(session_, &Session::jobChanged, this, &ForcedErrorCard::showFigures);
}

void ForcedErrorCard::buildTable() {
  table_ = describe(new QWidget(this), "forcedTable");
  grid_ = new QGridLayout(table_);
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setHorizontalSpacing(8);
  grid_->setVerticalSpacing(4);
  grid_->setColumnStretch(0, 1);
  name_ = new ElidedLabel({}, Qt::ElideLeft, table_);
  name_->setProperty("kind", "section");
  grid_->addWidget(name_, 1, 0);
  auto* floor = makeLabel(tr("6 × floor"), "soft", table_);
  floor->setToolTip(tr(
      "Six times what moving every weight by half a unit in its last place does to the outputs: the proof's limit."));
  grid_->addWidget(floor, 2, 0);
  int column = 0;
  for (const std::string& type : ForcedErrors::types()) {
    ++column;
    auto* head = makeLabel(shortType(type), "small", table_);
    head->setToolTip(text(type));
    figures_ << describe(makeLabel({}, "monoStrong", table_), ("forced_" + type).c_str());
    limits_ << makeLabel({}, "mono", table_);
    for (QLabel* label : {head, figures_.back(), limits_.back()})
      label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    grid_->addWidget(head, 0, column);
    grid_->addWidget(figures_.back(), 1, column);
    grid_->addWidget(limits_.back(), 2, column);
  }
}

void ForcedErrorCard::showNorm(int norm) {
  norm_ = norm;
  showFigures();
}

void ForcedErrorCard::leave() {
  const int left = std::exchange(norm_, -1);
  if (errors_->runsFor({left})) errors_->cancel();
}

void ForcedErrorCard::go() {
  if (errors_->running()) return errors_->cancel();
  errors_->start({norm_});
}

void ForcedErrorCard::showFigures() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr) return;
  const bool running = errors_->running();
  name_->setFullText(shortName(text(norm->title)));
  bool any = false;
  for (qsizetype i = 0; i < figures_.size(); ++i) {
    const protocol::ForcedError* error = errors_->at(norm_, ForcedErrors::types()[static_cast<size_t>(i)]);
    const bool there = error != nullptr && error->error.empty();
    any = any || error != nullptr;
    figures_[i]->setText(there ? forcedFigure(error->max_rel) : error != nullptr ? QStringLiteral("–") : QString());
    setKind(figures_[i], there && error->max_rel > error->limit ? "monoBad" : "monoStrong");
    figures_[i]->setToolTip(
        error == nullptr ? QString()
        : !there         ? asSentence(text(error->error))
        : error->max_rel > error->limit
            ? tr("Other outputs: %1 times the limit.").arg(formatError(error->max_rel / error->limit))
            : tr("Within the noise of rounding."));
    limits_[i]->setText(there ? forcedFigure(error->limit) : QString());
  }
  table_->setVisible(any);
  missing_->setText(missingFigures(*errors_, norm_));
  missing_->setVisible(!missing_->text().isEmpty());
  const QString obstacle = errors_->obstacle();
  words_->setText(running                         ? errors_->stage()
                  : !errors_->problem().isEmpty() ? errors_->problem()
                  : any                           ? QString()
                  : obstacle.isEmpty() ? tr("Folds this LayerNorm alone, the others as they are, and runs both models.")
                                       : obstacle);
  words_->setVisible(!words_->text().isEmpty());
  go_->setVisible(running || !errors_->has(norm_));
  go_->setEnabled(running || obstacle.isEmpty());
  go_->setText(running ? tr("Stop") : tr("Show the error if folded anyway"));
  go_->setToolTip(running ? tr("What is measured so far stays.")
                          : tr("Measure in four floating types what folding it against its verdict changes."));
}

}  // namespace normlens::ui
