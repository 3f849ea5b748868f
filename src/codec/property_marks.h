/* property_marks.h - where names and values of a property text end, found for many bytes at once: for those who read every property of every
 * message. Others take properties.h, which says the same of a text.
 * Facts    as in properties.h
 * Threads  any */
#ifndef SKYLARK_CODEC_PROPERTY_MARKS_H
#define SKYLARK_CODEC_PROPERTY_MARKS_H

#include "codec/properties.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { PROPERTY_BLOCK = 64 };

/* Which of 16 bytes are marks. */
#ifdef __SSE2__
static inline uint64_t property_marks_of_16(const uint8_t *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(PROPERTY_NAME_END)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(PROPERTY_END)));
    return (uint64_t)_mm_movemask_epi8(marks);
}
#else
static inline uint64_t property_marks_of_16(const uint8_t *p)
{
    uint64_t marks = 0;
    for (int i = 0; i < 16; i++) marks |= (uint64_t)(p[i] == PROPERTY_NAME_END || p[i] == PROPERTY_END) << i;
    return marks;
}
#endif

static inline uint64_t property_marks_of_whole_block(const uint8_t *p)
{
    return property_marks_of_16(p) | property_marks_of_16(p + 16) << 16 | property_marks_of_16(p + 32) << 32 | property_marks_of_16(p + 48) << 48;
}

/* A bit for each of the 64 bytes from p on, within a text, that is a mark. The last ones are read together with those before them:
 * copying them costs more. */
static inline uint64_t property_marks(struct slice text, const uint8_t *p)
{
    size_t left = (size_t)(text.p + text.n - p);
    uint8_t few[PROPERTY_BLOCK] = {0};
    if (left >= PROPERTY_BLOCK) return property_marks_of_whole_block(p);
    if (text.n >= PROPERTY_BLOCK) return property_marks_of_whole_block(text.p + text.n - PROPERTY_BLOCK) >> (PROPERTY_BLOCK - left);
    return property_marks_of_whole_block(memcpy(few, p, left));
}

/* Of each property its name and value, in order; of one that occurs twice both. */
typedef void property_taker(void *ctx, struct slice name, struct slice value);

/* One part between two ends; name_end NULL: it has none, and does not count, like one without a name or a value. */
__attribute__((always_inline)) static inline void property_take_part(const uint8_t *from, const uint8_t *name_end, const uint8_t *end, property_taker *take,
                                                                     void *ctx)
{
    if (!name_end || name_end == from || name_end + 1 == end) return;
    take(ctx, slice_of(from, (size_t)(name_end - from)), slice_of(name_end + 1, (size_t)(end - name_end - 1)));
}

/* Apart, so that what is inlined into the loop is small: seldom called. */
__attribute__((noinline)) static void property_take_last(const uint8_t *from, const uint8_t *name_end, const uint8_t *end, property_taker *take, void *ctx)
{
    property_take_part(from, name_end, end, take, ctx);
}

/* As properties_next() again and again, in one pass. Marks are found for many bytes at once, so that the end of the inner loop is seldom guessed
 * wrong. `take` is meant to be inlined. */
__attribute__((always_inline)) static inline void properties_each(struct slice text, property_taker *take, void *ctx)
{
    const uint8_t *from = text.p, *name_end = NULL, *end = text.p + text.n;
    if (!text.n) return;
    for (const uint8_t *p = text.p; p < end; p += PROPERTY_BLOCK) {
        for (uint64_t marks = property_marks(text, p); marks; marks &= marks - 1) {
            const uint8_t *at = p + __builtin_ctzll(marks);
            if (*at == PROPERTY_NAME_END) {
                if (!name_end) name_end = at;
                continue;
            }
            property_take_part(from, name_end, at, take, ctx);
            from = at + 1;
            name_end = NULL;
        }
    }
    if (from < end) property_take_last(from, name_end, end, take, ctx);   /* no mark ends the text */
}

#endif
