// normlens-engine: the command line of the engine. Verbs: verbs.cpp.
#include <algorithm>
#include <exception>
#include <map>
#include <sstream>
#include <string_view>

#include "app/engine/interrupt.h"
#include "app/engine/verbs.h"
#include "app/engine/version.h"
#include "core/base/plain_error.h"

namespace {

using normlens::Error;
using normlens::ErrorCode;
using normlens::engine::Console;

bool has(int argc, char** argv, std::string_view flag) {
  return std::any_of(argv + 1, argv + argc, [&](const char* argument) { return argument == flag; });
}

// Help and version are no errors; everything else that the parser says is one line.
int answerParser(const CLI::App& app, const CLI::ParseError& error, Console& console) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream text;
    app.exit(error, text);
    return static_cast<int>(console.help(text.str()));
  }
  const std::string hint = "see normlens --help";
  return static_cast<int>(console.fail(Error{ErrorCode::Usage, error.what(), hint}));
}

int runProgram(int argc, char** argv, Console& console) {
  CLI::App app("Replaces LayerNorm by RMSNorm where that changes no output.", "normlens");
  app.set_version_flag("--version", std::string(normlens::engine::kVersion));
  app.require_subcommand(1);
  std::map<const CLI::App*, normlens::engine::RunVerb> runs;
  bool unused = false;  // read in main()
  for (const auto& verb : normlens::engine::verbs()) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->add_flag("--json", unused, "Print one JSON object on stdout");
    sub->add_flag("--quiet", unused, "Say nothing but errors");
    runs[sub] = verb.declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return answerParser(app, error, console);
  }
  console.takeStdout();
  const normlens::engine::Interrupt interrupt;
  return static_cast<int>(runs.at(app.get_subcommands().front())(console, interrupt.token()));
}

}  // namespace

int main(int argc, char** argv) {
  // Read before parsing, so that a usage error is answered in JSON as well.
  Console console({.json = has(argc, argv, "--json"), .quiet = has(argc, argv, "--quiet")});
  try {
    return runProgram(argc, argv, console);
  } catch (const std::bad_alloc&) {
    return static_cast<int>(console.fail(Error{ErrorCode::RunFailed, std::string(normlens::kNoMemory), {}}));
  } catch (const std::exception& error) {
    return static_cast<int>(
        console.fail(Error{ErrorCode::Internal, std::string("a defect of NormLens: ") + error.what(),
                           "please report it with the command that led to it"}));
  }
}
