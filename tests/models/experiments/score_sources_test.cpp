// Sources of a score: they sum to it whatever the model's shape, and each term is that of a query and a key built from
// two sources alone.
#include "models/api/score_sources.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "models/api/pairs.h"
#include "tests/models/edits/twins.h"
#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"
#include "tests/support/pictured_text.h"

namespace locus::test {
namespace {

constexpr const char* kScoredText = "The cat sat on the mat, and the dog sat on the cat; then both of them slept.";

models::Input scored_text() {
  models::Input input;
  input.text = kScoredText;
  return input;
}

double sum_of_terms(const models::ScoreSources& made) {
  return std::accumulate(made.terms.values.begin(), made.terms.values.end(), 0.0);
}

// The logit as maps have it.
double logit_at(const models::Trace& trace, const models::ScoreSourcesOptions& options,
                const models::ScoreSources& made) {
  const Range row{made.query_token, made.query_token + 1};
  const Range column{made.key_token, made.key_token + 1};
  const auto field = trace.map({options.layer, options.head, Quantity::kLogit, row, column});
  EXPECT_TRUE(field.ok()) << (field.ok() ? "" : field.error().describe());
  return field.ok() ? static_cast<double>(field->values.front()) : 0;
}

// Cells of every layer sum to the logits of the run; what is refused is refused as unsupported. Returns the reasons.
std::set<std::string> expect_scores(const models::Model& model, const models::Input& input) {
  std::set<std::string> reasons;
  const auto trace = model.run(input);
  EXPECT_TRUE(trace.ok()) << trace.error().describe();
  if (!trace.ok()) {
    return reasons;
  }
  const std::int64_t length = (*trace)->length();
  for (std::int64_t layer = 0; layer < model.info().layers; ++layer) {
    if (!model.info().layer_info[static_cast<std::size_t>(layer)].attends) {
      continue;
    }
    for (const std::int64_t head : {std::int64_t{0}, model.info().heads - 1}) {
      for (const std::int64_t query : {std::int64_t{-1}, length / 2}) {
        const models::ScoreSourcesOptions options{layer, head, query, -1};
        const auto made = models::score_sources(model, **trace, options);
        if (!made.ok()) {
          EXPECT_EQ(made.error().code, ErrorCode::kUnsupported) << made.error().describe();
          reasons.insert(made.error().message);
          continue;
        }
        const double logit = logit_at(**trace, options, *made);
        const std::string where = "layer " + std::to_string(layer) + ", head " + std::to_string(head) + ", query " +
                                  std::to_string(made->query_token) + ", key " + std::to_string(made->key_token);
        EXPECT_NEAR(made->logit, logit, 1e-4 * (1 + std::abs(logit))) << where;
        EXPECT_NEAR(sum_of_terms(*made) + made->place + made->cap, logit, 1e-4 * (1 + std::abs(logit))) << where;
        EXPECT_EQ(made->query.front().layer, -1) << where;
      }
    }
  }
  return reasons;
}

TEST(ScoreSources, TermsSumToTheLogitOnEveryLayout) {
  std::set<std::string> reasons;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const TemporaryFolder folder;
    const WrittenLayout written = write_layout(layout, folder.path());
    const auto model = open_model(written.path);
    ASSERT_NE(model, nullptr);
    models::Input input;
    if (layout.image) {
      input.pixels = folder.path() / "grid.safetensors";
      at::manual_seed(3);
      write_tensors(*input.pixels, {{"pixel_values", at::randn({3, 4 * written.patch, 4 * written.patch})}});
    } else {
      input.ids = written.ids;
    }
    for (const std::string& reason : expect_scores(*model, input)) {
      EXPECT_EQ(reason.find("otherwise"), std::string::npos) << reason;  // a step that is not known
      reasons.insert(reason);
    }
  }
  EXPECT_LE(reasons.size(), 8U) << [&] {
    std::string all;
    for (const std::string& reason : reasons) {
      all += reason + "\n";
    }
    return all;
  }();
}

TEST(ScoreSources, TermsSumToTheLogitOfEveryFamily) {
  std::map<std::string, std::set<std::string>> refused;
  std::set<std::string> summed;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/families")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const auto opened = test::open(entry.path());
    if (!opened.ok() || (*opened)->info().encoder_layers > 0) {
      continue;
    }
    const models::Model& model = **opened;
    const auto ready = models::loaded_model_of(model)->checkpoint().ready();
    ASSERT_TRUE(ready.ok()) << ready.error().describe();
    const transformer::Spec& spec = (*ready)->spec();
    if (!spec.head) {
      continue;
    }
    const TemporaryFolder folder;
    models::Input input;
    if (spec.is_image()) {
      const std::int64_t side = spec.image.rows * spec.image.patch;
      input.pixels = folder.path() / "pixels.safetensors";
      at::manual_seed(3);
      write_tensors(*input.pixels, {{"pixel_values", at::randn({3, side, side})}});
    } else {
      input.ids = std::vector<std::int64_t>{5, 9, 3, 17, 9, 3, 11, 5, 9, 3, 17};
    }
    std::set<std::string> reasons = expect_scores(model, input);
    if (reasons.empty()) {
      summed.insert(name);
    } else {
      refused[name] = std::move(reasons);
    }
  }
  for (const char* name :
       {"gemma2", "gemma3_text", "olmo2", "cohere", "falcon", "gpt_oss", "phi", "opt", "granite", "mixtral"}) {
    EXPECT_EQ(summed.count(name), 1U) << name << (refused[name].empty() ? "" : ": " + *refused[name].begin());
  }
  for (const auto& [name, reasons] : refused) {
    for (const std::string& reason : reasons) {
      EXPECT_EQ(reason.find("otherwise"), std::string::npos) << name << ": " << reason;
    }
  }
}

