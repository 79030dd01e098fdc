#include "ui/window/learn/try_card.h"

#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <cmath>

#include "ui/session/words/format.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {

TryCard::TryCard(Number number, QWidget* parent) : QFrame(parent), number_(std::move(number)) {
  setObjectName(QStringLiteral("tryCard"));
  setProperty("kind", "tryCard");
  auto* column = makeColumn(this, 8, {14, 12, 14, 12});
  column->addWidget(makeLabel(tr("Try it"), "section", this));
  task_ = makeWords("fact", this);
  column->addWidget(task_);
  auto* row = makeRow(nullptr, 8);
  live_ = describe(makeWords("soft", this), "tryLive");
  answer_ = describe(new QLineEdit(this), "tryAnswer", {}, tr("Your answer"));
  answer_->setPlaceholderText(tr("Your answer"));
  check_ = new PushButton(tr("Check"), PushButton::Look::Outlined, this);
  check_->setObjectName(QStringLiteral("tryCheck"));
  row->addWidget(live_, 1);
  row->addWidget(answer_, 1);
  row->addWidget(check_);
  column->addLayout(row);
  told_ = describe(makeWords("soft", this), "tryTold");
  column->addWidget(told_);
  connect(check_, &PushButton::clicked, this, &TryCard::check);
  connect(answer_, &QLineEdit::returnPressed, this, &TryCard::check);
}

void TryCard::showExercise(const std::optional<Exercise>& exercise, bool passed) {
  exercise_ = exercise;
  setVisible(exercise.has_value());
  if (!exercise) return;
  task_->setText(exercise->task);
  answer_->clear();
  answer_->setVisible(exercise->isTyped());
  live_->setVisible(!exercise->isTyped());
  tell(passed ? exercise->passed : QString(), "passed");
  refresh();
}

void TryCard::refresh() {
  if (!exercise_ || exercise_->isTyped()) return;
  const auto number = number_(exercise_->number);
  const QString& live = exercise_->live;  // some explain where to look, without a number
  const QString words = live.contains(QStringLiteral("%1")) ? live.arg(formatNumber(number.value_or(0), 3)) : live;
  live_->setText(number ? words : QString());
}

void TryCard::check() {
  if (!exercise_) return;
  const auto number = number_(exercise_->number);
  if (!number) return tell(tr("The figure has nothing to measure yet."), "error");
  bool met = exercise_->isMetBy(*number);
  if (exercise_->isTyped()) {
    bool isNumber = false;
    const double typed = QLocale().toDouble(answer_->text().trimmed(), &isNumber);
    met = isNumber && std::abs(typed - *number) < 1e-9 * std::max(1.0, std::abs(*number));
  }
  tell(met ? exercise_->passed : exercise_->failed, met ? "passed" : "error");
  if (met) Q_EMIT solved();
}

void TryCard::tell(const QString& words, const char* kind) {
  setKind(told_, kind);
  told_->setText(words);
  told_->setVisible(!words.isEmpty());
}

}  // namespace normlens::ui
