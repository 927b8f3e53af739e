// How a call of call_remote.h's functions travels, at both ends. The files *_calls.cpp list the calls, a line each:
//
//   #define LOCUS_PAIR_CALLS(CALL) CALL("pair_list", &models::pair_list) …
//   LOCUS_CALLS(pair_calls, LOCUS_PAIR_CALLS)
//
// Arguments and answers are what codec.h can write; a StopToken, Progress and RunOptions' callbacks belong to each end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/guarded.h"
#include "models/api/machine.h"
#include "models/remote/client/remote_model.h"
#include "models/remote/codec/call_remote.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

// ---- what is known of a call

// Its name on the line; a call of the list.
template <auto Function>
constexpr const char* kCallName = nullptr;

// The most bytes that its answer has, from its arguments, and whether an answer is what was asked for: of what is
// indexed by the arguments, or by the model or trace, sizes and ranges. Errors: kBadInput.
template <auto Function>
struct Expected {
  static std::size_t most_bytes(const auto&... /*arguments*/) { return kMaxMessageBytes; }
  static Status check(const auto& /*answer*/, const auto&... /*arguments*/) { return {}; }
  // Where a specialisation has a kKept, the last answers are kept: small ones that the window's thread asks for again.
};

// Whether its path is one of a file that it writes.
template <auto Function>
constexpr bool kWrites = false;

// Whether a server takes these arguments: counts that stand for themselves are bounded as those of structs.h are.
template <auto Function>
struct Allowed {
  static Status check(const auto&... /*arguments*/) { return {}; }
};
inline Status check_count(const char* name, std::int64_t count, std::int64_t most) {
  return count <= most ? Status()
                       : Status(bad_input(std::string(name) + ": expected at most " + std::to_string(most) +
                                          ", found " + std::to_string(count)));
}

// ---- the server's side

// One call that the server answers.
struct Served {
  ObjectTable& objects;
  StopToken stop;
  Progress progress;
  std::function<void()> pause;                                             // of a run
  std::function<void(const std::shared_ptr<const models::Trace>&)> early;  // of a run that wants it
  std::string* parts;                                                      // of the answer
};

struct Entry {
  const char* name;
  bool quick;  // answered while a run rests between its layers
  Result<json> (*serve)(const json& arguments, const Served& served);
};

// How an argument is kept between its arrival and the call.
template <class T>
struct Kept {
  using Type = T;
  static T& pass(T& kept) { return kept; }
};
template <class T>
requires std::same_as<T, models::Model> || std::same_as<T, models::Trace> || std::same_as<T, models::PositionTable>
struct Kept<T> {
  using Type = std::shared_ptr<const T>;
  static const T& pass(Type& kept) { return *kept; }
};

// The next argument.
template <bool Writes, class T>
void take_argument(Reader& reader, const json& all, std::size_t& next, const Served& served, T& value) {
  if constexpr (std::same_as<T, StopToken>) {
    value = served.stop;
  } else if constexpr (std::same_as<T, Progress>) {
    value = served.progress;
  } else {
    static const json kNone;
    const std::string place = "[" + std::to_string(next) + "]";
    const Reader::At at(reader, place);
    const json& tree = all.is_array() && next < all.size() ? all[next] : kNone;
    ++next;
    if constexpr (Writes && std::same_as<T, std::filesystem::path>) {
      if (reader.ok()) {
        served.objects.take_output(reader, tree, value);
      }
    } else {
      read(reader, tree, value);
    }
    if constexpr (std::same_as<T, models::RunOptions>) {
      value.pause = served.pause;
      if (value.early) {
        value.early = served.early;
      }
    }
  }
}

template <class R>
Result<json> answer_of(Writer& writer, const R& result) {
  if constexpr (std::same_as<R, Status>) {
    return result.ok() ? Result<json>(json()) : Result<json>(result.error());
  } else if constexpr (requires { result.error(); }) {
    return result.ok() ? answer_of(writer, *result) : Result<json>(result.error());
  } else {
    json tree = written(writer, result);
    return writer.error() ? Result<json>(*writer.error()) : Result<json>(std::move(tree));
  }
}

