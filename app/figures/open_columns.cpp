#include "app/figures/open_columns.h"

#include <algorithm>

#include "core/base/shown.h"
#include "models/api/adapter.h"
#include "models/api/atlas_trace.h"
#include "models/api/files.h"
#include "models/api/machine.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_cache.h"
#include "models/remote/address.h"

namespace locus::session {

Result<Opened> open_entry(const CheckpointEntry& entry, models::OpenOptions options, const Opener& opener,
                          StopToken stop, const Progress& progress) {
  Opened opened;
  LOCUS_TRY(const auto line, models::line_to(entry.path, stop, progress));  // one for all that is asked here
  if (models::is_atlas(entry.path)) {
    LOCUS_TRY(opened.trace, models::open_atlas_trace(entry.path));
    return opened;
  }
  if (models::is_trace(entry.path)) {
    LOCUS_TRY(opened.trace, models::open_trace(entry.path));
    return opened;
  }
  options.overrides = entry.overrides;
  options.base = entry.base.string();
  LOCUS_TRY(opened.model, opener(entry.path, options, std::move(stop), progress));
  if (!entry.edits.empty()) {
    LOCUS_TRY(opened.model, opened.model->edited(entry.edits));
  }
  return opened;
}

std::filesystem::path base_for(const std::filesystem::path& checkpoint, const std::string& named) {
  if (named.empty() || remote::is_remote(checkpoint.native())) {
    return named;  // a path of the machine that reads it
  }
  std::error_code code;
  if (!std::filesystem::exists(checkpoint / models::kAdapterConfig, code)) {
    return {};
  }
  const Result<std::filesystem::path> found = formats::find_checkpoint(named);
  return std::filesystem::absolute(found.ok() ? *found : std::filesystem::path(named), code).lexically_normal();
}

std::vector<std::string> files_of(const CheckpointEntry& entry, const models::Model* model) {
  if (model != nullptr) {
    return model->info().files;
  }
  std::vector<std::string> files;
  for (const std::filesystem::path& rank : formats::rank_files(entry.path)) {
    files.push_back(rank.string());
  }
  return files.empty() ? std::vector<std::string>{entry.path.string()} : files;
}

std::string unique_name(const std::string& name, const std::function<bool(const std::string&)>& taken) {
  std::string unique = name;
  for (int n = 2; taken(unique); ++n) {
    unique = name + " (" + std::to_string(n) + ")";
  }
  return unique;
}

Result<Opened> ColumnMaker::open(const CheckpointEntry& entry) {
  for (const auto& [known, opened] : opened_) {
    if (known.same_model(entry) && known.edits == entry.edits) {
      return opened;
    }
  }
  // Edits share the weights.
  for (const auto& [known, opened] : opened_) {
    if (known.same_model(entry) && opened.model) {
      Opened edited;
      LOCUS_TRY(edited.model, opened.model->edited(entry.edits));
      opened_.emplace_back(entry, edited);
      return edited;
    }
  }
  LOCUS_TRY(Opened opened, open_entry(entry, {}, opener_));
  opened_.emplace_back(entry, opened);
  return opened;
}

Result<std::shared_ptr<const models::Trace>> ColumnMaker::run(const std::shared_ptr<const models::Model>& model,
                                                              const models::Input& input) {
  for (const Run& known : runs_) {
    if (known.model == model && known.input == input) {
      return known.trace;
    }
  }
  LOCUS_TRY(auto trace, runner_(*model, input));
  runs_.push_back({model, input, trace});
  return trace;
}

Result<std::vector<views::Column>> ColumnMaker::columns(const std::vector<CheckpointEntry>& entries,
                                                        const models::Input& input) {
  std::vector<views::Column> columns;
  const auto taken = [&](const std::string& name) {
    return std::any_of(columns.begin(), columns.end(), [&](const auto& column) { return column.name == name; });
  };
  for (const CheckpointEntry& entry : entries) {
    if (!entry.shown) {
      continue;
    }
    LOCUS_TRY(Opened opened, open(entry));
    if (opened.model) {
      LOCUS_TRY(opened.trace, run(opened.model, input_of(entry, input, opened.model->info())));
    }
    const std::string name = opened.model ? opened.model->info().name + label_of(entry, &opened.model->info())
                                          : printable(formats::whole_name(entry.path));
    columns.push_back({unique_name(name, taken), std::move(opened.model), std::move(opened.trace), entry.own});
  }
  return columns;
}

}  // namespace locus::session
