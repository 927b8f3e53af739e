#include "models/transformer/connector.h"

#include <algorithm>

#include "models/transformer/transformer.h"

namespace locus::transformer {

namespace {

constexpr std::int64_t kLargestCell = 64;
constexpr std::int64_t kLargestWidth = std::int64_t{1} << 24;

bool gathers(ConnectorKind kind) {
  return kind == ConnectorKind::kJoin || kind == ConnectorKind::kJoinApart || kind == ConnectorKind::kPool;
}

// (N, m², C) of x (P, C): the patches of each cell.
at::Tensor cells_of(const at::Tensor& x, std::int64_t rows, std::int64_t columns, std::int64_t side, bool in_cells) {
  const std::int64_t width = x.size(1);
  if (in_cells) {
    return x.reshape({-1, side * side, width});
  }
  return x.reshape({rows / side, side, columns / side, side, width})
      .permute({0, 2, 1, 3, 4})
      .reshape({-1, side * side, width});
}

// Output width of a step.
Result<std::int64_t> width_after(const ConnectorStep& step, std::int64_t width) {
  const std::int64_t most = gathers(step.kind) ? kLargestCell : kLargestWidth;
  const bool sized = step.kind != ConnectorKind::kNorm && step.kind != ConnectorKind::kActivation &&
                     step.kind != ConnectorKind::kHalve && step.kind != ConnectorKind::kScale;
  if (step.kind == ConnectorKind::kHalve && width % 2 != 0) {
    return bad_input("connector: expected an even number of channels to halve, found " + std::to_string(width));
  }
  if (sized && (step.size < 1 || step.size > most)) {
    return bad_input("connector: expected a size from 1 to " + std::to_string(most) + ", found " +
                     std::to_string(step.size));
  }
  const bool joins = step.kind == ConnectorKind::kJoin || step.kind == ConnectorKind::kJoinApart;
  const std::int64_t after = joins                                 ? width * step.size * step.size
                             : step.kind == ConnectorKind::kLinear ? step.size
                             : step.kind == ConnectorKind::kHalve  ? width / 2
                                                                   : width;
  return after <= kLargestWidth ? Result<std::int64_t>(after)
                                : bad_input("connector: expected at most " + std::to_string(kLargestWidth) +
                                            " channels, found " + std::to_string(after));
}

std::string step_text(const ConnectorStep& step) {
  const std::string side = std::to_string(step.size);
  switch (step.kind) {
    case ConnectorKind::kJoin:
    case ConnectorKind::kJoinApart:
      return "join " + side + " × " + side;
    case ConnectorKind::kPool:
      return "mean of " + side + " × " + side;
    case ConnectorKind::kNorm:
      return "norm";
    case ConnectorKind::kLinear:
      return "linear " + side;
    case ConnectorKind::kActivation:
      return to_text(step.activation);
    case ConnectorKind::kHalve:
      return "halves, " + to_text(step.activation);
    case ConnectorKind::kScale:
      return "scale";
    case ConnectorKind::kGated:
      break;
  }
  return "gated " + side;
}

}  // namespace

std::int64_t ConnectorSpec::cell() const {
  const auto found = std::find_if(steps.begin(), steps.end(), [](const auto& step) { return gathers(step.kind); });
  return found == steps.end() ? 1 : found->size;
}

std::int64_t ConnectorSpec::count(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const {
  return (rows / cell()) * (columns / cell()) + (class_tokens ? prefix : 0);
}

std::string ConnectorSpec::text() const {
  std::string text;
  for (const ConnectorStep& step : steps) {
    text += (text.empty() ? "" : ", ") + step_text(step);
  }
  return text;
}

Result<Connector> Connector::create(const ConnectorSpec& spec, const Spec& tower, std::int64_t width) {
  Connector made;
  made.spec_ = spec;
  if (spec.states.empty() || spec.states.size() > static_cast<std::size_t>(kMaxLayers)) {
    return bad_input("connector: expected states of the tower, found " + std::to_string(spec.states.size()));
  }
  for (const std::int64_t state : spec.states) {
    if (state < 0 || state > tower.depth()) {
      return bad_input("connector: expected a state from 0 to " + std::to_string(tower.depth()) + ", found " +
                       std::to_string(state));
    }
  }
  std::int64_t channels = tower.width * static_cast<std::int64_t>(spec.states.size());
  std::int64_t gathered = 0;
  for (const ConnectorStep& step : spec.steps) {
    gathered += gathers(step.kind) ? 1 : 0;
    LOCUS_TRY(const std::int64_t after, width_after(step, channels));
    Weights weights;
    weights.inputs = channels;
    weights.outputs = channels = after;
    made.weights_.push_back(std::move(weights));
  }
  if (channels != width) {
    return bad_input("connector: expected vectors of the text's " + std::to_string(width) + " channels, found " +
                     std::to_string(channels));
  }
  if (gathered > 1 || (gathered > 0 && spec.class_tokens && tower.image.class_tokens > 0)) {
    return bad_input("connector: expected patches that are joined once, without class tokens between them");
  }
  return made;
}

double Connector::macs(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const {
  auto vectors = static_cast<double>(rows * columns + (spec_.class_tokens ? prefix : 0));
  double macs = 0;
  for (std::size_t n = 0; n < weights_.size(); ++n) {
    const ConnectorStep& step = spec_.steps[n];
    const auto inputs = static_cast<double>(weights_[n].inputs);
    if (gathers(step.kind)) {
      vectors = static_cast<double>(spec_.count(rows, columns, prefix));
    } else if (step.kind == ConnectorKind::kLinear) {
      macs += vectors * inputs * static_cast<double>(weights_[n].outputs);
    } else if (step.kind == ConnectorKind::kGated) {
      macs += vectors * 3 * inputs * static_cast<double>(step.size);
    }
  }
  return macs;
}

std::vector<Parameter> Connector::parameters() {
  std::vector<Parameter> list;
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias, Linear& weights) {
    list.push_back({name + ".weight", {out, in}, &weights.weight, true});
    if (bias) {
      list.push_back({name + ".bias", {out}, &weights.bias});
    }
  };
  for (std::size_t n = 0; n < weights_.size(); ++n) {
    const ConnectorStep& step = spec_.steps[n];
    Weights& own = weights_[n];
    if (step.kind == ConnectorKind::kLinear) {
      linear(step.name, own.outputs, own.inputs, step.bias, own.linear);
    } else if (step.kind == ConnectorKind::kScale) {
      list.push_back({step.name + ".weight", {own.inputs}, &own.norm.weight});
      list.push_back({step.name + ".bias", {own.inputs}, &own.norm.bias});
    } else if (step.kind == ConnectorKind::kNorm && step.weight) {
      list.push_back({step.name + ".weight", {own.inputs}, &own.norm.weight});
      if (step.norm == Norm::kLayer && step.bias) {
        list.push_back({step.name + ".bias", {own.inputs}, &own.norm.bias});
      }
    } else if (step.kind == ConnectorKind::kGated) {
      linear(step.name + ".gate", step.size, own.inputs, step.bias, own.gated.gate);
      linear(step.name + ".up", step.size, own.inputs, step.bias, own.gated.up);
      linear(step.name + ".down", own.inputs, step.size, step.bias, own.gated.down);
    }
  }
  return list;
}

void Connector::to(at::Device device) {
  for (const Parameter& parameter : parameters()) {
    if (parameter.value->defined() && !device.is_cpu()) {
      *parameter.value = parameter.value->to(device);
    }
  }
}

at::Tensor Connector::read(const std::vector<at::Tensor>& states, std::int64_t prefix) const {
  std::vector<at::Tensor> wanted;
  for (const std::int64_t state : spec_.states) {
    wanted.push_back(states[static_cast<std::size_t>(state)]);
  }
  const at::Tensor joined = wanted.size() == 1 ? wanted.front() : at::cat(wanted, -1);
  return spec_.class_tokens ? joined : joined.slice(0, prefix);
}

at::Tensor Connector::operator()(const at::Tensor& read, std::int64_t rows, std::int64_t columns, bool in_cells) const {
  at::Tensor x = read;
  for (std::size_t n = 0; n < weights_.size(); ++n) {
    const ConnectorStep& step = spec_.steps[n];
    const Weights& own = weights_[n];
    switch (step.kind) {
      case ConnectorKind::kJoin:
        x = cells_of(x, rows, columns, step.size, in_cells).flatten(1);
        break;
      case ConnectorKind::kJoinApart:
        x = cells_of(x, rows, columns, step.size, in_cells).transpose(1, 2).flatten(1);
        break;
      case ConnectorKind::kPool:
        x = cells_of(x, rows, columns, step.size, in_cells).mean(1);
        break;
      case ConnectorKind::kNorm:
        x = normalise(x, own.norm, step.norm, step.eps);
        break;
      case ConnectorKind::kScale:
        x = x * own.norm.weight + own.norm.bias;
        break;
      case ConnectorKind::kLinear:
        x = linear(x, own.linear);
        break;
      case ConnectorKind::kActivation:
        x = activate(step.activation, x.clone());
        break;
      case ConnectorKind::kHalve: {
        const std::int64_t half = own.outputs;
        x = x.slice(1, 0, half) * activate(step.activation, x.slice(1, half).clone());
        break;
      }
      case ConnectorKind::kGated: {
        const FeedForwardSpec gated{.inner = step.size, .activation = step.activation, .bias = step.bias};
        x = feed_forward(gated, own.gated, x);
        break;
      }
    }
  }
  return x;
}

}  // namespace locus::transformer
