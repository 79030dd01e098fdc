#include "ui/widgets/follow_text.h"

#include <QEvent>

#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

class TextFollower final : public QObject {
 public:
  TextFollower(QWidget* widget, std::function<void()> apply)
      : QObject(widget), apply_(std::move(apply)), scale_(textScale()) {
    widget->installEventFilter(this);
    apply_();
  }

 protected:
  // A style sheet comes with each size of text.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::StyleChange && scale_ != textScale()) {
      scale_ = textScale();
      apply_();
    }
    return QObject::eventFilter(watched, event);
  }

 private:
  std::function<void()> apply_;
  double scale_;  // that apply_ was last called at
};

}  // namespace

void followText(QWidget* widget, const std::function<void()>& apply) { new TextFollower(widget, apply); }

void setTextHeight(QWidget* widget, int pixels) {
  followText(widget, [widget, pixels] { widget->setFixedHeight(grown(pixels)); });
}

void setTextWidth(QWidget* widget, int pixels) {
  followText(widget, [widget, pixels] { widget->setFixedWidth(grown(pixels)); });
}

void setTextWidthAtLeast(QWidget* widget, int pixels) {
  followText(widget, [widget, pixels] { widget->setMinimumWidth(grown(pixels)); });
}

}  // namespace normlens::ui