TEST(ScoreSources, TermsSumToTheLogitUnderEncodings) {
  for (const char* name :
       {"text-rope", "text-alibi", "text-learned", "text-relative", "text-none", "text-rope-nope", "text-words-rope"}) {
    SCOPED_TRACE(name);
    const std::set<std::string> reasons = expect_scores(*bundled(name), scored_text());
    EXPECT_TRUE(reasons.empty()) << *reasons.begin();
  }
  for (const char* name : {"text-cope", "text-tape", "text-tapa", "text-fox"}) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(expect_scores(*bundled(name), scored_text()).empty());
  }
  models::Input input;
  input.image = source_dir() + "/assets/samples/star.png";
  EXPECT_TRUE(expect_scores(*bundled("shapes-rope-mixed"), input).empty());
  EXPECT_TRUE(expect_scores(*bundled("shapes-learned"), input).empty());
}

// A model without norms of queries and biases: a source through the frozen norm, the layer's own projections, the
// encoding's own turn and score.
TEST(ScoreSources, ATermIsTheLogitOfAQueryAndAKeyOfTwoSourcesAlone) {
  const at::NoGradGuard no_grad;
  const auto model = bundled("text-rope");
  const transformer::Transformer& transformer = **models::loaded_model_of(*model)->checkpoint().ready();
  ASSERT_EQ(transformer.spec().norm, transformer::Norm::kRms);
  const auto prepared = models::loaded_model_of(*model)->runner().prepare(scored_text());
  ASSERT_TRUE(prepared.ok());
  const auto trace = model->run(scored_text());
  const models::ScoreSourcesOptions options{2, 1, 30, 12};
  const auto made = models::score_sources(*model, **trace, options);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  transformer::ObserveOptions observe;
  observe.hidden = observe.values = true;
  const auto seen = transformer.observe(prepared->batch, observe);
  ASSERT_TRUE(seen.ok());
  std::map<std::string, at::Tensor> named;
  for (const transformer::Parameter& parameter : const_cast<transformer::Transformer&>(transformer).parameters()) {
    named[parameter.name] = parameter.value->to(at::kFloat);
  }
  const Subject subject{transformer, model->info(), prepared->batch, 0};
  // What each source wrote at a token, by the names of the answer.
  const auto written = [&](std::int64_t token) {
    std::map<std::string, at::Tensor> parts{{"embedding", seen->layers[0].hidden[0][token]}};
    for (std::int64_t layer = 0; layer < options.layer; ++layer) {
      const transformer::LayerRecord& record = seen->layers[static_cast<std::size_t>(layer)];
      const at::Tensor weights = map_of(subject, subject.batch, *seen, layer, Quantity::kWeight).to(at::kFloat);
      at::Tensor left = seen->layers[static_cast<std::size_t>(layer + 1)].hidden[0][token] - record.hidden[0][token];
      for (std::int64_t head = 0; head < subject.info.heads; ++head) {
        const at::Tensor value = record.value[0][head * subject.info.kv_heads / subject.info.heads];
        const std::int64_t width = value.size(1);
        const at::Tensor& project = named["layers." + std::to_string(layer) + ".attention.output.weight"];
        const at::Tensor own =
            at::matmul(project.slice(1, head * width, (head + 1) * width), at::matmul(weights[head][token], value));
        parts["head " + std::to_string(layer) + "." + std::to_string(head)] = own;
        left = left - own;
      }
      parts["feed-forward " + std::to_string(layer)] = left;
    }
    return parts;
  };
  const auto queries = written(options.query);
  const auto keys = written(options.key);
  ASSERT_EQ(made->query.size(), queries.size());
  ASSERT_EQ(made->key.size(), keys.size());
  const transformer::Block& block = transformer.block(options.layer);
  const position::PositionEncoding& encoding = transformer.encoding();
  const auto scale = [&](std::int64_t token) {
    const at::Tensor row = seen->layers[static_cast<std::size_t>(options.layer)].hidden[0][token];
    return (row.square().mean() + transformer.spec().norm_eps).rsqrt();
  };
  const at::Tensor& gain = block.weights().attention_norm.weight;
  const position::Positions& positions = prepared->batch.positions;
  for (std::size_t s = 0; s < made->query.size(); ++s) {
    for (std::size_t t = 0; t < made->key.size(); ++t) {
      at::Tensor input = at::zeros({1, positions.size(), transformer.spec().width});
      input[0][options.query] = queries.at(made->query[s].name) * gain * scale(options.query);
      position::Projections own = block.project(input, encoding, positions);
      input.zero_();
      input[0][options.key] = keys.at(made->key[t].name) * gain * scale(options.key);
      own.key = block.project(input, encoding, positions).key;
      const position::Prepared alone =
          encoding.prepare(encoding.begin(positions, 1), transformer.encoding_layer(options.layer), own);
      const position::Tile tile{transformer.encoding_layer(options.layer),
                                {options.head, options.head + 1},
                                {options.query, options.query + 1},
                                {options.key, options.key + 1}};
      const double twin = encoding.score(alone, tile).logits.item<double>();
      EXPECT_NEAR(made->terms.at(static_cast<std::int64_t>(s), static_cast<std::int64_t>(t)), twin,
                  1e-4 * (1 + std::abs(twin)))
          << made->query[s].name << " × " << made->key[t].name;
    }
  }
}

