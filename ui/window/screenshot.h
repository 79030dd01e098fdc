// Renders the window, or the graph, once its model is shown and analyzed, and writes the report of its fold, for
// `normlens MODEL --screenshot FILE`, `--picture FILE` and `--report FILE`.
#pragma once

#include <QObject>
#include <QSize>
#include <QString>
#include <QTimer>
#include <functional>

namespace normlens::ui {

class MainWindow;

struct ScreenshotOptions {
  QString file;  // Pictures the window; empty: none.
  QSize size{1440, 900};
  QString select;     // name of a LayerNorm; empty: none
  QString picture{};  // Pictures the whole graph, as SVG, PDF or PNG; empty: none.
  QString report{};   // The page about the fold, which is made first; empty: none.
};

// Watches the window by events and a timer; calls `done` once: exit status 0, 2 (no such LayerNorm) or 3 (the model
// cannot be opened or folded, or a file not written) and a line for stderr.
class Screenshot final : public QObject {
  Q_OBJECT

 public:
  using Done = std::function<void(int status, const QString& line)>;
  Screenshot(MainWindow* window, ScreenshotOptions options, Done done);  // window: not owned

  void start(const QString& model);  // empty: the welcome page

 private:
  void check();
  [[nodiscard]] bool settled();
  void takePictures();
  void fold();
  void writeReport();
  void finish(int status, const QString& line);

  MainWindow* window_;  // Not owned.
  ScreenshotOptions options_;
  Done done_;
  QTimer poll_;
  QString model_, problem_;
  bool selected_ = false, folding_ = false;
  int calm_ = 0;  // polls in a row that found nothing under way
};

}  // namespace normlens::ui
