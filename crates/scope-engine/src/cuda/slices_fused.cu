// Slices of pixels on tensor cores, in bf16, with weights made again from g wherever they are wanted: they never lie in
// memory. HEADS heads, S slices and D numbers a head are known when this is compiled; a warp has a head.
//
//     l[s, n] = W[s] . g[n] + b[s],  w[s, n] = softmax over s of l / t
//
// In shared memory the row of a head and pixel has COLS numbers: D, two ones, zeros. Matrices that multiply rows have as
// many columns: behind W stand the upper and the lower part of b, so that one product gives l.

constexpr int P = 64, COLS = (D + 9) / 8 * 8, PARTS = D / 4, MT = S / 16, NT = COLS / 8;
constexpr int K16 = COLS / 16, K8 = COLS % 16 / 8, THREADS = 32 * HEADS;
constexpr int TILE = HEADS * P * COLS * 2, MATRIX = S * COLS * 2;  // bytes

__device__ __forceinline__ u32 word_at(u32 at) {
    u32 r;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(at));
    return r;
}
__device__ __forceinline__ void put_word(u32 at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x)); }
__device__ __forceinline__ void put_half(u32 at, u16 x) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(x)); }
__device__ __forceinline__ u16 half_at(u32 at) {
    u16 r;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(r) : "r"(at));
    return r;
}
// Eight bytes to shared memory, or zeros.
__device__ __forceinline__ void copy_8(u32 to, const void* from, bool inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(inside ? 8 : 0) : "memory");
}
// c += a b, with a 16 x 8 (rows) and b 8 x 8 (columns).
__device__ __forceinline__ void multiply_8(float* c, const u32* a, u32 b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}
// An 8 x 8 matrix of bf16 across a warp, transposed.
__device__ __forceinline__ u32 turned(u32 x) {
    u32 r;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}
__device__ __forceinline__ void two_transposed(u32 at, u32& r0, u32& r1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(at));
}

// Asks for `count` pixels from `first` on, of all heads; what is beyond them is zero.
__device__ __forceinline__ void load_tile(const bf16* x, u32 to, long long first, int count) {
    for (int k = threadIdx.x; k < P * HEADS * PARTS; k += THREADS) {
        int pixel = k / (HEADS * PARTS), head = k / PARTS % HEADS, part = k % PARTS;
        bool inside = pixel < count;
        copy_8(to + ((head * P + pixel) * COLS + part * 4) * 2,
               x + (first + (inside ? pixel : 0)) * (HEADS * D) + head * D + part * 4, inside);
    }
    for (int k = threadIdx.x; k < P * HEADS; k += THREADS) {
        u32 at = to + (k * COLS + D) * 2;
        put_word(at, k % P < count ? 0x3f803f80u : 0u);
#pragma unroll
        for (int c = 2; c < COLS - D; c += 2) put_word(at + c * 2, 0u);
    }
}
// Writes such a tile back.
__device__ __forceinline__ void store_tile(bf16* x, u32 from, long long first, int count) {
    for (int k = threadIdx.x; k < count * HEADS * PARTS; k += THREADS) {
        int pixel = k / (HEADS * PARTS), head = k / PARTS % HEADS, part = k % PARTS;
        u32 at = from + ((head * P + pixel) * COLS + part * 4) * 2;
        *(uint2*)(x + (first + pixel) * (HEADS * D) + head * D + part * 4) = make_uint2(word_at(at), word_at(at + 4));
    }
}

// A matrix [S, COLS] of a warp in shared memory: `row` gives its first D columns, `beside` what two ones multiply.
template <typename Row, typename Beside>
__device__ __forceinline__ void set_matrix(u32 at, Row row, Beside beside) {
    for (int k = threadIdx.x % 32; k < S * COLS; k += 32) {
        int s = k / COLS, c = k % COLS;
        float v = 0.f;
        if (c < D) v = row(s, c);
        if (c == D) v = beside(s);
        if (c == D + 1) {
            float whole = beside(s);
            v = whole - low_half(pack(whole, 0.f) & 0xffffu);
        }
        put_half(at + k * 2, (u16)(pack(v, 0.f) & 0xffffu));
    }
    __syncwarp();
}

