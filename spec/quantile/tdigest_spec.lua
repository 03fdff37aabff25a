-- The answers of a tdigest that the other sketches of quantiles do not give, held against the sorted values.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local quantiles = require "spec.support.quantiles"
local random = require "spec.support.random"

local function filled(options, values)
  local digest = ps.tdigest(options)
  assert.equal(#values, digest:add_many(values))
  return digest
end

local function drawn(seed, n, value)
  local generator, values = random.new(seed), {}
  for i = 1, n do
    values[i] = value(generator:uniform(), i)
  end
  return values
end

local function exponential(u)
  return -math.log(1 - u)
end

describe("tdigest", function()
  describe("quantiles", function()
    it("of up to 1024 values are those of the values, however they are asked for", function()
      for _, n in ipairs { 1, 2, 3, 10, 201, 1024 } do
        local values = drawn(n, n, exponential)
        local sorted, digest = quantiles.sorted(values), filled({ compression = 20 }, values)
        assert.is_true(digest:info().exact)
        for k = 0, n - 1 do
          local q = n == 1 and 0.5 or (k + 0.25) / (n - 1)
          assert.equal(sorted[k + 1], digest:quantile(math.min(q, 1)))
          assert.equal((k + 1) / n, digest:rank(sorted[k + 1]))
        end
      end
    end)

    it("of few different values are those of the values, however often each comes", function()
      local values = drawn(2, 30000, function(u) return math.floor(u * u * 200) end)
      local sorted, digest = quantiles.sorted(values), filled({}, values)
      for k = 0, #sorted - 1, 37 do
        assert.equal(sorted[k + 1], digest:quantile((k + 0.25) / (#sorted - 1)))
        assert.equal(quantiles.rank(sorted, sorted[k + 1]), digest:rank(sorted[k + 1]))
      end
      local info = digest:info()
      assert.is_true(info.exact and info.centroids <= 200)
    end)

    it("do not pass the neighbouring values", function()
      local digest = ps.tdigest():add(3, 10):add(5, 10):add(8, 10)
      assert.same({ 8, 8 }, digest:quantiles { 0.8, 0.9 })
      local weights = { [1000] = 26, [3000] = 11, [9000] = 2 }
      for _, order in ipairs { { 1000, 3000, 9000 }, { 1000, 9000, 3000 }, { 3000, 1000, 9000 }, { 3000, 9000, 1000 },
        { 9000, 1000, 3000 }, { 9000, 3000, 1000 } } do
        digest = ps.tdigest()
        for _, x in ipairs(order) do
          digest:add(x, weights[x])
        end
        assert.same({ 1000, 3000, 9000 }, digest:quantiles { 0.6, 0.85, 1 })
      end
    end)

    it("are the inverse of ranks, for every compression", function()
      local values = drawn(3, 20000, exponential)
      for _, compression in ipairs { 20, 21, 50, 100, 1000, 10000 } do
        local digest = filled({ compression = compression }, values)
        local last_x, last_rank = 0, 0
        for i = 0, 2000 do
          local q = i / 2000
          local x, rank = digest:quantile(q), digest:rank(digest:max() * q)
          assert.is_true(x >= last_x and rank >= last_rank)
          assert.is_true(math.abs(digest:rank(x) - q) <= 1e-4, ("rank of quantile %g"):format(q))
          last_x, last_rank = x, rank
        end
      end
    end)

    it("err less with more compression", function()
      local values = drawn(4, 20000, exponential)
      local sorted, last = quantiles.sorted(values), math.huge
      for _, compression in ipairs { 20, 100, 1000 } do
        local digest, sum = filled({ compression = compression }, values), 0
        for i = 1, 99 do
          sum = sum + math.abs(quantiles.rank(sorted, digest:quantile(i / 100)) - i / 100)
        end
        assert.is_true(sum < last / 3, ("%g with compression %d"):format(sum / 99, compression))
        last = sum
      end
    end)
  end)

  it("takes nothing from an empty one, and an empty one all", function()
    local digest = ps.tdigest()
    for i, x in ipairs { 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 7 } do
      digest:add(x, i % 2 + 1)
    end
    for _, a in ipairs { digest, filled({}, drawn(5, 10000, exponential)) } do
      local before = a:encode()
      assert.equal(before, a:merge(ps.tdigest()):encode())
      assert.equal(before, ps.tdigest():merge(a):encode())
    end
  end)

  describe("centroids", function()
    it("have the weight of all values, and their means in order", function()
      for _, n in ipairs { 0, 1, 1000, 5000 } do
        local values = drawn(6, n, exponential)
        for _, compression in ipairs { 20, 100 } do
          local digest = filled({ compression = compression }, values)
          local weight, sum, last, mixed = 0, 0, -1, false
          local centroids = digest:centroids()
          for _, centroid in ipairs(centroids) do
            assert.is_true(centroid.mean > last and centroid.weight >= 1)
            mixed = mixed or centroid.weight > 1
            weight, sum, last = weight + centroid.weight, sum + centroid.weight * centroid.mean, centroid.mean
          end
          assert.equal(n, weight)
          assert.is_true(math.abs(sum - digest:sum()) <= 1e-9 * sum)
          assert.is_true(#centroids <= 2 * compression)
          assert.equal(n > 2 * compression, mixed)
          assert.equal(n <= 1024, digest:info().exact)
        end
      end
    end)

    it("are no more and take no more memory however many values come, in any order", function()
      for _, value in ipairs {
        function(u) return u end,
        function(_, i) return i end,
        function(_, i) return -i end,
        function() return 0 end,
        function(_, i) return i % 1000 end,
        function(_, i) return (-1) ^ i * i * i end,
      } do
        local digest = ps.tdigest()
        for part = 0, 3 do
          digest:add_many(drawn(part, 5000, function(u, i) return value(u, part * 5000 + i) end))
          assert.is_true(#digest:centroids() <= 200)
          assert.is_true(digest:bytes() <= 23200)
        end
      end
    end)

    it("are few while the values are", function()
      local digest = ps.tdigest():add(1)
      assert.is_true(digest:bytes() < 600)
      assert.equal(9, #digest:encode() - #ps.tdigest():encode())
      assert.same({ { mean = 1, weight = 1 } }, digest:centroids())
      assert.same({}, digest:clear():centroids())
    end)

    it("are means of what doubles hold, whatever their weight", function()
      local digest = ps.tdigest { compression = 20 }
      digest:add(1e308, 2 ^ 40)
      for i = 1, 5000 do
        digest:add((-1) ^ i * (i % 991 / 991) * 1.7e308, 2 ^ (i % 38))
      end
      for _, centroid in ipairs(digest:centroids()) do
        assert.is_true(math.abs(centroid.mean) <= 1.7e308 and centroid.weight >= 1)
      end
      assert.is_true(math.abs(digest:mean()) <= 1.7e308)
    end)
  end)

  describe("trimmed_mean", function()
    it("is the mean of the values between the fractions", function()
      local digest = filled({}, { 4, 1, 3, 2, 1000, 5, -70, 6, 8, 7 })
      assert.equal(3.5, digest:trimmed_mean(0.1, 0.7))
      assert.equal(-70, digest:trimmed_mean(0, 0.1))
      assert.equal(1000, digest:trimmed_mean(0.9, 1))
      assert.equal(digest:mean(), digest:trimmed_mean(0, 1))
      assert.equal(2, filled({}, { 1, 2, 3, 4 }):trimmed_mean(0.125, 0.625)) -- half of the 1, 2 and half of the 3
    end)

    it("is so within the width of two centroids when the values are not known", function()
      local values = drawn(7, 50000, exponential)
      local sorted, digest, sum = quantiles.sorted(values), filled({}, values), 0
      for i = 12501, 37500 do
        sum = sum + sorted[i]
      end
      assert.is_true(math.abs(digest:trimmed_mean(0.25, 0.75) / (sum / 25000) - 1) <= 0.01)
    end)

    it("is none while the digest is empty", function()
      assert.is_nil(ps.tdigest():trimmed_mean(0.1, 0.9))
    end)

    it("is refused unless there is something between two fractions", function()
      for _, digest in ipairs { ps.tdigest(), ps.tdigest():add(1) } do
        for _, bad in ipairs { -0.1, 1.1, 0 / 0, "0.5", {} } do
          expect.raise_saying("low expected, a number from 0 to 1", digest.trimmed_mean, digest, bad, 1)
          expect.raise_saying("high expected, a number from 0 to 1", digest.trimmed_mean, digest, 0, bad)
        end
        expect.raise_saying("high expected above low", digest.trimmed_mean, digest, 0.5, 0.5)
        expect.raise_saying("high expected above low", digest.trimmed_mean, digest, 0.9, 0.1)
        expect.raise_saying("got nil", digest.trimmed_mean, digest)
        expect.raise_saying("got nil", digest.trimmed_mean, digest, 0.5)
      end
    end)
  end)

  it("says how much is waiting to be joined", function()
    local digest = filled({}, drawn(8, 1024, exponential))
    assert.equal(1024, digest:info().buffered)
    digest:add(1)
    assert.equal(1, digest:info().buffered)
    assert.equal(200, digest:info().max_centroids)
  end)
end)
