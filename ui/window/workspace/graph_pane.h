// The middle of the window: where one is in the model, how the graph is colored, and the graph itself.
#pragma once

#include <QFrame>
#include <optional>
#include <utility>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/client/question.h"

class QHBoxLayout;

namespace normlens::graphview {
class GraphView;
struct PlanPicture;
struct NodeTimes;
}  // namespace normlens::graphview

namespace normlens::ui {

class GraphActions;
class CostLegend;
class HintCard;
class PictureBar;
class Segmented;
class RoomSteps;
class Session;

class GraphPane final : public QFrame {
  Q_OBJECT

 public:
  GraphPane(Session* session, QWidget* parent);  // session: not owned

  [[nodiscard]] graphview::GraphView* view() const { return view_; }
  [[nodiscard]] GraphActions* actions() const { return actions_; }
  [[nodiscard]] Segmented* modes() const { return mode_; }  // what the graph shows
  void goToNode(int node);
  void lookAt(int node);  // The selection stays.
  void goToScope(int scope);
  // Writes a picture in the background; reported() reports how it went. One at a time: another replaces it.
  void savePicture(const QString& path, bool whole);
  [[nodiscard]] graphview::PlanPicture planPicture() const;  // while there is a plan

 Q_SIGNALS:
  void reported(const QString& message);  // why there is nothing to show; what was written
  void pictureDone(bool written);
  void scopeShown(int scope);
  void centerHereRequested(int value);
  void compareHereRequested(int value);

 private:
  using TimesOfNodes = std::vector<std::pair<int, double>>;  // milliseconds, by id

  [[nodiscard]] QFrame* makeHeader();                              // the place in the model, what is shown of it
  void makeRoomIn(QFrame* bar, const QVector<QWidget*>& history);  // how it gives way
  void connectView();
  void connectSession();
  void showModel();
  void showAnalysis();
  void showSelection();
  void goToBlocker();
  [[nodiscard]] const protocol::NormInfo* blockedNorm() const;  // chosen, and something is in its way; nullptr
  void showZeroMean();
  void showOwnCentering();
  void showMode();
  void showCosts();
  void showLegend(const graphview::NodeTimes* times);
  [[nodiscard]] bool isAfter() const;
  // Before or after the plan, as measured; nullopt: not measured, or not known yet.
  [[nodiscard]] std::optional<graphview::NodeTimes> shownTimes();
  [[nodiscard]] bool haveTimesAfter(const TimesOfNodes& measured);
  void showAfter(bool after);
  void showPlan();
  void showPreview();
  void requestMap();
  void requestCone(int node);
  void askForPicture(bool whole);
  void showCone(int node, const protocol::ShiftCone& cone);
  void showJob();
  void showCrumbs(int scope, const QString& last);

  Session* session_;  // Not owned.
  Question map_, foldedGraph_;
  TimesOfNodes timesOf_;                    // those of the fold's own graph that are being placed; empty: none
  std::optional<TimesOfNodes> timesAfter_;  // the same, in the places of the open model's nodes
  graphview::GraphView* view_;
  GraphActions* actions_;
  PictureBar* pictures_;
  HintCard* hint_;      // over the graph: what an edit would take with it
  CostLegend* legend_;  // below it
  Segmented* after_;    // before, after
  Segmented* mode_;
  QFrame* crumbs_;
  QHBoxLayout* crumbLayout_;
  RoomSteps* crumbRoom_ = nullptr;
  bool coneShown_ = false;
};

}  // namespace normlens::ui
