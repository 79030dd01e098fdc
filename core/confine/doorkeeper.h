// Answers the questions that a confined process sends through its door (core/base/files.h), within its grants.
//
// Thread: one at a time. Nothing that the process sends is believed but what the grants allow.
#pragma once

#include <sys/types.h>

#include <ctime>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/direct_files.h"
#include "core/base/door_wire.h"

namespace normlens::confine {

// Grants are the files that the user named, which a confined process may be handed. Private memory of its starter.
// Paths are compared as absolute ones with links followed, so that a file is granted and not a spelling of it.
class Grants {
 public:
  using Path = std::filesystem::path;

  // Returns the file that a spelling means, to be compared and opened: absolute, without links; "": none.
  [[nodiscard]] static Path resolved(const Path& path);

  // Grants a model, a file of inputs, a plan.
  void toRead(const Path& file);
  // Grants what an ONNX model that was handed over may need: tensors in files of its folder or below, none of them
  // hidden.
  void toReadBeside(const Path& model);
  // Grants the file that an export is to have. Beside it: data files, with names OUT.* (where OUT has an extension),
  // OUT_data* or, with a number or without, STEM_data; and a look at the models of its folder, which shows whether an
  // older data file is still needed.
  void toWrite(const Path& file);
  void endWriting() { write_.clear(); }  // the export is over

  [[nodiscard]] bool mayRead(const Path& file) const;
  [[nodiscard]] bool mayReadAsData(const Path& file) const;   // if it is a regular file
  [[nodiscard]] bool mayReadAsModel(const Path& file) const;  // if it is an ONNX model
  [[nodiscard]] bool mayList(const Path& folder) const;
  [[nodiscard]] bool mayReplace(const Path& file) const;
  [[nodiscard]] bool mayMakeOrRemove(const Path& file) const;

 private:
  std::set<Path> read_, write_, dataFolders_;
};

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
  // Returns the last file that was granted to be written and has been; empty: none.
  [[nodiscard]] const std::filesystem::path& written() const { return written_; }

 private:
  [[nodiscard]] door::Answer answer(const door::Question& question);
  // Paths are resolved ones, `shown` is the spelling in the question.
  [[nodiscard]] door::Answer read(const std::filesystem::path& path, const std::string& shown);
  [[nodiscard]] door::Answer create(const std::filesystem::path& path);
  [[nodiscard]] int name(int64_t ticket, direct::Naming naming);
  [[nodiscard]] int remove(const std::filesystem::path& path);

  Grants grants_;
  std::map<std::pair<dev_t, ino_t>, HandedFile> handed_;
  std::vector<HandedFile> handedNow_;
  std::map<int64_t, direct::NewFile> unnamed_;  // by ticket
  std::set<std::filesystem::path> made_;        // Names of files that the process made where nothing was before.
  // Those of them whose model has no name yet: no file needs them if the process ends here.
  std::map<std::filesystem::path, std::pair<dev_t, ino_t>> early_;
  std::filesystem::path written_;
  Descriptor replaced_;  // the older model
  int64_t lastTicket_ = 0;
};

}  // namespace normlens::confine
