/* Kepler's equation by Newton's method, until a step is small. */
kernel void newton(global const float *mean, global const float *eccentricity,
                   global float *anomaly, global int *steps) {
    int i = get_global_id(0), count = 0;
    float m = mean[i], e = eccentricity[i], at = m, change;
    do {
        change = (at - e * sin(at) - m) / (1 - e * cos(at));
        at -= change;
        ++count;
    } while (fabs(change) > 1e-4f && count < 20);
    anomaly[i] = at;
    steps[i] = count;
}
