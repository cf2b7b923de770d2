// Buffers with OpenCL's C++ header: parts, maps, rectangles, fills, and memory of the host.
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

static int wrong_checks;

template <typename T>
static void same(const char *name, const std::vector<T> &found, const std::vector<T> &wanted) {
    for (size_t i = 0; i < wanted.size(); i++)
        if (i >= found.size() || found[i] != wanted[i]) {
            std::printf("%s: element %zu is wrong\n", name, i);
            wrong_checks++;
            return;
        }
}

template <typename T>
static std::vector<T> contents(cl::CommandQueue &queue, const cl::Buffer &buffer, size_t count) {
    std::vector<T> found(count);
    queue.enqueueReadBuffer(buffer, CL_TRUE, 0, count * sizeof(T), found.data());
    return found;
}

static const char SOURCE[] =
    "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }\n"
    "kernel void join(global const int *x, global const int *y, global int *z) {\n"
    "    int i = get_global_id(0);\n    z[i] = 1000 * x[i] + y[i];\n}\n";

static void parts(cl::Context &context, cl::CommandQueue &queue, cl::Program &program, size_t align) {
    const size_t step = std::max<size_t>(align, 256), count = 4 * step / sizeof(int);
    std::vector<int> host(count);
    std::iota(host.begin(), host.end(), 0);
    cl::Buffer whole(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * 4, host.data());
    cl::KernelFunctor<cl::Buffer, int> add(program, "add");
    for (size_t part = 1; part < 4; part += 2) {
        cl_buffer_region region = {part * step, step / 2};
        cl::Buffer sub = whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
        add(cl::EnqueueArgs(queue, cl::NDRange(step / 8)), sub, static_cast<int>(1000 * part));
        for (size_t i = 0; i < step / 8; i++) host[part * step / 4 + i] += static_cast<int>(1000 * part);
    }
    same("parts", contents<int>(queue, whole, count), host);
}

static void maps(cl::Context &context, cl::CommandQueue &queue, cl::Program &program) {
    for (cl_mem_flags more : {cl_mem_flags{0}, cl_mem_flags{CL_MEM_ALLOC_HOST_PTR}}) {
        cl::Buffer buffer(context, CL_MEM_READ_WRITE | more, 4096);
        auto *place = static_cast<int *>(
            queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 4096));
        std::iota(place, place + 1024, 5);
        queue.enqueueUnmapMemObject(buffer, place);
        cl::KernelFunctor<cl::Buffer, int>(program, "add")(
            cl::EnqueueArgs(queue, cl::NDRange(1024), cl::NDRange(32)), buffer, 7);
        auto *half = static_cast<int *>(queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ, 2048, 2048));
        auto *other = static_cast<int *>(
            queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 1024));
        other[3] = -1;
        std::vector<int> found(half, half + 512), wanted(512);
        std::iota(wanted.begin(), wanted.end(), 512 + 12);
        same("second half", found, wanted);
        queue.enqueueUnmapMemObject(buffer, half);
        queue.enqueueUnmapMemObject(buffer, other);
        same("written", contents<int>(queue, buffer, 4), {12, 13, 14, -1});
    }
}

static void of_host(cl::Context &context, cl::CommandQueue &queue, cl::Program &program) {
    alignas(4096) static int aligned[4096];
    std::vector<int> loose(4096 + 3);
    for (int *place : {aligned, loose.data() + 3}) {
        std::iota(place, place + 4096, 0);
        cl::Buffer buffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                          size_t{4096 * 4}, place);
        cl::KernelFunctor<cl::Buffer, int>(program, "add")(
            cl::EnqueueArgs(queue, cl::NDRange(4096)), buffer, 3);
        void *mapped = queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ, 0, 4096 * 4);
        std::vector<int> wanted(4096), found(place, place + 4096);
        std::iota(wanted.begin(), wanted.end(), 3);
        same("memory of the host", found, wanted);
        if (mapped != place) {
            std::printf("memory of the host is mapped elsewhere\n");
            wrong_checks++;
        }
        queue.enqueueUnmapMemObject(buffer, mapped);
        queue.finish();
    }
}

