// SeqpeOptions: read, checked, written and described.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/position/seqpe/seqpe.h"

namespace locus::position {
namespace {

constexpr std::int64_t kLongest = 20000;
constexpr Words kIntegrations{WordTable<SeqpeIntegration, 4>{{{"sum", SeqpeIntegration::kSum},
                                                              {"mul", SeqpeIntegration::kMul},
                                                              {"bias", SeqpeIntegration::kBias},
                                                              {"input", SeqpeIntegration::kInput}}}};
constexpr Words kProjections{WordTable<SeqpeProjection, 3>{
    {{"single", SeqpeProjection::kSingle}, {"multi", SeqpeProjection::kMulti}, {"none", SeqpeProjection::kNone}}}};

const OptionTable<SeqpeOptions> kSeqpeOptions{
    {"integration", &SeqpeOptions::integration,
     "how E meets q and k: sum, mul, bias; or input, added to the token embeddings", kIntegrations},
    {"projection", &SeqpeOptions::projection, "pe_qk shared by all layers, one a layer (multi), or none: e^q = e^k = E",
     kProjections},
    {"single_head", &SeqpeOptions::single_head, "E has the channels of one head, the same for all"},
    {"bias_scale", &SeqpeOptions::bias_scale, "s of bias"},
    {"class_token", &SeqpeOptions::class_token, "tokens without position have a learned E; true for images"},
};

const OptionTable<SeqpeTraining> kTrainingOptions{
    {"distance_loss", &SeqpeTraining::distance_loss, "training: weight α of L_δ, which makes near positions alike",
     Above{0, true}},
    {"transfer_loss", &SeqpeTraining::transfer_loss,
     "training: weight β of L_OOD, which makes shifted positions like trained ones", Above{0, true}},
    {"shift", &SeqpeTraining::shift, "training: share of the sequences that start at a random position"},
    {"longest", &SeqpeTraining::longest,
     "training: positions of both losses and shifts are below it; at most base^digits", AnyValue{}, "20000"},
    {"loss_batch", &SeqpeTraining::loss_batch, "training: pivots of L_δ, groups of L_OOD", Whole{1, 65536}},
    {"candidates", &SeqpeTraining::candidates, "training: positions of a pivot or a group", Whole{2, 4096}},
};

Result<SeqpeTraining> training_from(const Settings& settings, const SeqpeEncoderOptions& encoder) {
  SeqpeTraining training;
  training.longest = std::min(kLongest, encoder.limit());
  LOCUS_TRY(training, kTrainingOptions.read(settings, training));
  if (!(training.shift >= 0 && training.shift <= 1)) {
    return wrong_option("shift", "a share from 0 to 1", training.shift);
  }
  if (training.longest < 1 || training.longest > encoder.limit()) {
    return wrong_option("longest", "1 to " + std::to_string(encoder.limit()) + ", what the digits can write",
                        training.longest);
  }
  return training;
}

}  // namespace

Result<SeqpeOptions> SeqpeOptions::from(const Settings& settings, const ModelShape& shape) {
  SeqpeOptions options;
  LOCUS_TRY(options.encoder, SeqpeEncoderOptions::from(settings, shape));
  options.class_token = options.encoder.dimensions == 2;
  LOCUS_TRY(options.training, training_from(settings, options.encoder));
  LOCUS_TRY(options, kSeqpeOptions.read(settings, options));
  if (!std::isfinite(options.bias_scale)) {
    return bad_input("option bias_scale: expected a finite number");
  }
  return options;
}

Settings SeqpeOptions::settings() const {
  return kTrainingOptions.written(training, encoder.written(kSeqpeOptions.written(*this)));
}

std::vector<OptionDescription> SeqpeOptions::described() {
  return kSeqpeOptions.described(SeqpeEncoderOptions::described(kTrainingOptions.described()));
}

}  // namespace locus::position
