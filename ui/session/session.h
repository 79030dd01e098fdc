// Holds what the window is about: one opened model, its analysis, the plan and the proof. What the user wants of the
// plan, what was measured and what is selected are objects of their own.
//
// Views read the state and listen to the signals; whatever takes time is requested from the engine and arrives by
// signal. One job (open, analyze, plan, fold, export, bench) runs at a time and shows in the status bar; small requests
// of the inspector run beside it. A late answer to a job that was superseded is dropped. Each change of the plan's
// parameters requests the plan anew; a proof belongs to its plan, and is shown again when that plan is (undo).
//
// A model that is opened takes the place of the one shown once it was read; where that fails the one shown stays. When
// the engine dies the model shown, the plan's parameters and the undo stack stay; recover() starts a new engine and
// opens the model again. Thread: GUI thread.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <optional>

#include "core/protocol/messages.h"
#include "ui/client/question.h"
#include "ui/session/graph_selection.h"
#include "ui/session/measurements.h"
#include "ui/session/model_index.h"
#include "ui/session/plan_choices.h"
#include "ui/session/plan_preview.h"
#include "ui/session/project/project.h"
#include "ui/session/proofs.h"
#include "ui/words/plan_mark.h"
#include "ui/words/remaining_time.h"

namespace normlens::ui {

class DifferenceRun;
class EngineRun;
class FileCourier;
class ForcedErrors;
class ProbeRun;
class ReportRun;
class Streams;
class SwapRun;
class LeftOut;
class NormCosts;

enum class JobKind {
  None,
  Opening,
  Analyzing,
  Confirming,
  Planning,
  Folding,
  Measuring,
  Exporting,
  Narrowing,
  SavingTensor,
  Comparing,  // these run beside the others: see EngineRun
  Probing,
  Reporting,
};

struct Job {
  JobKind kind = JobKind::None;
  QString stage;            // in words, from the engine
  double fraction = -1;     // negative: unknown
  qint64 remainingMs = -1;  // The stage's; negative: unknown.
  bool stopping = false;    // the user stopped it, and the engine has not answered yet
};

// On the way to a model.
struct Opening {
  // Names what is requested in the place of the model shown.
  struct Wanted {
    QString path, model;
    std::optional<Project> project;
  };
  std::optional<Wanted> next;        // until it was read
  std::optional<Project> restoring;  // until its plan is there
  bool served = false;               // the engine has the model shown
  bool recovering = false;           // opened again after the engine died, until its plan is there
  bool fatal = false;                // it took the engine with it when it was opened again
  bool replaced = false;             // the file of the model shown is another by now
};

class Session final : public QObject {
  Q_OBJECT

 public:
  explicit Session(EngineClient* engine, QObject* parent = nullptr);  // engine: not owned, outlives the session

