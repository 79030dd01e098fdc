// A project file's bytes are anybody's: whatever stands where, it is read or refused in one line.
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "ui/session/project/project.h"

namespace normlens::ui {

namespace {

using nlohmann::json;

std::string wholeProject() {
  Project project;
  project.model = {QStringLiteral("/a/b.pt"), QStringLiteral("00ff"), 12, 34};
  project.policy = Policy::All;
  project.prices = protocol::Prices::Measured;
  project.kept = QStringList{QStringLiteral("h.0.ln_1")};
  project.centered = {{7, QStringLiteral("sum.3")}};
  project.flavour = "fast";
  project.inputs.specs = {"in_0=int64[2,8]:0..9"};
  project.view = {{"", "h.0"}, 0.5, 10, 20, QStringLiteral("ln_f")};
  project.bench = protocol::BenchResult();
  project.benchRuns = {protocol::BenchResult()};
  return projectToJson(project);
}

// What is read can be written and read again, what is refused is told in one line.
bool isSound(const std::string& text) {
  const auto project = projectFromJson(text);
  if (project) return projectFromJson(projectToJson(*project)).has_value();
  const std::string& message = project.error().message;
  return !message.empty() && std::ranges::none_of(message, [](unsigned char c) { return c < 0x20; });
}

std::vector<json> strangeValues() {
  json deep = json::array();
  for (int i = 0; i < 200; ++i) deep = json::array({std::move(deep)});
  return {nullptr,
          true,
          -1,
          1e308,
          -1e308,
          UINT64_MAX,
          INT64_MIN,
          "",
          "nan",
          "a\nb",
          "\xff",
          json::object(),
          json::array({1, "x"}),
          deep};
}

}  // namespace

class TestProjectBytes final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void anyValueMayStandAnywhere() {
    const json whole = json::parse(wholeProject());
    const json flat = whole.flatten();
    std::vector<std::string> places;
    for (const auto& [path, value] : flat.items()) {
      for (std::string place = path; !place.empty(); place.resize(place.rfind('/'))) places.push_back(place);
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::string& place : places) {
      for (const json& value : strangeValues()) {
        json bent = whole;
        bent[json::json_pointer(place)] = value;
        const std::string text = bent.dump(-1, ' ', false, json::error_handler_t::ignore);
        QVERIFY2(isSound(text), (place + " = " + value.dump(-1, ' ', false, json::error_handler_t::ignore)).c_str());
      }
    }
  }

  void anyBytesAreReadOrRefused() {
    const std::string whole = wholeProject();
    std::minstd_rand random(1);
    const auto below = [&](size_t end) { return static_cast<size_t>(random()) % end; };
    for (int round = 0; round < 4000; ++round) {
      std::string bent = whole;
      for (size_t changes = 1 + below(4); changes > 0; --changes) {
        const size_t at = below(bent.size()), length = 1 + below(std::min<size_t>(40, bent.size() - at));
        switch (below(4)) {
          case 0:
            bent[at] = static_cast<char>(below(256));
            break;
          case 1:
            bent.erase(at, std::min(length, bent.size() - 1));
            break;
          case 2:
            bent.insert(below(bent.size()), whole, below(whole.size()), length);
            break;
          default:
            bent.replace(at, 1, std::to_string(random()));
            break;
        }
        if (bent.empty()) bent = "{";
      }
      QVERIFY2(isSound(bent), bent.c_str());
    }
  }
};

}  // namespace normlens::ui

QTEST_GUILESS_MAIN(normlens::ui::TestProjectBytes)
#include "test_project_bytes.moc"
