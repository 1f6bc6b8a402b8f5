#include "level.hpp"

#include "samplers.hpp"
#include "start.hpp"

namespace kernelbayes::kgs {

namespace {

Eigen::MatrixXd at_data(const Data& data) {
  Eigen::MatrixXd out(data.point.size(), data.features.cols());
  for (std::size_t i = 0; i < data.point.size(); ++i) {
    out.row(i) = data.features.row(data.point[i]);
  }
  return out;
}

Eigen::VectorXd signs(const Data& data) {
  Eigen::VectorXd out(data.label.size());
  for (std::size_t i = 0; i < data.label.size(); ++i) {
    out[i] = data.label[i] == 1 ? 1 : -1;
  }
  return out;
}

}  // namespace

Model::Model(Data from, Settings chosen)
    : data(std::move(from)),
      settings(std::move(chosen)),
      total(data.classes, 0) {
  if (!settings.beta.empty() && settings.beta.front() != 0) {
    throw std::invalid_argument("the first cost must be 0");
  }
  for (const int label : data.label) ++total[label];
  if (settings.method == Method::kBlock) return;
  walls = std::make_unique<Walls>(data);
  data.features.resize(0, 0);
  if (settings.method == Method::kHmc) walls->keep_gram();
  if (settings.method != Method::kCoordinate) return;
  Surrogate guess = surrogate(*walls);
  curvature = std::move(guess.curvature);
  mode = std::move(guess.mode);
}

Walker::Walker(const Model& model, const Eigen::VectorXd& start)
    : state(*model.walls),
      model_(&model),
      mover_(*model.walls, model.settings.method) {
  state.set(*model.walls, start);
  mover_.precondition(model.curvature);
}

void Walker::step(const Costs& costs, const Turn& turn, Rng& rng) {
  constexpr int kRefresh = 200;
  const int third = turn.warmup / 3;
  if (turn.time > 0) {
    if (turn.time == third || turn.time == 2 * third) mover_.learn();
    if (turn.time % kRefresh == 0) state.refresh(*model_->walls);
  }
  if (turn.adapts()) {
    mover_.adapt(costs, state, rng);
  } else {
    mover_.step(costs, state, rng);
  }
}

void Walker::transfer(Archive& archive) {
  archive("g", state.g, Want::of(model_->walls->dimension()));
  archive("f", state.f, Want::of(model_->walls->size()));
  Eigen::VectorXd sides = state.ledger.sides();
  archive("sides", sides, Want::between(-1, 1, sides.size()));
  if (archive.reading()) state.ledger.restore(sides);
  if (model_->settings.method != Method::kCoordinate) return;
  archive.within("lines", [this](Archive& list) { mover_.transfer(list); });
}

void Draws::transfer(Archive& archive) {
  archive("w", w);
  archive("rates", rates);
  archive("wrong", wrong);
  archive("flipped", flipped, Want::of(flipped.size()));
}

Level::Level(const Model& model, int, Rng& rng)
    : model_(&model), rates_(start_rates(model.settings.noise)) {
  if (model.settings.method == Method::kBlock) {
    block_.emplace(at_data(model.data), signs(model.data),
                   model.settings.nugget);
    return;
  }
  walker_.emplace(model, start(rng));
  separate_if_hard(rng);
}

// Far from each other and from the mode, but not as far as a draw from the
// prior, from which lines return slowly.
Eigen::VectorXd Level::start(Rng& rng) const {
  constexpr double kSpread = 0.3;
  Eigen::VectorXd g = normal_vector(model_->walls->dimension(), rng);
  if (model_->settings.start.size() > 0) return model_->settings.start;
  if (model_->mode.size() > 0) g = kSpread * g + model_->mode;
  return g;
}

void Level::separate_if_hard(Rng& rng) {
  const Noise& noise = model_->settings.noise;
  const bool hard = noise.kind == Noise::kFixed && noise.rate == 0;
  if (!hard || walker_->state.ledger.errors() == 0) return;
  if (!separate(*model_->walls, walker_->state, rng)) {
    throw NotSeparable("the labels cannot be separated");
  }
}

void Level::sweep(const Turn& turn, Counts&, Rng& rng) {
  const Noise& noise = model_->settings.noise;
  if (block_) {
    block_->step(rates_.front(), rates_.back(), rng);
  } else {
    walker_->step(costs_of(noise, rates_, model_->data.classes), turn, rng);
  }
  draw_rates(noise, wrong(), model_->total, rates_, rng);
}

bool Level::is_wrong(int datum) const {
  if (walker_) return walker_->state.ledger.is_wrong(datum);
  return (block_->latent()[datum] > 0) != (model_->data.label[datum] == 1);
}

std::vector<int> Level::wrong() const {
  if (walker_) return walker_->state.ledger.wrong();
  std::vector<int> out(2, 0);
  for (std::size_t i = 0; i < model_->data.label.size(); ++i) {
    out[model_->data.label[i]] += is_wrong(static_cast<int>(i));
  }
  return out;
}

void Level::record(Draws& draws, Rng&) const {
  const Eigen::VectorXd w =
      block_ ? block_->direction() : walker_->state.g.normalized();
  const int classes = model_->data.classes;
  const Eigen::Index functions = classes == 2 ? 1 : classes;
  const Eigen::Index rank = w.size() / functions;
  for (Eigen::Index c = 0; c < functions; ++c) {
    const auto part = w.segment(c * rank, model_->settings.kept);
    draws.w.insert(draws.w.end(), part.data(), part.data() + part.size());
  }
  draws.rates.insert(draws.rates.end(), rates_.begin(), rates_.end());
  const std::vector<int> counts = wrong();
  draws.wrong.insert(draws.wrong.end(), counts.begin(), counts.end());
  for (std::size_t i = 0; i < draws.flipped.size(); ++i) {
    draws.flipped[i] += is_wrong(static_cast<int>(i));
  }
}

void Level::transfer(Archive& archive) {
  archive("rates", rates_, Want::between(0, 1, rates_.size()));
  if (walker_) return walker_->transfer(archive);
  Eigen::VectorXd latent = block_->latent();
  archive("latent", latent, Want::of(latent.size()));
  if (archive.reading()) block_->set_latent(latent);
}

CostLevel::CostLevel(const Model& model, int index, Rng& rng)
    : model_(&model),
      index_(index),
      walker_(model, normal_vector(model.walls->dimension(), rng)) {}

void CostLevel::sweep(const Turn& turn, Counts&, Rng& rng) {
  if (index_ == 0) {
    walker_.state.set(*model_->walls,
                      normal_vector(model_->walls->dimension(), rng));
  } else {
    walker_.step(Costs(model_->walls->classes(), beta()), turn, rng);
  }
}

// Acceptance: (G26).
bool exchange(CostLevel& one, CostLevel& other, Rng& rng) {
  const double gain =
      (other.beta() - one.beta()) * (other.observe() - one.observe());
  if (rng.uniform() >= std::exp(gain)) return false;
  std::swap(one.walker_.state, other.walker_.state);
  return true;
}

}  // namespace kernelbayes::kgs
