-- How large a cuckoo filter has to be, from the formulas of docs/FORMAT.md.

local model = {}

local limits = {
  [2] = { load = 0.84, less = 95 },
  [4] = { load = 0.95, less = 21 },
  [8] = { load = 0.975, less = 11 },
}

-- Keys that go into so many slots.
function model.room(slots, bucket_size)
  local limit = limits[bucket_size]
  return math.max(2 * bucket_size, math.floor(limit.load * slots) - limit.less)
end

function model.buckets(capacity, bucket_size)
  local step = 2 ^ math.max(1, math.floor(math.log(capacity / bucket_size) / math.log(2)))
  local buckets = 0
  while step >= 2 do
    while model.room((buckets + step) * bucket_size, bucket_size) < capacity do
      buckets = buckets + step
    end
    step = step / 2
  end
  return buckets + 2
end

-- The rate of n keys in a table.
function model.rate(n, buckets, bits)
  return 2 * n / buckets * (2 ^ -bits + 2 ^ (1 - 2 * bits))
end

-- The expected number of groups of 2 b + 1 keys that share both their buckets.
function model.crowds(n, buckets, bucket_size, bits)
  local half, groups = buckets / 2, n
  for i = 1, 2 * bucket_size do
    groups = groups * (n - i) / (i + 1) * (1 / half + 2 ^ -bits) / half
  end
  return n > 2 * bucket_size and groups or 0
end

function model.bits(n, buckets, bucket_size, rate)
  local bits = 8
  while model.rate(n, buckets, bits) > rate or model.crowds(n, buckets, bucket_size, bits) > 1e-6 do
    bits = bits + 1
  end
  return bits
end

-- Bytes of the payload of a filter with these options.
function model.bytes(options)
  local bucket_size, rate = options.bucket_size or 4, options.fp_rate or 0.01
  local buckets = model.buckets(options.capacity, bucket_size)
  local bits = model.bits(options.capacity, buckets, bucket_size, rate)
  if options.growth == 2 then
    local most = buckets * 2 ^ 16
    bits = model.bits(limits[bucket_size].load * most * bucket_size, most, bucket_size, rate) + 16
  end
  return math.ceil((math.floor(buckets * bucket_size * bits / 8) + 8) / 8) * 8
end

-- The most keys whose filter has a payload of no more than so many bytes.
function model.capacity(bytes, rate)
  local low, high = 1, bytes * 8
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if model.bytes{ capacity = middle, fp_rate = rate } <= bytes then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

return model
