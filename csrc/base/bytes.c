#include "base/bytes.h"

struct ps_reader ps_reader_over(const void *bytes, size_t size)
{
  const unsigned char *start = bytes;
  return (struct ps_reader){start, start + size, false};
}

struct ps_writer ps_writer_over(void *bytes, size_t size)
{
  unsigned char *start = bytes;
  return (struct ps_writer){start, start + size, false};
}

uint64_t ps_read(struct ps_reader *reader, unsigned width)
{
  if (reader->failed || (size_t)(reader->end - reader->at) < width) {
    reader->failed = true;
    return 0;
  }
  uint64_t x = 0;
  for (unsigned i = width; i-- > 0;) {
    x = x << 8 | reader->at[i];
  }
  reader->at += width;
  return x;
}

void ps_write(struct ps_writer *writer, uint64_t x, unsigned width)
{
  if (writer->failed || (size_t)(writer->end - writer->at) < width) {
    writer->failed = true;
    return;
  }
  for (unsigned i = 0; i < width; i++) {
    writer->at[i] = (unsigned char)(x >> 8 * i);
  }
  writer->at += width;
}
