#include "membership/blocked_line.h"

#include "base/atomic.h"
#include "base/hash.h"

#define FIRST_FIELD 16
#define FIELD_BITS 6

static inline unsigned char *line_of(struct ps_lines lines, uint64_t hash)
{
  return lines.at + ps_hash_place(hash, lines.n) * PS_LINE_SIZE;
}

/* ---- batches, over what is done to one line ----
 *
 * Always inline: they become part of their caller, which may be compiled for another processor, and
 * what they are given becomes part of them. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Asks for the lines that a batch begins with. Returns how many of its keys are to ask for that of
 * the key `ahead` behind them. */
ALWAYS_INLINE size_t start_batch(struct ps_lines lines, const uint64_t *hashes, size_t n,
                                 size_t ahead)
{
  if (ahead == 0 || n <= ahead) {
    return 0;
  }
  for (size_t i = 0; i < ahead; i++) {
    __builtin_prefetch(line_of(lines, hashes[i]));
  }
  return n - ahead;
}

ALWAYS_INLINE uint64_t add_each(unsigned (*add)(struct ps_lines, uint64_t), struct ps_lines lines,
                                const uint64_t *hashes, size_t n, size_t ahead, size_t *changed)
{
  const size_t asking = start_batch(lines, hashes, n, ahead);
  uint64_t fresh = 0, keys = 0;
  for (size_t i = 0; i < n; i++) {
    if (i < asking) {
      __builtin_prefetch(line_of(lines, hashes[i + ahead]));
    }
    unsigned of_key = add(lines, hashes[i]);
    fresh += of_key;
    keys += of_key != 0;
  }
  *changed = keys;
  return fresh;
}

ALWAYS_INLINE void has_each(bool (*has)(struct ps_lines, uint64_t), struct ps_lines lines,
                            const uint64_t *hashes, size_t n, size_t ahead, bool *found)
{
  const size_t asking = start_batch(lines, hashes, n, ahead);
  for (size_t i = 0; i < n; i++) {
    if (i < asking) {
      __builtin_prefetch(line_of(lines, hashes[i + ahead]));
    }
    found[i] = has(lines, hashes[i]);
  }
}

/* ---- for any processor, and for lines that are shared ---- */

ALWAYS_INLINE unsigned add_to_line(struct ps_lines lines, uint64_t hash, bool shared)
{
  unsigned char *line = line_of(lines, hash);
  uint64_t fields = hash * PS_HASH_STEP >> FIRST_FIELD;
  unsigned fresh = 0;
  for (size_t i = 0; i < PS_LINE_LANES; i++, fields >>= FIELD_BITS) {
    unsigned char *lane = line + 8 * i;
    uint64_t bit = UINT64_C(1) << (fields & 63);
    uint64_t before = shared ? ps_atomic_or(lane, bit) : ps_load64(lane);
    if (!shared) {
      ps_store64(lane, before | bit);
    }
    fresh += before < (before | bit);
  }
  return fresh;
}

ALWAYS_INLINE bool is_in_line(struct ps_lines lines, uint64_t hash, bool shared)
{
  const unsigned char *line = line_of(lines, hash);
  uint64_t fields = hash * PS_HASH_STEP >> FIRST_FIELD, all = 1;
  for (size_t i = 0; i < PS_LINE_LANES; i++, fields >>= FIELD_BITS) {
    uint64_t lane = shared ? ps_atomic_load(line + 8 * i, 8) : ps_load64(line + 8 * i);
    all &= lane >> (fields & 63);
  }
  return all & 1;
}

/* The four functions of a code. */
#define FUNCTIONS(suffix, shared)                                                                  \
  static inline unsigned add##suffix(struct ps_lines lines, uint64_t hash)                         \
  {                                                                                                \
    return add_to_line(lines, hash, shared);                                                       \
  }                                                                                                \
  static inline bool has##suffix(struct ps_lines lines, uint64_t hash)                             \
  {                                                                                                \
    return is_in_line(lines, hash, shared);                                                        \
  }                                                                                                \
  static uint64_t add_many##suffix(struct ps_lines lines, const uint64_t *hashes, size_t n,        \
                                   size_t ahead, size_t *changed)                                  \
  {                                                                                                \
    return add_each(add##suffix, lines, hashes, n, ahead, changed);                                \
  }                                                                                                \
  static void has_many##suffix(struct ps_lines lines, const uint64_t *hashes, size_t n,            \
                               size_t ahead, bool *found)                                          \
  {                                                                                                \
    has_each(has##suffix, lines, hashes, n, ahead, found);                                         \
  }

FUNCTIONS(, false)
FUNCTIONS(_shared, true)

const struct ps_line_code ps_line_portable = {add, has, add_many, has_many};
const struct ps_line_code ps_line_shared = {add_shared, has_shared, add_many_shared,
                                            has_many_shared};

/* ---- for x86-64 processors with AVX2 ---- */

#ifdef PS_LINE_AVX2

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* The bits of a key in the four lanes from `lane` on. */
AVX2 static inline __m256i bits_from(uint64_t hash, unsigned lane)
{
  const long long step = FIELD_BITS, at = FIRST_FIELD + step * lane;
  const uint64_t product = hash * PS_HASH_STEP;
  __m256i shifts = _mm256_setr_epi64x(at, at + step, at + 2 * step, at + 3 * step);
  __m256i shifted = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)product), shifts);
  __m256i fields = _mm256_and_si256(shifted, _mm256_set1_epi64x(63));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), fields);
}

