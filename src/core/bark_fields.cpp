// One translation unit, see Makevars. Each file also compiles by itself.
#include "bark/fields.cpp"
#include "bark/fields_latent.cpp"
#include "bark/fields_level.cpp"
#include "bark/fields_magnitude.cpp"
#include "bark/fields_shift.cpp"
#include "bark/glm_fields.cpp"
