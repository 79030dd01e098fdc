// Files that are kept and cannot be gone on with, or by nobody now.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/formats/file/kept_file_fixture.h"

namespace normlens::formats {
namespace {

namespace fs = std::filesystem;

TEST_F(KeptFile, BeginsAnewWhereItIsAnotherFile) {
  ASSERT_FALSE(write(4 * kStroke, kOtherDigest));
  expectAnew();
  EXPECT_EQ(door_->told(), part().string() + " is of another fold or damaged, so it is written anew\n");
}

TEST_F(KeptFile, BeginsAnewWhereNothingTellsWhatItIs) {
  ASSERT_FALSE(write(4 * kStroke, ""));
  ASSERT_TRUE(write(kWhole, ""));
  EXPECT_EQ(made_, kInMemory);
  expectWhole();
}

TEST_F(KeptFile, BeginsAnewWhereItIsDamaged) {
  const std::vector<std::function<void()>> harms{
      [&] { fs::resize_file(part(), kRecords + 2 * kPlace - 1); },
      [&] { fs::resize_file(part(), 2 * kStroke); },
      [&] { fs::resize_file(part(), 1); },
      [&] { fs::resize_file(part(), kRecords + 2 * kPlace + 1); },
      [&] { fs::resize_file(part(), 3 * kSize); },
      [&] { overwrite(part(), kRecords, std::string(2 * kPlace, 'x')); },
      [&] { overwrite(part(), kRecords, std::string(2 * kPlace, '\0')); },
      [&] { overwrite(part(), kStroke + 5, "flipped"); },  // of what was written
      [&] {
        for (const size_t place : {0, 1})
          overwrite(part(), kRecords + place * kPlace + 81, "\x7f");  // how much is there
      },
  };
  for (const auto& harm : harms) {
    ASSERT_FALSE(write(4 * kStroke));
    harm();
    expectAnew();
    EXPECT_NE(door_->told().find("anew"), std::string::npos);
    fs::remove(out());
  }
}

TEST_F(KeptFile, GoesOnFromTheOlderRecordWhereOneIsTorn) {
  ASSERT_FALSE(write(2 * kStroke));
  ASSERT_FALSE(write(3 * kStroke));
  const std::string before = contentOf(part());
  std::vector<size_t> made;
  for (const size_t place : {0, 1}) {
    overwrite(part(), 0, before);
    overwrite(part(), kRecords + place * kPlace + 10, "torn");
    ASSERT_TRUE(write());
    made.push_back(made_);
    expectWhole();
    fs::rename(out(), part());
    fs::resize_file(part(), before.size());
  }
  std::ranges::sort(made);
  EXPECT_EQ(made, (std::vector<size_t>{kInMemory - 3 * kStroke, kInMemory - 2 * kStroke}));
}

TEST_F(KeptFile, LeavesAloneWhatIsNoFileOfOurs) {
  const fs::path victim = folder_ / "victim";
  std::ofstream(victim) << "mine";
  const std::vector<std::function<void()>> obstacles{
      [&] { fs::create_symlink(victim, part()); },           [&] { fs::create_symlink("nothing", part()); },
      [&] { fs::create_hard_link(victim, part()); },         [&] { fs::create_directory(part()); },
      [&] { ASSERT_EQ(::mkfifo(part().c_str(), 0600), 0); },
  };
  for (const auto& put : obstacles) {
    put();
    EXPECT_NE(refusal().find("is in the way"), std::string::npos);
    EXPECT_EQ(contentOf(victim), "mine");
    EXPECT_FALSE(fs::exists(folder_ / "nothing"));
    EXPECT_TRUE(fs::exists(fs::symlink_status(part())));
    fs::remove(part());
  }
}

TEST_F(KeptFile, LeavesAloneWhatAnotherUserHas) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  std::ofstream(part()) << "mine";
  ASSERT_EQ(::chown(part().c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal().find("is in the way"), std::string::npos);
  EXPECT_EQ(contentOf(part()), "mine");
}

TEST_F(KeptFile, HasOneWriterAtATime) {
  auto first = AtomicFile::takeUp(out(), kSize);
  ASSERT_TRUE(first);
  EXPECT_NE(refusal().find("another fold is writing it"), std::string::npos);
  ASSERT_TRUE(first->writeAll(pieces(kWhole), {}, [] { return kDigest; }));
  const std::string seen = seen_;
  EXPECT_NE(refusal().find("another fold is writing it"), std::string::npos);
  seen_ = seen;
  ASSERT_TRUE(first->commit());
  expectWhole();
}

TEST_F(KeptFile, GoesOnAfterADiskWasFull) {
  ASSERT_FALSE(write(2 * kStroke));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = 4 * kStroke;
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status = write();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::WriteFailed);
  ASSERT_TRUE(write());
  EXPECT_LE(made_, kInMemory - 2 * kStroke);
  expectWhole();
}

TEST_F(KeptFile, LeavesNothingWhereTheDiskHasNoRoomForIt) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  const TemporaryFolder memory("/dev/shm");
  confine::Grants grants;
  grants.toWrite(memory / "out");
  grants.toKeepParts();
  door_.reset();
  door_.emplace(std::move(grants));
  {
    auto large = AtomicFile::takeUp(memory / "out", fs::space(memory.path()).free + (uint64_t{1} << 40));
    ASSERT_TRUE(large);
    const Status status = large->writeAll(pieces(kWhole), {}, [] { return kDigest; });
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("the disk is full"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_empty(memory.path()));
}

TEST_F(KeptFile, StaysWhereNobodyAskedToGoOnWithIt) {
  ASSERT_FALSE(write(4 * kStroke));
  const std::string left = contentOf(part());
  openDoor(false);
  ASSERT_FALSE(write(4 * kStroke));
  EXPECT_NE(door_->told().find("--resume goes on with it"), std::string::npos);
  ASSERT_TRUE(write());
  EXPECT_EQ(made_, kInMemory);
  EXPECT_TRUE(contentOf(part()) == left);
  fs::remove(part());
  expectWhole();
}

TEST_F(KeptFile, IsAsAnyOtherWithoutADoor) {
  door_.reset();
  ASSERT_FALSE(write(4 * kStroke));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(KeptFile, HoldsRoomThatIsNotAskedForTwice) {
  EXPECT_EQ(keptBytes(out()), 0U);
  ASSERT_FALSE(write(4 * kStroke));
  EXPECT_GE(keptBytes(out()), 4 * kStroke);
}

}  // namespace
}  // namespace normlens::formats
