// Messages as JSON and back, every field of each, and the groups of inputs that they name.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/protocol/input_groups.h"
#include "core/protocol/json.h"
#include "tests/protocol/all_messages.h"
#include "tests/support/must.h"

namespace normlens::protocol {
namespace {

using nlohmann::json;

// Gives every field of a message, at any depth, a value of its own that is not the default.
class Filler {
 public:
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): one of many
  void fill(bool& value) { value = !value; }
  void fill(int& value) { value = next(); }
  void fill(int64_t& value) { value = (int64_t{1} << 40) + next(); }
  void fill(double& value) { value = next() + 0.125; }
  void fill(std::string& value) { value = "text \"" + std::to_string(next()) + "\" \n µ"; }
  template <Named E>
  void fill(E& value) {
    value = static_cast<E>(namesOf(E{}).size() - 1);
  }
  void fill(IndexRanges& value) {
    const int first = next();
    value.append({first, first + 3});
    value.append({first + 7, first + 7});
  }
  template <class T>
  void fill(std::vector<T>& value) {
    value.resize(2);
    for (T& element : value) fill(element);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <class A, class B>
  void fill(std::pair<A, B>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <Message T>
  void fill(T& message) {
    visitFields(message, [&](std::string_view, auto& field) { fill(field); });
  }

 private:
  int next() { return ++count_; }
  int count_ = 100;
};

// How many members an aggregate has: as many as its braces take.
struct Anything {
  template <class T>
  operator T() const;  // never called
};
template <class T, class... Args>
constexpr size_t memberCount() {
  if constexpr (requires { T{Args{}..., Anything{}}; }) {
    return memberCount<T, Args..., Anything>();
  } else {
    return sizeof...(Args);
  }
}

template <class T>
class EachMessage : public ::testing::Test {};
TYPED_TEST_SUITE(EachMessage, AllMessages);

TYPED_TEST(EachMessage, ListsEveryMember) {
  EXPECT_EQ(std::tuple_size_v<decltype(FieldsOf<TypeParam>::list)>, memberCount<TypeParam>());
}

TYPED_TEST(EachMessage, RoundTripsThroughText) {
  TypeParam message;
  Filler().fill(message);
  const std::string text = dumpJson(toJson(message));
  const auto decoded = must(decode<TypeParam>(json::parse(text)));
  EXPECT_EQ(dumpJson(toJson(decoded)), text);
  visitFields(message,
              [&](std::string_view name, const auto&) { EXPECT_TRUE(toJson(message).contains(name)) << name; });
}

TYPED_TEST(EachMessage, MissingFieldsTakeTheDefaults) {
  const auto decoded = must(decode<TypeParam>(json::object()));
  EXPECT_EQ(toJson(decoded), toJson(TypeParam{}));
}

TYPED_TEST(EachMessage, EveryFieldOfTheWrongTypeIsNamed) {
  TypeParam message;
  visitFields(message, [&](std::string_view name, const auto& field) {
    json object = json::object();
    const bool takesObject = Message<std::remove_cvref_t<decltype(field)>>;
    object[std::string(name)] = takesObject ? json(3.5) : json::object({{"x", 1}});
    const auto decoded = decode<TypeParam>(object);
    if constexpr (requires { requires Message<typename std::remove_cvref_t<decltype(field)>::value_type>; }) {
      if (decoded) return;  // an optional message may be an object
    }
    ASSERT_FALSE(decoded) << name;
    EXPECT_EQ(decoded.error().message.find(name), 0U) << decoded.error().message;
    EXPECT_EQ(decoded.error().code, ErrorCode::BadInput);
  });
}

TYPED_TEST(EachMessage, IsAnObject) {
  for (const json& wrong : {json(1), json("x"), json(nullptr), json::array()}) {
    EXPECT_EQ(failureOf(decode<TypeParam>(wrong)).message, "the message must be an object");
  }
}

TEST(Json, ErrorsNameThePath) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {R"({"values":[{},{"shape":[1,"x"]}]})", "values[1].shape[1] must be a whole number"},
      {R"({"norms":[{"gamma_min":"low"}]})", "norms[0].gamma_min must be a number"},
      {R"({"totals":{"free":1e300}})", "totals.free must be a whole number"},
      {R"({"totals":{"free":3000000000}})", "totals.free must lie between -2147483648 and 2147483647"},
      {R"({"totals":{"free":1.0}})", "totals.free must be a whole number"},
      {R"({"norms":7})", "norms must be a list"},
      {R"({"norms":[{"has_beta":1}]})", "norms[0].has_beta must be true or false"},
      {R"({"probe_error":null})", "probe_error must be a text"},
      {R"({"norms":[{"verdict":"maybe"}]})",
       "norms[0].verdict is \"maybe\", and must be one of free, with_centering, blocked, unknown"},
      {R"({"advice":{"key":"x"}})",
       "advice.key is \"x\", and must be one of none, inputs, time_limit, time_or_inputs, memory_limit, model, force, "
       "anew, portable_norm"},
  };
  for (const Row& row : rows) {
    const auto decoded = decode<Analysis>(json::parse(row.text));
    ASSERT_FALSE(decoded) << row.text;
    EXPECT_EQ(decoded.error().message, row.message);
  }
  EXPECT_EQ(failureOf(decode<GraphNode>(json::parse(R"({"attributes":[["axis","2"],["eps"]]})"))).message,
            "attributes[1] must be a list of 2");
}

TEST(Json, NumbersThatJsonCannotSay) {
  LatencyStats stats;
  stats.median_ms = std::numeric_limits<double>::infinity();
  stats.mean_ms = -std::numeric_limits<double>::infinity();
  stats.p5_ms = std::numeric_limits<double>::quiet_NaN();
  const json object = toJson(stats);
  EXPECT_EQ(object["median_ms"], "inf");
  EXPECT_EQ(object["mean_ms"], "-inf");
  EXPECT_EQ(object["p5_ms"], "nan");
  const auto decoded = must(decode<LatencyStats>(object));
  EXPECT_EQ(decoded.median_ms, stats.median_ms);
  EXPECT_EQ(decoded.mean_ms, stats.mean_ms);
  EXPECT_TRUE(std::isnan(decoded.p5_ms));
}

TEST(Json, NumbersKeepEveryBit) {
  ErrorPair pair{.max_abs = 0.1 + 0.2, .max_rel = std::numeric_limits<double>::denorm_min()};
  const auto decoded = must(decode<ErrorPair>(json::parse(dumpJson(toJson(pair)))));
  EXPECT_EQ(decoded.max_abs, pair.max_abs);
  EXPECT_EQ(decoded.max_rel, pair.max_rel);
}

TEST(Json, OptionalIsNullOrValue) {
  VerifyResult result;
  EXPECT_TRUE(toJson(result)["exact"].is_null());
  result.exact = false;
  EXPECT_EQ(toJson(result)["exact"], false);
  EXPECT_EQ(decode<VerifyResult>(json::parse(R"({"exact":null})"))->exact, std::nullopt);
  EXPECT_EQ(decode<VerifyResult>(json::parse(R"({"exact":true})"))->exact, true);
  EXPECT_FALSE(decode<FoldResult>(json::object())->verify.has_value());
}

TEST(Json, UnknownFieldsAreIgnored) {
  EXPECT_TRUE(decode<NormParams>(json::parse(R"({"norm":3,"from_the_future":[1,2]})")));
}

TEST(Json, TextThatIsNotUtf8DoesNotThrow) {
  GraphScope scope;
  scope.name = "bad\xff\xfe name";
  EXPECT_NE(dumpJson(toJson(scope)).find("bad\xEF\xBF\xBD"), std::string::npos);
}

TEST(Json, ADocumentBeyondItsLimitsIsRefusedUnparsed) {
  struct Row {
    std::string text, problem;  // no problem: it is within them
  };
  const std::vector<Row> rows = {
      {"[[[1]]]", ""},
      {"[[[[1]]]]", "is nested more than 3 deep"},
      {R"({"a":{"b":{"c":{}}}})", "is nested more than 3 deep"},
      {R"(["[[[[[[", "{\"{{{{{", "]]\\"])", ""},  // brackets in texts, behind escaped quotes too
      {R"(["\\", [[[1]]]])", "is nested more than 3 deep"},
      {"[1,2,3,4,5,6,7]", ""},
      {"[1,2,3,4,5,6,7,8,9]", "holds more than 8 values"},
      {R"(["1234567890"])", ""},
      {R"(["12345678901234567"])", "holds a text of more than 16 bytes"},
      {R"(["no end)", "is not JSON"},
      {"[[[[[[[[[", "is nested more than 3 deep"},
      {"]]]]][", "is not JSON"},
      {"[1e999]", "is not JSON"},
      {"", "is not JSON"},
  };
  for (const Row& row : rows) {
    const auto read = parseJson(row.text, {.depth = 3, .values = 8, .textBytes = 16});
    EXPECT_EQ(read ? std::string() : read.error().message, row.problem) << row.text;
  }
}

TEST(Json, RangesMustAscend) {
  const auto good = must(decode<EditInfo>(json::parse(R"({"frees": [[0, 3], [5, 5]]})")));
  EXPECT_EQ(good.frees.indices(), (std::vector{0, 1, 2, 3, 5}));
  for (const char* bad : {"[[3, 0]]", "[[0, 3], [2, 5]]", "[[-1, 2]]", "[[0, 3, 4]]", "[7]"}) {
    const auto refused = decode<EditInfo>(json::parse(std::string("{\"frees\": ") + bad + "}"));
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().message.find("frees[0]") != std::string::npos,
              refused.error().message.find("frees[1]") != std::string::npos)
        << refused.error().message;
  }
}

InputSpec input(const std::string& name, std::vector<int64_t> shape, const std::string& assumed = "which runs") {
  InputSpec spec;
  spec.name = name;
  spec.dtype = "float32";
  spec.shape = std::move(shape);
  spec.assumed = assumed;
  return spec;
}

std::vector<std::string> namesOf(const std::vector<InputSpec>& inputs) {
  std::vector<std::string> names;
  for (const InputGroup& group : inputGroups(inputs)) names.push_back(group.names);
  return names;
}

using Names = std::vector<std::string>;

TEST(InputGroups, ArraysOfOneContainerStandTogetherWhereTheyAreAlike) {
  EXPECT_EQ(namesOf({input("x", {2}), input("past.0.0", {3}), input("past.0.1", {3}), input("past.1.0", {3})}),
            (Names{"x", "past.0.0 to past.1.0"}));
  EXPECT_EQ(namesOf({input("past.0", {3}), input("past.1", {4}), input("past.2", {4})}),
            (Names{"past.0", "past.1 to past.2"}));
}

TEST(InputGroups, OthersStandAlone) {
  EXPECT_EQ(namesOf({input("a", {2}), input("b", {2})}), (Names{"a", "b"}));
  EXPECT_EQ(namesOf({input("a.0", {2}), input("b.0", {2})}), (Names{"a.0", "b.0"}));
  EXPECT_EQ(namesOf({input("a.0", {2}), input("a.1", {2}, "another reason")}), (Names{"a.0", "a.1"}));
}

}  // namespace
}  // namespace normlens::protocol
