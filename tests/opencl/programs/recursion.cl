/* Functions that call themselves, and each other, to a depth that differs by work-item. */
int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

int female(int n);

int male(int n)
{
    return n == 0 ? 0 : n - female(male(n - 1));
}

int female(int n)
{
    return n == 0 ? 1 : n - male(female(n - 1));
}

__kernel void recursive(__global const int *a, __global int *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    out[i] = fib(a[i] & 7);
    if (a[i] & 1)
        out[i + n] = ackermann(2, a[i] & 3);
    else
        out[i + n] = male(a[i] & 15) * 100 + female(a[i] & 15);
}
