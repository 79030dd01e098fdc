// Session: what arrives from the engine, and the selection.
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/client/window_words.h"
#include "ui/session/format.h"
#include "ui/session/input_presets.h"
#include "ui/session/recent_files.h"
#include "ui/session/session.h"

namespace normlens::ui {

namespace methods = protocol::methods;

void Session::clearModel() {
  model_.reset();
  index_ = {};
  analysis_.reset();
  plan_.reset();
  offered_.reset();
  fold_.reset();
  bench_.reset();
  benchLive_.clear();
  benchRuns_.clear();
  benchParams_ = {};
  benchParams_.device = device_.toStdString();
  exported_.reset();
  zeroMean_.reset();
  statsCache_.clear();
  selection_ = {};
  Q_EMIT selectionChanged();
  Q_EMIT modelChanged();
  Q_EMIT planChanged();
  Q_EMIT foldChanged();
  Q_EMIT benchChanged();
  Q_EMIT benchParamsChanged();
}

void Session::voidProof() {
  // What is being measured is of the fold that goes: it becomes an earlier run.
  if (job_.kind == JobKind::Measuring && benchLive_.result()) {
    keepRun();
    bench_ = benchLive_.result();
    benchLive_.clear();
  }
  const bool had = fold_.has_value() || bench_.has_value();
  fold_.reset();
  keepRun();
  exported_.reset();
  if (!had) return;
  Q_EMIT foldChanged();
  Q_EMIT benchChanged();
}

void Session::opened(protocol::ModelInfo&& info) {
  takeNext();
  served_ = true;
  const Selection before = selection_;
  // An engine that had to be started again opens the file anew.
  const bool sameModel =
      model_ && model_->path == info.path && model_->file_bytes == info.file_bytes && model_->modified == info.modified;
  index_ = ModelIndex(std::make_shared<const protocol::GraphDocument>(std::move(info.graph)));
  info.graph = {};
  model_ = std::move(info);
  analysis_.reset();
  plan_.reset();
  offered_.reset();
  statsCache_.clear();
  foldServed_ = false;
  if (!sameModel) voidProof();
  Q_EMIT modelChanged();
  if (sameModel) {
    select(before);
  } else {
    // The ids in the plan's parameters belong to another graph.
    params_ = {};
    undo_.clear();
    select({});
    inputs_ = restoring_ ? restoring_->inputs : inputPreset(path_);
  }
  Q_EMIT inputsChanged();
  analyze();
}

void Session::analyzed(protocol::Analysis&& analysis) {
  index_.merge(std::exchange(analysis.values, {}));
  analysis_ = std::move(analysis);
  analysis_->probe_error = inWindowWords(text(analysis_->probe_error)).toStdString();
  statsCache_.clear();  // what a plan centers is known only now
  const protocol::Totals& totals = analysis_->totals;
  rememberFile({path_, totals.free + totals.with_centering, totals.layer_norms});
  // Once the user has changed the plan it is no longer the project's.
  if (restoring_ && undo_.count() == 0) {
    restoring_->lost.clear();
    params_ = planOf(*restoring_, *this, restoring_->lost);
    flavour_ = restoring_->flavour;
  }
  Q_EMIT analysisChanged();
  requestZeroMean();
  requestPlan();
}

// Its plan is there: what remains is what was measured, and the selection.
void Session::restoreProject() {
  if (!restoring_) return;
  const Project project = std::move(*restoring_);
  restoring_.reset();
  benchRuns_ = project.benchRuns;
  if (project.bench || !benchRuns_.empty()) {
    bench_ = project.bench;
    Q_EMIT benchChanged();
  }
  setBenchParams(project.benchParams);
  const int norm = project.view.norm.isEmpty() ? -1 : normNamed(project.view.norm);
  if (norm >= 0) selectNorm(norm);
  Q_EMIT projectRestored(project);
}

// ---- selection

void Session::setDigits(int digits) {
  if (digits == digits_) return;
  digits_ = digits;
  Q_EMIT digitsChanged();
}

void Session::select(const Selection& selection) {
  if (selection == selection_) return;
  selection_ = selection;
  zeroMean_.reset();
  Q_EMIT selectionChanged();
  Q_EMIT zeroMeanChanged();
  requestZeroMean();
}

void Session::selectNorm(int norm) { select({norm, -1, -1}); }

void Session::selectNode(int node) {
  const protocol::GraphNode* at = index_.node(node);
  if (at == nullptr) return;
  if (at->norm >= 0 && this->norm(at->norm) != nullptr) {
    select({at->norm, -1, -1});
  } else {
    select({-1, node, -1});
  }
}

void Session::selectValue(int value) {
  if (index_.value(value) != nullptr) select({-1, -1, value});
}

void Session::clearSelection() { select({}); }

void Session::requestZeroMean() {
  if (selection_.norm < 0 || !analysis_) return;
  protocol::NormParams params;
  params.norm = selection_.norm;
  engine_->request(methods::kZeroMeanGraph, params, this, [this](const Reply<protocol::ZeroMeanGraph>& reply) {
    if (!reply || reply->norm != selection_.norm) return;  // moved on
    zeroMean_ = *reply;
    Q_EMIT zeroMeanChanged();
  });
}

EngineClient::RequestId Session::requestTensorStats(int value, QObject* context,
                                                    std::function<void(const Reply<protocol::TensorStats>&)> done) {
  if (const auto cached = statsCache_.constFind(value); cached != statsCache_.constEnd()) {
    done(*cached);
    return 0;
  }
  protocol::TensorParams params;
  params.value = value;
  params.plan = params_;
  return engine_->request(methods::kTensorStats, params, context,
                          [this, value, done, revision = planRevision_](const Reply<protocol::TensorStats>& reply) {
                            if (reply && revision == planRevision_) statsCache_.insert(value, *reply);
                            done(reply);
                          });
}

void Session::previewCenter(int value, QObject* context,
                            std::function<void(const Reply<protocol::CenterPreview>&)> done) {
  protocol::CenterParams params;
  params.value = value;
  engine_->request(methods::kPreviewCenter, params, context, std::move(done));
}

}  // namespace normlens::ui
