#include "ui/learn/lesson.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonParseError>
#include <QStringList>

namespace normlens::ui {
namespace {

// A heading with the JSON and the text behind it.
struct Section {
  QString heading;
  QJsonObject data;
  QString text;
  QString formulas;
};

tl::expected<QJsonObject, QString> dataOf(const QString& comment) {
  QJsonParseError error{};
  const auto document = QJsonDocument::fromJson(comment.toUtf8(), &error);
  if (error.error != QJsonParseError::NoError) return tl::unexpected(error.errorString());
  if (!document.isObject()) return tl::unexpected(QStringLiteral("it is not an object"));
  return document.object();
}

// Takes the text between `from` and `to` out; the first such part.
QString takeOut(QString& text, const QString& from, const QString& to) {
  const auto begin = text.indexOf(from);
  if (begin < 0) return {};
  const auto inside = begin + from.size();
  const auto end = text.indexOf(to, inside);
  if (end < 0) return {};
  const QString found = text.mid(inside, end - inside);
  text.remove(begin, end + to.size() - begin);
  return found;
}

tl::expected<Section, QString> sectionOf(QString text) {
  Section section;
  section.heading = text.section(u'\n', 0, 0).trimmed();
  text = text.section(u'\n', 1);
  const QString comment = takeOut(text, QStringLiteral("<!--"), QStringLiteral("-->"));
  if (comment.isEmpty()) return tl::unexpected(QStringLiteral("'%1' has no data").arg(section.heading));
  auto data = dataOf(comment);
  if (!data) return tl::unexpected(QStringLiteral("the data of '%1': %2").arg(section.heading, data.error()));
  section.data = std::move(*data);
  section.formulas = takeOut(text, QStringLiteral("```formula\n"), QStringLiteral("```")).trimmed();
  section.text = text.trimmed();
  return section;
}

Exercise exerciseOf(const Section& section) {
  Exercise exercise;
  const QJsonObject& data = section.data;
  exercise.task = section.text;
  exercise.number = data[QStringLiteral("number")].toString();
  exercise.live = data[QStringLiteral("live")].toString();
  exercise.passed = data[QStringLiteral("passed")].toString();
  exercise.failed = data[QStringLiteral("failed")].toString();
  exercise.above = data[QStringLiteral("above")].toDouble(exercise.above);
  exercise.below = data[QStringLiteral("below")].toDouble(exercise.below);
  return exercise;
}

LessonStep stepOf(const Section& section) {
  const QJsonObject& data = section.data;
  return {data[QStringLiteral("name")].toString(),
          section.heading,
          data[QStringLiteral("list")].toString(section.heading),
          data[QStringLiteral("present")].toString(section.heading),
          section.text,
          section.formulas,
          data[QStringLiteral("figure")].toString(),
          data[QStringLiteral("model")].toString(),
          data[QStringLiteral("state")].toObject(),
          std::nullopt};
}

// Returns the text from each heading of that kind on, without the text before the first.
QStringList partsAt(const QString& text, const QString& heading) {
  QStringList parts = (u'\n' + text).split(u'\n' + heading);
  parts.removeFirst();
  return parts;
}

}  // namespace

tl::expected<Lesson, QString> parseLesson(const QString& name, const QString& markdown) {
  const auto wrong = [&](const QString& what) {
    return tl::unexpected(QStringLiteral("lesson %1: %2").arg(name, what));
  };
  if (!markdown.startsWith(QStringLiteral("# "))) return wrong(QStringLiteral("it does not start with its title"));
  Lesson lesson{name, markdown.section(u'\n', 0, 0).mid(2).trimmed(), {}};
  for (const QString& part : partsAt(markdown, QStringLiteral("## "))) {
    const auto section = sectionOf(part.section(QStringLiteral("\n### "), 0, 0));
    if (!section) return wrong(section.error());
    LessonStep step = stepOf(*section);
    if (step.name.isEmpty() || step.figure.isEmpty())
      return wrong(QStringLiteral("'%1' has no name or no figure").arg(step.title));
    for (const QString& tried : partsAt(part, QStringLiteral("### "))) {
      const auto task = sectionOf(tried);
      if (!task) return wrong(task.error());
      step.exercise = exerciseOf(*task);
      if (step.exercise->number.isEmpty() || step.exercise->passed.isEmpty() || step.exercise->failed.isEmpty())
        return wrong(QStringLiteral("the exercise of '%1' lacks number, passed or failed").arg(step.title));
    }
    lesson.steps.push_back(std::move(step));
  }
  if (lesson.steps.empty()) return wrong(QStringLiteral("it has no steps"));
  return lesson;
}

std::vector<Lesson> bundledLessons() {
  const QString folder = QStringLiteral(":/normlens/lessons/");
  std::vector<Lesson> found;
  for (const QString& file : QDir(folder).entryList({QStringLiteral("*.md")}, QDir::Files, QDir::Name)) {
    QFile lesson(folder + file);
    if (!lesson.open(QIODevice::ReadOnly)) continue;
    auto parsed = parseLesson(file.section(u'_', 1).chopped(3), QString::fromUtf8(lesson.readAll()));
    if (parsed) found.push_back(std::move(*parsed));
  }
  return found;
}

}  // namespace normlens::ui
