// Internal entries through which tests reach parts of the core that engines
// share and that have no R function of their own.
#include <RcppEigen.h>

#include <algorithm>
#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/resample.hpp>
#include <kernelbayes/truncated_normal.hpp>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "factor_report.hpp"
#include "glue/executor.hpp"
#include "glue/lists.hpp"

using namespace testing_r;

// Applies a script of operations to the factor of gain * gram + ridge * I and
// reports after each; an operation comes with the resulting gram matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::List cholesky_script_cpp(Rcpp::List script, double gain, double ridge) {
  Cholesky factor;
  Rcpp::List out;
  for (const Rcpp::List op : script) {
    const LowerTriangle gram = lower_triangle(op["gram"]);
    const std::string name = op["op"];
    Cholesky::Update update{0, 0};
    if (name == "factor") {
      const auto b = get<double>(op, "b");
      factor.factor(gram, b.data(), gain, ridge, op["first_shift"]);
    } else if (name == "append") {
      const auto h = get<double>(op, "h");
      factor.append(h.data(), op["pivot"], op["z"]);
    } else if (name == "erase") {
      std::vector<double> work(factor.size());
      factor.erase(Rcpp::as<int>(op["i"]) - 1, work.data());
    } else if (name == "rank_one") {
      auto u = get<double>(op, "u");
      update = factor.rank_one(u.data(), op["v"]);
    } else if (name == "restore") {  // from the numbers of another
      Cholesky other;
      const auto columns = get<double>(op, "columns");
      other.restore(gram.size(), columns.data(), factor.z().data());
      factor = other;
    }
    Rcpp::List state = report(factor);
    state["drift"] = factor.drift(gram, gain, ridge);
    state["update"] = std::vector<double>{update.log_shrink, update.residual};
    out.push_back(state);
  }
  return out;
}

// n numbers from a stream, and its state afterwards.
// [[Rcpp::export(rng = false)]]
Rcpp::List rng_draws_cpp(const std::vector<std::string>& from, std::string what,
                         int n, double a, double b) {
  Rng rng = stream_from_r(from);
  std::vector<double> out(n);
  for (double& value : out) {
    value = what == "uniform"  ? rng.uniform()
            : what == "normal" ? rng.normal()
            : what == "gamma"  ? rng.gamma(a)
            : what == "index"  ? rng.index(static_cast<std::uint32_t>(a))
                               : rng.inverse_gamma(a, b);
  }
  std::ostringstream state;
  for (const auto word : rng.state()) state << std::hex << word << ' ';
  return Rcpp::List::create(_["draws"] = out, _["state"] = state.str());
}

// n draws of X - a, X a standard normal above a.
// [[Rcpp::export(rng = false)]]
std::vector<double> normal_excess_cpp(double a, int n, int seed) {
  Rng rng(seed);
  std::vector<double> out(n);
  for (double& draw : out) draw = normal_excess(a, rng);
  return out;
}

// [[Rcpp::export(rng = false)]]
std::vector<double> log_normal_cdf_cpp(std::vector<double> x) {
  for (double& value : x) value = log_normal_cdf(value);
  return x;
}

// n draws of a normal variable between two points.
// [[Rcpp::export(rng = false)]]
std::vector<double> normal_between_cpp(double mean, double sd, double lower,
                                       double upper, int n, int seed) {
  Rng rng(seed);
  std::vector<double> out(n);
  for (double& draw : out) draw = normal_between(mean, sd, lower, upper, rng);
  return out;
}

// [[Rcpp::export(rng = false)]]
std::vector<double> log_normal_between_cpp(const std::vector<double>& from,
                                           const std::vector<double>& to) {
  std::vector<double> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    out.push_back(log_normal_between(from[i], to.at(i)));
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
std::vector<std::string> resampling_schemes_cpp() {
  std::vector<std::string> out;
  for (const auto& entry : resampling::registry()) out.push_back(entry.first);
  return out;
}

namespace {

// Counts its units, each of which takes some microseconds of work; fails after
// `fails_after` of them, if that is not negative.
class Counter : public kernelbayes::Machine {
 public:
  Counter(double microseconds, int fails_after)
      : seconds_(microseconds * 1e-6), fails_after_(fails_after) {}
  int time() const override { return time_; }
  void advance(int n) override {
    for (; n > 0; --n) {
      const kernelbayes::Stopwatch watch;
      while (watch.seconds() < seconds_) {
      }
      if (time_ == fails_after_) {
        throw std::runtime_error("machine " + std::to_string(time_));
      }
      ++time_;
    }
  }
  void transfer(kernelbayes::Archive&) override {}

 private:
  const double seconds_;
  const int fails_after_;
  int time_ = 0;
};

}  // namespace

// The units done by machines with these durations of a unit.
// [[Rcpp::export(rng = false)]]
std::vector<int> advance_counters_cpp(const std::vector<double>& microseconds,
                                      int n, int threads, int fails_after) {
  std::vector<std::unique_ptr<Counter>> counters;
  std::vector<kernelbayes::Machine*> machines;
  for (const double each : microseconds) {
    counters.push_back(std::make_unique<Counter>(each, fails_after));
    machines.push_back(counters.back().get());
  }
  kernelbayes::advance_machines(machines, n, threads,
                                make_executor(threads, 1));
  std::vector<int> out;
  for (const auto* machine : machines) out.push_back(machine->time());
  return out;
}
