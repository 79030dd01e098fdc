// Answers the questions that a confined process asks through its door (core/base/files.h), within its grants.
//
// Thread: one at a time. Nothing that the process says is believed but what the grants allow.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/direct_files.h"
#include "core/base/door_wire.h"
#include "core/confine/grants.h"

namespace normlens::confine {

class Doorkeeper {
 public:
  // Told when the process says that it has answered a client's request.
  using Answered = std::function<void(int64_t request, bool withResult)>;
  explicit Doorkeeper(Grants grants, Answered answered = {})
      : grants_(std::move(grants)), answered_(std::move(answered)) {}
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  [[nodiscard]] Grants& grants() { return grants_; }
  // One question from `socket`, answered there. False: nobody asks any more.
  [[nodiscard]] bool serve(int socket);
  // A file that was handed over and has become shorter since; empty: none has.
  [[nodiscard]] std::string shortened() const;

 private:
  [[nodiscard]] door::Answer answer(const door::Question& question);
  [[nodiscard]] door::Answer read(const std::filesystem::path& path);
  [[nodiscard]] door::Answer create(const std::filesystem::path& path);
  [[nodiscard]] int name(int64_t ticket, direct::Naming naming);

  struct Handed {
    std::filesystem::path path;
    Descriptor file;
    off_t size = 0;
  };

  Grants grants_;
  Answered answered_;
  std::vector<Handed> handed_;
  std::map<int64_t, direct::NewFile> unnamed_;  // by ticket
  int64_t lastTicket_ = 0;
};

}  // namespace normlens::confine