  // ---- state
  [[nodiscard]] EngineClient* engine() const { return engine_; }
  // Returns the path of the model shown, else of the one requested; kept when the engine dies. One that is on the
  // engine's machine names it, see placed_file.h; any other is sent there to be opened.
  [[nodiscard]] QString path() const { return path_; }
  [[nodiscard]] const std::optional<protocol::ModelInfo>& model() const { return model_; }  // its graph: see index()
  [[nodiscard]] QString modelName() const;  // Set for a file that holds several; empty otherwise.
  [[nodiscard]] QString title() const;      // A person calls the model by it; empty when none is open.
  [[nodiscard]] const ModelIndex& index() const { return index_; }
  // The graph for the drawing: as it was read, after the analysis with shapes; null when no model is open.
  [[nodiscard]] std::shared_ptr<const protocol::GraphDocument> document() const {
    return model_ ? index_.document() : nullptr;
  }
  // The last modelChanged() told of the model shown before, opened again: its contents are the same.
  [[nodiscard]] bool isSameModel() const { return sameModel_; }
  // Returns why the open model can be neither run nor folded, as a sentence; empty: nothing is in the way.
  [[nodiscard]] QString cannotRun() const { return model_ ? QString::fromStdString(model_->cannot_run) : QString(); }
  // Returns why no request can run the model, with the way out; empty: nothing is in the way but what is under way.
  [[nodiscard]] QString runObstacle() const;
  // Returns the analysis without its values, which index() has.
  [[nodiscard]] const std::optional<protocol::Analysis>& analysis() const { return analysis_; }
  [[nodiscard]] const std::optional<protocol::PlanInfo>& plan() const { return plan_.plan(); }
  [[nodiscard]] const std::optional<protocol::FoldResult>& foldResult() const { return fold_; }
  [[nodiscard]] Measurements* measurements() const { return measurements_; }
  // The models that are to be measured are there and nothing else is under way.
  [[nodiscard]] bool canMeasure() const { return analysis_ && opening_.served && !busy() && hasSides(); }
  [[nodiscard]] const std::optional<protocol::ExportResult>& exported() const { return exported_; }
  [[nodiscard]] PlanChoices* choices() const { return choices_; }
  [[nodiscard]] PlanPreview* preview() const { return preview_; }
  [[nodiscard]] LeftOut* leftOut() const { return leftOut_; }
  [[nodiscard]] NormCosts* costs() const { return costs_; }
  [[nodiscard]] ForcedErrors* forcedErrors() const { return forcedErrors_; }
  [[nodiscard]] ProbeRun* probe() const { return probe_; }
  [[nodiscard]] SwapRun* swaps() const { return swaps_; }
  [[nodiscard]] ReportRun* report() const { return report_; }
  [[nodiscard]] Streams* streams() const { return streams_; }
  [[nodiscard]] DifferenceRun* differences() const { return differences_; }
  // These mark what the plan does with a norm, and with all by their index, those that the preview would lose included.
  [[nodiscard]] PlanMark planMark(int index) const;
  [[nodiscard]] std::vector<PlanMark> planMarks() const;
  [[nodiscard]] const protocol::NormState* normState(int norm) const;  // nullptr: there is no plan
  // A plan was proved that is not folded now, this one or another; undo or redo may lead to it.
  [[nodiscard]] bool keepsProof() const { return !proofs_.empty() && !fold_; }
  // The plan shown was proved: only its fold was taken back.
  [[nodiscard]] bool keepsProofOfPlan() const { return !fold_ && proofs_.has(choices_->params(), flavour_); }
  // The plan's edits and those that the user turned off; empty while there is no plan.
  [[nodiscard]] std::vector<PlanRow> planRows() const { return plan_.rows(); }
  [[nodiscard]] GraphSelection* selection() const { return selection_; }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] bool busy() const { return job_.kind != JobKind::None; }
  // The run that confirms an early analysis. It goes on beside the jobs, which the engine does after it.
  [[nodiscard]] const Job& confirmation() const { return confirmation_; }
  // False while the engine makes a proved fold anew: what is shown is of it, and an end before it would take that away.
  [[nodiscard]] bool canStop() const {
    return job_.kind != JobKind::Folding || !fold_ || foldServed_ || toWrite_.has_value();
  }
  // Returns what runs, to be shown and stopped: the job, else the confirmation, else one of beside().
  [[nodiscard]] Job running() const;
  // The runs that can be shown and stopped, the one that is shown first where several run.
  [[nodiscard]] const std::vector<std::pair<EngineRun*, JobKind>>& beside() const { return beside_; }
  // The analysis was inferred, and no run has confirmed it.
  [[nodiscard]] bool early() const { return analysis_ && analysis_->early; }
  // The engine has the model shown, not another one or none: it takes work. Else resume() opens it again.
  [[nodiscard]] bool served() const { return opening_.served; }
  // The project that is opened until its plan is there; nullptr: none.
  [[nodiscard]] const Project* restoring() const { return opening_.restoring ? &*opening_.restoring : nullptr; }
  [[nodiscard]] const protocol::NormInfo* norm(int index) const;     // nullptr when there is no such norm
  [[nodiscard]] int normNamed(const QString& name) const;            // by full name, or by its end; -1
  [[nodiscard]] QString titleOfNorm(const std::string& name) const;  // the name itself where no norm has it
  [[nodiscard]] bool folds(int norm) const;                          // the plan turns it into an RMSNorm
  // The value that the norm reads first: where 'Center here' applies. -1 when there is none.
  [[nodiscard]] int inputOfNorm(int index) const;

