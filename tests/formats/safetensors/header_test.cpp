// Headers of safetensors files, broken ones above all.
#include "core/formats/safetensors/header.h"

#include "tests/formats/safetensors/checkpoint_files.h"

namespace normlens::formats::safetensors {
namespace {

Result<Header> parse(const std::string& file) { return parseHeader(std::as_bytes(std::span(file))); }

std::string whyNot(const std::string& file) {
  const auto header = parse(file);
  return header ? "it was taken" : header.error().message;
}

TEST(SafetensorsHeader, HasTensorsInTheOrderOfTheirBytes) {
  const std::string text =
      R"({"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}  )";
  const auto header = parse(fileOf(text, std::string(12, 'x')));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->text, text);
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].begin, 8 + text.size());
  EXPECT_EQ(header->tensors[0].dtype, graph::DType::Float32);
  EXPECT_EQ(header->tensors[1].end, 8 + text.size() + 12);
  EXPECT_EQ(header->tensors[1].dtype, graph::DType::BFloat16);
}

TEST(SafetensorsHeader, TakesEmptyTensorsAndTypesThatItDoesNotComputeWith) {
  const auto header =
      parse(fileOf({{"e", "F32", "[0,3]", ""}, {"q", "F8_E4M3", "[3]", "abc"}, {"n", "Q5_9", "[7]", "abcd"}}));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors.back().dtype, graph::DType::Unknown);
}

TEST(SafetensorsHeader, RefusesWhatIsBroken) {
  struct Row {
    const char* name;
    std::string file, why;
  };
  const auto entry = [](const std::string& rest) { return R"({"a":{"dtype":"F32",)" + rest + "}}"; };
  const std::string four = "abcd", eight = "abcdefgh";
  const std::vector<Row> rows = {
      {"empty", "", "too short"},
      {"long header", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "larger than 100 MB"},
      {"cut off", fileOf("{}", "").substr(0, 9), "longer than the file"},
      {"no object", fileOf("[]", ""), "no JSON object"},
      {"no header", fileOf(std::string(), ""), "no JSON object"},
      {"deep", fileOf("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}", ""), "deep"},
      {"twice", fileOf(R"({"a":1,"a":2})", ""), "twice"},
      {"no UTF-8", fileOf("{\"\xff\":1}", ""), "UTF-8"},
      {"beyond the file", fileOf(entry(R"("shape":[2],"data_offsets":[0,8])"), four), "beyond the end"},
      {"backwards", fileOf(entry(R"("shape":[1],"data_offsets":[4,0])"), four), "beyond the end"},
      {"too few bytes", fileOf(entry(R"("shape":[2],"data_offsets":[0,4])"), four), "not what its shape"},
      {"size NaN", fileOf(entry(R"("shape":[NaN],"data_offsets":[0,4])"), four), ""},
      {"size 1.5", fileOf(entry(R"("shape":[1.5],"data_offsets":[0,4])"), four), ""},
      {"size negative", fileOf(entry(R"("shape":[-1],"data_offsets":[0,4])"), four), "negative"},
      {"size beyond 64 bits", fileOf(entry(R"("shape":[99999999999999999999],"data_offsets":[0,4])"), four), ""},
      {"sizes overflow", fileOf(entry(R"("shape":[4294967296,4294967296],"data_offsets":[0,0])"), ""),
       "beyond all sizes"},
      {"bytes overflow", fileOf(entry(R"("shape":[4611686018427387904],"data_offsets":[0,0])"), ""),
       "beyond all sizes"},
      {"offset NaN", fileOf(entry(R"("shape":[1],"data_offsets":[NaN,4])"), four), ""},
      {"one offset", fileOf(entry(R"("shape":[1],"data_offsets":[4])"), four), "not two"},
      {"no type", fileOf(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", four), "dtype"},
      {"metadata", fileOf(R"({"__metadata__":{"a":1}})", ""), "metadata"},
      {"bytes of nobody", fileOf(entry(R"("shape":[1],"data_offsets":[0,4])"), eight), "belong to no tensor"},
      {"a hole", fileOf(entry(R"("shape":[1],"data_offsets":[4,8])"), eight), "belong to no tensor"},
      {"overlap",
       fileOf(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           eight),
       "overlap"},
  };
  for (const Row& row : rows) {
    const std::string why = whyNot(row.file);
    EXPECT_NE(why, "it was taken") << row.name;
    EXPECT_NE(why.find(row.why), std::string::npos) << row.name << ": " << why;
  }
}

TEST(SafetensorsHeader, AddsATensorBehindTheOthers) {
  const std::string file = fileOf({{"wte", "F32", "[1,2]", "abcdefgh"}});
  const auto header = parse(file);
  ASSERT_TRUE(header);
  const Header more = withTensor(*header, file.size(), header->tensors[0], "lm_head.\"x\"");
  EXPECT_TRUE(more.text.starts_with(header->text.substr(0, header->text.size() - 1)));
  EXPECT_EQ(more.dataBegin % 8, 0U);
  const auto again = parse(headerBytes(more) + "abcdefghABCDEFGH");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->tensors.back().name, "lm_head.\"x\"");
  EXPECT_EQ(again->tensors.back().begin, more.tensors.back().begin);
  EXPECT_EQ(again->tensors.back().shape, (graph::Shape{1, 2}));
}

}  // namespace
}  // namespace normlens::formats::safetensors
