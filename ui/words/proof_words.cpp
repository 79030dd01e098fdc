#include "ui/words/proof_words.h"

#include <QCoreApplication>
#include <QDateTime>

#include "ui/words/format.h"

namespace normlens::ui {

QString provedAt(const std::string& utc) {
  const QDateTime at = QDateTime::fromString(text(utc), Qt::ISODate).toLocalTime();
  return at.isValid() ? formatDate(at.date()) + at.time().toString(QStringLiteral(", HH:mm")) : QString();
}

QString keptProof(bool samePlan, bool canUndo, bool canRedo) {
  const auto words = [](const char* source) { return QCoreApplication::translate("ProofWords", source); };
  if (samePlan) return words("This plan was folded and proved before. Fold it again.");
  const QString step = canUndo && canRedo ? words("Undo or Redo") : canUndo ? words("Undo") : words("Redo");
  return words("Another plan was proved. %1 restores it with its proof.").arg(step);
}

}  // namespace normlens::ui
