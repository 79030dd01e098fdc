// The middle of the window: where one is in the model, how the graph is coloured, and the graph itself.
#pragma once

#include <QFrame>

class QHBoxLayout;

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

class Segmented;
class Session;

class GraphPane final : public QFrame {
  Q_OBJECT

 public:
  GraphPane(Session* session, QWidget* parent);  // session: not owned

  [[nodiscard]] graphview::GraphView* view() const { return view_; }
  void goToNode(int node);
  void goToScope(int scope);

 Q_SIGNALS:
  void scopeShown(int scope);
  void centerHereRequested(int value);

 private:
  void showModel();
  void showAnalysis();
  void showSelection();
  void showZeroMean();
  void showJob();
  void showCrumbs(int scope, const QString& last);
  void showCrumbsOfSelection();

  Session* session_;  // Not owned.
  graphview::GraphView* view_;
  Segmented* mode_;
  QFrame* crumbs_;
  QHBoxLayout* crumbLayout_;
};

}  // namespace normlens::ui
