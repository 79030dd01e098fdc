// Pictures in files: the three formats, tiles beyond a bitmap's limits, stopping.
#include <QElapsedTimer>
#include <QFile>
#include <QImage>
#include <QImageReader>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/graphview/shown_graph.h"
#include "ui/graphview/paint/page_drawing.h"
#include "ui/graphview/paint/picture_job.h"

namespace normlens::graphview {

using test::gpt2Document;
using test::ShownGraph;
using Extent = GraphView::Extent;

constexpr qint64 kPatientMs = 2000;  // the window promises a tenth of it; a shared machine is no stop-watch

class PictureTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }

  static QByteArray contents(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }

  static QStringList write(PictureOrder order) {
    PictureJob job(std::move(order));
    QSignalSpy finished(&job, &PictureJob::finished), failed(&job, &PictureJob::failed);
    for (int i = 0; i < 600 && finished.isEmpty() && failed.isEmpty(); ++i) QTest::qWait(50);
    return finished.isEmpty() ? QStringList() : finished.first().first().toStringList();
  }

 private Q_SLOTS:
  void svgHoldsShapesAndWords() {
    ShownGraph graph(gpt2Document());
    const QString file = path("graph.svg");
    QCOMPARE(write(graph.view.orderPicture(file, Extent::Whole)), QStringList{file});
    const QByteArray svg = contents(file);
    QVERIFY(svg.contains("<svg"));
    QVERIFY(svg.contains(">h.11<"));  // below the window's lower border
    QVERIFY(!svg.contains("<image"));
    QVERIFY(!svg.contains(">not in it<"));
  }

  void aDrawingForAPageHasItsColorsAsVariables() {
    ShownGraph graph(gpt2Document());
    PageColors colors;
    const QByteArray svg = QByteArray::fromStdString(pageDrawing(graph.view.orderPicture({}, Extent::Whole), colors));
    QVERIFY(svg.startsWith("<svg width=\"") && svg.endsWith("</svg>"));
    QVERIFY(svg.contains(">h.11</text>"));
    QCOMPARE(svg.count("<text"), svg.count("textLength"));  // each keeps its width in any font
    for (const char* never : {"=\"#", "rgb", "<image", "nan"}) QVERIFY2(!svg.contains(never), never);
    QVERIFY(colors.all().size() > 3);
    for (size_t i = 0; i < colors.all().size(); ++i)
      QVERIFY(svg.contains("\"var(--g" + QByteArray::number(static_cast<qulonglong>(i)) + ")\""));
    const auto canvas =
        std::pair(ui::lightTheme().canvas.name().toStdString(), ui::darkTheme().canvas.name().toStdString());
    QCOMPARE(colors.all().front(), canvas);
    QVERIFY2(2 * svg.size() < contents(write(graph.view.orderPicture(path("same.svg"), Extent::Whole)).value(0)).size(),
             "half of what Qt writes");
  }

  void aPictureOfTheViewHoldsWhatIsInSight() {
    ShownGraph graph(gpt2Document());
    graph.view.setZoom(1);
    graph.view.centerOn({graph.view.scene().layout->bounds.center().x(), 300});
    const QString file = path("view.svg");
    QCOMPARE(write(graph.view.orderPicture(file, Extent::View)), QStringList{file});
    const QByteArray svg = contents(file);
    QVERIFY(svg.contains(">h.0<"));
    QVERIFY(!svg.contains(">h.11<"));
  }

  void pdfIsAPdf() {
    ShownGraph graph(gpt2Document());
    const QString file = path("graph.pdf");
    QCOMPARE(write(graph.view.orderPicture(file, Extent::Whole)), QStringList{file});
    const QByteArray pdf = contents(file);
    QVERIFY(pdf.startsWith("%PDF-"));
    QVERIFY(pdf.size() > 5000);
  }

  void pngIsAsSharpAsAsked() {
    ShownGraph graph(gpt2Document());
    const QString file = path("graph.png");
    PictureOrder order = graph.view.orderPicture(file, Extent::Whole);
    const QSize wanted = (order.size * order.sharpness).toSize();
    QCOMPARE(write(std::move(order)), QStringList{file});
    const QImage image(file);
    QVERIFY(std::abs(image.width() - wanted.width()) <= 1 && std::abs(image.height() - wanted.height()) <= 1);
    // Strips meet without a seam: the stream is there in every row between the blocks.
    const QRectF bounds = graph.view.scene().layout->bounds;
    QVERIFY(bounds.height() * 2 > 1024);
    int rows = 0;
    for (int y = image.height() / 4; y < image.height() / 2; ++y) {
      bool drawn = false;
      for (int x = 0; x < image.width() && !drawn; ++x) drawn = image.pixelColor(x, y) != ui::lightTheme().canvas;
      rows += drawn;
    }
    QCOMPARE(rows, image.height() / 2 - image.height() / 4);
  }

  void beyondABitmapsLimitsThereAreTiles() {
    ShownGraph graph(gpt2Document(24));  // tall
    PictureOrder order = graph.view.orderPicture(path("huge.png"), Extent::Whole);
    order.sharpness = 33'000 / order.size.height();  // one side is too long
    const int columns = static_cast<int>(std::ceil(order.size.width() * order.sharpness / PictureJob::kTileSide));
    const QStringList files = write(std::move(order));
    QCOMPARE(files.size(), 5 * columns);
    QVERIFY(files.first().endsWith(QStringLiteral("huge_r1_c1.png")));
    int height = 0;
    for (const QString& file : files) {
      const QSize size = QImageReader(file).size();
      QVERIFY(size.width() <= PictureJob::kTileSide && size.height() <= PictureJob::kTileSide);
      if (file.contains(QStringLiteral("_c1."))) height += size.height();
      QFile::remove(file);
    }
    QVERIFY(std::abs(height - 33'000) <= 1);
  }

  void stoppingLeavesNoFile() {
    ShownGraph graph(test::towersDocument(8, 12));
    graph.view.expandAll();
    graph.settle();
    for (const char* name : {"stopped.png", "stopped.svg"}) {
      PictureJob job(graph.view.orderPicture(path(name), Extent::Whole));
      QSignalSpy finished(&job, &PictureJob::finished), failed(&job, &PictureJob::failed);
      job.cancel();
      QElapsedTimer timer;
      timer.start();
      QTRY_COMPARE(failed.count(), 1);
      QVERIFY2(timer.elapsed() < kPatientMs, qPrintable(QString::number(timer.elapsed())));
      QVERIFY(failed.first().first().toString().isEmpty());
      QCOMPARE(finished.count(), 0);
      QVERIFY(!QFile::exists(path(name)));
    }
  }

  void aFolderThatIsNotThereIsTold() {
    ShownGraph graph(gpt2Document(1));
    for (const char* name : {"no/such/folder.svg", "no/such/folder.pdf", "no/such/folder.png", "graph.gif"}) {
      PictureJob job(graph.view.orderPicture(path(name), Extent::View));
      QSignalSpy failed(&job, &PictureJob::failed);
      QTRY_COMPARE(failed.count(), 1);
      QVERIFY(!failed.first().first().toString().isEmpty());
    }
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::PictureTest)
#include "picture_test.moc"
