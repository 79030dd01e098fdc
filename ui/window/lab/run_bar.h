// The bar above the charts: which run is shown, how far the one that is trained has come, and what can be done with it.
// Thread: GUI thread.
#pragma once

#include <QFrame>

#include "ui/session/lab/lab_runs.h"

class QLabel;
class QProgressBar;

namespace normlens::ui {

class ElidedLabel;
class PushButton;

class RunBar final : public QFrame {
  Q_OBJECT

 public:
  RunBar(LabRuns* runs, QWidget* parent);  // not owned

  // experiment: of the settings, where no run is shown (nullptr).
  void show(const KeptRun* run, std::string_view experiment);

 Q_SIGNALS:
  void pictureWanted();
  void tableWanted();
  void settingsWanted();  // of the run that is shown, as a file

 private:
  void makeProgress();
  void makeButtons();
  void refresh();
  void act();  // does what the first button is labeled with
  [[nodiscard]] QString progressWords() const;

  LabRuns* runs_;
  int shown_ = 0;  // its number; 0: none
  ElidedLabel *title_, *line_;
  QLabel* progressWords_ = nullptr;
  QWidget* progress_ = nullptr;
  QProgressBar* bar_ = nullptr;
  PushButton *act_ = nullptr, *stop_ = nullptr, *export_ = nullptr;
  QString usualLine_;
};

}  // namespace normlens::ui
