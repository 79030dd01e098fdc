// The item models of the window against Qt's own tester, and the search among their rows.
#include <QAbstractItemModelTester>
#include <QLocale>
#include <QStandardItemModel>
#include <QtTest>

#include <limits>
#include <map>

#include "core/protocol/proof_text.h"
#include "tests/support/graph_documents.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/models/bench_export.h"
#include "ui/models/cost_advice.h"
#include "ui/models/edit_model.h"
#include "ui/models/norm_model.h"
#include "ui/models/norm_table.h"
#include "ui/models/scope_model.h"
#include "ui/models/search/norm_filter.h"
#include "ui/models/search/search_model.h"
#include "ui/models/table_text.h"
#include "ui/session/model_index.h"
#include "ui/session/proofs.h"
#include "ui/words/format.h"
#include "ui/words/remaining_time.h"

namespace normlens::ui {
namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::QtTest;

// One line per row, children indented: what a tree view would show.
QString printed(const QAbstractItemModel& model, const QModelIndex& parent = {}, int depth = 0) {
  QString text;
  for (int row = 0; row < model.rowCount(parent); ++row) {
    const QModelIndex at = model.index(row, 0, parent);
    text += QString(qsizetype{2} * depth, u' ') + at.data().toString() + u'\n' + printed(model, at, depth + 1);
  }
  return text;
}

protocol::NormInfo norm(int index, const std::string& name, Verdict verdict) {
  protocol::NormInfo info;
  info.index = index;
  info.name = name;
  info.title = name;
  info.verdict = verdict;
  info.reason = "because of " + name;
  info.normalized_shape = {768};
  return info;
}

std::vector<protocol::NormInfo> someNorms() {
  return {norm(0, "h.0.ln_1", Verdict::Free), norm(1, "h.0.ln_2", Verdict::Blocked), norm(2, "h.1.ln_1", Verdict::Free),
          norm(3, "ln_f", Verdict::WithCentering)};
}

}  // namespace

