// Downloads of models from Hugging Face's hub into its cache on this machine, where every program that reads the cache
// finds them. Only these functions download, and only on the user's request.
//
// plan_download() asks the hub for the files of a revision and their sizes; fetch() downloads the missing ones.
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
  std::int64_t present = 0;  // bytes on this machine
  bool has_sum = false;      // its SHA-256 is known, and checked before the file gets its name
};

struct DownloadPlan {
  std::string name;      // "ORG/NAME"
  std::string revision;  // "main"
  std::string commit;
  std::filesystem::path folder;  // folder of the snapshot, once it exists
  std::vector<PlannedFile> files;

  std::int64_t bytes() const;    // of all files
  std::int64_t missing() const;  // bytes of the files not yet on this machine
};

// The files that fetch() would download for ORG/NAME or ORG/NAME@REVISION; changes nothing on this machine. `files`:
// these files of weights instead of the usual ones (wanted_files()). Errors: kUsage for an invalid name; kBadInput for
// a hub that cannot be reached or refuses (refusal()), and for invalid answers; kCancelled.
Result<DownloadPlan> plan_download(const HubSettings& settings, const std::string& name,
                                   const std::vector<std::string>& files, const StopToken& stop);

// Downloads the missing files, then writes the ref of the revision. Errors: as download(); kTooLarge where the disk has
// too little space. After an error the fetched part is kept and not fetched again.
Status fetch(const HubSettings& settings, const DownloadPlan& plan, const StopToken& stop, const Progress& progress);

// "1.2 GB", "3.4 kB", "17 bytes".
std::string size_text(std::int64_t bytes);

}  // namespace locus::hub
