// The moves of bark's chains by name, for tests.
#include "bark_moves.hpp"

#include <RcppEigen.h>

#include "core/bark/candidates.hpp"
#include "core/bark/sweep.hpp"

namespace {

using namespace kernelbayes;
using bark::State;

// Relocates slots several times among all locations, or some of them.
void gather(State& state, int size, double power, Rng& rng) {
  const int m = state.size();
  if (state.prior().shaped()) size = m + 4;  // others are drawn from the prior
  if (m == 0 || m >= size) return;
  bark::Candidates candidates(state, size, rng);
  for (int i = 0; i < 3; ++i) {
    candidates.relocate(state, static_cast<int>(rng.index(m)), power, rng);
  }
}

}  // namespace

namespace bark_r {

const Moves<State>& moves() {
  static const Moves<State> all = with_scale_moves<State>(
      {{"birth_death", bark::birth_death_move},
       {"relocate", bark::relocate_move},
       {"local", bark::local_move},
       {"copies", bark::copies_move},
       {"rescale", bark::rescale_move},
       {"varphi",
        [](State& s, double t, Rng& r) { bark::varphi_move(s, t, 1.5, r); }},
       {"scale_any",
        [](State& s, double t, Rng& r) { bark::scale_any_move(s, t, 1.2, r); }},
       {"birth_near", bark::birth_near_move},
       {"gather", [](State& s, double t, Rng& r) { gather(s, 1000, t, r); }},
       {"gather_some",
        [](State& s, double t, Rng& r) { gather(s, s.data().n() / 2, t, r); }},
       {"noise",
        [](State& s, double t, Rng& r) { bark::noise_move(s, t, 0.7, r); }},
       {"noise_gibbs",
        [](State& s, double, Rng& r) { bark::noise_gibbs(s, r); }},
       {"latent", [](State& s, double, Rng& r) { bark::latent_move(s, r); }},
       {"latent_scale",
        [](State& s, double, Rng& r) { bark::latent_scale_move(s, r); }},
       {"magnitude",
        [](State& s, double, Rng& r) { bark::magnitude_move(s, 0.7, r); }},
       {"latent_given_coefficients",
        [](State& s, double, Rng& r) {
          bark::latent_given_coefficients(s, r);
        }},
       {"row_weights",
        [](State& s, double, Rng& r) { bark::row_weights_move(s, r); }},
       {"cuts",
        [](State& s, double, Rng& r) {
          bark::cuts_move(s, std::vector<double>(s.log_gaps().size(), 0.7), r);
        }},
       {"rotate",
        [](State& s, double t, Rng& r) {
          const int d = s.prior().directions;
          if (d > 0)
            bark::rotate_move(s, static_cast<int>(r.index(d)), t, 0.8, r);
        }},
       {"redirect", bark::redirect_move},
       {"pool", [](State& s, double, Rng& r) { bark::pool_move(s, r); }},
       {"pool_shift", [](State& s, double t,
                         Rng& r) { bark::pool_shift_move(s, t, 0.8, r); }},
       {"pool_stretch", [](State& s, double t,
                           Rng& r) { bark::pool_stretch_move(s, t, 0.8, r); }},
       {"none", [](State&, double, Rng&) {}}});
  return all;
}

}  // namespace bark_r

// The names of all moves.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> bark_moves_cpp() {
  std::vector<std::string> out;
  for (const auto& move : bark_r::moves()) out.push_back(move.first);
  return out;
}
