// Measures how much the model's outputs change where one LayerNorm is folded against its verdict: type by type and norm
// by norm, each figure there as soon as the engine has it. Kept until the model or its inputs change.
//
// Thread: GUI thread.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

class ForcedErrors final : public EngineRun {
  Q_OBJECT

 public:
  explicit ForcedErrors(Session* session);  // its owner

  [[nodiscard]] static std::span<const std::string> types();  // in the order in which they are measured

  void start(const std::vector<int>& norms);  // Norms that are measured already are not requested again.
  void stop() override;
  [[nodiscard]] bool runsFor(const std::vector<int>& norms) const { return running() && norms == wanted_; }
  [[nodiscard]] QString obstacle() const;          // why it cannot be started; or empty
  [[nodiscard]] double fraction() const override;  // Covers all that was requested.
  // nullptr: not measured.
  [[nodiscard]] const protocol::ForcedError* at(int norm, const std::string& type) const;
  [[nodiscard]] bool has(int norm) const;  // in all types

 private:
  void next();
  void drop();
  void fail(const EngineError& error) override;
  void progress(const QString& stage, double fraction) override;
  void clear() override;

  using NormInType = std::pair<int, std::string>;  // norm, type
  std::map<NormInType, protocol::ForcedError> figures_;
  std::deque<NormInType> queue_;
  size_t total_ = 0;         // that it began with
  std::vector<int> wanted_;  // by the last start
};

}  // namespace normlens::ui
