/* What OpenCL C has beyond arithmetic: sub-groups, atomics, groups, generic pointers, stacks. */
#include "host.h"

enum { COUNT = 512, GROUP = 64 };

/* Each kernel fills out[] with what `wanted` says of a work-item. */
static const struct test {
    const char *name, *needs, *options, *source;
    long long (*wanted)(int item);
} TESTS[];

static long long sums(int i) { int g = i / GROUP * GROUP; return (long long)GROUP * g + GROUP * (GROUP - 1) / 2; }
static long long scans(int i) { int g = i / GROUP * GROUP, n = i - g + 1; return (long long)n * g + n * (n - 1) / 2; }
static long long maxima(int i) { return i / GROUP * GROUP + GROUP - 1; }
static long long tickets(int i) { (void)i; return 1; }
static long long forty_two(int i) { return 42 + i; }
static long long fibonacci(int i) { long long a = 0, b = 1; for (int k = 0; k < i % 20; k++) { long long c = a + b; a = b; b = c; } return a; }
static long long sorted(int i) { return i / GROUP * 1000 + i % GROUP; }
static long long halves(int i) { return i * 3 / 2; }
static long long doubles(int i) { return (long long)i * i * 1000003 / 7; }
static long long longs(int i) { return ((long long)i << 33) / (i % 13 + 1) % 1000007; }
static long long bits(int i) { return __builtin_popcount((unsigned)i * 2654435761u); }
static long long chars(int i) { return i % 4 == 0 ? 'w' : i % 4 == 1 ? 'o' : i % 4 == 2 ? 'r' : 'd'; }
static long long neighbours(int i) { return i ^ 1; }

