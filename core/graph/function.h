// Names the function that a node computes, where its kind leaves that open and a rule needs it. A format's reader fills
// it from its own table of ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace normlens::graph {

enum class Function : uint8_t {
  Other,  // no rule needs it, or it is not known
  // An Elementwise computes one of these:
  Square,             // [x] x * x
  Power,              // [x, exponent]
  SquareRoot,         // [x]
  InverseSquareRoot,  // [x] 1 / sqrt(x)
  Reciprocal,         // [x] 1 / x
  Relu,               // [x]
  Maximum,            // [x...] the largest of them, element by element
  Step,               // [x...] jumps, or counts from anew, where x moves on: ceil, sign, remainder
  // Nodes of other kinds compute one of these:
  Cast,       // of an Identity, a Cast to the type that x has
  Unsqueeze,  // of a Reshape: new axes of size 1. dim: the place of a single one, where the file writes it
  Product,    // of a Reduce
  Sizes,      // of a ShapeQuery: the sizes of x as a list
  Count_,
};

[[nodiscard]] std::string_view functionName(Function function);

}  // namespace normlens::graph
