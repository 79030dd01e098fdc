// The inspector's page of a group of the graph: what it holds, its LayerNorms with the state of each, and the two
// changes of the plan that apply to all of them.
#pragma once

#include <QWidget>
#include <cstdint>
#include <vector>

class QLabel;

namespace normlens::ui {

class ElidedLabel;
class NeedsList;
class PropertyList;
class PushButton;
class Session;

struct GroupContent {
  int nodes = 0;           // without the model's inputs and outputs, and without helpers: as its box counts
  int helpers = 0;         // nodes that are hidden by default
  int64_t parameters = 0;  // elements of the weights that its nodes read
  std::vector<int> norms;  // in execution order
};
[[nodiscard]] QString nodeCount(const GroupContent& content);  // "25, and 21 helpers"
[[nodiscard]] GroupContent contentOf(const Session& session, int scope);

class GroupPage final : public QWidget {
  Q_OBJECT

 public:
  GroupPage(Session* session, QWidget* parent);  // session: not owned

  void showGroup(int scope);
  void refreshPlan();

 private:
  void keepAll(bool keep);
  [[nodiscard]] QString foldTip(bool kept) const;

  Session* session_;        // Not owned.
  std::vector<int> norms_;  // inside, in execution order
  ElidedLabel* title_;
  QLabel* subtitle_;
  PropertyList* facts_;
  QLabel* normsTitle_;
  NeedsList* list_;
  PushButton* fold_;
  PushButton* keep_;
};

}  // namespace normlens::ui