template <auto Function, class... A>
Result<json> serve_call(const json& arguments, const Served& served) {
  Reader reader(served.objects, {}, kMaxMessageBytes, kCallName<Function>);
  std::tuple<typename Kept<A>::Type...> kept;
  std::size_t next = 0;
  if (!arguments.is_array()) {
    reader.fail("a list of arguments", arguments);
  }
  std::apply([&](auto&... each) { (take_argument<kWrites<Function>>(reader, arguments, next, served, each), ...); },
             kept);
  if (reader.ok() && arguments.size() != next) {
    reader.fail(std::to_string(next) + " arguments", arguments);
  }
  if (reader.error()) {
    return *reader.error();
  }
  LOCUS_CHECK(std::apply([](const auto&... each) { return Allowed<Function>::check(each...); }, kept));
  Writer writer(served.objects, served.parts);
  return std::apply([&](auto&... each) { return answer_of(writer, std::invoke(Function, Kept<A>::pass(each)...)); },
                    kept);
}

template <auto Function>
struct Serve;
template <class R, class... A, R (*Function)(A...)>
struct Serve<Function> {
  static constexpr auto kServe = &serve_call<Function, std::remove_cvref_t<A>...>;
};
template <class R, class C, class... A, R (C::*Function)(A...) const>
struct Serve<Function> {
  static constexpr auto kServe = &serve_call<Function, C, std::remove_cvref_t<A>...>;
};

// ---- the client's side

// The machine that the arguments of a call are on.
class ArgumentLocator {
 public:
  void look(const models::Model& model) { add(models::machine_of(model)); }
  void look(const models::Trace& trace) { add(models::machine_of(trace)); }
  void look(const models::PositionTable& table) { add(models::machine_of(table)); }
  void look(const std::shared_ptr<const models::Trace>& trace) { look(*trace); }
  void look(const std::vector<std::shared_ptr<const models::Trace>>& traces) {
    for (const auto& trace : traces) {
      look(trace);
    }
  }
  // In a call that has nothing else, a path alone says where it is; beside a model a path may be there or here.
  void look(const std::filesystem::path& path) { paths_.push_back(path); }
  void look(const std::vector<std::filesystem::path>& paths) {
    paths_.insert(paths_.end(), paths.begin(), paths.end());
  }
  void look(const StopToken& stop) { stop_ = stop; }
  void look(const auto& /*other*/) {}

  bool by_path() const { return there_.empty(); }  // where it is not this machine
  // Null: this machine. Errors: kUnsupported for objects of several machines; those of Connection::to().
  Result<std::shared_ptr<Connection>> line() const;

 private:
  void add(std::shared_ptr<const models::Machine> machine);

  bool here_ = false;
  std::vector<std::shared_ptr<const models::Machine>> there_;  // different ones
  std::vector<std::filesystem::path> paths_;
  StopToken stop_;
};

// An error about a path there, with the machine before it.
Error of_peer(const Error& error, const Connection& line);

template <class T>
void put_argument(Writer& writer, const RemoteObjects& objects, json& all, const T& value) {
  if constexpr (std::same_as<T, models::Model> || std::same_as<T, models::Trace> ||
                std::same_as<T, models::PositionTable>) {
    all.push_back(objects.number_of(writer, value));
  } else if constexpr (!std::same_as<T, StopToken> && !std::same_as<T, Progress>) {
    all.push_back(written(writer, value));
  }
}

void want(Wants& wants, const RemoteObjects& objects, const StopToken& stop);
void want(Wants& wants, const RemoteObjects& objects, const Progress& progress);
void want(Wants& wants, const RemoteObjects& objects, const models::RunOptions& options);
inline void want(Wants& /*wants*/, const RemoteObjects& /*objects*/, const auto& /*other*/) {}

