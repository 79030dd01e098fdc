// Loading, analyzing, folding and writing one model in this process, each against its floor.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "core/analysis/analysis.h"
#include "core/formats/formats.h"
#include "core/service/service.h"
#include "tests/bench/timing.h"
#include "tests/support/must.h"

namespace normlens::bench {
namespace {

namespace fs = std::filesystem;

unsigned threadCount() { return std::max(1U, std::thread::hardware_concurrency()); }

void benchLoad(const fs::path& path, const LoadFloor& floor) {
  // What was loaded is kept until its time was taken: giving 500 MB back is no part of loading.
  std::shared_ptr<void> loaded;
  std::unique_ptr<formats::Model> model;
  const auto drop = [&] {
    loaded.reset();
    model.reset();
  };
  const auto ms = interleavedMs(
      9, {{"floor", [&] { loaded = floor.load(); }}, {"ours", [&] { model = must(formats::openModel(path, {}, {})); }}},
      drop);
  printRow(floor.name, ms[0], "ms");
  printRow("NormLens opens the model, all checks included", ms[1], "ms");
  printRow("  ratio", ms[1] / ms[0], "", "(goal: at most 1.5)");
}

protocol::FoldParams foldParams() {
  protocol::FoldParams params;
  params.plan.max_growth_percent = 100;  // the tied head is split
  params.verify = false;
  return params;
}

// Once from the file to the folded file, as the command does it.
struct Pass {
  double wholeMs = 0;
  double analyzeMs = 0;  // probe run and analysis
  double fsyncMs = 0;
  double fetchMs = 0;  // fetchFreeMemory: within the whole, but none of our work
  service::FoldTimes times;
  protocol::PlanInfo plan;
};

// What a pass is going to write to fresh memory and to a file in memory; 0 where it is not known yet.
struct Amount {
  int64_t centered = 0, output = 0;
};

Pass foldOnce(const fs::path& path, const fs::path& output, const Amount& amount) {
  Pass pass;
  takeFsyncMs();
  pass.wholeMs = elapsedMs([&] {
    service::Service service;
    must(service.open(path, {}));
    service.expectExport();
    pass.analyzeMs = elapsedMs([&] { must(service.analyze({})); });
    pass.fetchMs += elapsedMs([&] { fetchFreeMemory(amount.centered); });
    pass.plan = must(service.fold(foldParams(), {})).plan;
    protocol::ExportParams params;
    params.path = output;
    params.force = true;  // not proved: the proof is not what is measured
    pass.fetchMs += elapsedMs([&] { fetchFreeMemory(amount.output); });
    must(service.exportTo(params, {}));
    pass.times = service.times();
  });
  pass.fsyncMs = takeFsyncMs();
  return pass;
}

// The floor of the same round: the centered bytes copied in memory, the library's load, a copy of the output, and as
// many bytes written from memory.
struct Floor {
  double memoryMs = 0, loadMs = 0, copyMs = 0, writeMs = 0;
  [[nodiscard]] double ms() const { return loadMs + copyMs; }
};

Floor floorOnce(const LoadFloor& load, const fs::path& output, const Amount& amount) {
  const fs::path copied = output.string() + ".copy";
  Floor floor;
  floor.memoryMs = copyToFreshMemoryMs(amount.centered, threadCount());
  floor.loadMs = elapsedMs([&] { load.load(); });
  floor.copyMs = copyFileMs(output, copied);
  fs::remove(copied);
  fetchFreeMemory(amount.output);
  floor.writeMs = writeFileMs(amount.output, copied);
  fs::remove(copied);
  return floor;
}

struct Round {
  Pass pass;
  Floor floor;
  [[nodiscard]] double wholeMs() const { return pass.wholeMs - pass.fsyncMs - pass.fetchMs; }
  [[nodiscard]] double foldRatio() const { return pass.times.fold_ms / floor.memoryMs; }
  [[nodiscard]] double saveMs() const { return pass.times.save_ms - pass.fsyncMs; }
  [[nodiscard]] double ratio() const { return wholeMs() / floor.ms(); }
};

// In turn, so that what the machine does meanwhile hits both; sorted by their ratio.
std::vector<Round> runRounds(const fs::path& path, const LoadFloor& load, const fs::path& output) {
  std::vector<Round> rounds;
  Amount amount;
  amount.centered = foldOnce(path, output, amount).plan.bytes_centered;
  amount.output = static_cast<int64_t>(fs::file_size(output));
  for (int i = 0; i < 9; ++i) {
    fs::remove(output);
    const Pass pass = foldOnce(path, output, amount);
    rounds.push_back({pass, floorOnce(load, output, amount)});
  }
  std::ranges::sort(rounds, {}, &Round::ratio);
  return rounds;
}

void benchAnalysis(const fs::path& path) {
  service::Service service;
  must(service.open(path, {}));
  must(service.analyze({}));
  const double analysis = medianMs(9, [&] { must(analysis::analyze(service.model()->graph(), {})); });
  printRow("analysis", analysis, "ms", "(goal: below 30)");
}

void printFold(std::vector<Round> rounds) {
  std::ranges::sort(rounds, {}, &Round::foldRatio);
  const Round& round = rounds[rounds.size() / 2];
  const Pass& pass = round.pass;
  std::printf("Fold: %d of %d LayerNorms, %d tensors, %.0f MB centered, file grows by %.0f MB\n",
              static_cast<int>(pass.plan.folded.size()), pass.plan.layer_norms, pass.plan.tensors_centered,
              static_cast<double>(pass.plan.bytes_centered) / 1e6, static_cast<double>(pass.plan.bytes_grown) / 1e6);
  printRow("fold_ms: analysis, centering, rewriting", pass.times.fold_ms, "ms");
  printRow("copy of those bytes to fresh memory, " + std::to_string(threadCount()) + " threads", round.floor.memoryMs,
           "ms");
  printRow("  ratio", round.foldRatio(), "", "(goal: at most 1.3)");
  printRow("  the same, best and worst round", rounds.front().foldRatio(), "",
           std::to_string(rounds.back().foldRatio()));
}

void printWhole(const std::vector<Round>& rounds, const LoadFloor& load) {
  const Round& round = rounds[rounds.size() / 2];
  std::printf("Whole command, in process, without process start and verification (the middle of %zu rounds)\n",
              rounds.size());
  printRow("load", round.pass.times.load_ms, "ms");
  printRow("run once for shapes, and analysis", round.pass.analyzeMs, "ms");
  printRow("fold (the analysis counted again)", round.pass.times.fold_ms, "ms");
  printRow("save without fsync", round.saveMs(), "ms");
  printRow("as many bytes written from memory", round.floor.writeMs, "ms");
  printRow("  ratio", round.saveMs() / round.floor.writeMs, "", "(goal: at most 1.3)");
  printRow("fsync (the disk's, not counted below)", round.pass.fsyncMs, "ms");
  printRow("whole, without fsync", round.wholeMs(), "ms");
  printRow(load.name, round.floor.loadMs, "ms");
  printRow("plain copy of the output, without fsync", round.floor.copyMs, "ms");
  printRow("  whole / (load + copy)", round.ratio(), "", "(goal: at most 1.25)");
  printRow("  the same, best and worst round", rounds.front().ratio(), "", std::to_string(rounds.back().ratio()));
}

}  // namespace

void benchFold(const fs::path& model, const LoadFloor& load) {
  const fs::path output = model.parent_path() / ("normlens_bench_folded" + model.extension().string());
  std::printf("Model: %s, %.0f MB, %u threads\n", model.c_str(), static_cast<double>(fs::file_size(model)) / 1e6,
              threadCount());
  benchLoad(model, load);
  benchAnalysis(model);
  const std::vector<Round> rounds = runRounds(model, load, output);
  printFold(rounds);
  printWhole(rounds, load);
  fs::remove(output);
}

}  // namespace normlens::bench
