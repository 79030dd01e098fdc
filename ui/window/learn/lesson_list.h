// The lessons at the left: a number, or a check once the exercises are passed; the open one with its steps as a line of
// dots. A click jumps; nothing is locked. Where there is little room only the numbers are shown.
#pragma once

#include <QWidget>
#include <vector>

namespace normlens::ui {

class LessonWalk;
struct Theme;

class LessonList final : public QWidget {
  Q_OBJECT

 public:
  LessonList(LessonWalk* walk, QWidget* parent);  // walk: not owned

  void setNarrow(bool narrow);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Row {
    int lesson;
    int step;  // -1: the lesson itself
    QRectF area;
  };

  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] static const Row* rowAt(const std::vector<Row>& rows, const QPointF& at);
  void paintLesson(QPainter& painter, const Row& row, const Theme& theme) const;
  void paintStep(QPainter& painter, const Row& row, bool last, const Theme& theme) const;
  void paintPassed(QPainter& painter, const Theme& theme) const;

  LessonWalk* walk_;
  bool narrow_ = false;
};

}  // namespace normlens::ui
