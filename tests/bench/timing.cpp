#include "tests/bench/timing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace normlens::bench {

double elapsedMs(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

namespace {

std::byte* freshMemory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for the copy");
  return static_cast<std::byte*>(memory);
}

void copyInParallel(std::byte* to, const std::byte* from, size_t bytes, unsigned threads) {
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    const size_t begin = bytes * i / threads;
    const size_t end = bytes * (i + 1) / threads;
    workers.emplace_back([=] { std::memcpy(to + begin, from + begin, end - begin); });
  }
}

// Closes its file when it goes.
class File {
 public:
  File(const std::filesystem::path& path, int flags) : descriptor_(open(path.c_str(), flags, 0644)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot open " + path.string());
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double medianMs(int repeats, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(elapsedMs(work));
  return middle(times);
}

std::vector<double> interleavedMs(int rounds, const std::vector<Task>& tasks, const std::function<void()>& cleanUp) {
  std::vector<std::vector<double>> times(tasks.size());
  for (int round = -2; round < rounds; ++round) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      const double ms = elapsedMs(tasks[i].work);
      if (round >= 0) times[i].push_back(ms);
      if (cleanUp) cleanUp();
    }
  }
  std::vector<double> medians;
  for (const auto& of : times) medians.push_back(middle(of));
  return medians;
}

void fetchFreeMemory(int64_t bytes) {
  if (bytes == 0) return;
  const auto size = static_cast<size_t>(bytes);
  std::byte* memory = freshMemory(size);
  madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 1, size);
  munmap(memory, size);
}

double copyToFreshMemoryMs(int64_t bytes, unsigned threads) {
  const auto size = static_cast<size_t>(bytes);
  std::byte* from = freshMemory(size);
  std::memset(from, 1, size);
  fetchFreeMemory(bytes);
  std::byte* to = nullptr;
  const double ms = elapsedMs([&] {
    to = freshMemory(size);
    copyInParallel(to, from, size, threads);
  });
  munmap(to, size);
  munmap(from, size);
  return ms;
}

double copyFileMs(const std::filesystem::path& from, const std::filesystem::path& to) {
  return elapsedMs([&] {
    const File source(from, O_RDONLY);
    const File target(to, O_WRONLY | O_CREAT | O_TRUNC);
    std::vector<char> block(1 << 20);
    for (ssize_t got = 0; (got = read(source.descriptor(), block.data(), block.size())) > 0;) {
      if (write(target.descriptor(), block.data(), static_cast<size_t>(got)) != got) {
        throw std::runtime_error("cannot write " + to.string());
      }
    }
  });
}

double writeFileMs(int64_t bytes, const std::filesystem::path& to) {
  const std::vector<char> block(1 << 20, 1);
  return elapsedMs([&] {
    const File target(to, O_WRONLY | O_CREAT | O_TRUNC);
    for (int64_t left = bytes; left > 0;) {
      const auto wanted = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(block.size())));
      if (write(target.descriptor(), block.data(), wanted) != static_cast<ssize_t>(wanted)) {
        throw std::runtime_error("cannot write " + to.string());
      }
      left -= static_cast<int64_t>(wanted);
    }
  });
}

double peakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

void printRow(const std::string& what, double value, const char* unit, const std::string& remark) {
  std::printf("  %-58s %10.2f %-3s %s\n", what.c_str(), value, unit, remark.c_str());
}

}  // namespace normlens::bench
