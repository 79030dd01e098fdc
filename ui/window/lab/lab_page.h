// The laboratory (papers 000, section 5, and 001, C.4): networks with LayerNorm and with what may replace it are
// trained side by side, live; what was trained is kept and can be looked at again, gone on with, and opened as a model.
// Thread: GUI thread.
#pragma once

#include <QTimer>
#include <optional>

#include "core/protocol/run_settings.h"
#include "ui/charts/lab_charts.h"
#include "ui/window/learn/figures_page.h"

class QLabel;
class QMenu;
class QModelIndex;
class QScrollArea;

namespace normlens::ui {

class ClaimCards;
class LabFigures;
class LabRuns;
class LabTable;
class PushButton;
class RunBar;
class SettingsForm;

class LabPage final : public FiguresPage {
  Q_OBJECT

 public:
  LabPage(Session* session, LabRuns* runs, QWidget* parent);  // neither is owned

 Q_SIGNALS:
  void modelWanted(const QString& path);  // a trained network is to be opened

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeControls(QWidget* side);
  QWidget* makeLeft(QWidget* side);
  void showForm(bool form);
  QWidget* makeFoot(QWidget* side);
  QWidget* makeFigures();
  void makeTable(QWidget* parent);
  void extendMenu(QMenu* menu, const QModelIndex& at);

  void useSettings(const lab::RunSettings& settings);
  void start(const lab::RunSettings& settings);
  void refresh();      // all, after a change of what is trained
  void showRows();     // ... and after an epoch
  void showFigures();  // ... and after another row or tick
  void followForm();
  void openWeights(const QModelIndex& at);
  [[nodiscard]] std::optional<LabPlace> shownPlace() const;
  [[nodiscard]] std::vector<LabPlace> tickedPlaces() const;

  void openSettings();
  void saveSettings(const lab::RunSettings& settings);
  void showProblem(const QString& problem) override;

  LabRuns* runs_;
  LabTable* table_;
  QWidget *left_ = nullptr, *side_ = nullptr;
  QScrollArea* cardsArea_ = nullptr;
  ClaimCards* cards_ = nullptr;
  SettingsForm* form_ = nullptr;
  QLabel *locked_ = nullptr, *problem_ = nullptr;
  PushButton *start_ = nullptr, *open_ = nullptr, *save_ = nullptr;
  RunBar* runBar_ = nullptr;
  LabFigures* figures_ = nullptr;
  QLabel* empty_ = nullptr;
  QTimer soon_;  // epochs may come faster than charts are drawn
};

}  // namespace normlens::ui
