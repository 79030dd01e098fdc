// Residual streams that lose a channel (paper 003): what folds already, which streams can be narrowed or why not, what
// that saves, and the narrow model written to a file with its proof.
#pragma once

#include <QWidget>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace normlens::ui {

class Badge;
class PropertyList;
class PushButton;
class Segmented;
class Session;
class Streams;

class StreamsPage final : public QWidget {
  Q_OBJECT

 public:
  StreamsPage(Session* session, QWidget* parent);  // session: not owned

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void buildFold(QHBoxLayout* columns);
  void buildStreams(QHBoxLayout* columns);
  void buildSaving(QHBoxLayout* columns);
  void buildResult(QHBoxLayout* columns);
  void askForFile(bool force);  // where to write the narrow model
  void showAll();
  void showFold();
  void showStreams();
  void showSaving();
  void showResult();

  Session* session_;  // Not owned.
  Streams* streams_;  // Not owned: of the session.
  QWidget* filled_;
  QLabel* empty_;
  QLabel* fold_;
  PropertyList* foldFacts_;
  Segmented* padding_;
  QLabel* streamWords_;
  PropertyList* streamList_;
  PropertyList* saving_;
  QLabel* savingWords_;
  PushButton* write_;
  QPushButton* anyway_;
  QLabel* words_;
  Badge* badge_;
  PropertyList* proof_;
};

}  // namespace normlens::ui
