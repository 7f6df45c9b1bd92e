/* product: OpenCL C 1.2 */

__kernel __attribute__((reqd_work_group_size(4, 16, 1)))
void product_kernel(__global const float *restrict A,
    __global const float *restrict B,
    __global float *restrict C) {
  __local float A_shared[128];
  __local float B_shared[128];
  const long by = get_group_id(1);
  const long bx = get_group_id(0);
  const long ty = get_local_id(1);
  const long tx = get_local_id(0);
  float C_local[4];
  for (long k_0 = 0; k_0 < 4; ++k_0) {
    barrier(CLK_LOCAL_MEM_FENCE);
    A_shared[tx + ty * 4] = A[k_0 * 8 + by * 512 + tx + ty / 2 * 32 + ty % 2 * 4];
    A_shared[tx + ty * 4 + 64] = A[k_0 * 8 + by * 512 + tx + ty / 2 * 32 + ty % 2 * 4 + 256];
    B_shared[tx + ty * 4] = B[k_0 * 256 + bx * 16 + tx + ty / 4 * 32 + ty % 4 * 4];
    B_shared[tx + ty * 4 + 64] = B[k_0 * 256 + bx * 16 + tx + ty / 4 * 32 + ty % 4 * 4 + 128];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k_0 == 0) {
      vstore4((float4)(0.0f), 0, C_local);
    }
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8]) * vload4(0, B_shared + tx * 4), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 1]) * vload4(0, B_shared + tx * 4 + 16), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 2]) * vload4(0, B_shared + tx * 4 + 32), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 3]) * vload4(0, B_shared + tx * 4 + 48), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 4]) * vload4(0, B_shared + tx * 4 + 64), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 5]) * vload4(0, B_shared + tx * 4 + 80), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 6]) * vload4(0, B_shared + tx * 4 + 96), 0, C_local);
    vstore4(vload4(0, C_local) + (float4)(A_shared[ty * 8 + 7]) * vload4(0, B_shared + tx * 4 + 112), 0, C_local);
  }
  C[bx * 16 + by * 512 + tx * 4 + ty * 32] = C_local[0];
  C[bx * 16 + by * 512 + tx * 4 + ty * 32 + 1] = C_local[1];
  C[bx * 16 + by * 512 + tx * 4 + ty * 32 + 2] = C_local[2];
  C[bx * 16 + by * 512 + tx * 4 + ty * 32 + 3] = C_local[3];
}
