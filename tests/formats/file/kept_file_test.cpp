// Files that are kept when their writer ends too early: the next one goes on with them, and what comes out is the same.
#include <algorithm>

#include "tests/formats/file/kept_file_fixture.h"

namespace normlens::formats {
namespace {

namespace fs = std::filesystem;

TEST_F(KeptFile, IsWrittenAsAnyOther) {
  expectAnew();
  EXPECT_EQ(door_->told(), "");
}

TEST_F(KeptFile, GoesOnFromEveryStroke) {
  for (size_t limit = 0; limit <= 5 * kStroke; limit += kStroke / 2) {
    ASSERT_FALSE(write(limit));
    EXPECT_FALSE(fs::exists(out()));
    const size_t before = made_;
    ASSERT_TRUE(write()) << limit;
    EXPECT_EQ(made_, kInMemory - before) << limit;
    expectWhole();
    fs::remove(out());
  }
  EXPECT_EQ(door_->told(), "going on with " + part().string() + "\n");  // said once
}

TEST_F(KeptFile, IsStoppedAgainAndAgain) {
  size_t made = 0;
  for (size_t limit = kStroke; limit <= 5 * kStroke; limit += kStroke) {
    ASSERT_FALSE(write(limit));
    made += made_;
  }
  ASSERT_TRUE(write());
  EXPECT_EQ(made + made_, kInMemory);
  expectWhole();
  EXPECT_EQ(door_->told(), "going on with " + part().string() + "\n");
}

TEST_F(KeptFile, KeepsWhatACancelledWriterWrote) {
  std::stop_source stop;
  before_ = [&] {
    if (made_ > 2 * kStroke) stop.request_stop();
  };
  EXPECT_EQ(write(kWhole, kDigest, {{}, stop.get_token()}).error().code, ErrorCode::Cancelled);
  before_ = {};
  ASSERT_TRUE(write());
  EXPECT_LT(made_, kInMemory);
  expectWhole();
}

// What was written after the last record may or may not be on the disk.
TEST_F(KeptFile, GoesOnFromTheRecordWhereverItWasKilled) {
  ASSERT_FALSE(write(2 * kStroke));
  std::vector<fs::path> seen;
  const TemporaryFolder aside;
  before_ = [&] {
    seen.push_back(aside.path() / std::to_string(seen.size()));
    fs::copy_file(part(), seen.back());
  };
  ASSERT_TRUE(write());
  before_ = {};
  ASSERT_GE(seen.size(), 3U);
  for (const fs::path& killed : seen) {
    fs::remove(out());
    fs::copy_file(killed, part());
    overwrite(part(), 2 * kStroke, std::string(kStroke + 1, 'x'));
    ASSERT_TRUE(write());
    EXPECT_EQ(made_, kInMemory - 2 * kStroke);
    expectWhole();
  }
}

}  // namespace
}  // namespace normlens::formats
