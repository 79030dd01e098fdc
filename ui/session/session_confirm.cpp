// Session: verdicts by inferred shapes are shown at once, and the run that confirms them comes after.
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace {

using Norms = std::vector<protocol::NormInfo>;

// Titles of norms that have another verdict than before, or were not there.
QStringList changedVerdicts(const Norms& before, const Norms& after) {
  QStringList names;
  for (const protocol::NormInfo& norm : after) {
    const auto same = [&](const protocol::NormInfo& old) {
      return old.name == norm.name && old.index == norm.index && old.verdict == norm.verdict;
    };
    const auto at = static_cast<size_t>(norm.index);
    if (at >= before.size() || !same(before[at])) names << text(norm.title);
  }
  return names;
}

}  // namespace

void Session::confirm() {
  if (!early() || confirmation_.kind != JobKind::None || !served_) return;
  confirmationQuestion_.ask(protocol::methods::kAnalyze, {}, [this](Reply<protocol::Analysis>& reply) {
    const Job ended = std::exchange(confirmation_, {});
    if (reply) return confirmedBy(std::move(*reply));
    const EngineError& error = reply.error();
    if (error.cancelled() || error.engineDied) {
      Q_EMIT jobChanged();
      if (error.cancelled()) Q_EMIT stopped(ended);
      return;
    }
    Q_EMIT problem(asSentence(error.message), asSentence(error.hint));
    dropAnalysis();
  });
  confirmation_ = {JobKind::Confirming, {}, -1, -1};
  Q_EMIT jobChanged();
}

void Session::dropConfirmation() {
  confirmation_ = {};
  confirmationQuestion_.drop();
}

void Session::confirmedBy(protocol::Analysis&& run) {
  const QStringList changed = changedVerdicts(analysis_->norms, run.norms);
  const bool sameNorms = changed.isEmpty() && analysis_->norms.size() == run.norms.size();
  takeAnalysis(std::move(run));
  if (!sameNorms) {
    voidProof();
    proofs_.clear();
    plan_.reset();
    offered_.reset();
  }
  Q_EMIT analysisChanged();
  Q_EMIT confirmed(changed);
  Q_EMIT jobChanged();
  if (sameNorms) return;
  // The choices name norms by their place, which has changed.
  choices_->startOver();
  selection_->askZeroMean();
  requestPlan();
}

}  // namespace normlens::ui
