-- HyperLogLogs for the specs of spec/cardinality.

local ps = require "probsketch"
local statistics = require "spec.support.statistics"

local hyperloglogs = {}

-- The i-th of sketches that differ in their seed.
function hyperloglogs.new(precision, i)
  return ps.hyperloglog{ precision = precision, seed = statistics.seed(i or 0) }
end

-- The entries that a sparse one has at most.
function hyperloglogs.sparse_limit(precision)
  return ps.plan("hyperloglog", { precision = precision }).sparse_limit
end

-- What theory says.
function hyperloglogs.standard_error(precision)
  return 1.04 / math.sqrt(2 ^ precision)
end

return hyperloglogs
