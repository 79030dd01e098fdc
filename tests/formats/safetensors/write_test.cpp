// An edited checkpoint as a folder: every byte that was not edited, and all or nothing.
#include "core/formats/safetensors/write.h"

#include "core/fold/plan.h"
#include "tests/formats/safetensors/checkpoint_files.h"

namespace normlens::formats::safetensors {
namespace {

class CheckpointWriting : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    edits_.graph = std::make_shared<graph::Graph>();
    edits_.versions = std::make_shared<WeightVersions>(*edits_.graph, OpenedFiles(), [](auto) { return false; });
  }
  Result<WrittenCheckpoint> writeOut() {
    auto opened = open();
    if (!opened) return tl::unexpected(opened.error());
    checkpoint_ = std::move(*opened);
    for (const auto& [name, added] : wanted_) {
      NewTensor tensor;
      tensor.place = *checkpoint_.find(name);
      tensor.name = added.empty() ? name : added;
      tensor.added = !added.empty();
      tensor.view = checkpoint_.view(tensor.place);
      if (added.empty()) tensor.view.data = reinterpret_cast<const std::byte*>(new_.data());
      edits_.tensors.push_back(std::move(tensor));
    }
    return writeCheckpoint(checkpoint_, edits_, out(), "{}\n", {});
  }
  static constexpr const char* kIndex =
      R"({"metadata": {"total_size": 20}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})";

  std::string new_ = "ABCDEFGH";
  std::vector<std::pair<std::string, std::string>> wanted_;  // a tensor, and what a copy of it is called
  CheckpointEdits edits_;
  Checkpoint checkpoint_;
};

TEST_F(CheckpointWriting, ReplacesBytesInTheirPlaceAndCopiesTheRest) {
  const std::string before =
      fileOf({{"x", "U8", "[3]", "xyz"}, {"a", "F32", "[2]", "abcdefgh"}, {"q", "Q9", "[9]", "rst"}});
  write("model.safetensors", before), write("tokenizer/vocab.txt", "words"), write("empty.txt", ""),
      write("old.bin", "old");
  wanted_ = {{"a", ""}};
  const auto written = writeOut();
  ASSERT_TRUE(written) << written.error().message;
  std::string expected = before;
  expected.replace(expected.find("abcdefgh"), 8, new_);
  EXPECT_EQ(read(out() / "model.safetensors"), expected);
  EXPECT_EQ(namesIn(out()),
            (std::vector<std::string>{"empty.txt", "model.safetensors", "recipe.json", "tokenizer/vocab.txt"}));
  EXPECT_EQ(read(out() / "tokenizer/vocab.txt"), "words");
  EXPECT_EQ(namesIn(root_).size(), 8U) << "nothing is left beside the folder";
}

TEST_F(CheckpointWriting, AddsATensorToItsShardAndToTheIndex) {
  write("m-1.safetensors", fileOf({{"a", "F32", "[2]", "abcdefgh"}}));
  write("m-2.safetensors", fileOf({{"b", "F32", "[3]", "ijklmnopqrst"}}));
  write("m.safetensors.index.json", kIndex),
      write("config.json", R"({"text_config": {"tie_word_embeddings": true}, "eps": 1e-05})");
  wanted_ = {{"a", ""}, {"a", "head"}};
  edits_.untied = true;
  const auto written = writeOut();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(written->configChanged);
  const auto again = openCheckpoint(out(), namesIn(out()));
  ASSERT_TRUE(again) << again.error().message;
  const auto head = again->find("head"), a = again->find("a");
  ASSERT_TRUE(head && a);
  EXPECT_EQ(head->shard, a->shard);
  const auto bytes = [&](const Checkpoint::Place& place) {
    return std::string(reinterpret_cast<const char*>(again->view(place).data), 8);
  };
  EXPECT_EQ(bytes(*head), "abcdefgh");
  EXPECT_EQ(bytes(*a), "ABCDEFGH");
  EXPECT_EQ(again->index->at("weight_map").at("head").text(), "m-1.safetensors");
  EXPECT_EQ(again->index->at("metadata").at("total_size").integer(), 28);
  EXPECT_EQ(read(out() / "m-2.safetensors"), read(folder() / "m-2.safetensors"));
  EXPECT_EQ(read(out() / "config.json"),
            "{\n  \"text_config\": {\n    \"tie_word_embeddings\": false\n  },\n  \"eps\": 1e-05,\n"
            "  \"tie_word_embeddings\": false\n}\n");
}

// Not a number that whole bytes are counted in.
TEST_F(CheckpointWriting, LeavesATotalThatIsNoCount) {
  write("m-1.safetensors", fileOf({{"a", "F32", "[2]", "abcdefgh"}}));
  write("m.safetensors.index.json", R"({"metadata": {"total_size": 1e300}, "weight_map": {"a": "m-1.safetensors"}})");
  wanted_ = {{"a", "head"}};
  const auto written = writeOut();
  ASSERT_TRUE(written) << written.error().message;
  const std::string index = read(out() / "m.safetensors.index.json");
  EXPECT_NE(index.find("1e300"), std::string::npos) << index;
  EXPECT_NE(index.find("head"), std::string::npos) << index;
}

TEST_F(CheckpointWriting, LeavesAnIndexWithoutNewTensorsAsItIs) {
  write("m-1.safetensors", fileOf({{"a", "F32", "[2]", "abcdefgh"}})),
      write("m-2.safetensors", fileOf({{"b", "F32", "[3]", "ijklmnopqrst"}}));
  write("m.safetensors.index.json", kIndex), write("config.json", "{ }");
  wanted_ = {{"a", ""}};
  ASSERT_TRUE(writeOut());
  EXPECT_EQ(read(out() / "m.safetensors.index.json"), kIndex);
  EXPECT_EQ(read(out() / "config.json"), "{ }");
}

// Snapshots of the Hugging Face cache are links.
TEST_F(CheckpointWriting, WritesContentWhereTheCheckpointHasLinks) {
  write("../blob", fileOf({{"a", "F32", "[2]", "abcdefgh"}}));
  std::filesystem::create_symlink("../blob", folder() / "model.safetensors");
  wanted_ = {{"a", ""}};
  const auto written = writeOut();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_FALSE(std::filesystem::is_symlink(out() / "model.safetensors"));
  EXPECT_NE(read(out() / "model.safetensors"), read(root_ / "blob"));
}

TEST_F(CheckpointWriting, TouchesNoFolderThatHoldsSomething) {
  write("model.safetensors", fileOf({{"a", "F32", "[2]", "abcdefgh"}}));
  wanted_ = {{"a", ""}};
  std::filesystem::create_directory(out());
  std::ofstream(out() / "mine") << "mine";
  const auto written = writeOut();
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("is not empty"), std::string::npos);
  EXPECT_EQ(namesIn(out()), std::vector<std::string>{"mine"});
  std::filesystem::remove(out() / "mine");
  EXPECT_TRUE(writeOut()) << "an empty one is taken";
}

TEST_F(CheckpointWriting, LeavesNothingWhereAFileCannotBeCopied) {
  write("model.safetensors", fileOf({{"a", "F32", "[2]", "abcdefgh"}})), write("config.json", "{");
  wanted_ = {{"a", ""}};
  edits_.untied = true;
  const auto written = writeOut();
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("config.json cannot be used"), std::string::npos) << written.error().message;
  EXPECT_FALSE(std::filesystem::exists(out()));
  EXPECT_EQ(namesIn(root_).size(), 2U);
}

}  // namespace
}  // namespace normlens::formats::safetensors
