#include "models/hub/get.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/checked.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/hub_name.h"
#include "models/hub/cache_folder.h"
#include "models/hub/download.h"
#include "models/hub/listing.h"
#include "models/hub/url.h"

namespace locus::hub {

namespace {

constexpr std::size_t kListingLimit = std::size_t{32} << 20;
constexpr std::size_t kIndexLimit = std::size_t{128} << 20;
constexpr int kQuestionTries = 3;  // timeout of small requests, so that a missing network is reported soon

ConnectionOptions options_of(const HubSettings& settings) {
  return {origin_of(settings.endpoint),
          settings.token,
          settings.connect_s,
          settings.stall_s,
          settings.told_ms,
          settings.waiting};
}

std::string address_of(const HubSettings& settings, const std::string& model, const std::string& commit,
                       const std::string& file) {
  std::string path;
  for (const std::string_view part : split(file, "/")) {
    path += "/" + escaped(part);
  }
  return settings.endpoint + "/" + model + "/resolve/" + commit + path;
}

// A small request, repeated where the connection breaks or the hub is busy.
template <class Ask>
Result<Response> asked(const HubSettings& settings, const StopToken& stop, const Ask& ask) {
  const Patience patience(settings);
  for (int n = 1;; ++n) {
    LOCUS_TRY(Response answer, ask());
    if (answer.good() || !may_come_back(answer) || n == std::min(kQuestionTries, settings.tries) || patience.ends()) {
      return answer;
    }
    if (pause(settings, n, stop)) {
      return cancelled();
    }
  }
}

Result<std::string> text_of(Connection& connection, const HubSettings& settings, const std::string& url,
                            std::size_t limit, const std::string& what, const StopToken& stop) {
  std::string text;
  LOCUS_TRY(const Response answer,
            asked(settings, stop, [&] { return fetch_text(connection, url, limit, text, stop); }));
  return answer.good() ? Result<std::string>(std::move(text)) : refusal(answer, what);
}

Result<Listing> listing_of(Connection& connection, const HubSettings& settings, const DownloadPlan& plan,
                           const StopToken& stop) {
  const std::string url = settings.endpoint + "/api/models/" + plan.name + "/revision/" + escaped(plan.revision);
  LOCUS_TRY(const std::string text,
            text_of(connection, settings, url, kListingLimit, plan.name + "@" + plan.revision, stop));
  return parse_listing(text, plan.name + ": the hub's answer");
}

// Reports the progress of a fetch, ten times a second.
class FetchReport {
 public:
  FetchReport(const DownloadPlan& plan, const Progress& progress)
      : progress_(progress), total_(plan.bytes()), first_(total_ - plan.missing()), done_(0) {}

  void file_done(std::int64_t bytes) { done_ += bytes; }
  void note(const std::string& what) { report(progress_, fraction(done_), what); }
  void there(const std::string& name, std::int64_t bytes) {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) {
      return;
    }
    last_ = now;
    const std::int64_t all = done_ + bytes;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::int64_t fetched = std::max<std::int64_t>(0, all - first_);
    const auto rate = static_cast<std::int64_t>(static_cast<double>(fetched) / std::max(seconds, 1e-3));
    report(progress_, fraction(all),
           name + ": " + size_text(all) + " of " + size_text(total_) + ", " + size_text(rate) + "/s");
  }

 private:
  using Clock = std::chrono::steady_clock;
  double fraction(std::int64_t bytes) const {
    return total_ > 0 ? static_cast<double>(bytes) / static_cast<double>(total_) : 1;
  }

  const Progress& progress_;
  std::int64_t total_;
  std::int64_t first_;  // bytes present before
  std::int64_t done_;   // bytes of the files before this one
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_;
};

Status check_room(const DownloadPlan& plan, const std::filesystem::path& folder) {
  std::error_code code;
  const std::filesystem::space_info space = std::filesystem::space(folder, code);
  const std::int64_t missing = plan.missing();
  return !code && space.available < static_cast<std::uintmax_t>(missing)
             ? Status(too_large("expected " + size_text(missing) + " of free disk, found " +
                                    size_text(static_cast<std::int64_t>(space.available)),
                                folder.string()))
             : Status();
}

}  // namespace

