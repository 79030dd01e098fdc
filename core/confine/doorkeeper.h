// Answers the questions that a confined process asks through its door (core/base/files.h), within its grants.
//
// Thread: one at a time. Nothing that the process says is believed but what the grants allow.
#pragma once

#include <sys/types.h>

#include <ctime>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/direct_files.h"
#include "core/base/door_wire.h"
#include "core/confine/grants.h"

namespace normlens::confine {

// A file as it was when it was handed over.
struct HandedFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec written{}, changed{};

  [[nodiscard]] bool isAsItWas() const;
};

class Doorkeeper {
 public:
  explicit Doorkeeper(Grants grants) : grants_(std::move(grants)) {}
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  [[nodiscard]] Grants& grants() { return grants_; }
  // One question from `socket`, answered there. False: nobody asks any more.
  [[nodiscard]] bool serve(int socket);
  // Those handed over since this was asked last.
  [[nodiscard]] std::vector<HandedFile> takeHanded() { return std::exchange(handedNow_, {}); }
  // A file that was handed over and has become shorter since; empty: none has.
  [[nodiscard]] std::string shortened() const;

 private:
  [[nodiscard]] door::Answer answer(const door::Question& question);
  // Paths are resolved ones, `shown` is how it was asked for.
  [[nodiscard]] door::Answer read(const std::filesystem::path& path, const std::string& shown);
  [[nodiscard]] door::Answer create(const std::filesystem::path& path);
  [[nodiscard]] int name(int64_t ticket, direct::Naming naming);
  [[nodiscard]] int remove(const std::filesystem::path& path) const;

  Grants grants_;
  std::map<std::pair<dev_t, ino_t>, HandedFile> handed_;
  std::vector<HandedFile> handedNow_;
  std::map<int64_t, direct::NewFile> unnamed_;  // by ticket
  std::set<std::filesystem::path> made_;        // what files that the process made are called, where nothing was before
  Descriptor replaced_;                         // the older model
  int64_t lastTicket_ = 0;
};

}  // namespace normlens::confine
