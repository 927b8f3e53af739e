#include "models/families/files/family_files.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "core/base/shown.h"
#include "models/families/files/family_file.h"

namespace locus::families {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 4096;

// Where the program's own files are: beside it, below its prefix, or in the tree that it was built from.
fs::path own_folder() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const char* const place :
       {"families", "../share/locus/assets/families", "../../assets/families", "../../../assets/families"}) {
    if (fs::is_directory(program / place, code)) {
      return fs::weakly_canonical(program / place, code);
    }
  }
  return {};
}

fs::path& chosen_folder() {
  static fs::path folder;
  return folder;
}

fs::path user_folder() {
  if (!chosen_folder().empty()) {
    return chosen_folder();
  }
  if (const char* const folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder != '\0') {
    return fs::path(folder) / "locus" / "families";
  }
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".config" / "locus" / "families";
}

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

// A name without a way out of its folder.
bool is_plain(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  if (folder.empty()) {
    return files;
  }
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end && files.size() < kMaxFiles;
       entry.increment(code)) {
    if (entry->path().extension() == ".json" && is_file(entry->path())) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Family* built_in(const std::string& name) {
  for (const Family& family : families()) {
    if (family.name == name) {
      return &family;
    }
  }
  return nullptr;
}

class Files {
 public:
  Result<const Family*> get(const fs::path& file) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> chain;
    return read(file, chain);
  }

  Result<const Family*> named(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> chain;
    return inherit(name, user_folder(), chain);
  }

 private:
  using Kept = Result<std::unique_ptr<const Family>>;

  // `chain` has the names of the files that inherit this one.
  Result<const Family*> read(const fs::path& file, std::vector<std::string>& chain) {
    const std::string key = file.string();
    auto found = read_.find(key);
    if (found == read_.end()) {
      Kept kept = read_now(file, chain);
      if (!kept.ok() && !chain.empty()) {
        return kept.error();  // it may be the fault of a file that inherits this one
      }
      found = read_.emplace(key, std::move(kept)).first;
    }
    return found->second.ok() ? Result<const Family*>(found->second->get())
                              : Result<const Family*>(found->second.error());
  }

  Kept read_now(const fs::path& file, std::vector<std::string>& chain) {
    LOCUS_TRY(const std::string text, read_file(file, kFamilyFileLimit));
    chain.push_back(file.stem().string());
    const auto inherited = [&](const std::string& name) { return inherit(name, file.parent_path(), chain); };
    Result<Family> family = read_family_file(text, file.string(), inherited);
    chain.pop_back();
    if (!family.ok()) {
      return family.error();
    }
    if (family->name != file.stem().string()) {
      return unsupported("$.name: expected " + shown(file.stem().string()) + ", the name of the file, found " +
                             shown(std::string(family->name)),
                         file.string());
    }
    if (file.parent_path() == own_folder()) {
      family->digest.clear();
    } else {
      family->digest = sha256(text + family->digest);
    }
    return Kept(std::make_unique<const Family>(*std::move(family)));
  }

  Result<const Family*> inherit(const std::string& name, const fs::path& folder, std::vector<std::string>& chain) {
    if (const Family* const family = built_in(name); family != nullptr) {
      return family->read == nullptr ? Result<const Family*>(family)
                                     : unsupported("expected a family that is a table, found " + shown(name));
    }
    if (std::find(chain.begin(), chain.end(), name) != chain.end()) {
      return unsupported("expected families that do not inherit each other in a circle, found " + shown(name));
    }
    if (chain.size() >= kFamilyLevels) {
      return unsupported("expected at most " + std::to_string(kFamilyLevels) + " levels, found more at " + shown(name));
    }
    for (const fs::path& each : {folder, user_folder(), own_folder()}) {
      if (const fs::path file = each / (name + ".json"); is_plain(name) && !each.empty() && is_file(file)) {
        return read(file, chain);
      }
    }
    return unsupported("expected a family of the program or of a file, found " + shown(name));
  }

  std::mutex mutex_;
  std::map<std::string, Kept> read_;
};

Files& files() {
  static Files files;
  return files;
}

bool reads(const Family& family, const std::string& type) {
  return std::find(family.types.begin(), family.types.end(), type) != family.types.end();
}

// A built-in name is replaced by a file that says so.
Result<const Family*> replacing_family(const std::string& type) {
  const fs::path folder = user_folder();
  const fs::path file = folder / (type + ".json");
  if (folder.empty() || !is_file(file)) {
    return static_cast<const Family*>(nullptr);
  }
  LOCUS_TRY(const Family* const family, files().get(file));
  if (!reads(*family, type)) {
    return static_cast<const Family*>(nullptr);
  }
  if (!family->replaces) {
    return unsupported("$.replaces: expected true, since the program has a family " + shown(type), file.string());
  }
  return family;
}

constexpr std::size_t kDigest = 64;              // digits
constexpr std::size_t kVerifiedLimit = 1 << 20;  // bytes

fs::path verified_file() {
  return user_folder() / "verified";
}

// One line of digits each.
std::string verified_lines() {
  const Result<std::string> text = read_file(verified_file(), kVerifiedLimit);
  return text.ok() ? *text : "";
}

}  // namespace

std::string unverified_by(const Family& family, const Config& config) {
  if (family.digest.empty()) {
    return {};
  }
  const auto skipped = [&](const std::string& field) { return is_harmless(field, family); };
  const std::string name = sha256(family.digest + config.outline(skipped));
  const std::string lines = verified_lines();
  for (std::size_t begin = 0; begin + kDigest <= lines.size(); begin += kDigest + 1) {
    if (lines.compare(begin, kDigest, name) == 0) {
      return {};
    }
  }
  return name;
}

Status remember_verified(const std::string& unverified) {
  std::error_code code;
  fs::create_directories(user_folder(), code);
  std::string lines = verified_lines();
  lines = lines.size() + kDigest < kVerifiedLimit && lines.size() % (kDigest + 1) == 0 ? lines : "";
  return write_file(verified_file(), lines + unverified + "\n");
}

void set_user_folder(const fs::path& folder) {
  chosen_folder() = folder;
}

std::vector<FamilyFile> family_files() {
  std::vector<FamilyFile> list;
  for (const fs::path& folder : {user_folder(), own_folder()}) {
    for (const fs::path& path : files_of(folder)) {
      const Result<const Family*> family = files().get(path);
      list.push_back({path, family.ok() ? *family : nullptr,
                      family.ok() ? std::optional<Error>() : std::optional<Error>(family.error())});
    }
  }
  return list;
}

Result<const Family*> read_family(const fs::path& file) {
  return files().get(file);
}

Result<const Family*> inheritable_family(const std::string& name) {
  return files().named(name);
}

Result<const Family*> family_in_files(const std::string& model_type, bool replacing) {
  if (!is_plain(model_type)) {
    return static_cast<const Family*>(nullptr);
  }
  if (replacing) {
    return replacing_family(model_type);
  }
  for (const fs::path& folder : {user_folder(), own_folder()}) {
    if (const fs::path file = folder / (model_type + ".json"); !folder.empty() && is_file(file)) {
      LOCUS_TRY(const Family* const family, files().get(file));
      if (reads(*family, model_type)) {
        return family;
      }
    }
  }
  std::optional<Error> wrong;
  for (const FamilyFile& each : family_files()) {
    if (each.family != nullptr && reads(*each.family, model_type)) {
      return each.family;
    }
    wrong = wrong ? wrong : each.error;
  }
  return wrong ? Result<const Family*>(*wrong) : Result<const Family*>(static_cast<const Family*>(nullptr));
}

}  // namespace locus::families