/* Lanes, of four, in which `bits` has one that is not in `before`. */
AVX2 static inline unsigned fresh_lanes(__m256i before, __m256i bits)
{
  __m256i known = _mm256_cmpeq_epi64(_mm256_and_si256(before, bits), bits);
  return ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(known)) & 15;
}

AVX2 static inline unsigned add_avx2(struct ps_lines lines, uint64_t hash)
{
  __m256i *low = (__m256i *)line_of(lines, hash), *high = low + 1;
  __m256i low_bits = bits_from(hash, 0), high_bits = bits_from(hash, 4);
  __m256i low_before = _mm256_loadu_si256(low), high_before = _mm256_loadu_si256(high);
  _mm256_storeu_si256(low, _mm256_or_si256(low_before, low_bits));
  _mm256_storeu_si256(high, _mm256_or_si256(high_before, high_bits));
  unsigned fresh = fresh_lanes(low_before, low_bits) | fresh_lanes(high_before, high_bits) << 4;
  return (unsigned)__builtin_popcount(fresh);
}

AVX2 static inline bool has_avx2(struct ps_lines lines, uint64_t hash)
{
  const __m256i *low = (const __m256i *)line_of(lines, hash), *high = low + 1;
  int all = _mm256_testc_si256(_mm256_loadu_si256(low), bits_from(hash, 0));
  return all & _mm256_testc_si256(_mm256_loadu_si256(high), bits_from(hash, 4));
}

AVX2 static uint64_t add_many_avx2(struct ps_lines lines, const uint64_t *hashes, size_t n,
                                   size_t ahead, size_t *changed)
{
  return add_each(add_avx2, lines, hashes, n, ahead, changed);
}

AVX2 static void has_many_avx2(struct ps_lines lines, const uint64_t *hashes, size_t n,
                               size_t ahead, bool *found)
{
  has_each(has_avx2, lines, hashes, n, ahead, found);
}

const struct ps_line_code ps_line_avx2 = {add_avx2, has_avx2, add_many_avx2, has_many_avx2};

/* Four lanes that are shared, each as it is when it is loaded. */
AVX2 static inline __m256i load_shared(const unsigned char *lane)
{
  return _mm256_setr_epi64x(
      (long long)ps_atomic_load(lane, 8), (long long)ps_atomic_load(lane + 8, 8),
      (long long)ps_atomic_load(lane + 16, 8), (long long)ps_atomic_load(lane + 24, 8));
}

AVX2 static inline bool has_shared_avx2(struct ps_lines lines, uint64_t hash)
{
  const unsigned char *line = line_of(lines, hash);
  int all = _mm256_testc_si256(load_shared(line), bits_from(hash, 0));
  return all & _mm256_testc_si256(load_shared(line + PS_LINE_SIZE / 2), bits_from(hash, 4));
}

/* A key that is there is seen by vectors, any other is added lane by lane. */
AVX2 static inline unsigned add_shared_avx2(struct ps_lines lines, uint64_t hash)
{
  return has_shared_avx2(lines, hash) ? 0 : add_shared(lines, hash);
}

AVX2 static uint64_t add_many_shared_avx2(struct ps_lines lines, const uint64_t *hashes, size_t n,
                                          size_t ahead, size_t *changed)
{
  return add_each(add_shared_avx2, lines, hashes, n, ahead, changed);
}

AVX2 static void has_many_shared_avx2(struct ps_lines lines, const uint64_t *hashes, size_t n,
                                      size_t ahead, bool *found)
{
  has_each(has_shared_avx2, lines, hashes, n, ahead, found);
}

const struct ps_line_code ps_line_shared_avx2 = {add_shared_avx2, has_shared_avx2,
                                                 add_many_shared_avx2, has_many_shared_avx2};

#endif
