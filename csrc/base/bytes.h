/* Little-endian words in byte arrays, and readers and writers that cannot leave their bounds. */
#ifndef PS_BASE_BYTES_H
#define PS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PS_LITTLE(bits, x) __builtin_bswap##bits(x)
#else
#define PS_LITTLE(bits, x) (x)
#endif

static inline uint16_t ps_load16(const unsigned char *at)
{
  uint16_t x;
  memcpy(&x, at, sizeof x);
  return PS_LITTLE(16, x);
}

static inline uint32_t ps_load32(const unsigned char *at)
{
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return PS_LITTLE(32, x);
}

static inline uint64_t ps_load64(const unsigned char *at)
{
  uint64_t x;
  memcpy(&x, at, sizeof x);
  return PS_LITTLE(64, x);
}

static inline void ps_store16(unsigned char *at, uint16_t x)
{
  x = PS_LITTLE(16, x);
  memcpy(at, &x, sizeof x);
}

static inline void ps_store32(unsigned char *at, uint32_t x)
{
  x = PS_LITTLE(32, x);
  memcpy(at, &x, sizeof x);
}

static inline void ps_store64(unsigned char *at, uint64_t x)
{
  x = PS_LITTLE(64, x);
  memcpy(at, &x, sizeof x);
}

/* A double by its IEEE 754 bits. */
static inline double ps_load_double(const unsigned char *at)
{
  uint64_t bits = ps_load64(at);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void ps_store_double(unsigned char *at, double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  ps_store64(at, bits);
}

/* Once an access would pass the end, `failed` is set, that access and all later ones do nothing
 * and read zero: a sequence of accesses is checked once, after it. */
struct ps_reader {
  const unsigned char *at, *end;
  bool failed;
};

struct ps_writer {
  unsigned char *at, *end;
  bool failed;
};

struct ps_reader ps_reader_over(const void *bytes, size_t size);
struct ps_writer ps_writer_over(void *bytes, size_t size);

/* An unsigned number of `width` bytes, 1 to 8. */
uint64_t ps_read(struct ps_reader *reader, unsigned width);
void ps_write(struct ps_writer *writer, uint64_t x, unsigned width);

#endif
