#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>

#include "app/engine/model_options.h"
#include "app/engine/reports.h"
#include "app/engine/verbs.h"
#include "core/run/draw.h"
#include "core/run/input_spec.h"

namespace normlens::engine {
namespace {

using run::DimSizes;

struct Options {
  std::string a, b, device = "cpu";
  std::optional<int> warmup;
  int iterations = 5, rounds = 20;
  std::vector<std::string> sweeps;
  InputOptions inputs;
};

tl::unexpected<Error> badSweep(const std::string& text) {
  return fail(ErrorCode::Usage, "--sweep " + text + " has not the form NAME=SIZE,SIZE...", "write --sweep batch=1,2,4");
}

// Every combination of the sizes of all sweeps; one empty point without a sweep.
Result<std::vector<DimSizes>> sweepPoints(const std::vector<std::string>& sweeps) {
  std::vector<DimSizes> points{{}};
  for (const std::string& text : sweeps) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return badSweep(text);
    const std::string name = text.substr(0, equals);
    std::vector<DimSizes> next;
    for (const char* at = text.data() + equals + 1;;) {
      const char* end = text.data() + text.size();
      int64_t size = 0;
      const auto [stop, status] = std::from_chars(at, end, size);
      if (status != std::errc() || size < 1 || (stop != end && *stop != ',')) return badSweep(text);
      for (DimSizes point : points) {
        point[name] = size;
        next.push_back(std::move(point));
      }
      if (stop == end) break;
      at = stop + 1;
    }
    points = std::move(next);
  }
  return points;
}

// The inputs at a point of the sweep: sizes named in --input go by their names, others by axis.
Result<formats::Tensors> inputsAt(const DimSizes& point, const std::vector<std::string>& specs,
                                  const formats::Tensors& inputs) {
  if (point.empty()) return inputs;
  std::vector<run::InputRequest> requests;
  bool named = true;
  for (const std::string& text : specs) {
    auto request = run::parseInputSpec(text);
    if (!request) return tl::unexpected(request.error());
    requests.push_back(std::move(*request));
  }
  for (const auto& [name, size] : point) {
    named = named && std::ranges::any_of(requests, [&](const auto& request) {
              return std::ranges::find(request.dimNames, name) != request.dimNames.end();
            });
  }
  auto shapes = run::shapesOf(inputs);
  if (named && requests.size() == inputs.size()) {
    const auto sized = run::sized(requests, point);
    for (size_t i = 0; i < sized.size(); ++i) {
      const auto place = std::ranges::find(inputs, sized[i].name, &formats::NamedTensor::name);
      shapes[place == inputs.end() ? i : static_cast<size_t>(place - inputs.begin())] = sized[i].shape;
    }
  } else {
    auto swept = run::sweptShapes(std::move(shapes), point);
    if (!swept) return tl::unexpected(swept.error());
    shapes = std::move(*swept);
  }
  constexpr uint64_t kSeed = 1;
  return run::drawLike(inputs, shapes, kSeed);
}

void printPoint(const BenchPoint& point, Console& console) {
  std::string sizes;
  for (const auto& [name, size] : point.sizes.items()) sizes += name + "=" + std::to_string(size.get<int64_t>()) + " ";
  char text[160];
  std::snprintf(text, sizeof text, "a: median %.3f ms (p5 %.3f, p95 %.3f)", point.report.a.medianMs,
                point.report.a.p5Ms, point.report.a.p95Ms);
  console.print(sizes + text);
  if (!point.report.b) return;
  std::snprintf(text, sizeof text, "b: median %.3f ms (p5 %.3f, p95 %.3f)", point.report.b->medianMs,
                point.report.b->p5Ms, point.report.b->p95Ms);
  console.print(sizes + text);
  const run::Speedup& speedup = point.report.speedup;
  std::snprintf(text, sizeof text, "speed-up %.3f, 95%% interval %.3f to %.3f%s", speedup.median, speedup.low,
                speedup.high, speedup.noise ? ": noise" : "");
  console.print(sizes + text);
}

struct Models {
  const formats::Model& a;
  const formats::Model* b;
};

Result<BenchPoint> measure(const Models& models, const DimSizes& sizes, const formats::Tensors& inputs,
                           const Options& options, const Task& task) {
  run::BenchOptions settings;
  settings.rounds = options.rounds;
  settings.iterations = options.iterations;
  settings.warmup = options.warmup;
  auto report = run::benchModels(models.a, models.b, inputs, settings, task);
  if (!report) return tl::unexpected(report.error());
  BenchPoint point{.sizes = nlohmann::json::object(), .batch = 1, .report = std::move(*report)};
  for (const auto& [name, size] : sizes) point.sizes[name] = size;
  if (!inputs.empty() && !inputs.front().view.shape.empty()) point.batch = inputs.front().view.shape.front();
  return point;
}

Exit runBench(const Options& options, Console& console, const std::stop_token& stop) {
  const Task task = console.task(stop);
  const auto sizes = sweepPoints(options.sweeps);
  if (!sizes) return console.fail(sizes.error());
  service::Service serviceA, serviceB;
  const auto a = openModel(serviceA, options.a, options.inputs, console, task);
  if (!a) return console.fail(a.error());
  if (const Status runs = requireRunnable(options.a, *a); !runs) return console.fail(runs.error());
  if (!options.b.empty()) {
    const auto b = serviceB.open(options.b, task);
    if (!b) return console.fail(b.error());
  }
  const Models models{*serviceA.model(), options.b.empty() ? nullptr : serviceB.model()};
  std::vector<BenchPoint> points;
  for (const DimSizes& point : *sizes) {
    const auto inputs = inputsAt(point, options.inputs.specs, serviceA.inputs());
    if (!inputs) return console.fail(inputs.error());
    auto measured = measure(models, point, *inputs, options, task);
    if (!measured) return console.fail(measured.error());
    printPoint(*measured, console);
    points.push_back(std::move(*measured));
  }
  const std::string dtype(graph::dtypeName(models.a.facts().dtype));
  return console.finish(benchReport(serviceA.info().device, dtype, points, !options.sweeps.empty()), Exit::Done);
}

}  // namespace

RunVerb declareBench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("a", options->a, "The model, or the first of two")->required()->type_name("A");
  app.add_option("b", options->b, "The second model, measured against the first")->type_name("B");
  options->inputs.addTo(app);
  app.add_option("--device", options->device, "Where to run")->check(CLI::IsMember({"cpu"}))->capture_default_str();
  app.add_option("--warmup", options->warmup, "Runs before measuring; without it: until the clock settles")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--iterations", options->iterations, "Runs in each part of a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options->rounds, "Rounds, each A B B A")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sweep", options->sweeps, "Measure at several sizes: batch=1,2,4")
      ->type_name("NAME=SIZES")
      ->take_all()
      ->allow_extra_args(false);
  return [options](Console& console, const std::stop_token& stop) { return runBench(*options, console, stop); };
}

}  // namespace normlens::engine
