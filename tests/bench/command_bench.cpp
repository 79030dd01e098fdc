// The engine as a process: how long it takes to start, and how much memory a fold takes at its peak.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "tests/bench/timing.h"

namespace normlens::bench {
namespace {

struct Outcome {
  double ms = 0;
  double peakMegabytes = 0;
};

Outcome spawn(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
  Outcome outcome;
  rusage usage{};
  int status = 0;
  outcome.ms = elapsedMs([&] {
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], &silent, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + words[0]);
    }
    wait4(child, &status, 0, &usage);
  });
  posix_spawn_file_actions_destroy(&silent);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(words[0] + " failed");
  outcome.peakMegabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  return outcome;
}

Outcome medianOf(int repeats, const std::vector<std::string>& words) {
  std::vector<Outcome> outcomes;
  for (int i = 0; i < repeats; ++i) outcomes.push_back(spawn(words));
  std::ranges::sort(outcomes, {}, &Outcome::ms);
  return outcomes[outcomes.size() / 2];
}

}  // namespace

double benchCommand(const std::filesystem::path& model, const std::string& engine) {
  const std::filesystem::path output = model.parent_path() / ("normlens_bench_command" + model.extension().string());
  const Outcome idle = medianOf(5, {engine, "--version"});
  const std::vector<std::string> fold = {engine, "fold", model, "-o", output, "--max-growth", "100", "--quiet"};
  std::vector<std::string> unproved = fold;
  unproved.insert(unproved.end(), {"--no-verify", "--force"});
  const Outcome analysed = medianOf(5, {engine, "analyze", model, "--quiet", "--json"});
  const Outcome copied = medianOf(5, {"/bin/cp", model, output});
  const Outcome folded = medianOf(5, unproved);
  const std::filesystem::path written = output.string() + ".written";
  std::filesystem::rename(output, written);
  const Outcome copiedBack = medianOf(5, {"/bin/cp", written, output});
  std::filesystem::remove(written);
  const Outcome proved = medianOf(1, fold);
  std::filesystem::remove(output);
  const double bytes = static_cast<double>(std::filesystem::file_size(model)) / 1e6;
  std::printf("The engine as a process, %s (page cache warm; resident memory counts mapped file pages)\n",
              model.filename().c_str());
  printRow("start: --version", idle.ms, "ms");
  printRow("verdicts, start included", analysed.ms, "ms");
  printRow("fold, start and fsync included, no verification", folded.ms, "ms");
  printRow("  / cp of the model", folded.ms / copied.ms, "");
  printRow("  / cp of what is written", folded.ms / copiedBack.ms, "");
  printRow("fold with verification in float64 and float32", proved.ms, "ms");
  printRow("peak memory, idle", idle.peakMegabytes, "MB");
  printRow("peak memory, fold without verification", folded.peakMegabytes, "MB");
  printRow("  above idle, per byte of the model", (folded.peakMegabytes - idle.peakMegabytes) / bytes, "");
  printRow("peak memory, fold with verification", proved.peakMegabytes, "MB");
  return folded.ms;
}

}  // namespace normlens::bench
