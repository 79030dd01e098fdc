// Answers the questions that a confined process sends through its door (core/base/files.h), within its grants.
//
// Thread: one at a time. Nothing that the process sends is believed but what the grants allow.
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
  // Answers one question from `socket`. False: nobody sends questions any more.
  [[nodiscard]] bool serve(int socket);
  // Returns the files handed over since its last call.
  [[nodiscard]] std::vector<HandedFile> takeHanded() { return std::exchange(handedNow_, {}); }
  // Returns a file that was handed over and has become shorter since; empty: none has.
  [[nodiscard]] std::string shortened() const;

 private:
  [[nodiscard]] door::Answer answer(const door::Question& question);
  // Paths are resolved ones, `shown` is the spelling in the question.
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
