#include "core/srvm/transfer.hpp"
#include "glue/archive.hpp"
#include "glue/kernel_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace srvm_r {

namespace {

srvm::VariancePrior variance_prior(const Rcpp::List& prior) {
  srvm::VariancePrior out;
  out.fixed = Rcpp::as<std::string>(prior["type"]) == "fixed";
  if (out.fixed) {
    out.value = prior["variance"];
  } else {
    out.shape = prior["shape"];
    out.scale = prior["scale"];
    out.lower = prior["lower"];
    out.upper = prior["upper"];
    if (prior.containsElementNamed("start")) out.value = prior["start"];
  }
  return out;
}

// A rate, or shapes, rates and weights of gamma distributions.
srvm::CountPrior count_prior(const std::vector<double>& lambda) {
  if (lambda.size() == 1) return srvm::CountPrior::poisson(lambda[0]);
  const std::size_t n = lambda.size() / 3;
  require(n > 0 && lambda.size() == 3 * n, "the prior of lambda is damaged");
  std::vector<srvm::CountPrior::Gamma> parts;
  for (std::size_t i = 0; i < n; ++i) {
    parts.push_back({lambda[i], lambda[n + i], lambda[2 * n + i]});
  }
  return srvm::CountPrior::mixture(std::move(parts));
}

const std::map<std::string, srvm::Response> kResponses{
    {"gaussian", srvm::Response::kNormal},
    {"student", srvm::Response::kStudent},
    {"probit", srvm::Response::kProbit}};

const std::map<std::string, srvm::Proposal> kProposals{
    {"adapted", srvm::Proposal::kAdapted},
    {"birth_death", srvm::Proposal::kBirthDeath},
    {"paper", srvm::Proposal::kPaper}};

const std::map<std::string, History> kHistories{
    {"summary", History::kSummary},
    {"genealogy", History::kGenealogy},
    {"full", History::kFull}};

}  // namespace

// A kernel, or the kernels of a dictionary.
std::vector<Kernel> kernels(const Rcpp::List& kernel) {
  if (Rcpp::as<std::string>(kernel["type"]) != "dictionary") {
    return {kernel_from_r(kernel)};
  }
  std::vector<Kernel> out;
  const Rcpp::List parts = kernel["parts"];
  for (const Rcpp::List part : parts) out.push_back(kernel_from_r(part));
  return out;
}

srvm::Model model(const Rcpp::List& config) {
  srvm::Model out;
  const Rcpp::List kernel = config["kernel"];
  out.learned = learned_kernel(kernel);
  if (out.learns_scales()) {
    if (config.containsElementNamed("simd")) {
      out.arithmetic = &Arithmetic::at_most(config["simd"]);
    }
    out.scales.scale = config["inverse_bandwidth"];
    out.coef_df = config["coef_df"];
  } else {
    out.kernels = kernels(kernel);
  }
  const bool iid = Rcpp::as<std::string>(config["centres"]) == "iid";
  out.centres = srvm::CentrePrior(
      iid ? srvm::CentrePrior::Kind::kIid : srvm::CentrePrior::Kind::kSubset,
      count_prior(config["lambda"]), count_from_r(config, "kmax"));
  out.noise = variance_prior(config["noise"]);
  out.coef = variance_prior(config["coef"]);
  out.fixed_columns.intercept = config["intercept"];
  const Rcpp::List linear = config["linear"];
  out.fixed_columns.centre = linear["centre"];
  out.fixed_columns.scale = linear["scale"];
  out.shift = config["shift"];
  out.scaled = config["scaled"];
  out.response = named(kResponses, config["response"]);
  out.df = get<double>(config, "df");
  require(!out.df.empty(), "there are no degrees of freedom");
  return out;
}

namespace {

srvm::Memory memory(const Rcpp::List& config) {
  srvm::Memory out;
  out.window = count_from_r(config, "window");
  out.candidates = count_from_r(config, "candidates");
  out.forgetting = config["forgetting"];
  // All runs of a fit have the same candidates.
  out.seed =
      Rng::derive(static_cast<std::uint64_t>(Rcpp::as<int>(config["seed"])), 0);
  return out;
}

}  // namespace

void check_columns(const srvm::Model& model, Eigen::Index columns) {
  const Eigen::Index linear = model.fixed_columns.centre.size();
  require(linear == 0 || linear == columns, "points and settings disagree");
  for (const Kernel& kernel : model.kernels) kernel.check_dimension(columns);
}

srvm::Config config(const Rcpp::List& config) {
  srvm::Config out;
  out.model = model(config);
  out.proposal = named(kProposals, config["proposal"]);
  out.memory = memory(config);
  if (config.containsElementNamed("past")) {
    out.past = count_from_r(config, "past");
  }
  out.n_moves = count_from_r(config, "n_moves");
  out.sweep_every = count_from_r(config, "sweep_every", 1);
  out.move_fraction = config["move_fraction"];
  out.smc.particles = count_from_r(config, "particles", 1);
  out.smc.resampling =
      resampling::scheme(Rcpp::as<std::string>(config["resampling"]));
  out.smc.ess_threshold = config["ess_threshold"];
  out.smc.cess_threshold = config["cess_threshold"];
  out.smc.powers = get<double>(config, "powers");
  out.smc.resample_every_step = config["resample_every_step"];
  out.smc.history = named(kHistories, config["ancestry"]);
  out.smc.seed = run_seed(config, "replicate");
  return out;
}

std::vector<srvm::Particle> particles(const Rcpp::List& state,
                                      const srvm::Model& model) {
  std::vector<srvm::Particle> out;
  read_state(state, [&](Archive& archive) {
    srvm::transfer(archive, out, model.fixed());
    srvm::transfer_spreads(archive, out, model);
  });
  return out;
}

}  // namespace srvm_r
