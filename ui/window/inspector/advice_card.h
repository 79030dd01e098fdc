// The part of the model's page that lists what would save time, the largest gain first: see ui/models/cost_advice.h.
#pragma once

#include <QWidget>

class QLabel;

namespace normlens::ui {

class NeedsList;
class Session;

class AdviceCard final : public QWidget {
  Q_OBJECT

 public:
  AdviceCard(Session* session, QWidget* parent);  // session: not owned

 private:
  void showAdvice();

  Session* session_;  // Not owned.
  NeedsList* list_;
  QLabel* words_;
};

}  // namespace normlens::ui
