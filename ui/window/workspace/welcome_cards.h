// The clickable pieces of the welcome page: steps, demo models, recent files, the place to drop a file.
#pragma once

#include <QAbstractButton>
#include <QFrame>

#include "ui/session/project/demo_models.h"
#include "ui/session/project/recent_files.h"

namespace normlens::ui {

class PushButton;

enum class StepArt { Open, Fold, Measure };

// A picture painted in the theme's colours (step_art.cpp).
class StepPicture final : public QWidget {
  Q_OBJECT

 public:
  StepPicture(StepArt art, QWidget* parent);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintOpen(QPainter& painter) const;
  void paintFold(QPainter& painter) const;
  void paintMeasure(QPainter& painter) const;

  StepArt art_;
};

// Number, title and two lines under a picture.
[[nodiscard]] QFrame* makeStepCard(int number, StepArt art, const QString& title, const QString& text, QWidget* parent);

// A demo model with what folds in it as a bar. A button.
class DemoCard final : public QAbstractButton {
  Q_OBJECT

 public:
  DemoCard(const DemoModel& model, QWidget* parent);
  [[nodiscard]] QSize sizeHint() const override { return {200, 84}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintBar(QPainter& painter, const QRectF& area) const;

  DemoModel model_;
};

// A recently opened file: name, folder, how many of its norms fold. A button.
class RecentRow final : public QAbstractButton {
  Q_OBJECT

 public:
  RecentRow(const RecentFile& file, bool last, QWidget* parent);
  [[nodiscard]] QSize sizeHint() const override { return {280, 50}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  RecentFile file_;
  bool last_;
};

// The dashed area with the Open button.
class DropArea final : public QFrame {
  Q_OBJECT

 public:
  explicit DropArea(QWidget* parent);
  void setHot(bool hot);  // a file is held over the window

 Q_SIGNALS:
  void openClicked();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  PushButton* open_;
  bool hot_ = false;
};

}  // namespace normlens::ui
