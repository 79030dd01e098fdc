#include <filesystem>
#include <fstream>
#include <iostream>
#include <unordered_map>

#include "app/engine/stop_signals.h"
#include "app/engine/verbs/number_check.h"
#include "app/engine/verbs/sweep_results.h"
#include "app/engine/verbs/sweep_worker.h"
#include "app/engine/version.h"
#include "core/base/parallel.h"
#include "core/base/plural.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct SweepOptions {
  std::vector<std::string> models;
  std::string list, results;
  int threads = 0;
  bool lines = false;
  FoldOptions fold;  // its output: a folder, or a name made of parts in braces; empty: models are only analysed

  [[nodiscard]] std::string outputOf(const fs::path& model) const;
  [[nodiscard]] json decisive(const std::string& output) const;
};

constexpr const char* kParts = "{folder}, {parent}, {name} and {suffix}";

std::optional<std::string> partOf(const fs::path& model, std::string_view part) {
  std::error_code error;
  if (part == "folder") return model.has_parent_path() ? model.parent_path().string() : ".";
  if (part == "parent") return fs::absolute(model, error).lexically_normal().parent_path().filename().string();
  if (part == "name") return model.stem().string();
  if (part == "suffix") return model.extension().string();
  return std::nullopt;
}

// Empty: it has a part that there is not.
std::string SweepOptions::outputOf(const fs::path& model) const {
  const std::string_view given = fold.output;
  if (given.empty() || given.find('{') == std::string_view::npos) {
    return given.empty() ? "" : (fs::path(given) / model.filename()).string();
  }
  std::string name;
  for (size_t at = 0; at < given.size();) {
    const size_t open = given.find('{', at), close = given.find('}', open);
    name += given.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const auto part =
        close != std::string_view::npos ? partOf(model, given.substr(open + 1, close - open - 1)) : std::nullopt;
    if (!part) return {};
    name += *part;
    at = close + 1;
  }
  return name;
}

// What else than the model decides what comes of it.
json SweepOptions::decisive(const std::string& output) const {
  json all = {{"version", kVersion},
              {"inputs", fold.inputs.npz},
              {"input", fold.inputs.specs},
              {"assume", fold.inputs.sizes.assume},
              {"strict", fold.inputs.sizes.strict}};
  if (output.empty()) return all;
  all.update({{"output", output},
              {"policy", fold.policy},
              {"max_growth", fold.maxGrowth},
              {"prices", fold.prices},
              {"norm", fold.norm},
              {"verify", !fold.noVerify},
              {"proof", fold.proof},
              {"force", fold.force}});
  return all;
}

// Those of the command line, and a line of the list each.
Result<std::vector<std::string>> namedModels(const SweepOptions& options) {
  std::vector<std::string> models = options.models;
  if (options.list.empty()) {
    if (models.empty()) return fail(ErrorCode::Usage, "no model is named", "name FILES, or a list with --files-from");
    return models;
  }
  StopSignals::letThrough();  // a list that is typed, or that never ends
  std::ifstream file;
  const bool typed = options.list == "-";
  if (!typed) file.open(options.list);
  std::istream& lines = typed ? std::cin : file;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) models.push_back(line);
  }
  StopSignals::holdBack();
  if (lines.bad() || !lines.eof()) return fail(ErrorCode::Unreadable, "the list " + options.list + " cannot be read");
  return models;
}