  // ---- work
  void open(const QString& path, const QString& model = {});  // model: its name, of a file that holds several
  void openProject(const Project& project);                   // its model, then its plan; see projectRestored()
  void close();                                               // no model
  void recover();  // restart the engine, open the model again, keep the plan, what was proved and what was measured
  // False: it took the engine with it when it was opened again. recover() then leaves it to resume().
  [[nodiscard]] bool reopens() const { return !opening_.fatal; }
  void resume();                                           // Takes up a job that was stopped on the way to a plan.
  void fold();                                             // applies the plan and proves it; again: proves anew
  void measure();                                          // by measurements(); stopped, what was measured is kept
  void exportTo(const QString& path, bool force = false);  // in the flavour that was folded
  // Writes the norm of the target; folds and proves first where that is to be done. Nothing is written of a fold that
  // is not proved.
  void exportFor(const QString& path, const protocol::TargetInfo& target);
  // When the project says that its plan was proved, UTC; empty: it does not. Anybody may have written the file: it is
  // no proof.
  [[nodiscard]] const std::string& provedBefore() const { return provedBefore_; }
  // Returns the fold of the plan with another norm: proved before, or shown; nullptr: there is none.
  [[nodiscard]] const protocol::FoldResult* foldWith(const std::string& norm);
  void narrowTo(const QString& path, bool force = false);  // with the streams of streams()
  void cancel();                                           // Cancels the job that running() returns, if canStop().

  // Sets what the model is run with; nothing set: the engine guesses. Analyzes anew; the plan's parameters stay.
  // Inputs that the engine refuses are reported by problem() and inputsUnused() and change nothing.
  void setInputs(const protocol::InputsParams& inputs);
  void guessInputs();  // forgets what was set, whatever runs; where there is no guess the model is shown without shapes
  [[nodiscard]] const protocol::InputsParams& inputs() const { return inputs_; }

  // Norm flavour of the folded model. A change makes the proof void: it was of another file.
  void setFlavour(const QString& norm);
  [[nodiscard]] const std::string& flavour() const { return flavour_; }

  // Significant digits of the numbers that the inspector shows.
  void setDigits(int digits);
  [[nodiscard]] int digits() const { return digits_; }

  // Applies to models that are opened from now on; 0: the engine's own limits.
  void setLimits(double seconds, int64_t bytes) {
    limitSeconds_ = seconds;
    limitBytes_ = bytes;
  }

  // ---- the inspector's questions
  // Calls done() at once when the figures are cached.
  void requestTensorStats(int value, Question& question,
                          const std::function<void(const Reply<protocol::TensorStats>&)>& done);
  void saveTensor(int value, const QString& path);  // a job

 Q_SIGNALS:
  void leaving();                                              // the model shown is about to go
  void projectRestored(const normlens::ui::Project& project);  // its plan is shown
  void inputsChanged();
  // The inputs from before are used again. reason: a sentence; empty where the run was stopped.
  void inputsUnused(const QString& reason);
  void modelChanged();   // also when there is none any more
  void modelReplaced();  // its file was found to be another one when it was opened again
  void analysisChanged();
  void confirmed(const QStringList& norms);  // the run that had to agree is done; names of those with another verdict
  void planChanged();                        // also when only its parameters changed
  void foldChanged();
  void jobChanged();
  void stopped(const normlens::ui::Job& job);  // as far as it had come
  void exportDone();
  void digitsChanged();
  void tensorSaved(const QString& path, qint64 bytes);
  void openFailed();  // after problem(), or given up for another; what was shown is shown still
  void problem(const QString& message, const QString& hint);
  void problemOver();  // The report on the inputs no longer holds.
  void engineLost(const QString& reason);

 private:
  using Failed = std::function<void(const EngineError& error)>;

