/* The Mandelbrot set as a picture: one work-item a pixel, the global size is the picture's size.
 *
 * x and y are the centre of the view, width is its width in the complex plane. Points that have
 * not escaped after limit steps are black.
 */
uchar4 colour(float t)
{
    const float u = 1.0f - t;
    const float3 rgb = (float3)(9.0f * u * t * t * t, 15.0f * u * u * t * t, 8.5f * u * u * u * t);
    return (uchar4)(convert_uchar3_sat(255.0f * rgb), 255);
}

__kernel void mandelbrot(__global uchar4 *out, float x, float y, float width, int limit)
{
    const int px = get_global_id(0), py = get_global_id(1);
    const int w = get_global_size(0), h = get_global_size(1);
    const float step = width / w;
    const float cx = x + step * (px - 0.5f * (w - 1)), cy = y - step * (py - 0.5f * (h - 1));
    float re = 0.0f, im = 0.0f, size = 0.0f;
    int n = 0;
    while (n < limit && size < 64.0f) {
        const float t = re * re - im * im + cx;
        im = 2.0f * re * im + cy;
        re = t;
        size = re * re + im * im;
        n++;
    }
    uchar4 pixel = (uchar4)(0, 0, 0, 255);
    if (size >= 64.0f) {
        /* The fraction of the last step makes the bands of equal counts melt into each other. */
        const float steps = n + 2.0f - native_log2(native_log2(size));
        pixel = colour(clamp(native_sqrt(fmax(steps, 0.0f) / limit), 0.0f, 1.0f));
    }
    out[py * w + px] = pixel;
}
