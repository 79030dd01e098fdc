// Files that a window on another machine lists, sends and fetches: whole after cuts, and nowhere but in the cache
// whatever the window says.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/engine/serve/exchanged_files.h"
#include "core/base/bytes/base64.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;
using protocol::FetchChunkParams;
using protocol::SendChunkParams;
using protocol::SentSoFar;

const std::string kFolder(RunningHash::kDigits, 'a');

std::string hashOf(const std::string& bytes) {
  RunningHash hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash.hex();
}

std::string contentOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

SendChunkParams partOf(const std::string& whole, size_t offset, size_t bytes) {
  return {kFolder,
          "m.onnx",
          hashOf(whole),
          static_cast<int64_t>(whole.size()),
          static_cast<int64_t>(offset),
          base64(std::string_view(whole).substr(offset, bytes))};
}

class Exchanged : public ::testing::Test {
 protected:
  // What each refused request leaves alone.
  [[nodiscard]] size_t filesBelow() const {
    return static_cast<size_t>(std::distance(fs::recursive_directory_iterator(folder_.path()), {}));
  }
  ErrorCode refusal(const SendChunkParams& params) {
    const auto sent = files_.send(params);
    return sent ? ErrorCode::Internal : sent.error().code;
  }

  TemporaryFolder folder_;
  fs::path cache_ = folder_ / "cache";
  ExchangedFiles files_{cache_};
  const std::string whole_ = "a model of some bytes: \x00\xff\n and more";
};

TEST_F(Exchanged, AModelComesInChunks) {
  SentSoFar sent = must(files_.send(partOf(whole_, 0, 0)));
  EXPECT_EQ(sent.path, cache_ / kFolder / "m.onnx");
  EXPECT_EQ(sent.bytes, 0);
  sent = must(files_.send(partOf(whole_, 0, 10)));
  EXPECT_EQ(sent.bytes, 10);
  EXPECT_FALSE(fs::exists(sent.path)) << "not before it is whole";
  sent = must(files_.send(partOf(whole_, 10, whole_.size())));
  EXPECT_TRUE(sent.complete);
  EXPECT_EQ(contentOf(sent.path), whole_);
  EXPECT_EQ(fs::status(cache_ / kFolder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(must(files_.send(partOf(whole_, 0, 0))).complete) << "it is not sent twice";
}

// The window that comes back asks, and goes on from there; what comes twice is not written twice.
TEST_F(Exchanged, ATransferThatWasCutGoesOn) {
  static_cast<void>(must(files_.send(partOf(whole_, 0, 12))));
  ExchangedFiles later(cache_);
  EXPECT_EQ(must(later.send(partOf(whole_, 0, 0))).bytes, 12);
  EXPECT_EQ(must(later.send(partOf(whole_, 0, 12))).bytes, 12);
  EXPECT_EQ(must(later.send(partOf(whole_, 20, 5))).bytes, 12);
  EXPECT_TRUE(must(later.send(partOf(whole_, 12, whole_.size()))).complete);
  EXPECT_EQ(contentOf(cache_ / kFolder / "m.onnx"), whole_);
}

TEST_F(Exchanged, ALargeFileIsLookedThroughInParts) {
  const std::string large(size_t{70} << 20, 'x');
  constexpr size_t kChunk = protocol::kMostChunk;
  const SendChunkParams all = partOf(large, 0, 0);
  SentSoFar sent;
  for (size_t at = 0; at < large.size(); at += kChunk) {
    SendChunkParams chunk = all;
    chunk.offset = static_cast<int64_t>(at);
    chunk.data = base64(std::string_view(large).substr(at, kChunk));
    sent = must(files_.send(chunk));
  }
  EXPECT_FALSE(sent.complete);
  EXPECT_EQ(sent.bytes, all.bytes);
  EXPECT_TRUE(must(files_.send(all)).complete);
}

TEST_F(Exchanged, NoNameLeadsOutOfTheCache) {
  const size_t before = filesBelow();
  for (const char* name : {"", ".", "..", "../m.onnx", "a/b", "/etc/passwd", ".hidden", "a\nb", "a\x1b[2Jb"}) {
    SendChunkParams params = partOf(whole_, 0, 5);
    params.name = name;
    EXPECT_EQ(refusal(params), ErrorCode::Usage) << name;
  }
  SendChunkParams nul = partOf(whole_, 0, 5);
  nul.name = std::string("a\0b", 3);
  EXPECT_EQ(refusal(nul), ErrorCode::Usage);
  SendChunkParams lengthy = partOf(whole_, 0, 5);
  lengthy.name = std::string(300, 'n');
  EXPECT_EQ(refusal(lengthy), ErrorCode::Usage);
  for (const char* folder : {"", "..", "../../../../../../../../../../../", "0123456789ABCDEF0123456789ABCDEF"}) {
    SendChunkParams params = partOf(whole_, 0, 5);
    params.folder = folder;
    EXPECT_EQ(refusal(params), ErrorCode::Usage) << folder;
    params = partOf(whole_, 0, 5);
    params.hash = folder;
    EXPECT_EQ(refusal(params), ErrorCode::Usage) << folder;
  }
  EXPECT_EQ(filesBelow(), before);
}

TEST_F(Exchanged, NoMoreIsTakenThanWasAnnounced) {
  SendChunkParams more = partOf(whole_, 0, whole_.size());
  more.data = base64(whole_ + "x");
  EXPECT_EQ(refusal(more), ErrorCode::Usage);
  SendChunkParams beyond = partOf(whole_, 0, 5);
  beyond.offset = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(must(files_.send(beyond)).bytes, 0);
  beyond.offset = -1;
  EXPECT_EQ(must(files_.send(beyond)).bytes, 0);
  SendChunkParams large = partOf(whole_, 0, 0);
  large.bytes = int64_t{1} << 30;
  large.data = base64(std::string(protocol::kMostChunk + 1, 'x'));
  EXPECT_EQ(refusal(large), ErrorCode::Usage);
  SendChunkParams negative = partOf(whole_, 0, 5);
  negative.bytes = -1;
  EXPECT_EQ(refusal(negative), ErrorCode::Usage);
  SendChunkParams garbled = partOf(whole_, 0, 5);
  garbled.data = "?";
  EXPECT_EQ(refusal(garbled), ErrorCode::Usage);
}

TEST_F(Exchanged, WhatHasAnotherHashIsDropped) {
  SendChunkParams other = partOf(whole_, 0, whole_.size());
  other.data = base64(std::string(whole_.size(), 'x'));
  EXPECT_EQ(refusal(other), ErrorCode::Refused);
  EXPECT_FALSE(fs::exists(cache_ / kFolder / "m.onnx"));
  EXPECT_EQ(must(files_.send(partOf(whole_, 0, 0))).bytes, 0) << "it can be sent again";
  EXPECT_TRUE(must(files_.send(partOf(whole_, 0, whole_.size()))).complete);
}

TEST_F(Exchanged, AFullDiskIsASentenceAndWhatCameIsKept) {
  SendChunkParams vast = partOf(whole_, 0, 5);
  vast.bytes = int64_t{1} << 60;
  const auto refused = files_.send(vast);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::WriteFailed);
  EXPECT_NE(refused.error().message.find("No space left"), std::string::npos) << refused.error().message;
  // A disk that becomes full in the middle.
  static_cast<void>(must(files_.send(partOf(whole_, 0, 10))));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto heard = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const ErrorCode full = refusal(partOf(whole_, 10, whole_.size()));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, heard);
  EXPECT_EQ(full, ErrorCode::WriteFailed);
  EXPECT_EQ(must(files_.send(partOf(whole_, 0, 0))).bytes, 20);
  EXPECT_TRUE(must(files_.send(partOf(whole_, 20, whole_.size()))).complete);
}

