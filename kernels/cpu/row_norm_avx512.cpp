// This file is compiled with -mavx512f,bw,dq,vl; it runs only where the processor has them.
#define NORMLENS_ISA avx512
#define NORMLENS_VECTOR_BYTES 64
#include "kernels/cpu/row_norm_loops.h"
