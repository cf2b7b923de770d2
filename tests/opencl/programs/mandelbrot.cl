/* Escape times of the Mandelbrot set; every operation is rounded by itself, so the counts are
 * the same on every machine. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void mandelbrot(__global ushort *counts, int width, int height, int limit, float x0,
                         float y0, float step)
{
    const int px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height)
        return;
    const float cx = x0 + step * (float)px, cy = y0 + step * (float)py;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    for (; n < limit; n++) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f)
            break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    counts[py * width + px] = (ushort)n;
}
