/* Half a sweep of Gauss and Seidel: fields of one colour of the chess board. */
kernel void red_black(global float *u, global const float *f, int n, int colour) {
    int y = get_global_id(1) + 1, x = 2 * get_global_id(0) + 1 + ((y + colour) & 1), m = n + 2;
    int i = y * m + x;
    u[i] = 0.25f * (u[i - 1] + u[i + 1] + u[i - m] + u[i + m] - f[i]);
}
