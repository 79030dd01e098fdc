#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/engine/verbs.h"
#include "app/engine/verbs/report/document.h"
#include "core/base/files.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/base/printable.h"
#include "core/lab/train.h"
#include "core/protocol/json.h"
#include "core/protocol/run_record.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;

// The result of a run of the laboratory, for people and for programs.
std::string orDash(const std::optional<double>& value, const char* form) {
  return value ? formatted(form, *value) : "-";
}

std::vector<std::string> networkLines(const lab::RunResult& result) {
  report::Table table{{"network", "layers", "optimizer", "seed", "precision", "epoch", "train loss", "test loss",
                       "accuracy", "weights differ", "ms per step", "MB"},
                      {}};
  for (const lab::RunRecord& last : lab::lastOfEach(result.records)) {
    const lab::RunMember& member = last.member;
    const bool reference = member.network == lab::NormUse::LayerNorm;
    table.rows.push_back(
        {nameOf(member.network), std::to_string(member.layers),
         lab::describe(result.settings.optimizers[static_cast<size_t>(member.optimizer)]), std::to_string(member.seed),
         nameOf(member.precision), std::to_string(last.epoch), orDash(last.train_loss, "%.4g"),
         formatted("%.4g", last.test_loss), formatted("%.1f%%", last.test_accuracy * 100),
         reference ? "reference" : orDash(last.weight_difference, "%.2g"), formatted("%.3g", last.ms_per_step),
         formatted("%.1f", static_cast<double>(last.bytes) / 1e6)});
  }
  return asLines(table);
}

std::vector<std::string> costLines(const lab::RunResult& result) {
  report::Table table{
      {"network", "layers", "precision", "ms per step", "95% interval", "speed-up", "95% interval", "MB"}, {}};
  for (const lab::StepCost& cost : result.costs) {
    const auto interval = [](double low, double high) { return formatted("%.3g to %.3g", low, high); };
    const bool reference = cost.member.network == lab::NormUse::LayerNorm;
    table.rows.push_back({nameOf(cost.member.network), std::to_string(cost.member.layers),
                          nameOf(cost.member.precision), formatted("%.3g", cost.median_ms),
                          interval(cost.low_ms, cost.high_ms),
                          reference ? "reference" : formatted("%.3g", cost.ratio) + (cost.noise ? " (noise)" : ""),
                          reference ? "" : interval(cost.ratio_low, cost.ratio_high),
                          formatted("%.1f", static_cast<double>(cost.bytes) / 1e6)});
  }
  return asLines(table);
}

// Returns RunResult as it is, and "schema".
nlohmann::json labReport(const lab::RunResult& result) { return protocol::toJson(result); }

// Returns networks with their last numbers, costs if there are any, findings.
std::vector<std::string> labLines(const lab::RunResult& result) {
  std::vector<std::string> lines = networkLines(result);
  for (const lab::RunRecord& record : result.records) {
    if (record.event == lab::RunEvent::Diverged)
      lines.push_back("diverged: " + lab::memberName(record.member, result.settings) + ": " + record.text);
  }
  if (!result.costs.empty()) std::ranges::move(costLines(result), std::back_inserter(lines));
  for (const lab::Finding& finding : result.findings) {
    const char* verdict = !finding.holds ? "cannot tell" : *finding.holds ? "holds" : "does not hold";
    lines.push_back(std::string(verdict) + ": " + finding.claim +
                    (finding.text.empty() ? "" : " (" + finding.text + ")"));
  }
  return lines;
}

struct Options {
  std::string run, folder;
  bool anew = false, lines = false;
  // The process that names the files reads the settings, for the worker as well.
  Result<lab::RunSettings> settings = fail(ErrorCode::Internal, "the run was not read");
  Status folderThere;  // made by that process: a worker has no paths
};

constexpr size_t kMostBytes = size_t{1} << 20;

