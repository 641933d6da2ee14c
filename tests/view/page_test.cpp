#include "attend/view/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <regex>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/view/alignment.h"
#include "tests/view/exported_page.h"

namespace attend::view {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NanSensitiveFloatEq;
using ::testing::Not;
using ::testing::Pointwise;

std::vector<float> random_weights(std::size_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(0.01f, 1);
  std::vector<float> weights(count);
  for (float& weight : weights) weight = draw(generator);
  return weights;
}

Item map_item(std::vector<std::int64_t> shape, std::vector<float> weights) {
  std::vector<std::string> axes = {"map", "row", "column"};
  axes.erase(axes.begin(), axes.end() - std::ssize(shape));
  return {.module = "m", .kind = Kind::spatial, .axes = axes, .shape = std::move(shape), .weights = std::move(weights)};
}

Item random_map(std::vector<std::int64_t> shape, unsigned seed = 1) {
  std::size_t count = 1;
  for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
  return map_item(std::move(shape), random_weights(count, seed));
}

class Page : public ::testing::Test {
 protected:
  ExportedPage exported(const Record& record, const PageOptions& options = {}) const {
    const std::uintmax_t size = write_html(file, record, options);
    EXPECT_EQ(size, std::filesystem::file_size(file));
    return ExportedPage(file);
  }
  ExportedPage exported(const Item& item, const PageOptions& options = {}) const {
    return exported(Record{{{.id = "1", .items = {item}}}}, options);
  }

  const fixtures::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "page.html";
};

const Example cat_example{"1", {"the", "cat", "sleeps"}, {"le", "chat"}, {}};

// --- keys and bytes ----------------------------------------------------------------------------------------------------------------------

TEST_F(Page, IndexTellsWhatThereIs) {
  Example example = cat_example;
  example.items = {alignment(2, example, random_weights(12)),
                   {.module = "gate", .kind = Kind::channel, .axes = {"channel"}, .layer = 3, .shape = {4}, .weights = random_weights(4)}};
  example.sentences = {1, 2};
  example.picture = Picture{2, 3, 1, {1, 2, 3, 4, 5, 6}};
  example.sound = Sound{8000, {0.5f, -0.5f, 0.25f}};
  EXPECT_EQ(
      exported(Record{{example}}, {.title = "words.attn"}).bytes("record"),
      R"({"format":1,"title":"words.attn","served":false,"run":null,"has_metrics":false,"examples":[{"id":"1","source":["the","cat","sleeps"],)"
      R"("target":["le","chat"],"sentences":[1,2],"picture":{"height":2,"width":3,"channels":1},"sound":{"rate":8000.0,"samples":3,"buckets":3},"items":[)"
      R"({"module":"decoder.attention","kind":"alignment","layer":0,"heads":2,"axes":["head","target","source"],"shape":[2,2,3],"panels":2,"rows":2,)"
      R"("columns":3,"row_axis":"target","column_axis":"source","thumbnail":[2,3],"kept":{"form":"all"}},)"
      R"({"module":"gate","kind":"channel","layer":3,"heads":1,"axes":["channel"],"shape":[4],"panels":1,"rows":1,"columns":4,"row_axis":"",)"
      R"("column_axis":"channel","thumbnail":[1,4],"kept":{"form":"all"}}]}]})");
}

TEST_F(Page, WholeWeightsAreThoseOfTheRecord) {
  Example example = cat_example;
  std::vector<float> weights = random_weights(12);
  weights[4] = nan_weight;
  example.items = {alignment(2, example, weights)};
  const ExportedPage page = exported(Record{{example}});
  const auto panel = [&](int number) { return numbers_of<float>(page.bytes(format("weights?example=0&item=0&panel={}", number))); };
  EXPECT_THAT(panel(0), Pointwise(NanSensitiveFloatEq(), std::vector<float>(weights.begin(), weights.begin() + 6)));
  EXPECT_THAT(panel(1), Pointwise(NanSensitiveFloatEq(), std::vector<float>(weights.begin() + 6, weights.end())));
  EXPECT_THAT(numbers_of<float>(page.bytes("thumbnails?example=0&item=0")), Pointwise(NanSensitiveFloatEq(), weights));
  EXPECT_EQ(page.data_by_key.size(), 5u);  // two panels, thumbnails, summary, index
}

TEST_F(Page, AllAxesButTheLastTwoMakePanels) {
  const Item item{.module = "m",
                  .kind = Kind::spatial,
                  .axes = {"step", "map", "row", "column"},
                  .shape = {3, 2, 4, 5},
                  .weights = random_weights(120)};
  const ExportedPage page = exported(item);
  EXPECT_EQ(page.item(0, 0).at("panels").as_integer(), 6);
  for (std::ptrdiff_t panel = 0; panel < 6; ++panel)
    EXPECT_THAT(numbers_of<float>(page.bytes(format("weights?example=0&item=0&panel={}", panel))),
                ElementsAreArray(item.weights.begin() + 20 * panel, item.weights.begin() + 20 * (panel + 1)));
}

// What a summary says, by a plain loop.
struct ExpectedSummary {
  double largest = 0, entropy = 0, distance = 0;
  std::int64_t not_a_number = 0;
};

ExpectedSummary summary_of(const Item& item, std::int64_t panel) {
  const std::int64_t rows = item.shape[item.shape.size() - 2], columns = item.shape.back();
  ExpectedSummary expected;
  double weighted_distance = 0, weight_sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = item.weights.data() + (panel * rows + r) * columns;
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      if (std::isnan(row[c])) {
        ++expected.not_a_number;
        continue;
      }
      sum += row[c];
      expected.largest = std::max(expected.largest, static_cast<double>(row[c]));
      weighted_distance += row[c] * std::abs(static_cast<double>(c) -
                                             static_cast<double>(r) * static_cast<double>(columns - 1) / static_cast<double>(rows - 1));
      weight_sum += row[c];
    }
    for (std::int64_t c = 0; c < columns; ++c)
      if (row[c] > 0) expected.entropy -= row[c] / sum * std::log2(row[c] / sum) / static_cast<double>(rows);
  }
  expected.distance = weighted_distance / weight_sum;
  return expected;
}