  template <class Params, class T>
  void runJob(JobKind kind, const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
              const std::type_identity_t<std::function<void(T&)>>& done, const Failed& failed = {});
  void startJob(JobKind kind);
  void jobFailed(const Job& ended, const EngineError& error, const Failed& failed);
  void endJob();
  void clearModel();
  void voidProof();
  void showProofOfPlan();
  [[nodiscard]] bool hasSides() const;
  [[nodiscard]] int firstOther() const;  // the norm from which on a failed proof saw other outputs
  [[nodiscard]] std::vector<int> notRun() const;
  void ask(Opening::Wanted wanted);
  void startOpening(const QString& path, const QString& model);
  void openThere(const QString& path, const QString& there, const QString& model, const Failed& failed);
  void dropNext();
  void reopen();  // the model shown
  void notOpened(bool served);
  void takeNext();
  void startOver(const QString& path);
  void opened(protocol::ModelInfo&& info);
  void foldAgain();
  void planChosen();
  void foldChosen();
  void analyze();  // with the inputs that are set
  void analyzeGuessing();
  void runAnalysis(const Failed& failed);
  void dropAnalysis();
  void useInputsAgain(const protocol::InputsParams& before);
  void restoreProject();
  void analyzed(protocol::Analysis&& analysis);
  [[nodiscard]] QString presetName() const;
  void dropProofsOfOtherInputs();
  void confirm();
  void dropConfirmation();
  void takeAnalysis(protocol::Analysis&& analysis);
  void confirmedBy(protocol::Analysis&& run);
  void requestPlan();
  void requestOffer();
  [[nodiscard]] protocol::FoldParams foldParams(bool verify) const;
  // Called when the engine has written a file; take() shows it as done once it is where the user wants it.
  using Written = std::function<void(const std::function<void()>& take)>;
  // Calls `request` with the path that the engine is to write to. Where the user wants the file here and the engine is
  // on another machine, it is fetched before it is taken as done.
  void writeTo(JobKind kind, const QString& path,
               const std::function<void(const QString& there, const Written& written)>& request);
  void fetchWritten();
  void write(const QString& path, const std::string& target, bool force);
  void writeNext();
  void dropExport();
  void notFolded(bool stopped);

  EngineClient* engine_;  // not owned
  FileCourier* courier_;
  PlanChoices* choices_;
  PlanPreview* preview_;
  Measurements* measurements_;
  GraphSelection* selection_;
  LeftOut* leftOut_;
  NormCosts* costs_;
  ForcedErrors* forcedErrors_;
  ProbeRun* probe_;
  SwapRun* swaps_;
  ReportRun* report_;
  Streams* streams_;
  DifferenceRun* differences_;
  std::vector<std::pair<EngineRun*, JobKind>> beside_;
  QString path_;
  std::optional<protocol::ModelInfo> model_;
  bool sameModel_ = false;
  std::string provedBefore_;
  ModelIndex index_;
  std::optional<protocol::Analysis> analysis_;
  ShownPlan plan_;
  std::optional<protocol::FoldResult> fold_;
  bool foldServed_ = false;  // the engine has it
  Proofs proofs_;            // This model's.
  std::optional<protocol::ExportResult> exported_;
  // Names what exportFor() is to write, once the fold is there.
  struct ToWrite {
    QString path;
    std::string target;
    std::string before;  // the norm flavour that was set then
  };
  std::optional<ToWrite> toWrite_;
  // A file that the engine has written and that is wanted here. Kept when the connection ends.
  struct ToFetch {
    JobKind kind = JobKind::None;
    QString from, to;
    std::function<void()> take;
  };
  std::optional<ToFetch> toFetch_;
  std::pair<QString, QString> shownAs_;  // a path that the engine names, and what it is called here
  std::string flavour_ = protocol::FoldParams().norm;
  int digits_ = 4;
  double limitSeconds_ = 0;
  int64_t limitBytes_ = 0;
  Job job_, confirmation_;
  Question jobQuestion_, confirmationQuestion_;  // Belong to these two.
  QElapsedTimer clock_;
  RemainingTime remaining_;
  QHash<int, protocol::TensorStats> statsCache_;  // under choices_
  int planRevision_ = 0;                          // The revision of choices_.
  Opening opening_;
  protocol::InputsParams inputs_;
};

template <class Params, class T>
void Session::runJob(JobKind kind, const protocol::Method<Params, T>& method,
                     const std::type_identity_t<Params>& params,
                     const std::type_identity_t<std::function<void(T&)>>& done, const Failed& failed) {
  startJob(kind);
  jobQuestion_.ask(method, params, [this, done, failed](Reply<T>& reply) {
    const Job ended = job_;
    endJob();
    reply ? done(*reply) : jobFailed(ended, reply.error(), failed);
  });
}

}  // namespace normlens::ui
