// The onnx library's operator definitions, and for operators that only ONNX Runtime knows what types they make of
// doubles: a value of unknown type would hide that the nodes behind it work on doubles. Private to formats/onnx; no
// ONNX Runtime. Thread: one thread per object.
#pragma once

#include <onnx/defs/schema.h>

#include <map>
#include <memory>
#include <utility>

#include "core/formats/onnx/read/guarded_schemas.h"

namespace normlens::formats::onnx {

class RuntimeSchemas final : public ::ONNX_NAMESPACE::ISchemaRegistry {
 public:
  const ::ONNX_NAMESPACE::OpSchema* GetSchema(const std::string& op, int version,
                                              const std::string& domain) const override;

 private:
  GuardedSchemas guarded_;
  mutable std::map<std::pair<std::string, std::string>, std::unique_ptr<const ::ONNX_NAMESPACE::OpSchema>> made_;
};

}  // namespace normlens::formats::onnx
