#include "renderers/html/html.h"

#include <gtest/gtest.h>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <sstream>

#include "core/base/block_formats.h"
#include "core/base/lists.h"
#include "renderers/figure/colormap.h"
#include "renderers/html/packed_field.h"
#include "tests/support/browser.h"
#include "tests/support/sample_figures.h"

namespace locus::html {
namespace {

std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_html_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder / name;
}

std::string page_of(const figure::Figure& figure, const PageOptions& options = {}) {
  const auto page = encode(figure, options);
  EXPECT_TRUE(page) << page.error().describe();
  return page ? page->toStdString() : "";
}

QJsonObject data_of(const std::string& page) {
  const std::string begin = "id=\"locus-figure\">";
  const std::size_t from = page.find(begin) + begin.size();
  const std::size_t to = page.find("</script>", from);
  return QJsonDocument::fromJson(QByteArray::fromStdString(page.substr(from, to - from))).object();
}

// The cells as a page has them, unpacked by other code than packed them.
std::vector<float> unpacked(const QJsonObject& field) {
  const auto count = static_cast<std::size_t>(field["rows"].toInt() * field["columns"].toInt());
  QByteArray stream(4, '\0');  // qUncompress() wants the size first
  const auto most = static_cast<std::uint32_t>(4 * count);
  for (int n = 0; n < 4; ++n) {
    stream[n] = static_cast<char>(most >> (24 - 8 * n) & 0xFF);
  }
  const QByteArray bytes = qUncompress(stream + QByteArray::fromBase64(field["cells"].toString().toLatin1()));
  const std::size_t width = static_cast<std::size_t>(bytes.size()) / count;
  std::vector<float> values;
  for (std::size_t n = 0; n < count; ++n) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < width; ++byte) {
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes.constData()[byte * count + n])) << (8 * byte);
    }
    values.push_back(
        width == 4 ? std::bit_cast<float>(bits)
                   : std::ldexp(blocks::float_of_half(static_cast<std::uint16_t>(bits)), field["exponent"].toInt()));
  }
  return values;
}

figure::Figure noise(std::int64_t tokens) {
  figure::Figure figure = samples::attention(tokens);
  auto field = std::make_shared<Field>(*std::get<figure::HeatMap>(figure.panels[0].layers[0]).field);
  std::mt19937 random(7);
  std::lognormal_distribution<float> values(-8, 4);
  std::generate(field->values.begin(), field->values.end(), [&] { return values(random); });
  std::get<figure::HeatMap>(figure.panels[0].layers[0]).field = field;
  return figure;
}