TEST_F(Exchanged, ALinkInTheCacheIsNotFollowed) {
  fs::create_directories(cache_ / kFolder);
  fs::create_symlink(folder_ / "elsewhere", cache_ / kFolder / ("." + hashOf(whole_) + ".part"));
  EXPECT_EQ(refusal(partOf(whole_, 0, 5)), ErrorCode::Refused);
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
  std::ofstream(folder_ / "secret") << "secret";
  fs::create_symlink(folder_ / "secret", cache_ / kFolder / "secret");
  EXPECT_FALSE(files_.fetch({.path = cache_ / kFolder / "secret"}));
}

TEST_F(Exchanged, AFolderThatIsALinkIsNotEntered) {
  fs::create_directories(cache_);
  const fs::path outside = folder_ / "outside";
  fs::create_directories(outside);
  fs::permissions(outside, fs::perms::owner_all | fs::perms::others_read);
  std::ofstream(outside / "secret") << "secret";
  fs::create_directory_symlink(outside, cache_ / kFolder);
  EXPECT_EQ(refusal(partOf(whole_, 0, whole_.size())), ErrorCode::Refused);
  for (const bool remove : {false, true})
    EXPECT_FALSE(files_.fetch({.path = cache_ / kFolder / "secret", .remove = remove}));
  EXPECT_EQ(contentOf(outside / "secret"), "secret");
  EXPECT_FALSE(fs::exists(outside / "m.onnx"));
  EXPECT_EQ(fs::status(outside).permissions(), fs::perms::owner_all | fs::perms::others_read);
}

TEST_F(Exchanged, AFileWithAnotherNameIsNotWrittenTo) {
  fs::create_directories(cache_ / kFolder);
  std::ofstream(folder_ / "mine") << "mine";
  fs::create_hard_link(folder_ / "mine", cache_ / kFolder / ("." + hashOf(whole_) + ".part"));
  SendChunkParams behind = partOf(whole_, 4, 5);
  EXPECT_EQ(refusal(behind), ErrorCode::Refused);
  EXPECT_EQ(contentOf(folder_ / "mine"), "mine");
}

