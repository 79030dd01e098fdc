// The drawing of the model: pan, zoom, open and close modules, select, and light up one norm's zero-mean graph.
//
// One opaque widget that paints flat arrays itself; layouts come from a worker thread, so no call here takes long.
// Calls that need a layout (reveal, setHighlight, setScopesOpen) may come at any time and take effect when it is there.
// Node, value and scope ids are those of the GraphDocument. Thread: GUI thread.
//
//   auto* view = new GraphView;
//   view->setDocument(std::make_shared<const protocol::GraphDocument>(std::move(info.graph)));
//   view->updateDocument(documentWithShapes);                 // shapes, streams
//   view->setNorms(analysis.norms);                           // verdict marks
//   view->setHighlight(zeroMeanGraph, norm.blocker_path);     // dims everything else
#pragma once

#include <QBasicTimer>
#include <QPointer>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/camera.h"
#include "ui/graphview/history.h"
#include "ui/graphview/marks/marks.h"
#include "ui/graphview/marks/reach.h"
#include "ui/graphview/overlays/canvas_message.h"
#include "ui/graphview/overlays/overlays.h"
#include "ui/graphview/paint/graph_painter.h"
#include "ui/graphview/paint/picture_job.h"
#include "ui/graphview/shown.h"
#include "ui/layout/layout_worker.h"
#include "ui/theme/theme.h"

class QVariantAnimation;

namespace normlens::graphview {

struct ScopeState {
  int scope = -1;
  bool open = false;
};

class GraphView : public QWidget {
  Q_OBJECT

 public:
  explicit GraphView(QWidget* parent = nullptr);

  // ---- what is shown
  void setDocument(std::shared_ptr<const protocol::GraphDocument> document);  // null: empty state
  // The same nodes with other values: shapes have come. titles: what nodes are called instead of their labels. Lays out
  // anew if streams or titles changed.
  void updateDocument(std::shared_ptr<const protocol::GraphDocument> document, layout::NodeTitles titles = {});
  void setNorms(const std::vector<protocol::NormInfo>& norms);  // marks the LayerNorms with their verdicts
  void setOptions(const layout::HierarchyOptions& options);     // helpers, repeated blocks
  [[nodiscard]] const layout::HierarchyOptions& options() const { return options_; }
  void setDirection(layout::Direction direction);
  [[nodiscard]] layout::Direction direction() const { return direction_; }
  void setBusy(const QString& stage);     // spinner over an empty canvas: "Opening gpt2.pt"; empty text: no spinner
  void setError(const QString& message);  // one plain sentence instead of a graph; empty text: none

  // ---- one norm's zero-mean graph. blockerPath: node ids from the norm to the blocker, empty when it folds; reason: a
  // few words, for the way to the blocker while that is out of sight.
  void setHighlight(const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath = {},
                    const QString& reason = {});
  void setOwnCentering(const QString& title, const QString& detail);  // beside the highlighted norm; empty: nothing
  void clearHighlight();
  [[nodiscard]] bool hasHighlight() const { return marks_.lighting.active(); }

  // ---- a comparison with another graph. By place in the document's nodes; empty: no marks
  void setMarks(std::vector<NodeMark> marks);

  // ---- the picture 'After': as the plan makes it. nullopt: 'Before', as it was read.
  void setPlan(std::optional<PlanPicture> plan);
  [[nodiscard]] const PlanMarks& planMarks() const { return marks_.plan; }

  // ---- the whole model: which values are zero-mean now, after the plan, or not. nullopt: the overlay is off.
  void setZeroMeanMap(std::optional<protocol::ZeroMeanMap> map);
  [[nodiscard]] const MeanStates& meanStates() const { return marks_.means; }

  // ---- the measured time of each node, as its color. nullopt: the nodes have the colors of their classes.
  void setTimes(std::optional<NodeTimes> times);
  [[nodiscard]] const Heat& heat() const { return marks_.heat; }

  // Every node shows the letter of its class, not only those of the highlight.
  void setLetters(bool shown);

  // ---- selection
  void selectNode(int node);               // -1: nothing. Does not move the view and does not emit.
  [[nodiscard]] int selectedNode() const;  // A slim group's main op; -1.
  [[nodiscard]] int selectedBox() const { return shown_.scene.boxOf(shown_.selectedItem); }  // -1
  void chooseBox(int box) { selectByUser({box, -1, false}); }                                // as a click on it
  void reveal(int node);  // selects it, opens the groups around it and moves there
  void revealScope(int scope);
  void setScopesOpen(const std::vector<ScopeState>& scopes);  // one layout for all
  void expandToDepth(int levels);                             // groups that many levels below the model, and no others
  void expandAll();
  void collapseAll();
  void resetGroups();  // as a model is shown at first

  // ---- back and forward between the places that were left by a jump
  void goBack();
  void goForward();
  [[nodiscard]] bool canGoBack() const { return history_.canGoBack(); }
  [[nodiscard]] bool canGoForward() const { return history_.canGoForward(); }

