// The vertex classes with letter, shape, color and word, in two columns; each with a sentence as its tooltip.
#pragma once

#include <QWidget>

namespace normlens::ui {

// One class mark with its word beside it.
class LegendEntry final : public QWidget {
  Q_OBJECT

 public:
  LegendEntry(QChar letter, QWidget* parent);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QChar letter_;
};

class Legend final : public QWidget {
  Q_OBJECT

 public:
  explicit Legend(QWidget* parent = nullptr);
};

}  // namespace normlens::ui
