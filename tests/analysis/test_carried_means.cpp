// Streams that keep their mean beside them, for who reads them as they are: what folds then, and whether the outputs
// stay as they are.
#include "core/analysis/plan/carried_means.h"

#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

// A tower of pre-norm blocks over `first`, which makes %h0: [2, 5, 8] of %x; each block has its two linears' weights.
// forms, in turn: what makes %m, which is added to the stream, of %a of this block. `rest` follows.
std::string tower(const std::string& first, int blocks, const std::vector<std::string>& forms,
                  const std::string& rest) {
  std::string constants, nodes;
  for (int i = 0; i < blocks; ++i) {
    const std::string b = std::to_string(i), seed = std::to_string(10 * i + 20);
    constants += "const %g" + b + ": float64[8] random " + seed + "1\nconst %s" + b + ": float64[8] random " + seed +
                 "2\nconst %u" + b + ": float64[12, 8] random " + seed + "3\nconst %c" + b + ": float64[12] random " +
                 seed + "4\nconst %w" + b + ": float64[8, 12] random " + seed + "5\nconst %v" + b +
                 ": float64[12, 8] random " + seed + "6\nconst %d" + b + ": float64[8] random " + seed + "7\n";
    std::string added = forms[static_cast<size_t>(i) % forms.size()];
    for (size_t at = added.find('#'); at != std::string::npos; at = added.find('#', at)) added.replace(at, 1, b);
    nodes += "%n" + b + ": float64[2, 5, 8] = LayerNorm(%h" + b + ", %g" + b + ", %s" + b +
             ") {axes = [2], eps = 1e-05}\n%t" + b + ": float64[2, 5, 12] = Linear(%n" + b + ", %u" + b + ", %c" + b +
             ")\n%a" + b + ": float64[2, 5, 12] = Elementwise(%t" + b + ") function Relu\n" + added + "\n%h" +
             std::to_string(i + 1) + ": float64[2, 5, 8] = Add(%h" + b + ", %m" + b + ")\n";
  }
  return "graph {\ninput %x: float64[2, 5, 8]\nconst %g: float64[8] random 3\nconst %beta: float64[8] random 4\n"
         "const %k: float64[8, 6] random 5\n" +
         constants + first + "\n" + nodes + rest + "\n}";
}

constexpr const char* kNorm = "%h0: float64[2, 5, 8] = LayerNorm(%x, %g, %beta) {axes = [2], eps = 1e-05}";
constexpr const char* kLinear = "%m#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)";

struct Carried {
  size_t without = 0, folded = 0;  // norms
  std::vector<fold::RestoreMean> means;
};

Carried carried(const std::string& text, Policy policy = Policy::Balanced) {
  const Analyzed model(text);
  Carried out;
  PlanOptions options = optionsOf(policy, 1e9);
  out.without = makePlan(*model, options).folded.size();
  options.carryMeans = true;
  const Plan plan = makePlan(*model, options);
  out.folded = plan.folded.size();
  for (const PlannedEdit& planned : plan.edits) {
    if (const auto* mean = std::get_if<fold::RestoreMean>(&planned.edit)) out.means.push_back(*mean);
  }
  EXPECT_LT(model.difference(plan), 1e-12) << text;
  return out;
}

TEST(CarriedMeans, foldTheNormsOfAStreamThatIsAnOutput) {
  for (const std::string& form :
       {std::string(kLinear),
        std::string("%p#: float64[2, 5, 8] = MatMul(%a#, %v#)\n%m#: float64[2, 5, 8] = Add(%d#, %p#)"),
        std::string("%y#: float64[10, 12] = Reshape(%a#)\n%p#: float64[10, 8] = AddMatMul(%d#, %y#, %v#)\n%m#: "
                    "float64[2, 5, 8] = Reshape(%p#)"),
        std::string(
            "%q#: float64[8, 12] = Permute(%v#) {perm = [1, 0]}\n%m#: float64[2, 5, 8] = Linear(%a#, %q#, _)")}) {
    const Carried tower4 = carried(tower(kNorm, 4, {form}, "return %h4"));
    EXPECT_EQ(tower4.without, 0U) << form;
    EXPECT_EQ(tower4.folded, 4U) << form;
    ASSERT_EQ(tower4.means.size(), 1U) << form;
    EXPECT_EQ(tower4.means[0].linears.size(), 3U);  // no norm reads what the last one adds
    EXPECT_EQ(tower4.means[0].values.size(), 1U);
  }
}

