// The charts of the laboratory's runs, over their epochs or their layers. Each is made anew from the records, so that
// it can follow a run that goes on. Networks differ by color, by kind of line and by mark; runs and seeds that are
// drawn beside the first by how strong they are drawn. Thread: GUI thread.
#pragma once

#include <QChart>
#include <QString>
#include <memory>
#include <vector>

#include "ui/session/lab/run_store.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

enum class LabChart {
  Loss,              // The training loss, logarithmic.
  WeightDifference,  // from the network with LayerNorm, logarithmic; each precision
  GradientNorm,      // The first and the last layer's, logarithmic.
  InputLength,       // How much the length of each layer's input varies over the epochs (papers 001 §5.1).
  Angle,             // of what each norm reads to the uniform vector, after the last epoch (papers 002 §3)
  TestAccuracy,
  StepTime,  // Shown for the experiment that measures it, with intervals.
};

// One trained network. The run is not owned and outlives the picture.
struct LabCurve {
  const KeptRun* run;
  lab::RunMember member;
  QString name;       // contains only what distinguishes it from the others
  int group = 0;      // 0: of the first depth, optimizer, seed, precision and run; others are drawn weaker
  QString groupName;  // Distinguishes it from the other groups: "float64".
};

struct LabPicture {
  std::vector<LabCurve> curves;
  std::vector<LabCurve> differences;  // those of WeightDifference: of other precisions too
  [[nodiscard]] int epochs() const;   // The longest run's.
};

// A network of a kept run, by the run's number.
struct LabPlace {
  int run = 0;
  lab::RunMember member;

  bool operator==(const LabPlace&) const = default;
};
// Those that are ticked; where none is, the one that is shown and the others of its depth, optimizer, seed and
// precision.
[[nodiscard]] LabPicture labPicture(const std::vector<KeptRun>& runs, const LabPlace& shown,
                                    const std::vector<LabPlace>& ticked);

[[nodiscard]] QString labChartTitle(LabChart kind);
[[nodiscard]] QString labChartCaption(LabChart kind);
[[nodiscard]] std::unique_ptr<QChart> makeLabChart(LabChart kind, const LabPicture& picture, const Theme& theme);

// Returns the pen that draws a network's lines.
[[nodiscard]] QPen networkPen(lab::NormUse network, const Theme& theme);
// Paints a piece of that line with the network's mark.
void paintNetworkMark(QPainter& painter, const QRectF& area, lab::NormUse network, const Theme& theme);

}  // namespace normlens::ui
