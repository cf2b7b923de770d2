/* Data of the program: tables in constant memory, strings, and pointers between tables. */
__constant ushort primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__constant float weights[3][4] = {{0.5f, 1.5f, -2.0f, 4.0f}, {1.0f}, {-1.0f, 0.25f, 3.0f, 8.0f}};
__constant char hex[] = "0123456789abcdef";
__constant int squares[4] = {0, 1, 4, 9};
__constant int cubes[4] = {0, 1, 8, 27};
__constant int *__constant powers[2] = {squares, cubes};
__constant int *__constant tail = &cubes[2];

typedef struct {
    __constant char *name;
    int length;
} entry;
__constant char red[] = "red";
__constant char green[] = "green";
__constant entry names[2] = {{red, 3}, {green, 5}};

__kernel void constants(__global const int *a, __global int *out, __global float *fout,
                        __global char *text)
{
    const int i = get_global_id(0);
    const int x = a[i];
    out[2 * i] = primes[x & 15] * 1000 + powers[x & 1][(x >> 1) & 3];
    out[2 * i + 1] = tail[(x >> 3) & 1] - names[x & 1].length;
    fout[i] = weights[(x & 0xff) % 3][(x >> 2) & 3];
    text[3 * i] = hex[(x >> 4) & 15];
    text[3 * i + 1] = hex[x & 15];
    text[3 * i + 2] = names[(x >> 1) & 1].name[(x >> 2) % 3 & 3];
}
