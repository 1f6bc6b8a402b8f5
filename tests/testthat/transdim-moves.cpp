// Additions of test-transdim-cpp.R to the example, which is put before this.

#include <kernelbayes/transdim_jumps.hpp>
#include <kernelbayes/transdim_simulate.hpp>

// Wrong in one way, by name.
struct Fault {
  bool is(const char* other) const { return name == other; }
  std::string name;
};

struct FaultyStay : Stay {
  explicit FaultyStay(std::string name) : fault{std::move(name)} {}
  void propose(Years& begins, int t, kb::Rng& rng) const {
    if (fault.is("draws") && t > 1 && rng.uniform() < 0.1) begins.push_back(t);
  }
  Fault fault;
};

struct FaultyChange : Change {
  explicit FaultyChange(std::string name) : fault{std::move(name)} {}
  double probability(const Years& before, int t) const {
    const double more = t > 1 && fault.is("probability") ? 0.1 : 0;
    return Change::probability(before, t) + more;
  }
  double reverse_probability(const Years& now, int t) const {
    const double part = t > 2 && fault.is("forgotten") ? 0.5 : 1;
    return part * Change::reverse_probability(now, t);
  }
  double log_forward(const Years& now, const Years& before, int t) const {
    const double off = fault.is("density") ? std::log(0.5) : 0;
    return Change::log_forward(now, before, t) + off;
  }
  double log_reverse(const Years& before, const Years& now, int t) const {
    if (!fault.is("uniform_death")) return Change::log_reverse(before, now, t);
    const bool one_less =
        before.size() + 1 == now.size() &&
        std::includes(now.begin(), now.end(), before.begin(), before.end());
    return one_less ? -std::log(static_cast<double>(now.size())) : kNever;
  }
  Fault fault;
};

// The weights as formulas.
template <typename Move>
struct Weighted : Move {
  Weighted(ChangePoints m, double o) : model(std::move(m)), off(o) {}
  double log_weight(const Years& now, const Years& before, int t) const {
    return model.log_density(now, t) - model.log_density(before, t - 1) -
           std::log(Move::probability(before, t)) + off;
  }
  ChangePoints model;
  double off;
};

struct Increments : ChangePoints {
  Increments(const std::vector<int>& counts, double o)
      : ChangePoints(counts), off(o) {}
  double log_increment(const Years& now, const Years& before, int t) const {
    return log_density(now, t) - log_density(before, t - 1) + off;
  }
  double off;
};

struct Silent : ChangePoints {
  using ChangePoints::ChangePoints;
  void rejuvenate(Years& begins, int t, kb::Rng& rng) const {
    ChangePoints::rejuvenate(begins, t, rng);
  }
};

struct Recording : ChangePoints {
  using ChangePoints::ChangePoints;
  void add_datum(int t, const kb::Executor&) { added.push_back(t); }
  void after_step(int,
                  const std::vector<kb::TransdimParticle<Years>>& particles,
                  const std::vector<double>& weights) {
    mean_changes = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      mean_changes += weights[i] * (particles[i].state.size() - 1.0);
    }
  }
  std::vector<int> added;
  double mean_changes = 0;
};

// From step `from` on no year from 2 to 4 begins a rate or, if `from` is 0,
// nothing is possible; no function is called with a state of density zero.
struct Sparse : ChangePoints {
  Sparse(const std::vector<int>& counts, int f)
      : ChangePoints(counts), from(f) {}
  double log_density(const Years& begins, int t) const {
    if (t > 0 && from == 0) return kNever;
    for (const int year : begins) {
      if (t >= from && year > 1 && year < 5) return kNever;
    }
    return ChangePoints::log_density(begins, t);
  }
  void rejuvenate(Years& begins, int t, kb::Rng& rng) const {
    if (log_density(begins, t) == kNever) throw std::logic_error("met zero");
    if (t < 2) return;
    const Years other = flip(begins, 2 + rng.index(t - 1));
    const double ratio = log_density(other, t) - log_density(begins, t);
    if (std::log(rng.uniform()) < ratio) begins = other;
  }
  int from;
};

