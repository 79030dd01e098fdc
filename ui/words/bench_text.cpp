#include "ui/words/bench_text.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QStringList>

#include "core/protocol/figure_text.h"
#include "core/protocol/json.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchText", words); }

// "LibTorch 2.15.0" -> "LibTorch"
std::string runtimeName(const protocol::BenchSide& side) { return side.runtime.substr(0, side.runtime.rfind(' ')); }

}  // namespace

QString pointName(const protocol::BenchPoint& point) {
  if (point.at.empty()) return tr("as given");
  QStringList parts;
  for (const auto& [name, value] : point.at) {
    const bool speaksForItself = name == "dtype" || name == "device" || name == "norm";
    parts << (speaksForItself ? text(value) : text(name) + u' ' + text(value));
  }
  return parts.join(QStringLiteral(" · "));
}

QString sideName(const std::string& model) {
  if (model == "original") return tr("original");
  if (model == "fused") return tr("fused");
  if (const auto flavour = protocol::flavourOfFold(model)) {
    return flavour->empty() ? tr("folded") : tr("folded, %1").arg(text(*flavour));
  }
  return QFileInfo(text(model)).fileName();
}

QPair<QString, QString> sideNames(const protocol::BenchPoint& point) {
  const QString a = sideName(point.a.model);
  if (!point.b) return {a, {}};
  const QString b = sideName(point.b->model);
  const QString with = QStringLiteral("%1, %2");
  if (isMixed(point)) return {with.arg(a, text(runtimeName(point.a))), with.arg(b, text(runtimeName(*point.b)))};
  if (a == b) return {with.arg(a, QStringLiteral("A")), with.arg(b, QStringLiteral("B"))};
  return {a, b};
}

QString peakOf(const protocol::BenchSide& side) {
  return side.peak_bytes ? formatBytes(*side.peak_bytes) : QStringLiteral("–");
}

QString normShareOf(const protocol::BenchSide& side) {
  return side.norm_share ? formatPercent(*side.norm_share) : QStringLiteral("–");
}

QString tokensOf(const protocol::BenchSide& side) {
  const auto& tokens = side.latency.tokens_per_second;
  return tokens ? QString::number(*tokens, 'f', 1) : QStringLiteral("–");
}

QString deviceName(const protocol::BenchResult& result) {
  const protocol::BenchPoint* first = firstMeasured(result);
  if (first == nullptr) return {};
  if (first->device == "cpu") return QStringLiteral("CPU");
  return result.machine.gpu.empty() ? QStringLiteral("CUDA") : text(result.machine.gpu);
}

QString formatMedian(double ms) {
  return QString::number(ms, 'f', ms < 9.9995 ? 3 : ms < 99.995 ? 2 : ms < 999.95 ? 1 : 0);
}

bool isOfFold(const protocol::BenchPoint& point) {
  return point.a.model == "original" && point.b && protocol::flavourOfFold(point.b->model);
}

QString runName(const protocol::BenchResult& result) {
  const QDateTime taken = QDateTime::fromString(text(result.taken), Qt::ISODate).toLocalTime();
  QStringList parts;
  if (taken.isValid()) parts << taken.toString(QStringLiteral("HH:mm"));
  const protocol::BenchPoint* first = firstMeasured(result);
  if (first != nullptr) parts << formatRatio(first->speedup) << deviceName(result);
  if (first != nullptr && first->b && !isOfFold(*first)) {
    const auto [a, b] = sideNames(*first);
    parts << tr("%1 vs %2").arg(a, b);
  }
  if (result.points.size() > 1)
    parts << tr("%n points").replace(QStringLiteral("%n"), QString::number(result.points.size()));
  return parts.join(QStringLiteral(" · "));
}

std::optional<qint64> sizeOf(const protocol::BenchPoint& point, const QString& over) {
  if (point.at.size() != 1 || text(point.at.front().first) != over) return std::nullopt;
  bool isNumber = false;
  const qint64 size = text(point.at.front().second).toLongLong(&isNumber);
  return isNumber ? std::optional(size) : std::nullopt;
}

bool isMixed(const protocol::BenchPoint& point) { return point.b && runtimeName(point.a) != runtimeName(*point.b); }

QString cautionOf(const protocol::BenchPoint& point) {
  QStringList sentences;
  for (const std::string& caution : protocol::cautions(point)) sentences << text(caution);
  return sentences.join(u' ');
}

bool losesToSeveralOps(const protocol::BenchPoint& point) {
  return isOfFold(point) && point.norm == "portable" && point.device == "cpu" && runtimeName(*point.b) == "LibTorch" &&
         !point.noise && point.speedup < 1;
}

QByteArray benchJson(const protocol::BenchResult& result) {
  return QByteArray::fromStdString(
             protocol::toJson(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) +
         '\n';
}

}  // namespace normlens::ui
