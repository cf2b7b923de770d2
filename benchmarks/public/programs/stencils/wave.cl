/* The wave equation in a plane: the next state from this one and the one before. */
kernel void wave(global const float *now, global const float *before, global float *next,
                 float speed, int n) {
    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) {
        next[i] = 0;
        return;
    }
    float bend = now[i - 1] + now[i + 1] + now[i - n] + now[i + n] - 4 * now[i];
    next[i] = 2 * now[i] - before[i] + speed * bend;
}
