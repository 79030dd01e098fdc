#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/lab/keep/checkpoint.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::lab {
namespace {

Checkpoint some() {
  Checkpoint checkpoint;
  checkpoint.settings.width = 7;
  checkpoint.data_sum = 123;
  checkpoint.group = 1;
  checkpoint.epoch = 3;
  checkpoint.records.resize(2);
  checkpoint.records[1].train_loss = 1.0 / 3;
  checkpoint.weights = {"rms_norm_6x7_seed1_float32.pt"};
  KeptMember member;
  member.member = {NormUse::RmsNorm, 6, 0, 1, Precision::Float32};
  for (RunRecord& record : checkpoint.records) record.member = member.member;
  member.step = 12;
  member.tensors.push_back({"linear_1.weight", "float32", {1, 2}, std::vector<std::byte>(8, std::byte{5})});
  member.tensors.push_back({"linear_1.bias", "float64", {1}, std::vector<std::byte>(8, std::byte{9})});
  checkpoint.members = {member, member};
  checkpoint.members[1].diverged = "it went";
  return checkpoint;
}

class CheckpointFile : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(writeCheckpoint(path_, some())); }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string toldOf(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    const auto read = readCheckpoint(path_);
    const std::string start = "the checkpoint " + path_.string() + " cannot be used: ";
    if (read) return "nothing";
    return read.error().message.starts_with(start) ? read.error().message.substr(start.size()) : read.error().message;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "checkpoint";
};

TEST_F(CheckpointFile, HoldsWhatWasWritten) { EXPECT_EQ(must(readCheckpoint(path_)), some()); }

TEST_F(CheckpointFile, IsToldWhenDamaged) {
  const std::string good = bytes();
  EXPECT_EQ(toldOf("tea"), "it is cut off");
  EXPECT_EQ(toldOf(std::string(100, 'x')), "it is none");
  EXPECT_EQ(toldOf(good.substr(0, 40)), "it is cut off");
  EXPECT_EQ(toldOf(good.substr(0, good.size() - 1)), "it is damaged (checksum)");
  for (const size_t place : {size_t{20}, good.size() / 2, good.size() - 3}) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 1);
    const std::string told = toldOf(bad);
    EXPECT_EQ(told, place == 20 ? "nothing" : "it is damaged (checksum)") << place;  // 20: bytes that mean nothing
  }
}

// Written with a right checksum by somebody else.
TEST_F(CheckpointFile, IsRefusedWhereItTellsOfWhatItsRunDoesNotHave) {
  const auto told = [&](auto bend) {
    Checkpoint bent = some();
    bend(bent);
    EXPECT_TRUE(writeCheckpoint(path_, bent));
    return toldOf(bytes());
  };
  const std::string refused = "it names networks or epochs that its run does not have";
  EXPECT_EQ(told([](Checkpoint& to) { to.records[0].member.optimizer = 1'000'000'000; }), refused);
  EXPECT_EQ(told([](Checkpoint& to) { to.members[0].member.optimizer = -1; }), refused);
  EXPECT_EQ(told([](Checkpoint& to) { to.epoch = -5; }), refused);
  EXPECT_EQ(told([](Checkpoint& to) { to.members[0].epoch = 2147483647; }), refused);
  EXPECT_EQ(told([](Checkpoint& to) { to.members[0].step = -9; }), refused);
  for (const char* file : {"../../evil.pt", "rms_norm_6x7_seed1_float32.pt2"})
    EXPECT_EQ(told([file](Checkpoint& to) { to.weights = {file}; }), refused) << file;
  EXPECT_EQ(told([](Checkpoint& to) { to.records[0].event = RunEvent::Epoch; }), refused) << "it has no inputs";
  EXPECT_EQ(told([](Checkpoint& to) { to.settings.layers.clear(); }), "layers is empty: at least one is needed");
}

}  // namespace
}  // namespace normlens::lab
