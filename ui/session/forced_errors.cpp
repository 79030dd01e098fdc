#include "ui/session/forced_errors.h"

#include <algorithm>
#include <array>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

ForcedErrors::ForcedErrors(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_->engine(), &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double) {
    if (!question_.is(id)) return;
    tell(stage);
    Q_EMIT changed();
  });
  connect(session_, &Session::modelChanged, this, &ForcedErrors::forget);
  connect(session_, &Session::inputsChanged, this, &ForcedErrors::forget);
}

std::span<const std::string> ForcedErrors::types() {
  static const std::array<std::string, 4> kTypes{"float64", "float32", "bfloat16", "float16"};
  return kTypes;
}

QString ForcedErrors::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (!session_->analysis()->probe_error.empty()) return tr("The model cannot be run, so nothing can be measured.");
  return {};
}

void ForcedErrors::start(const std::vector<int>& norms) {
  stop();
  wanted_ = norms;
  problem_ = obstacle();
  if (problem_.isEmpty()) {
    for (const std::string& type : types()) {
      for (const int norm : norms) {
        if (at(norm, type) == nullptr) queue_.emplace_back(norm, type);
      }
    }
  }
  total_ = queue_.size();
  next();
}

double ForcedErrors::fraction() const {
  return total_ == 0 ? 0 : static_cast<double>(total_ - queue_.size()) / static_cast<double>(total_);
}

// "12 of 401, float32: folding it alone"
void ForcedErrors::tell(const QString& stage) {
  stage_ = tr("%1 of %2, %3").arg(total_ - queue_.size() + 1).arg(total_).arg(text(queue_.front().second));
  if (!stage.isEmpty()) stage_ += QStringLiteral(": ") + stage;
}

void ForcedErrors::next() {
  if (!queue_.empty()) {
    const auto& [norm, type] = queue_.front();
    tell({});
    question_.ask(protocol::methods::kForcedError, {norm, type},
                  [this](Reply<protocol::ForcedError>& reply) { received(reply); });
  }
  Q_EMIT changed();
}

void ForcedErrors::received(Reply<protocol::ForcedError>& reply) {
  if (reply) {
    figures_[queue_.front()] = std::move(*reply);
    queue_.pop_front();
    return next();
  }
  if (!reply.error().cancelled() && !reply.error().engineDied) problem_ = asSentence(reply.error().message);
  stop();
  Q_EMIT changed();
}

void ForcedErrors::stop() {
  question_.drop();
  queue_.clear();
  stage_.clear();
}

void ForcedErrors::cancel() {
  stop();
  Q_EMIT changed();
}

void ForcedErrors::forget() {
  stop();
  figures_.clear();
  problem_.clear();
  Q_EMIT changed();
}

const protocol::ForcedError* ForcedErrors::at(int norm, const std::string& type) const {
  const auto found = figures_.find({norm, type});
  return found == figures_.end() ? nullptr : &found->second;
}

bool ForcedErrors::has(int norm) const {
  return std::ranges::all_of(types(), [&](const std::string& type) { return at(norm, type) != nullptr; });
}

}  // namespace normlens::ui
