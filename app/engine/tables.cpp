#include "app/engine/tables.h"

namespace normlens::engine {
namespace {

nlohmann::json optionRow(const CLI::Option& option) {
  return {{"short", option.get_snames()},
          {"long", option.get_lnames()},
          {"positional", option.get_positional()},
          {"value", option.get_items_expected_max() > 0 ? option.get_type_name() : ""},
          {"repeats", option.get_items_expected_max() > 1},
          {"required", option.get_required()},
          {"default", option.get_default_str()},
          {"group", option.get_group()},
          {"summary", option.get_description()}};
}

}  // namespace

nlohmann::json commandTable(const CLI::App& app) {
  nlohmann::json table = {
      {"name", app.get_name()},     {"summary", app.get_description()},   {"group", app.get_group()},
      {"footer", app.get_footer()}, {"options", nlohmann::json::array()}, {"verbs", nlohmann::json::array()}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) table["options"].push_back(optionRow(*option));
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    table["verbs"].push_back(commandTable(*verb));
  }
  return table;
}

}  // namespace normlens::engine
