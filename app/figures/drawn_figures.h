// Drawn figures: which figures of a folder are still as their session has them, so that they need not be drawn again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace locus::figures {

// FOLDER/.drawn has a line for each figure: the name of its files, and what it was drawn from besides files.
class DrawnFigures {
 public:
  // `session`: its file; empty: nothing is remembered.
  DrawnFigures(std::filesystem::path folder, const std::filesystem::path& session);

  // Whether the files of this name were drawn from the session and this text, and are newer than the session, the
  // program and all of `sources`: files, or folders with what lies in them.
  bool current(const std::string& name, const std::string& text,
               const std::vector<std::filesystem::path>& sources) const;
  // Remembers that they were drawn. Where that cannot be written, they are drawn again next time.
  void add(const std::string& name, const std::string& text);
  std::vector<std::filesystem::path> files(const std::string& name) const;

 private:
  std::string origin(const std::string& text) const;

  std::filesystem::path folder_;
  std::filesystem::path session_;
  std::map<std::string, std::string> drawn_;  // origin of each name
};

}  // namespace locus::figures