TEST_F(Exchanged, WhatWasChangedSinceItCameIsSentAgain) {
  EXPECT_TRUE(must(files_.send(partOf(whole_, 0, whole_.size()))).complete);
  std::ofstream(cache_ / kFolder / "m.onnx", std::ios::binary) << std::string(whole_.size(), 'x');
  EXPECT_FALSE(must(files_.send(partOf(whole_, 0, 0))).complete);
  EXPECT_TRUE(must(files_.send(partOf(whole_, 0, whole_.size()))).complete);
  EXPECT_EQ(contentOf(cache_ / kFolder / "m.onnx"), whole_);
}

// ---- back

TEST_F(Exchanged, AnExportIsFetchedAndRemoved) {
  const SentSoFar place = must(files_.send({kFolder, "out.onnx", {}, 0, 0, {}}));
  EXPECT_FALSE(fs::exists(place.path));
  std::ofstream(place.path, std::ios::binary) << whole_;
  std::string got;
  while (got.size() < whole_.size()) {
    const auto chunk = must(files_.fetch({place.path, static_cast<int64_t>(got.size()), 7, false}));
    EXPECT_EQ(chunk.bytes, static_cast<int64_t>(whole_.size()));
    got += must(bytesOfBase64(chunk.data));
  }
  EXPECT_EQ(got, whole_);
  const auto end = must(files_.fetch({place.path, static_cast<int64_t>(got.size()), 7, false}));
  EXPECT_TRUE(end.data.empty());
  EXPECT_EQ(end.hash, hashOf(whole_));
  static_cast<void>(must(files_.fetch({.path = place.path, .remove = true})));
  EXPECT_FALSE(fs::exists(cache_ / kFolder));
}

TEST_F(Exchanged, NothingElseIsFetchedOrRemoved) {
  std::ofstream(folder_ / "secret") << "secret";
  fs::create_directories(cache_ / kFolder / "deeper");
  std::ofstream(cache_ / kFolder / "deeper" / "x") << "x";
  std::ofstream(cache_ / "loose") << "x";
  std::ofstream(cache_ / kFolder / ".hidden") << "x";
  const size_t before = filesBelow();
  for (const fs::path& path : std::initializer_list<fs::path>{
           folder_ / "secret", cache_ / kFolder / ".." / ".." / "secret", cache_ / kFolder / ".." / "loose",
           cache_ / "loose", cache_ / kFolder / "deeper" / "x", cache_ / kFolder / ".hidden", cache_ / kFolder / "",
           fs::path("/etc/passwd"), fs::path("secret"), fs::path()}) {
    for (const bool remove : {false, true}) EXPECT_FALSE(files_.fetch({.path = path, .remove = remove})) << path;
  }
  EXPECT_EQ(filesBelow(), before);
  for (const int64_t offset : {int64_t{-1}, int64_t{7}, std::numeric_limits<int64_t>::max()}) {
    std::ofstream(cache_ / kFolder / "out") << "out...";
    EXPECT_FALSE(files_.fetch({.path = cache_ / kFolder / "out", .offset = offset}));
  }
}

// ---- folders

TEST_F(Exchanged, AFolderIsListedWithoutWhatIsHiddenOrNoFile) {
  fs::create_directories(folder_ / "models");
  fs::create_directories(folder_ / ".git");
  std::ofstream(folder_ / "a.onnx") << "abc";
  std::ofstream(folder_ / ".bashrc") << "x";
  std::ofstream(folder_ / "odd\nname") << "x";
  fs::create_symlink("/dev/null", folder_ / "null");
  fs::create_symlink("nowhere", folder_ / "broken");
  const auto list = must(ExchangedFiles::list({folder_.path().string() + "/models/../"}));
  EXPECT_EQ(list.path, folder_.path());
  std::vector<std::string> names;
  for (const auto& entry : list.entries) names.push_back(entry.name + (entry.folder ? "/" : ""));
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a.onnx", "models/"}));
  EXPECT_FALSE(list.more);
  const auto file = must(ExchangedFiles::list({folder_ / "a.onnx"}));
  ASSERT_EQ(file.entries.size(), 1U);
  EXPECT_EQ(file.path, folder_.path());
  EXPECT_EQ(file.entries[0].bytes, 3);
  EXPECT_GT(file.entries[0].modified, 1'600'000'000'000'000'000);
}

TEST_F(Exchanged, WhatIsNoFolderIsRefused) {
  for (const fs::path& path : {folder_ / "nothing", fs::path("models"), fs::path("../.."), fs::path("/dev/null")})
    EXPECT_FALSE(ExchangedFiles::list({path})) << path;
  EXPECT_FALSE(must(ExchangedFiles::list({"/"})).entries.empty());
  EXPECT_FALSE(must(ExchangedFiles::list({""})).path.empty());
}

}  // namespace
}  // namespace normlens::engine