struct Spoilt : ChangePoints {
  Spoilt(const std::vector<int>& counts, std::string name)
      : ChangePoints(counts), fault{std::move(name)} {}
  double log_density(const Years& begins, int t) const {
    if (t == 2 && fault.is("log_density")) return std::nan("");
    return ChangePoints::log_density(begins, t);
  }
  Fault fault;
};

struct SpoiltMove : Stay {
  explicit SpoiltMove(std::string name) : fault{std::move(name)} {}
  void propose(Years& begins, int t, kb::Rng&) const {
    if (t == 1) begins.push_back(t);
  }
  double value(const char* of, int t, double bad, double good) const {
    return t == 2 && fault.is(of) ? bad : good;
  }
  double log_forward(const Years&, const Years&, int t) const {
    return value("log_forward", t, kNever, 0);
  }
  double log_reverse(const Years&, const Years&, int t) const {
    return value("log_reverse", t, std::nan(""), 0);
  }
  double probability(const Years&, int t) const {
    return value("probability", t, -1, 1);
  }
  double reverse_probability(const Years&, int t) const {
    return value("reverse_probability", t, 2, 1);
  }
  Fault fault;
};

inline kb::SmcSettings settings_of(int particles, double seed = 1) {
  kb::SmcSettings settings;
  settings.particles = particles;
  settings.seed = static_cast<std::uint64_t>(seed);
  return settings;
}

inline std::vector<int> changes_in(const std::vector<Years>& states) {
  std::vector<int> changes;
  for (const Years& s : states)
    changes.push_back(static_cast<int>(s.size()) - 1);
  return changes;
}

inline Rcpp::List as_list(const kb::TransdimFit<Years>& fit) {
  return Rcpp::List::create(
      Rcpp::_["changes"] = changes_in(fit.states),
      Rcpp::_["states"] = Rcpp::wrap(fit.states),
      Rcpp::_["weights"] = fit.weights,
      Rcpp::_["log_evidence"] = fit.log_evidence, Rcpp::_["mc_se"] = fit.mc_se,
      Rcpp::_["ess"] = fit.path.ess, Rcpp::_["chosen"] = fit.chosen,
      Rcpp::_["share"] = fit.share, Rcpp::_["ancestors"] = fit.ancestors,
      Rcpp::_["mean_changes"] =
          fit.mean([](const Years& s) { return s.size() - 1.0; }));
}

// [[Rcpp::export]]
Rcpp::List count_wrongly(const std::vector<int>& counts, int particles,
                         double seed, const std::string& fault) {
  return as_list(
      kb::tdsmc(settings_of(particles, seed), static_cast<int>(counts.size()),
                ChangePoints(counts), FaultyStay(fault), FaultyChange(fault)));
}

// [[Rcpp::export]]
Rcpp::DataFrame check_wrong_moves(const std::vector<int>& counts, int draws,
                                  const std::string& fault) {
  const int n = static_cast<int>(counts.size());
  const ChangePoints model(counts);
  if (fault == "log_weight") {
    return as_table(kb::check_moves(all_years, n, draws, model,
                                    Weighted<Stay>(model, 0),
                                    Weighted<Change>(model, std::log(0.7))));
  }
  if (fault == "increment") {
    return as_table(kb::check_moves(all_years, n, draws,
                                    Increments(counts, 0.1), Stay(), Change()));
  }
  return as_table(kb::check_moves(all_years, n, draws, model, FaultyStay(fault),
                                  FaultyChange(fault)));
}

