// The lessons, in place of the graph page: list, text, figure. Links: LessonWalk::goTo().
#pragma once

#include <QWidget>
#include <map>
#include <memory>

#include "ui/window/learn/lesson_walk.h"

class QBoxLayout;
class QLabel;
class QStackedWidget;
class QTextBrowser;

namespace normlens::ui {

class Figure;
class FigureExport;
class FormulaView;
class LearnBar;
class LessonList;
class LessonModels;
class Presenter;
class PushButton;
class Session;
enum class LearnPageKind;
class TryCard;

class LessonsPage final : public QWidget {
  Q_OBJECT

 public:
  LessonsPage(Session* session, bool remembers, QWidget* parent);  // session: not owned; remembers: what was passed
  ~LessonsPage() override;

  [[nodiscard]] LessonWalk* walk() const { return walk_; }
  [[nodiscard]] Figure* figure() const;  // The current step's.
  // A lesson and step (LessonWalk::goTo), of the norm that is chosen in the graph; empty: where the reader was.
  void open(const QString& link);
  void present();

 Q_SIGNALS:
  void closed();
  void pageWanted(normlens::ui::LearnPageKind page);
  void written(const QString& path, const QString& words);  // a picture
  void themeWanted(bool dark);

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QWidget* makeTopBar();
  void makeExport();
  QWidget* makeText();
  void showStep();
  void showFigure(const LessonStep& step);
  void showModelName();
  void showWhichModel();  // where it is not the open one
  void arrange();

  Session* session_;
  int chosen_ = -1;  // norm that the figures were given
  LessonWalk* walk_;
  LessonModels* models_;
  LessonList* list_;
  LearnBar* bar_ = nullptr;
  QBoxLayout* rest_ = nullptr;  // text, figure
  QWidget* textColumn_ = nullptr;
  QLabel *eyebrow_ = nullptr, *title_ = nullptr, *which_ = nullptr;
  QTextBrowser* text_ = nullptr;
  FormulaView* formulas_ = nullptr;
  TryCard* try_ = nullptr;
  PushButton *previous_ = nullptr, *next_ = nullptr;
  QStackedWidget* figures_ = nullptr;
  FigureExport* export_ = nullptr;
  std::map<QString, Figure*> made_;  // by kind
  std::unique_ptr<Presenter> presenter_;
};

}  // namespace normlens::ui
