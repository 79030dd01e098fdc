// A number to slide: its name and value above, the ends of its range below. Arrow keys move it by one unit, with Shift
// by a tenth, Home and End to the ends.
#pragma once

#include <QWidget>
#include <functional>

class QLabel;
class QSlider;

namespace normlens::ui {

struct SlidValue {
  QString name, tip;
  double low = 0, high = 1, unit = 0.1;
  std::function<QString(double)> words;  // as it is written
};

class ValueSlider final : public QWidget {
  Q_OBJECT

 public:
  ValueSlider(const char* objectName, const SlidValue& what, QWidget* parent);

  void setValue(double value);  // no signal
  void setUnit(double unit) { what_.unit = unit; }
  [[nodiscard]] double value() const { return value_; }

 Q_SIGNALS:
  void moved(double value);  // by the user

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void show(double value);
  void take(double value);

  SlidValue what_;
  double value_ = 0;
  QLabel* written_;
  QSlider* slider_;
};

}  // namespace normlens::ui
