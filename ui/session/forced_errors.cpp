#include "ui/session/forced_errors.h"

#include <algorithm>
#include <array>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

ForcedErrors::ForcedErrors(Session* session) : EngineRun(session) {
  connect(session_, &Session::modelChanged, this, &ForcedErrors::forget);
  connect(session_, &Session::inputsChanged, this, &ForcedErrors::forget);
}

std::span<const std::string> ForcedErrors::types() {
  static const std::array<std::string, 4> kTypes{"float64", "float32", "bfloat16", "float16"};
  return kTypes;
}

QString ForcedErrors::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (!session_->analysis()->probe_error.empty())
    return tr("Nothing can be measured, because the model cannot be run.");
  return {};
}

void ForcedErrors::start(const std::vector<int>& norms) {
  drop();
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
void ForcedErrors::progress(const QString& stage, double) {
  stage_ = tr("%1 of %2, %3").arg(total_ - queue_.size() + 1).arg(total_).arg(text(queue_.front().second));
  if (!stage.isEmpty()) stage_ += QStringLiteral(": ") + stage;
  Q_EMIT changed();
}

void ForcedErrors::next() {
  if (queue_.empty()) return Q_EMIT changed();
  const auto& [norm, type] = queue_.front();
  ask(protocol::methods::kForcedError, {norm, type}, [this](protocol::ForcedError& figure) {
    figures_[queue_.front()] = std::move(figure);
    queue_.pop_front();
    if (!queue_.empty()) next();
  });
  progress({}, 0);
}

void ForcedErrors::fail(const EngineError& error) {
  EngineRun::fail(error);
  drop();
}

void ForcedErrors::drop() {
  question_.drop();
  queue_.clear();
  stage_.clear();
}

void ForcedErrors::stop() {
  drop();
  Q_EMIT changed();
}

void ForcedErrors::clear() {
  drop();
  figures_.clear();
}

const protocol::ForcedError* ForcedErrors::at(int norm, const std::string& type) const {
  const auto found = figures_.find({norm, type});
  return found == figures_.end() ? nullptr : &found->second;
}

bool ForcedErrors::has(int norm) const {
  return std::ranges::all_of(types(), [&](const std::string& type) { return at(norm, type) != nullptr; });
}

}  // namespace normlens::ui
