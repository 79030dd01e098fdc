// What AtomicFile writes, and what it leaves behind.
#include "core/formats/file/atomic_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

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

TEST(CheckSpace, TellsAFullDiskForAllFilesTogether) {
  const TemporaryFolder folder;
  EXPECT_TRUE(checkSpace(folder.path() / "a", 1));
  const auto full = checkSpace(folder.path() / "a", fs::space(folder.path()).free + (uint64_t{1} << 40));
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().message.find("the disk is full"), std::string::npos);
}

TEST(AtomicFile, PiecesThatAreMadeAreShownAndWrittenInOrder) {
  const TemporaryFolder folder;
  const std::string text = randomText(5'000'003, 9);
  std::string seen;
  const std::vector<FilePiece> pieces{{0, std::as_bytes(std::span(text)),
                                       [&](uint64_t at, std::span<std::byte> out) -> Status {
                                         std::memcpy(out.data(), text.data() + at, out.size());
                                         return {};
                                       },
                                       [&](std::span<const std::byte> bytes) {
                                         seen.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                       }}};
  auto file = AtomicFile::create(folder.path() / "made", text.size());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->writeAll(pieces, {}).has_value());
  ASSERT_TRUE(file->commit().has_value());
  EXPECT_TRUE(seen == text);
  EXPECT_TRUE(contentOf(folder.path() / "made") == text);
}

TEST(AtomicFile, APieceThatCannotBeMadeEndsTheWriting) {
  const TemporaryFolder folder;
  const std::string text(4'000'000, 'x');
  const std::vector<FilePiece> pieces{{0,
                                       std::as_bytes(std::span(text)),
                                       [](uint64_t at, std::span<std::byte>) -> Status {
                                         return at < 2'000'000 ? Status() : fail(ErrorCode::Refused, "no mean");
                                       },
                                       {}}};
  auto file = AtomicFile::create(folder.path() / "half", text.size());
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->writeAll(pieces, {}).error().code, ErrorCode::Refused);
}

TEST(AtomicFile, StopsBetweenStrokesWhenAsked) {
  const TemporaryFolder folder;
  const std::string text(40'000'000, 'x');  // NOLINT(bugprone-string-constructor)
  std::stop_source stop;
  const std::vector<FilePiece> pieces{
      {0, std::as_bytes(std::span(text)), {}, [&](std::span<const std::byte>) { stop.request_stop(); }}};
  auto file = AtomicFile::create(folder.path() / "half", text.size());
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->writeAll(pieces, {{}, stop.get_token()}).error().code, ErrorCode::Cancelled);
}

// A file of 40 MB that takes more than half a second passes at less than 80 MB/s.
TEST(AtomicFile, TellsTheRateInMegabytes) {
  const TemporaryFolder folder;
  const std::string text(40'000'000, 'x');  // NOLINT(bugprone-string-constructor)
  bool waited = false;
  const std::vector<FilePiece> pieces{{0, std::as_bytes(std::span(text)), {}, [&](std::span<const std::byte>) {
                                         if (!std::exchange(waited, true))
                                           std::this_thread::sleep_for(std::chrono::milliseconds(500));
                                       }}};
  std::string told;
  const Task task{[&](std::string_view stage, double) {
                    if (told.empty()) told = stage;
                  },
                  {}};
  auto file = AtomicFile::create(folder.path() / "slow", text.size());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->writeAll(pieces, task).has_value());
  const size_t at = told.find(" of 40 MB, ");
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_LT(std::stod(told.substr(at + 11)), 80) << told;
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
