#include "ui/client/window_words.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <array>

namespace normlens::ui {
namespace {

struct Row {
  const char* option;  // a regular expression
  const char* place;   // \1: its group
};

constexpr std::array kRows = {
    Row{R"( with --inputs?\b.*)", QT_TRANSLATE_NOOP("WindowWords", " on the tab Inputs")},
    Row{R"( with --(?:time|memory)-limit\b(?: [A-Z]+)?)", QT_TRANSLATE_NOOP("WindowWords", " in Preferences")},
    Row{R"( \(--(?:time|memory)-limit\))", QT_TRANSLATE_NOOP("WindowWords", " (a limit of Preferences)")},
    Row{R"( with --anew\b)", QT_TRANSLATE_NOOP("WindowWords", " with Use its settings and Start")},
    Row{R"( with --model NAME)", QT_TRANSLATE_NOOP("WindowWords", " in the inspector, once the file itself is open")},
    Row{R"( with --force\b)", QT_TRANSLATE_NOOP("WindowWords", " with Export anyway")},
    Row{R"((?<![^ ('])--([a-z]))", R"(\1)"},
};

}  // namespace

QString inWindowWords(QString said) {
  if (!said.contains(QLatin1String("--"))) return said;
  for (const Row& row : kRows) {
    said.replace(QRegularExpression(QLatin1String(row.option)), QCoreApplication::translate("WindowWords", row.place));
  }
  return said;
}

}  // namespace normlens::ui
