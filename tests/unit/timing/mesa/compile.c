#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb"); if (!f) return 0;
    fseek(f, 0, SEEK_END); long n = ftell(f); rewind(f);
    char *t = calloc(1, n + 1); if (fread(t, 1, n, f) != (size_t)n) return 0; fclose(f); return t;
}
static GLuint shader(GLenum kind, const char *text)
{
    GLuint s = glCreateShader(kind); GLint ok; char log[2000];
    glShaderSource(s, 1, &text, 0); glCompileShader(s); glGetShaderiv(s, GL_COMPILE_STATUS, &ok);
    if (!ok) { glGetShaderInfoLog(s, sizeof log, 0, log); fprintf(stderr, "compile: %s\n", log); exit(1); }
    return s;
}
int main(int argc, char **argv)
{
    EGLDisplay d = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, 0, 0);
    if (!eglInitialize(d, 0, 0)) { fprintf(stderr, "no display\n"); return 1; }
    eglBindAPI(EGL_OPENGL_ES_API);
    EGLint want[] = {EGL_CONTEXT_MAJOR_VERSION, 2, EGL_NONE};
    EGLContext c = eglCreateContext(d, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, want);
    if (!c || !eglMakeCurrent(d, EGL_NO_SURFACE, EGL_NO_SURFACE, c)) { fprintf(stderr, "no context %x\n", eglGetError()); return 1; }
    fprintf(stderr, "renderer %s\n", glGetString(GL_RENDERER));
    const char *vertex = "attribute vec4 p; varying vec4 a; varying vec4 b; void main() { gl_Position = p; a = p.yxwz; b = p * 2.0; }";
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "=== %s\n", argv[i]);
        GLuint program = glCreateProgram(); GLint ok;
        glAttachShader(program, shader(GL_VERTEX_SHADER, vertex));
        glAttachShader(program, shader(GL_FRAGMENT_SHADER, slurp(argv[i])));
        glLinkProgram(program); glGetProgramiv(program, GL_LINK_STATUS, &ok);
        if (!ok) fprintf(stderr, "link failed\n");
        fflush(stderr);
    }
    return 0;
}
