// The laboratory's runs on the disk: a folder, in it one for each run, which has its number for a name. The window
// writes "run.json" (the settings) and "records.jsonl" (what was reported, by epoch); the engine the checkpoint,
// "result.json" and the trained networks (core/lab/train.h).
// Thread: value types; functions that touch files, on any thread.
#pragma once

#include <QDateTime>
#include <QString>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/protocol/run_record.h"
#include "core/protocol/run_settings.h"

namespace normlens::ui {

struct KeptRun {
  // Identifies a record within its run.
  using RecordPlace = std::tuple<lab::RunEvent, lab::NormUse, int, int, int64_t, lab::Precision, int>;

  int number = 0;
  std::string name;  // that it was trained under: its number, or that which it had in the project it came with
  QString folder;
  lab::RunSettings settings;
  std::vector<lab::RunRecord> records;  // epochs and divergences, in order
  std::vector<lab::Finding> findings;   // Set for a run that ended.
  std::vector<lab::StepCost> costs;     // the same
  QString machine;                      // the same
  QDateTime ended;                      // the same
  double seconds = 0;                   // the same: see RunResult
  lab::RunEnd end = lab::RunEnd::Open;
  std::map<RecordPlace, size_t> places;  // Locate the records.

  [[nodiscard]] bool isDone() const { return end == lab::RunEnd::Done; }
  [[nodiscard]] bool hasCheckpoint() const;  // else it can only begin anew
};

inline constexpr int kMostKeptRuns = 20;  // that are read; older ones stay on the disk

// The newest first. What cannot be read is left out.
[[nodiscard]] std::vector<KeptRun> keptRuns(const QString& folder);
// Its folder is made, and has the settings. Error: WriteFailed.
[[nodiscard]] Result<KeptRun> makeRun(const QString& folder, const lab::RunSettings& settings);
// Its settings, where they are others than it was made with. False: they could not be written.
[[nodiscard]] bool keepSettings(const KeptRun& run);
// Replaces what the run reported of that epoch before, if it did.
void addRecord(KeptRun& run, const lab::RunRecord& record);
// The same on the disk. False: it could not be written.
bool logRecord(const KeptRun& run, const lab::RunRecord& record);
// Returns what takeResult() was given, or would have been.
[[nodiscard]] lab::RunResult resultOf(const KeptRun& run);
// Takes it, and writes it where the engine would. False: it could not be written.
[[nodiscard]] bool keepResult(KeptRun& run, const lab::RunResult& result);
void takeResult(KeptRun& run, const lab::RunResult& result);
// The file of a trained network; empty: there is none.
[[nodiscard]] QString networkFile(const KeptRun& run, const lab::RunMember& member);
// Returns the folder in which the window keeps runs.
[[nodiscard]] QString usualRunsFolder();

}  // namespace normlens::ui
