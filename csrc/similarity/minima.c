#include "similarity/minima.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"

/* Tokens whose hashes stay in the cache while the blocks of minima, one after the other, are held
 * in registers and take them all. */
#define BATCH 512

#define OFFSET (UINT64_C(1) << 63)

/* c_j as words, for vectors that load them. */
#define STEP_2 (PS_HASH_STEP * PS_HASH_STEP)
#define STEP_4 (STEP_2 * STEP_2)
#define STEP_8 (STEP_4 * STEP_4)
#define STEP_16 (STEP_8 * STEP_8)
#define UPPER_ODD(x) ((x) >> 32 | 1)
#define MULTIPLIERS_2(x) UPPER_ODD(x), UPPER_ODD((x)*PS_HASH_STEP)
#define MULTIPLIERS_4(x) MULTIPLIERS_2(x), MULTIPLIERS_2((x)*STEP_2)
#define MULTIPLIERS_8(x) MULTIPLIERS_4(x), MULTIPLIERS_4((x)*STEP_4)
#define MULTIPLIERS_16(x) MULTIPLIERS_8(x), MULTIPLIERS_8((x)*STEP_8)

static const uint64_t multipliers[PS_BLOCK_LANES] = {MULTIPLIERS_16(PS_HASH_STEP),
                                                     MULTIPLIERS_16(PS_HASH_STEP *STEP_16)};

struct ps_agreement ps_minima_agree(const unsigned char *a, const unsigned char *b, size_t k)
{
  struct ps_agreement agreement = {0, 0};
  for (size_t i = 0; i < k; i++) {
    uint64_t x = ps_load64(a + 8 * i), y = ps_load64(b + 8 * i);
    agreement.equal += x == y && x != PS_NO_MINIMUM;
    agreement.of += (x & y) != PS_NO_MINIMUM;
  }
  return agreement;
}

/* ---- over what is done to one block ----
 *
 * Always inline: they become part of their caller, which may be compiled for another processor, and
 * what they are given becomes part of them. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Takes n hashes, each times `power`, into a block of minima and marks those that change one. */
typedef void take_block(unsigned char *minima, uint64_t power, const uint64_t *hashes, size_t n,
                        bool *changed);

/* The same for a block of fewer minima, on any processor, or of shared ones. */
ALWAYS_INLINE void take_lanes(unsigned char *minima, size_t lanes, uint64_t power,
                              const uint64_t *hashes, size_t n, bool *changed, bool shared)
{
  for (size_t j = 0; j < lanes; j++) {
    const uint64_t multiplier = multipliers[j] * power;
    uint64_t minimum = shared ? ps_atomic_load(minima + 8 * j, 8) : ps_load64(minima + 8 * j);
    for (size_t i = 0; i < n; i++) {
      uint64_t value = hashes[i] * multiplier + OFFSET;
      if (value < minimum) {
        minimum = value;
        changed[i] = true;
      }
    }
    if (shared) {
      ps_atomic_min(minima + 8 * j, minimum, 8);
    } else {
      ps_store64(minima + 8 * j, minimum);
    }
  }
}

static void take_shared(unsigned char *minima, uint64_t power, const uint64_t *hashes, size_t n,
                        bool *changed)
{
  take_lanes(minima, PS_BLOCK_LANES, power, hashes, n, changed, true);
}

ALWAYS_INLINE void take_batch(take_block *take, bool shared, unsigned char *minima, size_t k,
                              const uint64_t *hashes, size_t n, bool *changed)
{
  uint64_t power = 1;
  size_t at = 0;
  for (; at + PS_BLOCK_LANES <= k; at += PS_BLOCK_LANES, power *= PS_HASH_STEP) {
    take(minima + 8 * at, power, hashes, n, changed);
  }
  take_lanes(minima + 8 * at, k - at, power, hashes, n, changed, shared);
}

ALWAYS_INLINE size_t take_each(take_block *take, bool shared, unsigned char *minima, size_t k,
                               const uint64_t *hashes, size_t n)
{
  size_t sum = 0;
  for (size_t at = 0; at < n; at += BATCH) {
    const size_t these = n - at < BATCH ? n - at : BATCH;
    bool changed[BATCH] = {false};
    take_batch(take, shared, minima, k, hashes + at, these, changed);
    for (size_t i = 0; i < these; i++) {
      sum += changed[i];
    }
  }
  return sum;
}

/* ---- for any processor ---- */

static void take(unsigned char *minima, uint64_t power, const uint64_t *hashes, size_t n,
                 bool *changed)
{
  take_lanes(minima, PS_BLOCK_LANES, power, hashes, n, changed, false);
}

static bool add(unsigned char *minima, size_t k, uint64_t hash)
{
  bool changed = false;
  take_batch(take, false, minima, k, &hash, 1, &changed);
  return changed;
}

static size_t add_many(unsigned char *minima, size_t k, const uint64_t *hashes, size_t n)
{
  return take_each(take, false, minima, k, hashes, n);
}

const struct ps_minima_code ps_minima_portable = {add, add_many};

