#include "core/formats/file/file_hash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats {
namespace {

// These are what xxh128sum and sha256sum print of such a file.
TEST(FileHash, isTheOneThatCommandsPrint) {
  const TemporaryFolder folder;
  const auto path = folder / "text";
  std::ofstream(path) << "normlens";
  const auto file = must(MappedFile::open(path));
  EXPECT_EQ(hashHex(HashKind::Xxh3, *file, nullptr), "3c950cb6e5ffa39d5a02255f1293a032");
  EXPECT_EQ(hashHex(HashKind::Sha256, *file, nullptr),
            "8f0f66fcfde02ec4f63e71d2559a98c4d1d79212d08c4d719892b14f2b394341");
}

TEST(FileHash, ofSeveralFilesIsThatOfTheirBytesInARow) {
  const TemporaryFolder folder;
  const std::string half(300'001, 'a');
  std::ofstream(folder / "half") << half;
  std::ofstream(folder / "whole") << half << half;
  const auto one = must(MappedFile::open(folder / "half"));
  const auto both = must(MappedFile::open(folder / "whole"));
  for (const HashKind kind : {HashKind::Xxh3, HashKind::Sha256}) {
    EXPECT_EQ(hashHex(kind, std::vector{one, one}, nullptr), hashHex(kind, *both, nullptr));
    EXPECT_EQ(hashHex(kind, *both, [] { return false; }), "");
  }
}

}  // namespace
}  // namespace normlens::formats
