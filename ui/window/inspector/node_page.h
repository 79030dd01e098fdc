// The inspector's page of one operator or one edge: what it is, its attributes, what goes in and out.
#pragma once

#include <QWidget>

#include "ui/widgets/needs_list.h"
#include "ui/widgets/property_list.h"

class QLabel;

namespace normlens::protocol {
struct GraphNode;
}

namespace normlens::ui {

class CenterCard;
class ElidedLabel;
class PushButton;
class Session;
class WeightView;

class NodePage final : public QWidget {
  Q_OBJECT

 public:
  NodePage(Session* session, QWidget* parent);  // session: not owned

  void showNode(int id);
  void showValue(int id);  // an edge
  void leave();            // another page is shown
  void askCenter(int value);
  void centerHere();  // what is shown

 private:
  [[nodiscard]] QVector<Need> values(const std::vector<int>& ids, bool inputs) const;
  void clear();
  [[nodiscard]] static Property deviceRow();
  void showMeaning(const QString& sentence);

  Session* session_;  // Not owned.
  int centerValue_ = -1;
  ElidedLabel* title_;
  QLabel* subtitle_;
  QLabel* meaning_;
  QWidget* inputSection_;
  QLabel* inputsTitle_;
  NeedsList* inputs_;
  QWidget* outputSection_;
  QLabel* outputsTitle_;
  NeedsList* outputs_;
  CenterCard* center_;
  WeightView* weight_;
  PropertyList* attributes_;
  PushButton* centerHere_;
};

}  // namespace normlens::ui
