#include "core/base/run_watch.h"

#include <unistd.h>

#include <cstdio>

#include <algorithm>
#include <cstring>

namespace normlens {
namespace {

constexpr int64_t kNsInMs = 1'000'000;

WatchPage*& pageOfProcess() {
  static WatchPage own;
  static WatchPage* page = &own;
  return page;
}

const RunWatch*& watchOfThread() {
  thread_local const RunWatch* watch = nullptr;
  return watch;
}

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void useWatchPage(WatchPage* page) { pageOfProcess() = page; }
WatchPage& watchPage() { return *pageOfProcess(); }

int64_t limitMsOf(const WatchPage& page, RunWatch::Kind kind) {
  switch (kind) {
    case RunWatch::Kind::Trial:
      return page.trialLimitMs;
    case RunWatch::Kind::Probe:
      return page.probeLimitMs;
    default:
      return page.runLimitMs;
  }
}

void endWithStatus(int status) {
  watchPage().status = status;
  std::fflush(nullptr);
  ::_exit(status);  // Libraries' work at their end is not worth waiting for.
}

std::string inSeconds(int64_t ms) {
  constexpr int64_t kMsInSecond = 1000;
  return std::to_string((ms + kMsInSecond - 1) / kMsInSecond) + " s";
}

RunWatch::RunWatch(Kind kind) : outer_(watchOfThread()) {
  if (outer_ != nullptr) {
    limitMs_ = outer_->limitMs_;
    deadlineNs_ = outer_->deadlineNs_;
    return;
  }
  watchOfThread() = this;
  WatchPage& page = watchPage();
  limitMs_ = limitMsOf(page, kind);
  deadlineNs_ = limitMs_ > 0 ? nowNs() + limitMs_ * kNsInMs : 0;
  if (page.runs.fetch_add(1) == 0) page.at[0] = '\0';
  page.kind = static_cast<uint32_t>(kind);
  page.deadlineNs = deadlineNs_;
}

RunWatch::~RunWatch() {
  if (outer_ != nullptr) return;
  watchOfThread() = nullptr;
  WatchPage& page = watchPage();
  if (page.runs.fetch_sub(1) == 1) page.deadlineNs = 0;
}

bool RunWatch::expired() const { return deadlineNs_ > 0 && nowNs() > deadlineNs_; }

std::string RunWatch::tooLong() const { return "it did not end within " + inSeconds(limitMs_); }

void RunWatch::at(std::string_view op, std::string_view where) {
  auto& text = watchPage().at;
  size_t size = 0;
  const auto add = [&](std::string_view part) {
    const size_t count = std::min(part.size(), text.size() - 1 - size);
    std::memcpy(text.data() + size, part.data(), count);
    size += count;
  };
  add(op);
  if (!where.empty()) {
    add(" in ");
    add(where);
  }
  text[size] = '\0';
}

}  // namespace normlens