/* ---- for minima that are shared ---- */

static bool add_shared(unsigned char *minima, size_t k, uint64_t hash)
{
  bool changed = false;
  take_batch(take_shared, true, minima, k, &hash, 1, &changed);
  return changed;
}

static size_t add_many_shared(unsigned char *minima, size_t k, const uint64_t *hashes, size_t n)
{
  return take_each(take_shared, true, minima, k, hashes, n);
}

const struct ps_minima_code ps_minima_shared = {add_shared, add_many_shared};

/* ---- for x86-64 processors with AVX2 ----
 *
 * Vectors of minima less 2^63, as signed numbers. With one token a block is loaded and stored
 * vector by vector; with more it stays in registers. */

#ifdef PS_MINIMA_X86

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* The products of four lanes; `high` is the upper half of `hash`. */
struct quad_hash {
  __m256i low, high;
};

AVX2 ALWAYS_INLINE struct quad_hash quad_hash(uint64_t hash)
{
  __m256i low = _mm256_set1_epi64x((long long)hash);
  return (struct quad_hash){low, _mm256_srli_epi64(low, 32)};
}

AVX2 ALWAYS_INLINE __m256i load_quad(const unsigned char *minima, unsigned i)
{
  const __m256i offset = _mm256_set1_epi64x((long long)OFFSET);
  return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)minima + i), offset);
}

AVX2 ALWAYS_INLINE void store_quad(unsigned char *minima, unsigned i, __m256i quad)
{
  const __m256i offset = _mm256_set1_epi64x((long long)OFFSET);
  _mm256_storeu_si256((__m256i *)minima + i, _mm256_xor_si256(quad, offset));
}

/* Takes a hash into four lanes, whose multipliers are at 4 i; sets bits in *lower if a value is. */
AVX2 ALWAYS_INLINE __m256i take_quad(__m256i quad, unsigned i, struct quad_hash hash,
                                     __m256i *lower)
{
  __m256i c = _mm256_loadu_si256((const __m256i *)multipliers + i);
  __m256i low = _mm256_mul_epu32(hash.low, c), high = _mm256_mul_epu32(hash.high, c);
  __m256i value = _mm256_add_epi64(low, _mm256_slli_epi64(high, 32));
  __m256i lanes = _mm256_cmpgt_epi64(quad, value);
  *lower = _mm256_or_si256(*lower, lanes);
  return _mm256_blendv_epi8(quad, value, lanes);
}

AVX2 static inline void take_one_avx2(unsigned char *minima, uint64_t power, const uint64_t *hashes,
                                      size_t n, bool *changed)
{
  (void)n;
  const struct quad_hash hash = quad_hash(*hashes * power);
  __m256i lower = _mm256_setzero_si256();
  for (unsigned i = 0; i < PS_BLOCK_LANES / 4; i++) {
    store_quad(minima, i, take_quad(load_quad(minima, i), i, hash, &lower));
  }
  *changed |= !_mm256_testz_si256(lower, lower);
}

AVX2 static inline void take_avx2(unsigned char *minima, uint64_t power, const uint64_t *hashes,
                                  size_t n, bool *changed)
{
  __m256i a = load_quad(minima, 0), b = load_quad(minima, 1), c = load_quad(minima, 2);
  __m256i d = load_quad(minima, 3), e = load_quad(minima, 4), f = load_quad(minima, 5);
  __m256i g = load_quad(minima, 6), h = load_quad(minima, 7);
  for (size_t i = 0; i < n; i++) {
    const struct quad_hash hash = quad_hash(hashes[i] * power);
    __m256i lower = _mm256_setzero_si256();
    a = take_quad(a, 0, hash, &lower), b = take_quad(b, 1, hash, &lower);
    c = take_quad(c, 2, hash, &lower), d = take_quad(d, 3, hash, &lower);
    e = take_quad(e, 4, hash, &lower), f = take_quad(f, 5, hash, &lower);
    g = take_quad(g, 6, hash, &lower), h = take_quad(h, 7, hash, &lower);
    changed[i] |= !_mm256_testz_si256(lower, lower);
  }
  store_quad(minima, 0, a), store_quad(minima, 1, b), store_quad(minima, 2, c);
  store_quad(minima, 3, d), store_quad(minima, 4, e), store_quad(minima, 5, f);
  store_quad(minima, 6, g), store_quad(minima, 7, h);
}

AVX2 static bool add_avx2(unsigned char *minima, size_t k, uint64_t hash)
{
  bool changed = false;
  take_batch(take_one_avx2, false, minima, k, &hash, 1, &changed);
  return changed;
}

AVX2 static size_t add_many_avx2(unsigned char *minima, size_t k, const uint64_t *hashes, size_t n)
{
  return take_each(take_avx2, false, minima, k, hashes, n);
}

const struct ps_minima_code ps_minima_avx2 = {add_avx2, add_many_avx2};

