// What torch takes to load a TorchScript file, and what checking its CRCs takes.
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "core/formats/archive/archive_reader.h"
#include "tests/bench/timing.h"

namespace normlens::bench {
namespace {

using formats::Archive;
using formats::MappedFile;

void checkAllCrcs(const std::filesystem::path& path, unsigned threads) {
  const auto file = MappedFile::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  const auto archive = Archive::open(*file);
  if (!archive || !checkCrcs(**archive, static_cast<int>(threads))) throw std::runtime_error("CRC");
}

}  // namespace

LoadFloor torchLoad(const std::filesystem::path& model) {
  return {"torch::jit::load",
          [path = model.string()] { return std::make_shared<torch::jit::Module>(torch::jit::load(path)); }};
}

void benchTorchLoad(const std::filesystem::path& model) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::printf("TorchScript: %s\n", model.c_str());
  printRow("checking the CRCs alone", medianMs(9, [&] { checkAllCrcs(model, threads); }), "ms");
}

}  // namespace normlens::bench
