#include "app/figures/input_paths.h"

#include "models/formats/files_read.h"

namespace locus::session {

namespace {

void add_entries(const std::vector<CheckpointEntry>& entries, InputFiles& files) {
  for (const CheckpointEntry& entry : entries) {
    files.add(entry.path);
    for (const std::filesystem::path& file : formats::files_read(entry.path)) {
      files.add(file);
    }
  }
}

void add_input(const models::Input& input, InputFiles& files) {
  for (const auto* file : {&input.image, &input.pixels}) {
    if (file->has_value()) {
      files.add(**file);
    }
  }
  for (const std::filesystem::path& image : input.images) {
    files.add(image);
  }
  for (const std::filesystem::path& video : input.videos) {
    files.add(video);
  }
}

}  // namespace

void add_inputs(const Session& session, InputFiles& files) {
  add_entries(session.checkpoints, files);
  add_input(session.input, files);
  for (const Bookmark& figure : session.bookmarks) {
    add_entries(figure.columns, files);
    if (figure.input) {
      add_input(*figure.input, files);
    }
  }
}

}  // namespace locus::session
