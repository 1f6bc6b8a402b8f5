#pragma once

#include <stdexcept>

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
  bool truncated = false;   // by the truncation approximation
  Classes classes;          // for a field per class
  Varying varying;          // of VaryingChain

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
/// if that has no closed form (classes, Student-t noise) or they are part of
/// the state, at the draw of the coefficients. cuts are the C - 1 finite cut
/// points between ordered classes; df is kept if it is learned; parameters are
/// those of the likelihood. If the noise varies, `noise` is 1 over the mean of
/// exp(g), and the kernels of g and its intercept are kept.
struct Draws {
  explicit Draws(const Model& model) : model(&model) {}
  void transfer(Archive& archive);

  const Model* model;
  KernelDraws kernels, noise_kernels;
  std::vector<double> noise, log_likelihood, parameters, cuts, df, intercept;
  TermDraws terms;
};

/// A chain at a rung, (B60). A Chain is a state with its moves and has the type
/// Draws and
///   Chain(const Model&, const Rung&)
///   draw_start(Rng&), draw_prior(Rng&)
///   sweep(const Turn&, const Rung&, Counts&, Rng&)
///   record(Draws&, Rng&)
///   transfer(Archive&)
///   kRungs                    can it be at other rungs than 1? If so also
///   lowest(const Turn&, Rng&) a sweep at rung 0 of a ladder, where responses
///                             contain no information about the kernels
///   state()                   for which there are tempered() and enter().
template <class Chain>
class Level {
 public:
  using Model = bark::Model;
  using Draws = typename Chain::Draws;
  using Counts = bark::Counts;

  Level(const Model& model, int index, Rng& rng)
      : model_(&model), index_(index), chain_(model, rung()) {
    if (model.prior_only) {
      chain_.draw_prior(rng);
    } else {
      chain_.draw_start(rng);
    }
  }

  void sweep(const Turn& turn, Counts& counts, Rng& rng) {
    if constexpr (Chain::kRungs) {
      if (model_->ladder && index_ == 0) return chain_.lowest(turn, rng);
    }
    chain_.sweep(turn, rung(), counts, rng);
  }

  void record(Draws& draws, Rng& rng) const { chain_.record(draws, rng); }

  /// log of the likelihood at the next rung against that at this one: a
  /// stepping stone, log Z being the sum over rungs of log E[L_next / L],
  /// (B62).
  double observe() const {
    if constexpr (Chain::kRungs) {
      return tempered(chain_.state(), model_->rungs[index_ + 1]) -
             tempered(chain_.state(), rung());
    } else {
      throw std::logic_error("this sampler has no ladder");
    }
  }

  void transfer(Archive& archive) { chain_.transfer(archive); }

  friend bool exchange(Level& one, Level& other, Rng& rng) {
    if constexpr (Chain::kRungs) {
      return exchange(one.chain_.state(), one.rung(), other.chain_.state(),
                      other.rung(), rng);
    } else {
      return false;
    }
  }

 private:
  const Rung& rung() const { return model_->rungs[index_]; }

  const Model* model_;
  int index_;
  Chain chain_;
};

/// A sum of kernels with all coefficients integrated out.
class SumChain {
 public:
  using Draws = bark::Draws;
  static constexpr bool kRungs = true;

  SumChain(const Model& model, const Rung& rung);
  void draw_start(Rng& rng) { bark::draw_start(state_, rng); }
  void draw_prior(Rng& rng);
  void sweep(const Turn& turn, const Rung& rung, Counts& counts, Rng& rng);
  void lowest(const Turn& turn, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive);
  const State& state() const { return state_; }
  State& state() { return state_; }

 private:
  void start(const Turn& turn, Rng& rng);
  double record_terms(Draws& draws, const Eigen::VectorXd& beta,
                      Rng& rng) const;

  const Model* model_;
  State state_;
  Sweep sweep_;
};

}  // namespace kernelbayes::bark