std::int64_t DownloadPlan::bytes() const {
  std::int64_t sum = 0;
  for (const PlannedFile& file : files) {
    sum += file.bytes;  // each at most 2^50, of at most 100,000 files: checked in plan_download()
  }
  return sum;
}

std::int64_t DownloadPlan::missing() const {
  std::int64_t sum = 0;
  for (const PlannedFile& file : files) {
    sum += file.bytes - file.present;
  }
  return sum;
}

std::string size_text(std::int64_t bytes) {
  if (bytes < 1000) {
    return std::to_string(bytes) + " bytes";
  }
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}};
  for (const auto& [unit, name] : kUnits) {
    if (static_cast<double>(bytes) >= unit) {
      return fixed_text(static_cast<double>(bytes) / unit, 1) + name;
    }
  }
  return {};
}

Result<DownloadPlan> plan_download(const HubSettings& settings, const std::string& name,
                                   const std::vector<std::string>& files, const StopToken& stop) {
  const auto parsed = formats::parse_hub_name(name);
  if (!parsed) {
    return usage("expected ORG/NAME or ORG/NAME@REVISION, found " + (name.empty() ? "nothing" : shown(name)));
  }
  DownloadPlan plan;
  plan.name = parsed->path();
  plan.revision = parsed->revision.empty() ? "main" : parsed->revision;
  Connection connection(options_of(settings));
  LOCUS_TRY(const Listing listing, listing_of(connection, settings, plan, stop));
  plan.commit = listing.commit;
  const CacheFolder folder(settings.cache, *parsed);
  plan.folder = folder.snapshot(plan.commit);
  const auto read = [&](const std::string& file) {
    return text_of(connection, settings, address_of(settings, plan.name, plan.commit, file), kIndexLimit, file, stop);
  };
  LOCUS_TRY(const std::vector<std::string> wanted, wanted_files(listing, files, read, plan.name));
  std::int64_t sum = 0;
  std::map<std::string, std::size_t> lengths;  // by etag: one content has one length
  for (const std::string& file : wanted) {
    const std::string url = address_of(settings, plan.name, plan.commit, file);
    LOCUS_TRY(const Response answer, asked(settings, stop, [&] { return connection.send({url, true, 0}, {}, stop); }));
    LOCUS_TRY(const RemoteFile remote, describe_file(file, url, plan.commit, answer));
    const auto more = checked_sum({sum, remote.bytes});
    if (!more) {
      return too_large("expected files of fewer than 2^63 bytes together, found more", plan.name);
    }
    sum = *more;
    if (const auto [known, first] = lengths.emplace(remote.etag, plan.files.size());
        !first && plan.files[known->second].bytes != remote.bytes) {
      const PlannedFile& other = plan.files[known->second];
      return bad_input("expected " + std::to_string(other.bytes) + " bytes, those of " + shown(other.name) +
                           " of the same etag, found " + std::to_string(remote.bytes),
                       file);
    }
    plan.files.push_back({file, remote.etag, remote.bytes, folder.present(plan.commit, file, remote.etag, remote.bytes),
                          remote.has_sum()});
  }
  return plan;
}

Status fetch(const HubSettings& settings, const DownloadPlan& plan, const StopToken& stop, const Progress& progress) {
  const auto parsed = formats::parse_hub_name(plan.name);
  const CacheFolder folder(settings.cache, *parsed);
  LOCUS_CHECK(folder.make(plan.commit));
  LOCUS_CHECK(check_room(plan, folder.model()));
  Connection connection(options_of(settings));
  FetchReport done(plan, progress);
  for (const PlannedFile& file : plan.files) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const RemoteFile remote{file.name, address_of(settings, plan.name, plan.commit, file.name), file.etag, file.bytes};
    if (file.present < file.bytes || file.bytes == 0) {
      LOCUS_CHECK(download(
          connection, settings, folder, remote, stop, [&](std::int64_t bytes) { done.there(file.name, bytes); },
          [&] {
            const std::string what = "waiting for another program that fetches " + file.name;
            done.note(what);
            if (settings.waiting) {
              settings.waiting(what);
            }
          }));
    }
    LOCUS_CHECK(folder.link(plan.commit, file.name, file.etag, file.bytes));
    done.file_done(file.bytes);
  }
  return folder.set_ref(plan.revision, plan.commit);
}

}  // namespace locus::hub
