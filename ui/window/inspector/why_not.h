// Shows why a LayerNorm is blocked: the blocker and the other paths to it, the numbers that would have to be equal,
// what a centering of its own costs against what folding it saves, and the error of folding it all the same.
#pragma once

#include <QWidget>

#include "ui/client/question.h"

class QLabel;
class QVBoxLayout;

namespace normlens::protocol {
struct NormInfo;
}

namespace normlens::ui {

class ElidedLabel;
class ForcedErrorCard;
class HistogramPlot;
class NeedsList;
class PropertyList;
class Session;

class WhyNot final : public QWidget {
  Q_OBJECT

 public:
  WhyNot(Session* session, QWidget* parent);  // session: not owned

  void showNorm(int norm);  // a blocked one; requests the numbers and, where nothing runs, the costs
  void leave();             // something else is shown: what was requested is not wanted any more

 Q_SIGNALS:
  void nodeWanted(int node);  // to be looked at

 private:
  QWidget* makeGamma();
  QWidget* makeCosts();
  void showPaths();
  void askGamma();
  void showGamma(const protocol::TensorStats& stats);
  void showCosts();
  [[nodiscard]] bool isShown() const { return norm_ >= 0; }

  Session* session_;  // Not owned.
  Question numbers_;
  int norm_ = -1;  // -1: none is shown
  QWidget* why_;
  QLabel* count_;
  NeedsList* paths_;
  QWidget* gamma_;
  ElidedLabel* gammaTitle_;
  QLabel* gammaCount_;
  HistogramPlot* histogram_;
  QWidget* costs_;
  QLabel* costsNote_;
  PropertyList* costList_;
  ForcedErrorCard* errors_;
};

}  // namespace normlens::ui
