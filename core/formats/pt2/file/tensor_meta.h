// A tensor as a torch.export archive describes it: TensorMeta of its schema. The numbers of element types are the
// schema's own, not c10's. No torch here. Errors inside the module: BrokenDocument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/pt2/file/json.h"
#include "core/formats/pt2/file/sym_expr.h"
#include "core/graph/types.h"

namespace normlens::formats::pt2 {

// A size, stride or offset: a number, or an expression in symbols.
struct SymSize {
  SymExpr expr;
  int64_t example = 0;  // the number itself, or what it was in the example; -1: unbacked, the example has none

  [[nodiscard]] bool isFixed() const { return expr.kind == SymExpr::Kind::Integer; }
};

struct TensorMeta {
  graph::DType dtype = graph::DType::Unknown;  // One that torch's CPU half runs and the graph knows.
  int64_t schemaDType = 0;
  std::vector<SymSize> sizes, strides;
  SymSize offset;

  // In the example that was exported with; nullopt where a size is not known.
  [[nodiscard]] std::optional<graph::Shape> exampleShape() const;
};

[[nodiscard]] SymSize readSymSize(const Json& json);
[[nodiscard]] TensorMeta readTensorMeta(const Json& json);

// "float32" and its kin; Unknown for those that the graph has no name for (complex32, uint16, float8).
[[nodiscard]] graph::DType dtypeOfSchema(int64_t number);
// The schema's number; 0 (its UNKNOWN) where there is none.
[[nodiscard]] int64_t schemaNumber(graph::DType dtype);

}  // namespace normlens::formats::pt2
