// Records when the window, the first picture and the analysis were on the screen, for `normlens MODEL --times`.
#pragma once

#include <QElapsedTimer>
#include <QObject>

namespace normlens::ui {

class MainWindow;

// Prints a line to stderr for each: "normlens: graph 532 ms", counted from `since`.
class Milestones final : public QObject {
  Q_OBJECT

 public:
  Milestones(MainWindow* window, const QElapsedTimer& since);  // window: not owned

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum Stage { Window, Graph, Analysis, Done };
  [[nodiscard]] bool reached() const;
  void print();

  MainWindow* window_;  // Not owned.
  QElapsedTimer since_;
  int next_ = Window;
  bool telling_ = false;
};

}  // namespace normlens::ui
