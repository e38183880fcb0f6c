// Batches gathered from a table of images. A thread copies four pixels of one channel of one record.

// The standard normal number of a pixel, as noise.rs computes it: in double precision, whose functions stay exact under fast math.
__device__ __forceinline__ float normal(u64 key, int pixel) {
    u64 z = key + (u64)(pixel + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    double radius = sqrt(-2.0 * log(((double)(u32)(z >> 32) + 0.5) / 4294967296.0));
    return (float)(radius * cospi(2.0 * (((double)(u32)z + 0.5) / 4294967296.0)));
}

// Makes a seen value a noisy reading times its weight, and its mask the weight.
__device__ __forceinline__ void spoil(u64 key, float level, float weight, int pixel, float& value, float& mask) {
    if (mask == 0.f) return;
    value = weight * (value + level * normal(key, pixel));
    mask = weight;
}

extern "C" __global__ void gather(const float* table, const u32* words, float* images, float* seen, float* complete,
                                  float* weights, int batch, int channels, int pixels) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 4;
    long long row = i / pixels;
    int pixel = (int)(i - row * pixels);
    if (row >= (long long)batch * channels) return;
    const u32* noise = words + batch + batch * channels;
    const u32* bits = noise + 4 * batch * channels;
    if (pixel == 0) weights[row] = __uint_as_float(words[batch + row]);
    long long record = words[row / channels];
    float4 v = *(const float4*)(table + (record * channels + row % channels) * pixels + pixel);
    u32 mask = bits[row * (pixels / 32) + pixel / 32] >> (pixel % 32);
    float4 m = make_float4(mask & 1, mask >> 1 & 1, mask >> 2 & 1, mask >> 3 & 1);
    float4 r = make_float4(m.x * v.x, m.y * v.y, m.z * v.z, m.w * v.w);
    float level = __uint_as_float(noise[4 * row + 2]);
    if (level > 0.f) {
        u64 key = (u64)noise[4 * row + 1] << 32 | noise[4 * row];
        float weight = __uint_as_float(noise[4 * row + 3]);
        const u32* exact = bits + (long long)batch * channels * (pixels / 32);
        u32 kept = exact[row / channels * (pixels / 32) + pixel / 32] >> (pixel % 32);
        if (!(kept & 1)) spoil(key, level, weight, pixel, r.x, m.x);
        if (!(kept >> 1 & 1)) spoil(key, level, weight, pixel + 1, r.y, m.y);
        if (!(kept >> 2 & 1)) spoil(key, level, weight, pixel + 2, r.z, m.z);
        if (!(kept >> 3 & 1)) spoil(key, level, weight, pixel + 3, r.w, m.w);
    }
    *(float4*)(images + i) = v;
    float* to = seen + 2 * row * pixels + pixel;
    *(float4*)to = r;
    *(float4*)(to + pixels) = m;
    to = complete + 2 * row * pixels + pixel;
    *(float4*)to = v;
    *(float4*)(to + pixels) = make_float4(1.f, 1.f, 1.f, 1.f);
}
