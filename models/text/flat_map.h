// A map from two 32-bit keys to two 32-bit values in one block of memory: merges of token pairs, edges of tries.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace locus::text {

class FlatMap {
 public:
  struct Value {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  void reserve(std::size_t count) {
    if (count * 2 > slots_.size()) {
      rehash(std::bit_ceil(count * 2 + 16));
    }
  }

  // Inserts the value unless the pair exists; true when the pair is new. The key (2³²−1, 2³²−1) is not allowed.
  bool insert(std::uint32_t a, std::uint32_t b, Value value) {
    reserve(count_ + 1);
    Slot& slot = slots_[find_slot(key_of(a, b))];
    if (slot.key != kEmpty) {
      return false;
    }
    slot = {key_of(a, b), value};
    ++count_;
    return true;
  }

  // Null when the pair does not exist.
  const Value* find(std::uint32_t a, std::uint32_t b) const {
    if (slots_.empty()) {
      return nullptr;
    }
    const Slot& slot = slots_[find_slot(key_of(a, b))];
    return slot.key == kEmpty ? nullptr : &slot.value;
  }

  std::size_t size() const { return count_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value;
  };

  static std::uint64_t key_of(std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; }

  std::size_t find_slot(std::uint64_t key) const {
    std::uint64_t mixed = (key ^ (key >> 31)) * 0x9E3779B97F4A7C15ULL;
    mixed ^= mixed >> 32;
    std::size_t at = mixed & (slots_.size() - 1);
    while (slots_[at].key != kEmpty && slots_[at].key != key) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void rehash(std::size_t capacity) {
    std::vector<Slot> old(capacity);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) {
        slots_[find_slot(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace locus::text
