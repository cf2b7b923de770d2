/* What the parts of the library share that stands before a driver of OpenCL's. */
#ifndef VISIM_VENDOR_H
#define VISIM_VENDOR_H

#include <stddef.h>
#include <stdint.h>

/* Places in the table of functions, which OpenCL's loader interface has fixed. */
enum {
    CREATE_BUFFER = 14,
    BUILD_PROGRAM = 30,
    GET_PROGRAM_INFO = 32,
    GET_KERNEL_INFO = 39,
    COMPILE_PROGRAM = 98,
    GET_KERNEL_ARGUMENT_INFO = 101,
    FUNCTION_OF_PLATFORM = 107,
    SVM_ALLOC = 126,
    CREATE_WITH_PROPERTIES = 146
};

typedef void (*function)(void);
typedef void *handle;

#pragma GCC visibility push(hidden)

/* vendor_arguments.c: clGetKernelArgInfo, from what a program's binary says. */
void answer_for_arguments(function *table);

/* vendor_sources.c: options by which a program is compiled as a file, which is made; NULL if it
 * has no source. A file includes others from its folder; "-I ." keeps those of the current one. */
char *named_source(handle program);

#pragma GCC visibility pop

#endif
