#include "ui/words/stream_text.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStringList>
#include <cmath>

#include "core/base/plural.h"
#include "core/protocol/proof_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("Streams", words); }
QString some(int64_t count, const char* noun) { return text(plural(count, noun)); }

// Returns the change in percent, "+0.41"; three digits are enough.
QString changeOf(double before, double after) {
  if (before <= 0 || after == before) return QStringLiteral("0");
  const double percent = 100 * (after - before) / before;
  const QString number = QString::number(std::abs(percent), 'f', std::abs(percent) < 10 ? 2 : 1);
  return (percent < 0 ? u'−' : u'+') + number;
}

QString amount(double of, bool bytes) {
  const auto whole = static_cast<int64_t>(of);
  return bytes ? formatBytes(whole) : formatCount(whole);
}

}  // namespace

QString foldWords(const protocol::PlanInfo& plan) {
  if (plan.folded.empty()) return tr("With this policy, no LayerNorm folds, so no stream has zero mean.");
  return plan.centerings == 0 ? tr("The ordinary fold: centers each stream at its start, in the weights that write it. "
                                   "The LayerNorms that read it become RMSNorms.")
                              : tr("The ordinary fold: centers each stream at its start, at run time where no weight "
                                   "can do it. The LayerNorms that read it become RMSNorms.");
}

QString streamName(const protocol::StreamInfo& stream) {
  return stream.refused.empty() ? QStringLiteral("%1 → %2").arg(stream.channels).arg(stream.width)
                                : tr("%1 stays").arg(stream.channels);
}

QString streamFacts(const protocol::StreamInfo& stream) {
  QStringList facts{some(stream.norms.size(), "norm")};
  if (stream.adds > 0) facts << some(stream.adds, "add");
  if (stream.refused.empty() && stream.cuts > 0) facts << some(stream.cuts, "cut");
  return facts.join(QStringLiteral(" · "));
}

QString streamTip(const protocol::StreamInfo& stream) {
  if (!stream.refused.empty()) return asSentence(tr("It does not change because %1").arg(text(stream.refused)));
  QStringList all{tr("Norms that work on the narrow stream: %1.").arg(stream.norms.size() - stream.restored)};
  if (stream.restored > 0) all << tr("Norms that restore all channels first: %1.").arg(stream.restored);
  if (stream.adds > 0) all << tr("Residual adds that are narrower: %1.").arg(stream.adds);
  if (stream.cuts > 0) all << tr("Values narrowed at run time: %1.").arg(stream.cuts);
  return all.join(u' ');
}

QString savingWords(const protocol::StreamFigures& of) {
  return QStringLiteral("%1 → %2%").arg(changeOf(of.original, of.fold), changeOf(of.original, of.narrow));
}

QString savingTip(const protocol::StreamFigures& of, bool bytes) {
  return tr("LayerNorm %1, RMSNorm %2, CRMSNorm %3.")
      .arg(amount(of.original, bytes), amount(of.fold, bytes), amount(of.narrow, bytes));
}

QString resultWords(const protocol::NarrowResult& result) {
  if (!result.written) return asSentence(text(result.reason)) + u' ' + tr("Nothing was written.");
  const QString name = QFileInfo(text(result.written->path)).fileName();
  const QString wrote = tr("Wrote %1 (%2).").arg(name, formatBytes(result.written->bytes));
  const QString caution = result.verify ? text(protocol::proofCaution(*result.verify)) : QString();
  const QString first = result.reason.empty() ? caution : asSentence(text(result.reason));
  return first.isEmpty() ? wrote : first + u' ' + wrote;
}

}  // namespace normlens::ui
