// normlens-engine: the command line of the engine. Verbs: verbs.cpp.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "app/engine/stop_signals.h"
#include "app/engine/supervise_verb.h"
#include "app/engine/verbs.h"
#include "app/engine/version.h"
#include "core/base/plain_error.h"

// jemalloc reads this: one arena, which is there from the start. One that a new thread requests when memory has run out
// ends the process instead of the allocation. Other allocators do not look.
extern "C" {
const char* malloc_conf = "narenas:1";  // NOLINT(readability-identifier-naming)
}

namespace {

using normlens::Error;
using normlens::ErrorCode;
using normlens::engine::Console;
namespace confine = normlens::confine;

bool has(int argc, char** argv, std::string_view flag) {
  return std::any_of(argv + 1, argv + argc, [&](const char* argument) { return argument == flag; });
}

nlohmann::json optionRow(const CLI::Option& option) {
  return {{"short", option.get_snames()},
          {"long", option.get_lnames()},
          {"positional", option.get_positional()},
          {"value", option.get_items_expected_max() > 0 ? option.get_type_name() : ""},
          {"repeats", option.get_items_expected_max() > 1},
          {"required", option.get_required()},
          {"default", option.get_default_str()},
          {"group", option.get_group()},
          {"summary", option.get_description()}};
}

// The command line as data, of which packaging/write_pages.py makes the manual page and the completions of shells:
// name, summary, group, footer and options, and the same of each verb.
nlohmann::json commandTable(const CLI::App& app) {
  nlohmann::json table = {
      {"name", app.get_name()},     {"summary", app.get_description()},   {"group", app.get_group()},
      {"footer", app.get_footer()}, {"options", nlohmann::json::array()}, {"verbs", nlohmann::json::array()}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) table["options"].push_back(optionRow(*option));
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    table["verbs"].push_back(commandTable(*verb));
  }
  return table;
}

// Levenshtein's: how many letters are to be changed, put in or left out.
size_t distanceBetween(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, changed}));
    }
  }
  return row.back();
}

// "did you mean analyze?", else where to look.
std::string adviceFor(std::string_view word, const std::vector<std::string>& known, const std::string& otherwise) {
  const auto far = [&](const std::string& each) { return distanceBetween(word, each); };
  const auto nearest = std::ranges::min_element(known, {}, far);
  const bool isNear = nearest != known.end() && far(*nearest) <= std::max<size_t>(1, word.size() / 3);
  return isNear ? "did you mean " + *nearest + "?" : otherwise;
}

// The first word that the command line does not know, and the nearest that it does; nullopt: it knows each.
std::optional<Error> unknownWord(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  const std::string name = argv[1];
  std::vector<std::string> known;
  for (const auto& verb : normlens::engine::verbs()) known.emplace_back(verb.name);
  if (std::ranges::find(known, name) == known.end()) {
    return Error{ErrorCode::Usage, "there is no verb '" + name + "'", adviceFor(name, known, "see normlens --help")};
  }
  known.clear();
  for (const CLI::Option* option : app.get_subcommand(name)->get_options()) {
    for (const std::string& each : option->get_lnames()) known.push_back("--" + each);
  }
  for (const std::string_view word : std::span(argv, static_cast<size_t>(argc)).subspan(2)) {
    const std::string option(word.substr(0, word.find('=')));
    if (option == "--") break;
    if (!option.starts_with("--") || std::ranges::find(known, option) != known.end()) continue;
    return Error{ErrorCode::Usage, name + " has no option " + option,
                 adviceFor(option, known, "see normlens " + name + " --help")};
  }
  return std::nullopt;
}

// Help and version are no errors; every other message of the parser is one line.
int answerParser(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv, Console& console) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream text;
    app.exit(error, text);
    return static_cast<int>(console.help(text.str()));
  }
  if (const auto unknown = unknownWord(app, argc, argv)) return static_cast<int>(console.fail(*unknown));
  const auto verbs = app.get_subcommands();
  const std::string of = verbs.empty() ? "" : verbs.front()->get_name() + " ";
  return static_cast<int>(console.fail(Error{ErrorCode::Usage, error.what(), "see normlens " + of + "--help"}));
}