template <typename T> static void fill(cl::Context &context, cl::CommandQueue &queue, T value) {
    std::vector<T> host(64, T{});
    cl::Buffer buffer(context, host.begin(), host.end(), false);
    queue.enqueueFillBuffer(buffer, value, 8 * sizeof(T), 40 * sizeof(T));
    std::vector<T> found(64);
    queue.enqueueReadBuffer(buffer, CL_TRUE, 0, 64 * sizeof(T), found.data());
    for (size_t i = 0; i < 64; i++) {
        const T wanted = i >= 8 && i < 48 ? value : T{};
        if (std::memcmp(&found[i], &wanted, sizeof(T)) != 0) {
            std::printf("fill of %zu bytes: element %zu is wrong\n", sizeof(T), i);
            wrong_checks++;
            return;
        }
    }
}

static void rectangles(cl::Context &context, cl::CommandQueue &queue) {
    // Boxes of 5 x 3 x 2 bytes between arrays of 16 x 8 x 4 and 11 x 7 x 5.
    std::vector<unsigned char> a(16 * 8 * 4), b(11 * 7 * 5, 0), wanted(b);
    std::iota(a.begin(), a.end(), 0);
    cl::Buffer first(context, a.begin(), a.end(), false), second(context, b.begin(), b.end(), false);
    const cl::array<cl::size_type, 3> from{3, 2, 1}, to{4, 1, 2}, box{5, 3, 2};
    queue.enqueueCopyBufferRect(first, second, from, to, box, 16, 16 * 8, 11, 11 * 7);
    for (size_t z = 0; z < 2; z++)
        for (size_t y = 0; y < 3; y++)
            for (size_t x = 0; x < 5; x++)
                wanted[(z + 2) * 77 + (y + 1) * 11 + x + 4] = a[(z + 1) * 128 + (y + 2) * 16 + x + 3];
    same("copied boxes", contents<unsigned char>(queue, second, wanted.size()), wanted);
    std::vector<unsigned char> tight(30), expected;
    queue.enqueueReadBufferRect(first, CL_TRUE, from, {0, 0, 0}, box, 16, 128, 5, 15, tight.data());
    for (size_t z = 1; z < 3; z++)
        for (size_t y = 2; y < 5; y++)
            expected.insert(expected.end(), &a[z * 128 + y * 16 + 3], &a[z * 128 + y * 16 + 8]);
    same("read boxes", tight, expected);
    queue.enqueueWriteBufferRect(second, CL_TRUE, {0, 0, 0}, {0, 0, 0}, box, 11, 77, 5, 15, tight.data());
    for (size_t z = 0; z < 2; z++)
        for (size_t y = 0; y < 3; y++)
            for (size_t x = 0; x < 5; x++) wanted[z * 77 + y * 11 + x] = tight[z * 15 + y * 5 + x];
    same("written boxes", contents<unsigned char>(queue, second, wanted.size()), wanted);
}

static void copies(cl::Context &context, cl::CommandQueue &queue) {
    std::vector<unsigned char> a(100'003);
    for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<unsigned char>(i * 7 + i / 256);
    cl::Buffer buffer(context, a.begin(), a.end(), false);
    for (size_t size : {size_t{1}, size_t{3}, size_t{4097}, size_t{40'001}}) {
        queue.enqueueCopyBuffer(buffer, buffer, 1, 50'001, size);
        std::copy(a.begin() + 1, a.begin() + 1 + static_cast<long>(size), a.begin() + 50'001);
        same("copies inside", contents<unsigned char>(queue, buffer, a.size()), a);
    }
}

int main() {
    try {
        std::vector<cl::Platform> platforms;
        cl::Platform::get(&platforms);
        std::vector<cl::Device> devices;
        platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
        cl::Context context(devices.at(0));
        cl::CommandQueue queue(context, devices[0]);
        cl::Program program(context, SOURCE, true);
        parts(context, queue, program, devices[0].getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8);
        maps(context, queue, program);
        of_host(context, queue, program);
        fill<cl_uchar>(context, queue, 0xAB);
        fill<cl_ushort>(context, queue, 0xABCD);
        fill<cl_float>(context, queue, 1.5f);
        fill<cl_double>(context, queue, -2.5);
        fill<cl_int4>(context, queue, cl_int4{{1, 2, 3, 4}});
        fill<cl_int8>(context, queue, cl_int8{{1, 2, 3, 4, 5, 6, 7, 8}});
        fill<cl_int16>(context, queue, cl_int16{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
        fill<cl_long16>(context, queue, cl_long16{{-1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
        rectangles(context, queue);
        copies(context, queue);
    } catch (const cl::Error &error) {
        std::printf("%s returned %d\n", error.what(), error.err());
        return 2;
    }
    std::printf(wrong_checks ? "%d checks failed\n" : "all right\n", wrong_checks);
    return wrong_checks ? 1 : 0;
}