// Functions that return no Result say nothing of a line that is lost: see their headers for what they return then.
template <class R>
R failed(const Error& error) {
  if constexpr (std::constructible_from<R, Error>) {
    return R(error);
  } else if constexpr (std::same_as<R, double>) {
    return std::numeric_limits<double>::quiet_NaN();
  } else {
    return R{};
  }
}

template <class R>
struct Unwrapped {
  using Type = R;
};
template <class T>
struct Unwrapped<Result<T>> {
  using Type = T;
};

// An answer that was kept is there at once.
template <auto Function>
// NOLINTNEXTLINE(performance-unnecessary-value-param): handed on
Result<Answer> answer_to(Connection& line, json all, const Wants& wants) {
  std::string key;
  if constexpr (requires { Expected<Function>::kKept; }) {
    key = kCallName<Function>;
    json::to_msgpack(all, key);
    if (auto known = line.kept(key)) {
      return Answer{*std::move(known), {}};
    }
  }
  Result<Answer> answer = line.ask(kCallName<Function>, std::move(all), wants);
  if (answer.ok() && !key.empty() && answer->parts.empty()) {
    line.keep(std::move(key), answer->body);
  }
  return answer;
}

template <auto Function, class R, class... A>
R asked(const std::shared_ptr<Connection>& line, const A&... arguments) {
  RemoteObjects objects(line);
  Writer writer(objects);
  json all = json::array();
  (put_argument(writer, objects, all, arguments), ...);
  if (writer.error()) {
    return failed<R>(*writer.error());
  }
  Wants wants;
  (want(wants, objects, arguments), ...);
  wants.most_bytes = Expected<Function>::most_bytes(arguments...);
  Result<Answer> answer = answer_to<Function>(*line, std::move(all), wants);
  if (!answer.ok()) {
    return failed<R>(answer.error());
  }
  if constexpr (std::same_as<R, Status>) {
    return R();
  } else {
    typename Unwrapped<R>::Type value{};
    Reader reader(objects, answer->parts, 2 * wants.most_bytes, line->name());
    read(reader, answer->body, value);
    if (reader.error()) {
      return failed<R>(*reader.error());
    }
    if (const Status checked = Expected<Function>::check(value, arguments...); !checked.ok()) {
      return failed<R>(checked.error().within(line->name()));
    }
    return R(std::move(value));
  }
}

template <auto Function, class R, class... A>
std::optional<R> answer_remotely(const A&... arguments) {
  ArgumentLocator whose;
  (whose.look(arguments), ...);
  const Result<std::shared_ptr<Connection>> line = whose.line();
  if (!line.ok()) {
    return failed<R>(line.error());
  }
  if (*line == nullptr) {
    return std::nullopt;
  }
  R answer = asked<Function, R>(*line, arguments...);
  if constexpr (requires { answer.error(); }) {
    if (whose.by_path() && !answer.ok()) {
      return of_peer(answer.error(), **line);
    }
  }
  return answer;
}

template <class R, class... A, R (*Function)(A...)>
std::optional<R> Call<Function>::run(const std::remove_cvref_t<A>&... arguments) {
  return answer_remotely<Function, R>(arguments...);
}
template <class R, class C, class... A, R (C::*Function)(A...) const>
std::optional<R> Call<Function>::run(const C& object, const std::remove_cvref_t<A>&... arguments) {
  return answer_remotely<Function, R>(object, arguments...);
}

// ---- lists

#define LOCUS_NAME_CALL(text, quick, function) \
  template <>                                  \
  inline constexpr const char* kCallName<function> = text;
#define LOCUS_MAKE_CALL(text, quick, function) template struct Call<function>;
#define LOCUS_LIST_CALL(text, quick, function) {text, quick, Serve<function>::kServe},
#define LOCUS_CALLS(name, list)                                           \
  list(LOCUS_NAME_CALL) list(LOCUS_MAKE_CALL) std::vector<Entry> name() { \
    return {list(LOCUS_LIST_CALL)};                                       \
  }

// All calls, and one by its name; the server's.
const std::vector<Entry>& all_calls();
const Entry* find_call(std::string_view name);

}  // namespace locus::remote
