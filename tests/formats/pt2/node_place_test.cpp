#include "core/formats/pt2/file/node_place.h"

#include <gtest/gtest.h>

namespace normlens::formats::pt2 {
namespace {

Json node(const std::string& key, const std::string& text) {
  return {Json::Object{{"metadata", Json(Json::Object{{key, Json(text)}})}}};
}
std::string innermost(const std::string& stack) {
  const auto modules = moduleStack(node("nn_module_stack", stack));
  return modules.empty() ? "-" : modules.back().path + ":" + modules.back().className;
}

TEST(NodePlaceTest, ReadsModules) {
  EXPECT_EQ(innermost("L__self__,,m.Net;L__self___h,h.0.ln_1,torch.nn.LayerNorm"), "h.0.ln_1:LayerNorm");
  EXPECT_EQ(innermost("L__self__,,m.Net;123@1,_export_root.ln,torch.nn.LayerNorm"), "ln:LayerNorm");
  EXPECT_EQ(innermost("L__self__,,m.Net"), ":Net");
  EXPECT_EQ(innermost("_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,x"), "-");
  EXPECT_EQ(innermost("nothing of the kind"), "-");
  EXPECT_EQ(innermost("a,b..c,T"), "-");
  EXPECT_EQ(innermost("a," + std::string(5000, 'x') + ",T"), "-");
}

TEST(NodePlaceTest, ReadsTheInnermostLine) {
  const std::string trace =
      "  File \"outer.py\", line 3, in forward\n    f(x)\n  File \"lib/inner.py\", line 41, in f\n    y";
  const SourceLine line = sourceLine(node("stack_trace", trace));
  EXPECT_EQ(line.file, "lib/inner.py");
  EXPECT_EQ(line.line, 41);
  EXPECT_EQ(sourceLine(node("stack_trace", "File \"x.py\", line none")).line, 0);
  EXPECT_EQ(sourceLine(node("other", "File \"x.py\", line 3")).line, 0);
}

}  // namespace
}  // namespace normlens::formats::pt2