void expect_summary(const io::Value& told, const ExpectedSummary& expected) {
  EXPECT_NEAR(told.at("largest").as_number(), expected.largest, 1e-6);
  EXPECT_NEAR(told.at("entropy").as_number(), expected.entropy, 1e-5);
  EXPECT_NEAR(told.at("distance").as_number(), expected.distance, 1e-5);
  EXPECT_EQ(told.at("not_a_number").as_integer(), expected.not_a_number);
}

TEST_F(Page, SummaryIsThatOfAPlainLoop) {
  Item item = random_map({3, 5, 7});
  item.weights[3] = item.weights[40] = nan_weight;
  item.weights[8] = 0;
  const ExportedPage page = exported(item);
  const io::Value told = page.json("summary?example=0&item=0");
  ASSERT_EQ(told.at("panels").as_list().size(), 3u);
  for (std::int64_t panel = 0; panel < 3; ++panel)
    expect_summary(told.at("panels").as_list()[static_cast<std::size_t>(panel)], summary_of(item, panel));
}

TEST_F(Page, SummaryOfRowsWithoutWeightIsFinite) {
  for (const Item& item : {map_item({2, 3}, {0, 0, 0, 0, 0, 0}), map_item({1, 1}, {1}), map_item({1, 2}, {nan_weight, nan_weight}),
                           map_item({2, 2}, {-1, -2, INFINITY, 0})}) {
    const io::Value told = exported(item).json("summary?example=0&item=0").at("panels").as_list().at(0);
    for (const char* key : {"largest", "entropy", "distance"}) EXPECT_TRUE(std::isfinite(told.at(key).as_number())) << key;
  }
}

