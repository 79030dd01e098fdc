// Files that LibTorch would read in another way than the checks before it do, and code that ends its parser: each is
// refused, and what models write is not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/archive/pickle_scan.h"
#include "core/formats/torchscript/file/archive_check.h"
#include "tests/formats/archive/small_archive.h"

namespace normlens::formats::torchscript {
namespace {

using namespace std::string_literals;
class LibTorchReaderTest : public ArchiveTest {};

std::vector<ZipEntry> with(std::vector<ZipEntry> entries, ZipEntry more) {
  entries.push_back(std::move(more));
  return entries;
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST_F(LibTorchReaderTest, NamesAreLookedUpWithoutCase) {
  const auto refused = [&](const std::string& name) { return refusal(buildZip(with(smallModel(), {.name = name}))); };
  EXPECT_TRUE(says(refused("m/DATA.PKL"), "'m/DATA.PKL' is there twice") ||
              says(refused("m/DATA.PKL"), "'m/data.pkl' is there twice"));
  EXPECT_TRUE(says(refused("m/CODE/__torch__/other.py"), "differs by case"));
  EXPECT_TRUE(says(refused("m/code/__torch__/other.PY"), "differs by case"));
  EXPECT_TRUE(says(refused("M/code/__torch__/other.py"), "differs by case"));
  EXPECT_TRUE(says(refused("m/Constants/0"), "differs by case"));
  EXPECT_EQ(refused("m/extra/Notes.TXT"), "");
  EXPECT_EQ(refused("other/DATA.PKL"), "");  // LibTorch never asks for it
}

TEST_F(LibTorchReaderTest, NamesEndAtAZeroByte) {
  const auto entries = with(smallModel(), {.name = std::string("m/data/0\0x", 10), .content = std::string(400, 'x')});
  EXPECT_TRUE(says(refusal(buildZip(entries)), "control character"));
}

TEST_F(LibTorchReaderTest, FoldersAreNotRead) {
  auto entries = smallModel();
  entries[0].attributes = 0x10;
  EXPECT_TRUE(says(refusal(buildZip(entries)), "'m/data/0' is a folder with content"));
}

TEST_F(LibTorchReaderTest, TheLastEndRecordCounts) {
  const std::string end("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\x7f", 22);  // its comment would be 32,767 bytes
  EXPECT_TRUE(says(refusal(buildZip(smallModel()) + end), "end record"));
}

TEST_F(LibTorchReaderTest, RecordsDoNotOverlap) {
  const std::string inner = buildZip({{.name = "m/data/1", .content = "x"}});
  auto entries = with(smallModel(), {.name = "m/data/1", .content = "x"});
  std::string zip = buildZip(entries);
  const size_t local = zip.find("m/data/1") - 30;
  // The directory places data/1 inside data/0, where such a header lies.
  entries[0].content = inner.substr(0, 39);
  zip = buildZip(entries);
  const size_t entry = zip.rfind("m/data/1") - 46;
  const size_t inside = zip.find(entries[0].content);
  for (int i = 0; i < 4; ++i) zip[entry + 42 + static_cast<size_t>(i)] = static_cast<char>(inside >> (8 * i) & 255);
  EXPECT_TRUE(says(refusal(zip), "reaches into the next one")) << refusal(zip) << local;
}

TEST_F(LibTorchReaderTest, OlderModelsAreNotLoadedUnchecked) {
  EXPECT_TRUE(says(refusal(buildZip(with(smallModel(), {.name = "m/model.json"}))), "PyTorch 1.3 or older"));
}

// Opcodes of pickles, put together.
std::string text(const std::string& s) {
  return "X" + std::string(1, static_cast<char>(s.size())) + std::string(3, '\0') + s;
}
std::string number(int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 255);
  return out;
}
std::string numbers(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += number(value);
  return out + "t";
}
std::string storage(int64_t elements, const std::string& type = "ctorch\nFloatStorage\n",
                    const std::string& device = "cpu") {
  return "(" + text("storage") + type + text("0") + text(device) + number(elements) + "tQ";
}
std::string tensor(const std::string& first, int64_t offset, const std::string& sizes, const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + first + number(offset) + sizes + strides + "\x89)tR";
}
std::string refusalOf(const std::string& body, PickleUse use = PickleUse::Load) {
  const auto scan = scanPickle("\x80\x02" + body + ".", use);
  return scan ? std::string() : scan.error().message;
}

TEST(LibTorchPickleTest, TensorsLieInTheirStorage) {
  const auto refused = [](int64_t offset, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    return refusalOf(tensor(storage(12), offset, numbers(sizes), numbers(strides)));
  };
  EXPECT_EQ(refused(0, {3, 4}, {4, 1}), "");
  EXPECT_EQ(refused(2, {10}, {1}), "");
  EXPECT_EQ(refused(99, {0, 4}, {4, 1}), "");
  constexpr int64_t kBig = int64_t{1} << 62;
  for (const auto& [offset, sizes, strides] :
       std::vector<std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>>>{{3, {10}, {1}},
                                                                                    {0, {255, 255}, {255, 1}},
                                                                                    {-1, {2}, {1}},
                                                                                    {0, {-2}, {1}},
                                                                                    {4, {2}, {-1}},
                                                                                    {0, {kBig, 4}, {4, 1}},
                                                                                    {kBig, {kBig}, {3}},
                                                                                    {0, {3, 4}, {4}}})
    EXPECT_TRUE(says(refused(offset, sizes, strides), "past the end of its storage '0'")) << offset << sizes[0];
  EXPECT_TRUE(says(refused(0, {1 << 20, 1 << 20}, {0, 0}), "beyond all measure"));
  EXPECT_TRUE(says(refused(0, {kBig, kBig}, {0, 0}), "beyond all measure"));
}

// What LibTorch takes for a number, a function or an argument stands in the scan as something else.
TEST(LibTorchPickleTest, NothingIsHiddenFromTheScan) {
  const std::string sizes = numbers({255, 255}), strides = numbers({255, 1}), cls = "c__torch__\nM\n";
  const std::string arguments = "(" + storage(12) + number(0) + sizes + strides + "\x89)t";
  // A function by its number, a class's number as a size, one written out as text, a list for a tuple.
  EXPECT_TRUE(says(refusalOf("ctorch._utils\n_rebuild_tensor_v2\nK\x00"s + arguments + "R"), "no function"));
  EXPECT_TRUE(says(refusalOf(tensor(storage(12), 0, "(" + cls + "t", numbers({1}))), "whole numbers"));
  EXPECT_TRUE(says(refusalOf(tensor(storage(12), 0, "(I255\ntt", numbers({1}))), "does not read"));
  EXPECT_TRUE(says(refusalOf(tensor(storage(12), 0, "](" + number(255) + "e", numbers({1}))), "whole numbers"));
  // By way of the memo or of BUILD, it is the same call.
  EXPECT_TRUE(says(refusalOf("ctorch._utils\n_rebuild_tensor_v2\nq\0"s + "h\0"s + arguments + "R"), "past the end"));
  EXPECT_TRUE(says(refusalOf("ctorch._utils\n_rebuild_tensor_v2\n" + arguments + "b"), "past the end"));
  // Other ways to a tensor.
  const std::string rebuilt = "ctorch._tensor\n_rebuild_from_type_v2\nctorch._utils\n_rebuild_tensor_v2\n" + cls;
  EXPECT_TRUE(says(refusalOf(rebuilt + arguments + "R"), "does not load"));
  EXPECT_TRUE(says(refusalOf("ctorch._utils\n_rebuild_sparse_tensor\n" + numbers({1}) + "R"), "does not load"));
  EXPECT_TRUE(says(refusalOf("ctorch.distributed.rpc\nrref\n" + numbers({1}) + "R"), "does not load"));
  // A storage's type by its number; a mark in the memo, which LibTorch keeps elsewhere; a huge memo.
  EXPECT_TRUE(says(refusalOf(storage(12, number(6))), "not described"));
  EXPECT_TRUE(says(refusalOf("K\x01(q\0t"s), "empty stack"));
  EXPECT_TRUE(says(refusalOf("Nr\xff\xff\xff\x7f"), "memo slot"));
  EXPECT_TRUE(says(refusalOf(storage(12, "ctorch\nFloatStorage\n", "meta")), "no values"));
}

TEST(LibTorchPickleTest, QuantisedChannelsHaveTheirScales) {
  const std::string scales = tensor(storage(12), 0, numbers({3}), numbers({1}));
  const auto quantised = [&](const std::string& parameters) {
    return refusalOf("ctorch._utils\n_rebuild_qtensor\n(" + storage(12, "ctorch\nQInt8Storage\n") + number(0) +
                     numbers({3, 4}) + numbers({4, 1}) + parameters + "\x89)tR");
  };
  const std::string each = "(ctorch\nper_channel_affine\n" + scales + scales;
  EXPECT_EQ(quantised(each + number(0) + "t"), "");
  EXPECT_EQ(quantised("(ctorch\nper_tensor_affine\nG\0\0\0\0\0\0\0\0K\0t"s), "");
  EXPECT_TRUE(says(quantised(each + number(1) + "t"), "do not fit its channels"));
  EXPECT_TRUE(says(quantised(each + number(2) + "t"), "do not fit its channels"));
  EXPECT_TRUE(says(quantised("(K\x02" + scales + scales + number(0) + "t"), "do not fit its channels"));
}

// LibTorch leaves nothing for an enum that has no such member: what lies below would be taken for it.
TEST(LibTorchPickleTest, EnumsMayLeaveNothing) {
  const std::string member = "c__torch__\nMode\nK\x07R";
  EXPECT_EQ(refusalOf("}(" + text("mode") + member + "u", PickleUse::LoadWithEnums), "");
  EXPECT_TRUE(says(refusalOf("K\x01" + member + "\x86", PickleUse::LoadWithEnums), "enum member"));
  EXPECT_EQ(refusalOf("K\x01" + member + "\x86"), "");
}

TEST(LibTorchPickleTest, TypesOfContainersAreParsed) {
  const auto tagged = [](int depth) {
    std::string type;
    for (int i = 0; i < depth; ++i) type += "List[";
    type += "int" + std::string(static_cast<size_t>(depth), ']');
    std::string out = "ctorch.jit._pickle\nrestore_type_tag\n(]X";
    for (int i = 0; i < 4; ++i) out += static_cast<char>(type.size() >> (8 * i) & 255);
    return refusalOf(out + type + "tR");
  };
  EXPECT_EQ(tagged(3), "");
  EXPECT_TRUE(says(tagged(600), "nested too deep"));
}

TEST_F(LibTorchReaderTest, EveryMentionOfAStorageIsChecked) {
  const auto model = [&](const std::string& pickle) {
    auto entries = smallModel();
    entries[0].content = std::string(1000, 'x');
    entries[1].content = "\x80\x02(" + pickle + "t.";
    return refusal(buildZip(entries));
  };
  EXPECT_EQ(model(storage(4) + storage(4)), "");
  EXPECT_TRUE(says(model(storage(4) + storage(400)), "expected 400 x 4"));
  EXPECT_TRUE(says(model(storage(4) + storage(200, "ctorch\nDoubleStorage\n")), "expected 200 x 8"));
  std::string often;
  for (int i = 0; i < 3000; ++i) often += storage(4);
  EXPECT_TRUE(says(model(often), "again and again"));
}

std::string times(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}
std::string blocks(int count, const std::string& head) {
  std::string out = "def f(b):\n";
  for (int i = 0; i < count; ++i) out += times(i + 1, " ") + head + "\n";
  return out + times(count + 1, " ") + "pass\n";
}
bool survives(const std::string& code) { return beyondLibTorchsParser(code) == nullptr; }
bool returns(const std::string& expression) { return survives("def f(b):\n  return " + expression + "\n"); }

TEST(ParserLimitsTest, DeepExpressions) {
  const auto each = [](int count) {
    return std::vector<std::string>{times(count, "not ") + "b",
                                    times(count, "1 + ") + "b",
                                    times(count, "-") + "b",
                                    "b" + times(count, ".T"),
                                    "b" + times(count, ".t()"),
                                    "b" + times(count, "[0]"),
                                    times(count, "b if b else ") + "b",
                                    times(count, "[") + "b" + times(count, "]"),
                                    times(count, "torch.neg(") + "b" + times(count, ")"),
                                    times(count, "{1: ") + "b" + times(count, "}"),
                                    times(count, "[i for i in ") + "b" + times(count, "]"),
                                    times(count, "b < \\\n") + "b",
                                    "(" + times(count, "b and\n") + "b)"};
  };
  for (const std::string& expression : each(60)) EXPECT_TRUE(returns(expression)) << expression;
  for (const std::string& expression : each(2000)) EXPECT_FALSE(returns(expression)) << expression.substr(0, 40);
  EXPECT_FALSE(survives("def f(x: " + times(2000, "List[") + "int" + times(2000, "]") + "):\n  pass\n"));
  EXPECT_FALSE(survives("def f(x):\n  # type: (" + times(2000, "List[") + "int" + times(2000, "]") + ") -> int\n"));
}

TEST(ParserLimitsTest, DeepBlocks) {
  for (const char* head : {"if b:", "while b:", "for i in b:", "def g():"}) {
    EXPECT_TRUE(survives(blocks(100, head))) << head;
    EXPECT_FALSE(survives(blocks(2000, head))) << head;
  }
  const auto branches = [](int count) { return "def f(b):\n if b:\n  pass\n" + times(count, " elif b:\n  pass\n"); };
  EXPECT_TRUE(survives(branches(200)));
  EXPECT_FALSE(survives(branches(2000)));
  EXPECT_TRUE(survives(times(100, branches(100))));
}

TEST(ParserLimitsTest, WhatIsLongIsNotDeep) {
  EXPECT_TRUE(returns("[" + times(20000, "-1.5, ") + "0]"));
  EXPECT_TRUE(returns("[" + times(20000, "torch.add(a.b, -c), ") + "0]"));
  EXPECT_TRUE(returns("\"" + times(5000, "[(-\\\"") + "\""));
  EXPECT_TRUE(returns("'''" + times(5000, "not [\n") + "'''"));
  EXPECT_TRUE(survives("def f(b):\n" + times(20000, "  b = b + 1  # ((((\n\n") + "  return b\n"));
}

// A string that does not end in its line is none for LibTorch, so what follows counts.
TEST(ParserLimitsTest, NothingHidesInAString) {
  EXPECT_FALSE(survives("def f(b):\n  x = '\n  return " + times(2000, "not ") + "'b\n"));
  EXPECT_FALSE(returns("'a\\\\' + " + times(2000, "-") + "b + ''"));
}

TEST(ParserLimitsTest, EmptySubscripts) {
  EXPECT_FALSE(returns("b[]"));
  EXPECT_FALSE(returns("b()[ \n]"));
  EXPECT_FALSE(survives("def f(b: List[]):\n  pass\n"));
  EXPECT_TRUE(returns("[]"));
  EXPECT_TRUE(returns("b in []"));
  EXPECT_TRUE(returns("annotate(List[int], [])"));
  EXPECT_TRUE(survives("def f(b: Tuple[]) -> Tuple[()]:\n  return ()\n"));
}

}  // namespace
}  // namespace normlens::formats::torchscript
