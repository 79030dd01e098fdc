#include "app/engine/verbs/fold_model.h"

namespace normlens::engine {

Declared declareFold(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<FoldOptions>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_option("-o,--output", options->output, "Where to write the folded model")->required()->type_name("OUT");
  options->addTo(app);
  options->inputs.addVerdictsTo(app);
  app.add_option("--plan", options->planFile, "Use the edits of this file")->type_name("PLAN.json");
  app.add_option("--save-plan", options->savePlan, "Write the edits to this file")->type_name("PLAN.json");
  app.add_flag("--resume", options->resume,
               "Keep what is written if this is stopped or killed, beside OUT as *.normlens-part, and go on with what "
               "an earlier --resume kept");
  return {[options](const Call& call) { return foldToFile(*options, call, foldReport); },
          [options] { return options->files(); },
          {}};
}

}  // namespace normlens::engine
