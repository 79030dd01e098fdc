// Compares the open model with its fold, or with another file: requested from the engine type by type, so that each
// type's rows are there as soon as they are done. The result becomes void with the model, its inputs or the fold.
//
// Thread: GUI thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

struct DifferenceSettings {
  QString against;  // a file; empty: the folded model
  std::vector<std::string> dtypes{"float64", "float32"};
  int batches = 1;
  qint64 seed = 1;
};

class DifferenceRun final : public EngineRun {
  Q_OBJECT

 public:
  explicit DifferenceRun(Session* session);  // session: not owned, is the parent
  [[nodiscard]] EngineClient* engine() const;

  void start(const DifferenceSettings& settings);
  void addValue(int value);                                                  // compared as well, from the next start on
  [[nodiscard]] QString obstacle(const DifferenceSettings& settings) const;  // why it cannot be started; or empty

  [[nodiscard]] const DifferenceSettings& settings() const { return settings_; }  // The last start's.
  // One per type that is done, in the order of the settings.
  [[nodiscard]] const std::vector<protocol::DiffResult>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<int>& values() const { return values_; }
  [[nodiscard]] double fraction() const override;  // Covers all types together.

  // A piece of the tensors behind a row.
  using TileDone = std::function<void(const Reply<protocol::TensorPair>&)>;
  void requestTile(const protocol::DiffRow& row, const std::string& dtype, const protocol::TensorTile& tile,
                   Question& question, const TileDone& done) const;

 private:
  void next();
  void received(protocol::DiffResult& result);
  void progress(const QString& stage, double fraction) override;
  void clear() override { columns_.clear(); }

  DifferenceSettings settings_;
  std::vector<protocol::DiffResult> columns_;
  std::vector<int> values_;
};

}  // namespace normlens::ui