// Bands of pairs sum to the whole, and each to what pair_parts() says of the cell.
TEST(ScoreSources, PairsSplitEveryTerm) {
  const auto model = bundled("text-rope");
  const auto trace = model->run(scored_text());
  models::ScoreSourcesOptions options{3, 0, 25, 7};
  const auto whole = models::score_sources(*model, **trace, options);
  const auto parts = models::pair_parts(**trace, options.layer, options.head, options.query, options.key);
  ASSERT_TRUE(whole.ok() && parts.ok());
  std::vector<double> sums(whole->terms.values.size(), 0.0);
  const auto count = static_cast<std::int64_t>(parts->parts.size());
  for (std::int64_t pair = 0; pair < count; ++pair) {
    options.pairs = {pair, pair + 1};
    const auto own = models::score_sources(*model, **trace, options);
    ASSERT_TRUE(own.ok());
    const double part = parts->parts[static_cast<std::size_t>(pair)];
    EXPECT_NEAR(sum_of_terms(*own), part, 1e-4 * (1 + std::abs(part))) << pair;
    EXPECT_EQ(own->place, 0);
    for (std::size_t n = 0; n < sums.size(); ++n) {
      sums[n] += static_cast<double>(own->terms.values[n]);
    }
  }
  for (std::size_t n = 0; n < sums.size(); ++n) {
    EXPECT_NEAR(sums[n], whole->terms.values[n], 1e-4);
  }
}

// ALiBi's bias stands beside the terms, and is the same whatever the contents.
TEST(ScoreSources, ABiasStandsBesideTheTerms) {
  const auto model = bundled("text-alibi");
  const auto trace = model->run(scored_text());
  const auto field = (*trace)->map({1, 2, Quantity::kContribution, {20, 21}, {4, 5}});
  const auto made = models::score_sources(*model, **trace, {1, 2, 20, 4});
  ASSERT_TRUE(field.ok() && made.ok());
  EXPECT_LT(made->place, 0);
  EXPECT_NEAR(made->place, field->values.front(), 1e-4);
}

TEST(ScoreSources, RefusesWhatDoesNotExist) {
  const auto model = bundled("text-rope");
  const auto trace = model->run(scored_text());
  for (const models::ScoreSourcesOptions& options :
       {models::ScoreSourcesOptions{99, 0, -1, -1}, models::ScoreSourcesOptions{0, 99, -1, -1},
        models::ScoreSourcesOptions{0, 0, 100000, -1}, models::ScoreSourcesOptions{0, 0, 5, 6},
        models::ScoreSourcesOptions{0, 0, 5, 2, {0, 1000}}}) {
    const auto made = models::score_sources(*model, **trace, options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kBadInput) << made.error().describe();
  }
  const auto edited = model->edited(edits_of({"scale 1.2 by 0.5"}));
  ASSERT_TRUE(edited.ok()) << edited.error().describe();
  const auto changed = (*edited)->run(scored_text());
  EXPECT_EQ(models::score_sources(**edited, **changed, {1, 2}).error().code, ErrorCode::kUnsupported);
  const auto later = models::score_sources(**edited, **changed, {2, 2});
  ASSERT_TRUE(later.ok()) << later.error().describe();
  EXPECT_NEAR(sum_of_terms(*later), later->logit, 1e-4 * (1 + std::abs(later->logit)));
}

}  // namespace
}  // namespace locus::test
