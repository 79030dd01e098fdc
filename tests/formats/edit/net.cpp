#include "tests/formats/edit/net.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <stdexcept>

namespace normlens::formats::test {
namespace {

const OpRow kOps[] = {
    {"matmul", 'm', "torch.matmul({0}, {1})", "{y} = MatMul({0}, {1})", "aten.matmul.default self={0} other={1}"},
    {"add", 'b', "torch.add({0}, {1})", "{y} = Add({0}, {1})", "aten.add.Tensor self={0} other={1}"},
    {"sub", 'b', "torch.sub({0}, {1})", "{y} = Sub({0}, {1})", "aten.sub.Tensor self={0} other={1}"},
    {"mul", 'b', "torch.mul({0}, {1})", "{y} = Mul({0}, {1})", "aten.mul.Tensor self={0} other={1}"},
    {"div", 'b', "torch.div({0}, {1})", "{y} = Div({0}, {1})", "aten.div.Tensor self={0} other={1}"},
    {"pow", 'f', "torch.pow({0}, {1})", "{y} = Pow({0}, {1})", "aten.pow.Tensor_Scalar self={0} exponent={1}"},
    {"neg", 'f', "torch.neg({0})", "{y} = Neg({0})", "aten.neg.default self={0}"},
    {"relu", 'f', "torch.relu({0})", "{y} = Relu({0})", "aten.relu.default self={0}"},
    {"tanh", 'f', "torch.tanh({0})", "{y} = Tanh({0})", "aten.tanh.default self={0}"},
    {"sqrt", 'f', "torch.sqrt({0})", "{y} = Sqrt({0})", "aten.sqrt.default self={0}"},
    {"reciprocal", 'f', "torch.reciprocal({0})", "{y} = Reciprocal({0})", "aten.reciprocal.default self={0}"},
    {"softmax", 'f', "torch.softmax({0}, -1)", "{y} = Softmax <axis = -1> ({0})", "aten.softmax.int self={0} dim=-1"},
    {"mean", 'r', "torch.mean({0}, [-1], True)", "{y} = ReduceMean <axes = [-1]> ({0})",
     "aten.mean.dim self={0} dim=[-1] keepdim=true"},
    {"sum", 'r', "torch.sum({0}, [-1], True)",
     "{y}_axis = Constant <value_ints = [-1]> () {y} = ReduceSum({0}, {y}_axis)",
     "aten.sum.dim_IntList self={0} dim=[-1] keepdim=true"},
    {"norm", 'f', "torch.layer_norm({0}, [8], {1}, {2}, 1e-05)",
     "[{y}] {y} = LayerNormalization <axis = -1, epsilon = 0.00001> ({0}, {1}, {2})",
     "aten.layer_norm.default input={0} normalized_shape=[8] weight={1} bias={2} eps=1e-05"},
    {"rms", 'f', "torch.rms_norm({0}, [8], {1}, 1e-05)",
     "[{y}] {y} = SimplifiedLayerNormalization <axis = -1, epsilon = 0.00001> ({0}, {1})",
     "aten.rms_norm.default input={0} normalized_shape=[8] weight={1} eps=1e-05"},
    {"first", 'd', "torch.select({0}, 1, 0)",
     "{y}_at = Constant <value_int = 0> () {y} = Gather <axis = 1> ({0}, {y}_at)",
     "aten.select.int self={0} dim=1 index=0"},
    {"groups", 'f', "torch.group_norm({0}, 2, {1}, {2}, 1e-05)",
     "{y}_cut = Constant <value_ints = [0, 2, -1]> () {y}_in = Reshape({0}, {y}_cut) "
     "{y}_one = Constant <value_floats = [1.0, 1.0]> () {y}_zero = Constant <value_floats = [0.0, 0.0]> () "
     "{y}_normed = InstanceNormalization <epsilon = 0.00001> ({y}_in, {y}_one, {y}_zero) "
     "{y}_whole = Constant <value_ints = [0, 8]> () {y}_out = Reshape({y}_normed, {y}_whole) "
     "{y}_scaled = Mul({y}_out, {1}) {y} = Add({y}_scaled, {2})",
     "aten.group_norm.default input={0} num_groups=2 weight={1} bias={2} eps=1e-05"},
    {"embedding", 'e', "torch.embedding({0}, {1})", "{y} = Gather <axis = 0> ({0}, {1})",
     "aten.embedding.default weight={0} indices={1}"},
    {"cat", 'c', "torch.cat([{0}, {1}], {2})", "{y} = Concat <axis = {#2}> ({0}, {1})",
     "aten.cat.default tensors=<{0},{1}> dim={2}"},
    {"slice", 's', "torch.slice({0}, {1}, {2}, {3}, 1)",
     "{y}_axis = Constant <value_ints = [{#1}]> () {y}_from = Constant <value_ints = [{#2}]> () "
     "{y}_to = Constant <value_ints = [{#3}]> () {y} = Slice({0}, {y}_from, {y}_to, {y}_axis)",
     "aten.slice.Tensor self={0} dim={1} start={2} end={3}"},
    {"turned", 't', "torch.transpose({0}, 1, 2)", "{y} = Transpose <perm = [0, 2, 1]> ({0})",
     "aten.transpose.int self={0} dim0=1 dim1=2"},
    {"positive", 'f', "torch.gt({0}, 0.0)", "{y}_zero = Constant <value_float = 0.0> () {y} = Greater({0}, {y}_zero)",
     "aten.gt.Scalar self={0} other=0.0"},
    {"where", 'b', "torch.where({0}, {1}, {2})", "{y} = Where({0}, {1}, {2})",
     "aten.where.self condition={0} self={1} other={2}"},
    {"filled", 'f', "torch.masked_fill({0}, {1}, {2})", "{y} = Where({1}, {2}, {0})",
     "aten.masked_fill.Scalar self={0} mask={1} value={2}"},
};

const std::map<std::string, graph::Shape> kInputs = {
    {"x", {kBatch, kTokens, 6}}, {"z", {kBatch, kTokens, 8}}, {"ids", {kBatch, kTokens}}};

const std::map<std::string, graph::Shape> kWeights = {
    {"w", {6, 8}},      {"v", {6, 8}},      {"b", {8}},        {"c0", {8}},       {"gamma", {8}},    {"beta", {8}},
    {"gamma2", {8}},    {"beta2", {8}},     {"scale", {8}},    {"o", {8, 5}},     {"p", {5}},        {"square", {8, 8}},
    {"up", {8, 12}},    {"upBias", {12}},   {"upBias2", {12}}, {"down", {12, 8}}, {"downBias", {8}}, {"table", {11, 8}},
    {"other", {11, 6}}, {"column", {6, 1}}, {"row", {1, 1, 8}}};

graph::Shape broadcast(const graph::Shape& a, const graph::Shape& b) {
  graph::Shape out = a.size() < b.size() ? b : a;
  const graph::Shape& shorter = a.size() < b.size() ? a : b;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = out[out.size() - shorter.size() + i];
    if (size == 1) size = shorter[i];
  }
  return out;
}

graph::Shape shapeOf(const Statement& statement, const std::map<std::string, graph::Shape>& shapes) {
  const auto operand = [&](size_t i) {
    const auto found = shapes.find(statement.operands.at(i));
    return found == shapes.end() ? graph::Shape() : found->second;
  };
  const auto number = [&](size_t i) { return std::stoll(statement.operands.at(i)); };
  graph::Shape shape = operand(0);
  switch (rowOf(statement.op).shape) {
    case 'b':
      for (size_t i = 1; i < statement.operands.size(); ++i) shape = broadcast(shape, operand(i));
      break;
    case 'm':
      shape.back() = operand(1).back();
      break;
    case 'r':
      shape.back() = 1;
      break;
    case 'e':
      shape = operand(1);
      shape.push_back(operand(0).back());
      break;
    case 'c':
      shape.at(static_cast<size_t>(number(2))) += operand(1).at(static_cast<size_t>(number(2)));
      break;
    case 's':
      shape.at(static_cast<size_t>(number(1))) = number(3) - number(2);
      break;
    case 'd':
      shape.erase(shape.begin() + 1);
      break;
    case 't':
      std::swap(shape.at(1), shape.at(2));
      break;
    default:
      break;
  }
  return shape;
}

std::vector<float> numbersOf(const std::string& name, const graph::Shape& shape, const Net& net) {
  std::vector<float> numbers(static_cast<size_t>(*graph::elementCount(shape)));
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 random(seed);
  for (float& number : numbers) number = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500.0F + 0.3F;
  if (const auto equal = net.equal.find(name); equal != net.equal.end()) std::ranges::fill(numbers, equal->second);
  return numbers;
}

}  // namespace

