// Both tensors behind one row of the differences, and their difference, as heat maps; a click looks closer.
#pragma once

#include <QWidget>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/client/question.h"

class QLabel;
class QLayout;
class QPushButton;
class QStackedWidget;

namespace normlens::ui {

class DifferenceRun;
class ElidedLabel;
class HeatMap;

class TensorPairView final : public QWidget {
  Q_OBJECT

 public:
  TensorPairView(DifferenceRun* run, QWidget* parent);  // run: not owned

  // Its tensors are requested when the view is visible. nullopt: nothing is chosen.
  void setRow(const std::optional<protocol::DiffRow>& row, const std::string& dtype);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Panel {
    QLabel* caption = nullptr;
    HeatMap* map = nullptr;
  };
  QLayout* buildHead();
  void buildMaps();
  void ask(const protocol::TensorTile& tile);
  void showPair(const Reply<protocol::TensorPair>& reply);
  void say(const QString& words);
  void askAround(int64_t row, int64_t column, int64_t rows, int64_t columns);  // a tile of that size about the place
  void zoomTo(int row, int column);
  void zoomToWorst();

  DifferenceRun* run_;  // Not owned.
  Question tile_;
  std::optional<protocol::DiffRow> row_;
  std::string dtype_;
  std::optional<protocol::TensorPair> pair_;
  bool asked_ = false;  // for the row that is set
  ElidedLabel* head_;
  QPushButton* whole_;
  QPushButton* worst_;
  QStackedWidget* stack_;
  QLabel* words_;
  std::vector<Panel> panels_;  // original, other, difference
};

}  // namespace normlens::ui