TEST(CarriedMeans, ofHiddenStatesGoOnFromOneAnother) {
  const Carried tower9 = carried(tower(kNorm, 9, {kLinear}, "return %h0, %h3, %h6, %h9"));
  EXPECT_EQ(tower9.folded, 9U);
  ASSERT_EQ(tower9.means.size(), 3U);  // %h0 is as it was
  for (const size_t i : {0U, 1U, 2U}) EXPECT_EQ(tower9.means[i].linears.size(), i == 2 ? 2U : 3U);
  EXPECT_TRUE(tower9.means[0].earlier.empty());
  EXPECT_EQ(tower9.means[1].earlier, (std::vector{tower9.means[0].value}));
  EXPECT_EQ(tower9.means[2].earlier, (std::vector{tower9.means[1].value}));
}

TEST(CarriedMeans, areGivenBackToLayersWithoutANorm) {
  const Carried read = carried(tower(kNorm, 4, {kLinear},
                                     "%e: float64[2, 8] = Select(%h4) {axis = 1, index = 0}\n%f: float64[2, 6] = "
                                     "MatMul(%e, %k)\n%z: float64[2, 5, 6] = MatMul(%h4, %k)\nreturn %f, %z"));
  EXPECT_EQ(read.folded, 4U);
  ASSERT_EQ(read.means.size(), 1U);
  EXPECT_EQ(read.means[0].uses.size(), 2U);
}

TEST(CarriedMeans, beginAtRunTimeWhereNoLinearMakesTheStream) {
  for (const std::string& first :
       {std::string("%o: float64[2, 5, 8] = Elementwise(%x) function Relu\n%h0: float64[2, 5, 8] = Add(%o, %beta)"),
        std::string("%o: float64[2, 2, 8] = Slice(%x) {axis = 1, start = 0, end = 2, step = 1}\n%l: float64[2, 3, 8] = "
                    "Slice(%x) {axis = 1, start = 2, end = 5, step = 1}\n%h0: float64[2, 5, 8] = Concat(%l, %o) {axis "
                    "= 1}")}) {
    const Carried begun = carried(tower(first, 4, {kLinear}, "return %h4"));
    EXPECT_EQ(begun.folded, 4U) << first;
    EXPECT_EQ(begun.means.size(), 1U) << first;
  }
}

TEST(CarriedMeans, areNotCarriedWhereTheyCostMoreThanTheySave) {
  EXPECT_TRUE(carried(tower(kNorm, 1, {kLinear}, "return %h1")).means.empty());
  EXPECT_TRUE(carried(tower(kNorm, 4, {kLinear}, "return %h1, %h2, %h3, %h4")).means.empty());
  EXPECT_TRUE(carried(tower(kNorm, 4, {kLinear}, "return %h4"), Policy::Free).means.empty());
}

