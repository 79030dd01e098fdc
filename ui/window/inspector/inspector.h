// The right dock: what is selected, explained. A page for a norm, one for a node or edge, one for a
// group of nodes, one for the model itself.
#pragma once

#include <QFrame>
#include <QVBoxLayout>

class QLabel;
class QStackedWidget;

namespace normlens::ui {

class ElidedLabel;
class GroupPage;
class ModelPage;
class NodePage;
class NormPage;
class PushButton;
class Session;

// The frame that all pages share: a scrolling body and a footer of buttons. Used while a page is built.
struct InspectorPage {
  explicit InspectorPage(QWidget* owner);
  // Adds the widget at the end of the body.
  template <typename Widget>
  Widget* add(Widget* widget) {
    layout->addWidget(widget);
    return widget;
  }
  ElidedLabel* addTitle(QBoxLayout* row, Qt::TextElideMode mode) const;  // row: of the title; may be the body's own
  PushButton* addFooterButton(const QString& text, const char* name);

  QWidget* body;
  QVBoxLayout* layout;  // The body's.
  QWidget* page;
  QFrame* footer = nullptr;
};

// Adds a line, and under it a title with a quiet label at its right, which it returns.
QLabel* addSection(QVBoxLayout* layout, QWidget* title);

class Inspector final : public QFrame {
  Q_OBJECT

 public:
  Inspector(Session* session, QWidget* parent);  // session: not owned

  void askCenter(int value);  // selects the edge and requests what centering it would do
  void foldSelected();        // the button 'Fold this LayerNorm' of the norm shown
  void centerSelected();      // 'Center here' of what is shown

 Q_SIGNALS:
  void modelWanted(const QString& path, const QString& name);  // One of a file that holds several.
  void nodeWanted(int node);                                   // to be looked at; what is chosen stays
  void hideClicked();

 private:
  void showSelection();

  Session* session_;  // Not owned.
  QStackedWidget* pages_;
  ModelPage* model_;
  NormPage* norm_;
  NodePage* node_;
  GroupPage* group_;
};

}  // namespace normlens::ui
