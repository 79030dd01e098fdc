// A row of choices of which one is on, all equally wide unless snug; arrow keys move within it. Where there is no room
// for all, only the one that is on is shown and opens a menu of them; where there is less still, an icon does.
#pragma once

#include <QStringList>
#include <QWidget>

namespace normlens::ui {

struct Segment {
  QString text, tip;
  bool offered = true;  // can be chosen
};

class Segmented final : public QWidget {
  Q_OBJECT

 public:
  explicit Segmented(const QVector<Segment>& segments, QWidget* parent = nullptr);

  [[nodiscard]] int current() const { return current_; }
  [[nodiscard]] const QVector<Segment>& segments() const { return segments_; }
  void choose(int index);      // as the user does: emits chosen()
  void setCurrent(int index);  // no signal
  void setFolded(bool folded);
  void setBare(const QString& icon);  // folded, this icon replaces the words; empty: the words are shown
  [[nodiscard]] bool folded() const { return folded_; }
  void setSnug(bool snug);                             // each as wide as its own text, not as the widest
  void setSegments(const QVector<Segment>& segments);  // as many as before; the one that is on stays on
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void chosen(int index);  // by the user

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] int wanted(int index) const;  // width
  [[nodiscard]] QRectF cell(int index) const;
  [[nodiscard]] int cellAt(const QPoint& position) const;
  void openMenu();
  void paintFolded(QPainter& painter) const;

  QVector<Segment> segments_;
  int current_ = 0;
  bool folded_ = false, snug_ = false;
  QString icon_;
};

}  // namespace normlens::ui