TEST(Html, HalvesAreTheNearestOnes) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {  // every one that is finite, and the middle to the next
    const float value = blocks::float_of_half(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(half_of(value), bits);
    ASSERT_EQ(half_of(-value), bits | 0x8000U);
    const float next = bits + 1 < 0x7C00 ? blocks::float_of_half(static_cast<std::uint16_t>(bits + 1)) : 65536.0F;
    const float middle = value + (next - value) / 2;
    ASSERT_EQ(half_of(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(half_of(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(half_of(std::nextafter(middle, 1e9F)), bits + 1);
  }
  EXPECT_TRUE(std::isnan(blocks::float_of_half(half_of(std::nanf("")))));
  EXPECT_EQ(blocks::float_of_half(half_of(-INFINITY)), -INFINITY);
}

TEST(Html, FewCellsAreExact) {
  const figure::Figure figure = samples::attention(60);
  const auto data = data_of(page_of(figure));
  const auto values = unpacked(data["fields"].toArray()[0].toObject());
  const auto& field = *std::get<figure::HeatMap>(figure.panels[0].layers[0]).field;
  ASSERT_EQ(values.size(), field.values.size());
  for (std::size_t n = 0; n < values.size(); ++n) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(values[n]), std::bit_cast<std::uint32_t>(field.values[n])) << n;
  }
}

TEST(Html, ManyCellsAreRoundedWithinWhatIsSaidAndSmall) {
  const figure::Figure figure = noise(1024);
  const std::string page = page_of(figure);
  EXPECT_LE(page.size(), 3000000U);
  EXPECT_NE(page.find("rounded to 11 bits"), std::string::npos);
  const auto& field = *std::get<figure::HeatMap>(figure.panels[0].layers[0]).field;
  const auto values = unpacked(data_of(page)["fields"].toArray()[0].toObject());
  ASSERT_EQ(values.size(), field.values.size());
  const float largest = *std::max_element(field.values.begin(), field.values.end());
  for (std::size_t n = 0; n < values.size(); ++n) {
    const float bound = std::max(std::abs(field.values[n]) * 0x1p-11F, largest * 0x1p-39F);
    ASSERT_LE(std::abs(values[n] - field.values[n]), bound) << field.values[n];
  }
}

TEST(Html, APageNeedsNothingElse) {
  for (const char* name : {"attention", "histogram", "points", "token-strip", "image-overlay"}) {
    const auto figure = samples::by_name(name);
    ASSERT_TRUE(figure) << name;
    const std::string page = page_of(*figure);
    for (std::size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1)) {
      EXPECT_EQ(page.substr(at - 4, 22), "http://www.w3.org/2000") << page.substr(at - 20, 60);
    }
    EXPECT_EQ(page.find("src="), std::string::npos);
    EXPECT_EQ(page.find("<link"), std::string::npos);
    EXPECT_EQ(page, page_of(*figure));
  }
}

TEST(Html, TooManyCellsAreRefused) {
  figure::Figure figure = samples::attention(8);
  auto field = std::make_shared<Field>(Field::zeros(kMaxCells / 1024 + 1, 1024));
  std::get<figure::HeatMap>(figure.panels[0].layers[0]).field = field;
  EXPECT_EQ(encode(figure, {}).error().code, ErrorCode::kTooLarge);
}

const std::string kEvil = R"(</script></style></pre><img src=x onerror="document.body.dataset.owned='yes'"><!--)";

figure::Figure evil() {
  figure::Figure figure = samples::attention_pair();
  const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>(20, kEvil));
  figure.title = figure.description = kEvil;
  figure.recipe = "{\"text\":\"" + kEvil + "\"}";
  for (figure::Panel& panel : figure.panels) {
    panel.title = panel.note = panel.color_bar_label = panel.x.label = panel.y.label = kEvil;
    panel.x.cell_names = panel.y.cell_names = names;
    auto& map = std::get<figure::HeatMap>(panel.layers[0]);
    map.texts = std::make_shared<const std::vector<std::string>>(map.field->values.size(), kEvil);
    figure::Curve curve;
    curve.name = kEvil;
    curve.x = curve.y = {0, 1, 2};
    figure::Marker marker;
    marker.at = 3;
    marker.label = kEvil;
    panel.layers.insert(panel.layers.end(), {curve, marker});
  }
  figure::Panel strip;
  strip.layers.emplace_back(figure::TokenStrip{{kEvil, kEvil}, {0.5F, 1.0F}, {}, 0});
  figure.panels.push_back(strip);
  return figure;
}

