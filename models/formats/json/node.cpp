#include "models/formats/json/node.h"

namespace locus::formats {

Node Node::object(const std::string& name) const {
  Node found = field(name);
  found.expect_object();
  return found;
}

void Node::expect_object() const {
  if (!value_->is_object()) {
    fail("an object");
  }
}

void Node::fail(const std::string& expected) const {
  fail(bad_input(path_ + ": expected " + expected + ", found " + value_->shown()));
}

void Node::fail(const Error& error) const {
  if (!*error_) {
    *error_ = error;
  }
}

}  // namespace locus::formats