// Takes out what is named twice. Error: Usage where one file would be written for two models, or over a model.
Status checkNames(const SweepOptions& options, std::vector<std::string>& models) {
  std::unordered_map<std::string, size_t> read, written;
  const auto resolved = [](const std::string& path) { return confine::Grants::resolved(path).string(); };
  std::erase_if(models, [&](const std::string& model) { return !read.try_emplace(resolved(model), 0).second; });
  const auto clash = [](const std::string& what) {
    return fail(ErrorCode::Usage, what,
                "make names of " + std::string(kParts) + ", as in -o 'out/{parent}_{name}{suffix}'");
  };
  for (size_t i = 0; i < models.size() && !options.fold.output.empty(); ++i) {
    const std::string output = options.outputOf(models[i]);
    if (output.empty()) return clash("-o " + options.fold.output + " has other parts than " + kParts);
    if (read.contains(resolved(output))) return clash("the output of " + models[i] + " would be the model " + output);
    const auto [other, isNew] = written.try_emplace(resolved(output), i);
    if (!isNew) return clash(models[other->second] + " and " + models[i] + " would both be written to " + output);
  }
  const std::string results = options.results.empty() ? "" : resolved(options.results);
  if (!results.empty() && (read.contains(results) || written.contains(results))) {
    return fail(ErrorCode::Usage, "the results would be written into the model " + options.results,
                "choose another name");
  }
  return {};
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const confine::Limits& limits, Console& console)
      : options_(options), limits_(limits), console_(console) {}

  Exit run(const std::vector<std::string>& models, SweepResults results) {
    for (const std::string& model : models) {
      const Status went = stopAsked() ? fail(ErrorCode::Cancelled, "stopped on request") : one(model, results);
      if (!went) {
        end_ = went.error();
        break;
      }
    }
    console_.note(plural(models.size(), "model") + ": " + std::to_string(counts_["done"]) + " done, " +
                  std::to_string(counts_["skipped"]) + " skipped, " + std::to_string(counts_["not_done"]) +
                  " not done, " + std::to_string(counts_["failed"]) + " failed");
    if (end_ && !end_->message.empty()) console_.complain(*end_);
    return console_.finish([&] { return counted(models.size()); }, exit());
  }

 private:
  // Error: the sweep cannot go on.
  Status one(const std::string& model, SweepResults& results) {
    FoldOptions fold = options_.fold;
    fold.model = model;
    fold.output = options_.outputOf(model);
    const json decisive = options_.decisive(fold.output);
    if (auto before = results.done(model, decisive)) {
      (*before)["status"] = "skipped";
      return tell({std::move(*before), "it was done before, and has not changed"});
    }
    auto entry = sweepModel(fold, limits_);
    if (!entry) return fail(ErrorCode::Cancelled, "stopped on request");
    entry->line.update({{"schema", kSchema}, {"model", model}, {"options", decisive}});
    const Status kept = results.append(entry->line);
    const Status told = tell(*entry);
    return kept ? told : kept;
  }

  Status tell(const SweepEntry& entry) {
    const std::string status = entry.line["status"], model = entry.line["model"];
    ++counts_[status];
    const std::string words = status == "not_done" ? "not done" : status;
    if (!options_.lines) console_.print(model + ": " + words + ": " + entry.text);
    const bool onStdout = options_.lines || console_.json() || console_.quiet();
    if (onStdout && status == "failed") console_.complain(inFile(model, {ErrorCode::Unreadable, entry.text, {}}));
    if (onStdout && status == "not_done") console_.note(model + ": not done: " + entry.text);
    if (!options_.lines || console_.line(entry.line)) return {};
    return fail(ErrorCode::Cancelled, "");  // finish() says why
  }

  bool stopAsked() { return signals_.next().has_value(); }

  [[nodiscard]] Exit exit() {
    if (end_) return exitFor(end_->code);
    if (counts_["failed"] > 0) return Exit::Unreadable;
    return counts_["not_done"] > 0 ? Exit::NotDone : Exit::Done;
  }

  [[nodiscard]] json counted(size_t models) {
    json object = {{"models", models}};
    for (const char* status : {"done", "skipped", "not_done", "failed"}) object[status] = counts_[status];
    return object;
  }

  const SweepOptions& options_;
  const confine::Limits& limits_;
  Console& console_;
  StopSignals signals_;
  std::map<std::string, int64_t> counts_;  // by status
  std::optional<Error> end_;               // before the last model
};

Exit runSweep(const SweepOptions& options, const confine::Limits& limits, Console& console) {
  limitThreads(options.threads);
  auto models = namedModels(options);
  if (!models) return console.fail(models.error());
  if (const auto choice = options.fold.inputs.choice(); !choice) return console.fail(choice.error());
  if (const Status apart = checkNames(options, *models); !apart) return console.fail(apart.error());
  const std::string& folder = options.fold.output;
  if (!folder.empty() && folder.find('{') == std::string::npos && !fs::is_directory(folder)) {
    return console.fail({ErrorCode::WriteFailed, "there is no folder " + folder + " to write to", "make it first"});
  }
  auto results = options.results.empty() ? SweepResults() : SweepResults::open(options.results);
  if (!results) return console.fail(results.error());
  if (const auto missing = confine::whatIsMissing(confine::offeredConfinement(), /*gpu=*/false); !missing.empty())
    console.note(missing);
  return Sweep(options, limits, console).run(*models, std::move(*results));
}

}  // namespace

Declared declareSweep(CLI::App& app, const confine::Limits& limits) {
  const auto options = std::make_shared<SweepOptions>();
  app.add_option("models", options->models, "The model files")->type_name("FILES");
  app.add_option("--files-from", options->list, "Take more from this list, a path a line; -: from standard input")
      ->type_name("LIST");
  CLI::Option* const output =
      app.add_option("-o,--output", options->fold.output,
                     "Fold, and write to this folder, or to names made of " + std::string(kParts) +
                         " of the model's path; without it, models are analysed")
          ->type_name("FOLDER");
  app.add_option("--results", options->results,
                 "Add what comes of each model to this file, and skip those that it says are done")
      ->type_name("FILE.jsonl");
  app.add_flag("--json-lines", options->lines, "Print a JSON object a line on stdout, one for each model")
      ->excludes(app.get_option("--json"));
  app.add_option("--threads", options->threads, "Threads of one operation; without it: as many as there are cores")
      ->check(wholeFrom(1));
  options->fold.addTo(app);
  for (const char* howToFold :
       {"--policy", "--max-growth", "--prices", "--norm", "--proof", "--no-verify", "--force"}) {
    app.get_option(howToFold)->needs(output);
  }
  return {{}, {}, [options, &limits](Console& console) { return runSweep(*options, limits, console); }};
}

}  // namespace normlens::engine
