#include "models/text/mapped_text.h"

#include <utility>

namespace locus::text {

MappedText MappedText::slice(std::size_t begin, std::size_t end) const {
  MappedText part(std::string_view(text_).substr(begin, end - begin), origin(begin));
  if (!origins_.empty()) {
    part.origins_.assign(origins_.begin() + static_cast<std::ptrdiff_t>(begin),
                         origins_.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  }
  return part;
}

MappedTextBuilder::MappedTextBuilder(const MappedText& from) : from_(from) {
  result_.text_.reserve(from.size() + 16);
  result_.origins_.reserve(from.size() + 17);
}

void MappedTextBuilder::copy(std::size_t begin, std::size_t end) {
  result_.text_.append(from_.text_, begin, end - begin);
  for (std::size_t at = begin; at < end; ++at) {
    result_.origins_.push_back(from_.origin(at));
  }
}

void MappedTextBuilder::replace(std::string_view bytes, std::size_t begin, std::size_t end) {
  result_.text_.append(bytes);
  const bool bytewise = bytes.size() == end - begin;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    result_.origins_.push_back(from_.origin(bytewise ? begin + n : n == 0 ? begin : end));
  }
}

void MappedTextBuilder::truncate(std::size_t size) {
  result_.text_.resize(size);
  result_.origins_.resize(size);
}

MappedText MappedTextBuilder::finish() && {
  result_.origins_.push_back(from_.origin(from_.size()));
  return std::move(result_);
}

}  // namespace locus::text
