// Clocks and floors for normlens-bench. All floors are measured in the run that they are compared in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace normlens::bench {

double elapsedMs(const std::function<void()>& work);

// The larger of the two in the middle, where their number is even.
double middle(std::vector<double> values);

// The middle of `repeats` runs, after one that does not count.
double medianMs(int repeats, const std::function<void()>& work);

struct Task {
  std::string name;
  std::function<void()> work;
};
// Medians of several tasks run in turn, so that a drift of the clock hits all alike. cleanUp: after each, not timed.
std::vector<double> interleavedMs(int rounds, const std::vector<Task>& tasks,
                                  const std::function<void()>& cleanUp = {});

// Takes so much memory and gives it back, so that the next to ask for it gets pages that are there: a virtual machine
// hands free memory to its host, and fetching it again takes longer than copying does.
void fetchFreeMemory(int64_t bytes);
// Copies `bytes` from memory that is already there into freshly allocated memory, on `threads` threads.
double copyToFreshMemoryMs(int64_t bytes, unsigned threads);

// Reads `from` and writes `to` with read() and write(); no fsync. Returns milliseconds.
double copyFileMs(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes `bytes` bytes of memory to a new file; no fsync. Returns milliseconds.
double writeFileMs(int64_t bytes, const std::filesystem::path& to);

// Peak resident memory of this process so far.
double peakMegabytes();

void printRow(const std::string& what, double value, const char* unit, const std::string& remark = {});

// Time spent in fsync by this process since the last call: fsync_clock.cpp stands in for libc's.
double takeFsyncMs();

// The parts of the program that measure models, one file each.
void benchTorchLoad(const std::filesystem::path& model);
// What the format's own library takes to load the model; what it loaded is given back after the clock has stopped.
struct LoadFloor {
  std::string name;
  std::function<std::shared_ptr<void>()> load;
};
LoadFloor torchLoad(const std::filesystem::path& model);
LoadFloor onnxLoad(const std::filesystem::path& model);
void benchFold(const std::filesystem::path& model, const LoadFloor& load);
void benchOnnxOpen(const std::filesystem::path& small, const std::filesystem::path& large);

}  // namespace normlens::bench
