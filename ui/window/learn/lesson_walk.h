// Holds a reader's place: the lesson, its step, and which exercises were passed. Page and presenter show the same one.
//
// With `remembers`, QSettings keep what was passed. Thread: GUI thread.
#pragma once

#include <QObject>
#include <QStringList>
#include <vector>

#include "ui/learn/lesson.h"

namespace normlens::ui {

class LessonWalk final : public QObject {
  Q_OBJECT

 public:
  LessonWalk(std::vector<Lesson> lessons, bool remembers, QObject* parent);

  [[nodiscard]] const std::vector<Lesson>& lessons() const { return lessons_; }
  [[nodiscard]] int lesson() const { return lesson_; }
  [[nodiscard]] int step() const { return step_; }
  [[nodiscard]] const Lesson& currentLesson() const { return lessons_[static_cast<size_t>(lesson_)]; }
  [[nodiscard]] const LessonStep& current() const { return currentLesson().steps[static_cast<size_t>(step_)]; }

  void goTo(int lesson, int step);
  // "projection" or "projection/lost"; the beginning where there is none of that name.
  void goTo(const QString& link);
  [[nodiscard]] bool has(const QString& link) const;
  [[nodiscard]] const LessonStep* next() const;  // nullptr at the end of all
  [[nodiscard]] const LessonStep* previous() const;
  void forward();
  void back();

  void pass();                                              // the exercise of the current step
  [[nodiscard]] bool isPassed(int lesson) const;            // all of its exercises
  [[nodiscard]] bool isPassed(int lesson, int step) const;  // false where it has none
  [[nodiscard]] int passedLessons() const;

 Q_SIGNALS:
  void moved();
  void passedChanged();

 private:
  struct StepPosition {
    int lesson, step;
  };
  [[nodiscard]] std::optional<StepPosition> positionOf(const QString& link) const;
  [[nodiscard]] std::optional<StepPosition> positionAt(int steps) const;  // so many steps on
  [[nodiscard]] QString keyOf(int lesson, int step) const;

  std::vector<Lesson> lessons_;
  int lesson_ = 0, step_ = 0;
  QStringList passed_;
  bool remembers_;
};

}  // namespace normlens::ui
