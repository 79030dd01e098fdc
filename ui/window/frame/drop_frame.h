// Lies over the whole window while files are dragged over it, and names what a drop will do. At most two models can be
// shown; the frame says so before the user lets go. Takes no events.
#pragma once

#include <QStringList>
#include <QWidget>

namespace normlens::ui {

// What a drop of these files does: opens the first, shows it next to the second; or why nothing is opened.
struct DropPlan {
  QStringList files;  // one or two; empty: nothing is opened
  QString words;      // one sentence
};
[[nodiscard]] DropPlan dropPlan(const QStringList& files);

class DropFrame final : public QWidget {
  Q_OBJECT

 public:
  explicit DropFrame(QWidget* over);  // the parent

  void show(const DropPlan& plan);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  DropPlan plan_;
};

}  // namespace normlens::ui
