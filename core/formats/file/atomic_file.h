// A file that appears under its name complete or not at all.
//
// Written without a name in the same folder (core/base/files.h), fsynced, named; gone again if it is not committed. If
// the path is a symbolic link, what it points to is written. Thread: one thread per object. Errors: WriteFailed with a
// sentence that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/base/task.h"

namespace normlens::formats {

// Fills `out` with the bytes from `at` on.
using MakeBytes = std::function<Status(uint64_t at, std::span<std::byte> out)>;

// Bytes of a file that is written, from where they are or are made.
struct FilePiece {
  uint64_t offset = 0;
  std::span<const std::byte> bytes;  // only their number counts where they are made
  MakeBytes make;                    // empty: they are in memory
  // Is shown all of them, in order, as they pass.
  std::function<void(std::span<const std::byte>)> see;
};

// Asks the file system that a file is to be on whether it has so many bytes, before it and others beside it are begun.
// Errors: WriteFailed.
[[nodiscard]] Status checkSpace(const std::filesystem::path& path, uint64_t bytes);

class AtomicFile {
 public:
  // Reserves `size` bytes of the file system at once, so that a full disk is known before anything is written. A file
  // system in memory only checks that it has them: to reserve pages there costs half of what writing them does.
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path, uint64_t size);
  // Places may be filled in any order.
  [[nodiscard]] Status writeAt(uint64_t offset, std::span<const std::byte> bytes);
  // In the order given, in strokes that stay in a cache: a thread of its own makes, reads and shows one while the one
  // before it is written. Tells the task how far it is. Errors: also those of `make`; Cancelled.
  [[nodiscard]] Status writeAll(std::span<const FilePiece> pieces, const Task& task);
  // Flushes to the disk and gives the file its name. An older file of that name is replaced and hands on its mode.
  [[nodiscard]] Status commit();
  // The same where nothing may have that name yet; an error where something has.
  [[nodiscard]] Status commitNew();

 private:
  AtomicFile(std::filesystem::path path, files::NewFile file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] tl::unexpected<Error> failed(int error) const;
  [[nodiscard]] Status nameIt(files::Naming naming);

  std::filesystem::path path_;
  files::NewFile file_;
};

}  // namespace normlens::formats
