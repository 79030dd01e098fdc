#include "tests/kernels/host_grid.h"

#include <ucontext.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
normlens::kernels::test::GridIndex threadIdx, blockIdx, blockDim, gridDim;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

namespace normlens::kernels::test {
namespace {

constexpr size_t kStackBytes = size_t{64} * 1024;
constexpr size_t kWarp = 32;
constexpr unsigned char kPoison = 0xff;  // NaN in every type: shared memory that nobody wrote

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

struct HostThread {
  ucontext_t context;
  std::vector<unsigned char> stack = std::vector<unsigned char>(kStackBytes);
  double offered[2] = {};  // in turn: nobody offers the number after next before all have taken this one
  int turn = 0;
  std::vector<Copy> requested;
  bool waits = false;  // at a barrier of the block
  bool done = false;
};

// One block, or one cluster of blocks, at a time: all of its threads one behind the other.
class Cluster {
 public:
  // first: the number of its first block.
  void run(unsigned first, int blocks, int threads, int64_t sharedBytes, const std::function<void()>& body) {
    first_ = first;
    blocks_ = blocks;
    ofBlock_ = static_cast<size_t>(threads);
    count_ = static_cast<size_t>(blocks) * ofBlock_;
    while (threads_.size() < count_) threads_.emplace_back();
    shared_.assign(static_cast<size_t>(sharedBytes) + 16, kPoison);
    for (const auto& [object, bytes] : poisoned_) std::memset(object, kPoison, bytes);
    body_ = &body;
    for (size_t i = 0; i < count_; ++i) start(i);
    // In each round, every warp runs to its next barrier. All of a cluster meet at the same barriers.
    for (bool more = true; more;) {
      more = false;
      for (size_t warp = 0; warp < count_; warp += kWarp) more |= runWarp(warp);
    }
  }

  void poison(void* object, size_t bytes) {
    poisoned_.emplace_back(object, bytes);
    std::memset(object, kPoison, bytes);
  }

  void waitForBlock() {
    threads_[current_].waits = true;
    yield();
  }

  double exchange(double mine, int step) {
    HostThread& thread = threads_[current_];
    const int turn = thread.turn;
    thread.turn = 1 - turn;
    thread.offered[turn] = mine;
    yield();
    const size_t warp = current_ / kWarp * kWarp;
    return threads_[warp + ((current_ % kWarp) ^ static_cast<size_t>(step))].offered[turn];
  }

  void request(const Copy& copy) { threads_[current_].requested.push_back(copy); }

  void arrive() {
    for (const Copy& copy : threads_[current_].requested) std::memcpy(copy.to, copy.from, copy.bytes);
    threads_[current_].requested.clear();
  }

  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int block() const { return static_cast<int>(current_ / ofBlock_); }

  unsigned char* shared() {
    const auto address = reinterpret_cast<uintptr_t>(shared_.data());
    return shared_.data() + (16 - address % 16) % 16;
  }

 private:
  static void enter();

  void yield() { swapcontext(&threads_[current_].context, &main_); }

  // Runs the threads of a warp in turn, each up to its next exchange, until all are at a barrier or done. Returns
  // whether one of them is not done.
  bool runWarp(size_t warp) {
    for (size_t i = warp; i < warp + kWarp; ++i) threads_[i].waits = false;
    bool running = true, more = false;
    while (running) {
      running = more = false;
      for (size_t i = warp; i < warp + kWarp; ++i) {
        HostThread& thread = threads_[i];
        if (!thread.done && !thread.waits) resume(i);
        running |= !thread.done && !thread.waits;
        more |= !thread.done;
      }
    }
    return more;
  }

  void start(size_t i) {
    HostThread& thread = threads_[i];
    thread.done = false;
    thread.turn = 0;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = thread.stack.size();
    thread.context.uc_link = &main_;
    makecontext(&thread.context, &Cluster::enter, 0);
  }

  void resume(size_t i) {
    current_ = i;
    threadIdx.x = static_cast<unsigned>(i % ofBlock_);
    blockIdx.x = first_ + static_cast<unsigned>(i / ofBlock_);
    swapcontext(&main_, &threads_[i].context);
  }

  std::vector<HostThread> threads_;
  size_t count_ = 0;
  size_t ofBlock_ = 1;
  unsigned first_ = 0;
  int blocks_ = 1;
  size_t current_ = 0;
  ucontext_t main_{};
  const std::function<void()>* body_ = nullptr;
  std::vector<unsigned char> shared_;
  std::vector<std::pair<void*, size_t>> poisoned_;
};

Cluster& theCluster() {
  static Cluster cluster;
  return cluster;
}

void Cluster::enter() {
  Cluster& cluster = theCluster();
  (*cluster.body_)();  // NOLINT(clang-analyzer-core.CallAndMessage): given before the first turn
  cluster.threads_[cluster.current_].done = true;
}

}  // namespace

void runGrid(int64_t blocks, int threads, int64_t sharedBytes, const std::function<void()>& body, int blocksOfCluster) {
  if (threads % static_cast<int>(kWarp) != 0) throw std::runtime_error("blocks are made of whole warps");
  if (blocks % blocksOfCluster != 0 || blocksOfCluster > kMostBlocksOfCluster) {
    throw std::runtime_error("a grid is made of whole clusters");
  }
  blockDim.x = static_cast<unsigned>(threads);
  gridDim.x = static_cast<unsigned>(blocks);
  for (int64_t b = 0; b < blocks; b += blocksOfCluster) {
    theCluster().run(static_cast<unsigned>(b), blocksOfCluster, threads, sharedBytes, body);
  }
}

int blocksOfCluster() { return theCluster().blocks(); }
int blockOfCluster() { return theCluster().block(); }
void waitForBlock() { theCluster().waitForBlock(); }
double exchangeInWarp(double mine, int step) { return theCluster().exchange(mine, step); }
unsigned char* sharedMemory() { return theCluster().shared(); }
bool poisonForEachBlock(void* object, size_t bytes) {
  theCluster().poison(object, bytes);
  return true;
}
void requestCopy(void* to, const void* from, size_t bytes) { theCluster().request({to, from, bytes}); }
void waitForCopies() { theCluster().arrive(); }

}  // namespace normlens::kernels::test
