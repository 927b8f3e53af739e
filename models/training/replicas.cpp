#include "models/training/replicas.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <exception>
#include <thread>

#include "models/engine/threads.h"

namespace locus::training {

namespace {

// The activations are allocated and freed every step; otherwise glibc would return the large ones to the system each
// time, and page faults would cost as much as the products.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_ARENA_MAX, 1);
#endif
}

double run_share(const OwnNetwork& network, const Examples& examples, const position::Positions& positions,
                 double scale) {
  network.merge();
  const at::Device device = network.parameters().front().value->device();
  const at::Tensor logits = network.model->forward(network.view().batch(examples, positions, device)).flatten(0, 1);
  const at::Tensor targets = examples.targets.to(device).flatten();
  const at::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, kIgnored) * scale;
  loss.backward();
  return loss.item<double>();
}

}  // namespace

Replicas::Replicas(const OwnNetwork& network) : network_(network), threads_before_(models::product_threads()) {
  keep_freed_memory();
  models::set_product_threads(1);
}

Replicas::~Replicas() {
  models::set_product_threads(threads_before_);
}

Result<std::unique_ptr<Replicas>> Replicas::create(const OwnNetwork& network, std::int64_t threads) {
  std::unique_ptr<Replicas> replicas(new Replicas(network));
  const std::vector<transformer::Parameter> own = network.parameters();
  for (std::int64_t n = 1; n < threads; ++n) {
    LOCUS_TRY(OwnNetwork copy, OwnNetwork::like(network));
    const std::vector<transformer::Parameter> shared = copy.parameters();
    for (std::size_t m = 0; m < own.size(); ++m) {
      *shared[m].value = own[m].value->detach().requires_grad_(own[m].value->requires_grad());
    }
    replicas->copies_.push_back(std::move(copy));
  }
  return replicas;
}

double Replicas::backward(const Examples& examples, const position::Positions& positions, double scale) {
  const std::int64_t count = examples.size();
  const auto shares = static_cast<std::int64_t>(copies_.size()) + 1;
  std::vector<double> losses(static_cast<std::size_t>(shares), 0);
  std::vector<std::exception_ptr> failures(losses.size());
  const auto run = [&](std::int64_t share) {
    const std::int64_t begin = count * share / shares;
    const std::int64_t end = count * (share + 1) / shares;
    const auto n = static_cast<std::size_t>(share);
    if (begin == end) {
      return;
    }
    try {
      losses[n] = run_share(share == 0 ? network_ : copies_[n - 1], examples.slice(begin, end), positions, scale);
    } catch (...) {
      failures[n] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int64_t share = 1; share < shares; ++share) {
      threads.emplace_back(run, share);
    }
    run(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  collect();
  double loss = 0;
  for (const double share : losses) {
    loss += share;
  }
  return loss;
}

void Replicas::collect() {
  const at::NoGradGuard no_grad;
  const std::vector<transformer::Parameter> own = network_.parameters();
  for (const OwnNetwork& copy : copies_) {
    const std::vector<transformer::Parameter> shared = copy.parameters();
    for (std::size_t n = 0; n < own.size(); ++n) {
      at::Tensor& gradient = shared[n].value->mutable_grad();
      at::Tensor& sum = own[n].value->mutable_grad();
      if (gradient.defined()) {
        sum.defined() ? void(sum.add_(gradient)) : void(sum = gradient.clone());
        gradient.reset();
      }
    }
  }
}

}  // namespace locus::training
