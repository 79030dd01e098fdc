#include "app/engine/verbs/sweep_worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/engine/supervise_verb.h"
#include "app/engine/verbs/sweep_results.h"
#include "core/base/stopwatch.h"
#include "core/protocol/json.h"
#include "core/service/describe/describe.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

constexpr off_t kMostBytes = 1 << 22;  // of one report

// Memory that a worker's console speaks into: whatever the worker does, no more of it than that, and nothing of it
// reaches the terminal.
class Report {
 public:
  Report()
      : memory_(::memfd_create("normlens-report", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
        console_({.json = true, .quiet = true}, copy(), Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC))) {
    const bool bounded = ::ftruncate(memory_.get(), kMostBytes) == 0;
    if (bounded) ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  }

  [[nodiscard]] Console& console() { return console_; }
  // Of a worker that has ended; null: it left none.
  [[nodiscard]] json object() const {
    const off_t end = ::lseek(memory_.get(), 0, SEEK_CUR);
    std::string text(static_cast<size_t>(std::clamp<off_t>(end, 0, kMostBytes)), '\0');
    const ssize_t got = ::pread(memory_.get(), text.data(), text.size(), 0);
    auto object = protocol::parseJson(std::string_view(text).substr(0, static_cast<size_t>(std::max<ssize_t>(got, 0))));
    return object && object->is_object() ? std::move(*object) : json(nullptr);
  }

 private:
  [[nodiscard]] Descriptor copy() const { return Descriptor(::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0)); }

  Descriptor memory_;
  Console console_;
};

json foldEntry(const protocol::Analysis& analysis, const FoldOutcome& outcome) {
  const std::string text = outcome.output ? foldSummary(outcome.fold.plan) + ", written to " + *outcome.output
                                          : outcome.fold.reason + "; nothing was written";
  return {{"totals", protocol::toJson(analysis.totals)}, {"fold", foldReport(analysis, outcome)}, {"text", text}};
}

Exit analyzeTotals(const FoldOptions& options, const Call& call) {
  Console& console = call.console;
  service::Service service;
  service.setRules(call.rules);
  const auto model = openModel(service, options.model, options.inputs, console, console.task(call.stop()));
  if (!model) return console.fail(model.error());
  const protocol::Analysis& analysis = model->analysis;
  const bool ran = analysis.probe_error.empty();
  return console.finish(
      [&] {
        return json{{"totals", protocol::toJson(analysis.totals)},
                    {"probe_error", ran ? json(nullptr) : json(analysis.probe_error)},
                    {"text", service::inWords(analysis.totals) +
                                 (ran ? "" : "; it could not be run, so shapes are not known")}};
      },
      Exit::Done);
}

const char* statusOf(Exit exit) {
  if (exit == Exit::Done) return "done";
  return exit == Exit::NotDone ? "not_done" : "failed";
}

// What the result rests on; not what an older output was.
json filesRead(const std::vector<confine::HandedFile>& files, const std::string& output) {
  std::map<std::string, json> states;
  for (const confine::HandedFile& file : files) {
    const bool older = !output.empty() && confine::Grants::resolved(file.path) == confine::Grants::resolved(output);
    if (!older) states.try_emplace(file.path, fileState(file));
  }
  json list = json::array();
  for (auto& [path, state] : states) list.push_back(std::move(state));
  return list;
}

std::string textOf(const json& error) {
  const auto word = [&](const char* key) {
    const auto found = error.is_object() ? error.find(key) : error.end();
    return found != error.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return word("message") + (word("hint").empty() ? "" : "; " + word("hint"));
}

json failure(const Error& error) { return {{"status", "failed"}, {"error", errorObject(error)}}; }

// Of what a worker says, only what belongs there.
json reported(json report, Exit exit) {
  json line = {{"status", statusOf(exit)}};
  for (const char* key : {"totals", "fold", "probe_error", "error"}) {
    if (const auto found = report.find(key); found != report.end()) line[key] = std::move(*found);
  }
  return line;
}

}  // namespace

std::optional<SweepEntry> sweepModel(const FoldOptions& options, const confine::Limits& limits) {
  Declared verb;
  verb.files = [&] { return options.files(); };
  verb.run = [&](const Call& call) {
    return options.output.empty() ? analyzeTotals(options, call) : foldToFile(options, call, foldEntry);
  };
  Report report;
  const Stopwatch watch;
  const SupervisedEnd end = superviseWorker(verb, limits, report.console());
  const bool done = end.exit && *end.exit == Exit::Done;
  if (end.stopped && !done) return std::nullopt;
  const json told = end.exit ? report.object() : json(nullptr);
  SweepEntry entry;
  if (!end.exit) {
    entry.line = failure(end.exit.error());
  } else if (told.is_null()) {
    entry.line = failure({ErrorCode::Internal, options.model + ": its process ended without a word", {}});
  } else {
    entry.line = reported(told, *end.exit);
  }
  if (const auto text = told.find("text"); text != told.end() && text->is_string()) entry.text = *text;
  if (entry.line.contains("error")) entry.text = textOf(entry.line["error"]);
  entry.line["seconds"] = std::round(watch.ms()) / 1000;
  if (entry.line["status"] != "done") return entry;
  entry.line["read"] = filesRead(end.read, options.output);
  entry.line["wrote"] = json::array();
  for (const auto& path : end.written) {
    if (json state = fileState(path); !state.is_null()) entry.line["wrote"].push_back(std::move(state));
  }
  return entry;
}

}  // namespace normlens::engine
