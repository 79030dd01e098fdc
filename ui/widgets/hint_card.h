// A card with a title and a line at the bottom left of what it lies over; it takes no clicks.
#pragma once

#include <QFrame>

class QLabel;

namespace normlens::ui {

class HintCard final : public QFrame {
  Q_OBJECT

 public:
  explicit HintCard(QWidget* over);  // the parent

  void show(const QString& title, const QString& words);

 private:
  QLabel *title_, *words_;
};

}  // namespace normlens::ui
