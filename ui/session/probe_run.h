// The geometry probe of the open model and of its last fold, and what swapping its LayerNorms as they are does to its
// outputs: each requested when wanted. The figures are void with the model and its inputs, those of the fold with the
// fold. Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/probe_messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

enum class ProbedModel { Opened, Folded, Both };

class ProbeRun final : public EngineRun {
  Q_OBJECT

 public:
  explicit ProbeRun(Session* session);  // its owner

  void start(ProbedModel model, int64_t seed = protocol::ProbeParams().seed);
  // nullopt: not measured.
  [[nodiscard]] const std::optional<protocol::ProbeResult>& opened() const { return opened_; }
  [[nodiscard]] const std::optional<protocol::ProbeResult>& folded() const { return folded_; }
  [[nodiscard]] QString obstacle() const;  // why neither can be started now; empty: they can

 private:
  void probe(bool folded);
  void clear() override;
  void forgetFold();

  std::optional<protocol::ProbeResult> opened_, folded_;
  ProbedModel wanted_ = ProbedModel::Opened;
  int64_t seed_ = 0;
};

class SwapRun final : public EngineRun {
  Q_OBJECT

 public:
  explicit SwapRun(Session* session);  // its owner

  void start();  // many runs of the model
  [[nodiscard]] const std::optional<protocol::ProbeSwaps>& figures() const {
    return figures_;
  }  // nullopt: not measured

 private:
  void clear() override { figures_.reset(); }

  std::optional<protocol::ProbeSwaps> figures_;
};

}  // namespace normlens::ui
