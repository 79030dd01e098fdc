// normlens: becomes the engine where the first word is a verb, or wants help or the version, else the window. It loads
// neither, so that a verb needs nothing of Qt's and no library of a display.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace {

constexpr int kUsage = 2;

// Accepts only what a verb can be: lower-case letters and hyphens. A model's path has a dot or a slash in it.
bool looksLikeVerb(std::string_view argument) {
  return !argument.empty() && argument.front() != '-' &&
         std::all_of(argument.begin(), argument.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

// Both have a text about themselves: the engine's names its verbs too.
bool wantsText(std::string_view first) {
  constexpr std::array<std::string_view, 4> kTexts = {"-h", "--help", "-v", "--version"};
  return std::ranges::count(kTexts, first) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_DFL);  // Whoever started this may have ignored it: children could not be waited for.
  const std::string_view first = argc > 1 ? argv[1] : "";
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::filesystem::path program = folder / "normlens-engine";
  if (!looksLikeVerb(first) && !(wantsText(first) && std::filesystem::exists(program, error))) {
    program.replace_filename("normlens-window");
  }
  if (!error) execv(program.c_str(), argv);
  std::fprintf(stderr, "normlens: %s could not be started (%s); install it next to normlens.\n", program.c_str(),
               std::strerror(error ? error.value() : errno));
  return kUsage;
}
