// Parts of a trace as files: what other programs store, and what each rank of a sharded run does.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "models/formats/tensor_source.h"

namespace locus::test {

// The tensors of `from` whose names match, and these texts of its metadata and more of them, as another file.
inline void write_part(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& names,
                       const std::vector<std::string>& texts, const std::map<std::string, std::string>& more = {}) {
  const auto source = formats::open_tensors(from);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  std::vector<formats::OutputTensor> tensors;
  for (const formats::TensorInfo& info : (*source)->tensors()) {
    if (std::regex_match(info.name, std::regex(names))) {
      ASSERT_TRUE(info.contiguous());
      const std::size_t size = formats::element_size(info.dtype);
      tensors.push_back({info.name, info.dtype, info.shape,
                         info.storage.subspan(static_cast<std::size_t>(info.offset) * size,
                                              static_cast<std::size_t>(info.elements()) * size)});
    }
  }
  ASSERT_FALSE(tensors.empty());
  std::map<std::string, std::string> metadata = more;
  for (const std::string& text : texts) {
    metadata[text] = (*source)->metadata().at(text);
  }
  const Status written = formats::write_safetensors(to, tensors, metadata);
  ASSERT_TRUE(written.ok()) << written.error().describe();
}

// The layers before `first`, and those from it on, as the files of two ranks: STEM.rank0of2.safetensors and rank1.
inline void write_ranks(const std::filesystem::path& from, const std::filesystem::path& stem, int first, int layers,
                        int heads) {
  const auto source = formats::open_tensors(from);
  ASSERT_TRUE(source.ok());
  const std::string& encoding = (*source)->metadata().at("encoding");
  for (int rank = 0; rank < 2; ++rank) {
    std::string encodings;
    std::string zeros;
    std::string nos;
    std::string numbers;
    std::string names;
    for (int layer = rank == 0 ? 0 : first; layer < (rank == 0 ? first : layers); ++layer) {
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(layer);
      const std::string comma = numbers == std::to_string(layer) ? "" : ", ";
      encodings += comma + encoding;
      zeros += comma + "0";
      nos += comma + "false";
      names += (names.empty() ? "" : "|") + std::to_string(layer);
    }
    const std::string shard = R"({"rank": )" + std::to_string(rank) + R"(, "ranks": 2, "layers": [)" + numbers +
                              R"(], "heads": [0, )" + std::to_string(heads) + R"(], "of": )" + std::to_string(heads) +
                              "}";
    write_part(from, stem.string() + ".rank" + std::to_string(rank) + "of2.safetensors",
               "layers\\.(" + names + ")\\.[qk]|input_ids|token_bytes",
               {"locus.format", "encoding", "causal", "tokens", "text"},
               {{"shard", shard},
                {"layer_encodings", "[" + encodings + "]"},
                {"windows", "[" + zeros + "]"},
                {"chunks", "[" + zeros + "]"},
                {"soft_caps", "[" + zeros + "]"},
                {"sinks", "[" + nos + "]"}});
  }
}

}  // namespace locus::test
