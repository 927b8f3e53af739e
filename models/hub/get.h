// Getting a model from Hugging Face's hub into its cache on this machine, so that every program that reads the cache
// finds it. Nothing is fetched but through these functions, and nothing calls them unasked.
//
// plan_download() asks the hub what a revision has and how large it is; fetch() downloads what is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/hub/settings.h"

namespace locus::hub {

struct PlannedFile {
  std::string name;
  std::string etag;          // the blob's name
  std::int64_t bytes = 0;    // of the whole file
  std::int64_t present = 0;  // of it, on this machine
  bool has_sum = false;      // its SHA-256 is known, and checked before the file gets its name
};

struct DownloadPlan {
  std::string name;      // "ORG/NAME"
  std::string revision;  // "main"
  std::string commit;
  std::filesystem::path folder;  // of the snapshot, once it is there
  std::vector<PlannedFile> files;

  std::int64_t bytes() const;    // of all files
  std::int64_t missing() const;  // of them, not on this machine
};

// What would be fetched for ORG/NAME or ORG/NAME@REVISION; changes nothing on this machine. `files`: these files of
// weights instead of the usual ones (wanted_files()). Errors: kUsage for what is no such name; kBadInput for a hub that
// cannot be reached or refuses (refusal()), and for answers that are not what the hub answers; kCancelled.
Result<DownloadPlan> plan_download(const HubSettings& settings, const std::string& name,
                                   const std::vector<std::string>& files, const StopToken& stop);

// Downloads what is missing, then names the revision. Errors: as download(); kTooLarge where the disk has too little
// room for it. Whatever ends it, what was fetched so far is kept and not fetched again.
Status fetch(const HubSettings& settings, const DownloadPlan& plan, const StopToken& stop, const Progress& progress);

// "1.2 GB", "3.4 kB", "17 bytes".
std::string size_text(std::int64_t bytes);

}  // namespace locus::hub
