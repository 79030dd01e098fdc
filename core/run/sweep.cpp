#include "core/run/sweep.h"

#include <algorithm>
#include <charconv>

#include "core/run/draw.h"

namespace normlens::run {
namespace {

struct Sweep {
  std::string name;
  std::vector<std::string> values;
};

tl::unexpected<Error> badSweep(const std::string& text) {
  return fail(ErrorCode::Usage, "--sweep " + text + " has not the form NAME=VALUE,VALUE...",
              "write --sweep batch=1,2,4");
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
  return fail(ErrorCode::Usage, "--sweep " + sweep.name + "=...: there is no " + sweep.name + " '" + value + "'",
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
    const auto device = formats::deviceFromName(value);
    if (!device) return unknownValue(sweep, value, "cpu or cuda");
    point.settings.device = *device;
    return {};
  }
  if (sweep.name == "norm") {
    point.norm = formats::normFlavourFromName(value);
    if (point.norm) return {};
    return unknownValue(sweep, value, "portable, primitives or fast; for ONNX also standard or ort");
  }
  return setSize(point, sweep, value);
}

}  // namespace

Result<std::vector<SweepPoint>> sweepPoints(const std::vector<std::string>& sweeps, const formats::RunSettings& base) {
  SweepPoint start;
  start.settings = base;
  std::vector<SweepPoint> points{start};
  for (const std::string& text : sweeps) {
    const auto sweep = parseSweep(text);
    if (!sweep) return tl::unexpected(sweep.error());
    const bool twice = std::ranges::any_of(points.front().at, [&](const auto& at) { return at.first == sweep->name; });
    if (twice) return fail(ErrorCode::Usage, "--sweep " + sweep->name + " was given twice", "give all values at once");
    std::vector<SweepPoint> next;
    for (const std::string& value : sweep->values) {
      for (SweepPoint point : points) {
        if (const Status known = set(point, *sweep, value); !known) return tl::unexpected(known.error());
        next.push_back(std::move(point));
      }
    }
    points = std::move(next);
  }
  return points;
}

Result<formats::Tensors> inputsAt(const DimSizes& sizes, const std::vector<std::string>& specs,
                                  const formats::Tensors& inputs) {
  if (sizes.empty()) return inputs;
  std::vector<InputRequest> requests;
  for (const std::string& text : specs) {
    auto request = parseInputSpec(text);
    if (!request) return tl::unexpected(request.error());
    requests.push_back(std::move(*request));
  }
  const auto isNamed = [&](const auto& size) {
    return std::ranges::any_of(requests, [&](const InputRequest& request) {
      return std::ranges::find(request.dimNames, size.first) != request.dimNames.end();
    });
  };
  auto shapes = shapesOf(inputs);
  if (std::ranges::all_of(sizes, isNamed) && requests.size() == inputs.size()) {
    const auto specced = sized(requests, sizes);
    for (size_t i = 0; i < specced.size(); ++i) {
      const auto place = std::ranges::find(inputs, specced[i].name, &formats::NamedTensor::name);
      shapes[place == inputs.end() ? i : static_cast<size_t>(place - inputs.begin())] = specced[i].shape;
    }
  } else {
    auto swept = sweptShapes(std::move(shapes), sizes);
    if (!swept) return tl::unexpected(swept.error());
    shapes = std::move(*swept);
  }
  constexpr uint64_t kSeed = 1;
  return drawLike(inputs, shapes, kSeed);
}

}  // namespace normlens::run