TEST(Html, HostileWordsStayWords) {
  const std::string page = page_of(evil());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(recipe_of(QByteArray::fromStdString(page)), evil().recipe);
  LOCUS_NEEDS_BROWSER();
  const auto file = scratch("evil.html");
  ASSERT_TRUE(write_file(file, page));
  const std::string dom = test::browse(file, "--dump-dom");
  EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos) << dom.substr(0, 3000);
  EXPECT_EQ(dom.find("data-owned"), std::string::npos);
  EXPECT_EQ(dom.find("<img"), std::string::npos);
  // And opened, pointed at and sorted.
  const std::string said = test::driven(page, R"(
    for (const details of document.querySelectorAll('details')) details.open = true;
    await new Promise((done) => setTimeout(done, 100));
    for (const head of document.querySelectorAll('thead th')) head.click();
    at(stages[0], 0.3, 0.5, 'pointermove');
    document.querySelector('.strip .token').dispatchEvent(new PointerEvent('pointerenter'));
    say(document.querySelectorAll('img').length + ' ' + document.body.dataset.owned);
    say(document.querySelectorAll('table').length);
    say(document.querySelector('.tip').textContent.includes('</scr' + 'ipt>'));
  )",
                                        scratch("evil_driven.html"));
  EXPECT_EQ(said, "0 undefined\n7\ntrue\n");
}

TEST(Html, AStrangeScriptIsNotRun) {
  LOCUS_NEEDS_BROWSER();
  std::string page = page_of(samples::histogram());
  page.insert(page.rfind("</body>"), "<script>document.body.dataset.owned='yes'</script>");
  const auto file = scratch("strange.html");
  ASSERT_TRUE(write_file(file, page));
  const std::string dom = test::browse(file, "--dump-dom");
  EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_EQ(dom.find("data-owned"), std::string::npos);
}

TEST(Html, PointingReadsTheCellAndItsTokens) {
  LOCUS_NEEDS_BROWSER();
  const figure::Figure figure = samples::attention(20);
  const auto& field = *std::get<figure::HeatMap>(figure.panels[0].layers[0]).field;
  const std::string said = test::driven(page_of(figure), R"(
    at(stages[0], 3.5 / 20, 7.5 / 20, 'pointermove');
    say(tip());
    say(stages[0].querySelectorAll('.cross line').length);
    at(stages[0], 9.5 / 20, 2.5 / 20, 'pointermove');
    say(tip());
    at(stages[0], 2, 2, 'pointermove');
    say(tip());
  )",
                                        scratch("hover.html"));
  std::istringstream lines(said);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("query 7= are; key 3= to; attention weight=")) << line;
  const double shown = parse_number<double>(line.substr(line.rfind('=') + 1)).value_or(0);
  EXPECT_NEAR(shown, static_cast<double>(field.at(7, 3)), 5e-4 * shown);
  std::getline(lines, line);
  EXPECT_EQ(line, "2");
  std::getline(lines, line);
  EXPECT_EQ(line, "query 2= keys; key 9= the; attention weight=no value");
  std::getline(lines, line);
  EXPECT_EQ(line, "(hidden)");
}

TEST(Html, PicturesStandBesideTheirCells) {
  LOCUS_NEEDS_BROWSER();
  const std::string said = test::driven(page_of(samples::attention_pictures(4)), R"(
    const svg = stages[0].querySelector('svg');
    const texts = (name) => [...svg.querySelectorAll('text')].filter((each) => each.textContent === name).length;
    const pictures = [...svg.querySelectorAll('image')];
    say([pictures.length, svg.querySelectorAll('.block').length, texts('image 1'), texts('1,3'), texts('image 1 1,3')]);
    say(pictures.every((each) => Math.abs(each.getAttribute('width') / each.getAttribute('height') - 1.5) < 1e-6));
    const canvas = stages[0].querySelector('canvas');
    const [left, width] = [parseFloat(canvas.style.left), parseFloat(canvas.style.width)];
    const line = svg.querySelector('.block');
    say(Math.abs(line.getAttribute('x1') - (left + width * 4 / 28)) < 0.01);
    say(Math.abs(line.getAttribute('x2') - (left + width * 12 / 28)) < 0.01);
    at(stages[0], 5.5 / 28, 8.5 / 28, 'pointermove');
    say(tip().split(';').slice(0, 2));          // the pointer says all of a name
  )",
                                        scratch("pictures.html"));
  EXPECT_EQ(said, "4,4,2,4,0\ntrue\ntrue\ntrue\nquery 8=image 1 1,0, key 5=image 1 0,1\n");
}

