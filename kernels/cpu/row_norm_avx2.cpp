// This file is compiled with -mavx2 -mfma -mf16c; it runs only where the processor has them.
#define NORMLENS_ISA avx2
#define NORMLENS_VECTOR_BYTES 32
#include "kernels/cpu/row_norm_loops.h"