// Rows of a matrix as left factors of products over its columns.
struct Left {
    u32 a16[MT][K16 ? K16 : 1][4], a8[MT][2];
    __device__ __forceinline__ void load(u32 at) {
        int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < MT; i++) {
            u32 row = at + ((16 * i + g) * COLS + 2 * t) * 2, below = row + 8 * COLS * 2;
#pragma unroll
            for (int k = 0; k < K16; k++) {
                a16[i][k][0] = word_at(row + 32 * k);
                a16[i][k][1] = word_at(below + 32 * k);
                a16[i][k][2] = word_at(row + 32 * k + 16);
                a16[i][k][3] = word_at(below + 32 * k + 16);
            }
            if (K8) a8[i][0] = word_at(row + 32 * K16), a8[i][1] = word_at(below + 32 * K16);
        }
    }
    // c[i] += rows 16 i .. of the matrix times eight rows of a tile.
    __device__ __forceinline__ void times(u32 rows, float (*c)[4]) const {
        u32 at = rows + (threadIdx.x % 32 / 4 * COLS + 2 * (threadIdx.x % 4)) * 2;
#pragma unroll
        for (int k = 0; k < K16; k++) {
            u32 b0 = word_at(at + 32 * k), b1 = word_at(at + 32 * k + 16);
#pragma unroll
            for (int i = 0; i < MT; i++) multiply(c[i], a16[i][k], b0, b1);
        }
        if (K8) {
            u32 b = word_at(at + 32 * K16);
#pragma unroll
            for (int i = 0; i < MT; i++) multiply_8(c[i], a8[i], b);
        }
    }
};
// The matrix as right factor of products over its rows.
struct Right {
    u32 b[MT][NT][2];
    __device__ __forceinline__ void load(u32 at) {
        int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < MT; i++)
#pragma unroll
            for (int c = 0; c < NT; c++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    u32 from = at + ((16 * i + 8 * r + 2 * t) * COLS + 8 * c + g) * 2;
                    b[i][c][r] = half_at(from) | (u32)half_at(from + COLS * 2) << 16;
                }
    }
};

__device__ __forceinline__ float over_rows(float x) {  // the sum over the eight rows of a fragment
    x += from_lane(x, 4);
    x += from_lane(x, 8);
    return x + from_lane(x, 16);
}
__device__ __forceinline__ float most_of_rows(float x) {
    x = fmaxf(x, from_lane(x, 4));
    x = fmaxf(x, from_lane(x, 8));
    return fmaxf(x, from_lane(x, 16));
}

// w [S, 8 pixels] from rows of g; a lane has rows 16 i + g and + 8, pixels 2 t and 2 t + 1.
__device__ __forceinline__ void soft_weights(const Left& weight, u32 rows, float scale, float (*w)[4]) {
#pragma unroll
    for (int i = 0; i < MT; i++) w[i][0] = w[i][1] = w[i][2] = w[i][3] = 0.f;
    weight.times(rows, w);
#pragma unroll
    for (int p = 0; p < 2; p++) {
        float most = w[0][p], sum = 0.f;
#pragma unroll
        for (int i = 0; i < MT; i++) most = fmaxf(most, fmaxf(w[i][p], w[i][p + 2]));
        most = most_of_rows(most) * scale;
#pragma unroll
        for (int i = 0; i < MT; i++)
#pragma unroll
            for (int r = 0; r < 4; r += 2) {
                w[i][p + r] = exp2_fast(fmaf(w[i][p + r], scale, -most));
                sum += w[i][p + r];
            }
        float share = 1.f / over_rows(sum);
#pragma unroll
        for (int i = 0; i < MT; i++) w[i][p] *= share, w[i][p + 2] *= share;
    }
}

