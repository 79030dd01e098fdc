// A line of text that ends, or begins, in "…" where it does not fit, the whole of it being the tooltip; or several
// lines, with setWordWrap().
#pragma once

#include <QLabel>

namespace normlens::ui {

class ElidedLabel final : public QLabel {
  Q_OBJECT

 public:
  ElidedLabel(const QString& text, Qt::TextElideMode mode, QWidget* parent = nullptr);

  void setFullText(const QString& text);
  // A text of up to so many pixels, at the usual size of text, is shown whole: a neighbor has to give way.
  void setWholeUpTo(int pixels);
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void elide();

  QString full_;
  Qt::TextElideMode mode_;
  int wholeUpTo_ = 0;
};

}  // namespace normlens::ui
