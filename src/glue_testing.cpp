// Internal entries through which tests reach parts of the core that have no
// R function of their own.
#include <RcppEigen.h>