static const struct test TESTS[] = {
    {"group sums", "__opencl_c_work_group_collective_functions", "-cl-std=CL2.0",
     "kernel void t(global long *out) { int i = get_global_id(0);\n"
     "  out[i] = work_group_reduce_add((long)i); }", sums},
    {"group scans", "__opencl_c_work_group_collective_functions", "-cl-std=CL2.0",
     "kernel void t(global long *out) { int i = get_global_id(0);\n"
     "  out[i] = work_group_scan_inclusive_add((long)i); }", scans},
    {"group broadcasts", "__opencl_c_work_group_collective_functions", "-cl-std=CL2.0",
     "kernel void t(global long *out) { int i = get_global_id(0);\n"
     "  out[i] = work_group_broadcast((long)i, get_local_size(0) - 1) + !work_group_any(i >= 0); }", maxima},
    {"sub-group scans", "cl_khr_subgroups", "-cl-std=CL2.0",
     "kernel void t(global long *out) { int i = get_global_id(0); local int totals[64];\n"
     "  int s = get_sub_group_id(), n = sub_group_scan_inclusive_add(i);\n"
     "  int all = sub_group_reduce_add(i); if (get_sub_group_local_id() == 0) totals[s] = all;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE); for (int k = 0; k < s; k++) n += totals[k]; out[i] = n; }", scans},
    {"sub-group shuffles", "cl_khr_subgroup_shuffle", "-cl-std=CL2.0",
     "kernel void t(global long *out) { int i = get_global_id(0);\n"
     "  out[i] = sub_group_shuffle_xor(i, 1u); }", neighbours},
    {"atomics in local memory", NULL, "-cl-std=CL2.0",
     "kernel void t(global long *out) { local atomic_int next; local int taken[64];\n"
     "  int l = get_local_id(0); taken[l] = 0; if (l == 0) atomic_init(&next, 0);\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  int mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed, memory_scope_work_group);\n"
     "  atomic_add(&taken[mine], 1); barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = taken[l]; }", tickets},
    {"compare and exchange", NULL, "-cl-std=CL2.0",
     "kernel void t(global long *out) { local uint total; if (get_local_id(0) == 0) total = 0;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE); uint old, v = get_global_id(0);\n"
     "  do { old = atomic_or(&total, 0u); } while (atomic_cmpxchg(&total, old, old + v) != old);\n"
     "  barrier(CLK_LOCAL_MEM_FENCE); out[v] = total; }", sums},
    {"long atomics", "cl_khr_int64_base_atomics",
     "-cl-std=CL2.0",
     "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
     "kernel void t(volatile global long *out) { int i = get_global_id(0); out[i] = 0;\n"
     "  for (int k = 0; k <= i; k++) atom_add(out + i, (long)(k == i ? 42 + i : 0)); }", forty_two},
    {"generic pointers", NULL, "-cl-std=CL2.0",
     "int get(int *p) { return *p; }\n"
     "kernel void t(global long *out) { local int a[64]; int b = 2, i = get_global_id(0);\n"
     "  a[get_local_id(0)] = i; global int *g = (global int *)(out + i); *g = 40;\n"
     "  int *all[3] = {a + get_local_id(0), &b, (int *)g}; int n = 0;\n"
     "  for (int k = 0; k < 3; k++) n += get(all[k]); out[i] = n; }", forty_two},
    {"recursion without inlining", NULL, "",
     "__attribute__((noinline)) long fib(int n, long a, long b) {\n"
     "  for (int k = 0; k < n; k++) { long c = a + b; a = b; b = c; } return a; }\n"
     "kernel void t(global long *out) { int i = get_global_id(0); out[i] = fib(i % 20, 0, 1); }", fibonacci},
    {"private arrays", NULL, "",
     "kernel void t(global long *out) { int a[64]; int i = get_global_id(0), g = i / 64;\n"
     "  for (int k = 0; k < 64; k++) a[(k * 37 + i) % 64] = (k * 37 + i) % 64 + g * 1000;\n"
     "  for (int x = 1; x < 64; x++) { int v = a[x], y = x; while (y > 0 && a[y - 1] > v) { a[y] = a[y - 1]; y--; } a[y] = v; }\n"
     "  out[i] = a[i % 64]; }", sorted},
    {"halves", "cl_khr_fp16", "",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
     "kernel void t(global long *out) { int i = get_global_id(0); half h = (half)(i) * (half)1.5f;\n"
     "  out[i] = (long)h; }", halves},
    {"doubles", "cl_khr_fp64", "",
     "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
     "kernel void t(global long *out) { int i = get_global_id(0); double d = (double)i * i * 1000003.0;\n"
     "  out[i] = (long)floor(d / 7.0 + 1e-9); }", doubles},
    {"division of longs", NULL, "",
     "kernel void t(global long *out) { long i = get_global_id(0);\n"
     "  out[i] = (i << 33) / (i % 13 + 1) % 1000007; }", longs},
    {"population counts", NULL, "",
     "kernel void t(global long *out) { uint i = get_global_id(0); out[i] = popcount(i * 2654435761u); }", bits},
    {"tables of constants", NULL, "",
     "constant char word[] = \"word\"; constant char *constant place = word;\n"
     "kernel void t(global long *out) { int i = get_global_id(0); out[i] = place[i % 4]; }", chars},
};

int main(void) {
    open_device();
    for (size_t n = 0; n < sizeof TESTS / sizeof *TESTS; n++) {
        const struct test *test = &TESTS[n];
        if (test->needs && strncmp(test->needs, "cl_", 3) == 0 && !has_extension(test->needs)) continue;
        if (test->needs && strncmp(test->needs, "__", 2) == 0) {
            cl_bool able = 0;
            DO(clGetDeviceInfo(device, CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, sizeof able, &able, NULL));
            if (!able) continue;
        }
        cl_program program = build(test->source, test->options);
        cl_kernel kernel = kernel_of(program, "t");
        cl_mem out = buffer_of(COUNT * 8, NULL);
        ARGUMENT(kernel, 0, out);
        run(kernel, COUNT, GROUP);
        cl_long found[COUNT];
        read_back(out, found, sizeof found);
        for (int i = 0; i < COUNT; i++)
            if (found[i] != test->wanted(i)) {
                is(test->name, found[i], test->wanted(i));
                break;
            }
        clReleaseMemObject(out);
        clReleaseKernel(kernel);
        clReleaseProgram(program);
    }
    return ended();
}
