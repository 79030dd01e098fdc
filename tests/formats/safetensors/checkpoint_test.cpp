// Folders with safetensors: one file, or several with an index.
#include "tests/formats/safetensors/checkpoint_files.h"

namespace normlens::formats::safetensors {
namespace {

const std::vector<Held> kOne = {{"a", "F32", "[1]", "abcd"}};
const std::vector<Held> kTwo = {{"b", "F32", "[1]", "efgh"}};

class CheckpointFolder : public CheckpointTest {
 protected:
  void expectRefused(const std::string& why) const {
    const auto opened = open();
    ASSERT_FALSE(opened) << why;
    EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().message;
  }
  void index(const std::string& map) const {
    write("model.safetensors.index.json", R"({"metadata":{"total_size":8},"weight_map":)" + map + "}");
  }
};

TEST_F(CheckpointFolder, KnowsWeightsFromWhatLiesBesideThem) {
  write("model.safetensors", fileOf(kOne));
  write("config.json", "{}"), write("1_Pooling/config.json", "{}"), write("pytorch_model.bin", "old"),
      write("onnx/model.onnx", "old");
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->shards.size(), 1U);
  EXPECT_EQ(opened->others, (std::vector<std::string>{"1_Pooling/config.json", "config.json"}));
  EXPECT_EQ(opened->left, (std::vector<std::string>{"onnx/model.onnx", "pytorch_model.bin"}));
}

TEST_F(CheckpointFolder, OpensAShardedSet) {
  write("model-1.safetensors", fileOf(kOne)), write("model-2.safetensors", fileOf(kTwo));
  index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->places().size(), 2U);
  ASSERT_TRUE(opened->find("b"));
  EXPECT_EQ(opened->shards[opened->find("b")->shard].name, "model-2.safetensors");
}

TEST_F(CheckpointFolder, RefusesSetsThatAreNotWhole) {
  expectRefused("no safetensors file");
  write("model-1.safetensors", fileOf(kOne)), write("model-2.safetensors", fileOf(kOne));
  expectRefused("several sets");
  index(R"({"a":"model-1.safetensors","b":"..\u0000\u001b/m"})");
  expectRefused(
      "names a file outside of the folder: '..?"
      "?/m'");
  index(R"({"a":"model-1.safetensors","b":"model-3.safetensors"})");
  expectRefused("'model-3.safetensors', which it names, is missing");
  index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  expectRefused("'b', which the index has there, is not in it");
  index(R"({"a":"model-1.safetensors"})");
  expectRefused("does not name");
  index(R"({"a":"model-1.safetensors","a":"model-2.safetensors"})");
  expectRefused("twice");
  write("model-2.safetensors", fileOf({kTwo[0], kOne[0]}));
  index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  expectRefused("is in another file as well");
  write("model-2.safetensors", "broken");
  expectRefused("model-2.safetensors cannot be used: it is too short");
}

TEST_F(CheckpointFolder, RefusesAnIndexThatLeadsOut) {
  write("model-1.safetensors", fileOf(kOne));
  for (const char* name : {"../model-1.safetensors", "/etc/x.safetensors", "a\\\\b.safetensors", ".."}) {
    index(R"({"a":")" + std::string(name) + "\"}");
    expectRefused("outside of the folder");
  }
  index(R"({"a":7})");
  expectRefused("cannot be used");
  index("{}");
  expectRefused("names no file");
  index(R"({"a":"model-1.bin"})");
  expectRefused("no safetensors file");
}

}  // namespace
}  // namespace normlens::formats::safetensors
