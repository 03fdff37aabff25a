#include "quantile/ddsketch_shared.h"

#include <string.h>

#define WORD sizeof(uint64_t)

static enum ps_status check(const struct ps_sketch *base, struct ps_error *error)
{
  if (!ps_ddsketch_has_range((const struct ps_ddsketch *)base)) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "a ddsketch without a range is not shared: make it with min_value and "
                   "max_value, or keep one per worker and merge");
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *base)
{
  return base->kind->size(base) + WORD;
}

static void spread(const struct ps_sketch *base, unsigned char *shared)
{
  const uint64_t flat = base->kind->size(base);
  memcpy(shared, base->payload, flat);
  ps_store64(shared + flat, base->kind->count(base));
}

/* Makes it a state that calls could have led to: counts up to 2^53 altogether, and extremes that
 * are not known. */
static void mend(struct ps_ddsketch *sketch)
{
  const size_t words = (size_t)(sketch->sketch.kind->size(&sketch->sketch) / WORD);
  uint64_t left = PS_COUNT_MAX;
  ps_store64(ps_ddsketch_word(sketch, PS_DDSKETCH_LEAST), 0);
  ps_store64(ps_ddsketch_word(sketch, PS_DDSKETCH_LARGEST), 0);
  for (size_t i = 0; i < words; i++) {
    uint64_t count = ps_load64(ps_ddsketch_word(sketch, i));
    count = count < left ? count : left;
    left -= count;
    ps_store64(ps_ddsketch_word(sketch, i), count);
  }
}

/* The extremes come last, as in read_payload(). What is there need not be possible: a file may hold
 * anything, and the extremes of two values may cross while it is cleared between them. Whoever gets
 * this relies on it. */
static void gather(const struct ps_sketch *base, unsigned char *flat)
{
  struct ps_error error;
  struct ps_ddsketch still = *(const struct ps_ddsketch *)base;
  const size_t head = PS_DDSKETCH_HEAD_WORDS * WORD;
  ps_atomic_copy(flat + head, base->payload + head, base->kind->size(base) - head);
  ps_atomic_copy(flat, base->payload, head);
  still.sketch.payload = flat;
  if (ps_ddsketch_check(&still.sketch, &error) != PS_OK) {
    mend(&still);
  }
}

bool ps_ddsketch_shared_add(struct ps_ddsketch *sketch, double x, uint64_t weight)
{
  struct ps_error error;
  if (weight == 0 || ps_ddsketch_shared_reserve(sketch, weight, &error) != PS_OK) {
    return false;
  }
  ps_ddsketch_shared_extend(sketch, x, x);
  ps_ddsketch_shared_count(sketch, x, weight);
  return true;
}

const struct ps_sharing ps_ddsketch_sharing = {check, size, spread, gather};