const OpRow& rowOf(const std::string& op) {
  const auto* found = std::ranges::find_if(kOps, [&](const OpRow& row) { return row.name == op; });
  if (found == std::end(kOps)) throw std::logic_error("there is no operation " + op);
  return *found;
}

NetParts partsOf(const Net& net) {
  NetParts parts;
  std::istringstream lines(net.code);
  for (std::string line; std::getline(lines, line);) {
    Statement statement;
    for (char& letter : line) letter = std::string("=(),").find(letter) == std::string::npos ? letter : ' ';
    std::istringstream words(line);
    if (!(words >> statement.result >> statement.op)) continue;
    for (std::string word; words >> word;) {
      statement.operands.push_back(word);
      if (std::isalpha(static_cast<unsigned char>(word[0])) == 0 || parts.shapes.contains(word)) continue;
      const bool isInput = kInputs.contains(word);
      (isInput ? parts.inputs : parts.weights).push_back(word);
      const auto& shape = parts.shapes.emplace(word, (isInput ? kInputs : kWeights).at(word)).first->second;
      if (!isInput) parts.numbers[word] = numbersOf(word, shape, net);
    }
    parts.shapes[statement.result] = shapeOf(statement, parts.shapes);
    parts.statements.push_back(std::move(statement));
  }
  return parts;
}

}  // namespace normlens::formats::test
