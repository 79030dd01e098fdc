// The lesson's three dimensions at the open model's own width: the angles of one norm's input rows to the uniform
// vector, beside random vectors and LayerNorm's output. The first norm of width 768 is chosen where there is one;
// without a model, or without norms, random vectors are drawn here. Thread: GUI thread.
//
// Numbers: "inputAngle", "randomSpread", "outputAngle" in degrees; of the norm that is chosen.
#pragma once

#include <QFrame>
#include <optional>

#include "core/protocol/probe_messages.h"
#include "ui/learn/figure.h"

class QComboBox;
class QLabel;

namespace normlens::ui {

class AnglePlot;
class Question;

class AngleStrip final : public QFrame {
  Q_OBJECT

 public:
  explicit AngleStrip(QWidget* parent);
  ~AngleStrip() override;

  void showModel(const OpenModel& model);                  // requests the figures from its engine, while it can be seen
  void showGeometry(const protocol::ProbeResult* result);  // nullptr: of no model, or not measured yet
  void showOutput(bool shown);                             // behind gamma and beta as well
  void choose(int row);
  void setAlone(bool alone);      // it takes all the height there is
  void setFactor(double factor);  // Scales text and lines.
  [[nodiscard]] std::optional<double> number(const QString& name) const;

 Q_SIGNALS:
  void changed();  // a number

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeHead();
  QWidget* makeKey();
  void ask();
  void showRow();
  [[nodiscard]] const protocol::ProbeRow* row() const;  // nullptr: there are random vectors only

  OpenModel model_;
  std::unique_ptr<Question> question_;    // to the model's engine
  bool asked_ = false;                    // This model's angles were requested.
  std::vector<protocol::ProbeRow> rows_;  // those with figures
  protocol::ProbeRow drawn_;              // random vectors, in the place of an input
  bool showsOutput_ = false;
  AnglePlot* plot_ = nullptr;
  QComboBox* norms_ = nullptr;
  QLabel *title_ = nullptr, *tokens_ = nullptr;
  QLabel *input_ = nullptr, *inputNote_ = nullptr, *random_ = nullptr, *randomNote_ = nullptr, *output_ = nullptr,
         *outputNote_ = nullptr;
  QWidget *key_ = nullptr, *inputKey_ = nullptr, *outputKey_ = nullptr;
};

// Random vectors of that width: their angles to the uniform vector, counted; the spread is 1/√d radians.
[[nodiscard]] protocol::ProbeRow randomRow(int64_t width, int vectors, unsigned seed);

}  // namespace normlens::ui