// A path of the file is one from its folder.
Result<lab::RunSettings> readRun(const std::string& path) {
  const auto text = files::readSmall(path, kMostBytes);
  if (!text) {
    const std::string why = text.error() == EFBIG ? "it is too large" : std::strerror(text.error());
    return fail(ErrorCode::Unreadable, printable("the run " + path + " cannot be read: " + why));
  }
  auto settings = lab::readRunSettings(*text);
  if (!settings) {
    settings.error().message = printable("the run " + path + " cannot be carried out: " + settings.error().message);
    return settings;
  }
  std::string& data = settings->data.path;
  if (!data.empty() && fs::path(data).is_relative()) data = (fs::path(path).parent_path() / data).string();
  return settings;
}

// Makes the folder, and what is missing above it.
Status makeFolder(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return {};
  if (fs::exists(folder, error))
    return fail(ErrorCode::WriteFailed, printable(folder + " is not a folder"), "choose another name");
  if (fs::create_directories(folder, error); !error) return {};
  return fail(ErrorCode::WriteFailed, printable("the folder " + folder + " cannot be made: " + error.message()),
              "choose another one");
}

// Reports a record while the networks are trained.
void tell(const lab::RunRecord& record, const Options& options, Console& console, const Task& task) {
  if (options.lines) {
    (void)console.line(protocol::toJson(record));
    return;
  }
  const double fraction = record.of == 0 ? -1 : static_cast<double>(record.done) / static_cast<double>(record.of);
  if (record.event == lab::RunEvent::Epoch) {
    task.report(nameOf(record.member.network) + formatted(": epoch %d of %d, loss %.4g", record.epoch, record.epochs,
                                                          record.train_loss.value_or(record.test_loss)),
                fraction);
  } else if (record.event == lab::RunEvent::Diverged) {
    console.note(nameOf(record.member.network) + " diverged: " + record.text);
  } else if (record.event == lab::RunEvent::Resumed) {
    console.note(record.done == record.of ? "the run is done; these are its results"
                                          : formatted("resuming from the checkpoint of epoch %d", record.epoch));
  }
}

Result<Exit> run(const Options& options, const Call& call) {
  Console& console = call.console;
  if (!options.settings) return tl::unexpected(options.settings.error());
  RETURN_IF_ERROR(options.folderThere);
  const Task task = console.task(call.stop());
  lab::RunControl control;
  control.stop = call.stop();
  control.onRecord = [&](const lab::RunRecord& record) { tell(record, options, console, task); };
  const std::string name = fs::path(options.run).stem().string();
  ASSIGN_OR_RETURN(const auto result, lab::train(*options.settings, {name, options.folder, options.anew}, control));
  const bool stopped = result.end == lab::RunEnd::Stopped;
  console.print(name + ": " + plural(lab::memberCount(result.settings), "network") + ", " + result.machine);
  for (const std::string& line : labLines(result)) console.print("  " + line);
  if (stopped) {
    console.note("stopped: the results so far are shown" +
                 std::string(options.folder.empty() ? "" : ", and the same command resumes the run"));
  }
  return console.finish([&] { return labReport(result); }, stopped ? Exit::NotDone : Exit::Done);
}

NamedFiles filesOf(Options& options) {
  options.settings = readRun(options.run);
  NamedFiles files;
  files.model = options.run;
  files.grants.toRead(options.run);
  if (!options.settings) return files;
  files.gpu = options.settings->device.starts_with("cuda");
  files.grants.toRead(options.settings->data.path);
  options.folderThere = makeFolder(options.folder);
  if (options.folder.empty() || !options.folderThere) return files;
  for (const fs::path& file : lab::filesOfRun(*options.settings, options.folder)) files.grants.toWrite(file);
  return files;
}

}  // namespace

Declared declareLab(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "Settings of the run: docs/lab.md describes the fields")
      ->required()
      ->type_name("RUN.json");
  app.add_option(
         "-o,--output", options->folder,
         "Write the checkpoint, the results and the trained networks to this folder; a run that started there resumes")
      ->type_name("FOLDER");
  app.add_flag("--anew", options->anew, "Start again although the folder has a checkpoint");
  app.add_flag("--json-lines", options->lines,
               "Print one JSON object per line to stdout, one for each epoch of each network");
  return {[options](const Call& call) { return run(*options, call); }, [options] { return filesOf(*options); }, {}};
}

}  // namespace normlens::engine