// A run that another sampler continues at step `cut`, with particles in
// `chunks` ranges, the last first.
// [[Rcpp::export]]
Rcpp::List run_in_parts(const std::vector<int>& counts, int particles, int cut,
                        int chunks) {
  const kb::Executor executor = [chunks](std::size_t n, const auto& body) {
    for (int i = chunks; i > 0; --i) {
      body(n * (i - 1) / chunks, n * i / chunks);
    }
  };
  kb::SmcSettings settings = settings_of(particles);
  settings.history = kb::History::kGenealogy;
  const int n = static_cast<int>(counts.size());
  kb::TransdimSampler first(settings, Recording(counts), Stay(), Change());
  first.advance(cut, executor);
  kb::TransdimSampler second(settings, Recording(counts), Stay(), Change());
  second.restore(first.run_state(), executor);
  second.advance(n - cut, executor);
  Rcpp::List out = as_list(second.fit());
  const Recording& model = second.target().model();
  out["added"] = model.added;
  if (cut < n) out["recorded"] = model.mean_changes;
  return out;
}

// [[Rcpp::export]]
Rcpp::List run_another_way(const std::vector<int>& counts, int particles,
                           const std::string& way) {
  const kb::SmcSettings settings = settings_of(particles);
  const int n = static_cast<int>(counts.size());
  const ChangePoints model(counts);
  if (way == "increment") {
    return as_list(
        kb::tdsmc(settings, n, Increments(counts, 0), Stay(), Change()));
  }
  if (way == "silent") {
    return as_list(kb::tdsmc(settings, n, Silent(counts), Stay(), Change()));
  }
  return as_list(kb::tdsmc(settings, n, model, Weighted<Stay>(model, 0),
                           Weighted<Change>(model, 0)));
}

// [[Rcpp::export]]
Rcpp::List run_with_zeros(const std::vector<int>& counts, int particles,
                          int from, double seed) {
  kb::SmcSettings settings = settings_of(particles, seed);
  settings.ess_threshold = 0;
  return as_list(kb::tdsmc(settings, static_cast<int>(counts.size()),
                           Sparse(counts, from), Stay(), Change()));
}

// [[Rcpp::export]]
std::vector<double> log_gamma(const std::vector<std::vector<int>>& states,
                              const std::vector<int>& counts) {
  std::vector<double> out;
  const ChangePoints model(counts);
  for (const auto& state : states) {
    out.push_back(model.log_density(state, static_cast<int>(counts.size())));
  }
  return out;
}

// [[Rcpp::export]]
void run_with_fault(const std::vector<int>& counts, const std::string& what) {
  kb::tdsmc(settings_of(20), static_cast<int>(counts.size()),
            Spoilt(counts, what), SpoiltMove(what));
}

// [[Rcpp::export]]
Rcpp::List run_small(const std::vector<int>& counts, int particles) {
  return as_list(kb::tdsmc(settings_of(particles),
                           static_cast<int>(counts.size()),
                           ChangePoints(counts), Stay(), Change()));
}

// A level on the line that is 0 or has a prior N(0, 1): no number, or one.
struct Level {
  using State = std::vector<double>;
  State initial(kb::Rng& rng) const {
    return rng.uniform() < 0.5 ? State() : State{normal(rng)};
  }
  static double normal(kb::Rng& rng) {
    return std::sqrt(-2 * std::log(rng.uniform())) *
           std::cos(2 * M_PI * rng.uniform());
  }
  static double log_normal(double x) {
    return -0.5 * x * x - 0.5 * std::log(2 * M_PI);
  }
  double log_density(const State& state, int t) const {
    const double m = state.empty() ? 0 : state[0];
    double out = std::log(0.5) + (state.empty() ? 0 : log_normal(m));
    for (int s = 0; s < t; ++s) out += log_normal(data[s] - m);
    return out;
  }
  void rejuvenate(State& state, int t, kb::Rng& rng) const {
    State other;
    if (state.empty()) other.push_back(normal(rng));
    double ratio = log_density(other, t) - log_density(state, t);
    if (!fault.is("rejuvenate")) {
      ratio += (state.empty() ? 0 : log_normal(state[0])) -
               (other.empty() ? 0 : log_normal(other[0]));
    }
    if (std::log(rng.uniform()) < ratio) state = other;
  }
  std::vector<double> data;
  Fault fault;
};

