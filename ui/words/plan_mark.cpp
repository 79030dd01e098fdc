#include "ui/words/plan_mark.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>
#include <functional>

#include "ui/words/format.h"

namespace normlens::ui {

namespace {

struct StateWords {
  const char *icon, *word, *badge, *meaning;
};

// Ordered as PlanState.
constexpr std::array<StateWords, kPlanStates> kWords = {{
    {"", "", QT_TRANSLATE_NOOP("PlanMark", "No plan"), QT_TRANSLATE_NOOP("PlanMark", "There is no plan yet.")},
    {"plan_would", QT_TRANSLATE_NOOP("PlanMark", "will fold"),
     QT_TRANSLATE_NOOP("PlanMark", "Will fold (not yet proved)"),
     QT_TRANSLATE_NOOP("PlanMark", "The plan makes it an RMSNorm. Fold proves that no output changes.")},
    {"plan_would_centered", QT_TRANSLATE_NOOP("PlanMark", "will fold, centering"),
     QT_TRANSLATE_NOOP("PlanMark", "Will fold, with centering"),
     QT_TRANSLATE_NOOP("PlanMark",
                       "The plan makes it an RMSNorm after a run-time centering. Fold proves that no output changes.")},
    {"plan_folded", QT_TRANSLATE_NOOP("PlanMark", "folded"), QT_TRANSLATE_NOOP("PlanMark", "Folded, proved"),
     QT_TRANSLATE_NOOP("PlanMark", "It is now an RMSNorm, and the proof shows that no output changed.")},
    {"plan_centered", QT_TRANSLATE_NOOP("PlanMark", "folded, centering"),
     QT_TRANSLATE_NOOP("PlanMark", "Folded, with centering"),
     QT_TRANSLATE_NOOP("PlanMark",
                       "It is now an RMSNorm after a run-time centering, and the proof shows that no output changed.")},
    {"plan_kept", QT_TRANSLATE_NOOP("PlanMark", "stays a LayerNorm"),
     QT_TRANSLATE_NOOP("PlanMark", "Stays a LayerNorm"), QT_TRANSLATE_NOOP("PlanMark", "The plan does not change it.")},
    {"plan_other", QT_TRANSLATE_NOOP("PlanMark", "outputs differ"), QT_TRANSLATE_NOOP("PlanMark", "Outputs differ"),
     QT_TRANSLATE_NOOP("PlanMark", "Folded, the outputs differ from the original's.")},
    {"plan_would", QT_TRANSLATE_NOOP("PlanMark", "folded, not run"),
     QT_TRANSLATE_NOOP("PlanMark", "Folded, not run by the proof"),
     QT_TRANSLATE_NOOP("PlanMark", "It is now an RMSNorm. The proof's inputs did not run it, so it is not proved.")},
    {"plan_falls", QT_TRANSLATE_NOOP("PlanMark", "depends on this"),
     QT_TRANSLATE_NOOP("PlanMark", "Would stay a LayerNorm"),
     QT_TRANSLATE_NOOP("PlanMark", "Without the edit under the pointer it would stay a LayerNorm.")},
}};

struct VerdictWords {
  const char *icon, *title, *meaning;
};

// Ordered as Verdict.
constexpr std::array<VerdictWords, namesOf(Verdict{}).size()> kVerdictWords = {{
    {"free", QT_TRANSLATE_NOOP("PlanMark", "Can fold free"),
     QT_TRANSLATE_NOOP(
         "PlanMark",
         "Becomes an RMSNorm with the same output by editing weights alone. Nothing is added at run time.")},
    {"centering", QT_TRANSLATE_NOOP("PlanMark", "With shared centering"),
     QT_TRANSLATE_NOOP("PlanMark",
                       "Becomes an RMSNorm if a few values, each shared by several norms, are centered at run time.")},
    {"blocked", QT_TRANSLATE_NOOP("PlanMark", "Blocked"),
     QT_TRANSLATE_NOOP(
         "PlanMark", "Folds only with its own centering, which the plan counts as costing as much as the fold saves.")},
    {"unknown", QT_TRANSLATE_NOOP("PlanMark", "Not known"),
     QT_TRANSLATE_NOOP("PlanMark", "No run has shown the shapes that decide whether it folds.")},
}};

// Ordered as Policy.
constexpr std::array<NamedWay, namesOf(Policy{}).size()> kPolicies = {{
    {"free", QT_TRANSLATE_NOOP("Policy", "Weights only"),
     QT_TRANSLATE_NOOP("Policy", "Edits weights only: nothing is added at run time.")},
    {"balanced", QT_TRANSLATE_NOOP("Policy", "Balanced"),
     QT_TRANSLATE_NOOP("Policy",
                       "Centers at run time where that saves more than it costs. The file grows by at most 10%.")},
    {"all", QT_TRANSLATE_NOOP("Policy", "Fold all"),
     QT_TRANSLATE_NOOP("Policy", "Folds every LayerNorm that can be folded, even where it needs its own centering.")},
    {"paper", QT_TRANSLATE_NOOP("Policy", "Paper"),
     QT_TRANSLATE_NOOP(
         "Policy",
         "Folds what the paper's criterion allows. Where γ or β matter, the proof fails and shows by how much.")},
}};

const VerdictWords& wordsOf(Verdict verdict) { return kVerdictWords[static_cast<size_t>(verdict)]; }
const StateWords& wordsOf(PlanState state) { return kWords[static_cast<size_t>(state)]; }
QString tr(const char* words) { return QCoreApplication::translate("PlanMark", words); }

// The reason that all of them share; empty where they have several, or none.
QString sharedReason(const std::vector<PlanMark>& marks, const std::function<bool(const PlanMark&)>& of) {
  QString reason;
  for (const PlanMark& mark : marks) {
    if (!of(mark)) continue;
    if (mark.because.isEmpty() || (!reason.isEmpty() && reason != mark.because)) return {};
    reason = mark.because;
  }
  return reason;
}

// The reason is a clause about one norm.
QString because(const QString& what, QString reason, bool several) {
  if (reason.isEmpty()) return what;
  if (several && reason.startsWith(QStringLiteral("its "))) reason.replace(0, 3, tr("their"));
  return tr("%1 because %2").arg(what, reason);
}

}  // namespace

PlanMark planMark(const protocol::PlanInfo& plan, const protocol::NormState& state, const protocol::FoldResult* result,
                  int firstOther, const std::vector<int>& notRun) {
  PlanMark mark{PlanState::Kept, text(state.because)};
  if (state.state == NormOutcome::Kept) return mark;
  mark.centerings = static_cast<int>(state.centerings.size());
  const std::optional<bool> exact = result != nullptr && result->verify ? result->verify->exact : std::nullopt;
  const bool centers = state.state == NormOutcome::FoldedWithCentering && state.counted;
  mark.own = centers && std::ranges::all_of(state.centerings, [&](int edit) {
               const auto at = static_cast<size_t>(edit);
               return at < plan.edits.size() && plan.edits[at].frees.size() == 1;
             });
  if (exact == false && state.norm >= firstOther) {
    mark.state = PlanState::OtherOutputs;
  } else if (exact == true && result->ok) {
    const bool ran = std::ranges::find(notRun, state.norm) == notRun.end();
    mark.state = !ran ? PlanState::NotRun : centers ? PlanState::FoldedCentered : PlanState::Folded;
  } else {
    mark.state = centers ? PlanState::PlannedCentered : PlanState::Planned;
  }
  return mark;
}

QString verdictIcon(Verdict verdict, bool early) {
  return QString::fromLatin1(early && verdict == Verdict::Free ? "free_early" : wordsOf(verdict).icon);
}
QString verdictTitle(Verdict verdict) { return tr(wordsOf(verdict).title); }
QString verdictMeaning(Verdict verdict) { return tr(wordsOf(verdict).meaning); }

std::span<const NamedWay> policies() { return kPolicies; }
QString policyTitle(Policy policy) {
  return QCoreApplication::translate("Policy", kPolicies.at(static_cast<size_t>(policy)).title);
}

QString planIcon(PlanState state) { return QString::fromLatin1(wordsOf(state).icon); }
QString planWord(PlanState state) { return tr(wordsOf(state).word); }
QString planBadge(PlanState state) { return tr(wordsOf(state).badge); }
QString planMeaning(PlanState state) { return tr(wordsOf(state).meaning); }

PlanSummary planSummary(const std::vector<protocol::NormInfo>& norms, const std::vector<PlanMark>& marks,
                        int centerings) {
  const auto count = [&](auto of) { return std::count_if(marks.begin(), marks.end(), of); };
  const auto folds = count([](const PlanMark& mark) { return mark.folds(); });
  const auto folded = count([](const PlanMark& mark) { return mark.folded(); });
  const auto own = count([](const PlanMark& mark) { return mark.own; });
  const auto others = count([](const PlanMark& mark) { return mark.state == PlanState::OtherOutputs; });
  const auto notRun = count([](const PlanMark& mark) { return mark.state == PlanState::NotRun; });
  const auto kept = count([](const PlanMark& mark) { return mark.state == PlanState::Kept; });
  const QString of = tr("%1 of %2").arg(folds).arg(norms.size());
  if (others > 0) return {tr("Outputs differ with %1 folded").arg(of), {}};
  PlanSummary summary{norms.empty() ? tr("Nothing to fold")
                      : folds == 0  ? tr("Folds %1").arg(of)
                      : folded > 0  ? tr("Folded %1").arg(of)
                                    : tr("Will fold %1").arg(of),
                      {}};
  QStringList parts, counts;
  const auto add = [&](const QString& part, const QString& reason = {}, bool several = false) {
    counts << part;
    parts << because(part, reason, several);
  };
  long against = 0, free = 0;
  for (const protocol::NormInfo& norm : norms) {
    const auto at = static_cast<size_t>(norm.index);
    if (at >= marks.size() || !marks[at].folds() || marks[at].centerings > 0) continue;
    against += !normlens::folds(norm.verdict) ? 1 : 0;
    free += norm.verdict == Verdict::Free ? 1 : 0;
  }
  if (free > 0) add(free == folds && kept == 0 ? tr("all free") : tr("%1 free").arg(free));
  const auto isShared = [](const PlanMark& mark) { return mark.centerings > 0 && !mark.own; };
  int ofOwn = 0;
  for (const PlanMark& mark : marks) ofOwn += mark.own ? mark.centerings : 0;
  if (const auto shared = count(isShared); shared > 0) {
    const int centers = centerings - ofOwn;
    add(centers == 1 ? tr("%1 with a shared centering").arg(shared)
                     : tr("%1 with %2 shared centerings").arg(shared).arg(centers),
        sharedReason(marks, [&](const PlanMark& mark) { return isShared(mark) && !mark.because.isEmpty(); }),
        shared > 1);
  }
  if (against > 0) add(tr("%1 despite the verdict").arg(against));
  if (own > 0) {
    add(ofOwn > own ? tr("%1 with %2 centerings").arg(own).arg(ofOwn)
        : own == 1  ? tr("1 with its own centering")
                    : tr("%1 with their own centerings").arg(own),
        sharedReason(marks, [](const PlanMark& mark) { return mark.own; }), own > 1);
  }
  if (notRun > 0) add(tr("%1 not run by the proof").arg(notRun));
  if (kept > 0) {
    add(kept == 1 ? tr("1 stays a LayerNorm") : tr("%1 stay LayerNorms").arg(kept),
        sharedReason(marks, [](const PlanMark& mark) { return mark.state == PlanState::Kept; }), kept > 1);
  }
  summary.detail = parts.join(QStringLiteral(", "));
  summary.counts = counts.join(QStringLiteral(", "));
  return summary;
}

}  // namespace normlens::ui
