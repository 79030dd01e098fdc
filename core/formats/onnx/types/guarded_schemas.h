// onnx's operator definitions for shape inference over files that may be hostile. Private to formats/onnx.
//
// The library's inference believes a file: a list of axes that claims to have 2^40 elements becomes as many dimensions
// in memory, an axis that is not there is written to, an einsum with a sign that is no letter is read for ever, and
// some operators outside the main domain follow attributes without a look whether they are there. Here only the main
// domain is known, and a node that is given such a list, axis or equation stays without shapes. Thread: one thread per
// object.
#pragma once

#include <onnx/defs/schema.h>

#include <map>
#include <memory>
#include <tuple>

namespace normlens::formats::onnx {

class GuardedSchemas final : public ::ONNX_NAMESPACE::ISchemaRegistry {
 public:
  // nullptr: no such operator, or one that inference is not to know.
  const ::ONNX_NAMESPACE::OpSchema* GetSchema(const std::string& op, int version,
                                              const std::string& domain) const override;

 private:
  using Key = std::tuple<std::string, int>;
  mutable std::map<Key, std::unique_ptr<const ::ONNX_NAMESPACE::OpSchema>> made_;
};

}  // namespace normlens::formats::onnx