// Towers of all kinds of sums and readers.
TEST(CarriedMeans, keepTheOutputsOfRandomTowers) {
  const std::vector<std::string> sums{
      kLinear,
      kLinear,
      kLinear,
      "%p#: float64[2, 5, 8] = MatMul(%a#, %v#)\n%m#: float64[2, 5, 8] = Add(%p#, %d#)",
      "%m#: float64[2, 5, 8] = MatMul(%a#, %v#)",
      "%q#: float64[8, 12] = Permute(%v#) {perm = [1, 0]}\n%m#: float64[2, 5, 8] = Linear(%a#, %q#, %d#)",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Identity(%p#)",
      "%y#: float64[10, 12] = Reshape(%a#)\n%p#: float64[10, 8] = AddMatMul(%d#, %y#, %v#)\n%m#: float64[2, 5, 8] = "
      "Reshape(%p#)",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Elementwise(%p#) function Relu",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Mul(%p#, %s#)",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Mul(%p#, 0.5)",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Sub(%p#, %s#)",
      "%p#: float64[2, 5, 1] = Reduce(%a#) {op = \"mean\", axes = [2], keepdim = true}\n%q#: float64[2, 5, 8] = "
      "Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Add(%q#, %p#)",
      "%p#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Add(%p#, %p#)"};
  // What reads %h# and is returned as %r#.
  const std::vector<std::string> reads{
      "%r#: float64[2, 5, 8] = Identity(%h#)",
      "%r#: float64[2, 8] = Select(%h#) {axis = 1, index = 0}",
      "%r#: float64[2, 5, 6] = MatMul(%h#, %k)",
      "%r#: float64[2, 5, 8] = LayerNorm(%h#, _, _) {axes = [1, 2], eps = 1e-05}",
      "%r#: float64[2, 5, 8] = Elementwise(%h#) function Relu",
      "%r#: float64[2, 5, 1] = Reduce(%h#) {op = \"mean\", axes = [2], keepdim = true}",
      "%i#: float64[2, 5, 1] = Reduce(%h#) {op = \"mean\", axes = [2], keepdim = true}\n%r#: float64[2, 5, 8] = "
      "Sub(%h#, %i#)",
      "%i#: float64[2, 5, 8] = Concat(%h#, %x) {axis = 0}\n%r#: float64[2, 5, 8] = LayerNorm(%i#, _, _) {axes = [2], "
      "eps = 1e-05}",
      "%i#: float64[2, 3, 8] = Slice(%h#) {axis = 1, start = 1, end = 4, step = 1}\n%r#: float64[2, 3, 8] = "
      "LayerNorm(%i#, %g, _) {axes = [2], eps = 1e-05}"};
  size_t means = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const int blocks = 4 + static_cast<int>(random() % 6);
    std::vector<std::string> forms;
    for (int i = 0; i < blocks; ++i) forms.push_back(sums[random() % sums.size()]);
    std::string rest, returned = "%h" + std::to_string(blocks);
    for (int i = 1; i <= blocks; ++i) {
      if (random() % 5 > 0) continue;
      std::string read = reads[random() % reads.size()];
      if (read.find("Concat") != std::string::npos) read.replace(read.find("[2, 5, 8]"), 9, "[4, 5, 8]");
      if (const size_t at = read.find("LayerNorm(%i#, _"); at != std::string::npos)
        read.replace(read.rfind("[2, 5, 8]"), 9, "[4, 5, 8]");
      const std::string number = std::to_string(i);
      for (size_t at = read.find('#'); at != std::string::npos; at = read.find('#', at)) read.replace(at, 1, number);
      rest += read + "\n";
      returned += ", %r" + number;
    }
    const std::string text = tower(kNorm, blocks, forms, rest + "return " + returned);
    for (const Policy policy : {Policy::Balanced, Policy::All}) {
      const Carried found = carried(text, policy);
      EXPECT_GE(found.folded, found.without) << text;
      means += found.means.size();
    }
  }
  EXPECT_GT(means, 30U);
}

TEST(CarriedMeans, areLeftAloneWhereNothingIsAdded) {
  // Every norm folds already.
  const Carried free = carried(tower(kNorm, 4, {kLinear},
                                     "%y: float64[2, 5, 8] = LayerNorm(%h4, %g, %beta) {axes = [2], "
                                     "eps = 1e-05}\nreturn %y"));
  EXPECT_EQ(free.folded, free.without);
  EXPECT_TRUE(free.means.empty());
  // What is added is no linear: each would be centered at run time, which costs what it saves.
  const Carried rectified =
      carried(tower(kNorm, 4,
                    {"%r#: float64[2, 5, 8] = Linear(%a#, %w#, %d#)\n%m#: float64[2, 5, 8] = Elementwise(%r#) function "
                     "Relu"},
                    "return %h4"));
  EXPECT_EQ(rectified.folded, rectified.without);
}

}  // namespace
}  // namespace normlens::analysis
