// Lines to be copied: a title, a button that copies, and the lines in a box as high as they are, up to a limit.
// Thread: GUI thread.
#pragma once

#include <QWidget>

class QPlainTextEdit;

namespace normlens::ui {

class CodeBox final : public QWidget {
  Q_OBJECT

 public:
  // name: the object's name; the box's is name + "Text".
  CodeBox(const char* name, const QString& title, QWidget* parent);

  void setText(const QString& text);
  [[nodiscard]] QString text() const;

 private:
  QPlainTextEdit* box_;
};

}  // namespace normlens::ui