TEST(Html, TheWheelZoomsAtThePointerDraggingMovesAndADoubleClickFits) {
  LOCUS_NEEDS_BROWSER();
  const std::string said = test::driven(page_of(samples::attention(200)), R"(
    const before = ticks(stages[0]);
    at(stages[0], 100.5 / 200, 50.5 / 200, 'pointermove');
    const under = tip();
    at(stages[0], 100.5 / 200, 50.5 / 200, 'wheel', { deltaY: -600 });
    say(tip() === under);                       // what is under the pointer stays there
    say(ticks(stages[0]) !== before);
    at(stages[0], 0.003, 0.003, 'pointermove');
    say(tip().match(/\d+/g).slice(0, 2));       // near the corner
    at(stages[0], 0.5, 0.5, 'pointerdown', { button: 0 });
    at(stages[0], 0.25, 0.75, 'pointermove');   // a quarter to the left and downwards
    at(stages[0], 0.25, 0.75, 'pointerup');
    at(stages[0], 0.003, 0.003, 'pointermove');
    say(tip().match(/\d+/g).slice(0, 2));
    at(stages[0], 0.5, 0.5, 'dblclick');
    say(ticks(stages[0]) === before);
  )",
                                        scratch("zoom.html"));
  // f = 2.458: 81.4 cells are seen. They begin at 30.0 and 59.6, of which a share of 0.003 is seen; then 20.3 higher up
  // and further to the right.
  EXPECT_EQ(said, "true\ntrue\n30,59\n9,80\ntrue\n");
}

TEST(Html, PixelsHaveTheColoursOfTheirValues) {
  LOCUS_NEEDS_BROWSER();
  const figure::Figure figure = samples::attention_pair();
  const std::string said = test::driven(page_of(figure),
                                        R"(
    for (const stage of stages) {
      const canvas = stage.querySelector('canvas');
      const context = canvas.getContext('2d');
      const count = )" + std::to_string(std::get<figure::HeatMap>(figure.panels[0].layers[0]).field->rows) +
                                            R"(;
      for (const [r, c] of [[0, 0], [5, 2], [9, 9], [12, 1], [2, 8]]) {
        say(context.getImageData((c + 0.5) / count * canvas.width, (r + 0.5) / count * canvas.height, 1, 1).data.join(' '));
      }
    }
  )",
                                        scratch("colours.html"));
  std::istringstream words(said);
  for (const figure::Panel& panel : figure.panels) {
    const auto& map = std::get<figure::HeatMap>(panel.layers[0]);
    for (const auto& [r, c] : {std::pair(0, 0), {5, 2}, {9, 9}, {12, 1}, {2, 8}}) {
      const figure::Color expected = figure::color_of(map.scale, map.field->at(r, c));
      for (int shift = 24; shift >= 0; shift -= 8) {
        int found = -1;
        words >> found;
        EXPECT_NEAR(found, expected >> shift & 0xFF, 1) << panel.title << " " << r << ", " << c << "\n" << said;
      }
    }
  }
}

TEST(Html, ReducedPixelsKeepTheLargestValue) {
  LOCUS_NEEDS_BROWSER();
  figure::Figure figure = samples::attention(1500);  // more cells than pixels
  auto field = std::make_shared<Field>(Field::zeros(1500, 1500));
  field->at(777, 333) = 1;
  auto& map = std::get<figure::HeatMap>(figure.panels[0].layers[0]);
  map.field = field;
  map.scale = {.colormap = "gray", .low = 0, .high = 1};
  const std::string said = test::driven(page_of(figure), R"(
    const canvas = stages[0].querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let bright = 0;
    for (let n = 0; n < data.length; n += 4) bright += data[n] > 250 ? 1 : 0;
    say(canvas.width < 1500);
    say(bright >= 1 && bright <= 9);
  )",
                                        scratch("reduced.html"));
  EXPECT_EQ(said, "true\ntrue\n");
}