  // ---- the view
  [[nodiscard]] double zoom() const { return camera_.zoom; }
  void setZoom(double zoom);  // about the middle
  void zoomIn();
  void zoomOut();
  void stepBack();  // Esc: hides the keys, stops the layout, or clears the selection
  void fit();
  void toggleKeys() { overlays_.toggleKeys(); }  // the card of keys and gestures
  void setCamera(const Camera& camera);          // at once
  [[nodiscard]] ViewPlace place() const;
  void setPlace(const ViewPlace& place);  // once it is laid out; unknown groups are left out
  void setAnimated(bool animated) { animated_ = animated; }
  // Prepares for a room: what the view goes to is `factor` times as large, and nothing lies over the graph.
  void setPresented(double factor);
  // Returns what a PictureJob needs to write the graph as shown: the part in sight, or all of it at full detail.
  enum class Extent : uint8_t { View, Whole };
  [[nodiscard]] PictureOrder orderPicture(const QString& path, Extent extent) const;
  [[nodiscard]] bool isLaidOut() const { return shown_.scene.layout != nullptr && !worker_.busy(); }
  [[nodiscard]] bool isStill() const;  // laid out, and the camera is there

  // ---- for tests and the minimap
  [[nodiscard]] const Scene& scene() const { return shown_.scene; }
  [[nodiscard]] const Camera& camera() const { return camera_; }
  [[nodiscard]] const Lighting& lighting() const { return marks_.lighting; }
  [[nodiscard]] const Reach& reach() const { return reach_; }
  [[nodiscard]] bool isScopeOpen(int scope) const;
  void centerOn(const QPointF& world);

  [[nodiscard]] QSize sizeHint() const override { return {820, 620}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 80}; }

 Q_SIGNALS:
  void nodeSelected(int node);    // by the user; -1 when the selection was cleared
  void scopeSelected(int scope);  // a group
  void edgeSelected(int value);
  void blockerRequested();               // to go to what blocks the highlighted norm
  void shiftConeRequested(int node);     // Wants what the centering of a layer's weights reaches.
  void compareHereRequested(int value);  // 'Compare values here', in the same places
  void centerHereRequested(int value);   // 'Center here' on an edge, or on a node: its first output
  void viewMoved();                      // another zoom, or another place
  void layoutFinished();
  void historyChanged();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void timerEvent(QTimerEvent* event) override;

 private:
  // graph_view_layout.cpp: what is open, and what to do when a layout comes
  void requestLayout();
  void rebuildHierarchy();
  void takeLayout(const layout::LayoutResult& result);
  bool stopLayout();  // The picture on screen stays. False: none was in work.
  [[nodiscard]] bool rebuilding() const { return newest_ == nullptr || newest_ != shown_.scene.hierarchy; }
  [[nodiscard]] Wishes wishes() const;
  void restoreView();
  void anchorAt(int item);
  void toggle(int item);
  [[nodiscard]] int itemOfScope(int scope) const;
  void goTo(int item);

  // graph_view.cpp
  void moveCamera(const Camera& target, bool animated);
  void cameraChanged();
  [[nodiscard]] QRectF freeArea() const;  // The widget's area, less the margins.
  [[nodiscard]] QRectF wholeArea() const;
  void lookFirst();
  void showItem(int item);
  void updateOverlays();
  void updateSpinner();
  [[nodiscard]] ViewState viewState() const;

  void showGroups(layout::GroupSet groups);
  void rememberPlace();
  void showAnchor(const std::optional<ViewAnchor>& anchor);
  void goToWantedPlace();
  void followPath();

  void selectAround();
  void handleLetter(QKeyEvent* event);
  void select(int item, int value);
  void selectByUser(const Hit& hit);
  void moveSelection(int dx, int dy);
  void showMenu(const Hit& hit, const QPoint& globalPosition);
  void updateHover(const QPointF& position);
  [[nodiscard]] Hit hitAt(const QPointF& position) const;

  ui::Theme theme_;
  Overlays overlays_;
  std::shared_ptr<const protocol::GraphDocument> document_;
  std::shared_ptr<const layout::Hierarchy> newest_;  // to lay out next, not yet on screen; null: to be made
  layout::NodeTitles titles_;
  layout::HierarchyOptions options_;
  layout::Direction direction_ = layout::Direction::Down;
  layout::LayoutWorker worker_;
  Shown shown_;
  Camera camera_;
  std::pair<Camera, QSize> wantedCamera_;  // as it was last set, and for which size of the view
  double textScale_ = ui::textScale();     // that the camera was set for
  Reach reach_;                            // The reach of the thing under the pointer.
  History history_;
  ViewAnchor anchor_;  // to go to
  GraphPainter painter_;

  WantedMarks wanted_;
  Marks marks_;  // in what is shown

  Awaited awaited_;
  Hit hover_;
  QPointF pressedAt_, lastDrag_;
  bool pressed_ = false, dragging_ = false;
  bool animated_ = true;
  double presented_ = 1;
  bool userMoved_ = false;  // until then a resize fits the picture again
  QPointer<QVariantAnimation> animation_;
  CanvasMessage message_;
  QBasicTimer hoverTimer_;
};

}  // namespace normlens::graphview
