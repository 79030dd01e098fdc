// A lesson: a page of Markdown with steps, each with the figure that it shows and how it is set. Thread: any.
//
//   # LayerNorm as a projection                          the lesson
//   ## Take the mean away                                a step; what is in the comment behind it is JSON
//   <!-- {"name": "mean", "figure": "projection", "state": {"mean": 1.2}} -->      "model": one of
//   resources/models/lessons Text. A fenced block of the kind `formula` holds formulas: see formula_view.h.
//   ### Try it                                           an exercise; the paragraph behind the comment is the task
//   <!-- {"number": "difference", "below": 0.005, "live": "They differ by %1", "passed": "…", "failed": "…"} -->
//
// Errors are sentences that name the lesson and the step.
#pragma once

#include <QJsonObject>
#include <QString>
#include <limits>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

namespace normlens::ui {

// Passed where a number of the figure lies between two limits, or where the reader types that number.
struct Exercise {
  QString task;
  QString number;  // Names one of Figure::number().
  QString live;    // "They differ by %1", or where to do it; empty: the answer is typed
  QString passed;  // Says what the exercise showed.
  QString failed;  // Says what is still off, never the answer.
  double above = -std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool isTyped() const { return live.isEmpty(); }
  [[nodiscard]] bool isMetBy(double value) const { return value > above && value < below; }
};

struct LessonStep {
  QString name;      // as links call it
  QString title;     // a sentence
  QString list;      // in the list of steps: some words; the title where the file has none
  QString present;   // for a room, eight words at most; the title where the file has none
  QString text;      // Markdown
  QString formulas;  // lines
  QString figure;    // see figures.h
  QString model;     // The lesson's own, in resources/models/lessons; empty: the one that is open.
  QJsonObject state;
  std::optional<Exercise> exercise;
};

struct Lesson {
  QString name;
  QString title;
  std::vector<LessonStep> steps;
};

[[nodiscard]] tl::expected<Lesson, QString> parseLesson(const QString& name, const QString& markdown);

// Those of the program, in the order of their numbers: "01_projection.md" is `projection`. One with an error is left
// out; a test keeps that from happening.
[[nodiscard]] std::vector<Lesson> bundledLessons();

}  // namespace normlens::ui