TEST_F(Page, ThumbnailsAreMeansOfBlocks) {
  const Item item = random_map({2, 130, 70});
  const ExportedPage page = exported(item);
  // 130 rows by blocks of 3, 70 columns by blocks of 2
  EXPECT_EQ(io::to_json(page.item(0, 0).at("thumbnail")), "[44,35]");
  const std::vector<float> means = numbers_of<float>(page.bytes("thumbnails?example=0&item=0"));
  ASSERT_EQ(means.size(), 2u * 44 * 35);
  for (std::int64_t panel = 0; panel < 2; ++panel) {
    for (std::int64_t r = 0; r < 44; ++r) {
      for (std::int64_t c = 0; c < 35; ++c) {
        double sum = 0, count = 0;
        for (std::int64_t row = 3 * r; row < std::min<std::int64_t>(3 * r + 3, 130); ++row)
          for (std::int64_t column = 2 * c; column < 2 * c + 2; ++column)
            sum += item.weights[static_cast<std::size_t>((panel * 130 + row) * 70 + column)], ++count;
        EXPECT_NEAR(means[static_cast<std::size_t>((panel * 44 + r) * 35 + c)], sum / count, 1e-6);
      }
    }
  }
}

TEST_F(Page, PicturesAndSoundsAreHeld) {
  Example example{.id = "1"};
  example.picture = Picture{2, 1, 3, {1, 2, 3, 253, 254, 255}};
  example.sound = Sound{16000, {}};
  for (int i = 0; i < 10000; ++i) example.sound->samples.push_back(std::sin(static_cast<float>(i)) * 0.5f);
  const ExportedPage page = exported(Record{{example}});
  EXPECT_THAT(numbers_of<std::uint8_t>(page.bytes("picture?example=0")), ElementsAre(1, 2, 3, 253, 254, 255));
  const std::vector<float> ends = numbers_of<float>(page.bytes("sound?example=0"));
  ASSERT_EQ(ends.size(), 2u * 4096);
  EXPECT_FLOAT_EQ(*std::min_element(ends.begin(), ends.end()),
                  *std::min_element(example.sound->samples.begin(), example.sound->samples.end()));
  EXPECT_FLOAT_EQ(*std::max_element(ends.begin(), ends.end()),
                  *std::max_element(example.sound->samples.begin(), example.sound->samples.end()));
  for (std::size_t bucket = 0; bucket < 4096; ++bucket) {
    const auto first = example.sound->samples.begin() + static_cast<std::ptrdiff_t>(bucket * 10000 / 4096),
               end = example.sound->samples.begin() + static_cast<std::ptrdiff_t>((bucket + 1) * 10000 / 4096);
    EXPECT_EQ(ends[2 * bucket], *std::min_element(first, end));
    EXPECT_EQ(ends[2 * bucket + 1], *std::max_element(first, end));
  }
  example.sound->samples = {0.5f, -0.25f};
  EXPECT_THAT(numbers_of<float>(exported(Record{{example}}).bytes("sound?example=0")), ElementsAre(0.5f, 0.5f, -0.25f, -0.25f));
}

TEST_F(Page, AFileGivesWhatMemoryGives) {
  Example example = cat_example;
  example.items = {alignment(2, example, random_weights(12)), shortened(random_map({2, 40, 50}), {.form = Form::top_k, .k = 3}),
                   shortened(random_map({2, 40, 50}), {.form = Form::thumbnail, .size = 8})};
  example.items[1].kind = example.items[2].kind = Kind::spatial;
  example.picture = Picture{1, 2, 1, {7, 9}};
  example.sound = Sound{100, {0.25f, 0.5f}};
  const Record record{{example, cat_example}};
  write_record(folder.path() / "page.attn", record);
  const ExportedPage from_memory = exported(record, {.title = "page.attn"});
  write_html(file, RecordFile::open(folder.path() / "page.attn"));  // its name is its title
  EXPECT_EQ(ExportedPage(file).data_by_key, from_memory.data_by_key);
}

// --- shortened ---------------------------------------------------------------------------------------------------------------------------

// The k largest of a row with their columns, largest first.
std::vector<std::pair<float, int>> largest_of_row(const Item& item, std::size_t row, std::size_t k) {
  const auto columns = static_cast<std::size_t>(item.shape.back());
  std::vector<std::pair<float, int>> entries;
  for (std::size_t c = 0; c < columns; ++c) entries.emplace_back(item.weights[row * columns + c], static_cast<int>(c));
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  entries.resize(k);
  return entries;
}

