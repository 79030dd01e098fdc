#include "ui/theme/style_sheet.h"

#include <QFile>
#include <QPair>
#include <QRegularExpression>
#include <QVector>

#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

QString withTextScaled(const QString& sheet, double scale) {
  static const QRegularExpression size(QStringLiteral("font-size: (\\d+)px"));
  QString scaled;
  qsizetype done = 0;
  for (auto found = size.globalMatch(sheet); found.hasNext();) {
    const QRegularExpressionMatch match = found.next();
    scaled +=
        sheet.mid(done, match.capturedStart(1) - done) + QString::number(qRound(match.captured(1).toInt() * scale));
    done = match.capturedEnd(1);
  }
  return scaled + sheet.mid(done);
}

}  // namespace

QString styleSheetFor(const Theme& theme, double textScale) {
  QFile file(QStringLiteral(":/normlens/style/normlens.qss"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  QString sheet = QString::fromUtf8(file.readAll());
  // Longer names first, so that "@text" does not eat the head of "@textSoft".
  const QVector<QPair<const char*, QColor>> colors = {
      {"@accentHover", theme.accentHover},
      {"@accentText", theme.accentText},
      {"@accent", theme.accent},
      {"@onAccent", theme.onAccent},
      {"@chrome", theme.chrome},
      {"@panel", theme.panel},
      {"@canvas", theme.canvas},
      {"@textSoft", theme.textSoft},
      {"@textFaint", theme.textFaint},
      {"@text", theme.text},
      {"@hairline", theme.hairline},
      {"@control", theme.control},
      {"@hover", theme.hover},
      {"@selection", theme.selection},
      {"@goodBack", theme.goodBack},
      {"@good", theme.good},
      {"@blockedBack", theme.blockedBack},
      {"@blocked", theme.blocked},
  };
  for (const auto& [name, color] : colors) sheet.replace(QLatin1String(name), color.name());
  return withTextScaled(sheet, textScale);
}

}  // namespace normlens::ui
