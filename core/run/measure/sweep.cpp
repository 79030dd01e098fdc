#include "core/run/measure/sweep.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "core/run/inputs/draw.h"

namespace normlens::run {
namespace {

struct Sweep {
  std::string name;
  std::vector<std::string> values;
};

tl::unexpected<Error> badSweep(const std::string& text) {
  return fail(ErrorCode::Usage, "the sweep " + text + " has not the form NAME=VALUE,VALUE...", "write batch=1,2,4");
}

Result<Sweep> parseSweep(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return badSweep(text);
  Sweep sweep{text.substr(0, equals), {}};
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma == at) return badSweep(text);
    sweep.values.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  if (sweep.values.empty()) return badSweep(text);
  return sweep;
}

tl::unexpected<Error> unknownValue(const Sweep& sweep, const std::string& value, const std::string& known) {
  return fail(ErrorCode::Usage, "the sweep " + sweep.name + "=...: there is no " + sweep.name + " '" + value + "'",
              known);
}

Status setSize(SweepPoint& point, const Sweep& sweep, const std::string& value) {
  int64_t size = 0;
  const char* end = value.data() + value.size();
  const auto [stop, status] = std::from_chars(value.data(), end, size);
  if (status != std::errc() || size < 1 || stop != end) return badSweep(sweep.name + "=" + value);
  point.sizes[sweep.name] = size;
  return {};
}

Status set(SweepPoint& point, const Sweep& sweep, const std::string& value) {
  point.at.emplace_back(sweep.name, value);
  if (sweep.name == "dtype") {
    point.settings.dtype = graph::dtypeFromName(value);
    if (graph::isFloat(point.settings.dtype)) return {};
    return unknownValue(sweep, value, "float32, float16, bfloat16 or float64");
  }
  if (sweep.name == "device") {
    if (formats::setDevice(point.settings, value)) return {};
    return unknownValue(sweep, value, "cpu, cuda or cuda:1");
  }
  if (sweep.name == "norm") {
    point.norm = formats::normFlavourFromName(value);
    if (point.norm) return {};
    return unknownValue(sweep, value, "portable, primitives or fast; for ONNX also standard or ort");
  }
  return setSize(point, sweep, value);
}

struct Axis {
  size_t place = 0;
  int64_t size = 0;
};
struct Change {
  Axis from;
  int64_t to = 0;
};
using NamedSizes = std::map<std::string, Change>;

const std::string& nameOf(const formats::InputSpec& spec, size_t axis) {
  static const std::string kNone;
  return axis < spec.axisNames.size() ? spec.axisNames[axis] : kNone;
}

// Returns the first axis of this name; nullopt: there is none.
std::optional<Axis> namedSize(const std::vector<formats::InputSpec>& specs, const std::vector<graph::Shape>& shapes,
                              const std::string& name) {
  for (size_t i = 0; i < std::min(specs.size(), shapes.size()); ++i) {
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      if (nameOf(specs[i], axis) == name) return Axis{axis, shapes[i][axis]};
    }
  }
  return std::nullopt;
}

// "past + seq": past, seq
std::vector<std::string> termsOf(std::string sum) {
  std::erase(sum, ' ');
  std::vector<std::string> terms;
  std::stringstream stream(sum);
  for (std::string term; std::getline(stream, term, '+');) terms.push_back(term);
  return terms;
}

int64_t sizeNow(const formats::InputSpec& spec, size_t axis, int64_t size, const NamedSizes& named) {
  const std::string& name = nameOf(spec, axis);
  if (const auto own = named.find(name); own != named.end()) return own->second.to;
  const std::vector<std::string> terms = termsOf(name);
  const bool isSum = terms.size() > 1;
  int64_t now = size;
  for (const std::string& term : terms) {
    if (const auto change = named.find(term); isSum && change != named.end())
      now += change->second.to - change->second.from.size;
  }
  if (isSum || std::ranges::find(spec.freeAxes, static_cast<int>(axis)) == spec.freeAxes.end()) return now;
  const auto same = std::ranges::find_if(
      named, [&](const auto& change) { return change.second.from.place == axis && change.second.from.size == size; });
  return same == named.end() ? now : same->second.to;
}

std::vector<graph::Shape> resized(const std::vector<formats::InputSpec>& specs, std::vector<graph::Shape> shapes,
                                  const NamedSizes& named) {
  for (size_t i = 0; i < std::min(specs.size(), shapes.size()); ++i) {
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      shapes[i][axis] = sizeNow(specs[i], axis, shapes[i][axis], named);
    }
  }
  return shapes;
}

}  // namespace

Result<std::vector<SweepPoint>> sweepPoints(const std::vector<std::string>& sweeps, const formats::RunSettings& base) {
  SweepPoint start;
  start.settings = base;
  std::vector<SweepPoint> points{start};
  for (const std::string& text : sweeps) {
    ASSIGN_OR_RETURN(const auto sweep, parseSweep(text));
    const bool twice = std::ranges::any_of(points.front().at, [&](const auto& at) { return at.first == sweep.name; });
    if (twice) return fail(ErrorCode::Usage, "the sweep " + sweep.name + " was given twice", "give all values at once");
    std::vector<SweepPoint> next;
    for (const std::string& value : sweep.values) {
      for (SweepPoint point : points) {
        RETURN_IF_ERROR(set(point, sweep, value));
        next.push_back(std::move(point));
      }
    }
    points = std::move(next);
  }
  return points;
}

Result<formats::Tensors> inputsAt(const DimSizes& sizes, const std::vector<formats::InputSpec>& specs,
                                  const formats::Tensors& inputs) {
  if (sizes.empty()) return inputs;
  NamedSizes named;
  DimSizes byAxis;
  for (const auto& [name, size] : sizes) {
    if (const auto old = namedSize(specs, shapesOf(inputs), name)) {
      named[name] = {*old, size};
    } else {
      byAxis[name] = size;
    }
  }
  ASSIGN_OR_RETURN(const auto shapes, sweptShapes(resized(specs, shapesOf(inputs), named), byAxis));
  constexpr uint64_t kSeed = 1;
  return drawLike(inputs, shapes, kSeed);
}

}  // namespace normlens::run
