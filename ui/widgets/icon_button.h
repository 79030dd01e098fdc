// A flat button of the bars: an icon, a word beside it, an arrow when it has a menu. It paints itself, so that the
// spacing is the same with every style and the icon follows the theme.
#pragma once

#include <QToolButton>

namespace normlens::ui {

class IconButton : public QToolButton {
  Q_OBJECT

 public:
  enum class Look { Flat, Outlined };

  // iconName: may be empty; text: may be empty, then `tip` is also the accessible name.
  IconButton(QString iconName, const QString& text, const QString& tip, QWidget* parent = nullptr);

  void setLook(Look look);
  void setIconExtent(int pixels);
  void showWords(bool words);  // beside the icon; off where there is no room
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] int extent() const;  // The icon's, with the size of text.
  [[nodiscard]] bool hasArrow() const { return look_ == Look::Outlined && menu() != nullptr; }

  QString iconName_;
  Look look_ = Look::Flat;
  int iconExtent_ = 16;
  bool words_ = true;
};

}  // namespace normlens::ui
