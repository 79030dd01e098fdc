// A project: what the user did with a model, as a file. JSON, versioned, suffix ".normlens".
//
// Norms and values are written by name beside their numbers: an engine of another version, or a model that was exported
// anew, may number them otherwise. The model itself is not in it, only where it is and what it was (XXH3).
// Thread: value types, pure functions but for the two that touch files.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/messages.h"
#include "core/protocol/run_record.h"
#include "ui/session/model_index.h"

namespace normlens::ui {

inline constexpr int kProjectVersion = 1;

struct ModelFile {
  QString path;
  QString xxh3;  // of its files, 32 hex digits; empty: not hashed yet
  qint64 bytes = 0;
  qint64 modifiedMs = 0;  // since 1970
  QString name = {};      // Chooses the model in a file that holds several; else empty.

  bool operator==(const ModelFile&) const = default;
};

// Records the part of the graph that the user was looking at.
struct ProjectView {
  std::vector<std::string> openGroups;  // paths
  double zoom = 0;                      // 0: as on opening
  double centerX = 0, centerY = 0;      // A point of the drawing.
  QString norm;                         // selected; empty: none
};

struct NamedValue {
  int value = -1;
  QString name;
};

inline constexpr size_t kMostRuns = 8;  // earlier measurements that are kept

struct Project {
  ModelFile model;
  QString beside;  // the model's path from the project's folder; of a project that was read
  Policy policy = Policy::Balanced;
  protocol::Prices prices = protocol::Prices::Fixed;
  double maxGrowthPercent = 10;
  QStringList kept;                                     // norms, by name
  std::vector<NamedValue> centered, copied, untouched;  // at run time; constants
  std::string flavour;
  protocol::InputsParams inputs;
  ProjectView view;
  std::string proved;  // when the plan was proved, UTC; only told, as anybody may write the file
  std::optional<protocol::BenchResult> bench;
  std::vector<protocol::BenchResult> benchRuns;  // earlier ones
  protocol::BenchParams benchParams;             // The next one's.
  std::vector<lab::RunResult> labRuns;           // The laboratory's, the newest first.
  QStringList lost;  // once restored: what the plan names and the model has not; not written
};

// beside: the model's path from the folder of the file, where it becomes one.
[[nodiscard]] std::string projectToJson(const Project& project, const QString& beside = {});
// Errors: Unreadable (no JSON, no project, cut off), Unsupported (a newer version).
[[nodiscard]] Result<Project> projectFromJson(const std::string& written);

// All or nothing (QSaveFile). Beside the model's path the file gets its path from the project's folder, so that both
// can be moved together.
[[nodiscard]] Status saveProject(const QString& path, const Project& project);
// The model's path is one that exists where there is one: beside the project first, then where it was.
[[nodiscard]] Result<Project> loadProject(const QString& path);

// Returns the plan's parameters in the numbers of the model that is open. What it does not have goes into `lost`, by
// name.
[[nodiscard]] protocol::PlanParams planOf(const Project& project, const std::vector<protocol::NormInfo>& norms,
                                          const ModelIndex& index, QStringList& lost);

[[nodiscard]] bool isProjectFile(const QString& path);     // by its suffix
[[nodiscard]] ModelFile modelFileAt(const QString& path);  // size and time; no hash

}  // namespace normlens::ui
