// What a lesson's step shows: live, set by the step's state, and read by its exercise through numbers with names.
//
// The accessible name of a figure is its current finding ("LayerNorm moved by 0"). Thread: GUI thread.
#pragma once

#include <QJsonObject>
#include <QVBoxLayout>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

// What lessons show of the model that is open.
struct OpenModel {
  std::shared_ptr<const protocol::GraphDocument> document;  // null: none is open
  std::vector<protocol::NormInfo> norms;
};

enum class Motion { Animated, Cut };
[[nodiscard]] Motion wantedMotion(const QWidget& widget);  // by the desktop's wish for less of it

class Figure : public QWidget {
  Q_OBJECT

 public:
  explicit Figure(QWidget* parent);

  // As the step says. Animated: what moves gets there in 200 ms.
  virtual void showState(const QJsonObject& state, Motion motion) = 0;
  [[nodiscard]] virtual std::optional<double> number(const QString& name) const = 0;  // nullopt: none of that name
  virtual bool togglePlay() { return false; }  // Space; false: it has nothing to play
  virtual void showModel(const OpenModel& /*model*/) {}
  virtual void showGraph(const protocol::ZeroMeanGraph& /*graph*/) {}  // as it was wanted

  // For a room: text and lines `factor` times as large; the controls float over the picture, and only on demand.
  void setPresented(double factor);
  void showControls(bool shown) { controls_->setVisible(shown); }

 Q_SIGNALS:
  void changed();              // a number, the finding
  void graphWanted(int norm);  // its zero-mean graph

 protected:
  virtual void enlarge(double factor) = 0;
  [[nodiscard]] QVBoxLayout* column() const { return column_; }
  void setControls(QWidget* controls);  // at the foot; once the rest of the column is there
  void resizeEvent(QResizeEvent* event) override;

 private:
  QVBoxLayout* column_;
  QWidget* controls_ = nullptr;
  bool presented_ = false;
};

}  // namespace normlens::ui
