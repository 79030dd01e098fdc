// The lessons: a list of titles and the one that is read. Texts: resources/lessons, in the order of their numbers.
#pragma once

#include <QWidget>

class QListWidget;
class QTextBrowser;

namespace normlens::ui {

class LearnPage final : public QWidget {
  Q_OBJECT

 public:
  explicit LearnPage(QWidget* parent);

  // name: "gamma_beta"; the first lesson where there is none of that name.
  void showLesson(const QString& name);
  [[nodiscard]] QString lesson() const;  // the name of the one that is shown

 private:
  void fill();
  void read();

  QListWidget* titles_;
  QTextBrowser* text_;
};

}  // namespace normlens::ui
