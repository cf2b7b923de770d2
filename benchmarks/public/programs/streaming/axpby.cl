/* Double precision: a sum of two arrays with factors, in place. */
kernel void axpby(double alpha, global const double *x, double beta, global double *y) {
    size_t i = get_global_id(0);
    y[i] = alpha * x[i] + beta * y[i];
}
