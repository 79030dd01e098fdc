// 'Try it': a task that is solved with the figure, or by one typed number, and what came of it. It never shows the
// answer.
#pragma once

#include <QFrame>
#include <functional>
#include <optional>

#include "ui/learn/lesson.h"

class QLabel;
class QLineEdit;

namespace normlens::ui {

class PushButton;

class TryCard final : public QFrame {
  Q_OBJECT

 public:
  using Number = std::function<std::optional<double>(const QString& name)>;

  TryCard(Number number, QWidget* parent);  // number: of the figure that is shown

  void showExercise(const std::optional<Exercise>& exercise, bool passed);
  void refresh();  // a number has changed
  void check();

 Q_SIGNALS:
  void solved();

 private:
  void tell(const QString& words, const char* kind);

  Number number_;
  std::optional<Exercise> exercise_;
  QLabel *task_, *live_, *told_;
  QLineEdit* answer_;
  PushButton* check_;
};

}  // namespace normlens::ui
