// One translation unit, see Makevars. Each file also compiles by itself.
#include "kbr/filter.cpp"
#include "kbr/gram.cpp"
#include "kbr/isotonic.cpp"
#include "kbr/operators.cpp"
#include "kbr/rotation.cpp"
#include "kbr/simplex.cpp"