// [S, 16 pixels] of two halves as left factor of a product over pixels.
__device__ __forceinline__ void pack_left(float (*first)[4], float (*second)[4], u32 (*a)[4]) {
#pragma unroll
    for (int i = 0; i < MT; i++) {
        a[i][0] = pack(first[i][0], first[i][1]), a[i][1] = pack(first[i][2], first[i][3]);
        a[i][2] = pack(second[i][0], second[i][1]), a[i][3] = pack(second[i][2], second[i][3]);
    }
}
// sums [S, COLS] += a [S, 16 pixels] times sixteen rows of a tile.
__device__ __forceinline__ void add_rows(const u32 (*a)[4], u32 rows, float (*sums)[NT][4]) {
    u32 at = rows + (threadIdx.x % 16) * COLS * 2;
#pragma unroll
    for (int c = 0; c < NT; c++) {
        u32 b0, b1;
        two_transposed(at + 16 * c, b0, b1);
#pragma unroll
        for (int i = 0; i < MT; i++) multiply(sums[i][c], a[i], b0, b1);
    }
}
// Sixteen rows of a tile = a^T [16 pixels, S] times a matrix [S, COLS]; only the first D columns are written.
__device__ __forceinline__ void spread_rows(const u32 (*a)[4], const Right& right, u32 rows) {
    float out[NT][4] = {};
#pragma unroll
    for (int i = 0; i < MT; i++) {
        // Blocks [slices, pixels]: (upper, first), (lower, first), (upper, second), (lower, second).
        const u32 back[4] = {turned(a[i][0]), turned(a[i][2]), turned(a[i][1]), turned(a[i][3])};
#pragma unroll
        for (int c = 0; c < NT; c++) multiply(out[c], back, right.b[i][c][0], right.b[i][c][1]);
    }
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int c = 0; c < NT; c++)
        if (8 * c + 2 * t < D) {
            put_word(rows + (g * COLS + 8 * c + 2 * t) * 2, pack(out[c][0], out[c][1]));
            put_word(rows + ((g + 8) * COLS + 8 * c + 2 * t) * 2, pack(out[c][2], out[c][3]));
        }
}

__device__ __forceinline__ float bounded(float t) { return fminf(fmaxf(t, 0.1f), 5.f); }

// What every kernel begins with: the matrix of logits of its head.
__device__ __forceinline__ void set_logits(u32 at, const float* weight, const float* bias) {
    set_matrix(at, [&](int s, int d) { return weight[s * D + d]; }, [&](int s) { return bias[s]; });
}

// The sum over a piece of the pixels of w f, and of w: partial [batch, HEADS, pieces, S, D + 1]. A block a sample and a piece.
extern "C" __global__ void __launch_bounds__(THREADS)
    pool(const bf16* g, const bf16* f, const float* weight, const float* bias, const float* temperature, float* partial,
         int pixels, int pieces) {
    u32 start = shared_start(), matrix = start + 4 * TILE + threadIdx.x / 32 * MATRIX;
    int head = threadIdx.x / 32, tiles = (pixels + P - 1) / P;
    long long origin = blockIdx.x * (long long)pixels;
    auto load_both = [&](int tile) {
        if (tile < tiles) {
            u32 to = start + tile / pieces % 2 * 2 * TILE;
            load_tile(g, to, origin + tile * P, min(pixels - tile * P, P));
            load_tile(f, to + TILE, origin + tile * P, min(pixels - tile * P, P));
        }
        commit_copies();
    };
    load_both(blockIdx.y);
    set_logits(matrix, weight, bias);
    Left left;
    left.load(matrix);
    float scale = 1.44269504f / bounded(temperature[head]), sums[MT][NT][4] = {};
    for (int tile = blockIdx.y; tile < tiles; tile += pieces) {
        load_both(tile + pieces);
        await_copies<1>();
        __syncthreads();
        u32 rows = start + tile / pieces % 2 * 2 * TILE + head * P * COLS * 2;
#pragma unroll 1
        for (int n = 0; n < P; n += 16) {
            float w[2][MT][4];
            u32 a[MT][4];
#pragma unroll
            for (int j = 0; j < 2; j++) soft_weights(left, rows + (n + 8 * j) * COLS * 2, scale, w[j]);
            pack_left(w[0], w[1], a);
            add_rows(a, rows + TILE + n * COLS * 2, sums);
        }
        __syncthreads();
    }
    float* out = partial + ((blockIdx.x * (long long)HEADS + head) * pieces + blockIdx.y) * S * (D + 1);
    int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int c = 0; c < NT; c++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int s = 16 * i + row + (e / 2) * 8, d = 8 * c + column + e % 2;
                if (d <= D) out[s * (D + 1) + d] = sums[i][c][e];
            }
}

