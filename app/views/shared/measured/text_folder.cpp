#include "app/views/shared/measured/text_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/atomic_file.h"

namespace locus::views {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestText = std::size_t{16} << 20;
constexpr std::size_t kMaxTexts = 1000;

Result<std::vector<fs::path>> texts_in(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().extension() == ".txt") {
      files.push_back(entry->path());
    }
  }
  if (code || files.empty() || files.size() > kMaxTexts) {
    return bad_input(
        code ? code.message()
             : "expected 1 to " + std::to_string(kMaxTexts) + " .txt files, found " + std::to_string(files.size()),
        folder);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Traces> run_texts(const std::string& folder, const MeasureContext& context) {
  LOCUS_CHECK(needs_model(context.column, "A folder of texts"));
  LOCUS_TRY(const std::vector<fs::path> files, texts_in(folder));
  Traces traces;
  for (std::size_t n = 0; n < files.size(); ++n) {
    report(context.progress, static_cast<double>(n) / static_cast<double>(files.size()), files[n].filename().string());
    models::Input text;
    LOCUS_TRY(text.text, read_file(files[n], kLongestText));
    auto trace = context.column.model->run(text, {}, context.stop);
    if (!trace) {
      return trace.error().within(files[n].string());
    }
    traces.push_back(*std::move(trace));
  }
  return traces;
}

}  // namespace

Result<std::shared_ptr<const Traces>> texts_of(const std::string& folder, const MeasureContext& context) {
  if (folder.empty()) {
    return std::make_shared<const Traces>(Traces{context.column.trace});
  }
  return context.kept<Traces>({"texts", folder}, [&] { return run_texts(folder, context); });
}

Result<std::vector<std::vector<models::TokenInfo>>> token_lists_of(const std::string& folder,
                                                                   const MeasureContext& context) {
  if (folder.empty()) {
    return std::vector<std::vector<models::TokenInfo>>{context.column.trace->tokens()};
  }
  LOCUS_TRY(const std::vector<fs::path> files, texts_in(folder));
  std::vector<std::vector<models::TokenInfo>> lists;
  for (const fs::path& file : files) {
    models::Input text;
    LOCUS_TRY(text.text, read_file(file, kLongestText));
    auto tokens = context.column.model->tokenize(text);
    if (!tokens) {
      return tokens.error().within(file.string());
    }
    lists.push_back(*std::move(tokens));
  }
  return lists;
}

}  // namespace locus::views
