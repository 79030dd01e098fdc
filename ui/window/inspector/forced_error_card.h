// Shows how much the model's outputs change where one LayerNorm is folded against its verdict: a figure for each
// floating type, with what rounding alone may do beside it. Measured when the user starts it.
#pragma once

#include <QWidget>

class QGridLayout;
class QLabel;
class QPushButton;

namespace normlens::ui {

class ElidedLabel;
class ForcedErrors;
class Session;

class ForcedErrorCard final : public QWidget {
  Q_OBJECT

 public:
  ForcedErrorCard(Session* session, QWidget* parent);  // session: not owned

  void showNorm(int norm);
  void leave();  // another one is shown: what is being measured for this one stops

 private:
  void buildTable();
  void go();  // measures, or stops
  void showFigures();

  Session* session_;      // Not owned.
  ForcedErrors* errors_;  // Not owned: of the session.
  int norm_ = -1;
  QLabel* words_;
  QWidget* table_;
  QLabel* missing_;  // why figures are not there
  QGridLayout* grid_;
  ElidedLabel* name_;
  QVector<QLabel*> figures_, limits_;  // by type
  QPushButton* go_;
};

}  // namespace normlens::ui
