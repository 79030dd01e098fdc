// The inspector's page of one LayerNorm: verdict, reason, what it needs or what blocks it, the weights' means,
// attributes.
#pragma once

#include <QWidget>

#include "ui/models/norm_model.h"
#include "ui/widgets/needs_list.h"

class QFrame;
class QLabel;

namespace normlens::ui {

class CenterCard;
class ElidedLabel;
class PlanCard;
class PropertyList;
class PushButton;
class Session;
class WeightView;
class WhyNot;

class NormPage final : public QWidget {
  Q_OBJECT

 public:
  NormPage(Session* session, QWidget* parent);  // session: not owned

  void showNorm(int index);
  void leave();        // another page is shown
  void refreshPlan();  // plan, proof or zero-mean graph changed
  void foldThis();     // or keep it, where the plan folds it
  void centerHere();   // shows first what it would free

 Q_SIGNALS:
  void nodeWanted(int node);  // to be looked at; what is chosen stays

 private:
  // An answer by one of the two rules: the paper's and the exact one, shown where they differ.
  struct Criterion {
    QFrame* frame;
    QLabel *answer, *note;
  };
  QWidget* makeCriteria(QWidget* parent);
  void showCriteria(const protocol::NormInfo& norm, Verdict verdict);
  void showSubtitle(const protocol::NormInfo& norm);
  void showConditions(const protocol::NormInfo& norm);
  void assume(const QString& size);  // "gate[-1]=1"
  void showNeeds(const protocol::NormInfo& norm);
  void showButtons();
  [[nodiscard]] QVector<Need> neededEdits() const;
  void showAttributes();

  Session* session_;  // Not owned.
  int norm_ = -1;
  ElidedLabel* title_;
  QLabel* subtitle_;
  PlanCard* plan_;
  QLabel* reason_;
  QLabel* conditions_;  // The verdict rests on them.
  QWidget* criteria_;
  Criterion paper_, exact_;
  WhyNot* whyNot_;
  QWidget* needsHead_;
  QLabel* needsCount_;
  NeedsList* needs_;
  QLabel* shared_;
  CenterCard* center_;
  WeightView* weight_;
  PropertyList* attributes_;
  PushButton* goToBlocker_;
  PushButton* foldThis_;
  PushButton* centerHere_;
};

}  // namespace normlens::ui
