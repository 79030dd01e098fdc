// What normlens-bench can measure. Two files implement this: with models where the whole engine is built, without them
// where only the kernels are.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace normlens::bench {

struct Setting {
  std::filesystem::path folder;  // of the models
  std::string engine;
  std::string ops;
  std::string json;  // file for what is measured, of the parts kernels...; empty: none
};

struct Part {
  std::string name;
  bool unnamed;  // runs when no part is named
  std::function<void(const Setting& setting)> run;
};

// In the order in which they run.
std::vector<Part> allParts();

}  // namespace normlens::bench
