#include "ui/widgets/lesson_link.h"

#include <QCoreApplication>
#include <QVariant>
#include <QWidget>

namespace normlens::ui {
namespace {

constexpr char kProperty[] = "lesson";

}  // namespace

void explain(QWidget* widget, const QString& tip, const char* lesson) {
  widget->setToolTip(QCoreApplication::translate("LessonLink", "%1 Press F1 for more.").arg(tip));
  linkLesson(widget, lesson);
}

void linkLesson(QWidget* widget, const char* lesson) { widget->setProperty(kProperty, QString::fromLatin1(lesson)); }

QString lessonOf(const QWidget* widget) {
  for (; widget != nullptr; widget = widget->parentWidget()) {
    if (const QString lesson = widget->property(kProperty).toString(); !lesson.isEmpty()) return lesson;
  }
  return {};
}

}  // namespace normlens::ui
