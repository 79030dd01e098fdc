// What results are called: trees as torch.utils._pytree.treespec_dumps writes them.
#include <gtest/gtest.h>

#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {
namespace {

using Names = std::vector<std::string>;

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string inner(const std::string& type, const std::string& context, const std::vector<std::string>& children) {
  std::string all;
  for (const std::string& child : children) all += (all.empty() ? "" : ", ") + child;
  return R"({"type": ")" + type + R"(", "context": )" + Json(context).dump() + R"(, "children_spec": [)" + all + "]}";
}
std::string dict(const std::string& keys, const std::vector<std::string>& children) {
  return inner("builtins.dict", keys, children);
}
std::string tuple(const std::vector<std::string>& children) { return inner("builtins.tuple", "null", children); }

Names namesOf(const std::string& tree, const std::string& namedTuples = "{}") {
  const std::string spec = Json("[1, " + tree + "]").dump();
  const auto module =
      parseJson(R"({"module_call_graph": [{"fqn": "fc", "signature": null}, {"fqn": "", "signature": {"out_spec": )" +
                spec + R"(}}], "treespec_namedtuple_fields": )" + namedTuples + "}");
  EXPECT_TRUE(module);
  return outputNames(*module);
}

TEST(OutputNames, AreKeysAndFields) {
  EXPECT_EQ(namesOf(dict(R"(["logits", "loss"])", {kLeaf, kLeaf})), (Names{"logits", "loss"}));
  EXPECT_EQ(namesOf(inner("Output", R"([["logits", "hidden"], ["loss"]])", {kLeaf, tuple({kLeaf, kLeaf})})),
            (Names{"logits", "hidden.0", "hidden.1"}));
  EXPECT_EQ(
      namesOf(inner("collections.namedtuple", "Pair", {kLeaf, kLeaf}), R"({"Pair": {"field_names": ["one", "two"]}})"),
      (Names{"one", "two"}));
}

TEST(OutputNames, OfWhatIsOnlyCountedThereAreNone) {
  EXPECT_EQ(namesOf(kLeaf), (Names{""}));
  EXPECT_EQ(namesOf(tuple({kLeaf, dict(R"(["k"])", {kLeaf})})), (Names{"", "1.k"}));
  EXPECT_EQ(namesOf(inner("collections.namedtuple", "Pair", {kLeaf, kLeaf})), (Names{"", ""}));
}

TEST(OutputNames, WhatCannotBeReadNamesNothing) {
  EXPECT_EQ(namesOf(dict(R"(["logits"])", {kLeaf, kLeaf})), (Names{"", ""}));
  EXPECT_EQ(namesOf(dict("[1, 2]", {kLeaf, kLeaf})), (Names{"", ""}));
  EXPECT_EQ(namesOf(dict("no JSON", {kLeaf})), (Names{""}));
  EXPECT_EQ(namesOf(dict(R"(["a\nb"])", {kLeaf})), (Names{"a?b"}));
  EXPECT_EQ(namesOf(dict("[\"" + std::string(300, 'a') + "\"]", {kLeaf})), (Names{""}));
  EXPECT_EQ(namesOf(R"({"type": 3})"), Names{});
  EXPECT_EQ(outputNames(*parseJson(R"({"module_call_graph": []})")), Names{});
  EXPECT_EQ(outputNames(*parseJson("{}")), Names{});
}

}  // namespace
}  // namespace normlens::formats::pt2