class TestModels final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void normsAreGroupedByVerdict() {
    NormModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    QCOMPARE(printed(model), QStringLiteral("Can fold free\nWith shared centering\nBlocked\n"));
    model.setNorms(someNorms());
    QCOMPARE(printed(model),
             QStringLiteral("Can fold free\n  0.ln_1\n  1.ln_1\nWith shared centering\n  ln_f\nBlocked\n  h.0.ln_2\n"));
    QCOMPARE(model.index(0, 0).data(NormModel::CountRole).toInt(), 2);
    const QModelIndex blocked = model.indexOfNorm(1);
    QCOMPARE(blocked.data().toString(), QStringLiteral("h.0.ln_2"));
    QCOMPARE(blocked.data(NormModel::ReasonRole).toString(), QStringLiteral("because of h.0.ln_2"));
    QCOMPARE(blocked.data(NormModel::WidthRole).toString(), QStringLiteral("768"));
    QVERIFY(!model.indexOfNorm(99).isValid());
    model.setNorms({});
    QCOMPARE(model.index(0, 0).data(NormModel::CountRole).toInt(), 0);
  }

  void whatAllNamesShareIsLeftOut() {
    NormModel model;
    model.setNorms({norm(0, "m.net.enc.ln", Verdict::Free), norm(1, "m.net.encoder.ln", Verdict::Free)});
    QCOMPARE(model.sharedEnds(), QStringLiteral("m.net. … .ln"));
    QCOMPARE(model.indexOfNorm(0).data().toString(), QStringLiteral("enc"));
    QCOMPARE(model.indexOfNorm(1).data().toString(), QStringLiteral("encoder"));
    QCOMPARE(model.indexOfNorm(1).data(NormModel::NameRole).toString(), QStringLiteral("m.net.encoder.ln"));
    model.setNorms({norm(0, "m.net.ln", Verdict::Free)});
    QCOMPARE(model.indexOfNorm(0).data().toString(), QStringLiteral("m.net.ln"));
    QCOMPARE(model.sharedEnds(), QString());
    model.setNorms({norm(0, "ln", Verdict::Free), norm(1, "m.ln", Verdict::Free)});
    QCOMPARE(model.indexOfNorm(0).data().toString(), QStringLiteral("ln"));
  }

  void namesOfBertDiffer() {
    NormModel model;
    const std::string layers = "m.bert.encoder.layer.";
    model.setNorms({norm(0, "m.bert.embeddings.LayerNorm", Verdict::Free),
                    norm(1, layers + "0.attention.output.LayerNorm", Verdict::Blocked),
                    norm(2, layers + "0.output.LayerNorm", Verdict::Blocked)});
    QCOMPARE(model.sharedEnds(), QStringLiteral("m.bert. … .LayerNorm"));
    QCOMPARE(printed(model), QStringLiteral("Can fold free\n  embeddings\nWith shared centering\nBlocked\n  "
                                            "attention.output\n  output\n"));
    QCOMPARE(model.index(2, 0).data(NormModel::SharedRole).toString(), QStringLiteral("encoder.layer.0."));
  }

  void unknownNormsAreAGroupOfTheirOwn() {
    NormModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.setNorms({norm(0, "x", Verdict::Unknown), norm(2, "z", Verdict::Blocked)});
    QCOMPARE(printed(model), QStringLiteral("Can fold free\nWith shared centering\nBlocked\n  z\nNot known\n  x\n"));
    QCOMPARE(model.index(3, 0).data(NormModel::CountRole).toInt(), 1);
  }

  void whatThePlanDoesStandsBesideTheVerdict() {
    NormModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.setNorms(someNorms());
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    const PlanMark none, folds{PlanState::Planned, {}}, kept{PlanState::Kept, QStringLiteral("you keep it")};
    model.setPlan({folds, none, kept});
    QCOMPARE(changed.count(), 3);  // two rows and their group
    const QModelIndex row = model.indexOfNorm(2);
    QCOMPARE(row.data(NormModel::PlanRole).toInt(), static_cast<int>(PlanState::Kept));
    QVERIFY(row.data(NormModel::ReasonRole).toString().endsWith(QStringLiteral("because you keep it.")));
    QCOMPARE(row.parent().data(NormModel::PlanWordRole).toString(), QStringLiteral("1 will fold, 1 stays"));
    QCOMPARE(model.indexOfNorm(0).data(NormModel::PlanWordRole).toString(), QStringLiteral("will fold"));
    model.setPlan({folds});
    QCOMPARE(changed.count(), 5);
    QCOMPARE(model.indexOfNorm(2).data(NormModel::PlanWordRole).toString(), QString());
  }

  void theSummaryOfAPlanCountsWhatStandsInTheList() {
    const std::vector<protocol::NormInfo> norms{norm(0, "a", Verdict::Free), norm(1, "b", Verdict::Free),
                                                norm(2, "c", Verdict::Blocked)};
    const QString why = QStringLiteral("a copy would add 131 kB");
    const PlanMark free{PlanState::Folded, {}}, own{PlanState::FoldedCentered, why, true, 1}, kept{PlanState::Kept, {}},
        planned{PlanState::Planned, {}}, other{PlanState::OtherOutputs, {}};
    QCOMPARE(planSummary(norms, {free, own, kept}, 1).head, QStringLiteral("Folded 2 of 3"));
    QCOMPARE(planSummary(norms, {free, own, kept}, 1).detail,
             QStringLiteral("1 free, 1 with its own centering because a copy would add 131 kB, 1 stays a LayerNorm"));
    QCOMPARE(planSummary(norms, {planned, planned, planned}, 1).detail,
             QStringLiteral("2 free, 1 despite the verdict"));
    // Free by its verdict, and yet the plan centers before it.
    const PlanMark resting{PlanState::Folded, {}, false, 1}, alone{PlanState::FoldedCentered, {}, true, 1};
    QCOMPARE(planSummary(norms, {resting, resting, kept}, 1).detail,
             QStringLiteral("2 with a shared centering, 1 stays a LayerNorm"));
    QCOMPARE(planSummary(norms, {resting, alone, resting}, 2).detail,
             QStringLiteral("2 with a shared centering, 1 with its own centering"));
    QCOMPARE(planSummary(norms, {alone, alone, kept}, 2).detail,
             QStringLiteral("2 with their own centerings, 1 stays a LayerNorm"));
    const PlanMark thrice{PlanState::FoldedCentered, {}, true, 3};
    QCOMPARE(planSummary(norms, {thrice, kept, kept}, 3).detail,
             QStringLiteral("1 with 3 centerings, 2 stay LayerNorms"));
    // The first to read a shared centering says why it is there, and is counted with the others.
    const PlanMark leading{PlanState::FoldedCentered, QStringLiteral("its input comes from a"), false, 1};
    QCOMPARE(planSummary(norms, {leading, resting, resting}, 1).detail,
             QStringLiteral("3 with a shared centering because their input comes from a"));
    const PlanMark unseen{PlanState::NotRun, {}};
    QCOMPARE(planSummary(norms, {free, unseen, kept}, 1).head, QStringLiteral("Folded 2 of 3"));
    QCOMPARE(planSummary(norms, {free, unseen, kept}, 1).detail,
             QStringLiteral("2 free, 1 not run by the proof, 1 stays a LayerNorm"));
    NormModel model;
    model.setNorms(norms);
    model.setPlan({free, unseen, kept});
    const QModelIndex first = model.index(0, 0);
    QCOMPARE(first.data(NormModel::PlanWordRole).toString(), QStringLiteral("1 folded, 1 folded, not run"));
    model.setPlan({free, free, {PlanState::PlannedCentered, {}, true, 1}});
    QCOMPARE(model.index(2, 0).data(NormModel::PlanWordRole).toString(),
             QStringLiteral("1 will fold with a centering"));
    QCOMPARE(planSummary(norms, {kept, kept, kept}, 1).head, QStringLiteral("Folds 0 of 3"));
    // Why others stay is no reason for outputs that differ.
    const PlanSummary differ = planSummary(norms, {other, other, {PlanState::Kept, why}}, 1);
    QCOMPARE(differ.head, QStringLiteral("Outputs differ with 2 of 3 folded"));
    QCOMPARE(differ.detail, QString());
    const PlanMark fed{PlanState::Kept, QStringLiteral("its input comes from a")};
    QCOMPARE(planSummary(norms, {free, fed, fed}, 1).detail,
             QStringLiteral("1 free, 2 stay LayerNorms because their input comes from a"));
  }

  void aProofColoursOnlyWhatItProved() {
    protocol::NormState state;
    state.norm = 1;
    state.state = NormOutcome::FoldedWithCentering;
    state.counted = true;
    state.centerings = {0};
    protocol::PlanInfo plan;
    plan.edits.resize(1);
    plan.edits[0].frees.add(1);
    QCOMPARE(planMark(plan, state, nullptr, -1).state, PlanState::PlannedCentered);
    protocol::FoldResult result;
    result.ok = true;
    result.verify.emplace();
    QCOMPARE(planMark(plan, state, &result, -1).state, PlanState::PlannedCentered);  // not decided
    result.verify->exact = true;
    QCOMPARE(planMark(plan, state, &result, -1).state, PlanState::FoldedCentered);
    QVERIFY(planMark(plan, state, &result, -1).own);
    plan.edits[0].frees.add(2);  // another norm rests on it, too
    QVERIFY(!planMark(plan, state, &result, -1).own);
    state.centerings = {7};  // which the plan does not have
    QVERIFY(!planMark(plan, state, &result, -1).own);
    state.counted = false;  // the centering counts as another's
    QCOMPARE(planMark(plan, state, &result, -1).state, PlanState::Folded);
    const PlanMark unseen = planMark(plan, state, &result, -1, {1});
    QVERIFY(unseen.state == PlanState::NotRun && unseen.folded());
    QCOMPARE(planIcon(unseen.state), planIcon(PlanState::Planned));  // dashed
    QVERIFY(!planBadge(unseen.state).contains(QStringLiteral("proved")));
    QCOMPARE(planMark(plan, state, &result, -1, {0}).state, PlanState::Folded);
    result.verify->exact = false;
    QCOMPARE(planMark(plan, state, &result, 1).state, PlanState::OtherOutputs);
    QCOMPARE(planMark(plan, state, &result, 2).state, PlanState::Planned);  // the first to differ comes later
  }

  // The words name the types, what decides the limit, and both errors where the fold is off by more than rounding.
  void aProofIsNamedWithItsTypes() {
    protocol::VerifyResult proof;
    QCOMPARE(text(protocol::proofTitle(proof)), QStringLiteral("Not decided"));
    proof.exact = true;
    proof.algebra_done = proof.file_done = true;
    proof.file_dtype = "bfloat16";
    proof.file = {0.1, 0.08, 0.1875};
    proof.errors = {0.002, 0.06};
    QCOMPARE(text(protocol::proofTitle(proof)), QStringLiteral("Exact in float64 and bfloat16"));
    QCOMPARE(text(protocol::proofCaution(proof)), QString());
    QCOMPARE(text(protocol::allowedInFile(proof)), QStringLiteral("0.19 = 6 × a few roundings in bfloat16"));
    proof.floor = ErrorFloor::Original;
    QCOMPARE(text(protocol::allowedInFile(proof)), QStringLiteral("0.19 = 6 × the original's own error"));
    proof.beyond_rounding = true;
    proof.not_run = {"ln"};
    QCOMPARE(text(protocol::proofTitle(proof)), QStringLiteral("Exact in float64 · bfloat16 off by 0.06 · 1 not run"));
    QCOMPARE(text(protocol::proofCaution(proof)),
             QStringLiteral("In bfloat16, the fold is off by 0.06 and the original by 2e-3: more than rounding."));
    proof.errors = {0.05, 0.06};
    QCOMPARE(text(protocol::proofTitle(proof)),
             QStringLiteral("Exact in float64 · bfloat16 as near as the original · 1 not run"));
    QCOMPARE(text(protocol::proofCaution(proof)),
             QStringLiteral("In bfloat16, the original itself is off by 0.05; the fold by 0.06, as much."));
    proof.file_dtype = "float64";
    proof.beyond_rounding = false;
    QCOMPARE(text(protocol::proofTitle(proof)), QStringLiteral("Exact in float64 · 1 not run"));
    QCOMPARE(text(protocol::allowedInFile(proof)), QStringLiteral("0.19"));
    proof.exact = false;
    QCOMPARE(text(protocol::proofTitle(proof)), QStringLiteral("Outputs differ"));
    QCOMPARE(formatShare(3, 5), QStringLiteral("3 of 5"));
    QCOMPARE(formatShare(3, 5, 2), QStringLiteral("3 of 5, 2 not known"));
  }

  void theFilterKeepsGroupsAndCountsWhatIsLeft() {
    NormModel model;
    NormFilter filter;
    const QAbstractItemModelTester tester(&filter, kFatal);
    filter.setSourceModel(&model);
    model.setNorms(someNorms());
    filter.setWords(QStringLiteral("LN_1 h.1"));
    QCOMPARE(printed(filter), QStringLiteral("Can fold free\n  1.ln_1\nWith shared centering\nBlocked\n"));
    QCOMPARE(filter.index(0, 0).data(NormModel::CountRole).toInt(), 1);
    filter.setWords(QStringLiteral("nothing like this"));
    QCOMPARE(printed(filter), QStringLiteral("Can fold free\nWith shared centering\nBlocked\n"));
    filter.setWords({});
    QCOMPARE(filter.index(0, 0).data(NormModel::CountRole).toInt(), 2);
  }

  void scopesFormATree() {
    ScopeModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    protocol::GraphDocument graph;
    graph.scopes = {{0, "", "", "Net", -1},
                    {1, "h", "h", "ModuleList", 0},
                    {2, "0", "h.0", "Block", 1},
                    {3, "head", "head", "Linear", 0}};
    protocol::GraphNode node;
    node.scope = 2;
    node.norm = 0;
    graph.nodes.push_back(node);
    model.setGraph(graph, QStringLiteral("gpt2"));
    QCOMPARE(printed(model), QStringLiteral("gpt2\n  h\n    0\n  head\n"));
    QCOMPARE(model.indexOfScope(2).data(ScopeModel::NormCountRole).toInt(), 1);
    QCOMPARE(model.indexOfScope(0).data(ScopeModel::NormCountRole).toInt(), 1);
    QCOMPARE(model.indexOfScope(3).data(ScopeModel::NormCountRole).toInt(), 0);
    model.setGraph({}, {});
    QCOMPARE(model.rowCount(), 0);
  }

  void scopesThatAreNoTreeDoNotHang() {
    ScopeModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    protocol::GraphDocument graph;
    graph.scopes = {{0, "a", "a", "", 1}, {1, "b", "b", "", 0}, {2, "c", "c", "", 2}};
    model.setGraph(graph, QStringLiteral("odd"));
    QCOMPARE(printed(model), QStringLiteral("a\n  b\nc\n"));
  }

  void editsAreATableWithTicks() {
    EditModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    const protocol::EditInfo center{
        EditKind::CenterConstant, "center wte.weight over 48 columns", 3, 40000, 40000, {0, 1}};
    const protocol::EditInfo replace{EditKind::ReplaceNorm, "replace ln_f", 9, 0, 0, {1}};
    const QStringList both{QStringLiteral("h.ln_1"), QStringLiteral("ln_f")};
    model.setLines({{{center, true}, both}, {{replace, false}, both.mid(1)}});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, EditModel::What).data().toString(), QStringLiteral("center wte.weight over 48 columns"));
    QCOMPARE(model.index(0, EditModel::Cost).data().toString(), QStringLiteral("file grows by 40 kB"));
    QCOMPARE(model.index(0, EditModel::Frees).data().toString(), QStringLiteral("2 norms"));
    QCOMPARE(model.index(1, EditModel::Frees).data().toString(), QStringLiteral("ln_f"));
    QCOMPARE(model.index(1, EditModel::Cost).data().toString(), QStringLiteral("one mean less per run"));
    QCOMPARE(model.index(0, 0).data(EditModel::NodeRole).toInt(), 3);
    QCOMPARE(model.index(1, 0).data(Qt::CheckStateRole).toInt(), static_cast<int>(Qt::Unchecked));
    QSignalSpy switched(&model, &EditModel::switched), reset(&model, &QAbstractItemModel::modelReset);
    QVERIFY(model.setData(model.index(1, 0), Qt::Checked, Qt::CheckStateRole));
    QVERIFY(!model.setData(model.index(0, 0), Qt::Checked, Qt::CheckStateRole));
    QCOMPARE(switched.count(), 1);
    // The same edits, one of them switched: no reset, so a view keeps its place.
    model.setLines({{{center, true}, {}}, {{replace, true}, {}, NormCost{{1.0, 0.8, 1.2}, {1.5, 1.4, 1.6}}}});
    QCOMPARE(reset.count(), 0);
    QCOMPARE(model.index(1, EditModel::Cost).data().toString(), QStringLiteral("saves 1.0 µs (0.8–1.2)"));
    model.setLines({{{center, true}, {}}, {{replace, true}, {}, NormCost{{0.1, -0.2, 0.4}, {1.5, 1.4, 1.6}}}});
    QCOMPARE(model.index(1, EditModel::Cost).data().toString(), QStringLiteral("no clear gain"));
    const protocol::EditInfo drop{EditKind::DropAddend, "drop the number 3, constant along the channels", 3, 0, 0, {1}};
    model.setLines({{{drop, true}, {}}});
    QCOMPARE(model.index(0, EditModel::Kind).data().toString(), QStringLiteral("Drop addend"));
    QVERIFY(!model.index(0, EditModel::Kind).data(Qt::ToolTipRole).toString().isEmpty());
    model.setLines({});
    QCOMPARE(model.rowCount(), 0);
  }

  void editsTurnedOffStayInTheList() {
    const protocol::EditInfo a{EditKind::CenterConstant, "center a", 1, 8, 0, {0, 2}},
        b{EditKind::CenterConstant, "center b", 2, 8, 0, {1}},
        alone{EditKind::CenterConstant, "center a (copy)", 1, 8, 8, {2}};
    protocol::PlanInfo offered, plan;
    offered.edits = {a, b};
    plan.edits = {alone};
    const std::vector<PlanRow> rows = planRows(offered, plan);
    QCOMPARE(rows.size(), size_t{3});
    QVERIFY(!rows[0].on && !rows[1].on && rows[2].on);
    QCOMPARE(rows[2].edit.text, alone.text);
  }

  // Two values of a traced model may have one name: "m.encoder.layers.0 (add)".
  void editsOfOneNameAreToldApartByWhatTheyChange() {
    const protocol::EditInfo first{EditKind::InsertCentering, "center m.layers.0 (add) at run time", 4, 0, 0, {0}, {7}},
        second{EditKind::InsertCentering, "center m.layers.0 (add) at run time", 4, 0, 0, {1}, {9}};
    protocol::PlanInfo offered, plan;
    offered.edits = {first, second};
    plan.edits = {second};
    const std::vector<PlanRow> rows = planRows(offered, plan);
    QCOMPARE(rows.size(), size_t{2});
    QVERIFY2(!rows[0].on && rows[1].on, "the first is out, the second is not");
    const Fall fall = fallBetween(offered, {}, second);
    QVERIFY2(fall.holds(first) && !fall.holds(second), "it is lost with one of the same name");
    QVERIFY(!sameEdits(offered, plan));
    EditModel model;
    model.setLines({{{first, true}, {}}, {{second, true}, {}}});
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    model.setLines({{{second, true}, {}}, {{first, true}, {}}});
    QCOMPARE(reset.count(), 1);
  }

  void anEditThatIsTurnedOffLeavesItsWeightAlone() {
    const protocol::EditInfo center{
        EditKind::CenterConstant, "center h.0.proj.weight over 8 columns", 1, 8, 0, {0, 2}, {7}},
        replace{EditKind::ReplaceNorm, "replace ln by an RMSNorm", 2, 0, 0, {2}};
    protocol::PlanParams params;
    params.keep_norms = {5};
    const protocol::PlanParams without = toggled(params, center, false);
    QCOMPARE(without.keep_values, std::vector<int>{7});
    QCOMPARE(without.keep_norms, std::vector<int>{5});  // another way may fold them
    QVERIFY(samePlan(toggled(without, center, true), params));
    const protocol::PlanParams kept = toggled(params, replace, false);
    QCOMPARE(kept.keep_norms, (std::vector<int>{2, 5}));
    QVERIFY(samePlan(toggled(kept, replace, true), params));
    QVERIFY(sameOffer(kept, without) && !samePlan(kept, without));
    protocol::PlanParams carrying = kept;
    carrying.carry_means = true;
    QVERIFY(!samePlan(kept, carrying));
    params.copy_values = {7};  // asked for before: leaving it out takes that back
    QVERIFY(toggled(params, center, false).copy_values.empty());
  }

  void theNormTableSortsFiltersAndGroups() {
    NormTable model;
    NormSorter sorter;
    const QAbstractItemModelTester tester(&model, kFatal), sorterTester(&sorter, kFatal);
    sorter.setSourceModel(&model);
    auto norms = someNorms();
    norms[0].normalized_shape = {1024};
    norms[1].normalized_shape = {64};
    model.setNorms(norms);
    const auto order = [&] {
      QStringList names;
      for (int row = 0; row < sorter.rowCount(); ++row) names << sorter.index(row, NormTable::Name).data().toString();
      return names.join(u' ');
    };
    sorter.sort(NormTable::Over, Qt::AscendingOrder);  // as numbers: 64 before 768 before 1024
    QCOMPARE(order(), QStringLiteral("h.0.ln_2 h.1.ln_1 ln_f h.0.ln_1"));
    sorter.setGrouped(true);
    QCOMPARE(order(), QStringLiteral("h.1.ln_1 h.0.ln_1 ln_f h.0.ln_2"));
    sorter.sort(NormTable::Place, Qt::DescendingOrder);
    QCOMPARE(order(), QStringLiteral("h.1.ln_1 h.0.ln_1 ln_f h.0.ln_2"));
    sorter.setWords(QStringLiteral("free LN_1"));
    QCOMPARE(order(), QStringLiteral("h.1.ln_1 h.0.ln_1"));
    model.setPlan({{PlanState::Folded, {}}, {}, {PlanState::Kept, {}}});
    QCOMPARE(sorter.index(0, NormTable::InPlan).data().toString(), QStringLiteral("stays a LayerNorm"));
    QCOMPARE(sorter.index(1, NormTable::InPlan).data().toString(), QStringLiteral("folded"));
    model.setPlan({{PlanState::FoldedCentered, {}, true, 1}});  // the verdict needs none, the plan takes one
    QCOMPARE(sorter.index(1, NormTable::Centerings).data().toString(), QStringLiteral("1"));
    QCOMPARE(sorter.index(1, NormTable::Centerings).data(kSortRole).toInt(), 1);
    // Savings sort as times, and one that is not clear counts as none.
    sorter.setWords({});
    sorter.setGrouped(false);
    model.setCosts({NormCost{{9, 7, 11}, {}}, NormCost{{-3, -4, -2}, {}}, NormCost{{12, -1, 25}, {}}});
    sorter.sort(NormTable::Saves, Qt::DescendingOrder);
    QCOMPARE(order(), QStringLiteral("h.0.ln_1 ln_f h.1.ln_1 h.0.ln_2"));
    const auto saves = [&](int row) { return sorter.index(row, NormTable::Saves).data().toString(); };
    QCOMPARE(saves(0), QStringLiteral("saves 9.0 µs (7.0–11.0)"));
    QCOMPARE(saves(1), QStringLiteral("–"));
    QCOMPARE(saves(2), QStringLiteral("no clear gain"));
    QCOMPARE(saves(3), QStringLiteral("costs 3.0 µs (2.0–4.0)"));
    model.setNorms({});
    QCOMPARE(sorter.rowCount(), 0);
  }

  void adviceAddsUpWhatACenteringFrees() {
    protocol::Analysis analysis;
    for (int index = 0; index < 9; ++index) {
      const Verdict verdict = index < 2 || index == 5    ? Verdict::Free
                              : index == 4 || index == 6 ? Verdict::Blocked
                              : index == 8               ? Verdict::Unknown
                                                         : Verdict::WithCentering;
      analysis.norms.push_back(norm(index, "n", verdict));
    }
    const auto centering = [](const char* subject, IndexRanges frees) {
      protocol::EditInfo edit;
      edit.kind = EditKind::InsertCentering;
      edit.subject = subject;
      edit.frees = std::move(frees);
      return edit;
    };
    protocol::PlanInfo plan;
    plan.folded = {0, 1, 2, 3, 7};
    plan.edits = {centering("a", {2, 3}), centering("b", {3, 7})};
    std::map<int, NormCost> costs;
    for (const int index : {0, 1, 2, 3, 5}) costs[index] = {{10, 8, 12}, {12, 11, 13}};
    costs[7] = {{40, 38, 42}, {12, 11, 13}};
    costs[4] = {{10, 8, 12}, {30, 28, 32}};
    costs[6] = {{90, 1, 99}, {60, 1, 70}};
    costs[8] = costs[0];
    const auto costOf = [&](int index) {
      const auto found = costs.find(index);
      return found == costs.end() ? std::nullopt : std::optional(found->second);
    };
    const auto all = adviceByGain(analysis, plan, costOf);
    std::vector<std::vector<int>> norms;
    for (const Advice& advice : all) norms.push_back(advice.norms);
    // Norm 3 rests on both centerings, which makes one group of three norms. What is not shown to save comes after
    // every gain, however large its middle; 8 is not known to fold.
    QCOMPARE(norms, (std::vector<std::vector<int>>{{2, 3, 7}, {0, 1}, {5}, {6}, {4}}));
    const auto isPrice = [](const Price& is, double us, double low, double high) {
      return is.us == us && is.low == low && is.high == high;
    };
    QVERIFY(isPrice(all[0].gain, 60 - 24, 54 - 26, 66 - 22));
    QCOMPARE(all[0].centerings, (QStringList{QStringLiteral("a"), QStringLiteral("b")}));
    QVERIFY(isPrice(all[1].gain, 20, 16, 24) && all[1].centerings.isEmpty() && all[1].inPlan);
    QVERIFY(!all[2].inPlan && !all[4].inPlan);
    QVERIFY(!all[3].gain.isClear());
    QVERIFY(isPrice(all[4].gain, -20, 8 - 32, 12 - 28));
    // A stream that carries its mean has no price.
    plan.edits.push_back(centering("c", {0}));
    plan.edits.back().kind = EditKind::RestoreMean;
    QCOMPARE(adviceByGain(analysis, plan, costOf)[1].norms, std::vector<int>{1});
    costs.clear();
    QVERIFY(adviceByGain(analysis, plan, costOf).empty());
  }

  void tablesAreCopiedAsCsvMarkdownAndLatex() {
    QStandardItemModel model(2, 2);
    model.setHorizontalHeaderLabels({QStringLiteral("name"), QStringLiteral("why")});
    model.setItem(0, 0, new QStandardItem(QStringLiteral("a,b")));
    model.setItem(0, 1, new QStandardItem(QStringLiteral("he said \"no\"")));
    model.setItem(1, 0, new QStandardItem(QStringLiteral("c|d")));
    model.setItem(1, 1, new QStandardItem(QStringLiteral("plain")));
    QCOMPARE(tableText(model, allRows(model), TableFormat::Csv),
             QStringLiteral("name,why\r\n\"a,b\",\"he said \"\"no\"\"\"\r\nc|d,plain\r\n"));
    QCOMPARE(tableText(model, {1}, TableFormat::Markdown),
             QStringLiteral("| name | why |\n| --- | --- |\n| c\\|d | plain |\n"));
    model.setItem(1, 0, new QStandardItem(QStringLiteral("ln_1")));
    model.setItem(1, 1, new QStandardItem(QStringLiteral("3.8 µs, 5%")));
    QCOMPARE(tableText(model, {1}, TableFormat::Latex),
             QStringLiteral("\\begin{tabular}{lr}\n\\toprule\nname & why \\\\\n\\midrule\n"
                            "ln\\_1 & 3.8 $\\mu$s, 5\\% \\\\\n\\bottomrule\n\\end{tabular}\n"));
  }

  void aMeasurementIsTakenAlongAsPlainNumbersInEveryLocale() {
    protocol::BenchResult result;
    result.machine.cpu = "Some CPU";
    result.versions = "NormLens 0.1.0, LibTorch 2.15.0";
    protocol::BenchPoint point;
    point.at = {{"seq", "64"}};
    point.device = "cpu";
    point.dtype = "float32";
    point.threads = 2;
    point.a.model = "original";
    point.a.runtime = "LibTorch 2.15.0";
    point.a.latency.median_ms = 1234.5;
    point.a.peak_bytes = 27648;
    point.b = point.a;
    point.b->model = "folded";
    point.rounds = {{1234.5, 987.6}, {1234.5, 987.6}};
    point.speedup = 1.25;
    point.ci_high = std::numeric_limits<double>::infinity();
    point.break_even = 12345;
    point.other_cores = 0.875;
    point.crowded = true;
    protocol::BenchPoint failed;
    failed.at = {{"seq", "16384"}};
    failed.error = "out of memory, \"really\"";
    result.points = {point, failed};
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    const QStringList lines = benchCsv(result, {}).split(QStringLiteral("\r\n"));
    const QString notes = benchNotes(result, {});
    const QString count = formatCount(1234567);
    QLocale::setDefault(before);
    QCOMPARE(count, QStringLiteral("1,234,567"));  // beside numbers with decimal points
    QCOMPARE(lines.size(), 4);                     // the last one is empty
    const QStringList heads = lines[0].split(u','), figures = lines[1].split(u',');
    QCOMPARE(figures.size(), heads.size());
    const auto figure = [&](const char* head) { return figures.value(heads.indexOf(QLatin1String(head))); };
    QCOMPARE(figure("A median ms"), QStringLiteral("1234.5"));
    QCOMPARE(figure("B peak bytes"), QStringLiteral("27648"));
    QCOMPARE(figure("speed-up"), QStringLiteral("1.25"));
    QCOMPARE(figure("95% to"), QStringLiteral("inf"));
    QCOMPARE(figure("noise"), QStringLiteral("noise"));
    QCOMPARE(figure("break-even"), QStringLiteral("12345"));
    QCOMPARE(figure("other programs' cores"), QStringLiteral("0.875"));
    QVERIFY2(notes.contains(QStringLiteral("Other programs used 0.9 cores")), qPrintable(notes));
    QVERIFY2(lines[2].endsWith(QStringLiteral(",\"out of memory, \"\"really\"\"\"")), qPrintable(lines[2]));
    QCOMPARE(lines[2].count(u','), heads.size());  // one of them in the message
    QVERIFY2(notes.contains(QStringLiteral("Some CPU; threads: 2; NormLens 0.1.0")), qPrintable(notes));
    QVERIFY2(notes.contains(QStringLiteral("seq 16384 failed: out of memory")), qPrintable(notes));
  }

  void whatRemainsIsEstimatedPerStage() {
    RemainingTime time;
    time.begin(0);
    time.report(QStringLiteral("a"), 0.0, 0);
    time.report(QStringLiteral("a"), 0.5, 400);
    QCOMPARE(time.milliseconds(), qint64{-1});  // too early to tell
    time.report(QStringLiteral("a"), 0.5, 2000);
    QCOMPARE(time.milliseconds(), qint64{2000});
    time.report(QStringLiteral("b"), 0.0, 2100);
    QCOMPARE(time.milliseconds(), qint64{-1});
    time.report(QStringLiteral("b"), 0.25, 5100);
    QCOMPARE(time.milliseconds(), qint64{9000});
    time.report(QStringLiteral("c"), -1, 6000);
    QCOMPARE(time.milliseconds(), qint64{-1});
    QCOMPARE(remainingWords(12400), QStringLiteral("about 12 s left"));
    QCOMPARE(remainingWords(170000), QStringLiteral("about 3 min left"));
    QVERIFY(remainingWords(-1).isEmpty());
  }

  void searchFindsByNameBestFirst() {
    SearchModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    QCOMPARE(model.rowCount(), 0);
    model.setEntries({{SearchModel::Target::Norm, 4, QStringLiteral("h.0.ln_1"), QStringLiteral("Blocked"), {}},
                      {SearchModel::Target::Command, 2, QStringLiteral("Undo ln_1"), {}, {}}});
    QCOMPARE(model.rowCount(), 0);  // nothing was asked for
    const ModelIndex index(test::gpt2Document(2));
    model.setIndex(&index);
    model.setQuery(QStringLiteral("h.1.ln_2"));
    QTRY_VERIFY(!model.searching());
    QVERIFY(model.rowCount() > 0);
    QCOMPARE(model.index(0).data().toString(), QStringLiteral("transformer.h.1.ln_2"));
    model.setQuery(QStringLiteral("LN_1"));
    QTRY_VERIFY(!model.searching());
    QVERIFY(printed(model).contains(QStringLiteral("Undo ln_1")));
    QCOMPARE(model.index(0).data(SearchModel::IdRole).toInt(), 4);  // it ends with the word
    model.setQuery(QStringLiteral("nothing has this name"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.rowCount(), 0);
    model.setIndex(nullptr);
    model.setEntries({});
    QCOMPARE(model.hitCount(), 0);
  }

  void searchKnowsFieldsAndPatterns_data() {
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("hits");
    // Two blocks of GPT-2: five norms, eight addmm in Conv1Ds.
    QTest::newRow("op") << "op:layer_norm" << 5;
    QTest::newRow("op, another case") << "OP:Layer_Norm" << 5;
    QTest::newRow("no such op") << "op:ln_1" << 0;
    QTest::newRow("name") << "name:c_attn op:addmm" << 2;
    QTest::newRow("name is not op") << "name:aten::" << 0;
    QTest::newRow("shape") << "shape:1024x50257" << 2;
    QTest::newRow("shape, written otherwise") << "shape:[1024,50257]" << 2;
    QTest::newRow("shape with any size") << "shape:?x1024x50257" << 2;
    QTest::newRow("a size that is none") << "shape:7777" << 0;
    QTest::newRow("two words") << "op:addmm shape:3072" << 2;
    QTest::newRow("dtype") << "dtype:int32" << 0;
    QTest::newRow("pattern") << "name:/ln_[12]\\.?/ op:norm" << 4;
    QTest::newRow("pattern anywhere") << "/^aten::addmm$/" << 8;
    QTest::newRow("quotes") << "\"no such thing\"" << 0;
    QTest::newRow("prefix alone") << "op:" << 0;
  }

  void searchKnowsFieldsAndPatterns() {
    QFETCH(const QString, query);
    QFETCH(const int, hits);
    const ModelIndex index(test::gpt2Document(2));
    SearchModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.setIndex(&index);
    model.setQuery(query);
    QTRY_VERIFY(!model.searching());
    QVERIFY2(model.hitCount() == hits, qPrintable(printed(model)));
  }

  void searchFindsAttributes() {
    auto document = std::make_shared<protocol::GraphDocument>(*test::gpt2Document(1));
    document->nodes[3].attributes = {{"axis", "-1"}, {"eps", "1e-05"}};
    const ModelIndex index(document);
    SearchModel model;
    model.setIndex(&index);
    model.setQuery(QStringLiteral("attr:axis=-1"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), 1);
    QCOMPARE(model.index(0).data(SearchModel::IdRole).toInt(), document->nodes[3].id);
    model.setQuery(QStringLiteral("attr:axis=0"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), 0);
  }

  void aPatternThatIsNotCompleteSaysSo() {
    SearchModel model;
    model.setQuery(QStringLiteral("/ln_[12/"));
    QVERIFY(!model.error().isEmpty());
    QCOMPARE(model.hitCount(), 0);
    model.setQuery(QStringLiteral("/ln_[12]/"));
    QVERIFY(model.error().isEmpty());
  }

  void aTextIsNoLongerThanAnyPath() {
    QCOMPARE(text("norm"), QStringLiteral("norm"));
    QCOMPARE(text(std::string(1 << 20, 'x')), QString(4096, u'x') + u'…');
  }

  void searchInALargeModelLeavesTimeForOtherThings() {
    constexpr int kTowers = 48, kLayers = 224;  // too many for one slice of any machine
    const ModelIndex index(test::towersDocument(kTowers, kLayers));
    SearchModel model;
    model.setIndex(&index);
    model.setQuery(QStringLiteral("op:/addmm|norm/"));
    QVERIFY(model.searching());  // not at once
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), kTowers * (kLayers * 6 + 1));
    QCOMPARE(model.rowCount(), SearchModel::kMaxRows);
    QCOMPARE(model.hit(model.hitCount() - 1).target, SearchModel::Target::Node);
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestModels>(argc, argv); }

#include "test_models.moc"
