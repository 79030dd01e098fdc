// Compares the open model with its fold, or with another file: requested from the engine type by type, so that each
// type's rows are there as soon as they are done. The result becomes void with the model, its inputs or the fold.
//
// Runs beside the session's jobs; the engine does one thing at a time. Thread: GUI thread.
#pragma once

#include <QObject>
#include <functional>
#include <string>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

struct DifferenceSettings {
  QString against;  // a file; empty: the folded model
  std::vector<std::string> dtypes{"float64", "float32"};
  int batches = 1;
  qint64 seed = 1;
};

class DifferenceRun final : public QObject {
  Q_OBJECT

 public:
  explicit DifferenceRun(Session* session);  // session: not owned, is the parent
  [[nodiscard]] EngineClient* engine() const;

  void start(const DifferenceSettings& settings);
  void cancel();                                                             // what is done stays
  void addValue(int value);                                                  // compared as well, from the next start on
  [[nodiscard]] QString obstacle(const DifferenceSettings& settings) const;  // why it cannot be started; or empty

  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] const DifferenceSettings& settings() const { return settings_; }  // of the last start
  // One per type that is done, in the order of the settings.
  [[nodiscard]] const std::vector<protocol::DiffResult>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<int>& values() const { return values_; }
  [[nodiscard]] QString problem() const { return problem_; }  // why it ended early; a sentence, or empty
  [[nodiscard]] QString stage() const { return stage_; }
  [[nodiscard]] double fraction() const;  // of all types together

  // A piece of the tensors behind a row.
  using TileDone = std::function<void(const Reply<protocol::TensorPair>&)>;
  void requestTile(const protocol::DiffRow& row, const std::string& dtype, const protocol::TensorTile& tile,
                   Question& question, const TileDone& done) const;

 Q_SIGNALS:
  void changed();     // columns, running or problem
  void progressed();  // stage or fraction
  void valuesChanged();

 private:
  void next();
  void received(Reply<protocol::DiffResult>& reply);
  void forget();

  Session* session_;  // Not owned.
  DifferenceSettings settings_;
  std::vector<protocol::DiffResult> columns_;
  std::vector<int> values_;
  Question question_;
  QString stage_, problem_;
  double share_ = 0;  // of the type that is being compared
};

}  // namespace normlens::ui
