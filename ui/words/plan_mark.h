// The two marks of a LayerNorm: the ring before its name, the verdict, shows what can be done; the square beside it
// what the plan does, with a word and a reason. Neither replaces the other. Thread: value types, pure functions.
#pragma once

#include <QString>
#include <span>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

inline constexpr size_t kPlanStates = 9;
enum class PlanState : uint8_t {
  Unknown,          // there is no plan
  Planned,          // would fold, not proved
  PlannedCentered,  // ... with a run-time centering that counts as its own
  Folded,           // and proved
  FoldedCentered,
  Kept,
  OtherOutputs,  // folded, and the proof failed from here on
  NotRun,        // folded, and the proof's inputs did not run it
  WouldFall,     // without the edit that is pointed at
};

struct PlanMark {
  PlanState state = PlanState::Unknown;
  QString because;     // "a copy of wte.weight would add 131 kB"; empty: nothing to explain
  bool own = false;    // it is folded with centerings that no other norm rests on
  int centerings = 0;  // at run time, its own or another's, that its fold rests on

  [[nodiscard]] bool folds() const { return state != PlanState::Unknown && state != PlanState::Kept; }
  [[nodiscard]] bool folded() const {
    return state == PlanState::Folded || state == PlanState::FoldedCentered || state == PlanState::NotRun;
  }
  bool operator==(const PlanMark&) const = default;
};

// state: one of the plan's. result: what came of the plan; nullptr: it was not folded. firstOther: the first norm of
// which the proof saw that it gives other outputs; -1: none. notRun: those that the proof did not run.
[[nodiscard]] PlanMark planMark(const protocol::PlanInfo& plan, const protocol::NormState& state,
                                const protocol::FoldResult* result, int firstOther,
                                const std::vector<int>& notRun = {});

// Name of an icon. early: no run has confirmed it.
[[nodiscard]] QString verdictIcon(Verdict verdict, bool early = false);
[[nodiscard]] QString verdictTitle(Verdict verdict);    // "Can fold free"
[[nodiscard]] QString verdictMeaning(Verdict verdict);  // one sentence

// One of several ways: a policy of the plan, a flavor of the norm in the exported file.
struct NamedWay {
  const char* name;
  const char* title;
  const char* meaning;
};
[[nodiscard]] std::span<const NamedWay> policies();  // words of the context "Policy"
[[nodiscard]] QString policyTitle(Policy policy);    // "Weights only"

[[nodiscard]] QString planIcon(PlanState state);     // name of an icon
[[nodiscard]] QString planWord(PlanState state);     // "folded, centering": in a list
[[nodiscard]] QString planBadge(PlanState state);    // "Folded, with a centering"
[[nodiscard]] QString planMeaning(PlanState state);  // one sentence

// Sums up all norms: "Folded 9 of 9", and "8 free, 1 with a centering because a copy would add 131 kB".
struct PlanSummary {
  QString head, detail;  // detail may be empty
  QString counts = {};   // the detail without its reasons
};
// marks: by NormInfo::index. centerings: the plan's.
[[nodiscard]] PlanSummary planSummary(const std::vector<protocol::NormInfo>& norms, const std::vector<PlanMark>& marks,
                                      int centerings);

}  // namespace normlens::ui
