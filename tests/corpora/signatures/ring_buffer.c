/*
 * A ring buffer of bytes. "int fake(void) {" is text.
 */
#include <stdio.h>
#include "ring_buffer.h"

#define RB_VERSION "1.2"
#define RB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RB_FOREACH(rb, it) \
    for (size_t it = (rb)->tail; \
         it != (rb)->head; it++)
#define RB_INLINE static inline __attribute__((always_inline))
#define RB_LONG_TEXT "a text that is rather long, so that it is cut where it has sixty characters"

#ifdef __cplusplus
extern "C" {
#endif

/** One buffer. */
struct ring_buffer {
    unsigned char *data; /* owned */
    size_t head, tail;
    unsigned full : 1;
    int (*on_full)(struct ring_buffer *rb, size_t lost);
    union {
        int code;
        void *pointer;
    } extra;
    struct {
        int a;
    };
    char name[16];
};

typedef struct ring_buffer ring_buffer_t;
typedef struct {
    int x, y;
} point_t, *point_ptr;
typedef enum { RB_OK, RB_EMPTY = -1 } rb_status;
typedef int (*rb_compare)(const void *a, const void *b);
typedef unsigned char byte_t, bytes_t[16];

union rb_number { int i; float f; };
enum rb_mode {
    RB_READ, /* read */
    RB_WRITE
};
struct rb_forward;

extern int rb_errors;
static const char *const rb_names[] = { "read", "write", "append", "truncate", "exclusive", "direct", NULL };
static int counter = 0, *latest, table[3];
static struct ring_buffer shared = { .head = 0 };
static void (*rb_handler)(int signal) = NULL;

int rb_init(struct ring_buffer *rb, size_t size);
void rb_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
__attribute__((noreturn)) static void rb_abort(void);

/// Puts one byte.
/// Returns whether there was room.
static inline int
rb_put(struct ring_buffer *rb, /* not null */
       unsigned char byte)     // the byte
{
    int local = 1;
    int declared_here(void);
    const char *s = "void fake2(void) { }";
    for (int i = 0; i < 3; i++) { local += i; }
#define RB_INSIDE 3
    return local;
}

int *(*rb_pick(int which))(int) { return 0; }

int rb_old(a, b)
    int a;
    char *b;
{
    return a;
}

RB_API int rb_exported(int a);
RB_INLINE unsigned rb_space(const struct ring_buffer *rb) { return rb->full; }

#if defined(_WIN32)
int rb_open(const wchar_t *path) {
    return 1;
}
#elif defined(__linux__)
int rb_open(const char *path) {
    return 2;
}
#else
int rb_open(const char *path, int mode) {
    return 3;
}
#endif

#ifdef RB_THREADS
void rb_lock(struct ring_buffer *rb, int wait) {
#else
void rb_lock(struct ring_buffer *rb) {
#endif
    rb->full = 0;
}

static struct rb_pair { int first, second; } pairs[] = { { 1, 2 } };

#ifdef __cplusplus
}
#endif

int main(int argc, char *argv[]) { return 0; }
