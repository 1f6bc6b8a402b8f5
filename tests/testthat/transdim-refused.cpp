// None of this compiles: test-transdim-cpp.R reads the compiler's messages.

#include <kernelbayes/transdim.hpp>

using kernelbayes::Rng;
using State = int;

struct Model {
  using State = int;
  State initial(Rng&) const { return 0; }
  double log_density(State, int) const { return 0; }
};

struct Move {
  void propose(State&, int, Rng&) const {}
  double log_forward(State, State, int) const { return 0; }
  double log_reverse(State, State, int) const { return 0; }
};

struct NoInitial {
  using State = int;
  double log_density(State, int) const { return 0; }
};
struct NoDensity {
  using State = int;
  State initial(Rng&) const { return 0; }
};
struct NotConst : Model {
  void rejuvenate(State&, int, Rng&) {}
};
struct Returns : Move {
  State propose(State now, int, Rng&) const { return now; }
};
struct NoForward {
  void propose(State&, int, Rng&) const {}
  double log_reverse(State, State, int) const { return 0; }
};
struct NoReverse {
  void propose(State&, int, Rng&) const {}
  double log_forward(State, State, int) const { return 0; }
};
struct NoTime : Move {
  double probability(State) const { return 1; }
};
struct Half : Move {
  double probability(State, int) const { return 0.5; }
};

template <typename... Parts>
using Target = kernelbayes::TransdimTarget<Parts...>;

int refused[] = {
    sizeof(Target<NoInitial, Move>),   sizeof(Target<NoDensity, Move>),
    sizeof(Target<NotConst, Move>),    sizeof(Target<Model, Returns>),
    sizeof(Target<Model, NoForward>),  sizeof(Target<Model, NoReverse>),
    sizeof(Target<Model, NoTime>),     sizeof(Target<Model, Move, Half>),
    sizeof(Target<Model, Half, Half>), sizeof(Target<Model>)};
