// Changes an ONNX model as a protobuf rather than as bytes, so that most of what comes out still parses and the fuzzer
// gets past the parser: numbers, names, operators, attributes and whole subtrees.
#pragma once

#include <onnx/onnx_pb.h>

#include <random>

namespace normlens::fuzz {

// `mutateBytes(bytes)` changes a string in the fuzzer's own way.
using MutateBytes = void (*)(std::string& bytes);

void mutateModel(::ONNX_NAMESPACE::ModelProto& model, std::minstd_rand& random, MutateBytes mutateBytes);

}  // namespace normlens::fuzz
