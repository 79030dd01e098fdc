#include "ui/words/proof_words.h"

#include <QCoreApplication>

#include "ui/words/format.h"

namespace normlens::ui {
namespace {

// Ordered as ErrorFloor.
constexpr const char* kLimits[namesOf(ErrorFloor{}).size()] = {
    QT_TRANSLATE_NOOP("ProofWords", "%1 = 6 × a few roundings in %2"),
    QT_TRANSLATE_NOOP("ProofWords", "%1 = 6 × the original's own error"),
    QT_TRANSLATE_NOOP("ProofWords", "%1, from the original's error in other rows"),
    QT_TRANSLATE_NOOP("ProofWords", "%1 = 6 × the noise from rounding its weights"),
    QT_TRANSLATE_NOOP("ProofWords", "%1 = 6 × a tenth of the values")};

QString words(const char* source) { return QCoreApplication::translate("ProofWords", source); }

}  // namespace

bool losesPrecision(const protocol::VerifyResult& proof) {
  constexpr double kAsMuch = 2;
  return proof.beyond_rounding && !(proof.errors && proof.errors->folded <= kAsMuch * proof.errors->original);
}

QString proofTitle(const protocol::VerifyResult& proof) {
  if (!proof.exact) return words("Not decided");
  if (!*proof.exact) return words("Outputs differ");
  const bool own = proof.file_done && proof.file_dtype != "float64";
  QStringList types;
  if (proof.algebra_done || !own) types << QStringLiteral("float64");
  if (own && !proof.beyond_rounding) types << text(proof.file_dtype);
  QStringList parts;
  if (!types.isEmpty()) parts << words("Exact in %1").arg(types.join(words(" and ")));
  if (proof.beyond_rounding && !losesPrecision(proof)) {
    parts << words("%1 as near as the original").arg(text(proof.file_dtype));
  } else if (proof.beyond_rounding) {
    const double error = proof.errors ? proof.errors->folded : proof.file.max_rel;
    parts << words("%1 off by %2").arg(text(proof.file_dtype), formatError(error));
  }
  if (!proof.not_run.empty()) parts << words("%1 not run").arg(proof.not_run.size());
  return parts.join(QStringLiteral(" · "));
}

QString proofCaution(const protocol::VerifyResult& proof) {
  if (proof.exact != true || !proof.beyond_rounding) return {};
  const QString type = text(proof.file_dtype);
  if (!losesPrecision(proof)) {
    return words("In %1, the original itself is off by %2; the fold by %3, as much.")
        .arg(type, formatError(proof.errors->original), formatError(proof.errors->folded));
  }
  return proof.errors ? words("In %1, the fold is off by %2 and the original by %3: more than rounding.")
                            .arg(type, formatError(proof.errors->folded), formatError(proof.errors->original))
                      : words("In %1, the outputs differ by %2. The original's own error is not known.")
                            .arg(type, formatError(proof.file.max_rel));
}

QString otherProof(bool canUndo, bool canRedo) {
  const QString step = canUndo && canRedo ? words("Undo or Redo") : canUndo ? words("Undo") : words("Redo");
  return words("Another plan was proved. %1 restores it with its proof.").arg(step);
}

QString allowedInFile(const protocol::VerifyResult& proof) {
  const QString limit = formatError(proof.file.limit);
  if (proof.file_dtype == "float64") return limit;
  const QString by = words(kLimits[static_cast<size_t>(proof.floor)]).arg(limit);
  return proof.floor == ErrorFloor::Roundings ? by.arg(text(proof.file_dtype)) : by;
}

}  // namespace normlens::ui
