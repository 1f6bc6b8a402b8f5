#include <algorithm>

#include "core/archive.hpp"
#include "core/bark/scales/scales.hpp"
#include "state.hpp"

namespace kernelbayes::bark {

namespace {

// Kernel-specific centres and scales, p numbers per kernel.
void transfer_shapes(Archive& archive, std::vector<Slot>& slots,
                     const Prior& prior, int p) {
  std::vector<Shape> shapes;
  for (const Slot& slot : slots) {
    if (slot.location == 0) continue;
    shapes.push_back(slot.shape ? *slot.shape : Shape());
    if (!archive.reading()) continue;
    if (prior.centre_sd > 0) shapes.back().centre.resize(p);
    if (!prior.own_scales) continue;
    shapes.back().log_lambda.resize(p);
    shapes.back().included.resize(p);
  }
  archive.ragged(
      "centre", shapes, [](Shape & s) -> auto& { return s.centre; });
  archive.ragged(
      "own_log_lambda", shapes,
      [](Shape & s) -> auto& { return s.log_lambda; });
  archive.ragged(
      "own_included", shapes, [](Shape & s) -> auto& { return s.included; });
  if (!prior.groups.empty()) {
    const double last = static_cast<double>(prior.groups.size()) - 1;
    archive.each<int>(
        "own_group", shapes, [](Shape& s) -> int& { return s.group; },
        Want::between(0, last));
  }
  if (prior.clustered()) {
    archive.each<int>(
        "own_cluster", shapes, [](Shape& s) -> int& { return s.cluster; },
        Want::between(0, 2e9));
  }
  auto own = shapes.begin();
  for (Slot& slot : slots) {
    if (slot.location == 0) continue;
    slot.shape = std::make_shared<const Shape>(std::move(*own++));
  }
}

}  // namespace

void transfer_slots(Archive& archive, std::vector<Slot>& slots,
                    const Data& data, const Prior& prior) {
  const int nowhere = prior.centre_sd > 0 ? kElsewhere : 0;
  if (archive.reading()) slots.assign(archive.size("location"), Slot());
  archive.each<int>(
      "location", slots, [](Slot& slot) -> int& { return slot.location; },
      Want::between(nowhere, data.n()));
  archive.each<int>(
      "copies", slots, [](Slot& slot) -> int& { return slot.copies; },
      Want::between(1, 1e9));
  double copies = 0;
  for (const Slot& slot : slots) copies += slot.copies;
  archive.require(copies <= 1e9, "copies", "at most 1e9 in total");
  if (archive.reading()) {
    const bool each = !prior.collapsed();
    // Checks that they exist before memory is allocated.
    const double wanted = each ? copies : static_cast<double>(slots.size());
    archive.require(static_cast<double>(archive.size("varphi")) == wanted,
                    "varphi", "as long as the kernels require");
    for (Slot& slot : slots) slot.varphi.resize(each ? slot.copies : 1);
  }
  archive.ragged(
      "varphi", slots, [](Slot & slot) -> auto& { return slot.varphi; },
      Want::positive());
  if (prior.shaped()) {
    transfer_shapes(archive, slots, prior, data.p());
    return;
  }
  std::vector<char> taken(data.n() + 1, 0);
  for (const Slot& slot : slots) {
    archive.require(!taken[slot.location]++, "location", "distinct");
  }
}

void State::transfer(Archive& archive, bool updates) {
  const int inputs = prior_->n_inputs(data_->p());
  std::vector<Slot> slots = slots_;
  std::vector<double> log_lambda = this->log_lambda();
  std::vector<char> included = this->included();
  double phi = phi_, log_likelihood = log_likelihood_;
  transfer_slots(archive, slots, *data_, *prior_);
  archive("log_lambda", log_lambda, Want::of(inputs));
  archive("included", included, Want::of(inputs));
  archive("phi", phi, Want::positive());
  archive("log_likelihood", log_likelihood, Want::anything());
  response_.transfer(archive);
  if (prior_->pooled) bark::transfer(archive, pool_, data_->p());
  if (prior_->clustered()) {
    archive("concentration", pool_.concentration, Want::positive());
  }
  if (prior_->directions > 0) {
    Eigen::MatrixXd directions = this->directions();
    archive("directions", directions, data_->p(), prior_->directions);
    if (archive.reading()) set_directions(directions);
  }
  if (archive.reading()) {
    assign(std::move(slots), std::move(log_lambda), std::move(included), phi);
    log_likelihood_ = log_likelihood;
  }
  if (updates && size() > 0) transfer_updates(archive);
}

void State::transfer_updates(Archive& archive) {
  const int m = size(), n = data_->n();
  Eigen::MatrixXd exponents = columns_.exponents().leftCols(m),
                  gram = gram_.topLeftCorner(m, m),
                  covariance = covariance_.topLeftCorner(m, m);
  Eigen::VectorXd product = product_.head(m), mean = mean_.head(m);
  archive("exponents", exponents, n, m);
  archive("gram", gram, m, m);
  archive("covariance", covariance, m, m);
  archive("product", product, Want::of(m));
  archive("mean", mean, Want::of(m));
  if (!archive.reading()) return;
  columns_.restore(exponents, response_);
  gram_.topLeftCorner(m, m) = gram;
  covariance_.topLeftCorner(m, m) = covariance;
  product_.head(m) = product;
  mean_.head(m) = mean;
}

}  // namespace kernelbayes::bark
