#include "ui/session/forced_errors.h"

#include <algorithm>
#include <array>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

ForcedErrors::ForcedErrors(Session* session) : QObject(session), session_(session) {
  connect(session_->engine(), &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double) {
    if (id != request_ || !running()) return;
    stage_ = tr("%1: %2").arg(text(queue_.front().second), stage);
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
  if (!session_->served()) return tr("The engine does not have the model open.");
  if (!session_->analysis()) return tr("The model is being analysed.");
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
  next();
}

void ForcedErrors::next() {
  if (!queue_.empty()) {
    const auto& [norm, type] = queue_.front();
    stage_ = tr("measuring in %1").arg(text(type));
    auto id = std::make_shared<EngineClient::RequestId>(0);
    *id = session_->engine()->request(protocol::methods::kForcedError, {norm, type}, this,
                                      [this, id](Reply<protocol::ForcedError>& reply) {
                                        if (*id == request_) received(reply);  // not superseded
                                      });
    request_ = *id;
  }
  Q_EMIT changed();
}

void ForcedErrors::received(Reply<protocol::ForcedError>& reply) {
  request_ = 0;
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
  if (running()) session_->engine()->cancel(request_);
  request_ = 0;
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
