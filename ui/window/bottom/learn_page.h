// Explains the words of this program: a list of titles and the page that is read. Texts: resources/words, in the order
// of their numbers. A link "lesson:projection/lost" leads to a lesson that shows it (learn/lessons_page.h).
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

 Q_SIGNALS:
  void lessonWanted(const QString& link);

 private:
  void fill();
  void read();

  QListWidget* titles_;
  QTextBrowser* text_;
};

}  // namespace normlens::ui
