// LayerNorms whose means are products with constants: matrix products and einsums with 1/n.
#include <gtest/gtest.h>

#include "tests/analysis/found_norms.h"

namespace normlens::analysis {
namespace {

struct Products {
  std::string mean = "%m: float64[2, 5, 1] = MatMul(%h, %column)";
  std::string variance = "%v: float64[2, 5, 1] = MatMul(%cc, %column)";

  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %o: float64[3, 8] random 5
  const %column: float64[8, 1] values <.125 .125 .125 .125 .125 .125 .125 .125>
  const %uneven: float64[8, 1] values <.125 .125 .125 .125 .125 .125 .25 0>
  const %sevenths: float64[8, 1] values <.14 .14 .14 .14 .14 .14 .14 .14>
  const %vector: float64[8] values <.125 .125 .125 .125 .125 .125 .125 .125>
  const %ones: float64[2, 8] values <1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1>
  %h: float64[2, 5, 8] = Linear(%x, %w, %wb)
  )" + mean +
           R"(
  %c: float64[2, 5, 8] = Sub(%h, %m)
  %cc: float64[2, 5, 8] = Mul(%c, %c)
  )" + variance +
           R"(
  %e: float64[2, 5, 1] = Add(%v, 1e-03)
  %r: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
  %y: float64[2, 5, 8] = Div(%c, %r)
  %z: float64[2, 5, 3] = Linear(%y, %o)
  return %z
})";
  }
};

TEST(MeansAsProducts, AreMeans) {
  expectFolded(Products().text());
  Products einsum;
  einsum.mean = R"(%mf: float64[2, 5] = Einsum(%h, %vector) {equation = "abc,c->ab"}
  %m: float64[2, 5, 1] = Reshape(%mf) {ones = [2]})";
  expectFolded(einsum.text());
  Products sum;
  sum.mean = R"(%mt: float64[2, 5, 2] = Linear(%h, %ones)
  %mh: float64[2, 5, 1] = Slice(%mt) {axis = 2, start = 0, step = 1}
  %m: float64[2, 5, 1] = Div(%mh, 8))";
  EXPECT_EQ(found(sum.text()).norms, 0U) << "a part of a value that repeats";
  for (const char* weight : {"%uneven", "%sevenths"}) {
    for (std::string Products::*part : {&Products::mean, &Products::variance}) {
      Products other;
      (other.*part).replace((other.*part).find("%column"), 7, weight);
      EXPECT_EQ(found(other.text()).norms, 0U) << weight;
    }
  }
  Products turned;
  turned.mean = R"(%mf: float64[5, 2] = Einsum(%h, %vector) {equation = "abc,c->ba"}
  %m: float64[2, 5, 1] = Reshape(%mf) {ones = [2]})";
  EXPECT_EQ(found(turned.text()).norms, 0U) << "the means of other rows";
}

}  // namespace
}  // namespace normlens::analysis
