// Batches gathered from a table of images. A thread copies four pixels of one channel of one record.

extern "C" __global__ void gather(const float* table, const u32* words, float* images, float* seen, float* complete,
                                  float* weights, int batch, int channels, int pixels) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 4;
    long long row = i / pixels;
    int pixel = (int)(i - row * pixels);
    if (row >= (long long)batch * channels) return;
    const u32* bits = words + batch + batch * channels;
    if (pixel == 0) weights[row] = __uint_as_float(words[batch + row]);
    long long record = words[row / channels];
    float4 v = *(const float4*)(table + (record * channels + row % channels) * pixels + pixel);
    u32 mask = bits[row * (pixels / 32) + pixel / 32] >> (pixel % 32);
    float4 m = make_float4(mask & 1, mask >> 1 & 1, mask >> 2 & 1, mask >> 3 & 1);
    *(float4*)(images + i) = v;
    float* to = seen + 2 * row * pixels + pixel;
    *(float4*)to = make_float4(m.x * v.x, m.y * v.y, m.z * v.z, m.w * v.w);
    *(float4*)(to + pixels) = m;
    to = complete + 2 * row * pixels + pixel;
    *(float4*)to = v;
    *(float4*)(to + pixels) = make_float4(1.f, 1.f, 1.f, 1.f);
}
