#include "ui/window/frame/story.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/protocol/proof_text.h"
#include "ui/client/engine_client.h"
#include "ui/session/session.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"
#include "ui/words/proof_words.h"

namespace normlens::ui {

namespace {

QString tr(const char* text, int n = -1) { return QCoreApplication::translate("Story", text, nullptr, n); }

using Tone = StoryPiece::Tone;

StoryStep modelStep(const Session& session) {
  StoryStep step{tr("Model"), session.model().has_value(), {}};
  step.pieces.push_back({session.title(), Tone::Strong});
  step.shorter = {step.pieces};
  if (session.analysis()) {
    const int norms = session.analysis()->totals.layer_norms;
    step.pieces.push_back({norms == 0   ? tr("· no LayerNorm")
                           : norms == 1 ? tr("· 1 LayerNorm")
                                        : tr("· %1 LayerNorms").arg(norms)});
    const auto& inputs = session.analysis()->inputs;
    if (inputs.size() == 1) {
      step.pieces.push_back({tr("· %1 %2").arg(text(inputs.front().name), formatShape(inputs.front().shape))});
    } else if (!inputs.empty()) {
      step.pieces.push_back({tr("· %1 inputs").arg(inputs.size())});
    }
  } else if (session.job().kind == JobKind::Opening) {
    step.pieces.push_back({tr("· reading"), Tone::Faint});
  }
  return step;
}

// RMSNorms whose weights can move into linear layers.
auto movableWeights(const Session& session) {
  return std::ranges::count(session.analysis()->other_norms, Verdict::Free, &protocol::OtherNormInfo::weightless);
}

StoryStep foldableStep(const Session& session) {
  StoryStep step{tr("Verdict"), session.analysis().has_value(), {}, session.early()};
  if (!session.analysis()) {
    step.pieces.push_back({session.busy() ? tr("analyzing…") : tr("not yet"), Tone::Faint});
    return step;
  }
  const protocol::Totals& totals = session.analysis()->totals;
  if (totals.layer_norms == 0) {
    step.pieces.push_back({tr("no LayerNorm to fold"), Tone::Plain});
    step.why = nothingToFold(session);
    if (const auto movable = movableWeights(session); movable > 0)
      step.pieces.push_back(
          {movable == 1 ? tr("· 1 norm weight can move") : tr("· %1 norm weights can move").arg(movable)});
    return step;
  }
  step.pieces.push_back({tr("%1 can fold free").arg(totals.free), totals.free > 0 ? Tone::Good : Tone::Plain,
                         totals.free == 0  ? QString()
                         : session.early() ? QStringLiteral("free_early")
                                           : QStringLiteral("free")});
  if (totals.with_centering > 0) {
    step.pieces.push_back(
        {tr("%1 with shared centering").arg(totals.with_centering), Tone::Centering, QStringLiteral("centering")});
  }
  if (totals.blocked > 0)
    step.pieces.push_back({tr("%1 blocked").arg(totals.blocked), Tone::Blocked, QStringLiteral("blocked")});
  if (totals.unknown > 0)
    step.pieces.push_back({tr("%1 not known").arg(totals.unknown), Tone::Plain, QStringLiteral("unknown")});
  return step;
}

// Names what the verdicts of folded norms rest on, accepted sizes among it; empty where that is nothing.
QString conditionOf(const Session& session) {
  QStringList all;
  for (const int norm : session.plan()->folded) {
    for (const auto& condition : session.norm(norm)->holds_if) {
      if (!all.contains(text(condition.text))) all << text(condition.text);
    }
  }
  if (all.isEmpty()) return {};
  return all.size() == 1 ? tr("· holds if %1").arg(all.front()) : tr("· holds under %1 conditions").arg(all.size());
}

StoryStep planStep(const Session& session) {
  StoryStep step{tr("Plan"), session.plan().has_value(), {}};
  if (!session.plan()) {
    step.pieces.push_back({session.job().kind == JobKind::Planning ? tr("planning") : tr("not yet"), Tone::Faint});
    return step;
  }
  const int edits = static_cast<int>(session.plan()->edits.size());
  step.brief = step.caption;
  step.caption = tr("Plan · %1, %2")
                     .arg(policyTitle(session.plan()->policy), edits == 1 ? tr("1 edit") : tr("%1 edits").arg(edits));
  const PlanSummary summary = planSummary(session.analysis()->norms, session.planMarks(), session.plan()->centerings);
  const auto& fold = session.foldResult();
  const bool failed = fold && fold->verify && fold->verify->exact == false;
  const bool proved = fold && fold->ok && fold->verify && fold->verify->exact == true;
  const QString icon = session.plan()->folded.empty() ? QStringLiteral("plan_kept")
                       : failed                       ? QStringLiteral("plan_other")
                       : proved                       ? QStringLiteral("plan_folded")
                                                      : QStringLiteral("plan_would");
  const Tone tone = failed ? Tone::Blocked : proved ? Tone::Good : Tone::Strong;
  QVector<StoryPiece> rest;
  if (const QString condition = conditionOf(session); !condition.isEmpty()) rest.push_back({condition});
  if (const int tensors = session.plan()->tensors_centered; tensors > 0)
    rest.push_back({tensors == 1 ? tr("· 1 tensor centered") : tr("· %1 tensors centered").arg(tensors)});
  const auto with = [&](const QString& detail) {
    if (detail.isEmpty()) return QVector<StoryPiece>{{summary.head, tone, icon}} + rest;
    return QVector<StoryPiece>{{summary.head + u':', tone, icon}, {detail}} + rest;
  };
  step.pieces = with(summary.detail);
  step.shorter = {with(summary.counts), {{summary.head, tone, icon}}};
  return step;
}

StoryStep provedStep(const Session& session) {
  StoryStep step{tr("Proved"), false, {}};
  const auto& fold = session.foldResult();
  if (!fold || !fold->verify) {
    step.pieces.push_back({session.job().kind == JobKind::Folding ? tr("proving")
                           : session.keepsProofOfPlan()           ? tr("proved before")
                           : session.keepsProof()                 ? tr("not this plan")
                           : session.cannotRun().isEmpty()        ? tr("not yet")
                                                                  : tr("cannot be run"),
                           Tone::Faint});
    const QUndoStack& steps = *session.choices()->undoStack();
    step.why = session.keepsProof() ? keptProof(session.keepsProofOfPlan(), steps.canUndo(), steps.canRedo())
                                    : session.cannotRun();
    return step;
  }
  const protocol::VerifyResult& proof = *fold->verify;
  if (proof.exact == false) {
    step.pieces.push_back({tr("outputs differ"), Tone::Blocked, QStringLiteral("blocked")});
    return step;
  }
  step.done = proof.exact == true;
  step.why = text(protocol::proofCaution(proof));
  if (!proof.exact) {
    step.pieces.push_back({tr("not decided"), Tone::Plain});
    return step;
  }
  const auto put = [&](const protocol::ErrorPair& error, const QString& type, bool rounding) {
    step.pieces.push_back(rounding ? StoryPiece{formatError(error.max_rel), Tone::Strong}
                                   : StoryPiece{formatError(error.max_rel), Tone::Blocked, QStringLiteral("warning")});
    step.pieces.push_back({tr("in %1").arg(type)});
  };
  if (proof.algebra_done) put(proof.algebra, QStringLiteral("float64"), true);
  if (proof.file_done && proof.file_dtype != "float64") {
    if (proof.algebra_done) step.pieces.back().text += u',';
    put(proof.file, text(proof.file_dtype), !protocol::losesPrecision(proof));
  }
  return step;
}

StoryStep measuredStep(const Session& session) {
  const auto& bench = session.measurements()->last();
  const protocol::BenchPoint* first = bench ? firstMeasured(*bench) : nullptr;
  StoryStep step{tr("Measured"), first != nullptr, {}};
  if (first == nullptr) {
    step.pieces.push_back({session.job().kind == JobKind::Measuring ? tr("measuring")
                           : session.cannotRun().isEmpty()          ? tr("not yet")
                                                                    : tr("cannot be run"),
                           Tone::Faint});
    step.why = session.cannotRun();
    return step;
  }
  const QString device = deviceName(*bench);
  const QString a = formatMedian(first->a.latency.median_ms);
  if (!first->b) {
    step.pieces.push_back({tr("%1 ms").arg(a), Tone::Strong});
    step.pieces.push_back({tr("on %1, alone").arg(device)});
    return step;
  }
  const bool wrong = first->outputs && first->outputs->beyond, doubtful = first->crowded || wrong;
  step.pieces.push_back({wrong      ? tr("wrong outputs")
                         : doubtful ? tr("not reliable")
                                    : formatSpeedup(first->speedup, first->ci_low, first->ci_high),
                         doubtful || !first->noise ? Tone::Strong : Tone::Plain});
  step.shorter = {step.pieces};
  const QString where = wrong || !first->crowded ? tr("on %1") : tr("on a busy %1");
  step.pieces.push_back({where.arg(device)});
  step.pieces.push_back({tr("· %1 → %2 ms").arg(a, formatMedian(first->b->latency.median_ms))});
  if (bench->points.size() > 1) step.pieces.push_back({tr("· at %1").arg(pointName(*first))});
  if (!isOfFold(*first)) {
    const auto [left, right] = sideNames(*first);
    step.pieces.push_back({tr("· %1 vs %2").arg(left, right)});
  }
  return step;
}

void setNext(Story& story, NextAction next, const QString& text, const QString& icon, const QString& tip) {
  story.next = next;
  story.nextText = text;
  story.nextIcon = icon;
  story.nextTip = tip;
}

void chooseNext(Story& story, const Session& session) {
  if (session.busy() && session.job().kind != JobKind::Planning) return;
  if (session.engine()->state() == EngineClient::State::Dead) {
    setNext(story, NextAction::Restart, tr("Restart engine"), QStringLiteral("restart"),
            tr("Start a new engine and reopen the model; the plan is kept."));
    return;
  }
  if (!session.model()) {
    setNext(story, NextAction::Open, tr("Open model"), QStringLiteral("open"), tr("Open a model file."));
    return;
  }
  if (!session.served()) {
    setNext(story, NextAction::Resume, tr("Open again"), QStringLiteral("restart"),
            tr("Reopen the model in the engine; the plan is kept."));
    return;
  }
  const auto& fold = session.foldResult();
  if (!session.analysis()) {
    setNext(story, NextAction::Resume, tr("Analyze"), QStringLiteral("search"), tr("Run the stopped analysis again."));
    return;
  }
  if (!session.plan()) {
    if (!session.busy())
      setNext(story, NextAction::Resume, tr("Make a plan"), QStringLiteral("fold"), tr("Make the plan again."));
    return;
  }
  if (fold && fold->ok && !fold->plan.folded.empty()) {
    if (session.exported() && !session.measurements()->last()) {
      setNext(story, NextAction::Measure, tr("Measure the gain"), QStringLiteral("measure"),
              tr("Time the original against the folded model."));
    } else if (!session.exported()) {
      setNext(story, NextAction::Export, tr("Export…"), QStringLiteral("export"),
              tr("Choose where the folded model will run. The opened file does not change."));
    }
    return;
  }
  if (fold) {
    setNext(story, NextAction::ShowProof, tr("See what failed"), QStringLiteral("verify"), tr("Show the proof."));
    return;
  }
  const int count = static_cast<int>(session.plan()->folded.size());
  if (count > 0) {
    setNext(story, NextAction::Fold, count == 1 ? tr("Fold 1 LayerNorm") : tr("Fold %1 LayerNorms").arg(count),
            QStringLiteral("fold"), tr("Apply the plan in memory and prove that no output changed."));
  } else if (session.analysis()->totals.blocked > 0 &&
             !(session.choices()->undoStack()->canUndo() && session.keepsProof())) {  // the user left edits out
    setNext(story, NextAction::ShowBlocked, tr("Show what blocks"), QStringLiteral("blocked"),
            tr("Select the first blocked norm and the node that blocks it."));
  } else if (session.analysis()->totals.unknown > 0 && !session.analysis()->never_runs) {
    setNext(story, NextAction::Inputs, tr("Give inputs"), QStringLiteral("unknown"),
            tr("Give inputs that show the shapes on which these verdicts depend."));
  } else if (session.cannotRun().isEmpty() && session.analysis()->totals.layer_norms > 0) {
    setNext(story, NextAction::Suggest, tr("Suggest best"), QStringLiteral("fold"),
            tr("Let the planner choose what is worth it on this machine."));
  }
}

}  // namespace

QString nothingToFold(const Session& session) {
  const auto movable = session.analysis() ? movableWeights(session) : 0;
  if (movable == 0) return tr("Nothing to fold.");
  return movable == 1
             ? tr("No LayerNorm folds; moving the weight of 1 RMSNorm into linear layers needs the command line.")
             : tr("No LayerNorm folds; moving the weights of %1 RMSNorms into linear layers needs the command line.")
                   .arg(movable);
}

Story storyOf(const Session& session) {
  Story story;
  story.steps[StoryModel] = modelStep(session);
  story.steps[StoryFoldable] = foldableStep(session);
  story.steps[StoryPlan] = planStep(session);
  story.steps[StoryProved] = provedStep(session);
  story.steps[StoryMeasured] = measuredStep(session);
  story.unconfirmed = session.early() && !session.busy() && session.confirmation().kind == JobKind::None;
  chooseNext(story, session);
  return story;
}

}  // namespace normlens::ui
