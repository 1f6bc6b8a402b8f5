// One translation unit, see Makevars. Each file also compiles by itself.
#include "bark/fields/fields.cpp"
#include "bark/fields/fields_latent.cpp"
#include "bark/fields/fields_chain.cpp"
#include "bark/fields/fields_magnitude.cpp"
#include "bark/glm/glm_fields.cpp"