/* Four minima that are shared, each as it is when it is loaded. */
AVX2 ALWAYS_INLINE __m256i load_shared_quad(const unsigned char *minima, unsigned i)
{
  const unsigned char *at = minima + sizeof(__m256i) * i;
  const __m256i offset = _mm256_set1_epi64x((long long)OFFSET);
  const __m256i quad = _mm256_setr_epi64x(
      (long long)ps_atomic_load(at, 8), (long long)ps_atomic_load(at + 8, 8),
      (long long)ps_atomic_load(at + 16, 8), (long long)ps_atomic_load(at + 24, 8));
  return _mm256_xor_si256(quad, offset);
}

/* Vectors see whether a hash changes one of a shared block: few do, and they go in lane by lane. */
AVX2 static inline void take_shared_avx2(unsigned char *minima, uint64_t power,
                                         const uint64_t *hashes, size_t n, bool *changed)
{
  for (size_t i = 0; i < n; i++) {
    const struct quad_hash hash = quad_hash(hashes[i] * power);
    __m256i lower = _mm256_setzero_si256();
    for (unsigned j = 0; j < PS_BLOCK_LANES / 4; j++) {
      take_quad(load_shared_quad(minima, j), j, hash, &lower);
    }
    if (!_mm256_testz_si256(lower, lower)) {
      take_shared(minima, power, hashes + i, 1, changed + i);
    }
  }
}

AVX2 static bool add_shared_avx2(unsigned char *minima, size_t k, uint64_t hash)
{
  bool changed = false;
  take_batch(take_shared_avx2, true, minima, k, &hash, 1, &changed);
  return changed;
}

AVX2 static size_t add_many_shared_avx2(unsigned char *minima, size_t k, const uint64_t *hashes,
                                        size_t n)
{
  return take_each(take_shared_avx2, true, minima, k, hashes, n);
}

const struct ps_minima_code ps_minima_shared_avx2 = {add_shared_avx2, add_many_shared_avx2};

/* ---- for those with AVX-512 ---- */

#define AVX512 __attribute__((target("avx512f,avx512dq")))

AVX512 ALWAYS_INLINE __m512i oct_hash(uint64_t hash)
{
  return _mm512_set1_epi64((long long)hash);
}

AVX512 ALWAYS_INLINE __m512i load_oct(const unsigned char *minima, unsigned i)
{
  const __m512i offset = _mm512_set1_epi64((long long)OFFSET);
  return _mm512_xor_si512(_mm512_loadu_si512((const __m512i *)minima + i), offset);
}

AVX512 ALWAYS_INLINE void store_oct(unsigned char *minima, unsigned i, __m512i oct)
{
  const __m512i offset = _mm512_set1_epi64((long long)OFFSET);
  _mm512_storeu_si512((__m512i *)minima + i, _mm512_xor_si512(oct, offset));
}

AVX512 ALWAYS_INLINE __m512i take_oct(__m512i oct, unsigned i, __m512i hash, __mmask8 *lower)
{
  __m512i c = _mm512_loadu_si512((const __m512i *)multipliers + i);
  __m512i value = _mm512_mullo_epi64(hash, c);
  *lower |= _mm512_cmplt_epi64_mask(value, oct);
  return _mm512_min_epi64(oct, value);
}

AVX512 static inline void take_one_avx512(unsigned char *minima, uint64_t power,
                                          const uint64_t *hashes, size_t n, bool *changed)
{
  (void)n;
  const __m512i hash = oct_hash(*hashes * power);
  __mmask8 lower = 0;
  for (unsigned i = 0; i < PS_BLOCK_LANES / 8; i++) {
    store_oct(minima, i, take_oct(load_oct(minima, i), i, hash, &lower));
  }
  *changed |= lower != 0;
}

AVX512 static inline void take_avx512(unsigned char *minima, uint64_t power, const uint64_t *hashes,
                                      size_t n, bool *changed)
{
  __m512i a = load_oct(minima, 0), b = load_oct(minima, 1);
  __m512i c = load_oct(minima, 2), d = load_oct(minima, 3);
  for (size_t i = 0; i < n; i++) {
    const __m512i hash = oct_hash(hashes[i] * power);
    __mmask8 lower = 0;
    a = take_oct(a, 0, hash, &lower), b = take_oct(b, 1, hash, &lower);
    c = take_oct(c, 2, hash, &lower), d = take_oct(d, 3, hash, &lower);
    changed[i] |= lower != 0;
  }
  store_oct(minima, 0, a), store_oct(minima, 1, b);
  store_oct(minima, 2, c), store_oct(minima, 3, d);
}

AVX512 static bool add_avx512(unsigned char *minima, size_t k, uint64_t hash)
{
  bool changed = false;
  take_batch(take_one_avx512, false, minima, k, &hash, 1, &changed);
  return changed;
}

AVX512 static size_t add_many_avx512(unsigned char *minima, size_t k, const uint64_t *hashes,
                                     size_t n)
{
  return take_each(take_avx512, false, minima, k, hashes, n);
}

const struct ps_minima_code ps_minima_avx512 = {add_avx512, add_many_avx512};

#endif
