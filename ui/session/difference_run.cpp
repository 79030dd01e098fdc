#include "ui/session/difference_run.h"

#include <algorithm>

#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

DifferenceRun::DifferenceRun(Session* session) : EngineRun(session) {
  connect(session_, &Session::modelChanged, this, [this] {
    values_.clear();
    forget();
  });
  connect(session_, &Session::inputsChanged, this, &DifferenceRun::forget);
  connect(session_, &Session::foldChanged, this, [this] {
    if (settings_.against.isEmpty()) forget();
  });
}

EngineClient* DifferenceRun::engine() const { return session_->engine(); }

QString DifferenceRun::obstacle(const DifferenceSettings& settings) const {
  if (!session_->model()) return tr("Open a model to compare it.");
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (!session_->analysis()->probe_error.empty())
    return tr("Nothing can be compared, because the model cannot be run.");
  const auto& fold = session_->foldResult();
  if (settings.against.isEmpty() && (!fold || fold->plan.folded.empty())) {
    return tr("Fold first, or compare with another file.");
  }
  if (settings.dtypes.empty()) return tr("Choose a precision.");
  return {};
}

void DifferenceRun::start(const DifferenceSettings& settings) {
  question_.drop();
  settings_ = settings;
  columns_.clear();
  problem_ = obstacle(settings);
  if (problem_.isEmpty()) {
    next();
  } else {
    Q_EMIT changed();
  }
}

void DifferenceRun::next() {
  protocol::DiffParams params;
  params.against = settings_.against.toStdString();
  params.dtype = settings_.dtypes.at(columns_.size());
  params.batches = settings_.batches;
  params.seed = settings_.seed;
  params.values = values_;
  stage_ = tr("comparing in %1").arg(text(params.dtype));
  share_ = 0;
  ask(methods::kDiff, params, [this](protocol::DiffResult& result) { received(result); });
  Q_EMIT changed();
}

void DifferenceRun::received(protocol::DiffResult& result) {
  columns_.push_back(std::move(result));
  for (protocol::DiffRow& row : columns_.back().rows) {
    if (const auto* norm = session_->norm(row.norm)) row.name = norm->title;
  }
  if (columns_.size() < settings_.dtypes.size()) next();
}

void DifferenceRun::progress(const QString& stage, double fraction) {
  EngineRun::progress(stage, std::clamp(fraction, 0.0, 1.0));
}

void DifferenceRun::addValue(int value) {
  if (std::find(values_.begin(), values_.end(), value) != values_.end()) return;
  values_.push_back(value);
}

double DifferenceRun::fraction() const {
  const auto all = static_cast<double>(std::max<size_t>(1, settings_.dtypes.size()));
  return (static_cast<double>(columns_.size()) + share_) / all;
}

void DifferenceRun::requestTile(const protocol::DiffRow& row, const std::string& dtype,
                                const protocol::TensorTile& tile, Question& question, const TileDone& done) const {
  protocol::TensorPairParams params;
  params.against = settings_.against.toStdString();
  params.dtype = dtype;
  params.seed = settings_.seed;
  params.batch = row.batch;
  params.kind = row.kind;
  params.value = row.value;
  params.output = row.output;
  params.tile = tile;
  question.ask(methods::kTensorPair, params, [done](const Reply<protocol::TensorPair>& reply) { done(reply); });
}

}  // namespace normlens::ui
