// The table of verbs: adding one is a row in verbs.cpp and a file.
#pragma once

#include <CLI/CLI.hpp>

#include <csignal>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "app/engine/console.h"
#include "core/confine/worker.h"
#include "core/service/service.h"

namespace normlens::engine {

// SIGTERM as a stop token, in the process that works: who started it turns Ctrl-C into that (supervise_verb.h). The
// first one requests the work to stop, a second one ends the process. Made before any other thread starts: it blocks
// the signal for the process and waits for it on a thread of its own.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  // Half a second after the request the work may still go on (a single op can take minutes): the process then ends with
  // what this returns, which is called on the watching thread. For work that has something to save.
  void ifItGoesOn(std::function<int()> leave);

 private:
  void watch(const std::stop_token& ended);

  std::stop_source stop_;
  sigset_t signals_;
  std::mutex mutex_;  // guards leave_
  std::function<int()> leave_;
  std::jthread watcher_;
};

// A Call is what a verb gets when it is carried out.
struct Call {
  Console& console;
  Interrupt& interrupt;
  service::RunRules rules;
  [[nodiscard]] std::stop_token stop() const { return interrupt.token(); }
};
using RunVerb = std::function<Result<Exit>(const Call& call)>;

// The files that the command line names; what a verb that opens models may be handed in its confined process.
struct NamedFiles {
  std::string model;    // what sentences are about
  std::string ofModel;  // which model of that file; empty: no choice
  confine::Grants grants;
  bool gpu = false;  // a GPU is to be used
};

// Declared is what a verb does once its options are parsed: one of the two.
struct Declared {
  // Opens models, in a confined process that may be handed these files.
  RunVerb run;
  std::function<NamedFiles()> files;
  // Opens none, or sees to their confinement itself (serve); this process has one thread then.
  std::function<Exit(Console& console)> here;
};

struct Verb {
  std::string_view name;
  std::string_view group;  // of the list of verbs
  std::string_view summary;
  std::string_view example;
  // Adds the verb's options; they live in what it returns.
  Declared (*declare)(CLI::App& app, const confine::Limits& limits);
  bool runsModels = true;  // takes --time-limit and --memory-limit
};

[[nodiscard]] std::span<const Verb> verbs();

// Each verb's file defines one; they are the rows of the table. The parser fills in `limits`.
Declared declareAnalyze(CLI::App& app, const confine::Limits& limits);
Declared declareCheck(CLI::App& app, const confine::Limits& limits);
Declared declareFold(CLI::App& app, const confine::Limits& limits);
Declared declareFuse(CLI::App& app, const confine::Limits& limits);
Declared declareCrms(CLI::App& app, const confine::Limits& limits);
Declared declareDiff(CLI::App& app, const confine::Limits& limits);
Declared declareVerify(CLI::App& app, const confine::Limits& limits);
Declared declareProbe(CLI::App& app, const confine::Limits& limits);
Declared declareBench(CLI::App& app, const confine::Limits& limits);
Declared declareLab(CLI::App& app, const confine::Limits& limits);
Declared declareReport(CLI::App& app, const confine::Limits& limits);
Declared declareServe(CLI::App& app, const confine::Limits& limits);
Declared declareDoctor(CLI::App& app, const confine::Limits& limits);

}  // namespace normlens::engine
