#include "ui/window/learn/lesson_walk.h"

#include <QSettings>
#include <algorithm>

namespace normlens::ui {
namespace {

constexpr char kSetting[] = "learn/passed";

}  // namespace

LessonWalk::LessonWalk(std::vector<Lesson> lessons, bool remembers, QObject* parent)
    : QObject(parent), lessons_(std::move(lessons)), remembers_(remembers) {
  if (remembers_) passed_ = QSettings().value(QLatin1String(kSetting)).toStringList();
}

void LessonWalk::goTo(int lesson, int step) {
  lesson_ = std::clamp(lesson, 0, static_cast<int>(lessons_.size()) - 1);
  step_ = std::clamp(step, 0, static_cast<int>(currentLesson().steps.size()) - 1);
  Q_EMIT moved();
}

std::optional<LessonWalk::StepPosition> LessonWalk::positionOf(const QString& link) const {
  const QString name = link.section(u'/', 0, 0), step = link.section(u'/', 1);
  const auto lesson = std::ranges::find(lessons_, name, &Lesson::name);
  if (lesson == lessons_.end()) return std::nullopt;
  const int at = static_cast<int>(lesson - lessons_.begin());
  if (step.isEmpty()) return StepPosition{at, 0};
  const auto found = std::ranges::find(lesson->steps, step, &LessonStep::name);
  if (found == lesson->steps.end()) return std::nullopt;
  return StepPosition{at, static_cast<int>(found - lesson->steps.begin())};
}

bool LessonWalk::has(const QString& link) const { return positionOf(link).has_value(); }

void LessonWalk::goTo(const QString& link) {
  const StepPosition at = positionOf(link).value_or(StepPosition{0, 0});
  goTo(at.lesson, at.step);
}

std::optional<LessonWalk::StepPosition> LessonWalk::positionAt(int steps) const {
  StepPosition at{lesson_, step_ + steps};
  if (at.step < 0) {
    if (--at.lesson < 0) return std::nullopt;
    at.step = static_cast<int>(lessons_[static_cast<size_t>(at.lesson)].steps.size()) - 1;
  } else if (at.step == static_cast<int>(currentLesson().steps.size())) {
    if (++at.lesson == static_cast<int>(lessons_.size())) return std::nullopt;
    at.step = 0;
  }
  return at;
}

const LessonStep* LessonWalk::next() const {
  const auto at = positionAt(1);
  return at ? &lessons_[static_cast<size_t>(at->lesson)].steps[static_cast<size_t>(at->step)] : nullptr;
}

const LessonStep* LessonWalk::previous() const {
  const auto at = positionAt(-1);
  return at ? &lessons_[static_cast<size_t>(at->lesson)].steps[static_cast<size_t>(at->step)] : nullptr;
}

void LessonWalk::forward() {
  if (const auto at = positionAt(1)) goTo(at->lesson, at->step);
}

void LessonWalk::back() {
  if (const auto at = positionAt(-1)) goTo(at->lesson, at->step);
}

QString LessonWalk::keyOf(int lesson, int step) const {
  const Lesson& of = lessons_[static_cast<size_t>(lesson)];
  return of.name + u'/' + of.steps[static_cast<size_t>(step)].name;
}

void LessonWalk::pass() {
  if (isPassed(lesson_, step_)) return;
  passed_ << keyOf(lesson_, step_);
  if (remembers_) QSettings().setValue(QLatin1String(kSetting), passed_);
  Q_EMIT passedChanged();
}

bool LessonWalk::isPassed(int lesson, int step) const { return passed_.contains(keyOf(lesson, step)); }

bool LessonWalk::isPassed(int lesson) const {
  const auto& steps = lessons_[static_cast<size_t>(lesson)].steps;
  int exercises = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].exercise) continue;
    ++exercises;
    if (!isPassed(lesson, static_cast<int>(i))) return false;
  }
  return exercises > 0;
}

int LessonWalk::passedLessons() const {
  int passed = 0;
  for (size_t i = 0; i < lessons_.size(); ++i) passed += isPassed(static_cast<int>(i)) ? 1 : 0;
  return passed;
}

}  // namespace normlens::ui