struct KeepLevel {
  static constexpr const char* name = "keep";
  void propose(Level::State&, int, kb::Rng&) const {}
  double log_forward(const Level::State&, const Level::State&, int) const {
    return 0;
  }
  double log_reverse(const Level::State&, const Level::State&, int) const {
    return 0;
  }
  double probability(const Level::State&, int) const { return 0.6; }
  double reverse_probability(const Level::State&, int) const { return 0.7; }
};

struct NewLevel {
  static constexpr const char* name = "new";
  void propose(Level::State& state, int, kb::Rng& rng) const {
    state = {Level::normal(rng) + 0.3};
  }
  double log_forward(const Level::State& now, const Level::State&, int) const {
    const double off = fault.is("density") ? 0.2 : 0;
    return Level::log_normal(now[0] - 0.3) + off;
  }
  double log_reverse(const Level::State&, const Level::State&, int) const {
    return 0;
  }
  double probability(const Level::State& before, int) const {
    return before.empty() ? 0.4 : 0;
  }
  double reverse_probability(const Level::State& now, int) const {
    return now.empty() ? 0 : fault.is("forgotten") ? 0.2 : 0.3;
  }
  Fault fault;
};

struct NoLevel {
  static constexpr const char* name = "none";
  void propose(Level::State& state, int, kb::Rng&) const { state.clear(); }
  double log_forward(const Level::State&, const Level::State&, int) const {
    return 0;
  }
  double log_reverse(const Level::State& before, const Level::State&,
                     int) const {
    return Level::log_normal(before[0] - 0.3);
  }
  double probability(const Level::State& before, int) const {
    return before.empty() ? 0 : 0.4;
  }
  double reverse_probability(const Level::State& now, int) const {
    return now.empty() ? 0.3 : 0;
  }
};

// [[Rcpp::export]]
Rcpp::DataFrame simulate_levels(const std::vector<double>& data, int particles,
                                double seed, const std::string& fault) {
  return as_table(kb::simulate_moves(particles, static_cast<int>(data.size()),
                                     static_cast<std::uint64_t>(seed),
                                     Level{data, {fault}}, KeepLevel(),
                                     NewLevel{{fault}}, NoLevel()));
}

struct KeepAlways : KeepLevel {
  double probability(const Level::State&, int) const { return 1; }
  double reverse_probability(const Level::State&, int) const { return 1; }
};

// The same level, moved by the moves themselves; `fault` breaks the density
// that a new level is said to have.
struct JumpingLevel : Level {
  explicit JumpingLevel(const std::vector<double>& y, const std::string& name)
      : Level{y, {name}}, jumps{{1, 0}, 2, NewLevel{{name}}, NoLevel()} {}
  double rejuvenate(State& state, int t, kb::Rng& rng) const {
    return jumps.move(*this, state, t, rng);
  }
  kb::Jumps<NewLevel, NoLevel> jumps;
};

// [[Rcpp::export]]
Rcpp::DataFrame simulate_jumps(const std::vector<double>& data, int particles,
                               double seed, const std::string& fault) {
  return as_table(kb::simulate_moves(particles, static_cast<int>(data.size()),
                                     static_cast<std::uint64_t>(seed),
                                     JumpingLevel(data, fault), KeepAlways()));
}

// [[Rcpp::export]]
Rcpp::List run_jumps(const std::vector<double>& data, int particles,
                     double seed) {
  const auto fit =
      kb::tdsmc(settings_of(particles, seed), static_cast<int>(data.size()),
                JumpingLevel(data, "none"), KeepAlways());
  return Rcpp::List::create(
      Rcpp::_["log_evidence"] = fit.log_evidence,
      Rcpp::_["some"] = fit.mean(
          [](const Level::State& s) { return static_cast<double>(s.size()); }));
}

// [[Rcpp::export]]
void pair_wrongly() {
  kb::Jumps<NewLevel, NoLevel>({0, 0}, 1, NewLevel{{"none"}}, NoLevel());
}
