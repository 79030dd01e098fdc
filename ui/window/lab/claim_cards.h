// The start of the laboratory: a card for each claim of the papers, with what it says, how long its run took on this
// machine and what came out. Thread: GUI thread.
#pragma once

#include <QWidget>
#include <map>

#include "core/protocol/run_settings.h"

class QBoxLayout;
class QGridLayout;
class QLabel;

namespace normlens::ui {

class ElidedLabel;
class LabRuns;
class PushButton;
struct LabWord;

class ClaimCards final : public QWidget {
  Q_OBJECT

 public:
  ClaimCards(const LabRuns* runs, QWidget* parent);  // runs: not owned

  void refresh();  // after a change of what is trained, or of how far it is

 Q_SIGNALS:
  void startWanted(normlens::lab::Experiment claim);
  void settingsWanted(normlens::lab::Experiment claim);
  void runWanted(int number);  // to be shown
  void fileWanted();           // settings from a file

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Card {
    QWidget* frame;
    QLabel* state;  // a click on it shows the run
    ElidedLabel* time;
    PushButton *show, *start;
  };
  Card makeClaim(lab::Experiment claim);
  QBoxLayout* makeWordsCard(const LabWord& word);
  QWidget* makeOwn();
  void refresh(lab::Experiment claim, const Card& card);
  void arrange(int columns);
  void showRun(lab::Experiment claim);

  const LabRuns* runs_;
  std::map<lab::Experiment, Card> cards_;
  QWidget* own_;
  QGridLayout* grid_;
  int columns_ = 0;
};

}  // namespace normlens::ui
