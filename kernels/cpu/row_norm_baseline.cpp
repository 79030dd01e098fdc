// The variant that runs on every processor.
#define NORMLENS_ISA baseline
#define NORMLENS_VECTOR_BYTES 16
#include "kernels/cpu/row_norm_loops.h"
