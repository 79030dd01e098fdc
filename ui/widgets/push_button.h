// A button with text and, if wanted, an icon: filled (the one next action) or outlined.
#pragma once

#include <QPushButton>

namespace normlens::ui {

class PushButton final : public QPushButton {
  Q_OBJECT

 public:
  enum class Look { Filled, Outlined };

  PushButton(const QString& text, Look look, QWidget* parent);

  void setIconName(const QString& name);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;  // its text is whole, in less room

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Look look_;
  QString iconName_;
};

}  // namespace normlens::ui
