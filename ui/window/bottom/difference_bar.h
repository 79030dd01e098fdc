// Sets what is compared and how: precisions, batches, the other model, the inputs; Compare, and Cancel while it runs.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/session/difference_run.h"

class QBoxLayout;
class QCheckBox;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace normlens::ui {

class ElidedLabel;
class Segmented;
class Session;

class DifferenceBar final : public QWidget {
  Q_OBJECT

 public:
  DifferenceBar(Session* session, DifferenceRun* run, QWidget* parent);  // not owned

  [[nodiscard]] DifferenceSettings settings() const;       // as they are chosen now
  [[nodiscard]] Segmented* view() const { return view_; }  // Chooses the view beside the table.

 Q_SIGNALS:
  void inputsWanted();  // the tab where they are set
  void settingsChanged();

 private:
  void buildControls();
  void buildTypesMenu(QBoxLayout* row);
  void buildMenu();
  void showBatches();
  void setAgainst(const QString& path);
  void showState();
  [[nodiscard]] QString outcome() const;

  Session* session_;    // Not owned.
  DifferenceRun* run_;  // Not owned.
  QString against_;     // empty: the folded model
  std::vector<QCheckBox*> types_;
  QPushButton* typesMenu_;
  QSpinBox* batches_;
  bool briefBatches_ = false, briefOther_ = false;
  QPushButton* other_;
  QPushButton* inputs_;
  QPushButton* go_;
  QProgressBar* progress_;
  Segmented* view_;
  ElidedLabel* words_;
};

}  // namespace normlens::ui