TEST(Html, LegendsHideCurvesAndBarsAndTablesHoldTheirNumbers) {
  LOCUS_NEEDS_BROWSER();
  const figure::Figure figure = samples::length_curve();
  const std::string said = test::driven(page_of(figure), R"(
    const lines = () => stages[0].querySelectorAll('path.line').length;
    say(lines());
    const buttons = document.querySelectorAll('.legend button');
    say(buttons[0].textContent);
    buttons[0].click();
    say(lines() + ' ' + buttons[0].getAttribute('aria-pressed'));
    buttons[0].click();
    say(lines());
    document.querySelector('details.numbers').open = true;
    await new Promise((done) => setTimeout(done, 50));
    say(document.querySelectorAll('tbody tr').length);
    say([...document.querySelector('tbody tr').children].map((cell) => cell.textContent).join(' '));
  )",
                                        scratch("legend.html"));
  const auto& first = std::get<figure::Curve>(figure.panels[0].layers[0]);
  const auto count = std::count_if(figure.panels[0].layers.begin(), figure.panels[0].layers.end(),
                                   [](const auto& layer) { return std::holds_alternative<figure::Curve>(layer); });
  std::istringstream lines(said);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, std::to_string(count)) << said;
  std::getline(lines, line);
  EXPECT_EQ(line, first.name);
  std::getline(lines, line);
  EXPECT_EQ(line, std::to_string(count - 1) + " false");
  std::getline(lines, line);
  EXPECT_EQ(line, std::to_string(count));
  std::getline(lines, line);
  EXPECT_EQ(line, std::to_string(first.x.size()));
  double x = 0;
  double y = 0;
  lines >> x >> y;
  EXPECT_EQ(x, first.x[0]);
  EXPECT_NEAR(y, first.y[0], 1e-5 * first.y[0]);
}

TEST(Html, PointsAreDiscsAndRingsWithCrosses) {
  LOCUS_NEEDS_BROWSER();
  const figure::Figure figure = samples::points();
  const std::string said = test::driven(page_of(figure), R"(
    const circles = [...stages[0].querySelectorAll('circle.point')];
    say(circles.length);
    say(circles.filter((each) => each.getAttribute('fill') === 'none').length);
    say(circles.filter((each) => each.getAttribute('opacity') === '0.25').length);
    say([...stages[0].querySelectorAll('text.label')].filter((each) => each.textContent === '1.1').length);
    const numbers = document.querySelectorAll('details.numbers')[1];  // behind those of the curve
    numbers.open = true;
    await new Promise((done) => setTimeout(done, 50));
    say([...numbers.querySelectorAll('tbody tr')[7].children].map((cell) => cell.textContent).join(' '));
  )",
                                        scratch("points.html"));
  const auto& points = std::get<figure::Points>(figure.panels[0].layers[0]);
  // 24 less the one without a place; every third is a ring and every fifth faint, which that one is too.
  EXPECT_TRUE(said.starts_with("23\n8\n4\n1\n1.1 ")) << said;
  std::istringstream last(said.substr(said.find("1.1 ") + 4));
  for (const double wanted : {points.x[7], points.x_low[7], points.x_high[7], points.y[7], points.y_low[7],
                              points.y_high[7], static_cast<double>(points.values[7])}) {
    double found = 0;
    ASSERT_TRUE(last >> found) << said;
    EXPECT_NEAR(found, wanted, 1e-5) << said;
  }
}

TEST(Html, ThemesAreThoseOfTheOtherFormats) {
  EXPECT_NE(page_of(samples::histogram(), {12, true}).find("--background:#1b1d21ff"), std::string::npos);
  EXPECT_NE(page_of(samples::histogram()).find("--background:#ffffffff"), std::string::npos);
}

}  // namespace
}  // namespace locus::html
