// The geometry probe of the open model and of its last fold, and what swapping its LayerNorms as they are does to its
// outputs: each requested when wanted. The figures are void with the model and its inputs, those of the fold with the
// fold.
//
// Runs beside the session's jobs; the engine does one thing at a time. Thread: GUI thread.
#pragma once

#include <QObject>
#include <optional>

#include "core/protocol/probe_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

enum class ProbedModel { Opened, Folded, Both };

class ProbeRun final : public QObject {
  Q_OBJECT

 public:
  explicit ProbeRun(Session* session);  // its owner

  void start(ProbedModel model, int64_t seed = protocol::ProbeParams().seed);
  void startSwaps();  // many runs: stage() and fraction() report how far
  void stop();        // what is done stays
  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] bool swapping() const { return swapQuestion_.pending(); }
  // nullopt: not measured.
  [[nodiscard]] const std::optional<protocol::ProbeResult>& opened() const { return opened_; }
  [[nodiscard]] const std::optional<protocol::ProbeResult>& folded() const { return folded_; }
  [[nodiscard]] const std::optional<protocol::ProbeSwaps>& swaps() const { return swaps_; }
  [[nodiscard]] const QString& problem() const { return problem_; }  // a sentence, or empty
  [[nodiscard]] QString obstacle() const;                            // why none can be started now; empty: it can
  [[nodiscard]] const QString& stage() const { return stage_; }      // of the swaps, in words
  [[nodiscard]] double fraction() const { return fraction_; }

 Q_SIGNALS:
  void changed();     // figures, running or problem
  void progressed();  // stage or fraction

 private:
  void ask(bool folded);
  void received(bool folded, const Reply<protocol::ProbeResult>& reply);
  void fail(const EngineError& error);
  void forget();
  void forgetFold();

  Session* session_;
  std::optional<protocol::ProbeResult> opened_, folded_;
  std::optional<protocol::ProbeSwaps> swaps_;
  ProbedModel wanted_ = ProbedModel::Opened;
  int64_t seed_ = 0;
  QString problem_, stage_;
  double fraction_ = 0;
  Question question_, swapQuestion_;
};

}  // namespace normlens::ui
