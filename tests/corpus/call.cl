__attribute__((noinline)) int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

__kernel void first(__global int *x) { x[0] = factorial(x[1]); }
__kernel void second(__global int *x) { x[0] = factorial(x[2]) + 1; }
