// What the engine and the window said, line by line, with the time.
#pragma once

#include <QPlainTextEdit>

namespace normlens::ui {

class LogPage final : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit LogPage(QWidget* parent = nullptr);
  void add(const QString& line);
};

}  // namespace normlens::ui