// o[n] = sum over slices of w[s, n] z[s], tokens z being [batch, HEADS, S, D].
extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const bf16* g, const float* z, const float* weight, const float* bias, const float* temperature, bf16* out,
           int pixels, int pieces) {
    u32 start = shared_start(), matrix = start + 2 * TILE + threadIdx.x / 32 * MATRIX;
    int head = threadIdx.x / 32, tiles = (pixels + P - 1) / P;
    long long origin = blockIdx.x * (long long)pixels;
    auto load_one = [&](int tile) {
        if (tile < tiles)
            load_tile(g, start + tile / pieces % 2 * TILE, origin + tile * P, min(pixels - tile * P, P));
        commit_copies();
    };
    load_one(blockIdx.y);
    set_logits(matrix, weight, bias);
    Left left;
    left.load(matrix);
    __syncwarp();
    const float* tokens = z + (blockIdx.x * (long long)HEADS + head) * S * D;
    set_matrix(matrix, [&](int s, int d) { return tokens[s * D + d]; }, [&](int) { return 0.f; });
    Right right;
    right.load(matrix);
    float scale = 1.44269504f / bounded(temperature[head]);
    for (int tile = blockIdx.y; tile < tiles; tile += pieces) {
        load_one(tile + pieces);
        await_copies<1>();
        __syncthreads();
        u32 here = start + tile / pieces % 2 * TILE, rows = here + head * P * COLS * 2;
#pragma unroll 1
        for (int n = 0; n < P; n += 16) {
            float w[2][MT][4];
            u32 a[MT][4];
#pragma unroll
            for (int j = 0; j < 2; j++) soft_weights(left, rows + (n + 8 * j) * COLS * 2, scale, w[j]);
            pack_left(w[0], w[1], a);
            __syncwarp();
            spread_rows(a, right, rows + n * COLS * 2);
        }
        __syncthreads();
        store_tile(out, here, origin + tile * P, min(pixels - tile * P, P));
        __syncthreads();
    }
}

