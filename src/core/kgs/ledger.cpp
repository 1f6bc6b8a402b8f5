#include "ledger.hpp"

#include <numeric>
#include <stdexcept>

namespace kernelbayes::kgs {

Ledger::Ledger(const Walls& walls)
    : walls_(&walls), side_(Eigen::VectorXd::Ones(walls.size())) {
  count();
}

void Ledger::rebuild(const Eigen::VectorXd& f) {
  for (int k = 0; k < walls_->size(); ++k) side_[k] = f[k] > 0 ? 1 : -1;
  count();
}

void Ledger::restore(const Eigen::VectorXd& sides) {
  if (sides.size() != walls_->size()) {
    throw std::invalid_argument("the state does not belong to these data");
  }
  side_ = sides;
  count();
}

void Ledger::count() {
  off_.assign(walls_->data(), 0);
  for (const int i : walls_->always_wrong()) off_[i] = 1;
  for (int k = 0; k < walls_->size(); ++k) {
    for (auto m = walls_->begin(k); m != walls_->end(k); ++m) {
      off_[m->datum] += m->positive != (side_[k] > 0);
    }
  }
  wrong_.assign(walls_->classes(), 0);
  for (int i = 0; i < walls_->data(); ++i) {
    if (is_wrong(i)) ++wrong_[walls_->label(i)];
  }
}

double Ledger::change(int k, const Costs& costs) const {
  double out = 0;
  for (auto m = walls_->begin(k); m != walls_->end(k); ++m) {
    const bool leaves = m->positive == (side_[k] > 0);
    const int off = off_[m->datum];
    // The datum's other walls decide whether this one matters.
    if (off == (leaves ? 0 : 1)) {
      out += leaves ? costs[walls_->label(m->datum)]
                    : -costs[walls_->label(m->datum)];
    }
  }
  return out;
}

void Ledger::cross(int k) {
  for (auto m = walls_->begin(k); m != walls_->end(k); ++m) {
    int& off = off_[m->datum];
    int& wrong = wrong_[walls_->label(m->datum)];
    if (m->positive == (side_[k] > 0)) {
      if (off++ == 0) ++wrong;
    } else {
      if (--off == 0) --wrong;
    }
  }
  side_[k] = -side_[k];
}

int Ledger::errors() const {
  return std::accumulate(wrong_.begin(), wrong_.end(), 0);
}

double Ledger::energy(const Costs& costs) const {
  return std::inner_product(wrong_.begin(), wrong_.end(), costs.begin(), 0.0);
}

}  // namespace kernelbayes::kgs
