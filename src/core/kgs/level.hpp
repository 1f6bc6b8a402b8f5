#pragma once

#include <memory>
#include <optional>

#include "block.hpp"
#include "core/tempered.hpp"
#include "mover.hpp"
#include "noise.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

struct Settings {
  Method method = Method::kHmc;
  std::vector<double> beta;  // of a ladder: costs, 0 first, increasing
  // Of a chain:
  Noise noise;
  double nugget = 0;      // of Method::kBlock
  int kept = 0;           // coordinates in draws, per function
  Eigen::VectorXd start;  // empty: a draw from the prior, separating if needed
};

/// Data shared by the levels of a chain or ladder, which refer to it.
struct Model {
  Model(Data data, Settings settings);

  int levels() const {
    return settings.beta.empty() ? 1 : static_cast<int>(settings.beta.size());
  }

  Data data;
  Settings settings;
  std::vector<int> total;        // labels by class
  std::unique_ptr<Walls> walls;  // Method::kBlock has none
  // For Method::kCoordinate, near the posterior; otherwise empty.
  Eigen::MatrixXd curvature;
  Eigen::VectorXd mode;
};

/// No vector without wrong labels was found, and wrong labels are not allowed.
struct NotSeparable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A vector and the moves of a method, which adapt during the warmup.
class Walker {
 public:
  Walker(const Model& model, const Eigen::VectorXd& start);

  void step(const Costs& costs, const Turn& turn, Rng& rng);
  void transfer(Archive& archive);

  State state;

 private:
  const Model* model_;
  Mover mover_;
};

/// Kept draws, one after another: the first coordinates of the unit vector w
/// (per function), the rates, the wrong labels by class; and how often each
/// label was wrong.
struct Draws {
  explicit Draws(const Model& model) : flipped(model.data.label.size(), 0) {}
  void transfer(Archive& archive);

  std::vector<double> w, rates;
  std::vector<int> wrong;
  std::vector<double> flipped;
};

/// A Gibbs sampler of the direction and of the rates of wrong labels.
class Level {
 public:
  using Model = kgs::Model;
  using Draws = kgs::Draws;
  using Counts = NoCounts;

  Level(const Model& model, int index, Rng& rng);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const { return 0; }
  void transfer(Archive& archive);
  friend bool exchange(Level&, Level&, Rng&) { return false; }

 private:
  Eigen::VectorXd start(Rng& rng) const;
  void separate_if_hard(Rng& rng);
  std::vector<int> wrong() const;
  bool is_wrong(int datum) const;

  const Model* model_;
  Rates rates_;
  std::optional<Block> block_;    // of Method::kBlock
  std::optional<Walker> walker_;  // of all other methods
};

/// A direction under one cost per wrong label. A ladder observes the number of
/// wrong labels, from which its distribution under the prior follows, (G27). If
/// the cost is 0 each sweep draws a new direction from the prior.
class CostLevel {
 public:
  using Model = kgs::Model;
  using Draws = kgs::Draws;
  using Counts = NoCounts;

  CostLevel(const Model& model, int index, Rng& rng);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws&, Rng&) const {}
  double observe() const { return walker_.state.ledger.errors(); }
  void transfer(Archive& archive) { walker_.transfer(archive); }
  friend bool exchange(CostLevel& one, CostLevel& other, Rng& rng);

 private:
  double beta() const { return model_->settings.beta[index_]; }

  const Model* model_;
  int index_;
  Walker walker_;
};

}  // namespace kernelbayes::kgs