TEST_F(Page, TopKKeepsTheLargestOfEachRow) {
  const Item item = random_map({2, 5, 40});
  const ExportedPage page = exported(item, {.keep = {.form = Form::top_k, .k = 3}});
  EXPECT_EQ(io::to_json(page.item(0, 0).at("kept")), R"({"form":"top-k","k":3})");
  EXPECT_EQ(io::to_json(page.item(0, 0).at("shape")), "[2,5,40]");
  for (std::size_t panel = 0; panel < 2; ++panel) {
    const std::string bytes = page.bytes(format("weights?example=0&item=0&panel={}", panel));
    ASSERT_EQ(bytes.size(), 5u * 3 * (sizeof(float) + sizeof(std::uint16_t)));
    const auto weights = numbers_of<float>(std::string_view(bytes).substr(0, 60));
    const auto columns = numbers_of<std::uint16_t>(std::string_view(bytes).substr(60));
    for (std::size_t row = 0; row < 5; ++row) {
      const auto expected = largest_of_row(item, panel * 5 + row, 3);
      for (std::size_t slot = 0; slot < 3; ++slot) {
        EXPECT_EQ(weights[row * 3 + slot], expected[slot].first);
        EXPECT_EQ(columns[row * 3 + slot], expected[slot].second);
      }
    }
  }
  // summary and thumbnails are those of all weights
  expect_summary(page.json("summary?example=0&item=0").at("panels").as_list().at(1), summary_of(item, 1));
  EXPECT_EQ(page.bytes("thumbnails?example=0&item=0"), exported(item).bytes("thumbnails?example=0&item=0"));
}

TEST_F(Page, ColumnsOfWideRowsHaveFourBytes) {
  Item item = map_item({1, 70000}, std::vector<float>(70000));
  item.weights[69999] = 0.5f, item.weights[3] = 0.25f;
  const ExportedPage page = exported(item, {.keep = {.form = Form::top_k, .k = 3}});
  const std::string bytes = page.bytes("weights?example=0&item=0&panel=0");
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_THAT(numbers_of<float>(std::string_view(bytes).substr(0, 12)), ElementsAre(0.5f, 0.25f, 0));
  EXPECT_THAT(numbers_of<std::uint32_t>(std::string_view(bytes).substr(12)), ElementsAre(69999, 3, 0xFFFFFFFFu));
}

TEST_F(Page, RecordedTopKComesLargestFirst) {
  Item item = map_item({2, 9}, {0.1f, 0.5f, 0.3f, 0, nan_weight, 0.2f});
  item.form = Form::top_k, item.k = 3, item.keys = {4, 2, 7, -1, 8, 0};
  const ExportedPage page = exported(item);
  const std::string bytes = page.bytes("weights?example=0&item=0&panel=0");
  EXPECT_THAT(numbers_of<float>(std::string_view(bytes).substr(0, 24)),
              Pointwise(NanSensitiveFloatEq(), {0.5f, 0.3f, 0.1f, nan_weight, 0.2f, 0.0f}));
  EXPECT_THAT(numbers_of<std::uint16_t>(std::string_view(bytes).substr(24)), ElementsAre(2, 7, 4, 8, 0, 0xFFFF));
  const std::vector<float> thumbnail = numbers_of<float>(page.bytes("thumbnails?example=0&item=0"));
  EXPECT_THAT(thumbnail, Pointwise(NanSensitiveFloatEq(),
                                   std::vector<float>{0, 0, 0.5f, 0, 0.1f, 0, 0, 0.3f, 0, 0.2f, 0, 0, 0, 0, 0, 0, 0, nan_weight}));
  const io::Value summary = page.json("summary?example=0&item=0").at("panels").as_list().at(0);
  EXPECT_FLOAT_EQ(static_cast<float>(summary.at("largest").as_number()), 0.5f);
  EXPECT_EQ(summary.at("not_a_number").as_integer(), 1);
  EXPECT_GT(summary.at("entropy").as_number(), 0.1);  // of what is kept
  item.entropy = {3, 1};
  EXPECT_EQ(exported(item).json("summary?example=0&item=0").at("panels").as_list().at(0).at("entropy").as_number(), 2);
}

