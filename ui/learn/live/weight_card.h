// A weight as a heat map with the means that centering takes from it under it: as it is in the file, or with a share of
// them gone. The centering is linear, so a share of it is that share of the way.
#pragma once

#include <QFrame>
#include <optional>

#include "core/protocol/messages.h"

class QLabel;

namespace normlens::ui {

class ColumnPlot;
class HeatMap;

class WeightCard final : public QFrame {
  Q_OBJECT

 public:
  WeightCard(const char* objectName, QWidget* parent);

  // weight: with what a plan makes of it; nullopt: it was not read yet. share: of the means that is gone.
  void setWeight(const std::optional<protocol::TensorStats>& weight, double share);
  void setTitle(const QString& title);
  void setFactor(double factor);  // of text

 private:
  QLabel *title_, *shape_, *largest_;
  HeatMap* map_;
  ColumnPlot* means_;
};

}  // namespace normlens::ui
