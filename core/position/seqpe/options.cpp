// SeqpeOptions: read, checked, written and described.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "core/position/seqpe/seqpe.h"
#include "core/position/shared/option_values.h"

namespace locus::position {
namespace {

constexpr std::int64_t kLongest = 20000;
constexpr Choices<SeqpeIntegration, 4> kIntegrations{{{"sum", SeqpeIntegration::kSum},
                                                      {"mul", SeqpeIntegration::kMul},
                                                      {"bias", SeqpeIntegration::kBias},
                                                      {"input", SeqpeIntegration::kInput}}};
constexpr Choices<SeqpeProjection, 3> kProjections{
    {{"single", SeqpeProjection::kSingle}, {"multi", SeqpeProjection::kMulti}, {"none", SeqpeProjection::kNone}}};

Result<SeqpeTraining> training_from(const Settings& settings, const SeqpeEncoderOptions& encoder) {
  SeqpeTraining training;
  LOCUS_TRY(training.distance_loss, settings.number("distance_loss", training.distance_loss));
  LOCUS_TRY(training.transfer_loss, settings.number("transfer_loss", training.transfer_loss));
  LOCUS_TRY(training.shift, settings.number("shift", training.shift));
  LOCUS_TRY(training.longest, settings.integer("longest", std::min(kLongest, encoder.limit())));
  LOCUS_TRY(training.loss_batch, settings.integer("loss_batch", training.loss_batch));
  LOCUS_TRY(training.candidates, settings.integer("candidates", training.candidates));
  for (const auto& [name, value] :
       {std::pair{"distance_loss", training.distance_loss}, std::pair{"transfer_loss", training.transfer_loss}}) {
    if (!(value >= 0) || !std::isfinite(value)) {
      return bad_input("option " + std::string(name) + ": expected a number from 0 on, found " +
                       to_text(SettingValue(value)));
    }
  }
  if (!(training.shift >= 0 && training.shift <= 1)) {
    return bad_input("option shift: expected a share from 0 to 1, found " + to_text(SettingValue(training.shift)));
  }
  if (training.longest < 1 || training.longest > encoder.limit()) {
    return bad_input("option longest: expected 1 to " + std::to_string(encoder.limit()) +
                     ", what the digits can write, found " + std::to_string(training.longest));
  }
  if (training.loss_batch < 1 || training.loss_batch > 65536 || training.candidates < 2 || training.candidates > 4096) {
    return bad_input("options loss_batch and candidates: expected 1 to 65536 and 2 to 4096, found " +
                     std::to_string(training.loss_batch) + " and " + std::to_string(training.candidates));
  }
  return training;
}

}  // namespace

Result<SeqpeOptions> SeqpeOptions::from(const Settings& settings, const ModelShape& shape) {
  SeqpeOptions options;
  LOCUS_TRY(options.integration, choice_option(settings, "integration", kIntegrations, options.integration));
  LOCUS_TRY(options.projection, choice_option(settings, "projection", kProjections, options.projection));
  LOCUS_TRY(options.single_head, settings.boolean("single_head", options.single_head));
  LOCUS_TRY(options.bias_scale, settings.number("bias_scale", options.bias_scale));
  LOCUS_TRY(options.encoder, SeqpeEncoderOptions::from(settings, shape));
  LOCUS_TRY(options.class_token, settings.boolean("class_token", options.encoder.dimensions == 2));
  if (!std::isfinite(options.bias_scale)) {
    return bad_input("option bias_scale: expected a finite number");
  }
  LOCUS_TRY(options.training, training_from(settings, options.encoder));
  return options;
}

Settings SeqpeOptions::settings() const {
  Settings settings{{"integration", name_of(kIntegrations, integration)},
                    {"projection", name_of(kProjections, projection)},
                    {"single_head", single_head},
                    {"bias_scale", bias_scale},
                    {"class_token", class_token}};
  encoder.write(settings);
  settings.set("distance_loss", training.distance_loss);
  settings.set("transfer_loss", training.transfer_loss);
  settings.set("shift", training.shift);
  settings.set("longest", training.longest);
  settings.set("loss_batch", training.loss_batch);
  settings.set("candidates", training.candidates);
  return settings;
}

std::vector<OptionDescription> SeqpeOptions::described() {
  std::vector<OptionDescription> options{
      {"integration", "bias", "how E meets q and k: sum, mul, bias; or input, added to the token embeddings"},
      {"projection", "single", "pe_qk shared by all layers, one a layer (multi), or none: e^q = e^k = E"},
      {"single_head", "false", "E has the channels of one head, the same for all"},
      {"bias_scale", "1", "s of bias"},
      {"class_token", "false", "tokens without position have a learned E; true for images"},
  };
  std::ranges::move(SeqpeEncoderOptions::described(), std::back_inserter(options));
  options.insert(
      options.end(),
      {{"distance_loss", "0.1", "training: weight α of L_δ, which makes near positions alike"},
       {"transfer_loss", "0.1", "training: weight β of L_OOD, which makes shifted positions like trained ones"},
       {"shift", "0.1", "training: share of the sequences that start at a random position"},
       {"longest", "20000", "training: positions of both losses and shifts are below it; at most base^digits"},
       {"loss_batch", "32", "training: pivots of L_δ, groups of L_OOD"},
       {"candidates", "32", "training: positions of a pivot or a group"}});
  return options;
}

}  // namespace locus::position
