/* printf in kernels: what comes to standard output is what C's printf makes of the same. */
#include <unistd.h>

#include "host.h"

static const char SOURCE[] =
    "kernel void say(global int *x) {\n"
    "    printf(\"%d %i %u %x %X %o %c|\\n\", -5, 7, 4000000000u, 0xbeefu, 0xBEEFu, 8, 'z');\n"
    "    printf(\"%5d|%-5d|%05d|%+d|% d|\\n\", 42, 42, 42, 42, 42);\n"
    "    printf(\"%f %.3f %e %g %10.2f|%-10.1f|\\n\", 1.5f, 3.14159f, 12345.678f, 0.0001f, 2.5f, 9.9f);\n"
    "    printf(\"%s %s%%\\n\", \"some\", \"words\");\n"
    "    printf(\"%ld %lu %lx\\n\", -(1L << 40), 1UL << 63, 255UL);\n"
    "    printf(\"%v4d %v2hhx %v3hd %#v2x\\n\", (int4)(1, -2, 3, -4), (char2)(1, -1), (short3)(7, 8, 9), (int2)(10, 11));\n"
    "    printf(\"%v4hlf %v2hlg\\n\", (float4)(1, 2.5f, -3, 4), (float2)(0.5f, 100000000.0f));\n"
    "    printf(\"\\n%%no arguments\\ttab\\\\\\n\");\n"
    "    printf(\"%f %f %F\\n\", INFINITY, -INFINITY, INFINITY);\n"
    "    *x = printf(\"end\\n\");\n"
    "}\n"
    "kernel void many(void) {\n"
    "    printf(\"%d of %d\\n\", (int)get_global_id(0), (int)get_global_size(0));\n"
    "}\n";

static const char WANTED[] =
    "-5 7 4000000000 beef BEEF 10 z|\n"
    "   42|42   |00042|+42| 42|\n"
    "1.500000 3.142 1.234568e+04 0.0001       2.50|9.9       |\n"
    "some words%\n"
    "-1099511627776 9223372036854775808 ff\n"
    "1,-2,3,-4 1,ff 7,8,9 0xa,0xb\n"
    "1.000000,2.500000,-3.000000,4.000000 0.5,1e+08\n"
    "\n%no arguments\ttab\\\n"
    "inf -inf INF\n"
    "end\n";

int main(void) {
    open_device();
    cl_program program = build(SOURCE, "");
    cl_kernel say = kernel_of(program, "say"), many = kernel_of(program, "many");
    cl_mem x = buffer_of(4, NULL);
    ARGUMENT(say, 0, x);
    static char found[1 << 20];
    FILE *file = tmpfile();
    fflush(stdout);
    const int own = dup(1);
    dup2(fileno(file), 1);
    run(say, 1, 0);
    DO(clFinish(queue));
    fflush(stdout);
    const long first = lseek(fileno(file), 0, SEEK_END);
    run(many, 1000, 0);
    DO(clFinish(queue));
    fflush(stdout);
    dup2(own, 1);
    rewind(file);
    const size_t size = fread(found, 1, sizeof found - 1, file);
    cl_int zero = 5;
    read_back(x, &zero, 4);
    is("result", zero, 0);
    is("length", first, (long long)strlen(WANTED));
    same_bytes("text", found, WANTED, strlen(WANTED));
    char seen[1000] = {0};
    int lines = 0, item, all, length;
    for (char *at = found + first; at < found + size && sscanf(at, "%d of %d\n%n", &item, &all, &length) == 2;
         at += length, lines++)
        if (all == 1000 && item >= 0 && item < 1000) seen[item]++;
    is("lines", lines, 1000);
    for (int i = 0; i < 1000; i++) is("once", seen[i], 1);
    return ended();
}
