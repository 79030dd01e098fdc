// Holds what was measured of the open model: the measurement under way, the last one, earlier ones, and the parameters
// of the next one. Thread: GUI thread.
#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "core/protocol/bench_messages.h"
#include "ui/session/project/project.h"

namespace normlens::ui {

// Collects what a measurement has reported so far: the result as it would be if it ended now.
class BenchCollector {
 public:
  void put(const protocol::BenchUpdate& update);
  void clear() { result_.reset(); }
  // nullopt before the first round was reported; its `cancelled` is set: it is not complete.
  [[nodiscard]] const std::optional<protocol::BenchResult>& result() const { return result_; }
  [[nodiscard]] int wanted() const { return wanted_; }  // points

 private:
  std::optional<protocol::BenchResult> result_;
  int wanted_ = 0;
};

class Measurements final : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  [[nodiscard]] const std::optional<protocol::BenchResult>& last() const { return last_; }
  // Returns what the measurement under way has reported so far.
  [[nodiscard]] const BenchCollector& live() const { return live_; }
  // The newest first; to lay over the last one. They outlive a change of the plan.
  [[nodiscard]] const std::vector<protocol::BenchResult>& earlier() const { return earlier_; }
  [[nodiscard]] const protocol::BenchParams& params() const { return params_; }
  [[nodiscard]] bool wantsFold() const;  // by params()

  // Returns the last measurement where it has times of the original's nodes, else what an earlier one, of another plan,
  // says of the original alone; nullptr: there is none. timedNodes() returns its first point.
  [[nodiscard]] const protocol::BenchResult* timed() const;
  [[nodiscard]] const protocol::BenchPoint* timedNodes() const;

  void setParams(const protocol::BenchParams& params);
  void setDevice(const QString& device);  // "cpu", "cuda": where measurements start out
  void restore(const Project& project);

  // ---- for the session
  void add(const protocol::BenchUpdate& update);
  // Ends it one way or another: what it reported is the result where none came.
  void end(std::optional<protocol::BenchResult> result);
  // The fold that was measured goes: the last measurement, or the one under way, becomes an earlier one. Whether there
  // was one; changed() is left to the caller.
  bool retire(bool underWay);
  // A fold that was measured is shown again: its measurement is the last once more.
  void bringBack(const protocol::BenchResult& result);
  void beginWith(const protocol::InputsParams& inputs) { measuredWith_ = inputs; }
  // With other inputs than these a measurement becomes an earlier one, and says nothing of the original.
  void dropOfOtherInputs(const protocol::InputsParams& inputs);
  void clear();           // another model; emits nothing

 Q_SIGNALS:
  void changed();     // last(): there is another one, or none any more
  void progressed();  // live()
  void paramsChanged();

 private:
  void keepLast();

  protocol::InputsParams measuredWith_;
  std::optional<protocol::BenchResult> last_;
  std::optional<protocol::BenchResult> original_;  // of one that is no longer the last: its point without the fold
  BenchCollector live_;
  std::vector<protocol::BenchResult> earlier_;
  protocol::BenchParams params_;
  QString device_ = QStringLiteral("cpu");
};

}  // namespace normlens::ui
