// Products of any sizes, for those the library wants aligned and that are too small to matter.
//
// out[i, j] = (accumulate ? out[i, j] : 0) + bias[j] + sum over l of a[i ai + l al] b[j bj + l bl]

template <typename T, typename Out>
__device__ __forceinline__ void product_in(const T* a, const T* b, const float* bias, Out* out, int m, int n, int k,
                                           long long ai, long long al, long long bj, long long bl, int accumulate) {
    __shared__ float left[16][17], right[16][17];
    int x = threadIdx.x & 15, y = threadIdx.x >> 4;
    int i = blockIdx.x * 16 + y, j = blockIdx.y * 16 + x, jy = blockIdx.y * 16 + y;
    float sum = 0.f;
    for (int l = 0; l < k; l += 16) {
        left[y][x] = i < m && l + x < k ? load(a + i * ai + (l + x) * al) : 0.f;
        right[y][x] = jy < n && l + x < k ? load(b + jy * bj + (l + x) * bl) : 0.f;
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 16; s++) sum = fmaf(left[y][s], right[x][s], sum);
        __syncthreads();
    }
    if (i >= m || j >= n) return;
    Out* to = out + (long long)i * n + j;
    if (bias) sum += bias[j];
    if (accumulate) sum += load(to);
    store(to, sum);
}
#define PRODUCT(name, T, Out)                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) name(const T* a, const T* b, const float* bias, Out* out, int m, \
                                                           int n, int k, long long ai, long long al, long long bj,     \
                                                           long long bl, int accumulate) {                             \
        product_in<T, Out>(a, b, bias, out, m, n, k, ai, al, bj, bl, accumulate);                                      \
    }
PRODUCT(product_bf16_bf16, bf16, bf16)
PRODUCT(product_bf16_f32, bf16, float)
PRODUCT(product_f32_f32, float, float)
