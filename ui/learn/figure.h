// What a lesson's step shows: live, set by the step's state, and read by its exercise through numbers with names.
//
// The accessible name of a figure is its current finding ("LayerNorm moved by 0"). Thread: GUI thread.
#pragma once

#include <QJsonObject>
#include <QWidget>
#include <optional>

namespace normlens::ui {

enum class Motion { Animated, Cut };

class Figure : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  // As the step says. Animated: what moves gets there in 200 ms.
  virtual void showState(const QJsonObject& state, Motion motion) = 0;
  [[nodiscard]] virtual std::optional<double> number(const QString& name) const = 0;  // nullopt: none of that name
  // For a room: text `factor` times as large, lines 1.55 times as wide, and no controls but on demand.
  virtual void setPresented(double factor) = 0;
  virtual void showControls(bool shown) = 0;
  virtual bool togglePlay() { return false; }  // Space; false: it has nothing to play

 Q_SIGNALS:
  void changed();  // a number, the finding
};

}  // namespace normlens::ui