// Adds limits in SECONDS and in sizes such as 4GB, both more than nothing.
void addLimits(CLI::App& app, confine::Limits& limits) {
  app.add_option_function<double>(
         "--time-limit",
         [&](double seconds) { limits.setTime(std::chrono::milliseconds(std::llround(seconds * 1000))); },
         "Time limit of one run of the model; default: 10 minutes, 1 minute to find its shapes, 20 seconds on guessed "
         "inputs")
      ->check(CLI::Range(0.1, 1e7).description(""))
      ->type_name("SECONDS")
      ->group("Limits");
  app.add_option("--memory-limit", limits.memoryBytes, "Memory limit; default: nine tenths of the available memory")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
      ->check(CLI::Range(int64_t{64} << 20, std::numeric_limits<int64_t>::max()).description(""))
      ->type_name("SIZE")
      ->group("Limits");
}

// Lets a thread of OpenMP that has nothing to do sleep after a hundredth of its usual wait. It would otherwise wait for
// the others in a loop for milliseconds, which on a machine with other work (a window that is drawn, a container with
// two of many cores) is time that they could have: a proof took up to ten times as long. Leaves what the user has set.
void letWaitingThreadsSleep() {
  constexpr const char* kTurns = "3000";  // Limits GNU OpenMP's waiting loop, which takes 300,000 turns by itself.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", kTurns, /*overwrite=*/0);
}

// Returns the examples below the list of verbs: one of each group.
std::string examples() {
  std::string text = "Examples:\n";
  std::string_view last;
  for (const auto& verb : normlens::engine::verbs()) {
    if (std::exchange(last, verb.group) != verb.group) text += "  " + std::string(verb.example) + "\n";
  }
  return text;
}

int runProgram(int argc, char** argv, Console& console) {
  CLI::App app("Replaces LayerNorm by RMSNorm where that changes no output.", "normlens");
  app.set_version_flag("-v,--version", "NormLens " + std::string(normlens::engine::kVersion));
  // Hidden: for packaging/write_pages.py.
  app.add_flag_callback(
         "--tables", [&] { throw CLI::CallForVersion(commandTable(app).dump(1), 0); }, "")
      ->group("");
  app.footer(
      examples() +
      "\nWithout a verb: normlens [MODEL] opens the window, and normlens MODEL --screenshot F.png makes a picture of "
      "it;\n"
      "normlens-window --help has all of its options.");
  app.require_subcommand(1);
  std::map<const CLI::App*, normlens::engine::Declared> declared;
  confine::Limits limits;
  bool unused = false;  // read in main()
  for (const auto& verb : normlens::engine::verbs()) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->group(std::string(verb.group));
    sub->footer("Example:\n  " + std::string(verb.example));
    sub->add_flag("--json", unused, "Print one JSON object on stdout")->group("Printing");
    sub->add_flag("--quiet", unused, "Print errors only")->group("Printing");
    declared[sub] = verb.declare(*sub, limits);
    if (verb.runsModels) addLimits(*sub, limits);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return answerParser(app, error, argc, argv, console);
  }
  console.takeStreams();
  const normlens::engine::Declared& verb = declared.at(app.get_subcommands().front());
  return static_cast<int>(verb.here ? verb.here(console) : normlens::engine::superviseVerb(verb, limits, console));
}

}  // namespace

// Runs before the libraries' initializers, which take most of a start: Ctrl-C is answered in words from there on.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kHoldSignals)() =  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a function
    normlens::engine::StopSignals::holdBack;

int main(int argc, char** argv) {
  // The options are read before parsing, so that a usage error is answered in JSON as well.
  Console console({.json = has(argc, argv, "--json"), .quiet = has(argc, argv, "--quiet")});
  const bool measures = argc > 1 && std::string_view(argv[1]) == "bench";
  if (!measures) letWaitingThreadsSleep();  // A measured program waits as it does where a model is deployed.
  int status = 0;
  try {
    status = runProgram(argc, argv, console);
  } catch (const std::exception& error) {
    status = static_cast<int>(console.fail(normlens::engine::defect(error)));
  }
  std::fflush(nullptr);
  ::_exit(status);  // the libraries would take their registries apart, for a twentieth of a second
}
