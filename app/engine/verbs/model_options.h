// The arguments that the verbs share: INPUTS, and opening a model with them.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/console.h"
#include "app/engine/verbs.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/service/service.h"

namespace normlens::engine {

// The rules for OUT, and a model saved there.
using Files = std::vector<std::filesystem::path>;  // of a model: itself, then what it reads beside it

// Errors: Usage where OUT is one of the model's files or has another suffix than the model, whose format it shares;
// WriteFailed where the folder does not exist or OUT is a folder, a device or a pipe.
[[nodiscard]] Status checkOutput(const Files& model, const std::filesystem::path& out);

// Checks the path of another file beside the model: "the plan", "the table". Errors: Usage where that is one of the
// model's files or of these, an empty name is none; WriteFailed as above.
[[nodiscard]] Status checkWrittenBeside(const std::string& what, const std::filesystem::path& path, const Files& model,
                                        const Files& others);

// Errors: Usage where the path is a name that an export of `out` gives to its data.
[[nodiscard]] Status checkBesideOutput(const std::string& what, const std::filesystem::path& path,
                                       const std::filesystem::path& out);

// Says what is written, or that no norm is right. Errors: Usage where the path is one of the files that were judged;
// those of formats::writeWhole.
[[nodiscard]] Status writeCertificate(const std::filesystem::path& path, const service::JudgedFold& judged,
                                      Console& console);

// Saves what a verb made of a model; returns how long that took, in milliseconds.
[[nodiscard]] Result<double> saveTo(const formats::Model& model, const std::string& path, const Task& task);

// Checks of options that are numbers. CLI11's own would print the largest number there is, digit by digit.
[[nodiscard]] CLI::Validator wholeFrom(int least);
[[nodiscard]] CLI::Validator notNegative();

struct InputOptions {
  std::string npz;
  std::vector<std::string> more;  // further files of arrays, for a verb that reads several
  std::vector<std::string> specs;
  std::string model;  // of a file that holds several: its name
  service::SizeChoice sizes;
  bool requireVerdicts = false;

  void addTo(CLI::App& app);
  void addSeveralTo(CLI::App& app);   // the same; --inputs takes several files, and folders of them
  void addSizesTo(CLI::App& app);     // for a verb that gives verdicts
  void addVerdictsTo(CLI::App& app);  // for one that may end where some are unknown
  [[nodiscard]] Files files() const;  // the files of arrays
  // Error: both kinds given.
  [[nodiscard]] Result<service::InputChoice> choice() const;

 private:
  void addDrawnTo(CLI::App& app);
};

// Returns the files of a folder that have one of these suffixes, sorted by name and number; of anything else the path
// alone.
[[nodiscard]] std::vector<std::string> filesIn(const std::string& path, std::span<const std::string_view> suffixes);

// Models and inputs that a verb was given, for reading, which of the models in a file it is about, and what it is to
// write; empty: nothing.
[[nodiscard]] NamedFiles namedFiles(std::initializer_list<std::string> models, const InputOptions& inputs,
                                    const std::string& output = {});

// Adds what makes it known to the reason of each unknown verdict, in the words of a terminal.
void addAdvice(protocol::Analysis& analysis);

// Sets the inputs of the open model and analyzes it.
[[nodiscard]] Result<protocol::Analysis> analyzeModel(service::Service& service, const std::string& path,
                                                      const InputOptions& inputs, Console& console, const Task& task,
                                                      formats::InputsFor use = formats::InputsFor::Values);

// Notes which inputs were assumed; nothing where they could not be run, which couldNotRun() reports. For a verb whose
// result depends on them.
void noteAssumedInputs(const protocol::Analysis& analysis, Console& console);

// "gate has size 1 in its last axis (the model does not run with 8 there)"
[[nodiscard]] std::string asText(const protocol::SizeCondition& condition);
// "would fold if gate has size 1 in its last axis: --assume 'gate[-1]=1'", a line for each condition.
[[nodiscard]] std::vector<std::string> wouldFold(const protocol::NormInfo& norm);

// Adds an option whose values are the names of an enum, the first `offered` of them.
template <Named E>
void addChoice(CLI::App& app, const std::string& name, E& chosen, const std::string& help,
               size_t offered = namesOf(E{}).size()) {
  const auto names = namesOf(E{});
  app.add_option_function<std::string>(
         name, [&chosen](const auto& word) { chosen = *fromName<E>(word); }, help)
      ->check(
          CLI::IsMember(std::vector<std::string>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(offered))))
      ->default_str(nameOf(chosen));
}

// Every verb's --device has this help.
inline constexpr const char* kDeviceHelp = "Where to run: cpu, cuda, or cuda:1 for another GPU than the first";

// Names the norm that a fold writes in a LayerNorm's place, by what is to run it (--for) or by itself (--norm).
struct NormChoice {
  std::string name = "portable", target;

  void addTo(CLI::App& app, const std::string& help, bool withAuto = false);
  [[nodiscard]] bool isAuto() const { return name == "auto"; }
  // Sets `name` to what the target loads of this format. Error: Usage where that, or the norm of that name, is none.
  [[nodiscard]] Status chooseFor(const std::string& format);
};

// Adds the percent by which the file may grow (--max-growth).
void addMaxGrowth(CLI::App& app, double& percent);

struct OpenedModel {
  protocol::ModelInfo info;
  protocol::Analysis analysis;
};
// Opens and analyzes, by the call's rules.
[[nodiscard]] Result<OpenedModel> openModel(service::Service& service, const std::string& path,
                                            const InputOptions& inputs, const Call& call, const Task& task);

// Every error names the file that it is about.
[[nodiscard]] Error inFile(const std::string& path, Error error);

// "PATH could not be run on the assumed inputs (x: float32[2, 8] as the file says): ...", where it could not.
[[nodiscard]] std::string couldNotRun(const std::string& path, const protocol::Analysis& analysis);
// Error: couldNotRun(), where it could not.
[[nodiscard]] Status requireRunnable(const std::string& path, const protocol::Analysis& analysis);
// Error: verdicts are wanted of all norms, and one is unknown.
[[nodiscard]] Status requireVerdicts(const std::string& path, const InputOptions& inputs,
                                     const protocol::Analysis& analysis);

}  // namespace normlens::engine