TEST_F(Page, ThumbnailKeepsMeansOfBlocks) {
  const Item item = random_map({2, 100, 30});
  const ExportedPage page = exported(item, {.keep = {.form = Form::thumbnail, .size = 16}});
  const Item kept = shortened(item, {.form = Form::thumbnail, .size = 16});
  EXPECT_EQ(io::to_json(page.item(0, 0).at("kept")), R"({"form":"thumbnail","block":[7,2]})");
  EXPECT_EQ(io::to_json(page.item(0, 0).at("thumbnail")), "[15,15]");
  EXPECT_THAT(numbers_of<float>(page.bytes("weights?example=0&item=0&panel=1")),
              ElementsAreArray(kept.weights.begin() + 15 * 15, kept.weights.end()));
  EXPECT_THAT(numbers_of<float>(page.bytes("thumbnails?example=0&item=0")), ElementsAreArray(kept.weights));
  expect_summary(page.json("summary?example=0&item=0").at("panels").as_list().at(0), summary_of(item, 0));
}

TEST_F(Page, SummaryOfARecordedThumbnailIsThatOfItsBlocks) {
  // one weight in each block: its mean at each of its places has the same sums
  Item even = map_item({4, 6}, std::vector<float>(24, 0.125f));
  Item thumbnail = map_item({4, 6}, std::vector<float>(4, 0.125f));
  thumbnail.form = Form::thumbnail, thumbnail.block = {3, 4};
  const io::Value told = exported(thumbnail).json("summary?example=0&item=0").at("panels").as_list().at(0);
  const ExpectedSummary expected = summary_of(even, 0);
  EXPECT_NEAR(told.at("largest").as_number(), 0.125, 1e-7);
  EXPECT_NEAR(told.at("entropy").as_number(), expected.entropy, 1e-5);
  // of a block only its middle is known: columns 1.5 and 4.5, rows 1 and 3
  const double distance = (12 * std::abs(1.5 - 5.0 / 3) + 6 * std::abs(4.5 - 5.0 / 3) + 4 * std::abs(1.5 - 5) + 2 * std::abs(4.5 - 5)) / 24;
  EXPECT_NEAR(told.at("distance").as_number(), distance, 1e-6);
}

TEST_F(Page, IsSmallerWhereLessIsKept) {
  const Item item = random_map({4, 200, 200});
  const std::size_t all = exported(item).html.size(), some = exported(item, {.keep = {.form = Form::top_k, .k = 4}}).html.size(),
                    few = exported(item, {.keep = {.form = Form::thumbnail, .size = 16}}).html.size();
  EXPECT_LT(few, some);
  EXPECT_LT(some + 500'000, all);
}

// So that a page of 24 layers with 16 heads at 512 tokens stays below 20 MB: what an item of 16 heads adds to a page of one of 8.
TEST_F(Page, ALargeModelsPageCanBeSent) {
  const PageOptions options{.keep = {.form = Form::top_k, .k = 8}};
  const std::size_t eight = exported(random_map({8, 512, 512}), options).html.size(), sixteen = exported(random_map({16, 512, 512}), options).html.size();
  const std::size_t head = (sixteen - eight) / 8, rest = eight - 8 * head;
  EXPECT_LT(rest + 24 * 16 * head, 20'000'000u);
  EXPECT_EQ(exported(random_map({1, 512, 512}), options).json("record").at("examples").as_list().at(0).at("items").as_list().at(0).at("thumbnail"),
            io::Value(io::Value::List{40, 40}));
}

// --- what is empty or odd ----------------------------------------------------------------------------------------------------------------

TEST_F(Page, NothingIsAPageToo) {
  EXPECT_EQ(exported(Record{}).bytes("record"),
            R"({"format":1,"title":"attend","served":false,"run":null,"has_metrics":false,"examples":[]})");
  const Example empty{.id = ""};
  EXPECT_EQ(exported(Record{{empty}}).json("record").at("examples").as_list().at(0).at("items").as_list().size(), 0u);
}

TEST_F(Page, EmptyMapsHaveNoBytes) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{1, 0, 0}, {3, 0, 5}, {3, 5, 0}, {0, 4, 4}, {0}}) {
    const ExportedPage page = exported(map_item(shape, {}));
    EXPECT_THAT(page.bytes("thumbnails?example=0&item=0"), IsEmpty());
    const std::int64_t panels = page.item(0, 0).at("panels").as_integer();
    EXPECT_EQ(panels, shape.size() == 3 ? shape[0] : 1);
    EXPECT_EQ(page.json("summary?example=0&item=0").at("panels").as_list().size(), static_cast<std::size_t>(panels));
    for (std::int64_t panel = 0; panel < panels; ++panel)
      EXPECT_THAT(page.bytes(format("weights?example=0&item=0&panel={}", panel)), IsEmpty());
  }
}

