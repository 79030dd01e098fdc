#include "tests/support/fake_engine/mischief.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace normlens::fake {

namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::pair<std::string, int> methodAndTime(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return {argument, 1000};
  return {argument.substr(0, equals), std::atoi(argument.c_str() + equals + 1)};
}

int timeOf(const std::vector<std::pair<std::string, int>>& list, const std::string& method) {
  for (const auto& [name, milliseconds] : list) {
    if (name == method) return milliseconds;
  }
  return 0;
}

Status dawdle(int milliseconds, const Task& task) {
  constexpr int kStep = 10;
  for (int done = 0; done < milliseconds; done += kStep) {
    if (auto status = task.check(); !status) return status;
    task.report("taking its time", static_cast<double>(done) / milliseconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(kStep));
  }
  return {};
}

}  // namespace

Mischief Mischief::fromArguments(int argc, char** argv) {
  Mischief mischief;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--slow") mischief.slow.push_back(methodAndTime(value));
    if (option == "--deaf") mischief.deaf.push_back(methodAndTime(value));
    if (option == "--crash") mischief.crash.push_back(value);
    if (option == "--garbage") mischief.garbage.push_back(value);
    if (option == "--error") mischief.error.push_back(value);
    if (option == "--nonsense") mischief.nonsense.push_back(value);
    if (option == "--attack")
      mischief.attacks.emplace_back(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
    if (option == "--while") mischief.onlyWhile = value;
    if (option == "--blocks") mischief.blocks = std::atoi(value.c_str());
    if (option == "--gpu") mischief.gpu = value;
    if (option == "--early") mischief.early = std::atoi(value.c_str());
    if (option == "--surprise") mischief.surprise = std::atoi(value.c_str());
    if (option == "--round") mischief.roundPause = std::chrono::milliseconds(std::atoi(value.c_str()));
  }
  return mischief;
}

Status Mischief::before(const std::string& method, const Task& task) const {
  const bool crashes = contains(crash, method);
  if (crashes && !onlyWhile.empty() && !std::filesystem::remove(onlyWhile)) return dawdle(timeOf(slow, method), task);
  if (crashes) {
    std::fprintf(stderr, "fake engine: crashing in %s\n", method.c_str());
    std::raise(SIGABRT);
  }
  if (contains(garbage, method)) {
    std::fputs("\x01\x02 this is no frame \xff\nWARNING: some library printed this\n", stdout);
    std::fflush(stdout);
  }
  for (const auto& [name, how] : attacks) {
    if (name == method && (onlyWhile.empty() || std::filesystem::remove(onlyWhile))) attack(how);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(timeOf(deaf, method)));
  if (auto status = dawdle(timeOf(slow, method), task); !status) return status;
  if (contains(error, method)) {
    return fail(ErrorCode::Unreadable, "The file model.pt is cut off after 12 of 40 kB.", "Copy or download it again.");
  }
  return {};
}

Status Mischief::confirming(const Task& task) const { return dawdle(early, task); }

bool Mischief::talksNonsense(const std::string& method) const { return contains(nonsense, method); }

}  // namespace normlens::fake
