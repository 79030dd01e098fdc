#include "ui/words/format.h"

#include <QFileInfo>
#include <QLocale>
#include <QObject>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "core/base/formatted.h"
#include "core/protocol/figure_text.h"

namespace normlens::ui {

namespace {

constexpr double kWholeMicroseconds = 99.5;  // from here on without a decimal
constexpr double kMillisecond = 999.5;       // In microseconds; from here on the next unit is used.

}  // namespace

QString modelTitle(const QString& path, const QString& model) {
  const QString file = QFileInfo(path).fileName();
  return model.isEmpty() ? file : QStringLiteral("%1 · %2").arg(file, model);
}

QString formatBytes(int64_t bytes) {
  if (bytes < 1000) return QStringLiteral("%1 B").arg(bytes);
  auto value = static_cast<double>(bytes);
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  return QStringLiteral("%1 %2").arg(value, 0, 'f', value < 9.95 ? 1 : 0).arg(QLatin1String(units[unit]));
}

QString formatDate(const QDate& date) { return QLocale::c().toString(date, QStringLiteral("MMM d, yyyy")); }

QString formatError(double value) { return text(protocol::errorText(value)); }

QString formatMilliseconds(double ms) {
  if (ms < kMillisecond / 1000) return formatMicroseconds(ms * 1000);
  if (ms < kMillisecond) return QStringLiteral("%1 ms").arg(ms, 0, 'f', ms < 9.995 ? 2 : ms < 99.95 ? 1 : 0);
  return QStringLiteral("%1 s").arg(ms / 1000, 0, 'f', ms < 9995 ? 2 : ms < 99950 ? 1 : 0);
}

QString formatMicroseconds(double us) {
  if (us >= kMillisecond) return formatMilliseconds(us / 1000);
  return QStringLiteral("%1 µs").arg(us, 0, 'f', std::abs(us) >= kWholeMicroseconds ? 0 : 1);
}

QString formatMicroseconds(double us, double low, double high) {
  const bool inMs = std::abs(us) >= kMillisecond;
  const double unit = inMs ? kMillisecond : 1;
  const int decimals = inMs ? 2 : std::abs(us) >= kWholeMicroseconds ? 0 : 1;
  const auto number = [&](double value) { return QString::number(value / unit, 'f', decimals); };
  const QString interval = QStringLiteral("(%1–%2)").arg(number(low), number(high));
  return QStringLiteral("%1 %2 %3").arg(number(us), inMs ? QStringLiteral("ms") : QStringLiteral("µs"), interval);
}

double shownMicroseconds(double us) {
  const double steps = std::abs(us) >= kWholeMicroseconds ? 1 : 10;
  return std::round(us * steps) / steps;
}

QString formatRatio(double ratio) { return text(protocol::ratioText(ratio)); }

QString formatInterval(double low, double high) { return text(protocol::intervalText(low, high)); }

QString formatSpeedup(double ratio, double low, double high) {
  const QString figure = QStringLiteral("%1 (%2)").arg(formatRatio(ratio), formatInterval(low, high));
  return protocol::touchesOne(low, high) ? QObject::tr("no clear gain · %1").arg(figure) : figure;
}

QString formatPercent(double share) {
  const double percent = 100 * share;
  return QStringLiteral("%1%").arg(percent, 0, 'f', std::abs(percent) < 9.95 && percent != 0 ? 1 : 0);
}

QString formatShape(const std::vector<int64_t>& shape) {
  if (shape.empty()) return QStringLiteral("scalar");
  QStringList sizes;
  for (const int64_t size : shape) sizes << QString::number(size);
  return sizes.join(u'×');
}

QString formatNumber(double value, int digits) {
  if (std::isnan(value)) return QStringLiteral("nan");
  if (std::isinf(value)) return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
  return text(withShortExponents(QString::number(value, 'g', digits).toStdString()));
}

// Not as in the user's locale: all other numbers have a decimal point, beside which a German 1.234 is no thousand.
QString formatCount(int64_t count) {
  return QLocale(QLocale::English, QLocale::UnitedStates).toString(static_cast<qlonglong>(count));
}

QString formatShare(int count, int all, int unknown) {
  const QString share = QObject::tr("%1 of %2").arg(count).arg(all);
  return unknown == 0 ? share : QObject::tr("%1, %2 not known").arg(share).arg(unknown);
}

QString asSentence(const QString& words) {
  QString sentence = words.trimmed();
  if (sentence.isEmpty()) return sentence;
  const QString first = sentence.section(u' ', 0, 0);
  const bool plainWord =
      std::all_of(first.begin(), first.end(), [](QChar c) { return c.isLower() || c == u',' || c == u';'; });
  if (plainWord) sentence[0] = sentence[0].toUpper();
  if (sentence.back().isLetterOrNumber() || QStringLiteral(")°%").contains(sentence.back())) sentence += u'.';
  return sentence;
}

QString withNameBreaks(const QString& sentence, qsizetype longest) {
  QStringList words = sentence.split(u' ');
  for (QString& word : words) {
    const bool breaks = word.size() > longest;
    for (qsizetype i = word.size() - 2; i > 0; --i) {
      const bool joint = word[i] == u'.' || (breaks && (word[i] == u'_' || word[i] == u'/'));
      if (joint && word[i - 1].isLetterOrNumber() && word[i + 1].isLetterOrNumber())
        word.insert(i + 1, breaks ? kBreakHere : kWordJoiner);
    }
  }
  return words.join(u' ');
}

QString shortName(const QString& path, int parts) {
  const QStringList all = path.split(u'.');
  return all.size() <= parts ? path : QStringList(all.mid(all.size() - parts)).join(u'.');
}

QString text(const std::string& utf8) {
  constexpr qsizetype kMost = 4096;
  const auto size = static_cast<qsizetype>(utf8.size());
  return QString::fromUtf8(utf8.data(), std::min(size, kMost)) + (size > kMost ? QStringLiteral("…") : QString());
}

QString nameList(const std::vector<std::string>& names) {
  QStringList list;
  for (const std::string& name : names) list << text(name);
  return list.join(QStringLiteral(", "));
}

}  // namespace normlens::ui
