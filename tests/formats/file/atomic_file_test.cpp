// What AtomicFile writes, and what it leaves behind.
#include "core/formats/file/atomic_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/support/temporary_folder.h"

namespace normlens::formats {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string randomText(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(AtomicFile, WritesPiecesOfEverySizeWhereTheyBelong) {
  const TemporaryFolder folder;
  std::vector<std::string> texts;
  for (const size_t size : {3UL, 0UL, 300'000UL, 70UL, 9'000'001UL, 262'144UL, 1UL}) {
    texts.push_back(randomText(size, static_cast<uint32_t>(size)));
  }
  std::string expected;
  std::vector<FilePiece> pieces;
  for (const std::string& text : texts) {
    pieces.push_back({expected.size(), std::as_bytes(std::span(text)), {}, {}});
    expected += text;
  }
  std::ranges::reverse(pieces);
  auto file = AtomicFile::create(folder.path() / "whole", expected.size());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->writeAll(pieces, {}).has_value());
  EXPECT_FALSE(fs::exists(folder.path() / "whole"));
  ASSERT_TRUE(file->commit().has_value());
  EXPECT_TRUE(contentOf(folder.path() / "whole") == expected);
}

TEST(AtomicFile, LeavesNothingWhereItIsNotCommitted) {
  const TemporaryFolder folder;
  {
    auto file = AtomicFile::create(folder.path() / "half", 100);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->writeAt(0, std::as_bytes(std::span("text"))).has_value());
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

class FullDisk : public testing::TestWithParam<const char*> {};

TEST_P(FullDisk, IsToldBeforeAnythingIsWritten) {
  std::error_code error;
  const auto space = fs::space(GetParam(), error);
  if (error) GTEST_SKIP() << "there is no " << GetParam();
  const TemporaryFolder folder(GetParam());
  const auto file = AtomicFile::create(folder.path() / "large", space.free + (uint64_t{1} << 40));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::WriteFailed);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(, FullDisk, testing::Values("/tmp", "/dev/shm"));

}  // namespace
}  // namespace normlens::formats
