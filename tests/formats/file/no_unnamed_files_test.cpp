// A file system without unnamed files (FUSE, NFS, FAT), stood in for by an open() that refuses O_TMPFILE: what has a
// name meanwhile is ours, and nothing of the user's is taken for a rest of that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <set>

#include "core/formats/file/atomic_file.h"
#include "tests/support/temporary_folder.h"

extern "C" int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : mode_t{0};
  va_end(rest);
  if ((flags & O_TMPFILE) != O_TMPFILE) return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  errno = EOPNOTSUPP;
  return -1;
}

namespace normlens::formats {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

TEST(NoUnnamedFiles, NothingBesideAnExportGoes) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out.pt";
  Names names;
  for (const char* ending : {"", ".backup", ".config", ".abcdef", ".a1B2c3", ".normlens-abcde"}) {
    names.insert("out.pt" + std::string(ending));
    std::ofstream(out.string() + ending) << "of the user";
  }
  names.insert(".out.pt.normlens-notours");  // seven letters, not six
  std::ofstream(folder.path() / ".out.pt.normlens-notours") << "of the user";
  const auto there = [&] {
    Names all;
    for (const auto& entry : fs::directory_iterator(folder.path())) all.insert(entry.path().filename().string());
    return all;
  };
  {
    auto file = AtomicFile::create(out, 4);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(there().size(), names.size() + 1) << "it has a name meanwhile";
    ASSERT_TRUE(file->writeAt(0, std::as_bytes(std::span("new", 4))));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(there(), names);
  EXPECT_EQ(fs::file_size(out), 4U);
  EXPECT_EQ(fs::file_size(out.string() + ".backup"), std::string("of the user").size());
}

}  // namespace
}  // namespace normlens::formats