// With e[s] = dz[s] / (sum of w + epsilon), dw = do . z' + f . e - pooled . e and dl = w (dw - sum over s of w dw) / t:
// df = sum over s of w e, dg = sum over s of dl W; partial [batch pieces, HEADS, S, COLS] gets the sums over pixels of dl g
// and, in column D, of dl.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    slices_back(const bf16* g, const bf16* f, const bf16* dy, const float* z, const float* dz, const float* pooled,
                const float* totals, const float* weight, const float* bias, const float* temperature, bf16* dg, bf16* df,
                float* partial, int pixels, int pieces, float epsilon) {
    u32 start = shared_start(), matrix = start + 6 * TILE + threadIdx.x / 32 * MATRIX;
    int head = threadIdx.x / 32, tiles = (pixels + P - 1) / P;
    long long origin = blockIdx.x * (long long)pixels, place = blockIdx.x * (long long)HEADS + head;
    auto load_all = [&](int tile) {
        if (tile < tiles) {
            u32 to = start + tile / pieces % 2 * 3 * TILE;
            int count = min(pixels - tile * P, P);
            load_tile(g, to, origin + tile * P, count);
            load_tile(f, to + TILE, origin + tile * P, count);
            load_tile(dy, to + 2 * TILE, origin + tile * P, count);
        }
        commit_copies();
    };
    load_all(blockIdx.y);
    Left logits, tokens, errors;
    Right weights_right, errors_right;
    set_logits(matrix, weight, bias);
    logits.load(matrix);
    weights_right.load(matrix);
    __syncwarp();
    set_matrix(matrix, [&](int s, int d) { return z[(place * S + s) * D + d]; }, [&](int) { return 0.f; });
    tokens.load(matrix);
    __syncwarp();
    // Rounded as the products will have it, so that f - pooled is a difference with one and the same e.
    auto error = [&](int s, int d) {
        return low_half(pack(dz[(place * S + s) * D + d] / (totals[place * S + s] + epsilon), 0.f) & 0xffffu);
    };
    auto along = [&](int s) {
        float sum = 0.f;
        for (int d = 0; d < D; d++) sum = fmaf(error(s, d), pooled[(place * S + s) * D + d], sum);
        return -sum;
    };
    set_matrix(matrix, error, along);
    errors.load(matrix);
    errors_right.load(matrix);
    float t = bounded(temperature[head]), scale = 1.44269504f / t, sums[MT][NT][4] = {};
    for (int tile = blockIdx.y; tile < tiles; tile += pieces) {
        load_all(tile + pieces);
        await_copies<1>();
        __syncthreads();
        u32 here = start + tile / pieces % 2 * 3 * TILE, rows = here + head * P * COLS * 2;
#pragma unroll 1
        for (int n = 0; n < P; n += 16) {
            float w[2][MT][4], dl[2][MT][4] = {};
            u32 a[MT][4];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                u32 eight = rows + (n + 8 * j) * COLS * 2;
                soft_weights(logits, eight, scale, w[j]);
                errors.times(eight + TILE, dl[j]);
                tokens.times(eight + 2 * TILE, dl[j]);
#pragma unroll
                for (int p = 0; p < 2; p++) {
                    float mean = 0.f;
#pragma unroll
                    for (int i = 0; i < MT; i++)
                        mean = fmaf(w[j][i][p], dl[j][i][p], fmaf(w[j][i][p + 2], dl[j][i][p + 2], mean));
                    mean = over_rows(mean);
#pragma unroll
                    for (int i = 0; i < MT; i++)
#pragma unroll
                        for (int r = 0; r < 4; r += 2) dl[j][i][p + r] = w[j][i][p + r] * (dl[j][i][p + r] - mean) / t;
                }
            }
            __syncwarp();
            pack_left(w[0], w[1], a);
            spread_rows(a, errors_right, rows + TILE + n * COLS * 2);
            pack_left(dl[0], dl[1], a);
            add_rows(a, rows + n * COLS * 2, sums);
            __syncwarp();
            spread_rows(a, weights_right, rows + n * COLS * 2);
        }
        __syncthreads();
        store_tile(dg, here, origin + tile * P, min(pixels - tile * P, P));
        store_tile(df, here + TILE, origin + tile * P, min(pixels - tile * P, P));
        __syncthreads();
    }
    float* out = partial + ((blockIdx.x * (long long)pieces + blockIdx.y) * HEADS + head) * S * COLS;
    int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int c = 0; c < NT; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                out[(16 * i + row + (e / 2) * 8) * COLS + 8 * c + column + e % 2] = sums[i][c][e];
}

// Gradients of the layer that all heads share, and of the temperatures, from the sums [HEADS, S, COLS] of dl g and dl:
// dt = - (sum of dl l) / t, and the sum of dl l is that of W and b times their gradients in the head.
extern "C" __global__ void __launch_bounds__(256)
    slices_finish(const float* sums, const float* weight, const float* bias, const float* temperature, float* dweight,
                  float* dbias, float* dtemperature, int accumulate_weight, int accumulate_bias,
                  int accumulate_temperature) {
    for (int k = threadIdx.x; k < S * (D + 1); k += 256) {
        int s = k / (D + 1), d = k % (D + 1);
        float sum = 0.f;
        for (int h = 0; h < HEADS; h++) sum += sums[(h * S + s) * COLS + d];
        if (d < D)
            dweight[s * D + d] = sum + (accumulate_weight ? dweight[s * D + d] : 0.f);
        else
            dbias[s] = sum + (accumulate_bias ? dbias[s] : 0.f);
    }
    for (int h = 0; h < HEADS; h++) {
        double sum = 0.;
        for (int k = threadIdx.x; k < S * (D + 1); k += 256) {
            int s = k / (D + 1), d = k % (D + 1);
            sum += (double)sums[(h * S + s) * COLS + d] * (d < D ? weight[s * D + d] : bias[s]);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) {
            float t = temperature[h], value = t >= 0.1f && t <= 5.f ? (float)(-sum / t) : 0.f;
            dtemperature[h] = value + (accumulate_temperature ? dtemperature[h] : 0.f);
        }
    }
}
