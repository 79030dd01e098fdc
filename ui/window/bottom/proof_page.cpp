#include "ui/window/bottom/pages.h"

#include <QPushButton>
#include <boost/algorithm/string/join.hpp>

#include "core/protocol/proof_text.h"
#include "ui/session/session.h"
#include "ui/widgets/property_list.h"
#include "ui/window/bottom/columns_page.h"
#include "ui/words/format.h"
#include "ui/words/proof_words.h"

namespace normlens::ui {
namespace {

// Shows what folding did and what the proof found: folded k of n, tensors centered, times, errors in both precisions.
class ProofPage final : public ColumnsPage {
 public:
  ProofPage(Session* session, std::function<void()> exportAnyway, QWidget* parent)
      : ColumnsPage(24, parent), session_(session) {
    notice()->setObjectName(QStringLiteral("proofEmpty"));
    QVBoxLayout* first = addColumn(tr("Result"), 4);
    headline_ = describe(makeLabel({}, "title", body()), "foldHeadline");
    first->addWidget(headline_);
    badge_ = describe(new Badge(body()), "proofBadge");
    first->addWidget(badge_, 0, Qt::AlignLeft);
    sentence_ = describe(makeWords("soft", body()), "proofWords");
    first->addWidget(sentence_);
    work_ = new PropertyList(body());
    first->addWidget(work_);
    anyway_ = addButton(first, "secondary", tr("Export anyway"), "exportAnyway",
                        tr("Write the folded model although its outputs differ from the original's."));
    first->setAlignment(anyway_, Qt::AlignLeft);
    connect(anyway_, &QPushButton::clicked, this, exportAnyway);
    first->addStretch(1);

    QVBoxLayout* second = addColumn(
        tr("Algebra, in float64"), 4, 1,
        tr("The same plan on a float64 copy. Rounding is negligible there, so only an error of the method shows."));
    algebra_ = new PropertyList(body());
    algebraNote_ = makeWords("soft", body());
    second->addWidget(algebra_);
    second->addWidget(algebraNote_);
    second->addStretch(1);

    QVBoxLayout* third = addColumn(tr("File, in its own type"), 4, 1,
                                   tr("The folded weights are rounded. The limit is how far the original moves when "
                                      "its weights move by half a unit in the last place."));
    file_ = new PropertyList(body());
    third->addWidget(file_);
    third->addStretch(1);
    for (const auto signal : {&Session::foldChanged, &Session::jobChanged, &Session::planChanged}) {
      connect(session_, signal, this, &ProofPage::showResult);
    }
    showResult();
  }

 private:
  void showResult() {
    const auto& result = session_->foldResult();
    showColumns(result.has_value());
    if (!result) {
      notice()->setText(emptyText());
      return;
    }
    const protocol::PlanInfo& plan = result->plan;
    headline_->setText(
        (result->ok ? tr("Folded %1 of %2") : tr("Would fold %1 of %2")).arg(plan.folded.size()).arg(plan.layer_norms));
    showVerdict(*result);
    const QString caution = result->verify ? text(protocol::proofCaution(*result->verify)) : QString();
    sentence_->setText(caution.isEmpty() ? asSentence(text(result->reason)) : caution);
    setKind(sentence_, caution.isEmpty() ? "soft" : "error");
    sentence_->setVisible(!sentence_->text().isEmpty());
    QVector<Property> work;
    for (const auto& condition : result->holds_if)
      work.push_back({tr("holds if"), text(condition.text), text(condition.tested), true});
    work.append({{tr("tensors centered"), QString::number(plan.tensors_centered), {}},
                 {tr("bytes rewritten"), formatBytes(plan.bytes_centered), {}},
                 {tr("copies add"), formatBytes(plan.bytes_grown),
                  tr("Tensors that other nodes read uncentered get a centered copy.")},
                 {tr("centerings at run time"), QString::number(plan.centerings), {}},
                 {tr("time to fold"), formatMilliseconds(result->fold_ms),
                  tr("Analysis, centering and rewriting, without load, save and proof.")}});
    if (const QString at = provedAt(result->proved); !at.isEmpty()) work.push_back({tr("proved"), at, {}});
    work_->setProperties(work);
  }
  [[nodiscard]] QString emptyText() const {
    if (session_->job().kind == JobKind::Folding) return tr("Folding and proving.");
    if (const QString why = session_->runObstacle(); !why.isEmpty()) return why;
    if (session_->plan() && session_->plan()->folded.empty())
      return tr("Nothing to prove: the plan folds no LayerNorm.");
    if (session_->keepsProof())
      return keptProof(session_->keepsProofOfPlan(), session_->choices()->undoStack()->canUndo(),
                       session_->choices()->undoStack()->canRedo());
    if (const QString at = provedAt(session_->provedBefore()); !at.isEmpty())
      return tr("The project says that its plan was proved on %1. Press Fold to prove it here.").arg(at);
    return tr("Nothing is folded yet. Press Fold to apply the plan and prove the result.");
  }
  void showVerdict(const protocol::FoldResult& result) {
    anyway_->setVisible(!result.ok && !result.plan.folded.empty());
    algebra_->setProperties({});
    file_->setProperties({});
    algebraNote_->hide();
    if (!result.verify) {
      badge_->set(Badge::Tone::Neutral, QStringLiteral("info"), tr("Not proved"));
      return;
    }
    const protocol::VerifyResult& proof = *result.verify;
    ui::showProof(badge_, proof);
    if (proof.algebra_done) {
      algebra_->setProperties(
          {{tr("largest relative difference"), formatError(proof.algebra.max_rel), {}, true},
           {tr("allowed"), formatError(proof.algebra.limit),
            tr("1e-10, or six times the original's own rounding noise in float64 if that is more.")},
           {tr("largest absolute difference"), formatError(proof.algebra.max_abs), {}}});
    }
    const auto how = protocol::howProved(proof);
    algebraNote_->setVisible(!how.empty());
    algebraNote_->setText(text(boost::algorithm::join(how, " ")));
    QVector<Property> file;
    if (proof.file_done) {
      file = {{tr("largest relative difference"), formatError(proof.file.max_rel), {}, true},
              {tr("allowed"), text(protocol::allowedInFile(proof)), {}},
              {tr("largest absolute difference"), formatError(proof.file.max_abs), {}},
              {tr("type"), text(proof.file_dtype), {}}};
    } else if (!proof.file_reason.empty()) {
      file = {{tr("not compared"), asSentence(text(proof.file_reason)), {}}};
    }
    if (proof.errors) {
      file.push_back({tr("error of the fold, of the original"),
                      tr("%1, %2").arg(formatError(proof.errors->folded), formatError(proof.errors->original)),
                      tr("Difference of each from the original's float64 copy, in the row that decides."), true});
    }
    if (!proof.first_diverging.empty())
      file.push_back({tr("outputs differ from"), session_->titleOfNorm(proof.first_diverging), {}, true});
    if (!proof.not_run.empty()) {
      file.push_back({tr("folded, not run by these inputs"), nameList(proof.not_run), {}, true});
    }
    file_->setProperties(file);
  }

  Session* session_;  // Not owned.
  Badge* badge_;
  QLabel* headline_;
  QLabel* sentence_;
  PropertyList* work_;
  PropertyList* algebra_;
  PropertyList* file_;
  QLabel* algebraNote_;
  QPushButton* anyway_;
};

}  // namespace

QWidget* makeProofPage(Session* session, std::function<void()> exportAnyway, QWidget* parent) {
  return new ProofPage(session, std::move(exportAnyway), parent);
}

}  // namespace normlens::ui