TEST_F(Page, HugeShapesWithoutNumbersCostNothing) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(exported(map_item({huge, 0, 3}, {})).item(0, 0).at("panels").as_integer(), 1024);
  EXPECT_EQ(exported(map_item({1, huge, 0}, {})).item(0, 0).at("rows").as_integer(), huge);
  EXPECT_EQ(exported(map_item({1, 0, huge}, {})).item(0, 0).at("columns").as_integer(), huge);
  Item wide = map_item({1, 1}, {0.5f});
  wide.shape = {huge, huge}, wide.form = Form::thumbnail, wide.block = {huge, huge};
  const ExportedPage page = exported(wide);
  EXPECT_THAT(numbers_of<float>(page.bytes("thumbnails?example=0&item=0")), ElementsAre(0.5f));
  EXPECT_NEAR(page.json("summary?example=0&item=0").at("panels").as_list().at(0).at("entropy").as_number(), 40, 1e-6);
}

// --- markup ------------------------------------------------------------------------------------------------------------------------------

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST_F(Page, MarkupInARecordingIsText) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  Example example{evil, {evil, "<!--", "]]>", "\xFF\xFE", std::string(10000, 'x')}, {"\u202E", ""}, {}};
  Item item = alignment(1, example, random_weights(10));
  item.module = evil;
  example.items = {item};
  const ExportedPage plain = exported(Record{{cat_example}}, {.title = "a"});
  const ExportedPage page = exported(Record{{example}}, {.title = "</title>" + evil + "\"'&\x01"});
  EXPECT_THAT(page.html, Not(HasSubstr("<script>alert(")));
  EXPECT_THAT(page.html, HasSubstr("<title>&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_EQ(count_of(page.html, "<script"), count_of(plain.html, "<script") + 3);  // thumbnails, summary and one panel
  const io::Value entry = page.json("record").at("examples").as_list().at(0);
  EXPECT_EQ(entry.at("id").as_text(), evil);
  EXPECT_EQ(entry.at("source").as_list().at(0).as_text(), evil);
  EXPECT_EQ(entry.at("source").as_list().at(3).as_text(), "\uFFFD\uFFFD");
  EXPECT_EQ(entry.at("items").as_list().at(0).at("module").as_text(), evil);
}

TEST_F(Page, NeedsNothingElse) {
  const ExportedPage page = exported(Record{{cat_example}});
  std::smatch policy;
  const std::regex meta("<head>\\s*<meta http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\">");
  ASSERT_TRUE(std::regex_search(page.html, policy, meta));
  EXPECT_THAT(policy[1].str(), AllOf(HasSubstr("default-src 'none'"), HasSubstr("connect-src 'none'"), HasSubstr("base-uri 'none'"),
                                     HasSubstr("form-action 'none'")));
  EXPECT_THAT(policy[1].str(), Not(HasSubstr("unsafe")));
  std::smatch nonce;
  const std::string text = policy[1].str();
  ASSERT_TRUE(std::regex_search(text, nonce, std::regex("script-src 'nonce-([^']+)'; style-src 'nonce-\\1'")));
  // every script and style is ours, and here
  const std::size_t allowed = count_of(page.html, "<script nonce=\"" + nonce[1].str() + "\">"),
                    data = count_of(page.html, "<script type=\"text/plain\"");
  EXPECT_GT(allowed, 5u);
  EXPECT_EQ(count_of(page.html, "<script"), allowed + data);
  EXPECT_EQ(count_of(page.html, "<style"), count_of(page.html, "<style nonce=\"" + nonce[1].str() + "\">"));
  EXPECT_GT(count_of(page.html, "<style"), 0u);
  for (const char* outside :
       {"<script src", "<link rel=\"stylesheet\"", "<iframe", "<base", " onclick=", " onload=", " style=\"", "@import"})
    EXPECT_THAT(page.html, Not(HasSubstr(outside)));
  // addresses of other hosts occur as the names of markup languages only
  std::string rest = page.html;
  for (const char* name : {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
    for (std::size_t at; (at = rest.find(name)) != std::string::npos;) rest.erase(at, std::string(name).size());
  EXPECT_THAT(rest, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://"))));
}

TEST_F(Page, TheSameInputGivesTheSameBytes) {
  const Record record{{{.id = "1", .items = {random_map({2, 5, 6})}}}};
  EXPECT_EQ(exported(record).html, exported(record).html);
}

// --- runs --------------------------------------------------------------------------------------------------------------------------------

TEST_F(Page, HoldsTheCurvesOfARun) {
  const std::filesystem::path metrics =
      folder.write("metrics.jsonl",
                   "{\"step\":1,\"loss\":2.5}\nhalf a line "
                   "{\n[1]\n\n{\"step\":2,\"loss\":NaN}\n{\"step\":2,\"loss\":null,\"text\":\"</script>\"}\n{\"step\":3");
  PageOptions options;
  options.run = PageRun{.name = "B3-x", .system = "B3", .metrics = metrics, .ended = folder.path() / "samples.attn", .try_hint = "a word"};
  const ExportedPage page = exported(Record{}, options);
  EXPECT_EQ(page.bytes("metrics?from=0"),
            format(R"({{"next":{},"lines":[{{"step":1,"loss":2.5}},{{"step":2,"loss":null,"text":"</script>"}}],"finished":false}})",
                   std::filesystem::file_size(metrics) - 9));
  const io::Value index = page.json("record");
  EXPECT_EQ(io::to_json(index.at("run")), R"({"name":"B3-x","system":"B3","can_try":false,"try_hint":"a word"})");
  EXPECT_TRUE(index.at("has_metrics").as_bool());
  EXPECT_EQ(index.at("title").as_text(), "B3-x");
  folder.write("samples.attn", "");
  EXPECT_TRUE(exported(Record{}, options).json("metrics?from=0").at("finished").as_bool());
  std::filesystem::remove(metrics);
  EXPECT_EQ(exported(Record{}, options).bytes("metrics?from=0"), R"({"next":0,"lines":[],"finished":true})");
}

TEST_F(Page, HoldsAllLinesOfALongRun) {
  std::string lines;
  for (int step = 1; step <= 70000; ++step) lines += format("{{\"step\":{},\"loss\":0.123456789}}\n", step);
  ASSERT_GT(lines.size(), 2u << 20);
  PageOptions options;
  options.run = PageRun{.metrics = folder.write("metrics.jsonl", lines)};
  const io::Value metrics = exported(Record{}, options).json("metrics?from=0");
  EXPECT_EQ(metrics.at("lines").as_list().size(), 70000u);
  EXPECT_EQ(metrics.at("next").as_integer(), std::ssize(lines));
}

// --- refused -----------------------------------------------------------------------------------------------------------------------------

TEST_F(Page, RefusesWhatContradictsItself) {
  const auto complaint = [&](const Record& record, const PageOptions& options = {}) -> std::string {
    try {
      write_html(file, record, options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(complaint({{cat_example, {.id = "2", .items = {alignment(1, cat_example, {0.5f})}}}}),
              HasSubstr("example 1: item 0: \"decoder.attention\" (alignment): expected 0 along axis 1"));
  Example pictured{.id = "1"};
  pictured.picture = Picture{2, 2, 3, {1}};
  EXPECT_THAT(complaint({{pictured}}), HasSubstr("example 0: "));
  EXPECT_THAT(complaint({}, {.keep = {.form = Form::top_k, .k = 0}}),
              HasSubstr("expected keep.k and keep.size of at least 1, got 0 and 64"));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THROW(write_html(folder.path() / "no" / "page.html", Record{}), SystemError);
}

TEST_F(Page, StaysAwayWhereItCannotBeWritten) {
  const std::filesystem::path attn = folder.path() / "a.attn";
  write_record(attn, Record{{cat_example}});
  folder.write("page.html", "before");
  PageOptions options;
  options.run = PageRun{.metrics = folder.path()};  // a folder in place of a file
  EXPECT_THROW(write_html(file, RecordFile::open(attn), options), SystemError);
  EXPECT_EQ(fixtures::bytes_of(file), "before");
}

}  // namespace
}  // namespace attend::view
