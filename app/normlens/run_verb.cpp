#include "app/normlens/run_verb.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

bool looksLikeVerb(std::string_view argument) {
  return !argument.empty() && argument.front() != '-' &&
         std::all_of(argument.begin(), argument.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

int becomeEngine(char** arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path engine = self.parent_path() / "normlens-engine";
  if (!error) {
    execv(engine.c_str(), arguments);
  }
  std::fprintf(stderr, "normlens: the engine %s could not be started (%s); install it beside normlens.\n",
               engine.c_str(), std::strerror(errno));
  return 2;
}
