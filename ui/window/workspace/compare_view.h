// Two models side by side: the open one and what it was folded to, or any other file; or two plans of the open one.
// What differs is marked and listed, first the operators, then the weights, then by how much; of two plans, the edits.
// Both graphs move and open together.
//
// The other model is read by the engine beside the open one, which stays as it is. What it was folded to is followed: a
// fold that is taken back, or done anew, is waited for here. Thread: GUI thread.
#pragma once

#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/protocol/messages.h"
#include "core/protocol/weight_messages.h"
#include "ui/client/question.h"
#include "ui/graphview/compare/graph_diff.h"

class QSplitter;

namespace normlens::graphview {
class GraphView;
class LinkedViews;
}  // namespace normlens::graphview

namespace normlens::ui {

class ChangesPanel;
class ElidedLabel;
class IconButton;
class Session;
struct VariantRow;

class CompareView final : public QWidget {
  Q_OBJECT

 public:
  CompareView(Session* session, QWidget* parent);  // session: not owned

  // path: empty for the folded model. Shows the open model at once, the other when it was read.
  void compareWith(const QString& path);
  // Shows what each of two plans makes of the open model.
  void comparePlans(const VariantRow& a, const VariantRow& b);

 Q_SIGNALS:
  void closed();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build();
  QWidget* makeTopBar();
  QWidget* makeSide(ElidedLabel*& title, graphview::GraphView*& view, const QString& name);
  void forgetOther();
  void showPlan(graphview::GraphView* view, ElidedLabel* title, const VariantRow& variant);
  void readOther();
  void missFold();
  void followFold();
  void showReply(Reply<protocol::ModelInfo>& reply);
  void askForWeights(bool other);
  void takeWeights(bool other, const Reply<protocol::WeightDigests>& reply);
  void showDifferences();
  void askForFigures();  // by how much the weights that differ do
  void takeFigures(const std::vector<std::pair<int, int>>& weights, const Reply<protocol::WeightChanges>& reply);
  void arrange();  // the list beside the graphs, where there is room for it
  void followUser(bool other, int node);
  void showSummary();
  void showCosts();
  [[nodiscard]] QString weightsRemark() const;  // empty when they were compared
  void cancelRequests();
  void leave();

  // Holds the pending request for the weights of one of the two, and what was read of them.
  struct Weights {
    Question question;
    graphview::WeightTexts texts;
  };

  Session* session_;  // not owned
  Question graph_, figures_;
  QString path_;
  bool missesFold_ = false;  // the one that was compared is gone
  bool ofPlans_ = false;     // other_ is the open model
  bool comparing_ = false;   // a worker compares the graphs
  int comparison_ = 0;       // grows with each: what an older one found is dropped
  std::shared_ptr<const protocol::GraphDocument> other_;
  Weights weightsA_, weightsB_;
  QString weightsProblem_;
  ElidedLabel* titleA_ = nullptr;
  ElidedLabel* titleB_ = nullptr;
  ElidedLabel* summary_ = nullptr;
  IconButton* previous_ = nullptr;
  IconButton* next_ = nullptr;
  IconButton* link_ = nullptr;
  IconButton* listed_ = nullptr;
  IconButton* costs_ = nullptr;
  QSplitter* across_ = nullptr;  // both graphs, the list
  ChangesPanel* changes_ = nullptr;
  std::optional<bool> wanted_;  // whether the list is shown, once the user chose
  bool arranged_ = false;       // the user moved its border
  graphview::GraphView* viewA_ = nullptr;
  graphview::GraphView* viewB_ = nullptr;
  graphview::LinkedViews* views_ = nullptr;
};

}  // namespace normlens::ui
