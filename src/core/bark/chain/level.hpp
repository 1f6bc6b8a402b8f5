#pragma once

#include "core/bark/fields/fields.hpp"
#include "core/tempered.hpp"
#include "draws.hpp"
#include "sweep.hpp"

namespace kernelbayes::bark {

/// The log variance of noise that varies: the prior of its kernels, the normal
/// one of its intercept, and its floor.
struct Varying {
  bool any = false;
  Prior prior;
  double mean = -1, sd = 2, floor = -300;
};

/// Data shared by the levels of a chain or ladder, which refer to it.
struct Model {
  Prior prior;
  Data data;
  std::vector<Rung> rungs;  // a ladder's last, 1, has no level
  bool ladder = false;
  bool prior_only = false;  // without the likelihood
  bool full = true;         // sweeps of all moves
  Classes classes;          // for a field per class
  Varying varying;          // of VaryingLevel

  int levels() const { return static_cast<int>(rungs.size()) - ladder; }
};

/// From 1 downwards, each `step` times the previous one.
std::vector<Rung> chain_rungs(int n_temps, double step, const Family& family,
                              bool prior_only);
/// The step with which about half of the exchanges are accepted.
double chain_step(const Family& family);
/// At 0 < ... < 1.
std::vector<Rung> ladder_rungs(const std::vector<double>& t,
                               const Family& family);

/// log_likelihood is that of the data: with the coefficients integrated out or,
/// if that has no closed form (classes, Student-t noise), at the draw of the
/// coefficients. cuts are the C - 1 finite cut points between ordered classes;
/// df is kept if it is learned.
struct Draws {
  explicit Draws(const Model& model) : model(&model) {}
  void transfer(Archive& archive);

  const Model* model;
  KernelDraws kernels;
  std::vector<double> noise, log_likelihood, cuts, df;
  TermDraws terms;
};

/// A sum of kernels at a rung, (B60). At rung 0 of a ladder the responses
/// contain no information about the kernels, and each sweep draws new ones.
class Level {
 public:
  using Model = bark::Model;
  using Draws = bark::Draws;
  using Counts = bark::Counts;

  Level(const Model& model, int index, Rng& rng);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  /// log of the likelihood at the next rung against that at this one: a
  /// stepping stone, log Z being the sum over rungs of log E[L_next / L],
  /// (B62).
  double observe() const;
  void transfer(Archive& archive);
  friend bool exchange(Level& one, Level& other, Rng& rng);

 private:
  double record_terms(Draws& draws, const Eigen::VectorXd& beta,
                      Rng& rng) const;
  const Rung& rung() const { return model_->rungs[index_]; }

  const Model* model_;
  int index_;
  State state_;
  Sweep sweep_;
};

}  // namespace kernelbayes::bark
