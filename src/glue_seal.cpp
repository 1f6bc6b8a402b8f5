// The seal of a saved object: a digest of its numbers, strings and shapes, by
// which damage is noticed (R/base-seal.R).
#include <Rcpp.h>

#include <cstdint>
#include <cstring>

namespace {

// Each step is a bijection of the state, for a word, and of the word, for a
// state: a single changed word always changes the digest.
class Digest {
 public:
  void add(std::uint64_t word) {
    state_ ^= word * 0x9E3779B97F4A7C15ULL;
    state_ = (state_ << 31 | state_ >> 33) * 0xC2B2AE3D27D4EB4FULL;
  }
  void add(double value) {
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    add(word);
  }
  void add(int value) { add(static_cast<std::uint64_t>(std::uint32_t(value))); }
  void add(const char* text) {
    for (; *text != '\0'; ++text) add(std::uint64_t(1 + *text));
    add(std::uint64_t(0));
  }
  template <typename T>
  void add(const T* values, R_xlen_t n) {
    for (R_xlen_t i = 0; i < n; ++i) add(values[i]);
  }
  void add(Rbyte value) { add(static_cast<std::uint64_t>(value)); }
  void add(SEXP x);

  std::string words() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx",
                  static_cast<unsigned long long>(state_));
    return text;
  }

 private:
  void add_string(SEXP x) {
    if (x == NA_STRING) {
      add(std::uint64_t(1) << 32);
    } else {
      add(Rf_getCharCE(x) == CE_BYTES ? CHAR(x) : Rf_translateCharUTF8(x));
    }
  }
  void add_attributes(SEXP x);

  std::uint64_t state_ = 0;
};

// Names that mean the same run: settings of where and how long it runs.
bool is_passing(SEXP name) {
  static const char* const names[] = {
      "seal",       "seconds", "shared_seconds", "threads", "checkpoint",
      "checkpoint_every", "overwrite", "time_limit"};
  for (const char* passing : names) {
    if (std::strcmp(CHAR(name), passing) == 0) return true;
  }
  return false;
}

void Digest::add_attributes(SEXP x) {
  static const char* const names[] = {
      "dim",         "dimnames", "class",     "levels",   "units", "factors",
      "term.labels", "order",    "intercept", "response", "variables",
      "predvars",    "dataClasses"};
  for (const char* name : names) {
    SEXP value = Rf_getAttrib(x, Rf_install(name));
    if (value != R_NilValue) {
      add(name);
      add(value);
    }
  }
}

// Functions, environments and pointers count as there, whatever they hold.
void Digest::add(SEXP x) {
  const R_xlen_t n = Rf_xlength(x);
  add(int(TYPEOF(x)));
  switch (TYPEOF(x)) {
    case NILSXP:
      return;
    case SYMSXP:
      return add(CHAR(PRINTNAME(x)));
    case LANGSXP:
      add_attributes(x);
      for (; x != R_NilValue; x = CDR(x)) {
        add(TAG(x));
        add(CAR(x));
      }
      return;
    case LGLSXP:
      add(LOGICAL_RO(x), n);
      break;
    case INTSXP:
      add(INTEGER_RO(x), n);
      break;
    case REALSXP:
      add(REAL_RO(x), n);
      break;
    case CPLXSXP:
      add(reinterpret_cast<const double*>(COMPLEX_RO(x)), 2 * n);
      break;
    case RAWSXP:
      add(RAW_RO(x), n);
      break;
    case STRSXP:
      for (R_xlen_t i = 0; i < n; ++i) add_string(STRING_ELT(x, i));
      break;
    case VECSXP: {
      SEXP names = Rf_getAttrib(x, R_NamesSymbol);
      for (R_xlen_t i = 0; i < n; ++i) {
        if (names != R_NilValue && is_passing(STRING_ELT(names, i))) continue;
        add(VECTOR_ELT(x, i));
      }
      break;
    }
    default:
      return;
  }
  add(static_cast<std::uint64_t>(n));
  SEXP names = Rf_getAttrib(x, R_NamesSymbol);
  if (names != R_NilValue) add(names);
  add_attributes(x);
}

}  // namespace

// A digest of each element of a list.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> seal_cpp(const Rcpp::List& parts) {
  std::vector<std::string> out;
  for (R_xlen_t i = 0; i < parts.size(); ++i) {
    Digest digest;
    digest.add(static_cast<SEXP>(parts[i]));
    out.push_back(digest.words());
  }
  return out;
}
