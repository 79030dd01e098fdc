// normlens-bench FOLDER ENGINE OPS_LIBRARY [--json FILE] [PART...]: prints what NormLens costs beside what the same
// bytes cost without it. FOLDER holds the models (see run); the parts are those of parts.h, all of them unless named.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/bench/parts.h"

namespace {

using namespace normlens::bench;

bool isKnown(const std::vector<Part>& parts, const std::string& name) {
  return std::ranges::find(parts, name, &Part::name) != parts.end();
}

int usage(const std::vector<Part>& parts) {
  std::string names;
  for (const Part& part : parts) names += (names.empty() ? "" : "|") + part.name;
  std::fprintf(stderr,
               "usage: normlens-bench FOLDER NORMLENS_ENGINE LIBNORMLENS_OPS [--json FILE] [%s ...]"
               " (tests/bench/run does it all)\n",
               names.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  Setting setting;
  if (const auto json = std::ranges::find(words, "--json"); json != words.end() && json + 1 != words.end()) {
    setting.json = *(json + 1);
    words.erase(json, json + 2);
  }
  const std::vector<Part> parts = allParts();
  if (words.size() < 3) return usage(parts);
  setting.folder = words[0];
  setting.engine = words[1];
  setting.ops = words[2];
  words.erase(words.begin(), words.begin() + 3);
  if (!std::ranges::all_of(words, [&](const std::string& word) { return isKnown(parts, word); })) return usage(parts);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // rows appear as they are measured
  try {
    for (const Part& part : parts) {
      const bool wanted = words.empty() ? part.unnamed : std::ranges::find(words, part.name) != words.end();
      if (wanted) part.run(setting);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "normlens-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
