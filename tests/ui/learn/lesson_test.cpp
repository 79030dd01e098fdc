// The lessons' files: what is written wrongly is told, and those of the program are whole.
#include "ui/learn/lesson.h"

#include <QDir>
#include <QtTest>

#include "ui/learn/figure.h"
#include "ui/learn/formula_view.h"

namespace normlens::ui {
namespace {

constexpr int kPresentWords = 8, kParagraphs = 3;

QString lessonWith(const QString& step) { return QStringLiteral("# Title\n\n## Step\n") + step; }

}  // namespace

class LessonTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void aStepHasTextFormulasFigureAndTask() {
    const auto lesson =
        parseLesson(QStringLiteral("one"),
                    lessonWith(QStringLiteral(
                        "<!-- {\"name\": \"a\", \"figure\": \"projection\", \"state\": {\"mean\": 2}} -->\nWords.\n\n"
                        "```formula\nx = {1 | d}\n```\n\n### Try it\n"
                        "<!-- {\"number\": \"mean\", \"below\": 1, \"live\": \"now %1\", \"passed\": \"yes\", "
                        "\"failed\": \"no\"} -->\n"
                        "Do it.\n")));
    QVERIFY2(lesson.has_value(), lesson ? "" : qPrintable(lesson.error()));
    const LessonStep& step = lesson->steps.front();
    QCOMPARE(step.text, QStringLiteral("Words."));
    QCOMPARE(step.formulas, QStringLiteral("x = {1 | d}"));
    QCOMPARE(step.state[QStringLiteral("mean")].toInt(), 2);
    QCOMPARE(step.present, step.title);
    QVERIFY(step.exercise && step.exercise->task == QStringLiteral("Do it.") && !step.exercise->isTyped());
    QVERIFY(step.exercise->isMetBy(0.5) && !step.exercise->isMetBy(1));
  }

  void whatIsWrongIsTold_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("told");
    QTest::newRow("no title") << QStringLiteral("Words") << QStringLiteral("title");
    QTest::newRow("no steps") << QStringLiteral("# Title\nWords") << QStringLiteral("no steps");
    QTest::newRow("no data") << lessonWith(QStringLiteral("Words")) << QStringLiteral("no data");
    QTest::newRow("no JSON") << lessonWith(QStringLiteral("<!-- {name} -->")) << QStringLiteral("the data of 'Step'");
    QTest::newRow("no figure") << lessonWith(QStringLiteral("<!-- {\"name\": \"a\"} -->"))
                               << QStringLiteral("no figure");
    QTest::newRow("no answer")
        << lessonWith(
               QStringLiteral("<!-- {\"name\": \"a\", \"figure\": \"f\"} -->\n### Try it\n<!-- {\"below\": 1} -->"))
        << QStringLiteral("lacks number");
  }
  void whatIsWrongIsTold() {
    QFETCH(QString, text);
    QFETCH(QString, told);
    const auto lesson = parseLesson(QStringLiteral("one"), text);
    QVERIFY(!lesson);
    QVERIFY2(lesson.error().contains(told) && lesson.error().startsWith(QStringLiteral("lesson one")),
             qPrintable(lesson.error()));
  }

  void ofTheProgramAllAreWhole() {
    const auto files = QDir(QStringLiteral(":/normlens/lessons")).entryList({QStringLiteral("*.md")});
    const std::vector<Lesson> all = bundledLessons();
    QVERIFY(!all.empty());
    QCOMPARE(static_cast<int>(all.size()), static_cast<int>(files.size()));
    for (const Lesson& lesson : all) {
      int exercises = 0;
      for (const LessonStep& step : lesson.steps) {
        const QByteArray where = (lesson.name + u'/' + step.name).toUtf8();
        QVERIFY2(figureKinds().contains(step.figure), where.constData());
        QVERIFY2(step.present.split(u' ').size() <= kPresentWords, where.constData());
        QVERIFY2(step.text.split(QStringLiteral("\n\n")).size() <= kParagraphs, where.constData());
        QVERIFY2(step.text.contains(QStringLiteral("**")), where.constData());
        if (step.exercise) ++exercises;
      }
      QVERIFY2(exercises > 0, qPrintable(lesson.name));
    }
  }

  void noExerciseIsPassedAsItIsFound() {
    for (const Lesson& lesson : bundledLessons()) {
      for (const LessonStep& step : lesson.steps) {
        if (!step.exercise) continue;
        const std::unique_ptr<Figure> figure(makeFigure(step.figure, nullptr));
        if (figure->wantsModel()) continue;  // shell/test_lessons_live.cpp has these
        figure->showState(step.state, Motion::Cut);
        const auto number = figure->number(step.exercise->number);
        QVERIFY2(number, qPrintable(step.exercise->number));
        QVERIFY(step.exercise->isTyped() || !step.exercise->isMetBy(*number));
      }
    }
  }

  void formulasHaveFractions() {
    const auto lines = parseFormulas(QStringLiteral("LN(x) = √d · {x − μ1 | ‖x‖} + β\ny = x"));
    QCOMPARE(lines.size(), 2U);
    QCOMPARE(lines[0].left, QStringLiteral("LN(x)"));
    QCOMPARE(lines[0].right.size(), 3U);
    QCOMPARE(lines[0].right[1].denominator, QStringLiteral("‖x‖"));
    QVERIFY(lines[1].right[0].denominator.isEmpty());
  }

  void whatNoRunHasShownIsNeitherWalkedNorAnswered() {
    OpenModel model;
    model.document = std::make_shared<protocol::GraphDocument>();
    model.norms.emplace_back().verdict = Verdict::Unknown;
    for (const auto& [kind, asked] : {std::pair("graph_walk", "at"), std::pair("forced", "verdict")}) {
      const std::unique_ptr<Figure> figure(makeFigure(QLatin1String(kind), nullptr));
      figure->showModel(model);
      QVERIFY2(!figure->number(QLatin1String(asked)), kind);
      model.norms.front().verdict = Verdict::Blocked;
      figure->showModel(model);
      QCOMPARE(figure->number(QLatin1String(asked)), 0.0);
      model.norms.front().verdict = Verdict::Unknown;
    }
  }

  void anUnknownFigureIsNone() { QVERIFY(makeFigure(QStringLiteral("none"), nullptr) == nullptr); }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::LessonTest)
#include "lesson_test.moc"
